//! Every configuration key, documented once.
//!
//! The example file (`slyfi config example`, `dist/slyfi.toml`) and the reference in
//! `docs/manual.md` are generated from [`KEYS`]; tests hold all three and the parser together.

use std::fmt::Write;

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The table it is in; empty for the top level.
    pub section: &'static str,
    /// Its name.
    pub name: &'static str,
    /// A value as TOML: the default where there is one, else an example.
    pub value: &'static str,
    /// Whether `value` is the default; an unset key of the others has the meaning that `what` says.
    pub is_default: bool,
    /// The unit or the form of its values.
    pub unit: &'static str,
    /// What it does.
    pub what: &'static str,
    /// What it costs, or what it gives away.
    pub cost: &'static str,
}

const fn key(section: &'static str, name: &'static str, value: &'static str) -> Key {
    Key { section, name, value, is_default: true, unit: "", what: "", cost: "" }
}

impl Key {
    const fn example(self) -> Self {
        Key { is_default: false, ..self }
    }

    const fn unit(self, unit: &'static str) -> Self {
        Key { unit, ..self }
    }

    const fn what(self, what: &'static str) -> Self {
        Key { what, ..self }
    }

    const fn cost(self, cost: &'static str) -> Self {
        Key { cost, ..self }
    }
}

/// What each table is about.
pub const SECTIONS: [(&str, &str); 11] = [
    ("", "The daemon itself."),
    (
        "network",
        "The network, as the access point writes it into the pairings it makes. A client has these from its pairing.",
    ),
    ("air", "How frames travel. Every node of a network needs the same air."),
    ("tap", "The network interface through which this host uses the link."),
    ("link", "The link's own parameters. They are the sender's business; both ends may differ."),
    ("client", "Client only."),
    ("access_point", "Access point only."),
    (
        "wifi",
        "Ordinary 802.11 instead of SlyFi, on the same air, for comparison. It uses [network] name as SSID, [access_point] max_sessions, [air], [tap], [store], [control] and [log]; nothing else applies to it.",
    ),
    ("store", "The key store."),
    ("control", "The socket for `slyfi status`, `slyfi pair` and the others."),
    ("log", "The log, on standard error. Keys are never in it."),
];

/// Every key, in the order of the example file.
pub const KEYS: &[Key] = &[
    key("", "user", "\"slyfi\"")
        .example()
        .unit("user name")
        .what("After start-up the daemon keeps only this user's rights. Unset: it keeps its own.")
        .cost("The key store is given to this user."),
    key("network", "name", "\"slyfi\"")
        .unit("1 to 32 bytes")
        .what("The network's name, as people see it.")
        .cost("Never on the air in clear unless `announce` is set."),
    key("network", "suite", "\"aead\"")
        .unit("aead, aead-256, aead-mlkem, aead-256-mlkem or 2008")
        .what("The cryptography of new pairings; existing ones keep theirs.")
        .cost("aead-mlkem adds 2.3 kB to a link's set-up; 2008 is the paper's and has no forward secrecy."),
    key("network", "interval", "\"5m\"")
        .unit("whole seconds, 1s to 1d")
        .what("How long a discovery address is valid; for new pairings.")
        .cost("Shorter: less time to link repeated probes, better clocks needed, more addresses computed."),
    key("network", "skew", "1")
        .unit("intervals, 0 to 16")
        .what("How many intervals clocks may be apart; for new pairings.")
        .cost("Each step keeps two more intervals of addresses per pairing in memory, and replay records longer."),
    key("air", "kind", "\"udp\"")
        .unit("udp or packet")
        .what("udp: frames in UDP datagrams, no rights needed. packet: frames on an Ethernet-like or monitor-mode interface.")
        .cost("packet needs CAP_NET_RAW at start-up."),
    key("air", "interface", "\"veth0\"")
        .example()
        .unit("interface name")
        .what("packet: the interface. udp: the interface that multicast uses. Unset: the system's choice (udp only)."),
    key("air", "group", "\"239.83.76.89:5789\"")
        .unit("multicast address and port")
        .what("udp: where all nodes send to and listen. Not used when there are peers.")
        .cost("Everyone in the group's scope can record the frames, as on the air."),
    key("air", "hops", "1")
        .unit("0 to 255")
        .what("udp: how many routers a multicast datagram may pass, plus one; 0 stays on this machine.")
        .cost("More than 1 leaves the local network."),
    key("air", "peers", "[\"192.0.2.7:5789\"]")
        .example()
        .unit("list of addresses and ports")
        .what("udp: the other nodes, each of which gets every frame. Unset: multicast.")
        .cost("Outer IP addresses tell who talks to whom: this air is for tests and wired stretches."),
    key("air", "bind", "\"0.0.0.0:5789\"")
        .example()
        .unit("address and port")
        .what("udp with peers: where this node listens."),
    key("air", "rate", "6")
        .unit("Mb/s: 6, 9, 12, 18, 24, 36, 48 or 54")
        .what("The one bit rate of all frames, where the air has rates.")
        .cost("Rates that differ by kind of frame or by node would tell them apart, so there is only one."),
    key("air", "max_frame", "\"auto\"")
        .unit("auto, or bytes")
        .what("The longest 802.11 frame. auto: what the interface carries, at most 1628. Where nodes' interfaces have different MTUs, give all of them the smallest.")
        .cost("A frame longer than a receiver's interface takes is lost; nodes with different values can be told apart by their longest frames."),
    key("tap", "name", "\"slyfi0\"")
        .unit("1 to 15 bytes")
        .what("The TAP interface; it is made if it does not exist."),
    key("tap", "address", "[\"10.83.0.1/24\"]")
        .example()
        .unit("list of addresses with prefix length")
        .what("Addresses to give the interface. Unset: none; DHCP or `ip address add` work as usual."),
    key("tap", "persist", "false")
        .what("Whether the interface stays when the daemon ends, with its addresses and routes."),
    key("tap", "mtu", "\"auto\"")
        .unit("auto, or bytes")
        .what("auto: what one frame of the air carries, at most 1500; the daemon logs the result."),
    key("link", "window", "50")
        .unit("addresses, 8 to 1024")
        .what("How many transmissions in a row may be lost before the link has to be set up again (w of the paper).")
        .cost("40 bytes of memory per address and link."),
    key("link", "late", "\"auto\"")
        .unit("auto, or addresses, 0 to 64")
        .what("How far behind the newest a frame may arrive and still be taken. auto: 0 (the paper's rule) on an air that keeps order, 32 on one that does not.")
        .cost("A late frame's address stays valid that much longer."),
    key("link", "size_policy", "\"buckets\"")
        .unit("none, buckets or constant")
        .what("none: frames are as long as their contents. buckets: 128, 256, 512, 1024 bytes or the longest. constant: all the longest. Suite 2008 has its own padding.")
        .cost("buckets: about a quarter more air time for mixed traffic; constant: every acknowledgement as long as a full packet."),
    key("link", "keep_alive", "\"2s\"")
        .unit("time")
        .what("Client: after this much silence the link is tested.")
        .cost("Shorter: a lost link is noticed sooner, and an idle one is heard more often."),
    key("link", "dead_after", "\"6s\"")
        .example()
        .unit("time, longer than keep_alive")
        .what("After this much silence a link is lost. Unset: 6s for a client, 15s for an access point.")
        .cost("Longer: a dead link is noticed later, and its session takes up room meanwhile."),
    key("link", "cover", "\"off\"")
        .unit("time, or off")
        .what("A frame leaves at least this often, whether there is anything to say or not.")
        .cost("Air time and battery, always."),
    key("client", "heed_announcements", "false")
        .what("Whether clear announcements of paired networks are followed at once instead of waiting for the answer to a probe.")
        .cost("Anyone who knows a network's name can announce it, and sees from the frame that follows that a client of this network is here."),
    key("access_point", "max_sessions", "256")
        .unit("links")
        .what("The most links at once; further clients are told that it is full.")
        .cost("About 8 kB of memory per link with window 50."),
    key("access_point", "reply_jitter", "\"10ms\"")
        .unit("time")
        .what("Probes and authentications are answered after a random delay up to this.")
        .cost("A set-up takes about this much longer. Without it, the delay tells how busy the access point is."),
    key("access_point", "time_beacon", "\"5s\"")
        .unit("time, or off")
        .what("How often the time goes out to the members, encrypted, so that their clocks' offset is known.")
        .cost("One broadcast frame each time."),
    key("access_point", "announce", "\"off\"")
        .unit("time, or off")
        .what("How often the network's name is announced in clear, for people who look for it.")
        .cost("Everyone in reach reads the name and knows that this network is here."),
    key("access_point", "siblings", "[\"192.0.2.8:5790\"]")
        .example()
        .unit("list of addresses and ports")
        .what("The backhaul addresses of the network's other access points. Unset: there are none."),
    key("access_point", "backhaul", "\"0.0.0.0:5790\"")
        .example()
        .unit("address and port")
        .what("Where messages of siblings are taken. They are sealed with the backhaul key."),
    key("access_point", "backhaul_key", "\"/etc/slyfi/backhaul.key\"")
        .example()
        .unit("path")
        .what("A file of mode 0600 with the 32 bytes, as 64 hexadecimal digits, that all access points of the network share.")
        .cost("Whoever has it can take sessions over."),
    key("wifi", "cipher", "\"ccmp\"")
        .example()
        .unit("open, wep, sbkh, tkip, ccmp, ccmp-256, gcmp or gcmp-256")
        .what("What protects data frames. Unset: SlyFi. wep, sbkh and tkip are broken, and open protects nothing: they are here to be compared.")
        .cost("Names and addresses are in the clear with every one of them, and management frames are not protected."),
    key("wifi", "passphrase_file", "\"/etc/slyfi/passphrase\"")
        .example()
        .unit("path")
        .what("tkip, ccmp, gcmp: a file of mode 0600 with a passphrase of 8 to 63 characters, or 64 hexadecimal digits. Unset: the environment's SLYFI_PASSPHRASE.")
        .cost("Whoever has it and records a handshake can read that link's traffic."),
    key("wifi", "key_file", "\"/etc/slyfi/wifi.key\"")
        .example()
        .unit("path")
        .what("wep: a file of mode 0600 with 10, 26 or 32 hexadecimal digits; sbkh: with 64. Unset: the environment's SLYFI_KEY."),
    key("wifi", "group_rekey", "\"1h\"")
        .unit("time, or off")
        .what("Access point with tkip, ccmp or gcmp: how often the group key is replaced, besides whenever a member leaves."),
    key("wifi", "hop", "\"5m\"")
        .unit("time")
        .what("sbkh: how long a base key pair is in use (the paper's Time Duration). Both ends need the same, and clocks that differ by less.")
        .cost("A base key pair serves 1 GiB in each direction; then nothing is sent until the next."),
    key("store", "path", "\"/var/lib/slyfi/ap\"")
        .example()
        .unit("directory")
        .what("Where keys are kept, mode 0700. Unset: /var/lib/slyfi/ap or …/client for root, $XDG_STATE_HOME/slyfi/… for others."),
    key("control", "path", "\"/run/slyfi/ap.sock\"")
        .example()
        .unit("path")
        .what("The control socket, mode 0600. Unset: control.sock in the store's directory."),
    key("log", "level", "\"info\"")
        .unit("error, warn, info, debug or trace")
        .what("How much is said."),
    key("log", "reveal", "\"none\"")
        .unit("none, names, addresses or all")
        .what("Which private values the log may show: names of networks and pairings, addresses of hosts.")
        .cost("Logs are copied and sent around; what is in them is no secret any more."),
];

/// Returns the example configuration: every key, commented out, with its default.
pub fn example() -> String {
    let mut out = String::from(
        "# Configuration of slyfi (`slyfi ap`, `slyfi join`).\n\
         # Lines with a single # show defaults, lines with ## show examples: remove the marks to\n\
         # change a value. Flags on the command line win over this file.\n",
    );
    for (section, about) in SECTIONS {
        out.push('\n');
        comment(&mut out, about);
        if !section.is_empty() {
            out.push_str(&format!("[{section}]\n"));
        }
        for key in KEYS.iter().filter(|k| k.section == section) {
            out.push('\n');
            comment(&mut out, key.what);
            if !key.unit.is_empty() {
                comment(&mut out, &format!("Values: {}.", key.unit));
            }
            if !key.cost.is_empty() {
                comment(&mut out, &format!("Cost: {}", key.cost));
            }
            let mark = if key.is_default { "#" } else { "##" };
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{mark}{} = {}", key.name, key.value);
        }
    }
    out
}

/// Returns the reference of all keys as Markdown, for `docs/manual.md`.
pub fn reference() -> String {
    let mut out = String::new();
    for (section, about) in SECTIONS {
        let title =
            if section.is_empty() { "top level".to_owned() } else { format!("`[{section}]`") };
        let _ = writeln!(out, "### {title}\n\n{about}\n");
        out.push_str("| key | default | values | meaning | cost |\n|---|---|---|---|---|\n");
        for key in KEYS.iter().filter(|k| k.section == section) {
            let default = match key.is_default {
                true => format!("`{}`", key.value),
                false => format!("unset, e.g. `{}`", key.value),
            };
            let unit = if key.unit.is_empty() { "true or false" } else { key.unit };
            let _ = writeln!(
                out,
                "| `{}` | {default} | {unit} | {} | {} |",
                key.name, key.what, key.cost
            );
        }
        out.push('\n');
    }
    out
}

/// Appends `text` as comment lines of at most 100 columns.
fn comment(out: &mut String, text: &str) {
    let mut line = String::from("#");
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > 100 {
            out.push_str(&line);
            out.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    out.push_str(&line);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    /// The example with the marks of defaults, or of everything, taken away.
    fn uncommented(all: bool) -> String {
        let mut out = String::new();
        for line in example().lines() {
            let bare = line.trim_start_matches('#');
            let marks = line.len() - bare.len();
            let is_value = marks == 0 || (!bare.starts_with(' ') && (marks == 1 || all));
            if is_value {
                out.push_str(bare);
            }
            out.push('\n');
        }
        out
    }

    #[test]
    fn the_example_parses_to_the_defaults_as_it_is_and_with_every_default_spelt_out() {
        assert_eq!(Config::parse(&example(), "example"), Ok(Config::default()));
        let spelt_out = uncommented(false);
        assert!(spelt_out.contains("\nwindow = 50\n"));
        assert_eq!(Config::parse(&spelt_out, "example"), Ok(Config::default()));
    }

    #[test]
    fn every_key_of_the_example_is_taken() {
        let config = Config::parse(&uncommented(true), "example").unwrap();
        assert_ne!(config, Config::default());
        assert_eq!(config.user.as_deref(), Some("slyfi"));
        assert_eq!(config.access_point.siblings.len(), 1);
    }

    #[test]
    fn every_key_that_is_taken_is_documented() {
        for (section, _) in SECTIONS {
            let text = match section {
                "" => "no_such_key = 1\n".to_owned(),
                s => format!("[{s}]\nno_such_key = 1\n"),
            };
            let cause = Config::parse(&text, "f").unwrap_err().cause;
            // serde's message lists what it would have taken: `expected one of `a`, `b``.
            let listed = cause.split_once("expected").unwrap().1;
            let mut taken: Vec<_> = listed.split('`').skip(1).step_by(2).collect();
            let mut documented: Vec<_> =
                KEYS.iter().filter(|k| k.section == section).map(|k| k.name).collect();
            if section.is_empty() {
                documented.extend(SECTIONS.iter().map(|(name, _)| *name).filter(|n| !n.is_empty()));
            }
            taken.sort_unstable();
            documented.sort_unstable();
            assert_eq!(taken, documented, "[{section}]");
        }
    }

    #[test]
    fn the_manual_and_the_distributed_example_are_generated_from_here() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let manual = std::fs::read_to_string(format!("{root}/docs/manual.md")).unwrap();
        assert!(manual.contains(&reference()), "put `slyfi config reference` into it");
        let dist = std::fs::read_to_string(format!("{root}/dist/slyfi.toml")).unwrap();
        assert_eq!(dist, example(), "run `slyfi config example > dist/slyfi.toml`");
    }
}
