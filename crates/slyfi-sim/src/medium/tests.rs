use super::*;

const A: NodeId = NodeId(0);
const B: NodeId = NodeId(1);

fn medium() -> Medium {
    let mut m = Medium::new(SimRng::new(1));
    m.add_node();
    m.add_node();
    m
}

fn frame(at: u64) -> OnAir<'static> {
    let at = Instant::from_micros(at);
    OnAir { at, from: A, to: B, rate: Rate::BASE, bytes: b"frame" }
}

const CLEAN: Verdict = Verdict::Deliver { delay: Duration::ZERO };

#[test]
fn independent_loss_has_its_rate_and_the_other_direction_none() {
    let mut m = medium();
    m.set(A, B, LinkQuality::lossy(0.3));
    let lost = (0..20_000).filter(|_| m.verdict(&frame(0)) == Verdict::Drop).count();
    assert!((5_700..6_300).contains(&lost), "{lost}");
    let back = OnAir { from: B, to: A, ..frame(0) };
    assert!((0..1000).all(|_| m.verdict(&back) == CLEAN));
}

#[test]
fn bursty_loss_comes_in_runs() {
    let mut m = medium();
    let loss = Loss::Bursty { worsen: 0.01, recover: 0.1, good: 0.0, bad: 1.0 };
    m.set(A, B, LinkQuality { loss, ..LinkQuality::PERFECT });
    let lost: Vec<bool> = (0..100_000).map(|_| m.verdict(&frame(0)) == Verdict::Drop).collect();
    let total = lost.iter().filter(|l| **l).count();
    let runs = lost.windows(2).filter(|w| !w[0] && w[1]).count();
    // Mean run 1 / recover = 10, share of bad time 0.01 / 0.11.
    assert!((8_000..10_200).contains(&total), "{total}");
    assert!((9..=11).contains(&(total / runs)), "{total} in {runs} runs");
}

#[test]
fn outages_last_whatever_is_sent() {
    let mut m = medium();
    let (good, bad) = (Duration::from_millis(300), Duration::from_millis(100));
    m.set(A, B, LinkQuality { loss: Loss::Outages { good, bad }, ..LinkQuality::PERFECT });
    // A frame a millisecond for 1000 seconds: a quarter of the time is bad.
    let verdicts: Vec<bool> =
        (0..1_000_000).map(|ms| m.verdict(&frame(ms * 1000)) == Verdict::Drop).collect();
    let lost = verdicts.iter().filter(|l| **l).count();
    assert!((230_000..270_000).contains(&lost), "{lost}");
    let spans = verdicts.windows(2).filter(|w| w[0] != w[1]).count();
    assert!((4_500..5_500).contains(&spans), "{spans}");
}

#[test]
fn the_next_n_frames_are_dropped_and_no_more() {
    let mut m = medium();
    m.drop_next(A, B, 3);
    let v: Vec<bool> = (0..5).map(|_| m.verdict(&frame(0)) == Verdict::Drop).collect();
    assert_eq!(v, [true, true, true, false, false]);
}

#[test]
fn rules_match_by_direction_time_bytes_and_count() {
    let mut m = medium();
    let id = m.add_rule(
        Rule::new(Verdict::Drop)
            .from(A)
            .to(B)
            .during(Instant::from_micros(10), Instant::from_micros(20))
            .when(|f| f.bytes.starts_with(b"fr"))
            .times(2),
    );
    assert_eq!(m.verdict(&frame(9)), CLEAN);
    assert_eq!(m.verdict(&OnAir { bytes: b"other", ..frame(10) }), CLEAN);
    assert_eq!(m.verdict(&OnAir { from: B, to: A, ..frame(10) }), CLEAN);
    assert_eq!(m.verdict(&frame(10)), Verdict::Drop);
    assert_eq!(m.verdict(&frame(20)), CLEAN);
    assert_eq!(m.verdict(&frame(19)), Verdict::Drop);
    assert_eq!(m.verdict(&frame(19)), CLEAN, "only twice");
    assert!(m.remove_rule(id));
    assert!(!m.remove_rule(id));
}

#[test]
fn a_plan_changes_the_quality_in_time() {
    let mut m = medium();
    let t = Instant::from_micros;
    m.plan_both(A, B, &[(t(200), LinkQuality::PERFECT), (t(100), LinkQuality::UNHEARD)]);
    assert!(m.signal(A, B, t(99)).is_some());
    assert!(m.signal(B, A, t(100)).is_none());
    assert!(m.signal(A, B, t(199)).is_none());
    assert!(m.signal(A, B, t(200)).is_some());
}

#[test]
fn links_keep_their_quality_when_a_node_comes() {
    let mut m = medium();
    m.set(A, B, LinkQuality::UNHEARD);
    m.add_node();
    assert!(m.signal(A, B, Instant::ZERO).is_none());
    assert!(m.signal(B, A, Instant::ZERO).is_some());
    assert!(m.signal(A, NodeId(2), Instant::ZERO).is_some());
    m.set_receiver(NodeId(2), LinkQuality::UNHEARD);
    assert!(m.signal(A, NodeId(2), Instant::ZERO).is_none());
}

#[test]
fn exactly_the_asked_number_of_bits_is_flipped() {
    let mut m = medium();
    for bits in [1, 2, 7, 40] {
        let mut b = [0u8; 5];
        m.flip_bits(&mut b, bits);
        assert_eq!(b.iter().map(|x| x.count_ones()).sum::<u32>(), bits);
    }
}
