//! Transfers of datagrams there and back.

use super::*;

/// A transfer of one flow.
fn transfer(block: u64, segmentation: Segmentation) -> NetParams {
    of(NetMode::Transfer, Direction::Up, block, segmentation, None)
}

/// What every exchange of so many datagrams each way keeps to.
fn is_conserved(tally: &Tally, params: &NetParams, each_way: u64) {
    let carried = &tally.carried;
    assert_eq!((tally.operations, tally.durations.count()), (1, 1), "a sample is one exchange");
    assert_eq!(carried.datagrams_sent, 2 * each_way, "all of it is sent, both ways");
    assert!(carried.datagrams_came <= carried.datagrams_sent, "{carried:?}");
    assert_eq!(tally.bytes, carried.datagrams_came * params.block, "bytes are those that came");
    assert!(carried.up_bytes <= each_way * params.block && carried.up_bytes <= tally.bytes, "{carried:?}");
    assert!(tally.bytes - carried.up_bytes <= each_way * params.block, "{carried:?}");
    let Window { begin, end } = tally.window();
    let (seconds, latency) = (Timer::system().seconds(begin, end), tally.durations.quantile(0.5).unwrap());
    assert!(end < Window::NO_END && (latency / seconds - 1.0).abs() < 0.01, "{latency} s of {seconds} s");
    // A far end that has only just begun may not know yet.
    assert!(carried.cpu_seconds.is_none_or(|seconds| seconds > 0.0), "{carried:?}");
}

#[test]
fn a_transfer_of_datagrams_goes_there_and_back_and_counts_what_came() {
    for (block, segmentation, threads) in [
        (64, Segmentation::Off, 1),
        (1472, Segmentation::Off, 2),
        (1472, Segmentation::Gso, 1),
        (1000, Segmentation::Gso, 3),
        (65_507, Segmentation::Gso, 1),
    ] {
        let params = NetParams { threads, ..transfer(block, segmentation) };
        // Threads whose shares differ by a byte make as many datagrams all the same.
        let work = u64::from(threads) * 2 * 40 * block + 1;
        let flows = through(&params, None, Some(work as f64), |flow| {
            let metrics = flow.profile().metrics;
            assert_eq!(metrics, [FlowMetric::Bytes, FlowMetric::Latency, FlowMetric::Loss, FlowMetric::CpuCost]);
            let warm_up = window(flow, 40).unwrap();
            assert!(warm_up.carried.datagrams_came <= warm_up.carried.datagrams_sent);
            flow.prepare(crate::engines::NextWindow::FirstSample).unwrap();
            let tallies: Vec<Tally> = (0..4).map(|_| in_full(flow).unwrap()).collect();
            (tallies, conditions(flow))
        });
        let mut lost = 0;
        for (tallies, seen) in &flows {
            for tally in tallies {
                let each_way = tally.carried.datagrams_sent / 2;
                assert!((40..=41).contains(&each_way), "{each_way}");
                is_conserved(tally, &params, each_way);
                assert_eq!(tally.carried.duplicates, 0, "nobody doubles datagrams here");
                lost += tally.carried.datagrams_sent - tally.carried.datagrams_came;
            }
            for word in ["sendmmsg", "recvmmsg"] {
                assert_eq!(seen.batching.iter().filter(|other| *other == word).count(), 1, "{seen:?}");
            }
            assert!(seen.receive_buffer_bytes.is_some_and(|bytes| bytes > 0));
            assert!(seen.link_bytes.is_some_and(|bytes| bytes > 0) && seen.congestion_control.is_none());
        }
        let told = flows.iter().filter_map(|(_, seen)| seen.lost).max();
        assert_eq!(told, Some(lost), "{block} B, {threads} threads");
    }
}

#[test]
fn a_transfer_shows_what_the_path_did_both_ways() {
    /// Datagrams with data that the relay has seen.
    static DATA: AtomicU64 = AtomicU64::new(0);
    fn mistreat_data(_: u64, datagram: &[u8], held: &mut Vec<u8>) -> Vec<Vec<u8>> {
        // What wakes the far end carries none.
        if datagram.len() == 1 {
            return vec![datagram.to_vec()];
        }
        mistreat(DATA.fetch_add(1, Ordering::SeqCst), datagram, held)
    }
    let params = transfer(1000, Segmentation::Off);
    // So few at once that they fit in any buffer of the relay's, and each way is whole rounds of what it does.
    let (each_way, mistreated) = (50, 2 * 50 / 10);
    let tallies = through(&params, Some(mistreat_data), Some(2.0 * 50.0 * 1000.0), |flow| {
        flow.prepare(crate::engines::NextWindow::FirstSample).unwrap();
        let exact = |tally: &Tally| {
            let carried = &tally.carried;
            let lost = carried.datagrams_sent - carried.datagrams_came;
            // On a machine that is too busy for the relay some come too late, and are lost.
            assert!(lost >= mistreated, "{carried:?}");
            assert!(carried.duplicates <= mistreated && carried.reordered <= mistreated, "{carried:?}");
            [lost, carried.duplicates, carried.reordered] == [mistreated; 3]
        };
        let mut tallies: Vec<Tally> = Vec::new();
        while tallies.len() < 3 || !tallies.iter().any(exact) {
            assert!(tallies.len() < 60, "not one exchange was as the relay made it: {:?}", tallies.last());
            tallies.push(in_full(flow).unwrap());
        }
        (tallies, conditions(flow))
    });
    let (tallies, seen) = &tallies[0];
    for tally in tallies {
        is_conserved(tally, &params, each_way);
    }
    let lost: u64 = tallies.iter().map(|tally| tally.carried.datagrams_sent - tally.carried.datagrams_came).sum();
    assert_eq!(seen.lost, Some(lost));
}

#[test]
fn a_transfer_whose_datagrams_are_changed_or_none_of_ours_is_an_error() {
    /// Changes one byte in the middle of the data of the first way there, or of the first way back.
    fn change(datagram: &[u8], this: bool) -> Vec<Vec<u8>> {
        let mut datagram = datagram.to_vec();
        let middle = datagram.len() / 2;
        datagram[middle] ^= u8::from(this);
        vec![datagram]
    }
    fn there(number: u64, datagram: &[u8], _: &mut Vec<u8>) -> Vec<Vec<u8>> {
        change(datagram, number == 7)
    }
    fn back(number: u64, datagram: &[u8], _: &mut Vec<u8>) -> Vec<Vec<u8>> {
        // Those there, what wakes the far end, and some of those back.
        change(datagram, number == 20 + 1 + 7)
    }
    fn scramble(_: u64, datagram: &[u8], _: &mut Vec<u8>) -> Vec<Vec<u8>> {
        let mut datagram = datagram.to_vec();
        datagram.iter_mut().take(10).for_each(|byte| *byte ^= 0x10);
        vec![datagram]
    }
    let params = transfer(1000, Segmentation::Off);
    for (fate, says) in [
        (there as Fate, "what came is not what was sent"),
        (back, "what came is not what was sent"),
        (scramble, "not one was of this launch"),
    ] {
        let errors = through(&params, Some(fate), Some(40_000.0), |flow| in_full(flow).unwrap_err());
        assert!(errors[0].contains(says), "{errors:?}");
    }
}

#[test]
fn a_transfer_whose_far_end_is_mute_or_vanishes_is_an_error_in_seconds() {
    let began = monotonic_raw_seconds();
    let kind = (Protocol::Udp, NetMode::Transfer, Direction::Up);
    let vanishing = |task: &Task, telling: &mut Telling| with_end(task, telling, |_, _| ());
    let error = beside(kind, 1000, vanishing, |flow| window(flow, 20_000).unwrap_err());
    assert!(error.contains("the other end"), "{error}");
    let (release, held) = mpsc::channel::<()>();
    let mute = move |task: &Task, telling: &mut Telling| {
        with_end(task, telling, move |_, _| held.recv().unwrap_or_default());
    };
    let error = beside(kind, 1000, mute, |flow| {
        let error = window(flow, 60_000).unwrap_err();
        drop(release);
        error
    });
    assert!(error.contains("has not answered for 5 s"), "{error}");
    assert!(monotonic_raw_seconds() - began < 60.0);
}
