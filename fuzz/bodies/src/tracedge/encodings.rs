//! Reading: anything, genuine encodings that were changed, heads of anything.

use super::bound;
use crate::honest::{Honest, INVITATION};
use crate::memory::within;
use crate::spoil::spoil;
use crate::{Choices, honest};
use slyfi_base::SecureRandom;
use slyfi_tracedge::answer::{Database, SignedAnswer};
use slyfi_tracedge::directory::{DirectoryLayout, KEY_BYTES, Top};
use slyfi_tracedge::enrol::{Receipt, Request};
use slyfi_tracedge::evidence::{Aids, Evidence, WrongRetrieval};
use slyfi_tracedge::head::{Head, HeadError, SignedHead};
use slyfi_tracedge::keys::{OperatorId, OperatorKeys, Possession, PublicKey, SecretKey};
use slyfi_tracedge::log::{Entry, TreeHead};
use slyfi_tracedge::login::ClientProof;
use slyfi_tracedge::recent::{self, Recent};
use slyfi_tracedge::service::api::Route;
use slyfi_tracedge::{SchemeId, registry};

/// Gives `bytes` to everything that reads.
pub(super) fn read_all(operator: &Honest, bytes: &[u8]) {
    let id = operator.id();
    if let Ok(head) = Head::decode(bytes) {
        assert_eq!(head.encode(), bytes, "a head has one encoding");
        use_head(&head);
    }
    if let Ok(head) = SignedHead::decode(bytes) {
        assert_eq!(head.encode(), bytes, "a signed head has one encoding");
        let known = operator.epochs.iter().any(|e| *e.signed() == head);
        assert!(known || head.head().epoch.operator != id, "a head was forged");
    }
    if let Ok(tree_head) = TreeHead::decode(bytes) {
        assert_eq!(tree_head.encode(), bytes, "a tree head has one encoding");
        let known = operator.tree_heads.contains(&tree_head);
        assert!(known || tree_head.operator != id, "a tree head was forged");
    }
    if let Ok(entry) = Entry::decode(bytes) {
        assert_eq!(entry.encode(), bytes, "an entry has one encoding");
    }
    if let Ok(recent) = Recent::decode(bytes, &operator.leaves) {
        let entries: Vec<_> = operator.entries.iter().map(Entry::encode).collect();
        assert_eq!(recent::encode(&entries), bytes, "another end of the log");
        assert!(recent.contradiction().is_none(), "honest, and accused");
    }
    if let Ok(receipt) = Receipt::decode(bytes) {
        assert_eq!(receipt.encode(), bytes, "a receipt has one encoding");
        let known = operator.receipts.contains(&receipt);
        assert!(known || receipt.operator != id, "a receipt was forged");
    }
    if let Ok(request) = Request::decode(bytes, &id) {
        assert_eq!(request.encode(), bytes, "a request has one encoding");
        assert!(operator.requests.contains(&request), "a proof of possession was forged");
    }
    if let Ok(proof) = ClientProof::decode(bytes) {
        assert_eq!(&proof.encode()[..], bytes, "a proof has one encoding");
    }
    if let Ok(secret) = SecretKey::decode(bytes) {
        assert_eq!(&secret.encode()[..], bytes, "a secret key has one encoding");
    }
    if let Ok(keys) = OperatorKeys::decode(bytes) {
        assert_eq!(&keys.encode()[..], bytes, "an operator's keys have one encoding");
    }
    if let Ok(pending) = WrongRetrieval::decode_pending(bytes) {
        assert_eq!(&pending.encode_pending()[..], bytes, "what waits for K has one encoding");
    }
    if let Ok(answer) = SignedAnswer::decode(bytes) {
        assert_eq!(answer.encode(), bytes, "a signed answer has one encoding");
        for asked in &operator.asked {
            let digest = operator.epochs[asked.epoch].head().digest();
            let query = honest::sha256(&asked.query);
            let taken = answer.is_signed_by(&id, &digest, asked.database, &query);
            assert!(!taken || answer == asked.signed, "an answer was forged");
        }
    }
    if let Ok(evidence) = Evidence::decode(bytes) {
        assert_eq!(evidence.encode(), bytes, "evidence has one encoding");
        assert!(evidence.verify(&id, &Aids::default()).is_err(), "honest, and convicted");
    }
    if let Some(bytes) = bytes.first_chunk::<32>() {
        if let Ok(key) = PublicKey::decode(bytes) {
            assert_eq!(key.as_bytes(), bytes, "a key has one encoding");
            let proof = Possession::from_bytes([bytes[0]; 64]);
            assert!(!proof.verify(&key, &id, &INVITATION), "a proof of possession was guessed");
        }
        let text = OperatorId(*bytes).to_string();
        assert_eq!(text.parse(), Ok(OperatorId(*bytes)));
    }
    if let Ok(text) = core::str::from_utf8(bytes)
        && let Ok(id) = text.parse::<OperatorId>()
    {
        assert_eq!(id.to_string(), text.to_ascii_lowercase(), "an id is its digits");
    }
}

/// Whatever fits together in a head can be used without a fault.
fn use_head(head: &Head) {
    let layout = head.directory_layout;
    assert_eq!(layout.rows(), head.rows());
    let (blocks, last) = (layout.blocks(), layout.rows() - 1);
    assert!(u32::from(layout.path()) <= layout.height() && layout.top_len() <= blocks);
    assert_eq!(layout.block_of(last), blocks - 1);
    assert!(layout.rows_of(blocks - 1).contains(&last));
    for database in [Database::Table, Database::Directory] {
        let setup = database.setup(head);
        let sizes = registry::sizes(setup.scheme, setup.shape, setup.layout);
        let sizes = sizes.expect("a setup that was decoded can be");
        assert!(sizes.query > 2 && sizes.answer > 2 && sizes.rows_per_answer > 0);
        assert_eq!(setup.hint.map_or(0, |hint| hint.bytes), sizes.hint as u64);
    }
    assert!(Top::decode(&layout, &[7; 64], &head.directory_root).is_err(), "a top was guessed");
    assert!(layout.open(&some_top(), blocks, &[0; 64]).is_err(), "there is no such block");
}

fn some_top() -> Top {
    let layout = DirectoryLayout::for_rows(honest::ROWS);
    let keys = vec![0; honest::ROWS as usize * KEY_BYTES];
    Top::of(&layout, &layout.tree(&keys))
}

/// An encoding that the operator or a subscriber made, changed on its way.
pub(super) fn genuine(operator: &Honest, c: &mut Choices<'_>) {
    let encodings = all(operator);
    let mut bytes = encodings[c.below(encodings.len())].clone();
    spoil(&mut bytes, c, &encodings);
    within(8 * bound(&bytes), || read_all(operator, &bytes));
}

fn all(operator: &Honest) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    all.extend(operator.epochs.iter().map(|e| e.signed().encode()));
    all.extend(operator.tree_heads.iter().map(TreeHead::encode));
    all.extend(operator.receipts.iter().map(Receipt::encode));
    all.extend(operator.requests.iter().map(Request::encode));
    let entries: Vec<_> = operator.entries.iter().map(Entry::encode).collect();
    all.push(recent::encode(&entries));
    all.extend(entries);
    all.extend(operator.asked.iter().map(|a| a.signed.encode()));
    all.push(operator.keys.encode().to_vec());
    all.push(operator.owners[0].encode().to_vec());
    all.extend(
        (0..super::composed::KINDS)
            .map(|kind| super::composed::compose(operator, kind, &mut Choices::new(&[])).encode()),
    );
    all.extend(operator.asked.iter().map(|a| super::composed::pending(operator, a)));
    all
}

/// A head of anything, with a good signature.
pub(super) fn head(operator: &Honest, c: &mut Choices<'_>) {
    let genuine = operator.epochs[c.below(2)].head().encode();
    let mut bytes = genuine.clone();
    // The numbers: number, not_before, not_after, rows; then block and path; then the setups.
    for at in [40, 48, 56, 64] {
        if c.is() {
            let value = c.long() >> (c.byte() & 63);
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
    }
    for at in [200, 202] {
        if c.is() {
            bytes[at..at + 2].copy_from_slice(&c.short().to_le_bytes());
        }
    }
    for at in [204, 294] {
        if c.is() {
            bytes[at + 1] = 1 + c.byte() % 3;
            let layout = c.word() >> (c.byte() & 31);
            bytes[at + 2..at + 6].copy_from_slice(&layout.to_le_bytes());
            fit(&mut bytes, at);
        }
    }
    if c.is() {
        spoil(&mut bytes, c, &[genuine]);
    }
    let signature = operator.keys.sign(&bytes);
    let signed = [&bytes[..], &signature].concat();
    let decoded = within(8 * bound(&signed), || SignedHead::decode(&signed));
    let Ok(head) = decoded else { return };
    assert_eq!(head.encode(), signed, "a signed head has one encoding");
    use_head(head.head());
    let epoch = head.head().epoch;
    let secure = [head.head().table.scheme, head.head().directory.scheme]
        .into_iter()
        .all(|scheme| scheme != SchemeId::Ntru2015);
    for now in [0, c.long(), epoch.not_before, epoch.not_after, u64::MAX] {
        let checked = head.check(&epoch.operator, now, Some(epoch.number), c.is());
        assert!(secure || checked == Err(HeadError::Insecure), "hides nothing, and is taken");
        assert!(now < epoch.not_after || now - epoch.not_after < 300 || checked.is_err());
    }
    // What is not this operator's is nobody's.
    let mut other = [0; 32];
    crate::seeded::Seeded(3).fill(&mut other);
    let checked = head.check(&OperatorId(other), epoch.not_before, None, true);
    assert_eq!(checked, Err(HeadError::NotSigned));
}

/// Makes rows, row bytes and hint length of the setup at `at` what the head says, so that the rest of
/// the setup is looked at.
fn fit(head: &mut [u8], at: usize) {
    let number = |at: usize, len: usize| {
        head[at..at + len].iter().rev().fold(0u64, |n, byte| n << 8 | u64::from(*byte))
    };
    let (rows, keys, path) = (number(64, 8), number(200, 2) as u16, number(202, 2) as u16);
    let Some(layout) = DirectoryLayout::new(rows, keys, path) else { return };
    let (rows, row_bytes) =
        if at == 204 { (rows, 32) } else { (layout.blocks(), layout.entry_bytes() as u32) };
    let (scheme, number) = (SchemeId::from_code(head[at + 1]), number(at + 2, 4) as u32);
    head[at + 6..at + 10].copy_from_slice(&row_bytes.to_le_bytes());
    head[at + 10..at + 18].copy_from_slice(&rows.to_le_bytes());
    let shape = slyfi_tracedge::Shape::new(rows, row_bytes);
    let sizes = scheme.zip(shape.ok()).and_then(|(scheme, shape)| {
        let layout = number.checked_rem(1 << 20).unwrap_or(0);
        registry::sizes(scheme, shape, layout).ok().map(|sizes| (layout, sizes))
    });
    if let Some((layout, sizes)) = sizes {
        head[at + 2..at + 6].copy_from_slice(&layout.to_le_bytes());
        head[at + 50..at + 58].copy_from_slice(&(sizes.hint as u64).to_le_bytes());
        head[at + 58..at + 90].fill(u8::from(sizes.hint > 0));
    }
}

/// A request line.
pub(super) fn route(c: &mut Choices<'_>) {
    let method = ["GET", "POST", "PUT", ""][c.below(4)];
    let mut path = if c.is() {
        let parts = [
            "v1",
            "epochs",
            "epoch",
            "log",
            "head",
            "leaves",
            "inclusion",
            "consistency",
            "entry",
            "recent",
            "table",
            "directory",
            "top",
            "hint",
            "enrol",
            "login",
            "begin",
            "finish",
            "",
        ];
        let mut path = String::new();
        for _ in 0..c.below(9) {
            path.push('/');
            match c.below(parts.len() + 2) {
                part if part < parts.len() => path.push_str(parts[part]),
                part if part == parts.len() => path.push_str(&c.long().to_string()),
                _ => path.push_str(&c.byte().to_string()),
            }
        }
        path
    } else {
        String::new()
    };
    path.push_str(&String::from_utf8_lossy(c.rest()));
    let parsed = within(bound(path.as_bytes()), || Route::parse(method, &path));
    if let Some(route) = parsed {
        assert_eq!(Route::parse(route.method(), &route.path()), Some(route));
        assert_eq!(route.method(), method, "a route has one method");
        let shorter = route.path().len() <= path.len();
        assert!(shorter, "{path} is {route:?}");
    }
}
