//! CCM with every M and L: what is sealed opens, and nothing else does.

use crate::Choices;
use slyfi_base::Undecryptable;
use slyfi_ciphers::ccm::{BadLength, Ccm, Parameters};

/// Draws key size, parameters, nonce, associated data and message.
///
/// # Panics
/// When a message does not come back, or anything else opens.
pub fn run(input: &[u8]) {
    let mut c = Choices::new(input);
    let (m, l) = (c.byte() % 20, c.byte() % 11);
    let legal = (4..=16).contains(&m) && m.is_multiple_of(2) && (2..=8).contains(&l);
    let parameters = Parameters::new(m, l);
    assert_eq!(parameters.is_some(), legal);
    let Some(p) = parameters else { return };
    let key: [u8; 32] = c.array();
    let len = [16, 24, 32][c.below(3)];
    assert!(Ccm::new(&key[..len - 1], p).is_none());
    one(&mut c, p, &Ccm::new(&key[..len], p).expect("a key of AES"));
}

fn one(c: &mut Choices<'_>, p: Parameters, ccm: &Ccm) {
    let nonce: [u8; 13] = c.array();
    let (right, wrong) = (p.nonce_len(), c.below(14));
    let aad = c.run();
    let (at, flip) = (usize::from(c.short()), c.byte());
    let data = c.rest();
    let mut tag = vec![0; p.tag_len()];
    let mut sealed = data.to_vec();
    if wrong != right {
        assert_eq!(ccm.seal_in_place(&nonce[..wrong], aad, &mut sealed, &mut tag), Err(BadLength));
        assert_eq!(sealed, data, "nothing is touched");
        assert!(ccm.open_in_place(&nonce[..wrong], aad, &mut sealed, &tag).is_err());
        sealed = data.to_vec();
    }
    let nonce = &nonce[..right];
    assert_eq!(ccm.seal_in_place(nonce, aad, &mut sealed, &mut tag), Ok(()));
    let mut back = sealed.clone();
    assert_eq!(ccm.open_in_place(nonce, aad, &mut back, &tag), Ok(()));
    assert_eq!(back, data);
    // One byte of message, tag or associated data is another.
    let flip = flip.max(1);
    let (mut bad, mut bad_tag, mut bad_aad) = (sealed, tag.clone(), aad.to_vec());
    let at = at % (bad.len() + bad_tag.len() + bad_aad.len());
    let place = bad.iter_mut().chain(&mut bad_tag).chain(&mut bad_aad).nth(at);
    *place.expect("it is inside") ^= flip;
    assert_eq!(ccm.open_in_place(nonce, &bad_aad, &mut bad, &bad_tag), Err(Undecryptable));
    assert!(bad.iter().all(|b| *b == 0), "nothing unverified is left");
    // What was never sealed.
    let mut raw = data.to_vec();
    assert_eq!(ccm.open_in_place(nonce, aad, &mut raw, &vec![0; p.tag_len()]), Err(Undecryptable));
    assert!(ccm.open_in_place(nonce, aad, &mut raw, &tag[1..]).is_err());
}
