//! TAP interfaces, in network namespaces of their own.

mod common;

use common::{RawSocket, drop_thread_capabilities, in_namespace, ip, wait_for};
use slyfi_base::MacAddress;
use slyfi_linux::{AdminState, Interface, Persistence, Tap, TapConfig, TapError, TapMode};
use std::net::IpAddr;
use std::os::fd::AsFd;

fn config(name: &str, mode: TapMode) -> TapConfig {
    TapConfig { name: name.to_owned(), mode, persistence: Persistence::Unchanged }
}

/// A frame that no host sends by itself.
fn frame(fill: u8) -> Vec<u8> {
    let mut f = vec![fill; 60];
    f[..6].copy_from_slice(&[0x02, 0, 0, 0, 0, 9]);
    f[6..12].copy_from_slice(&[0x02, 0, 0, 0, 0, 7]);
    f[12..14].copy_from_slice(&[0x88, 0xb6]);
    f
}

#[test]
fn frames_go_both_ways_unchanged() {
    in_namespace(|| {
        let mut tap = Tap::open(&TapConfig::default()).unwrap();
        assert_eq!(tap.name(), "slyfi0");
        tap.set_state(AdminState::Up).unwrap();
        let host = RawSocket::on(tap.name());

        assert!(tap.write(&frame(1)).unwrap());
        assert_eq!(host.find(|p| p[12..14] == [0x88, 0xb6]).unwrap(), frame(1));

        host.send(&frame(2));
        let mut buf = [0; 2000];
        let fd = tap.as_fd().try_clone_to_owned().unwrap();
        let got = wait_for(fd.as_fd(), |_| {
            loop {
                // The host says things of its own on a new interface (MLD, router solicitation).
                match tap.read(&mut buf).unwrap()? {
                    n if buf[12..14] == [0x88, 0xb6] => return Some(buf[..n].to_vec()),
                    _ => {}
                }
            }
        });
        assert_eq!(got.unwrap(), frame(2));
        assert!(tap.write(&[0; 13]).is_err(), "less than an Ethernet header");
    });
}

#[test]
fn address_mtu_and_state_read_back_as_set() {
    in_namespace(|| {
        let tap = Tap::open(&TapConfig::default()).unwrap();
        let mac = MacAddress::local([0x52, 1, 2, 3, 4, 5]);
        tap.set_mac(mac).unwrap();
        tap.set_mtu(1387).unwrap();
        tap.set_state(AdminState::Up).unwrap();
        let facts = tap.interface().unwrap();
        assert_eq!((facts.mac, facts.mtu, facts.is_up), (Some(mac), 1387, true));
        tap.set_state(AdminState::Down).unwrap();
        assert!(!tap.interface().unwrap().is_up);
        assert!(tap.set_mac(MacAddress::BROADCAST).is_err());
        assert!(tap.set_mtu(usize::MAX).is_err());
    });
}

#[test]
fn ip_addresses_of_both_versions_are_added_and_listed() {
    in_namespace(|| {
        let tap = Tap::open(&TapConfig::default()).unwrap();
        tap.set_state(AdminState::Up).unwrap();
        let wanted: [(IpAddr, u8); 4] = [
            ("10.7.0.1".parse().unwrap(), 24),
            ("10.8.0.1".parse().unwrap(), 16),
            ("fd00:5159::1".parse().unwrap(), 64),
            ("2001:db8::1".parse().unwrap(), 128),
        ];
        for (address, prefix) in wanted {
            tap.add_address(address, prefix).unwrap();
            tap.add_address(address, prefix).expect("again is no error");
        }
        let found = tap.addresses().unwrap();
        for address in wanted {
            assert_eq!(found.iter().filter(|a| **a == address).count(), 1, "{address:?}");
        }
        let output = std::process::Command::new("ip").args(["addr", "show", "slyfi0"]).output();
        let output = String::from_utf8(output.unwrap().stdout).unwrap();
        for text in ["inet 10.7.0.1/24", "inet 10.8.0.1/16", "fd00:5159::1/64", "2001:db8::1/128"] {
            assert!(output.contains(text), "{text} in {output}");
        }
        let line = output.lines().find(|l| l.contains("fd00:5159::1/64")).unwrap();
        assert!(!line.contains("tentative"), "usable at once: {line}");
        let other = Tap::open(&TapConfig::default()).unwrap();
        assert_eq!(other.name(), "slyfi1", "the next free number");
        assert!(other.addresses().unwrap().is_empty());
    });
}

#[test]
fn a_persistent_interface_outlives_its_process_and_is_attached_to() {
    in_namespace(|| {
        let named = |mode, persistence| TapConfig { name: "kept".to_owned(), mode, persistence };
        let first = named(TapMode::Create, Persistence::Persistent);
        drop(Tap::open(&first).unwrap());
        assert!(Interface::by_name("kept").is_ok(), "it is still there");

        let again = Tap::open(&named(TapMode::Attach, Persistence::Unchanged)).unwrap();
        let busy = Tap::open(&named(TapMode::Attach, Persistence::Unchanged));
        assert!(matches!(busy, Err(TapError::Busy { .. })), "{busy:?}");
        let exists = Tap::open(&first);
        assert!(matches!(exists, Err(TapError::Exists { .. })), "{exists:?}");
        drop(again);
        assert!(Interface::by_name("kept").is_ok());

        drop(Tap::open(&named(TapMode::CreateOrAttach, Persistence::Transient)).unwrap());
        assert!(Interface::by_name("kept").is_err(), "and now it is gone");
    });
}

#[test]
fn an_interface_made_by_the_operator_is_attached_to() {
    in_namespace(|| {
        ip("tuntap add mode tap name made");
        let tap = Tap::open(&config("made", TapMode::Attach)).unwrap();
        assert_eq!(tap.name(), "made");
        drop(tap);
        assert!(Interface::by_name("made").is_ok());
    });
}

#[test]
fn what_cannot_be_opened_says_why() {
    in_namespace(|| {
        ip("link add name wire type veth peer name peer");
        let none = Tap::open(&config("none", TapMode::Attach));
        assert!(matches!(none, Err(TapError::NoSuchInterface { .. })), "{none:?}");
        let wire = Tap::open(&config("wire", TapMode::CreateOrAttach));
        assert!(matches!(wire, Err(TapError::NotTap { .. })), "{wire:?}");
        let bad = Tap::open(&config("a name of more than 15", TapMode::Create));
        assert!(matches!(bad, Err(TapError::Os { .. })), "{bad:?}");

        let mut tap = Tap::open(&config("down", TapMode::Create)).unwrap();
        let down = tap.write(&frame(1));
        assert!(matches!(down, Err(TapError::Down { .. })), "{down:?}");

        drop_thread_capabilities();
        let refused = Tap::open(&config("mine", TapMode::Create));
        assert!(matches!(refused, Err(TapError::NoPermission)), "{refused:?}");
        let refused = tap.set_state(AdminState::Up);
        assert!(matches!(refused, Err(TapError::NoPermission)), "{refused:?}");
        let refused = tap.add_address("10.0.0.1".parse().unwrap(), 8);
        assert!(matches!(refused, Err(TapError::NoPermission)), "{refused:?}");
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("CAP_NET_ADMIN") && text.contains("ip tuntap add"), "{text}");
    });
}
