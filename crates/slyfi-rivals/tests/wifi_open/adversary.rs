//! The machines of wifi-open fed by an adversary: whatever arrives, they neither panic nor run away.

use crate::net::{Net, TestRng, ap_config, at, station_config, station_mac};
use proptest::prelude::*;
use slyfi_base::{Command, Link, MacAddress, Output, RxMeta, TxMeta};
use slyfi_rivals::wifi_open::{OpenAp, OpenStation, Ssid};
use slyfi_wire::ieee80211::{MacHeader, Type};

/// Frames that an attacker may have: those of a whole session.
fn recorded() -> Vec<Vec<u8>> {
    let mut net = Net::linked(2);
    net.send(1, station_mac(2), b"data");
    net.send(0, MacAddress::BROADCAST, b"all");
    net.command(2, Command::Leave);
    net.settle();
    net.air.into_iter().map(|(_, _, f)| f).collect()
}

#[derive(Debug, Clone)]
enum Step {
    Junk(Vec<u8>),
    Recorded { index: usize, cut: usize, flip: usize },
    Packet(Vec<u8>),
    Pass(u32),
    Connect,
    Leave,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..80).prop_map(Step::Junk),
        (any::<usize>(), any::<usize>(), any::<usize>())
            .prop_map(|(index, cut, flip)| Step::Recorded { index, cut, flip }),
        proptest::collection::vec(any::<u8>(), 0..60).prop_map(Step::Packet),
        (0u32..20_000_000).prop_map(Step::Pass),
        Just(Step::Connect),
        Just(Step::Leave),
    ]
}

proptest! {
    #[test]
    fn no_frame_in_any_state_makes_a_machine_panic(steps in proptest::collection::vec(step(), 0..60)) {
        let frames = recorded();
        let mut machines: [Box<dyn Link>; 2] = [
            Box::new(OpenAp::new(at(0), ap_config(), &mut TestRng(1))),
            Box::new(OpenStation::new(station_config(1), TestRng(2))),
        ];
        let mut now = at(0);
        for step in steps {
            for (n, m) in machines.iter_mut().enumerate() {
                match &step {
                    Step::Junk(bytes) => m.handle_frame(now, RxMeta::default(), &mut bytes.clone()),
                    Step::Recorded { index, cut, flip } => {
                        let mut f = frames[index % frames.len()].clone();
                        if cut % 3 == 0 {
                            f.truncate(cut % (f.len() + 1));
                        }
                        let bits = f.len() * 8;
                        if bits > 0 && flip % 3 == 0 {
                            f[flip % bits / 8] ^= 1 << (flip % 8);
                        }
                        m.handle_frame(now, RxMeta::default(), &mut f);
                    }
                    Step::Packet(bytes) => drop(m.handle_packet(now, bytes)),
                    Step::Pass(us) => {
                        if n == 0 {
                            now = at(now.mono.as_micros() + u64::from(*us));
                        }
                        m.handle_timeout(now);
                    }
                    Step::Connect => drop(m.handle_command(now, Command::Connect)),
                    Step::Leave => drop(m.handle_command(now, Command::Leave)),
                }
                let mut buf = [0; 4096];
                let mut outputs = 0;
                loop {
                    outputs += 1;
                    prop_assert!(outputs < 16, "one input makes few outputs");
                    match m.poll_output(&mut buf) {
                        Output::Transmit(TxMeta { .. }, f) => {
                            let header = MacHeader::new_checked(f).unwrap();
                            prop_assert!(header.frame_control().kind() != Type::Control);
                        }
                        Output::Timeout(next) => {
                            let is_due = next.is_some_and(|t| t <= now.mono);
                            prop_assert!(!is_due || !matches!(step, Step::Pass(_)));
                            break;
                        }
                        Output::Failed(why) => prop_assert!(false, "{:?}", why),
                        _ => {}
                    }
                }
            }
        }
    }

    #[test]
    fn names_have_the_length_of_the_standard(name in proptest::collection::vec(any::<u8>(), 0..40)) {
        prop_assert_eq!(Ssid::new(&name).is_some(), (1..=32).contains(&name.len()));
    }
}
