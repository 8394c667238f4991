//! The directory of public keys, and how an auditor reads others' keys without telling whose
//! (docs/tracedge.md §7.2).

use core::fmt;

use crate::merkle::{BlockTree, Hash, climb, leaf_hash, root_of_top};

/// The bytes of an encoded key.
pub const KEY_BYTES: usize = 32;

/// How a directory of n keys is cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryLayout {
    rows: u64,
    keys_per_block: u16,
    path: u16,
}

impl DirectoryLayout {
    /// 54 keys and 10 hashes are 2 KiB: at 10⁷ subscribers every answer costs 18 % more than bare
    /// keys would, and the top that everybody downloads is 256 hashes.
    const KEYS_PER_BLOCK: u16 = 54;
    /// The longest path within a block.
    const MAX_PATH: u16 = 10;

    /// The layout for `rows` keys.
    pub fn for_rows(rows: u64) -> Self {
        let blocks = rows.div_ceil(u64::from(Self::KEYS_PER_BLOCK));
        // A tree of u64 leaves is at most 64 high.
        let path = Self::MAX_PATH.min(BlockTree::height(blocks) as u16);
        DirectoryLayout { rows, keys_per_block: Self::KEYS_PER_BLOCK, path }
    }

    /// The layout that a head names; `None` if no directory has it.
    pub fn new(rows: u64, keys_per_block: u16, path: u16) -> Option<Self> {
        if rows == 0 || keys_per_block == 0 || keys_per_block > 4096 || path > 64 {
            return None;
        }
        let layout = DirectoryLayout { rows, keys_per_block, path };
        (u32::from(path) <= layout.height()).then_some(layout)
    }

    /// How many keys there are.
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// How many keys a block holds.
    pub const fn keys_per_block(&self) -> u16 {
        self.keys_per_block
    }

    /// How many hashes of its path an entry carries.
    pub const fn path(&self) -> u16 {
        self.path
    }

    /// How many blocks there are.
    pub const fn blocks(&self) -> u64 {
        self.rows.div_ceil(self.keys_per_block as u64)
    }

    /// How many levels the tree has above its leaves.
    pub const fn height(&self) -> u32 {
        BlockTree::height(self.blocks())
    }

    /// How many hashes the top has.
    pub const fn top_len(&self) -> u64 {
        self.blocks().div_ceil(1 << self.path)
    }

    /// The bytes of an entry: a block of keys and its path.
    pub const fn entry_bytes(&self) -> usize {
        (self.keys_per_block as usize + self.path as usize) * 32
    }

    /// The block that the key of row `index` is in.
    pub const fn block_of(&self, index: u64) -> u64 {
        index / self.keys_per_block as u64
    }

    /// The rows whose keys are in `block`.
    pub fn rows_of(&self, block: u64) -> core::ops::Range<u64> {
        let first = block * u64::from(self.keys_per_block);
        first..self.rows.min(first + u64::from(self.keys_per_block))
    }

    /// Block `block` of the list `keys`, filled up with zeros, which are nobody's key.
    pub fn block(&self, keys: &[u8], block: u64) -> Vec<u8> {
        let bytes = usize::from(self.keys_per_block) * KEY_BYTES;
        let first = block as usize * bytes;
        let mut out = keys[first..keys.len().min(first + bytes)].to_vec();
        out.resize(bytes, 0);
        out
    }

    /// The tree over the list `keys`.
    ///
    /// # Panics
    /// If there are not as many keys as the layout says.
    pub fn tree(&self, keys: &[u8]) -> BlockTree {
        assert_eq!(keys.len() as u64, self.rows * KEY_BYTES as u64, "a key for each row");
        BlockTree::new((0..self.blocks()).map(|b| leaf_hash(&self.block(keys, b))).collect())
    }

    /// The database that clients retrieve from: entries one after another.
    ///
    /// # Panics
    /// If the tree is not that of these keys.
    pub fn database(&self, keys: &[u8], tree: &BlockTree) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.blocks() as usize * self.entry_bytes());
        for block in 0..self.blocks() {
            out.extend_from_slice(&self.block(keys, block));
            out.extend_from_slice(tree.path(block, u32::from(self.path)).as_flattened());
        }
        out
    }

    /// Opens a retrieved entry: checks that it is block `block` of the directory that has this top.
    ///
    /// # Errors
    /// [`NotInDirectory`] if it is not.
    pub fn open(&self, top: &Top, block: u64, entry: &[u8]) -> Result<KeyBlock, NotInDirectory> {
        let keys_len = usize::from(self.keys_per_block) * KEY_BYTES;
        let (keys, path) = entry.split_at_checked(keys_len).ok_or(NotInDirectory)?;
        let (path, rest) = path.as_chunks::<32>();
        if block >= self.blocks() || path.len() != usize::from(self.path) || !rest.is_empty() {
            return Err(NotInDirectory);
        }
        let node = climb(leaf_hash(keys), block, path);
        let at = usize::try_from(block >> self.path).map_err(|_| NotInDirectory)?;
        if top.0.get(at) != Some(&node) {
            return Err(NotInDirectory);
        }
        let mut path = path.to_vec();
        path.extend(top.path(at as u64, u32::from(self.path)));
        Ok(KeyBlock { layout: *self, block, keys: keys.as_chunks().0.to_vec(), path })
    }
}

/// A retrieved block is not in the directory that the head commits to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotInDirectory;

impl fmt::Display for NotInDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the keys are not in the directory that the epoch's head commits to")
    }
}

impl std::error::Error for NotInDirectory {}

/// The top of a directory's tree: the same few kilobytes for everybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Top(Vec<Hash>);

impl Top {
    /// The top of `tree`, to publish.
    ///
    /// # Panics
    /// If the tree is not of this layout.
    pub fn of(layout: &DirectoryLayout, tree: &BlockTree) -> Self {
        Top(tree.level(u32::from(layout.path)).to_vec())
    }

    /// Takes what was published, and checks it against the head's root.
    ///
    /// # Errors
    /// [`NotInDirectory`] if it is not the top of that tree.
    pub fn decode(
        layout: &DirectoryLayout,
        bytes: &[u8],
        root: &Hash,
    ) -> Result<Self, NotInDirectory> {
        let (hashes, rest) = bytes.as_chunks::<32>();
        if !rest.is_empty() || hashes.len() as u64 != layout.top_len() {
            return Err(NotInDirectory);
        }
        if root_of_top(hashes, u32::from(layout.path)) != *root {
            return Err(NotInDirectory);
        }
        Ok(Top(hashes.to_vec()))
    }

    /// The encoding.
    pub fn encode(&self) -> Vec<u8> {
        self.0.as_flattened().to_vec()
    }

    /// The siblings on the way from node `at` to the root.
    fn path(&self, at: u64, level: u32) -> Vec<Hash> {
        // The nodes of the top are the leaves of a tree whose absent leaves are absent subtrees.
        let mut absent = crate::merkle::root_of_top(&[], level);
        let (mut nodes, mut at, mut path) = (self.0.clone(), at as usize, Vec::new());
        while nodes.len() > 1 {
            path.push(*nodes.get(at ^ 1).unwrap_or(&absent));
            nodes = nodes
                .chunks(2)
                .map(|pair| climb(pair[0], 0, &[*pair.get(1).unwrap_or(&absent)]))
                .collect();
            absent = climb(absent, 0, &[absent]);
            at >>= 1;
        }
        path
    }
}

/// A block of keys that is proved to be in the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBlock {
    layout: DirectoryLayout,
    block: u64,
    keys: Vec<[u8; KEY_BYTES]>,
    path: Vec<Hash>,
}

impl KeyBlock {
    /// Proves block `block` of the whole list.
    ///
    /// # Panics
    /// If the tree is not that of these keys, or has no such block.
    pub fn prove(layout: &DirectoryLayout, keys: &[u8], tree: &BlockTree, block: u64) -> Self {
        let bytes = layout.block(keys, block);
        let keys = bytes.as_chunks().0.to_vec();
        KeyBlock { layout: *layout, block, keys, path: tree.full_path(block) }
    }

    /// Takes what evidence holds.
    pub(crate) fn from_parts(
        layout: DirectoryLayout,
        block: u64,
        keys: Vec<[u8; KEY_BYTES]>,
        path: Vec<Hash>,
    ) -> Self {
        KeyBlock { layout, block, keys, path }
    }

    /// Which block it is.
    pub fn index(&self) -> u64 {
        self.block
    }

    /// The whole path to the root.
    pub fn path(&self) -> &[Hash] {
        &self.path
    }

    /// The keys, in order.
    pub fn keys(&self) -> &[[u8; KEY_BYTES]] {
        &self.keys
    }

    /// The encoded key of row `index`, if it is in this block.
    pub fn key(&self, index: u64) -> Option<&[u8; KEY_BYTES]> {
        let rows = self.layout.rows_of(self.block);
        rows.contains(&index).then(|| &self.keys[(index - rows.start) as usize])
    }

    /// Whether it is in the directory with this root.
    pub fn is_in(&self, root: &Hash) -> bool {
        self.keys.len() == usize::from(self.layout.keys_per_block)
            && crate::merkle::is_block(
                leaf_hash(self.keys.as_flattened()),
                self.block,
                self.layout.blocks(),
                &self.path,
                root,
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(n: u64) -> Vec<u8> {
        (0..n).flat_map(|i| crate::merkle::leaf_hash(&i.to_le_bytes())).collect()
    }

    #[test]
    fn every_key_is_found_and_proved() {
        // Below, at and above a block; and high enough that there is a top to speak of.
        for n in [1, 53, 54, 55, 1_000, 54 * 1_025] {
            let (layout, keys) = (DirectoryLayout::for_rows(n), keys(n));
            let tree = layout.tree(&keys);
            let database = layout.database(&keys, &tree);
            let top =
                Top::decode(&layout, &Top::of(&layout, &tree).encode(), &tree.root()).unwrap();
            for index in [0, n / 2, n - 1] {
                let block = layout.block_of(index);
                let entry =
                    &database[block as usize * layout.entry_bytes()..][..layout.entry_bytes()];
                let opened = layout.open(&top, block, entry).unwrap();
                let expected = &keys[index as usize * 32..][..32];
                assert_eq!(&opened.key(index).unwrap()[..], expected);
                assert!(opened.is_in(&tree.root()));
                assert_eq!(opened, KeyBlock::prove(&layout, &keys, &tree, block));
                assert!(opened.key(n).is_none());
            }
        }
    }

    #[test]
    fn rejects_another_key_another_block_and_another_top() {
        let (layout, keys) = (DirectoryLayout::for_rows(200), keys(200));
        let tree = layout.tree(&keys);
        let top = Top::of(&layout, &tree);
        let database = layout.database(&keys, &tree);
        let entry = &database[..layout.entry_bytes()];
        assert!(layout.open(&top, 0, entry).is_ok());
        assert_eq!(layout.open(&top, 1, entry), Err(NotInDirectory));
        assert_eq!(layout.open(&top, 0, &entry[1..]), Err(NotInDirectory));
        let mut wrong = entry.to_vec();
        wrong[0] ^= 1;
        assert_eq!(layout.open(&top, 0, &wrong), Err(NotInDirectory));
        let mut other = top.encode();
        other[0] ^= 1;
        assert_eq!(Top::decode(&layout, &other, &tree.root()), Err(NotInDirectory));
        assert_eq!(Top::decode(&layout, &other[32..], &tree.root()), Err(NotInDirectory));
    }

    #[test]
    fn ten_million_keys_have_a_top_of_eight_kilobytes() {
        let layout = DirectoryLayout::for_rows(10_000_000);
        assert_eq!((layout.entry_bytes(), layout.top_len()), (2_048, 181));
        let layout = DirectoryLayout::for_rows(3);
        assert_eq!((layout.entry_bytes(), layout.top_len()), (54 * 32, 1));
    }
}
