//! Evidence as a file.

use zeroize::Zeroizing;

use super::{Evidence, Subject, WrongAnswer, WrongRetrieval, WrongRow};
use crate::answer::{Database, Exhibit, SignedAnswer};
use crate::directory::{DirectoryLayout, KeyBlock, Top};
use crate::enrol::Receipt;
use crate::epoch::EpochKey;
use crate::head::SignedHead;
use crate::log::{Entry, TreeHead};
use crate::wire::{Malformed, Reader, put_hashes, put_sized};

const MAGIC: &[u8; 8] = b"TEevid1\0";
const WHAT: &str = "a file of evidence";

impl Evidence {
    /// Encodes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        match self {
            Evidence::TwoHeads { one, other } => {
                out.push(1);
                out.extend_from_slice(&one.encode());
                out.extend_from_slice(&other.encode());
            }
            Evidence::ForkedLog { small, large, leaves } => {
                out.push(2);
                out.extend_from_slice(&small.encode());
                out.extend_from_slice(&large.encode());
                put_hashes(&mut out, leaves);
            }
            Evidence::Unlogged { head, tree_head, leaves } => {
                out.push(3);
                out.extend_from_slice(&head.encode());
                out.extend_from_slice(&tree_head.encode());
                put_hashes(&mut out, leaves);
            }
            Evidence::WrongRow(wrong) => {
                out.push(4);
                out.extend_from_slice(&wrong.head.encode());
                out.extend_from_slice(wrong.key.as_bytes());
                out.extend_from_slice(&wrong.row.to_le_bytes());
                put_sized(&mut out, &wrong.rows);
                put_hashes(&mut out, &wrong.path);
                put_block(&mut out, &wrong.block);
            }
            Evidence::WrongRetrieval(wrong) => {
                out.push(5);
                wrong.put(&mut out);
            }
            Evidence::WrongAnswer(wrong) => {
                out.push(6);
                out.extend_from_slice(&wrong.head.encode());
                out.push(wrong.database.code());
                put_sized(&mut out, &wrong.query);
                put_sized(&mut out, &wrong.signed.encode());
            }
            Evidence::WrongSetup { head, database } => {
                out.push(7);
                out.extend_from_slice(&head.encode());
                out.push(database.code());
            }
            Evidence::WrongKey { head, receipt, block } => {
                out.push(8);
                out.extend_from_slice(&head.encode());
                out.extend_from_slice(&receipt.encode());
                put_block(&mut out, block);
            }
            Evidence::WrongOpening { head, tree_head, index, key, proof } => {
                out.push(9);
                out.extend_from_slice(&head.encode());
                out.extend_from_slice(&tree_head.encode());
                out.extend_from_slice(&index.to_le_bytes());
                out.extend_from_slice(key.as_bytes());
                put_hashes(&mut out, proof);
            }
            Evidence::TwoLogged { one, other, tree_head, leaves } => {
                out.push(10);
                put_sized(&mut out, &one.encode());
                put_sized(&mut out, &other.encode());
                out.extend_from_slice(&tree_head.encode());
                put_hashes(&mut out, leaves);
            }
            Evidence::NoRow { head, receipt } => {
                out.push(11);
                out.extend_from_slice(&head.encode());
                out.extend_from_slice(&receipt.encode());
            }
        }
        out
    }

    /// Decodes. Signatures of heads, tree heads and receipts are checked on the way, with the keys
    /// that they name; whether it proves anything is [`Evidence::verify`]'s to say.
    ///
    /// # Errors
    /// [`Malformed`] for anything that [`Evidence::encode`] does not give.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes, WHAT);
        if &reader.array::<8>()? != MAGIC {
            return Err(reader.malformed());
        }
        let evidence = match reader.u8()? {
            1 => Evidence::TwoHeads {
                one: Box::new(head(&mut reader)?),
                other: Box::new(head(&mut reader)?),
            },
            2 => Evidence::ForkedLog {
                small: tree_head(&mut reader)?,
                large: tree_head(&mut reader)?,
                leaves: reader.hashes()?,
            },
            3 => Evidence::Unlogged {
                head: head(&mut reader)?,
                tree_head: tree_head(&mut reader)?,
                leaves: reader.hashes()?,
            },
            4 => {
                let head = head(&mut reader)?;
                Evidence::WrongRow(Box::new(WrongRow {
                    key: EpochKey::from_bytes(reader.array()?),
                    row: reader.u64()?,
                    rows: reader.sized()?.to_vec(),
                    path: reader.hashes()?,
                    block: block(&mut reader, &head)?,
                    head,
                }))
            }
            5 => Evidence::WrongRetrieval(Box::new(WrongRetrieval::take(&mut reader)?)),
            6 => Evidence::WrongAnswer(Box::new(WrongAnswer {
                head: head(&mut reader)?,
                database: database(&mut reader)?,
                query: reader.sized()?.to_vec(),
                signed: SignedAnswer::decode(reader.sized()?)?,
            })),
            7 => {
                Evidence::WrongSetup { head: head(&mut reader)?, database: database(&mut reader)? }
            }
            8 => {
                let head = head(&mut reader)?;
                Evidence::WrongKey {
                    receipt: Receipt::decode(reader.bytes(Receipt::LEN)?)?,
                    block: Box::new(block(&mut reader, &head)?),
                    head,
                }
            }
            9 => Evidence::WrongOpening {
                head: head(&mut reader)?,
                tree_head: tree_head(&mut reader)?,
                index: reader.u64()?,
                key: EpochKey::from_bytes(reader.array()?),
                proof: reader.hashes()?,
            },
            10 => Evidence::TwoLogged {
                one: logged(&mut reader)?,
                other: logged(&mut reader)?,
                tree_head: tree_head(&mut reader)?,
                leaves: reader.hashes()?,
            },
            11 => Evidence::NoRow {
                head: head(&mut reader)?,
                receipt: Receipt::decode(reader.bytes(Receipt::LEN)?)?,
            },
            _ => return Err(reader.malformed()),
        };
        reader.finish()?;
        Ok(evidence)
    }
}

impl WrongRetrieval {
    /// Encodes what waits for K.
    pub fn encode_pending(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(b"TEpend1\0".to_vec());
        self.put(&mut out);
        out
    }

    /// Decodes what waits for K.
    ///
    /// # Errors
    /// [`Malformed`] for anything that [`WrongRetrieval::encode_pending`] does not give.
    pub fn decode_pending(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes, "evidence that waits for its epoch's key");
        if &reader.array::<8>()? != b"TEpend1\0" {
            return Err(reader.malformed());
        }
        let pending = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(pending)
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head.encode());
        out.extend_from_slice(&self.exhibit.index.to_le_bytes());
        out.extend_from_slice(&*self.exhibit.seed);
        put_sized(out, &self.exhibit.signed.encode());
        match &self.subject {
            Subject::Entry { top } => {
                out.push(0);
                put_sized(out, &top.encode());
            }
            Subject::Row { key, row, block } => {
                out.push(if key.is_some() { 2 } else { 1 });
                if let Some(key) = key {
                    out.extend_from_slice(key.as_bytes());
                }
                out.extend_from_slice(&row.to_le_bytes());
                put_block(out, block);
            }
        }
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let head = head(reader)?;
        let exhibit = Exhibit {
            index: reader.u64()?,
            seed: Zeroizing::new(reader.array()?),
            signed: SignedAnswer::decode(reader.sized()?)?,
        };
        let subject = match reader.u8()? {
            0 => {
                let (layout, root) = (&head.head().directory_layout, &head.head().directory_root);
                let top = Top::decode(layout, reader.sized()?, root);
                Subject::Entry { top: top.map_err(|_| reader.malformed())? }
            }
            with_key @ (1 | 2) => Subject::Row {
                key: if with_key == 2 { Some(EpochKey::from_bytes(reader.array()?)) } else { None },
                row: reader.u64()?,
                block: Box::new(block(reader, &head)?),
            },
            _ => return Err(reader.malformed()),
        };
        Ok(WrongRetrieval { head, exhibit, subject })
    }
}

fn head(reader: &mut Reader<'_>) -> Result<SignedHead, Malformed> {
    SignedHead::decode(reader.bytes(SignedHead::LEN)?).map_err(|_| reader.malformed())
}

fn logged(reader: &mut Reader<'_>) -> Result<Box<Entry>, Malformed> {
    Entry::decode(reader.sized()?).map(Box::new)
}

fn tree_head(reader: &mut Reader<'_>) -> Result<TreeHead, Malformed> {
    TreeHead::decode(reader.bytes(TreeHead::LEN)?)
}

fn database(reader: &mut Reader<'_>) -> Result<Database, Malformed> {
    Database::from_code(reader.u8()?).ok_or(reader.malformed())
}

fn put_block(out: &mut Vec<u8>, block: &KeyBlock) {
    out.extend_from_slice(&block.index().to_le_bytes());
    put_hashes(out, block.keys());
    put_hashes(out, block.path());
}

fn block(reader: &mut Reader<'_>, head: &SignedHead) -> Result<KeyBlock, Malformed> {
    let layout: DirectoryLayout = head.head().directory_layout;
    let index = reader.u64()?;
    let keys = reader.hashes()?;
    if index >= layout.blocks() || keys.len() != usize::from(layout.keys_per_block()) {
        return Err(reader.malformed());
    }
    Ok(KeyBlock::from_parts(layout, index, keys, reader.hashes()?))
}
