//! Hash trees: over the blocks of a table or directory, and over the entries of a log.

use sha2::{Digest, Sha256};

/// SHA-256.
pub type Hash = [u8; 32];

/// SHA-256 of `parts`, one after another.
pub(crate) fn sha256(parts: &[&[u8]]) -> Hash {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

/// The hash of a leaf (RFC 6962 §2.1: another prefix than a node's, so neither passes for the other).
pub fn leaf_hash(data: &[u8]) -> Hash {
    sha256(&[&[0], data])
}

/// The hash of a node.
fn node_hash(left: &Hash, right: &Hash) -> Hash {
    sha256(&[&[1], left, right])
}

/// A perfect binary tree over blocks; what is missing on the right is absent, H(0x02).
///
/// All paths are of one length, so that a retrieved block with its path always has the same size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockTree {
    /// From the leaves up; the last has one node, the root.
    levels: Vec<Vec<Hash>>,
}

impl BlockTree {
    /// The tree over blocks with these leaf hashes.
    pub fn new(leaves: Vec<Hash>) -> Self {
        let mut absent = sha256(&[&[2]]);
        let mut levels = vec![if leaves.is_empty() { vec![absent] } else { leaves }];
        while let Some(below) = levels.last().filter(|level| level.len() > 1) {
            let parent = |pair: &[Hash]| node_hash(&pair[0], pair.get(1).unwrap_or(&absent));
            let above = below.chunks(2).map(parent).collect();
            absent = node_hash(&absent, &absent);
            levels.push(above);
        }
        BlockTree { levels }
    }

    /// How many levels are above the leaves of `blocks` blocks.
    pub const fn height(blocks: u64) -> u32 {
        if blocks <= 1 { 0 } else { u64::BITS - (blocks - 1).leading_zeros() }
    }

    /// The root.
    pub fn root(&self) -> Hash {
        self.levels[self.levels.len() - 1][0]
    }

    /// How many leaves there are.
    pub fn len(&self) -> usize {
        self.levels[0].len()
    }

    /// Never: a tree over nothing has one absent leaf.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The nodes `level` levels above the leaves that are not wholly absent.
    ///
    /// # Panics
    /// If the tree is not that high.
    pub fn level(&self, level: u32) -> &[Hash] {
        &self.levels[level as usize]
    }

    /// The first `len` siblings on the way from leaf `index` to the root.
    ///
    /// # Panics
    /// If there is no such leaf, or the way is shorter.
    pub fn path(&self, index: u64, len: u32) -> Vec<Hash> {
        let mut at = usize::try_from(index).expect("an index of something in memory");
        assert!(at < self.len(), "there is no leaf {index}");
        let mut absent = sha256(&[&[2]]);
        let mut path = Vec::with_capacity(len as usize);
        for level in &self.levels[..len as usize] {
            path.push(*level.get(at ^ 1).unwrap_or(&absent));
            absent = node_hash(&absent, &absent);
            at >>= 1;
        }
        path
    }

    /// The whole way from leaf `index` to the root.
    ///
    /// # Panics
    /// If there is no such leaf.
    pub fn full_path(&self, index: u64) -> Vec<Hash> {
        self.path(index, self.levels.len() as u32 - 1)
    }
}

/// Where a leaf and its siblings lead.
pub fn climb(leaf: Hash, index: u64, path: &[Hash]) -> Hash {
    let (mut node, mut at) = (leaf, index);
    for sibling in path {
        let on_the_right = at & 1 == 1;
        node = if on_the_right { node_hash(sibling, &node) } else { node_hash(&node, sibling) };
        at >>= 1;
    }
    node
}

/// Whether `leaf` is leaf `index` of the tree of `blocks` blocks with this root.
pub fn is_block(leaf: Hash, index: u64, blocks: u64, path: &[Hash], root: &Hash) -> bool {
    index < blocks
        && path.len() == BlockTree::height(blocks) as usize
        && climb(leaf, index, path) == *root
}

/// The root over the top of a tree: its nodes on some level, and what is absent beside them.
///
/// `level` is how far above the leaves the nodes are.
pub fn root_of_top(top: &[Hash], level: u32) -> Hash {
    let mut absent = sha256(&[&[2]]);
    for _ in 0..level {
        absent = node_hash(&absent, &absent);
    }
    let mut nodes = top.to_vec();
    if nodes.is_empty() {
        return absent;
    }
    while nodes.len() > 1 {
        let parent = |pair: &[Hash]| node_hash(&pair[0], pair.get(1).unwrap_or(&absent));
        nodes = nodes.chunks(2).map(parent).collect();
        absent = node_hash(&absent, &absent);
    }
    nodes[0]
}

/// The append-only tree of RFC 6962 over leaf hashes.
pub mod log {
    use super::{Hash, node_hash, sha256};

    /// The root over `leaves` (§2.1).
    pub fn root(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => sha256(&[]),
            [one] => *one,
            _ => {
                let (left, right) = leaves.split_at(split(leaves.len()));
                node_hash(&root(left), &root(right))
            }
        }
    }

    /// The largest power of two below `n`, for `n` above one.
    const fn split(n: usize) -> usize {
        1 << (usize::BITS - 1 - (n - 1).leading_zeros())
    }

    /// The proof that leaf `index` is in the tree over `leaves` (§2.1.1).
    ///
    /// # Panics
    /// If there is no such leaf.
    pub fn inclusion(leaves: &[Hash], index: usize) -> Vec<Hash> {
        assert!(index < leaves.len(), "there is no leaf {index}");
        if leaves.len() == 1 {
            return Vec::new();
        }
        let (left, right) = leaves.split_at(split(leaves.len()));
        let (mut path, sibling) = if index < left.len() {
            (inclusion(left, index), root(right))
        } else {
            (inclusion(right, index - left.len()), root(left))
        };
        path.push(sibling);
        path
    }

    /// Whether `leaf` is leaf `index` of `size` under `root` (RFC 9162 §2.1.3.2).
    pub fn includes(root: &Hash, size: u64, index: u64, leaf: Hash, proof: &[Hash]) -> bool {
        if index >= size {
            return false;
        }
        let (mut at, mut last, mut node) = (index, size - 1, leaf);
        for sibling in proof {
            if last == 0 {
                return false;
            }
            if at & 1 == 1 || at == last {
                node = node_hash(sibling, &node);
                while at & 1 == 0 && at != 0 {
                    at >>= 1;
                    last >>= 1;
                }
            } else {
                node = node_hash(&node, sibling);
            }
            at >>= 1;
            last >>= 1;
        }
        last == 0 && node == *root
    }

    /// The proof that the tree over `leaves` extends its first `old` (§2.1.2).
    ///
    /// # Panics
    /// If `old` is zero or more than there are.
    pub fn consistency(leaves: &[Hash], old: usize) -> Vec<Hash> {
        assert!(0 < old && old <= leaves.len(), "no tree of {old} leaves came before this");
        subproof(leaves, old, true)
    }

    fn subproof(leaves: &[Hash], old: usize, whole: bool) -> Vec<Hash> {
        if old == leaves.len() {
            return if whole { Vec::new() } else { vec![root(leaves)] };
        }
        let (left, right) = leaves.split_at(split(leaves.len()));
        let (mut proof, sibling) = if old <= left.len() {
            (subproof(left, old, whole), root(right))
        } else {
            (subproof(right, old - left.len(), false), root(left))
        };
        proof.push(sibling);
        proof
    }

    /// Whether the tree of `size` leaves extends that of `old` leaves (RFC 9162 §2.1.4.2).
    pub fn extends(old: u64, old_root: &Hash, size: u64, root: &Hash, proof: &[Hash]) -> bool {
        if old == 0 || old > size {
            return false;
        }
        if old == size {
            return proof.is_empty() && old_root == root;
        }
        let mut proof = proof.iter();
        let mut at = old - 1;
        let mut last = size - 1;
        while at & 1 == 1 {
            at >>= 1;
            last >>= 1;
        }
        // A power of two is a whole subtree: its root is known and not sent.
        let first = if old.is_power_of_two() { Some(old_root) } else { proof.next() };
        let Some(first) = first else { return false };
        let (mut old_node, mut node) = (*first, *first);
        for sibling in proof {
            if last == 0 {
                return false;
            }
            if at & 1 == 1 || at == last {
                old_node = node_hash(sibling, &old_node);
                node = node_hash(sibling, &node);
                while at & 1 == 0 && at != 0 {
                    at >>= 1;
                    last >>= 1;
                }
            } else {
                node = node_hash(&node, sibling);
            }
            at >>= 1;
            last >>= 1;
        }
        last == 0 && old_node == *old_root && node == *root
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(n: usize) -> Vec<Hash> {
        (0..n as u64).map(|i| leaf_hash(&i.to_le_bytes())).collect()
    }

    #[test]
    fn every_block_is_proved_and_no_other() {
        for n in 1..40 {
            let leaves = leaves(n);
            let tree = BlockTree::new(leaves.clone());
            for (i, leaf) in leaves.iter().enumerate() {
                let path = tree.full_path(i as u64);
                assert!(is_block(*leaf, i as u64, n as u64, &path, &tree.root()));
                let wrong = leaf_hash(b"another");
                assert!(!is_block(wrong, i as u64, n as u64, &path, &tree.root()));
                let other = (i as u64 + 1) % n as u64;
                assert!(n == 1 || !is_block(*leaf, other, n as u64, &path, &tree.root()));
                // An absent leaf is nobody's block.
                assert!(!is_block(sha256(&[&[2]]), n as u64, n as u64, &path, &tree.root()));
            }
        }
    }

    #[test]
    fn the_top_of_a_tree_has_its_root() {
        for n in 1..70 {
            let tree = BlockTree::new(leaves(n));
            for level in 0..=BlockTree::height(n as u64) {
                assert_eq!(root_of_top(tree.level(level), level), tree.root(), "{n} {level}");
                let at = n as u64 - 1;
                let node = climb(tree.level(0)[n - 1], at, &tree.path(at, level));
                assert_eq!(node, tree.level(level)[(at >> level) as usize]);
            }
        }
    }

    #[test]
    fn the_log_is_rfc_6962s() {
        // RFC 6962's empty tree, and the reference tree of certificate-transparency-go.
        let hex = |h: Hash| h.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hex(log::root(&[])), empty);
        let inputs: [&[u8]; 8] = [
            &[],
            &[0],
            &[0x10],
            &[0x20, 0x21],
            &[0x30, 0x31],
            &[0x40, 0x41, 0x42, 0x43],
            &[0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57],
            &[
                0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d,
                0x6e, 0x6f,
            ],
        ];
        let leaves = inputs.map(leaf_hash);
        let one = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d";
        assert_eq!(hex(log::root(&leaves[..1])), one);
        let eight = "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328";
        assert_eq!(hex(log::root(&leaves)), eight);
    }

    #[test]
    fn inclusion_and_consistency_hold_for_what_is_and_for_nothing_else() {
        for n in 1..35usize {
            let leaves = leaves(n);
            let root = log::root(&leaves);
            for i in 0..n {
                let proof = log::inclusion(&leaves, i);
                assert!(log::includes(&root, n as u64, i as u64, leaves[i], &proof));
                let other = leaf_hash(b"another");
                assert!(!log::includes(&root, n as u64, i as u64, other, &proof));
                assert!(
                    n == 1
                        || !log::includes(&root, n as u64, ((i + 1) % n) as u64, leaves[i], &proof)
                );
                let mut longer = proof.clone();
                longer.push(root);
                assert!(!log::includes(&root, n as u64, i as u64, leaves[i], &longer));
            }
            for old in 1..=n {
                let proof = log::consistency(&leaves, old);
                let old_root = log::root(&leaves[..old]);
                assert!(log::extends(old as u64, &old_root, n as u64, &root, &proof));
                // A log that rewrote its last old entry does not extend.
                let mut rewritten = leaves[..old].to_vec();
                rewritten[old - 1] = leaf_hash(b"rewritten");
                let forked = log::root(&rewritten);
                assert!(!log::extends(old as u64, &forked, n as u64, &root, &proof), "{old} {n}");
                let mut shorter = proof;
                assert!(
                    shorter.pop().is_none()
                        || !log::extends(old as u64, &old_root, n as u64, &root, &shorter)
                );
            }
        }
    }
}
