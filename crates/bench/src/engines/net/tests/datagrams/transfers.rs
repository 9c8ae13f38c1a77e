use super::*;

fn transfer(block: u64, segmentation: Segmentation) -> NetParams {
    of(NetMode::Transfer, Direction::Up, block, segmentation, None)
}

fn is_conserved(tally: &Tally, params: &NetParams, each_way: u64) {
    let carried = &tally.carried;
    super::super::streams::is_one_exchange(tally);
    assert_eq!(carried.datagrams_sent, 2 * each_way, "all of it is sent, both ways");
    assert!(carried.datagrams_came <= carried.datagrams_sent, "{carried:?}");
    assert_eq!(tally.bytes, carried.datagrams_came * params.block, "bytes are those that came");
    assert!(carried.up_bytes <= each_way * params.block && carried.up_bytes <= tally.bytes, "{carried:?}");
    assert!(tally.bytes - carried.up_bytes <= each_way * params.block, "{carried:?}");
    // Unknown if the server has only just begun.
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
            flow.prepare(NextWindow::FirstSample).unwrap();
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
        let most = flows.iter().filter_map(|(_, seen)| seen.lost).max();
        assert_eq!(most, Some(lost), "{block} B, {threads} threads");
    }
}

#[test]
fn a_transfer_shows_what_the_path_did_both_ways() {
    static DATA: AtomicU64 = AtomicU64::new(0);
    fn mistreat_data(_: u64, datagram: &[u8], held: &mut Vec<u8>) -> Vec<Vec<u8>> {
        // The datagram that wakes the server has no data.
        if datagram.len() == 1 {
            return vec![datagram.to_vec()];
        }
        mistreat(DATA.fetch_add(1, Ordering::SeqCst), datagram, held)
    }
    let params = transfer(1000, Segmentation::Off);
    // Few enough for the relay's buffers, and each way is whole rounds of what it does.
    let (each_way, mistreated) = (50, 2 * 50 / 10);
    let tallies = through(&params, Some(mistreat_data), Some(2.0 * 50.0 * 1000.0), |flow| {
        flow.prepare(NextWindow::FirstSample).unwrap();
        let exact = |tally: &Tally| {
            let carried = &tally.carried;
            let lost = carried.datagrams_sent - carried.datagrams_came;
            // On a busy machine some are too late, and lost.
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
        // Those there, the one that wakes the server, and some of those back.
        change(datagram, number == 20 + 1 + 7)
    }
    fn scramble(_: u64, datagram: &[u8], _: &mut Vec<u8>) -> Vec<Vec<u8>> {
        let mut datagram = datagram.to_vec();
        datagram.iter_mut().take(10).for_each(|byte| *byte ^= 0x10);
        vec![datagram]
    }
    let params = transfer(1000, Segmentation::Off);
    for (fate, says) in [
        (there as Fate, "the received data differ from the sent data"),
        (back, "the received data differ from the sent data"),
        (scramble, "belongs to this process run"),
    ] {
        let errors = through(&params, Some(fate), Some(40_000.0), |flow| in_full(flow).unwrap_err());
        assert!(errors[0].contains(says), "{errors:?}");
    }
}
