//! Batches of CCM: whatever is in them, each message gets what it would get alone.

use crate::ccm::{Message, message};
use crate::support::{Noise, backends};
use slyfi_aes::{
    Backend, Block, CcmKey, CcmOpen, CcmSeal, Mismatch, ccm_open_batch, ccm_seal_batch,
};

struct Frame {
    key: CcmKey,
    message: Message,
    plain: Vec<u8>,
    sealed: Vec<u8>,
    tag: Block,
}

/// A message of its own key, sealed by the portable twin alone.
fn frame(noise: &mut Noise, backend: Backend, key_len: usize, len: usize) -> Frame {
    let key = noise.bytes(key_len);
    let message = message(noise, len);
    let plain = noise.bytes(len);
    let mut sealed = plain.clone();
    let tag = CcmKey::on(Backend::Portable, &key).seal_in_place(&message.head(), &mut sealed);
    Frame { key: CcmKey::on(backend, &key), message, plain, sealed, tag }
}

/// Ciphertexts and tags, nothing written around them.
fn seal_all(frames: &[Frame], noise: &mut Noise) -> Vec<(Vec<u8>, Block)> {
    let offsets: Vec<usize> = frames.iter().map(|_| noise.below(64)).collect();
    let mut buffers: Vec<Vec<u8>> = frames
        .iter()
        .zip(&offsets)
        .map(|(frame, offset)| [&vec![0xa5; *offset][..], &frame.plain, &[0xa5; 64]].concat())
        .collect();
    let mut jobs: Vec<CcmSeal<'_>> = frames
        .iter()
        .zip(buffers.iter_mut().zip(&offsets))
        .map(|(frame, (buffer, offset))| CcmSeal {
            key: &frame.key,
            head: frame.message.head(),
            data: &mut buffer[*offset..][..frame.plain.len()],
            tag: [0; 16],
        })
        .collect();
    ccm_seal_batch(&mut jobs);
    let tags: Vec<Block> = jobs.iter().map(|job| job.tag).collect();
    let sealed = buffers.iter().zip(offsets).zip(frames).map(|((buffer, offset), frame)| {
        let (data, after) = buffer[offset..].split_at(frame.plain.len());
        let mut outside = buffer[..offset].iter().chain(after);
        assert!(outside.all(|byte| *byte == 0xa5), "wrote outside the message");
        data.to_vec()
    });
    sealed.zip(tags).collect()
}

fn open_all(frames: &[Frame], sealed: &mut [(Vec<u8>, Block)]) -> Vec<Result<(), Mismatch>> {
    let mut jobs: Vec<CcmOpen<'_>> = frames
        .iter()
        .zip(sealed)
        .map(|(frame, (data, tag))| CcmOpen {
            key: &frame.key,
            head: frame.message.head(),
            data,
            tag: &tag[..8],
            result: Err(Mismatch),
        })
        .collect();
    ccm_open_batch(&mut jobs);
    jobs.into_iter().map(|job| job.result).collect()
}

fn check(frames: &[Frame], noise: &mut Noise, what: &str) {
    let mut sealed = seal_all(frames, noise);
    for (i, (frame, (data, tag))) in frames.iter().zip(&sealed).enumerate() {
        assert_eq!((data, tag), (&frame.sealed, &frame.tag), "{what}: message {i}");
    }
    assert!(open_all(frames, &mut sealed).iter().all(Result::is_ok), "{what}");
    for (i, (frame, (data, _))) in frames.iter().zip(&sealed).enumerate() {
        assert_eq!(data, &frame.plain, "{what}: message {i}");
    }
}

#[test]
fn any_number_of_messages_of_one_length() {
    let mut noise = Noise(11);
    for backend in backends() {
        for count in 0..=40 {
            for len in [0, 1, 16, 33, 1500] {
                let frames: Vec<Frame> =
                    (0..count).map(|_| frame(&mut noise, backend, 16, len)).collect();
                check(&frames, &mut noise, &format!("{backend}, {count} messages of {len}"));
            }
        }
    }
}

#[test]
fn any_number_of_messages_of_any_lengths() {
    let mut noise = Noise(12);
    for backend in backends() {
        for round in 0..150 {
            let count = noise.below(50);
            let (longest, key_len) = ([3, 40, 300, 2304][round % 4], [16, 24, 32][round % 3]);
            let frames: Vec<Frame> = (0..count)
                .map(|_| {
                    let len = noise.below(longest);
                    frame(&mut noise, backend, key_len, len)
                })
                .collect();
            check(&frames, &mut noise, &format!("{backend}, round {round}, {count} messages"));
        }
    }
}

#[test]
fn keys_of_different_sizes_and_backends_in_one_batch() {
    let mut noise = Noise(13);
    let backends = backends();
    let frames: Vec<Frame> = (0..60)
        .map(|i| {
            frame(&mut noise, backends[i / 7 % backends.len()], [16, 24, 32][i / 5 % 3], 7 * i)
        })
        .collect();
    check(&frames, &mut noise, "mixed");
}

#[test]
fn one_key_in_many_lanes() {
    let mut noise = Noise(14);
    for backend in backends() {
        let mut frames: Vec<Frame> =
            (0..20).map(|i| frame(&mut noise, backend, 16, 100 + i)).collect();
        let raw = noise.bytes(16);
        for frame in &mut frames {
            frame.key = CcmKey::on(backend, &raw);
            frame.sealed = frame.plain.clone();
            frame.tag = CcmKey::on(Backend::Portable, &raw)
                .seal_in_place(&frame.message.head(), &mut frame.sealed);
        }
        check(&frames, &mut noise, &format!("{backend}"));
    }
}

#[test]
fn a_damaged_message_fails_alone_and_leaves_nothing_unverified() {
    let mut noise = Noise(15);
    for backend in backends() {
        for count in [1, 2, 4, 16, 17, 33] {
            let frames: Vec<Frame> = (0..count)
                .map(|_| {
                    let len = 1 + noise.below(300);
                    frame(&mut noise, backend, 16, len)
                })
                .collect();
            for damaged in 0..count {
                let mut sealed: Vec<(Vec<u8>, Block)> =
                    frames.iter().map(|frame| (frame.sealed.clone(), frame.tag)).collect();
                let (data, tag) = &mut sealed[damaged];
                if noise.below(2) == 0 {
                    tag[noise.below(8)] ^= 1 << noise.below(8);
                } else {
                    let at = noise.below(data.len());
                    data[at] ^= 1 << noise.below(8);
                }
                let results = open_all(&frames, &mut sealed);
                for (i, result) in results.into_iter().enumerate() {
                    assert_eq!(result.is_err(), i == damaged, "{backend}: {i} of {count}");
                    let zeros = vec![0; frames[i].plain.len()];
                    let expected = if i == damaged { &zeros } else { &frames[i].plain };
                    assert_eq!(&sealed[i].0, expected, "{backend}: {i} of {count}");
                }
            }
        }
    }
}
