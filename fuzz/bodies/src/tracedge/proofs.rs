//! Proofs: of the log, of blocks, of rows, of K.

use crate::Choices;
use crate::honest::{BEGIN, Honest};
use crate::memory::within;
use crate::seeded::Seeded;
use crate::spoil::spoil;
use slyfi_tracedge::audit::{KeySum, WholeError};
use slyfi_tracedge::directory::Top;
use slyfi_tracedge::epoch::EpochSecret;
use slyfi_tracedge::head::CLOCK_SKEW;
use slyfi_tracedge::log::LogError;
use slyfi_tracedge::login::{ClientLogin, ServerLogin};
use slyfi_tracedge::merkle::{BlockTree, Hash, climb, is_block, leaf_hash, log, root_of_top};
use slyfi_tracedge::operator::Serving;
use slyfi_tracedge::pieces::Work;

/// Changes hashes: another one, one more, one less, two exchanged.
fn spoil_hashes(hashes: &mut Vec<Hash>, c: &mut Choices<'_>) {
    let at = c.below(hashes.len());
    match c.below(5) {
        0 => hashes.push([c.byte(); 32]),
        1 => {
            hashes.pop();
        }
        2 if !hashes.is_empty() => hashes[at][usize::from(c.byte()) % 32] ^= 1 + c.byte() % 255,
        3 if !hashes.is_empty() => {
            let other = c.below(hashes.len());
            hashes.swap(at, other);
        }
        _ => {}
    }
}

/// The append-only tree: what is proved is so, whoever made the proof.
pub(super) fn log(c: &mut Choices<'_>) {
    let leaves: Vec<Hash> = (0..1 + c.byte() % 70).map(|i| leaf_hash(&[i])).collect();
    let n = leaves.len() as u64;
    let root = log::root(&leaves);
    let (index, old) = (c.below(leaves.len()), 1 + c.below(leaves.len()));
    let mut inclusion = log::inclusion(&leaves, index);
    let mut consistency = log::consistency(&leaves, old);
    let old_root = log::root(&leaves[..old]);
    assert!(log::includes(&root, n, index as u64, leaves[index], &inclusion));
    assert!(log::extends(old as u64, &old_root, n, &root, &consistency));
    spoil_hashes(&mut inclusion, c);
    spoil_hashes(&mut consistency, c);
    let index = c.long() >> (c.byte() & 63);
    let leaf = leaves[c.below(leaves.len())];
    if log::includes(&root, n, index, leaf, &inclusion) {
        assert_eq!(leaves.get(index as usize), Some(&leaf), "it is not there");
    }
    let old = c.long() >> (c.byte() & 63);
    let some_root = if c.is() { log::root(&leaves[..c.below(leaves.len())]) } else { old_root };
    if log::extends(old, &some_root, n, &root, &consistency) {
        let prefix = &leaves[..usize::try_from(old).expect("no more than there are")];
        assert_eq!(log::root(prefix), some_root, "it was another log");
    }
    // Sizes of anything.
    let (size, root) = (c.long(), [c.byte(); 32]);
    assert!(!log::includes(&root, size, index, leaf, &inclusion), "a root was guessed");
    let extends = log::extends(old, &some_root, size, &root, &consistency);
    assert!(!extends || (old == size && some_root == root), "a root was guessed");
}

/// Trees over blocks, the directory's top and entries, files of an epoch.
pub(super) fn blocks(operator: &Honest, c: &mut Choices<'_>) {
    let published = &operator.epochs[c.below(2)];
    let head = published.head();
    let layout = head.directory_layout;
    match c.below(4) {
        0 => {
            let leaves: Vec<Hash> = (0..1 + c.byte() % 70).map(|i| leaf_hash(&[i])).collect();
            let tree = BlockTree::new(leaves.clone());
            let (index, level) = (c.below(leaves.len()), c.below(8) as u32);
            let mut path = tree.full_path(index as u64);
            if level <= BlockTree::height(leaves.len() as u64) {
                assert_eq!(root_of_top(tree.level(level), level), tree.root());
                let node = climb(leaves[index], index as u64, &path[..level as usize]);
                assert_eq!(tree.level(level).get(index >> level), Some(&node));
            }
            spoil_hashes(&mut path, c);
            let at = c.long() >> (c.byte() & 63);
            let (leaf, n) = (leaves[c.below(leaves.len())], leaves.len() as u64);
            if is_block(leaf, at, n, &path, &tree.root()) {
                assert_eq!(leaves.get(at as usize), Some(&leaf), "it is not there");
            }
        }
        1 => {
            let genuine = published.top().encode();
            let mut bytes = genuine.clone();
            spoil(&mut bytes, c, &[]);
            let top =
                within(super::bound(&bytes), || Top::decode(&layout, &bytes, &head.directory_root));
            assert_eq!(top.is_ok(), bytes == genuine, "another top");
        }
        2 => {
            let database = layout.database(&operator.directory, &operator.tree);
            let block = c.below(layout.blocks() as usize);
            let genuine = &database[block * layout.entry_bytes()..][..layout.entry_bytes()];
            let mut bytes = genuine.to_vec();
            if c.is() {
                spoil(&mut bytes, c, &[]);
            }
            let at = if c.is() { c.long() >> (c.byte() & 63) } else { block as u64 };
            let opened = layout.open(published.top(), at, &bytes);
            let right = at == block as u64 && bytes == genuine;
            assert_eq!(opened.is_ok(), right, "an entry that is not in the directory");
            if let Ok(block) = opened {
                assert!(block.is_in(&head.directory_root));
                assert_eq!(block, published.blocks[at as usize]);
            }
        }
        _ => {
            // What a disk gave back, as an epoch that is to be served again.
            let (mut keys, mut rows) = (operator.directory.clone(), published.rows.clone());
            let files = if c.is() { &mut keys } else { &mut rows };
            spoil(files, c, &[]);
            if keys != operator.directory || rows != published.rows {
                let head = published.signed().clone();
                let resumed = Serving::resume(head, &keys, &rows, &Work::quiet());
                assert!(resumed.is_err(), "serves what it has not committed to");
            }
        }
    }
}

/// Rows, and whole tables.
pub(super) fn rows(operator: &Honest, c: &mut Choices<'_>) {
    let published = &operator.epochs[c.below(2)];
    let (head, secret) = (published.head(), &published.secret);
    if c.byte() % 8 != 0 {
        let owner = c.below(operator.owners.len());
        let at = c.below(operator.owners.len());
        let mut row = [0; 32];
        row.copy_from_slice(&published.rows[at * 32..][..32]);
        let mut commitment = head.commitment;
        for bytes in [&mut row, &mut commitment] {
            if c.is() {
                let mut spoiled = bytes.to_vec();
                spoil(&mut spoiled, c, std::slice::from_ref(&published.rows));
                spoiled.resize(32, 0);
                bytes.copy_from_slice(&spoiled);
            }
        }
        let mut epoch = head.epoch;
        if c.is() {
            epoch.number ^= u64::from(c.byte());
        }
        let opened = EpochSecret::open(&epoch, &commitment, &row, &operator.owners[owner]);
        let right = published.rows[owner * 32..][..32] == row
            && commitment == head.commitment
            && epoch == head.epoch
            && owner % 10 != 9;
        assert_eq!(opened.is_ok(), right, "a row opens to K or to nothing");
        assert!(opened.is_ok_and(|opened| opened.key() == secret.key()) == right);
        return;
    }
    let mut table = published.rows.clone();
    let other = operator.epochs[1].rows.clone();
    for _ in 0..1 + c.below(3) {
        let at = c.below(operator.owners.len());
        let mut row = table[at * 32..][..32].to_vec();
        spoil(&mut row, c, std::slice::from_ref(&other));
        row.resize(32, 0);
        table[at * 32..][..32].copy_from_slice(&row);
    }
    let wrong: Vec<u64> = (0..operator.owners.len())
        .filter(|at| table[at * 32..][..32] != published.rows[at * 32..][..32])
        .map(|at| at as u64)
        .collect();
    let quiet = Work::quiet();
    let seed = &mut Seeded(c.long());
    let sum = KeySum::new(&operator.directory, seed, &quiet).expect("keys are keys");
    let found = sum.check(secret, &table, &operator.directory, &quiet);
    let expected = if wrong.is_empty() { Ok(()) } else { Err(WholeError::WrongRows(wrong)) };
    assert_eq!(found, expected, "the audit of the whole table");
}

/// The mutual proof, between two ends of whom one or none knows K; and the tree heads that come first.
pub(super) fn login(operator: &Honest, c: &mut Choices<'_>) {
    let (seen, later) = (c.below(operator.tree_heads.len()), c.below(operator.tree_heads.len()));
    let (seen, later) = (operator.tree_heads[seen], operator.tree_heads[later]);
    let mut proof = if seen.size <= later.size {
        log::consistency(&operator.leaves[..later.size as usize], seen.size as usize)
    } else {
        Vec::new()
    };
    let honest = proof.clone();
    spoil_hashes(&mut proof, c);
    let follows = later.check_after(&seen, &proof);
    if seen.size > later.size || seen.time > later.time + CLOCK_SKEW {
        assert_eq!(follows, Err(LogError::OlderThanSeen), "an old state is taken");
    } else {
        assert!(proof != honest || follows.is_ok(), "the log does not go on");
    }

    let key = operator.epochs[c.below(2)].secret.key();
    let other = operator.epochs[c.below(2)].secret.key();
    let epoch = u64::from(c.byte() % 2);
    let rng = &mut Seeded(c.long());
    let server = ServerLogin::begin(rng);
    let genuine = *server.share();
    let mut x1 = genuine.to_vec();
    if c.is() {
        spoil(&mut x1, c, &[]);
    }
    let Ok(x1) = <[u8; 32]>::try_from(x1) else { return };
    let Ok(client) = ClientLogin::begin(&x1, epoch, key, rng) else {
        assert!(x1 != genuine, "an honest share is refused");
        return;
    };
    let honest = client.message().encode();
    let mut message = honest.to_vec();
    match c.below(4) {
        0 => spoil(&mut message, c, &[]),
        // The server's own share.
        1 => message[8..40].copy_from_slice(&genuine),
        _ => {}
    }
    let (here, there) = ([c.byte() % 2], [c.byte() % 2]);
    let find = |number| (number == 1).then(|| other.clone());
    let finished = server.finish(&message, find, &here);
    // Which epoch it is of is a hint to find K by; what is proved is K.
    let meant = message.get(..8) == Some(&1u64.to_le_bytes()) && message[8..] == honest[8..];
    let right = x1 == genuine && meant && key == other;
    assert_eq!(finished.is_ok(), right, "a proof without K, or a change on the way");
    let Ok((mut proof, keys)) = finished else { return };
    let spoiled = c.is();
    if spoiled {
        proof[usize::from(c.byte()) % 32] ^= 1 + c.byte() % 255;
    }
    let same_channel = here == there;
    match client.finish(&proof, &there) {
        Ok(mine) => {
            assert!(!spoiled, "a proof was guessed");
            assert_eq!(mine == keys, same_channel, "keys are of one channel");
        }
        Err(_) => assert!(spoiled, "an honest proof is refused"),
    }
    // Tree heads of after the epochs say nothing about K; heads are of their epoch's time.
    for published in &operator.epochs {
        let checked = published.signed().check(&operator.id(), BEGIN + 10, None, true);
        assert_eq!(checked, Ok(()));
    }
}
