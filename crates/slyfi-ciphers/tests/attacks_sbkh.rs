//! What sbkh-2004 claims of its security (§II, §V), tried. Each test says whether the claim holds;
//! `docs/sbkh.md` draws the conclusions.

mod common;

use common::qos_header;
use slyfi_base::{LinkCipher, OpenHalf, SealHalf, UnixTime};
use slyfi_ciphers::crc32::crc32;
use slyfi_ciphers::danger::sbkh::{
    BaseKeyPair, BaseKeys, Direction, Parameters, Position, Received, Sbkh, SbkhOpen, SbkhSeal, Ssc,
};

fn keys() -> BaseKeys {
    BaseKeys::Fixed(BaseKeyPair::new([0x31; 16], [0x32; 16]))
}

fn pair(keys: &BaseKeys) -> (SbkhSeal, SbkhOpen) {
    let p = Parameters::new(500, 4096, 16).unwrap();
    let (seal, _) = Sbkh::new(keys.clone(), p, Direction::Uplink).split();
    let (_, open) = Sbkh::new(keys.clone(), p, Direction::Downlink).split();
    (seal, open)
}

fn seal(half: &mut SbkhSeal, header: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut buf = vec![0; payload.len() + 8];
    buf[4..4 + payload.len()].copy_from_slice(payload);
    half.seal(header, &mut buf, payload.len()).unwrap();
    buf
}

fn open(half: &mut SbkhOpen, header: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
    let mut buf = sealed.to_vec();
    let opened = half.open(header, &mut buf).ok()?;
    Some(opened.payload(&buf).to_vec())
}

/// Changes the payload under the keystream and corrects the checksum, with no key.
fn flip(sealed: &[u8], delta: &[u8]) -> Vec<u8> {
    let patch = crc32(delta) ^ crc32(&vec![0; delta.len()]);
    let changes = delta.iter().copied().chain(patch.to_le_bytes());
    let mut out = sealed.to_vec();
    for (byte, change) in out[4..].iter_mut().zip(changes) {
        *byte ^= change;
    }
    out
}

/// Claim (§II): "replay attacks and bit-flipping attacks will also fail." Bit flipping: FAILS to hold.
/// Who stops a frame on its way changes it at will, because CRC-32 is linear.
#[test]
fn bit_flipping_with_a_patched_checksum_succeeds_when_the_original_is_stopped() {
    let (mut tx, mut rx) = pair(&keys());
    let header = qos_header(0, 1);
    let stopped = seal(&mut tx, &header, b"transfer 0001 to alice");
    let delta: Vec<u8> = b"transfer 0001 to alice"
        .iter()
        .zip(b"transfer 9999 to mallo")
        .map(|(a, b)| a ^ b)
        .collect();
    let changed = flip(&stopped, &delta);
    assert_eq!(open(&mut rx, &header, &changed).unwrap(), b"transfer 9999 to mallo");
    // The receiver has moved on and takes the original for a retransmission, whose checksum it fails
    // to see as different: nobody notices anything.
    let next = seal(&mut tx, &header, b"next");
    assert_eq!(open(&mut rx, &header, &next).unwrap(), b"next");
}

/// The twin: the same change without the patched checksum, and the same change after the original was
/// delivered, are refused. That much of the claim holds.
#[test]
fn bit_flipping_fails_without_the_patch_and_after_delivery() {
    let (mut tx, mut rx) = pair(&keys());
    let header = qos_header(0, 1);
    let first = seal(&mut tx, &header, b"transfer 0001");
    let mut unpatched = first.clone();
    unpatched[4] ^= 1;
    assert_eq!(open(&mut rx, &header, &unpatched), None);
    assert!(open(&mut rx, &header, &first).is_some());
    assert_eq!(open(&mut rx, &header, &flip(&first, &[1; 13])), None, "only a duplicate now");
    let second = seal(&mut tx, &header, b"transfer 0002");
    assert!(open(&mut rx, &header, &second).is_some());
    assert_eq!(open(&mut rx, &header, &flip(&first, &[1; 13])), None);
}

/// Knowing a stopped packet's text gives its keystream: any other packet, of that length or shorter,
/// can take its place.
#[test]
fn a_stopped_packet_of_known_text_becomes_any_packet() {
    let (mut tx, mut rx) = pair(&keys());
    let header = qos_header(0, 1);
    let known = b"a packet whose contents are easy to guess";
    let stopped = seal(&mut tx, &header, known);
    let forged_payload = b"something shorter";
    let mut text = forged_payload.to_vec();
    text.extend(crc32(forged_payload).to_le_bytes());
    let mut forged = stopped[..4].to_vec();
    forged.extend(text.iter().zip(&stopped[4..]).zip(known).map(|((t, c), k)| t ^ c ^ k));
    assert_eq!(open(&mut rx, &header, &forged).unwrap(), forged_payload);
    // And from then on the two ends stand at different places: the sender's next packet is lost.
    let next = seal(&mut tx, &header, b"next");
    assert_eq!(open(&mut rx, &header, &next), None);
}

/// Claim: replay fails. HOLDS while both ends keep their state.
#[test]
fn replays_fail_whatever_counter_they_are_given() {
    let (mut tx, mut rx) = pair(&keys());
    let header = qos_header(0, 1);
    let old: Vec<Vec<u8>> = (0..6u8).map(|n| seal(&mut tx, &header, &[n; 40])).collect();
    for sealed in &old {
        assert!(open(&mut rx, &header, sealed).is_some());
    }
    for sealed in &old {
        assert_eq!(open(&mut rx, &header, sealed), None);
        for (epoch, number) in [(0, 6), (0, 7), (1, 0), (9, 0)] {
            for hop in 0..4 {
                let mut moved = sealed.clone();
                moved[..3].copy_from_slice(&Ssc { epoch, number }.to_bytes());
                moved[3] = hop << 6;
                assert_eq!(open(&mut rx, &header, &moved), None);
            }
        }
    }
    // The state did not move: the next packet opens.
    let next = seal(&mut tx, &header, b"next");
    assert_eq!(open(&mut rx, &header, &next).unwrap(), b"next");
}

/// Replay across a restart: the claim HOLDS only because the receiver stores where it was, which the
/// paper does not ask for. A receiver that begins anew takes the whole old conversation again.
#[test]
fn a_receiver_that_forgot_its_state_takes_replays_and_one_that_stored_it_does_not() {
    let (mut tx, mut rx) = pair(&keys());
    let header = qos_header(0, 1);
    let first = seal(&mut tx, &header, b"open the door");
    assert!(open(&mut rx, &header, &first).is_some());
    let (_, mut forgetful) = pair(&keys());
    assert_eq!(open(&mut forgetful, &header, &first).unwrap(), b"open the door");
    let p = Parameters::new(500, 4096, 16).unwrap();
    let accepted = Position { hop: 0, epoch: rx.position().epoch };
    let mut stored =
        SbkhOpen::resumed(keys(), p, Direction::Uplink, accepted, UnixTime::from_secs(0));
    assert_eq!(open(&mut stored, &header, &first), None);
}

/// Claim: "redirection of encrypted frames to another node will result in failure of decryption".
/// To another *receiver*: HOLDS when the pairs have different keys.
#[test]
fn a_frame_for_one_node_does_not_open_at_another() {
    let (mut tx, _) = pair(&keys());
    let (_, mut other) = pair(&BaseKeys::Fixed(BaseKeyPair::new([0x41; 16], [0x42; 16])));
    let header = qos_header(0, 1);
    assert_eq!(open(&mut other, &header, &seal(&mut tx, &header, b"for one")), None);
}

/// Claim (§V): "any modifications which change the IEEE 802.11 sender or receiver fields fail
/// decryption". FAILS to hold: address 3, the final destination behind the access point, is covered by
/// nothing, and the access point forwards the text to whoever the attacker wrote there.
#[test]
fn redirection_behind_the_access_point_succeeds() {
    let (mut tx, mut rx) = pair(&keys());
    let header = qos_header(0, 1);
    let stopped = seal(&mut tx, &header, b"for the file server");
    let mut redirected = header.clone();
    redirected[16..22].copy_from_slice(&[0x0a, 0xbb, 0xcc, 0xdd, 0xee, 0xff]);
    assert_eq!(open(&mut rx, &redirected, &stopped).unwrap(), b"for the file server");
    // So is everything else in the header, the transmitter's address included.
    let next = seal(&mut tx, &header, b"who sent this?");
    redirected[10..16].copy_from_slice(&[6; 6]);
    assert_eq!(open(&mut rx, &redirected, &next).unwrap(), b"who sent this?");
}

/// Claim (§II): "the RC4 states maintained for different pair of nodes could be different for the same
/// Base Key ... This provides some protection from insiders". FAILS to hold: with one base key all
/// pairs walk through the same keystream, and two of their packets cancel it out.
#[test]
fn pairs_that_share_a_base_key_share_the_keystream() {
    let header = qos_header(0, 1);
    let (mut alice, _) = pair(&keys());
    let (mut bob, mut insider) = pair(&keys());
    let a = seal(&mut alice, &header, b"alice's secret, packet 0");
    let b = seal(&mut bob, &header, b"bob's packet, well known");
    let xor: Vec<u8> = a[4..28].iter().zip(&b[4..28]).map(|(x, y)| x ^ y).collect();
    let opened: Vec<u8> = xor.iter().zip(b"bob's packet, well known").map(|(x, k)| x ^ k).collect();
    assert_eq!(opened, b"alice's secret, packet 0");
    // An insider does not even have to compute: its own receiver opens the other pair's packets.
    assert_eq!(open(&mut insider, &header, &a).unwrap(), b"alice's secret, packet 0");
}

/// Acknowledgement spoofing (§II names it): the sender believes, the packet is gone for good; the loss
/// is noticed with the next packet and healed by the S-Offset. HOLDS as far as the paper goes; but the
/// stopped packet can be delivered later, changed.
#[test]
fn a_spoofed_acknowledgement_costs_the_packet_and_resynchronisation_heals_the_rest() {
    let (mut tx, mut rx) = pair(&keys());
    let header = qos_header(0, 1);
    let stopped = seal(&mut tx, &header, b"never acknowledged by its receiver");
    // The attacker acknowledges; the sender goes on.
    let next = seal(&mut tx, &header, b"next");
    assert_eq!(open(&mut rx, &header, &next), None);
    assert!(rx.is_lost());
    tx.resynchronise().unwrap();
    let healed = seal(&mut tx, &header, b"healed");

    // Before the healed packet arrives, the stopped one is still the next one for the receiver.
    let mut victim = rx.clone();
    assert_eq!(open(&mut victim, &header, &flip(&stopped, &[0; 34])).unwrap().len(), 34);

    assert_eq!(open(&mut rx, &header, &healed).unwrap(), b"healed");
    assert!(!rx.is_lost());
    assert_eq!(open(&mut rx, &header, &stopped), None, "too late for the stopped one");
}

/// Forged counters: a frame that claims to be far ahead makes the receiver believe that packets are
/// missing, so an outsider can make the two ends resynchronise as often as it likes; each time costs an
/// epoch, and the base key has 4096.
#[test]
fn outsiders_can_burn_epochs_with_forged_counters() {
    let (mut tx, mut rx) = pair(&keys());
    let (mut back, mut at_sender) = {
        let p = Parameters::new(500, 4096, 16).unwrap();
        let (seal, _) = Sbkh::new(keys(), p, Direction::Downlink).split();
        let (_, open) = Sbkh::new(keys(), p, Direction::Uplink).split();
        (seal, open)
    };
    let header = qos_header(0, 1);
    for round in 1..=5 {
        let packet = seal(&mut tx, &header, b"traffic");
        assert!(open(&mut rx, &header, &packet).is_some());
        let mut forged = vec![0; 20];
        forged[..3].copy_from_slice(&Ssc { epoch: 0xfff, number: 9 }.to_bytes());
        assert_eq!(open(&mut rx, &header, &forged), None);
        assert!(rx.is_lost(), "an unauthenticated header was believed");
        let mut request = seal(&mut back, &header, b"");
        let received = at_sender.open_packet(&header, &mut request);
        assert_eq!(received, Ok(Received::ResyncRequest));
        assert!(at_sender.take_request());
        tx.resynchronise().unwrap();
        assert_eq!(tx.next_ssc().epoch, round);
    }
}

/// Weak keys (§II: the I-Offset eliminates them): HOLDS for the known-IV attack, because no part of the
/// RC4 key is ever sent and KSA runs once; the first keystream bytes, which betray keys, are discarded.
#[test]
fn no_part_of_the_rc4_key_is_on_the_air_and_the_first_bytes_are_discarded() {
    let (mut tx, _) = pair(&keys());
    let sealed = seal(&mut tx, &qos_header(0, 1), &[0; 64]);
    let mut first = slyfi_ciphers::danger::rc4::Rc4::new(&[&[0x31; 16]]);
    let mut stream = [0; 64];
    first.apply(&mut stream);
    assert_ne!(sealed[4..68], stream);
    let mut later = slyfi_ciphers::danger::rc4::Rc4::new(&[&[0x31; 16]]);
    later.skip(500);
    let mut stream = [0; 64];
    later.apply(&mut stream);
    assert_eq!(sealed[4..68], stream);
}
