use super::*;

/// A flow at half its rate, whose full rate has been found.
fn at_half(op: DiskOp, depth: u32, engine: DiskEngine, held: &Held) -> DiskFlow {
    let own = DiskParams {
        load_percent: Some(50),
        size: held.held.bytes,
        ..params(DiskPattern::Random, op, 4096, depth, engine)
    };
    let task = Task { warm_up_seconds: [0.1, 1.0], ..task(&own, held, 2) };
    let mut flow = DiskFlow::open(&own, &held.held, &task, 0).unwrap();
    let (tally, _) = run(&mut flow, 50).unwrap();
    assert_eq!(tally.operations, 0, "nothing of finding the rate is counted");
    flow.verify().unwrap();
    flow
}

#[test]
fn half_the_rate_is_due_and_all_of_it_is_counted_and_checked() {
    crate::tests::in_parallel(direct_engines(&laid_out(MIB)), |engine| {
        let held = laid_out(MIB);
        for (op, depth) in [(DiskOp::Read, 8), (DiskOp::Write, 1), (DiskOp::Mixed, 4)] {
            let mut flow = at_half(op, depth, engine, &held);
            let (tally, window) = run(&mut flow, 100).unwrap();
            flow.verify().unwrap();
            let seen = conditions(&mut flow);
            let (full, due) = (seen.full_iops.unwrap(), seen.due_iops.unwrap());
            let seconds = Timer::system().seconds(window.begin, window.end);
            let (requests, expected) = (due * seconds, full * 0.5 * seconds);
            // The standard deviation of a Poisson count is its root; six of them and a bit.
            let difference = (requests - expected).abs();
            assert!(difference <= 6.0 * expected.sqrt() + 3.0, "{engine} {op}: {requests} of {expected}");
            assert!((tally.durations.count() as f64 - requests).abs() < 0.5, "{engine} {op}: a latency for each");
            assert!(tally.operations as f64 <= requests + 0.5);
            assert_eq!(tally.bytes, tally.operations * 4096);
            assert!((0.0..=1.0).contains(&seen.late_share.unwrap()));
            let apart = [seen.read_share, seen.read_latency_seconds, seen.write_latency_seconds];
            assert!(apart.iter().all(|value| value.is_some() == (op == DiskOp::Mixed)), "{engine} {op}: {apart:?}");
            assert_eq!((seen.depth_achieved, seen.cpu_busy, seen.cpu_seconds_per_request), (None, None, None));
        }
    });
}

#[test]
fn what_was_changed_behind_its_back_is_found_at_a_load_too() {
    let held = laid_out(MIB);
    for engine in direct_engines(&held) {
        let mut flow = at_half(DiskOp::Read, 4, engine, &held);
        spoil(&held, |_| vec![0; 4096]);
        let error = [200, 2000, 10_000].into_iter().find_map(|milliseconds| run(&mut flow, milliseconds).err());
        assert!(error.unwrap().contains("zeros instead of what was written"), "{engine}");
        layout::ensure(&held.held, &mut Reported::default()).unwrap();
    }
}

#[test]
fn a_load_without_a_warm_up_is_unavailable() {
    let held = laid_out(MIB);
    let own = params(DiskPattern::Random, DiskOp::Read, 4096, 1, DiskEngine::Sync);
    let Err(trouble) = open(&DiskParams { load_percent: Some(50), ..own }, &held, 1) else { panic!("no warm-up") };
    assert!(matches!(&trouble, Trouble::Unavailable(reason) if reason.contains("needs a warm-up")), "{trouble:?}");
}
