//! Making, listing and revoking pairings: the same by a running daemon and on a store at rest.

use crate::config::Network;
use crate::control::{InviteStatus, NewInvite, PairingStatus, Peers};
use crate::error::{Error, ErrorKind, Result};
use crate::logging::Stamp;
use crate::store::{Change, PairingKey, Store, show_id};
use slyfi_base::link::RecordKind;
use slyfi_base::{Duration, SecureRandom, UnixTime};
use slyfi_core::invite::{Invite, InviteError, MAX_LIFETIME};
use slyfi_core::pairing::{NetworkName, Pairing};
use slyfi_core::suite::Suite;

/// Turns a network's name into the form that pairings have.
///
/// # Errors
/// [`ErrorKind::Usage`] for none, or more than 32 bytes.
pub fn network_name(name: &str) -> Result<NetworkName> {
    NetworkName::new(name.as_bytes()).ok_or_else(|| {
        let cause = "a network's name has 1 to 32 bytes";
        Error::new(ErrorKind::Usage, cause, "choose another with --name")
    })
}

/// Returns a network's name for people. Whoever made the invite chose it, and it ends on a terminal:
/// control characters and what turns the direction of text come escaped.
pub fn show_name(name: &NetworkName) -> String {
    let text = String::from_utf8_lossy(name.as_bytes());
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\'' | '"' => shown.push(c),
            _ => shown.extend(c.escape_debug()),
        }
    }
    shown
}

/// Makes an invite and stores the pairing it stands for. Returns that pairing and what to show.
///
/// # Errors
/// [`ErrorKind::Usage`] for a lifetime out of range, [`ErrorKind::Store`].
pub fn make_invite<R: SecureRandom + ?Sized>(
    store: &mut Store,
    network: &Network,
    label: &str,
    lifetime: Duration,
    wall: UnixTime,
    rng: &mut R,
) -> Result<(Pairing, NewInvite)> {
    // Enrolment itself always runs under `aead`: a suite without forward secrecy would let whoever
    // sees the URL later read the keys that were made.
    let suite = if network.suite.is_aead() { network.suite } else { Suite::AEAD };
    let name = network_name(&network.name)?;
    let invite = Invite::new(suite, name, wall, lifetime, rng).map_err(|_| {
        let most = MAX_LIFETIME.as_secs() / 86_400;
        let cause = format!("an invite is valid for 1 second to {most} days");
        Error::new(ErrorKind::Usage, cause, "give another time with --valid, such as 10m")
    })?;
    let pairing = invite.pairing();
    store.commit(&[Change::Invite { label, made: wall, pairing: &pairing }])?;
    let shown = NewInvite {
        id: show_id(pairing.id()),
        url: invite.to_url().to_string(),
        network: network.name.clone(),
        label: label.to_owned(),
        expires_s: invite.expires().as_secs(),
        daemon_runs: false,
    };
    Ok((pairing, shown))
}

/// Reads an invite's URL and stores the pairing it stands for, on the joining side.
///
/// # Errors
/// [`ErrorKind::Invite`] when it is damaged or has expired, [`ErrorKind::Store`].
pub fn accept_invite(store: &mut Store, url: &str, wall: UnixTime) -> Result<Pairing> {
    let invite = read_invite(url, wall)?;
    let pairing = invite.pairing();
    let label = show_name(invite.network());
    store.commit(&[Change::Invite { label: &label, made: wall, pairing: &pairing }])?;
    Ok(pairing)
}

/// Reads an invite's URL.
///
/// # Errors
/// [`ErrorKind::Invite`] with the mend.
pub fn read_invite(url: &str, wall: UnixTime) -> Result<Invite> {
    Invite::from_url(url, wall).map_err(|e| {
        let text = e.to_string();
        let (cause, mend) = text.split_once(": ").unwrap_or((&text, ""));
        match e {
            InviteError::Expired => {
                let clock = Stamp(wall).to_string();
                let clock = clock.get(..16).unwrap_or(&clock).replace('T', " ");
                let mend = format!("{mend}, or set this machine's clock, which says {clock} UTC");
                Error::new(ErrorKind::Invite, cause, mend)
            }
            _ => Error::new(ErrorKind::Invite, cause, mend),
        }
    })
}

/// Lists pairings and open invites. `linked` says which pairings have a link, if a daemon knows.
///
/// # Errors
/// [`ErrorKind::Store`].
pub fn list(
    store: &Store,
    wall: UnixTime,
    linked: Option<&dyn Fn(&PairingKey) -> bool>,
) -> Result<Peers> {
    let pairings = store.pairings()?.into_iter().map(|s| PairingStatus {
        id: show_id(s.pairing.id()),
        label: s.label,
        network: show_name(s.pairing.network()),
        suite: s.pairing.suite().name().to_owned(),
        made_s: s.made.as_secs(),
        linked: linked.map(|linked| linked(s.pairing.id())),
    });
    let invites = store.invites()?.into_iter().filter(|i| i.expires() > wall);
    let invites = invites.map(|i| InviteStatus {
        id: show_id(i.pairing.id()),
        expires_s: i.expires().as_secs(),
        label: i.label,
    });
    Ok(Peers { pairings: pairings.collect(), invites: invites.collect() })
}

/// Finds the one pairing or invite whose id begins with `digits`.
///
/// # Errors
/// [`ErrorKind::Usage`] when there is none or more than one.
pub fn find(store: &Store, digits: &str) -> Result<PairingKey> {
    let wanted = digits.to_ascii_lowercase();
    let pairings = store.pairings()?.into_iter().map(|p| *p.pairing.id());
    let invites = store.invites()?.into_iter().map(|i| *i.pairing.id());
    let found: Vec<_> =
        pairings.chain(invites).filter(|id| show_id(id).starts_with(&wanted)).collect();
    match found[..] {
        [id] if !wanted.is_empty() => Ok(id),
        [] => Err(Error::new(
            ErrorKind::Usage,
            format!("no pairing and no invite has an id that begins with `{digits}`"),
            "`slyfi peers` lists them",
        )),
        _ => Err(Error::new(
            ErrorKind::Usage,
            format!("{} pairings or invites have an id that begins with `{digits}`", found.len()),
            "give more digits",
        )),
    }
}

/// Forgets a pairing or an invite for good, keys included.
///
/// # Errors
/// [`ErrorKind::Store`].
pub fn revoke(store: &mut Store, id: PairingKey) -> Result<()> {
    store.commit(&[
        Change::Forget(id),
        Change::Spend(id),
        Change::Record { kind: RecordKind::PairingRevoked, until: None, bytes: &id },
    ])?;
    store.scrub()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Missing;
    use crate::testing::TempDir;
    use slyfi_linux::OsRandom;

    const NOW: UnixTime = UnixTime::from_secs(1_800_000_000);
    const TEN_MINUTES: Duration = Duration::from_secs(600);

    fn invited(store: &mut Store) -> (Pairing, NewInvite) {
        let network = Network::default();
        make_invite(store, &network, "laptop", TEN_MINUTES, NOW, &mut OsRandom).unwrap()
    }

    #[test]
    fn both_ends_of_an_invite_store_the_same_pairing() {
        let dir = TempDir::new("pairing");
        let mut ap = Store::open(&dir.path().join("ap"), Missing::Create).unwrap();
        let mut client = Store::open(&dir.path().join("client"), Missing::Create).unwrap();
        let (pairing, shown) = invited(&mut ap);
        assert_eq!(accept_invite(&mut client, &shown.url, NOW).unwrap(), pairing);
        assert_eq!(client.invites().unwrap()[0].pairing, ap.invites().unwrap()[0].pairing);
    }

    #[test]
    fn names_command_no_terminal() {
        let shown = |bytes: &[u8]| show_name(&NetworkName::new(bytes).unwrap());
        assert_eq!(shown(b"home\x1b]0;mine\x07\r\n"), "home\\u{1b}]0;mine\\u{7}\\r\\n");
        assert_eq!(shown("a\u{202e}b\u{9b}2J".as_bytes()), "a\\u{202e}b\\u{9b}2J");
        assert_eq!(shown("Bob's \"café\"".as_bytes()), "Bob's \"café\"");
    }

    #[test]
    fn wrong_urls_are_refused_with_the_reason() {
        let dir = TempDir::new("pairing");
        let mut store = Store::open(&dir.path().join("ap"), Missing::Create).unwrap();
        let url = invited(&mut store).1.url;
        assert!(read_invite(&url, NOW).is_ok());
        assert!(read_invite(&url.to_lowercase(), NOW).is_ok());
        let mut typo = url.clone().into_bytes();
        typo[20] = if typo[20] == b'A' { b'B' } else { b'A' };
        let typo = String::from_utf8(typo).unwrap();
        for (url, wall, word) in [
            (&url[..], NOW + TEN_MINUTES, "expired"),
            (&typo, NOW, "damaged"),
            (&url[..url.len() - 1], NOW, "damaged"),
            ("https://example.org/", NOW, "not an invite"),
            ("", NOW, "not an invite"),
        ] {
            let e = read_invite(url, wall).unwrap_err();
            assert_eq!(e.kind, ErrorKind::Invite);
            assert!(e.cause.contains(word) && !e.mend.is_empty(), "{e}");
        }
    }

    #[test]
    fn lifetimes_out_of_range_are_refused() {
        let dir = TempDir::new("pairing");
        let mut store = Store::open(&dir.path().join("ap"), Missing::Create).unwrap();
        for s in [0, 8 * 86_400] {
            let life = Duration::from_secs(s);
            let made = make_invite(&mut store, &Network::default(), "", life, NOW, &mut OsRandom);
            assert_eq!(made.unwrap_err().kind, ErrorKind::Usage);
        }
        assert!(store.invites().unwrap().is_empty());
    }

    #[test]
    fn an_id_is_found_by_enough_of_its_digits_and_revoked() {
        let dir = TempDir::new("pairing");
        let mut store = Store::open(&dir.path().join("ap"), Missing::Create).unwrap();
        let (first, second) = (invited(&mut store).0, invited(&mut store).0);
        let id = show_id(first.id());
        assert_eq!(find(&store, &id), Ok(*first.id()));
        assert_eq!(find(&store, &id.to_uppercase()), Ok(*first.id()));
        assert!(find(&store, "").is_err());
        assert!(find(&store, "not-an-id").is_err());
        revoke(&mut store, *first.id()).unwrap();
        assert!(find(&store, &id).is_err());
        assert_eq!(store.records(RecordKind::PairingRevoked, NOW).unwrap(), [first.id()]);
        assert_eq!(list(&store, NOW, None).unwrap().invites.len(), 1);
        assert_eq!(find(&store, &show_id(second.id())[..8]), Ok(*second.id()));
    }
}
