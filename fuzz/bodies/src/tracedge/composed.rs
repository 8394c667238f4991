//! Evidence put together of what an honest operator signed: it never convicts.

use crate::Choices;
use crate::honest::{Asked, Honest, ROWS};
use crate::memory::within;
use crate::spoil::spoil;
use slyfi_tracedge::answer::{Database, SignedAnswer};
use slyfi_tracedge::directory::KeyBlock;
use slyfi_tracedge::epoch::EpochKey;
use slyfi_tracedge::evidence::{Aids, Evidence, WrongAnswer, WrongRetrieval, WrongRow};
use slyfi_tracedge::log::Entry;
use slyfi_tracedge::merkle::{Hash, log};

/// How many kinds [`compose`] knows.
pub(super) const KINDS: usize = 10;

/// What verifying may allocate: the retrieval of a small table is prepared again.
const MOST: usize = 256 << 20;

/// Evidence of any kind, of parts that the operator signed, and of anything beside them.
pub(super) fn evidence(operator: &Honest, c: &mut Choices<'_>) {
    let kind = c.below(KINDS);
    let mut evidence = compose(operator, kind, c);
    let encoded = evidence.encode();
    let again = Evidence::decode(&encoded).expect("what was written is read");
    assert_eq!((again.encode(), again.kind()), (encoded.clone(), evidence.kind()));
    if c.is() {
        let mut bytes = encoded;
        let second = compose(operator, c.below(KINDS), c).encode();
        spoil(&mut bytes, c, &[second]);
        let decoded = within(super::bound(&bytes) * 4, || Evidence::decode(&bytes));
        let Ok(decoded) = decoded else { return };
        assert_eq!(decoded.encode(), bytes, "evidence has one encoding");
        evidence = decoded;
    }
    let published = &operator.epochs[c.below(2)];
    let mut hint = published.serving.hint(Database::Table).unwrap_or(&[]).to_vec();
    let (mut table, mut keys) = (published.rows.clone(), operator.directory.clone());
    if c.byte() % 4 == 0 {
        hint = published.serving.hint(Database::Directory).unwrap_or(&[]).to_vec();
    }
    if c.byte() % 4 == 0 {
        let file = [&mut hint, &mut table, &mut keys].into_iter().nth(c.below(3));
        spoil(file.expect("one of three"), c, &[]);
    }
    // Preparing a table again is what takes time.
    let prepares = c.byte() % 8 == 0;
    let aids = Aids {
        hint: c.is().then_some(&hint[..]),
        table: (prepares && c.is()).then_some(&table[..]),
        keys: (prepares && c.is()).then_some(&keys[..]),
    };
    let verdict = within(MOST, || evidence.verify(&operator.id(), &aids));
    assert!(verdict.is_err(), "honest, and convicted of {}", evidence.kind());
}

fn hashes(c: &mut Choices<'_>, genuine: &[Hash]) -> Vec<Hash> {
    let mut hashes = genuine[..genuine.len() - c.below(genuine.len())].to_vec();
    if c.byte() % 4 == 1 {
        hashes.push([c.byte(); 32]);
    }
    hashes
}

/// A path or proof, sometimes spoiled.
fn path(c: &mut Choices<'_>, mut genuine: Vec<Hash>) -> Vec<Hash> {
    match c.byte() % 8 {
        1 => {
            genuine.pop();
        }
        2 => genuine.push([c.byte(); 32]),
        3 => {
            if let Some(first) = genuine.first_mut() {
                first[0] ^= 1;
            }
        }
        _ => {}
    }
    genuine
}

fn key(operator: &Honest, c: &mut Choices<'_>) -> EpochKey {
    match c.below(3) {
        2 => EpochKey::from_bytes([c.byte(); 16]),
        n => operator.epochs[n].secret.key().clone(),
    }
}

fn block<'a>(operator: &'a Honest, c: &mut Choices<'_>) -> &'a KeyBlock {
    let blocks = &operator.epochs[0].blocks;
    &blocks[c.below(blocks.len())]
}

fn row(c: &mut Choices<'_>) -> u64 {
    match c.byte() {
        255 => c.long(),
        n => u64::from(n) % ROWS,
    }
}

/// Evidence of one kind.
pub(super) fn compose(operator: &Honest, kind: usize, c: &mut Choices<'_>) -> Evidence {
    let published = &operator.epochs[c.below(2)];
    let head = published.signed().clone();
    let tree_head = operator.tree_heads[c.below(operator.tree_heads.len())];
    match kind {
        0 => Evidence::TwoHeads {
            one: Box::new(head),
            other: Box::new(operator.epochs[c.below(2)].signed().clone()),
        },
        1 => Evidence::ForkedLog {
            small: tree_head,
            large: operator.tree_heads[c.below(operator.tree_heads.len())],
            leaves: hashes(c, &operator.leaves),
        },
        2 => Evidence::Unlogged { head, tree_head, leaves: hashes(c, &operator.leaves) },
        3 => {
            let (row, key) = (row(c), key(operator, c));
            let made = WrongRow::prove(&head, &key, row, &published.rows, &operator.directory);
            assert_eq!(made.is_some(), row < ROWS);
            let mut wrong = made.unwrap_or_else(|| WrongRow {
                head,
                key,
                row,
                rows: published.rows[..64 * 32].to_vec(),
                path: vec![[0; 32]; 2],
                block: block(operator, c).clone(),
            });
            match c.byte() % 4 {
                1 => wrong.block = block(operator, c).clone(),
                2 => spoil(&mut wrong.rows, c, std::slice::from_ref(&published.rows)),
                3 => wrong.path = path(c, wrong.path),
                _ => {}
            }
            Evidence::WrongRow(Box::new(wrong))
        }
        4 => {
            let asked = &operator.asked[c.below(operator.asked.len())];
            let mut query = asked.query.clone();
            let mut signed = asked.signed.clone();
            match c.byte() % 4 {
                // Junk that the operator answers, as it has to.
                1 => {
                    let at = usize::from(c.short()) % query.len();
                    query[at] ^= 1 << (c.byte() & 7);
                    let serving = &operator.epochs[asked.epoch].serving;
                    if let Ok(answer) = serving.answer(&operator.keys, asked.database, &query) {
                        signed = answer;
                    }
                }
                2 => spoil(&mut signed.answer, c, &[]),
                _ => {}
            }
            let head = operator.epochs[asked.epoch].signed().clone();
            let database = if c.byte() % 8 == 1 { Database::Table } else { asked.database };
            Evidence::WrongAnswer(Box::new(WrongAnswer { head, database, query, signed }))
        }
        5 => Evidence::WrongSetup {
            head,
            database: if c.is() { Database::Table } else { Database::Directory },
        },
        6 => {
            let receipt = operator.receipts[c.below(operator.receipts.len())];
            let block = Box::new(block(operator, c).clone());
            Evidence::WrongKey { head, receipt, block }
        }
        7 => {
            let size = tree_head.size as usize;
            let index = c.below(size);
            let proof = log::inclusion(&operator.leaves[..size], index);
            let key = key(operator, c);
            let proof = path(c, proof);
            Evidence::WrongOpening { head, tree_head, index: index as u64, key, proof }
        }
        8 => {
            let [mut one, mut other] =
                [(); 2].map(|()| operator.entries[c.below(operator.entries.len())].clone());
            // Nobody has signed these by themselves.
            match (&mut one, &mut other, c.byte() % 8) {
                (Entry::Head(one), Entry::Head(other), 1) => one.epoch.number = other.epoch.number,
                (Entry::Head(one), _, 2) => one.epoch.not_after = u64::MAX,
                (Entry::Opening { epoch, .. }, _, 3) => *epoch ^= 3,
                (_, Entry::Opening { key, .. }, 4) => *key = EpochKey::from_bytes([9; 16]),
                _ => {}
            }
            let leaves = hashes(c, &operator.leaves);
            Evidence::TwoLogged { one: Box::new(one), other: Box::new(other), tree_head, leaves }
        }
        _ => {
            let asked = &operator.asked[c.below(operator.asked.len())];
            let pending = pending_with(operator, asked, c);
            let pending = WrongRetrieval::decode_pending(&pending);
            pending.expect("parts that fit each other").complete(key(operator, c))
        }
    }
}

/// What a subscriber keeps of this retrieval while it waits for K.
pub(super) fn pending(operator: &Honest, asked: &Asked) -> Vec<u8> {
    pending_with(operator, asked, &mut Choices::new(&[]))
}

/// The same with an index, seed, answer, row and block of choice.
fn pending_with(operator: &Honest, asked: &Asked, c: &mut Choices<'_>) -> Vec<u8> {
    let published = &operator.epochs[asked.epoch];
    let mut index = asked.index;
    let mut seed = asked.seed;
    let mut signed: SignedAnswer = asked.signed.clone();
    match c.byte() % 6 {
        1 => index = row(c),
        2 => seed[0] ^= 1,
        3 => spoil(&mut signed.answer, c, &[]),
        4 => signed = operator.asked[c.below(operator.asked.len())].signed.clone(),
        _ => {}
    }
    let sized = |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat();
    let mut out = b"TEpend1\0".to_vec();
    out.extend_from_slice(&published.signed().encode());
    out.extend_from_slice(&index.to_le_bytes());
    out.extend_from_slice(&seed);
    out.extend_from_slice(&sized(&signed.encode()));
    if asked.database == Database::Directory {
        out.push(0);
        out.extend_from_slice(&sized(&published.top().encode()));
    } else {
        // A row that came with the answer, or any.
        let row = if c.is() { row(c) } else { asked.index };
        let layout = published.head().directory_layout;
        let block = match published.blocks.get(layout.block_of(row) as usize) {
            Some(block) if c.byte() % 4 != 1 => block,
            _ => block(operator, c),
        };
        out.push(1);
        out.extend_from_slice(&row.to_le_bytes());
        out.extend_from_slice(&block.index().to_le_bytes());
        for hashes in [block.keys(), block.path()] {
            out.extend_from_slice(&(hashes.len() as u32).to_le_bytes());
            out.extend_from_slice(hashes.as_flattened());
        }
    }
    out
}
