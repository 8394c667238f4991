//! Batches of frames: every lane with its own key and length, against the portable twin.

use crate::support::{Noise, backends};
use slyfi_aes::{
    Backend, Block, CbcCmacKey, CbcCmacOpen, CbcCmacSeal, Mismatch, open_batch, seal_batch,
};

struct Frame {
    key: CbcCmacKey,
    iv: Block,
    prefix: Option<Block>,
    plain: Vec<u8>,
    sealed: Vec<u8>,
    tag: Block,
}

/// A frame of its own key, sealed by the portable twin.
fn frame(noise: &mut Noise, backend: Backend, blocks: usize) -> Frame {
    let (enc, mac) = (noise.array(), noise.array());
    let iv = noise.array();
    let prefix = (noise.below(4) != 0).then(|| noise.array());
    let plain = noise.bytes(16 * blocks);
    let mut sealed = plain.clone();
    let twin = CbcCmacKey::on(Backend::Portable, &enc, &mac);
    let tag = twin.seal_in_place(&iv, prefix.as_ref(), &mut sealed);
    Frame { key: CbcCmacKey::on(backend, &enc, &mac), iv, prefix, plain, sealed, tag }
}

fn seal_all(frames: &[Frame], noise: &mut Noise) -> Vec<(Vec<u8>, Block)> {
    let offsets: Vec<usize> = frames.iter().map(|_| noise.below(64)).collect();
    let mut buffers: Vec<Vec<u8>> = frames
        .iter()
        .zip(&offsets)
        .map(|(frame, offset)| [&vec![0xa5; *offset][..], &frame.plain, &[0xa5; 64]].concat())
        .collect();
    let mut jobs: Vec<CbcCmacSeal<'_>> = frames
        .iter()
        .zip(buffers.iter_mut().zip(&offsets))
        .map(|(frame, (buffer, offset))| CbcCmacSeal {
            key: &frame.key,
            iv: frame.iv,
            mac_prefix: frame.prefix,
            data: &mut buffer[*offset..][..frame.plain.len()],
            tag: [0; 16],
        })
        .collect();
    seal_batch(&mut jobs);
    let tags: Vec<Block> = jobs.iter().map(|job| job.tag).collect();
    buffers
        .into_iter()
        .zip(offsets)
        .zip(frames)
        .zip(tags)
        .map(|(((buffer, offset), frame), tag)| {
            let (data, after) = buffer[offset..].split_at(frame.plain.len());
            let outside = buffer[..offset].iter().chain(after);
            assert!(outside.into_iter().all(|byte| *byte == 0xa5), "wrote outside the frame");
            (data.to_vec(), tag)
        })
        .collect()
}

fn open_all(frames: &[Frame], sealed: &mut [(Vec<u8>, Block)]) -> Vec<Result<(), Mismatch>> {
    let mut jobs: Vec<CbcCmacOpen<'_>> = frames
        .iter()
        .zip(sealed)
        .map(|(frame, (data, tag))| CbcCmacOpen {
            key: &frame.key,
            iv: frame.iv,
            mac_prefix: frame.prefix,
            data,
            tag: *tag,
            result: Err(Mismatch),
        })
        .collect();
    open_batch(&mut jobs);
    jobs.into_iter().map(|job| job.result).collect()
}

fn check(frames: &[Frame], noise: &mut Noise, what: &str) {
    let mut sealed = seal_all(frames, noise);
    for (i, (frame, (data, tag))) in frames.iter().zip(&sealed).enumerate() {
        assert_eq!((data, tag), (&frame.sealed, &frame.tag), "{what}: frame {i}");
    }
    assert!(open_all(frames, &mut sealed).iter().all(Result::is_ok), "{what}");
    for (i, (frame, (data, _))) in frames.iter().zip(&sealed).enumerate() {
        assert_eq!(data, &frame.plain, "{what}: frame {i}");
    }
}

#[test]
fn any_number_of_frames_of_one_length() {
    let mut noise = Noise(1);
    for backend in backends() {
        for count in 0..=40 {
            for blocks in [1, 2, 3, 94] {
                let frames: Vec<Frame> =
                    (0..count).map(|_| frame(&mut noise, backend, blocks)).collect();
                check(&frames, &mut noise, &format!("{backend}, {count} frames of {blocks}"));
            }
        }
    }
}

#[test]
fn any_number_of_frames_of_any_lengths() {
    let mut noise = Noise(2);
    for backend in backends() {
        for round in 0..150 {
            let count = noise.below(50);
            let longest = [3, 20, 145, 300][round % 4];
            let frames: Vec<Frame> = (0..count)
                .map(|_| {
                    let blocks = noise.below(longest);
                    frame(&mut noise, backend, blocks)
                })
                .collect();
            check(&frames, &mut noise, &format!("{backend}, round {round}, {count} frames"));
        }
    }
}

#[test]
fn keys_of_different_backends_in_one_batch() {
    let mut noise = Noise(3);
    let backends = backends();
    let frames: Vec<Frame> =
        (0..20).map(|i| frame(&mut noise, backends[i % backends.len()], i)).collect();
    check(&frames, &mut noise, "mixed");
}

#[test]
fn a_damaged_frame_fails_alone_and_is_left_alone() {
    let mut noise = Noise(4);
    for backend in backends() {
        for count in [1, 2, 4, 16, 17, 33] {
            let frames: Vec<Frame> = (0..count)
                .map(|_| {
                    let blocks = 1 + noise.below(30);
                    frame(&mut noise, backend, blocks)
                })
                .collect();
            for damaged in 0..count {
                let mut sealed: Vec<(Vec<u8>, Block)> =
                    frames.iter().map(|frame| (frame.sealed.clone(), frame.tag)).collect();
                let (data, tag) = &mut sealed[damaged];
                match noise.below(3) {
                    0 => tag[noise.below(16)] ^= 1 << noise.below(8),
                    1 => {
                        let at = noise.below(data.len());
                        data[at] ^= 1 << noise.below(8);
                    }
                    _ => data.truncate(noise.below(data.len())),
                }
                let before = data.clone();
                let results = open_all(&frames, &mut sealed);
                for (i, result) in results.into_iter().enumerate() {
                    assert_eq!(result.is_err(), i == damaged, "{backend}: {i} of {count}");
                    let expected = if i == damaged { &before } else { &frames[i].plain };
                    assert_eq!(&sealed[i].0, expected, "{backend}: {i} of {count}");
                }
            }
        }
    }
}
