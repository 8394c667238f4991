//! SlyFi's core and CCM with no operating system.
