//! Subscribers who authenticate to hotspots without saying who they are: the table, its audit, the service.
