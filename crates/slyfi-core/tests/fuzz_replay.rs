//! The committed corpora of the machines' fuzz targets, through the same bodies.

use slyfi_fuzz_bodies::{
    access_point, backhaul, client, hostile_access_point, hostile_member, pair, replays, stored,
    wifi_open,
};

replays! {
    access_point => access_point::run,
    backhaul => backhaul::run,
    client => client::run,
    hostile_access_point => hostile_access_point::run,
    hostile_member => hostile_member::run,
    pair => pair::run,
    stored => stored::run,
    wifi_open => wifi_open::run,
}
