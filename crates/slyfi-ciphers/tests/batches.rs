//! Slices of frames of several links: each frame gets what it would get alone.

mod common;

use common::qos_header;
use slyfi_base::{
    Exhausted, LinkCipher, OpenFrame, OpenHalf, Opened, SealFrame, SealHalf, Undecryptable,
};
use slyfi_ciphers::ccmp::{Ccmp128, Ccmp128Key, Ccmp256, Ccmp256Key};
use slyfi_ciphers::danger::tkip::{Tkip, TkipKey};
use slyfi_ciphers::gcmp::{Gcmp, GcmpKey};
use slyfi_ciphers::replay::ReplayCounters;
use slyfi_ciphers::{KeyId, PacketNumber};

const LINKS: usize = 5;
const FRAMES: usize = 40;

/// The longest payload here, its room around it, and some to spare.
const ROOM: usize = 2_000;

struct Frame {
    link: usize,
    header: Vec<u8>,
    payload: Vec<u8>,
}

/// Frames of several links and lengths, in no order but each link's own.
fn frames() -> Vec<Frame> {
    (0..FRAMES)
        .map(|i| Frame {
            link: i * i % LINKS,
            header: qos_header((i % 8) as u8, i as u16),
            payload: (0..[0, 1, 15, 16, 17, 300, 1500][i % 7]).map(|b| (b * i) as u8).collect(),
        })
        .collect()
}

type Halves<C> = (Vec<<C as LinkCipher>::Seal>, Vec<<C as LinkCipher>::Open>);

fn split<C: LinkCipher>(new: impl Fn(u8) -> C) -> Halves<C> {
    (0..LINKS as u8).map(|i| new(i).split()).unzip()
}

fn buffer<C: LinkCipher>(payload: &[u8]) -> Vec<u8> {
    let mut buf = vec![0; ROOM];
    buf[C::OVERHEAD.headroom..][..payload.len()].copy_from_slice(payload);
    buf
}

/// What each frame is sealed to alone.
fn alone<C: LinkCipher>(links: &mut [C::Seal], frames: &[Frame]) -> Vec<Vec<u8>> {
    let seal = |frame: &Frame| {
        let mut buf = buffer::<C>(&frame.payload);
        let len = links[frame.link].seal(&frame.header, &mut buf, frame.payload.len()).unwrap();
        buf.truncate(len);
        buf
    };
    frames.iter().map(seal).collect()
}

fn open_all<O: OpenHalf>(
    links: &mut [O],
    frames: &[(usize, &[u8])],
    sealed: &mut [Vec<u8>],
) -> Vec<Result<Opened, Undecryptable>> {
    let mut links: Vec<&mut O> = links.iter_mut().collect();
    let mut jobs: Vec<OpenFrame<'_>> = frames
        .iter()
        .zip(sealed)
        .map(|((link, header), buf)| OpenFrame {
            link: *link,
            header,
            buf,
            opened: Err(Undecryptable),
        })
        .collect();
    O::open_batch(&mut links, &mut jobs);
    jobs.into_iter().map(|job| job.opened).collect()
}

fn a_slice_is_its_frames_one_by_one<C: LinkCipher>(new: impl Fn(u8) -> C) {
    let frames = frames();
    let expected = alone::<C>(&mut split(&new).0, &frames);
    let (mut seals, mut opens) = split(&new);

    let mut bufs: Vec<Vec<u8>> = frames.iter().map(|f| buffer::<C>(&f.payload)).collect();
    let mut jobs: Vec<SealFrame<'_>> = frames
        .iter()
        .zip(&mut bufs)
        .map(|(f, buf)| SealFrame {
            link: f.link,
            header: &f.header,
            buf,
            len: f.payload.len(),
            sealed: Err(Exhausted),
        })
        .collect();
    C::Seal::seal_batch(&mut seals.iter_mut().collect::<Vec<_>>(), &mut jobs);
    let lens: Vec<usize> = jobs.into_iter().map(|job| job.sealed.unwrap()).collect();
    for (i, (buf, len)) in bufs.iter_mut().zip(lens).enumerate() {
        buf.truncate(len);
        assert_eq!(buf, &expected[i], "frame {i}");
    }

    // One of them damaged, one twice in the slice, and one of a link that is not there.
    let mut sealed = bufs.clone();
    sealed[7][12] ^= 1;
    sealed[9] = sealed[4].clone();
    let mut whose: Vec<(usize, &[u8])> = frames.iter().map(|f| (f.link, &f.header[..])).collect();
    whose[9] = whose[4];
    whose[11].0 = LINKS;
    let opened = open_all(&mut opens, &whose, &mut sealed);
    for (i, (opened, frame)) in opened.iter().zip(&frames).enumerate() {
        match opened {
            Ok(opened) => assert_eq!(opened.payload(&sealed[i]), frame.payload, "frame {i}"),
            Err(Undecryptable) => assert!([7, 9, 11].contains(&i), "frame {i}"),
        }
        assert_eq!(opened.is_err(), [7, 9, 11].contains(&i), "frame {i}");
    }
    // All of them again are replays.
    let mut again = bufs.clone();
    let whose: Vec<(usize, &[u8])> = frames.iter().map(|f| (f.link, &f.header[..])).collect();
    for (i, opened) in open_all(&mut opens, &whose, &mut again).iter().enumerate() {
        assert!(opened.is_err() || [9, 11].contains(&i), "frame {i} is a replay");
    }
}

#[test]
fn ccmp_seals_and_opens_slices() {
    a_slice_is_its_frames_one_by_one(|i| Ccmp128::new(Ccmp128Key::new(&[i; 16]), KeyId::PAIRWISE));
    a_slice_is_its_frames_one_by_one(|i| Ccmp256::new(Ccmp256Key::new(&[i; 32]), KeyId::PAIRWISE));
}

#[test]
fn gcmp_and_tkip_seal_and_open_slices() {
    a_slice_is_its_frames_one_by_one(|i| Gcmp::new(GcmpKey::new_128(&[i; 16]), KeyId::PAIRWISE));
    a_slice_is_its_frames_one_by_one(|i| Tkip::new(TkipKey::new(&[i; 32]), KeyId::PAIRWISE));
}

#[test]
fn frames_that_cannot_be_sealed_spend_no_number() {
    let new = || Ccmp128::new(Ccmp128Key::new(&[1; 16]), KeyId::PAIRWISE);
    let (mut seal, _) = new().split();
    let header = qos_header(0, 1);
    let mut bufs = vec![vec![0; 100]; 5];
    bufs[1].truncate(50);
    let mut jobs: Vec<SealFrame<'_>> = bufs
        .iter_mut()
        .enumerate()
        .map(|(i, buf)| SealFrame {
            link: usize::from(i == 3),
            // An acknowledgement has no transmitter, so no nonce.
            header: if i == 2 { &[0xd4, 0, 0, 0, 1, 2, 3, 4, 5, 6] } else { &header },
            buf,
            len: 40,
            sealed: Ok(0),
        })
        .collect();
    SealHalf::seal_batch(&mut [&mut seal], &mut jobs);
    let sealed: Vec<_> = jobs.iter().map(|job| job.sealed).collect();
    let no = Err(Exhausted);
    assert_eq!(sealed, [Ok(56), no, no, no, Ok(56)], "no room, no data, no link");
    assert_eq!(seal.last_number().get(), 2);
}

#[test]
fn a_key_ends_with_its_last_number_within_a_slice() {
    let key = Ccmp128Key::new(&[1; 16]);
    let last = PacketNumber::new(PacketNumber::MAX.get() - 2).unwrap();
    let cipher = Ccmp128::resumed(key, KeyId::PAIRWISE, last, ReplayCounters::default());
    let (mut seal, _) = cipher.split();
    let header = qos_header(0, 1);
    let mut bufs = vec![vec![0; 60]; 4];
    let mut jobs: Vec<SealFrame<'_>> = bufs
        .iter_mut()
        .map(|buf| SealFrame { link: 0, header: &header, buf, len: 40, sealed: Ok(0) })
        .collect();
    SealHalf::seal_batch(&mut [&mut seal], &mut jobs);
    let sealed: Vec<_> = jobs.iter().map(|job| job.sealed).collect();
    assert_eq!(sealed, [Ok(56), Ok(56), Err(Exhausted), Err(Exhausted)]);
}
