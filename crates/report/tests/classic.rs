//! The classic tables as values: what renderers of every kind will show.

mod fixture;

use model::document::{Document, Status};
use model::io::{DiskCache, Protocol};
use model::isa::{Element, MemoryOp};
use model::peak::PeakKind;
use report::classic::{
    CpuTable, DiskSeries, DiskTable, HplSource, MemorySeries, MemoryTable, NetKind, NetSeries, NetTable, Point, Series,
    cpu_table, disk_table, memory_table, net_table,
};

fn series<'a>(table: &'a CpuTable, element: Element, class: &str) -> &'a Series {
    let found = table.series.iter().find(|series| series.element == element && series.class == class);
    found.unwrap_or_else(|| panic!("no series of {element}, {class}"))
}

#[test]
fn only_a_classic_run_has_classic_tables() {
    assert!(cpu_table(&fixture::every_kernel()).is_none());
    let mut standard = fixture::classic();
    standard.run.suite = "standard".into();
    assert!(cpu_table(&standard).is_none());
    let mut without = fixture::classic();
    without.experiments.iter_mut().for_each(|row| row.classic = None);
    assert!(cpu_table(&without).is_none());
}

#[test]
fn workloads_stand_in_the_table_s_order_with_both_peaks_beside_plain_rows() {
    let table = cpu_table(&fixture::classic()).unwrap();
    let names: Vec<String> = table.series.iter().map(Series::name).collect();
    assert_eq!(names[..3], ["QP INT8 plain", "QP INT8 vector", "HP INT16 plain"]);
    assert_eq!(names.last().unwrap(), "DP FP64 vector");
    assert_eq!(table.total, Some(1e12));
    let plain = &series(&table, Element::Int8, "plain").points[1];
    let vector = &series(&table, Element::Int8, "vector").points[1];
    assert_eq!(plain.threads, 2);
    assert_eq!(plain.theory.unwrap().kind, PeakKind::Sustained);
    assert_eq!(plain.vector_theory, vector.theory.map(|theory| theory.value));
    assert_eq!(vector.vector_theory, None);
}

#[test]
fn the_fastest_kernel_of_a_type_stands_for_vectors() {
    let mut document = fixture::classic();
    let mut slower = document.experiments[..4].to_vec();
    for row in &mut slower {
        row.id = row.id.replace("avx512_vnni", "avx_vnni");
        row.metrics[0].summary.median /= 2.0;
    }
    slower.append(&mut document.experiments);
    document.experiments = slower;
    let table = cpu_table(&document).unwrap();
    let points = &series(&table, Element::Int8, "vector").points;
    assert!(points.len() == 4 && points.iter().all(|point| point.id.contains("avx512_vnni")), "{points:?}");
}

#[test]
fn the_best_thread_count_is_the_fewest_that_reach_the_highest_rate() {
    let two_cores = cpu_table(&fixture::classic()).unwrap();
    assert!(two_cores.series.iter().all(|series| series.best_threads() == Some(2)));
    let eight_cores = cpu_table(&fixture::classic_in_full()).unwrap();
    assert!(eight_cores.series.iter().all(|series| series.best_threads() == Some(8)));
    let (highest, _) = two_cores.highest_efficiency().unwrap();
    let all = || two_cores.series.iter().flat_map(|series| &series.points).map(|point| point.efficiency);
    assert!(all().all(|efficiency| efficiency <= Some(highest)));
}

#[test]
fn a_total_that_was_done_is_told_from_one_that_was_worked_out() {
    let every = |table: &CpuTable, holds: fn(&Point) -> bool| {
        table.series.iter().flat_map(|series| &series.points).filter(|point| point.status == Status::Ok).all(holds)
    };
    let worked_out = cpu_table(&fixture::classic()).unwrap();
    assert!(every(&worked_out, |point| !point.in_full && point.total_seconds.is_some()));
    let done = cpu_table(&fixture::classic_in_full()).unwrap();
    assert!(every(&done, |point| point.in_full));
    let point = &series(&done, Element::Fp64, "vector").points[0];
    assert_eq!(point.total_seconds, point.measured.map(|rate| 1e12 / rate));
}

#[test]
fn hpl_stands_beside_fp64_with_vectors_and_our_own_where_it_was_not_run() {
    assert!(!cpu_table(&fixture::classic()).unwrap().has_hpl());
    let table = cpu_table(&fixture::classic_in_full()).unwrap();
    let points = &series(&table, Element::Fp64, "vector").points;
    let sources: Vec<HplSource> = points.iter().filter_map(|point| point.hpl).map(|hpl| hpl.source).collect();
    assert_eq!(sources, [HplSource::Tool, HplSource::Tool, HplSource::Tool, HplSource::Own]);
    let (hpl, theory) = (points[0].hpl.unwrap(), points[0].theory.unwrap());
    assert_eq!(hpl.efficiency, Some(hpl.value / theory.value));
    assert!(series(&table, Element::Fp64, "plain").points.iter().all(|point| point.hpl.is_none()));
    assert!(series(&table, Element::Fp32, "vector").points.iter().all(|point| point.hpl.is_none()));
}

#[test]
fn what_was_not_measured_keeps_its_line() {
    let table = cpu_table(&fixture::classic_in_full()).unwrap();
    let point = &series(&table, Element::Int16, "vector").points[1];
    assert_eq!((point.status, point.measured, point.total_seconds), (Status::Skipped, None, None));
}

fn of<'a>(table: &'a MemoryTable, workload: &str, block: Option<u64>) -> &'a MemorySeries {
    let found = table.series.iter().find(|series| (series.workload.as_str(), series.block) == (workload, block));
    found.unwrap_or_else(|| panic!("no series of {workload}, {block:?}"))
}

#[test]
fn memory_s_table_is_a_classic_run_s_only() {
    assert!(memory_table(&fixture::memory_area()).is_none());
    assert!(memory_table(&fixture::classic()).is_none(), "a run of the CPU alone");
    assert!(cpu_table(&fixture::classic_memory()).is_none());
}

#[test]
fn workloads_of_memory_stand_in_the_table_s_order_by_block_and_threads() {
    let table = memory_table(&fixture::classic_memory()).unwrap();
    let mut workloads: Vec<&str> = table.series.iter().map(|series| series.workload.as_str()).collect();
    workloads.dedup();
    assert_eq!(workloads, ["RWS", "RWR", "WS", "RR", "STREAM", "latency", "random access", "byte loop"]);
    assert_eq!((table.total, table.working_set), (Some(1e11), Some(1 << 30)));
    for series in &table.series {
        assert!(series.points.is_sorted_by_key(|point| point.threads), "{series:?}");
    }
    let blocks: Vec<Option<u64>> =
        table.series.iter().filter(|series| series.workload == "RWS").map(|series| series.block).collect();
    assert!(blocks.is_sorted() && blocks.len() == 6, "{blocks:?}");
}

#[test]
fn a_tool_stands_beside_its_own_row_or_the_same_operation_in_order() {
    let table = memory_table(&fixture::classic_memory()).unwrap();
    let stream = of(&table, "STREAM", None).points[0].tool.unwrap();
    assert_eq!((stream.tool, stream.beside), ("stream", true));
    let blocks = of(&table, "RWS", Some(1 << 20)).points[0].tool.unwrap();
    assert_eq!((blocks.tool, blocks.beside, blocks.value), ("stream", false, stream.value));
    assert_eq!(blocks.efficiency, Some(blocks.value / 76.8e9));
    assert_eq!(of(&table, "WS", Some(8)).points[0].tool.map(|tool| tool.tool), Some("pmbw"));
    assert!(of(&table, "RWR", Some(1 << 20)).points.iter().all(|point| point.tool.is_none()), "none is at random");
}

#[test]
fn one_byte_is_told_as_three_times_of_one_access() {
    let table = memory_table(&fixture::classic_memory()).unwrap();
    let access = |workload| of(&table, workload, None).points[0].access.unwrap().median;
    assert!((access("latency") - 104.7e-9).abs() < 1e-15);
    assert!((access("random access") - 1.0 / 0.116e9).abs() < 1e-15);
    assert!((access("byte loop") - 2.0 / 5.9e9).abs() < 1e-15, "each byte is read and written");
    let idle = &of(&table, "latency", None).points[0];
    assert!((idle.total_seconds.unwrap() - 10.47).abs() < 1e-6);
    assert!(table.accesses().all(|series| !series.is_rate()) && table.rates().all(MemorySeries::is_rate));
    assert!(table.rates().flat_map(|series| &series.points).all(|point| point.access.is_none()));
}

#[test]
fn the_fastest_line_is_the_first_that_the_others_do_not_exceed() {
    let table = memory_table(&fixture::classic_memory()).unwrap();
    let fastest = table.fastest();
    let copy = fastest.iter().find(|(series, _)| series.workload == "RWS").unwrap();
    assert_eq!((copy.0.op, copy.1.threads), (MemoryOp::Copy, 2), "four threads on two cores bring nothing");
    let (share, (series, point)) = table.highest_efficiency().unwrap();
    assert!(table.rates().flat_map(|series| &series.points).all(|point| point.efficiency <= Some(share)));
    assert_eq!((series.op, point.threads), (MemoryOp::Copy, 2));
    let skipped = of(&table, "RWS", Some(80 << 20));
    assert!(skipped.points[0].status == Status::Skipped && skipped.points[0].total_seconds.is_none());
}

fn disk<'a>(table: &'a DiskTable, workload: &str, block: u64, cache: DiskCache) -> &'a DiskSeries {
    let wanted =
        |series: &&DiskSeries| (series.workload.as_str(), series.block, series.cache) == (workload, block, cache);
    table.series.iter().find(wanted).unwrap_or_else(|| panic!("no series of {workload}, {block}, {cache}"))
}

#[test]
fn disks_tables_are_a_classic_run_s_only() {
    assert!(disk_table(&fixture::disk_area()).is_none());
    assert!(disk_table(&fixture::classic_memory()).is_none(), "a run of memory alone");
    let mut standard = fixture::classic_disk();
    standard.run.suite = "standard".into();
    assert!(disk_table(&standard).is_none());
}

#[test]
fn workloads_of_disks_stand_in_the_table_s_order_small_blocks_in_tables_of_their_own() {
    let table = disk_table(&fixture::classic_disk()).unwrap();
    let of = |series: &mut dyn Iterator<Item = &DiskSeries>| {
        let mut names: Vec<String> = series.map(|series| series.workload.clone()).collect();
        names.dedup();
        names
    };
    assert_eq!(of(&mut table.rates()), ["RS", "WS", "RR", "WR", "RWR"], "8 B stand with what they do");
    assert_eq!(of(&mut table.requests()), ["RR", "WR"]);
    assert!(table.requests().all(|series| series.block == 1024) && table.rates().all(|series| series.block != 1024));
    assert!(disk(&table, "RS", 8, DiskCache::Warm).is_below_sector());
    for series in &table.series {
        assert!(series.points.is_sorted_by_key(|point| point.threads), "{series:?}");
    }
    assert_eq!(disk(&table, "RR", 1024, DiskCache::Bypassed).points.len(), 8);
    assert_eq!((table.total, table.requests_total), (Some(10_737_418_240.0), Some(1e6)));
    let place = table.place.unwrap();
    assert!(place.contains("on ext4 on vda (virtio)") && place.contains("10 GiB file"), "{place}");
    let mut image = fixture::classic_disk();
    for seen in image.experiments.iter_mut().filter_map(|row| row.conditions.disk.as_mut()) {
        seen.layers = vec!["loop0".into()];
    }
    let place = disk_table(&image).unwrap().place.unwrap();
    assert!(place.contains("on ext4 on loop0 on vda (virtio)"), "{place}");
}

#[test]
fn the_rate_of_a_disk_is_told_in_bytes_and_in_requests() {
    let table = disk_table(&fixture::classic_disk()).unwrap();
    for series in &table.series {
        for point in series.points.iter().filter(|point| point.status == Status::Ok) {
            let (rate, iops) = (point.rate.unwrap().median, point.iops.unwrap().median);
            assert!((rate / (iops * series.block as f64) - 1.0).abs() < 1e-9, "{point:?}");
            let total =
                if series.of_requests || series.is_below_sector() { 1e6 / iops } else { 10_737_418_240.0 / rate };
            assert!((point.total_seconds.unwrap() / total - 1.0).abs() < 1e-9 && !point.in_full, "{point:?}");
            let least = point.theory_iops.map(|most| f64::from(point.threads) / most.value);
            assert_eq!(point.theory_latency.map(|theory| theory.value), least, "one request in flight per thread");
            if let (Some(theory), Some(efficiency)) = (point.theory_rate, point.efficiency) {
                assert!((rate / theory.value / efficiency - 1.0).abs() < 1e-9, "{point:?}");
            }
        }
    }
    let fio = &disk(&table, "RR", 1024, DiskCache::Bypassed).points[0].fio;
    assert_eq!(fio.rate, fio.iops.map(|iops| iops * 1024.0));
    assert!(table.series.iter().flat_map(|series| &series.points).all(|point| point.iozone.rate.is_none()));
}

#[test]
fn the_fastest_disk_line_goes_past_the_page_cache_and_is_the_first_of_equals() {
    let table = disk_table(&fixture::classic_disk()).unwrap();
    let fastest = table.fastest(false);
    assert!(fastest.iter().all(|(series, _)| series.cache == DiskCache::Bypassed));
    let read = fastest.iter().find(|(series, _)| series.workload == "RS").unwrap();
    assert_eq!((read.0.block, read.1.threads), (100 << 20, 4), "eight threads are no faster than four");
    let small = table.fastest(true);
    assert!(small.iter().all(|(_, point)| point.threads == 32), "{small:?}");
    let (share, (series, _)) = table.highest_efficiency(false).unwrap();
    assert!(table.rates().flat_map(|series| &series.points).all(|point| point.efficiency <= Some(share)));
    assert_eq!(series.workload, "RS");
    let skipped = disk(&table, "RWR", 100 << 20, DiskCache::Bypassed);
    assert!(skipped.points[0].status == Status::Skipped && skipped.points[0].total_seconds.is_none());
}

#[test]
fn a_latency_below_the_least_mean_has_no_efficiency() {
    let mut document = fixture::classic_disk();
    let first = |document: &Document| {
        let table = disk_table(document).unwrap();
        disk(&table, "RR", 1024, DiskCache::Bypassed).points[0].clone()
    };
    assert!(first(&document).latency_efficiency.is_some_and(|share| share < 0.1));
    for metric in document.experiments.iter_mut().flat_map(|row| &mut row.metrics) {
        if metric.name.as_str() == "latency" {
            metric.summary.median = 1e-9;
        }
    }
    assert_eq!(first(&document).latency_efficiency, None, "a median may lie below the mean");
}

fn net(table: &NetTable, kind: NetKind, protocol: Protocol, block: u64) -> &NetSeries {
    let mut found = table.of_kind(kind).filter(|series| (series.protocol, series.block) == (protocol, block));
    found.next().unwrap_or_else(|| panic!("no series of {kind:?}, {protocol}, {block}"))
}

#[test]
fn networks_tables_are_a_classic_run_s_only() {
    assert!(net_table(&fixture::net_area()).is_none());
    assert!(net_table(&fixture::classic_disk()).is_none(), "a run of disks alone");
    assert!(disk_table(&fixture::classic_net()).is_none());
    let mut standard = fixture::classic_net();
    standard.run.suite = "standard".into();
    assert!(net_table(&standard).is_none());
}

#[test]
fn rates_round_trips_and_transfers_are_tables_of_their_own_by_protocol_block_and_connections() {
    let table = net_table(&fixture::classic_net()).unwrap();
    let rates: Vec<(Protocol, u64)> =
        table.of_kind(NetKind::Rate).map(|series| (series.protocol, series.block)).collect();
    let (tcp, udp) = (Protocol::Tcp, Protocol::Udp);
    assert_eq!(
        rates,
        [(tcp, 1 << 10), (tcp, 32 << 10), (tcp, 64 << 10), (udp, 1 << 10), (udp, 32 << 10), (udp, 65_507)]
    );
    assert_eq!(table.of_kind(NetKind::RoundTrip).count(), 4);
    assert_eq!(table.of_kind(NetKind::Transfer).count(), 2);
    for series in &table.series {
        assert!(series.points.is_sorted_by_key(|point| point.threads), "{series:?}");
    }
    assert_eq!((table.total, table.round_trips_total), (Some(1e11), Some(1e6)));
    assert_eq!(table.place.as_deref(), Some("loopback"));
    let skipped = &net(&table, NetKind::Rate, tcp, 32 << 10).points[3];
    assert!(skipped.status == Status::Skipped && skipped.rate.is_none() && skipped.total_seconds.is_none());
}

#[test]
fn totals_of_networks_are_worked_out_from_bytes_and_from_round_trips() {
    let table = net_table(&fixture::classic_net()).unwrap();
    let rate = &net(&table, NetKind::Rate, Protocol::Udp, 65_507).points[1];
    assert!((rate.total_seconds.unwrap() * rate.rate.unwrap().median / 1e11 - 1.0).abs() < 1e-9 && !rate.in_full);
    assert_eq!(rate.loss, Some(0.0004));
    assert!((rate.iperf.unwrap() * 1.06 / rate.rate.unwrap().median - 1.0).abs() < 1e-9);
    let trip = &net(&table, NetKind::RoundTrip, Protocol::Tcp, 1).points[2];
    let each = trip.latency.unwrap().median;
    assert!((trip.total_seconds.unwrap() / (1e6 * each / 4.0) - 1.0).abs() < 1e-9, "four connections share them");
    assert!(trip.rate.is_none() && trip.theory_latency.is_none() && trip.efficiency.is_none());
    let transfer = &net(&table, NetKind::Transfer, Protocol::Tcp, 64 << 10).points[0];
    assert!(transfer.latency.is_some() && transfer.theory_latency.is_none());
}

#[test]
fn ping_stands_beside_one_connection_with_as_large_a_message() {
    let table = net_table(&fixture::classic_net()).unwrap();
    let ping = |protocol, block: u64, at: usize| net(&table, NetKind::RoundTrip, protocol, block).points[at].ping;
    assert!(ping(Protocol::Udp, 8 << 10, 0).is_some());
    assert_eq!(ping(Protocol::Tcp, 8 << 10, 0), ping(Protocol::Udp, 8 << 10, 0), "it knows no protocols");
    assert_eq!((ping(Protocol::Tcp, 1, 0), ping(Protocol::Tcp, 8 << 10, 1)), (None, None));
}

#[test]
fn the_best_line_of_a_network_is_the_first_that_others_do_not_beat() {
    let table = net_table(&fixture::classic_net()).unwrap();
    let best = table.best(NetKind::Rate);
    let places: Vec<_> = best.iter().map(|(series, point)| (series.protocol, series.block, point.threads)).collect();
    let expected = [(Protocol::Tcp, 64 << 10, 2), (Protocol::Udp, 65_507, 2)];
    assert_eq!(places, expected, "four connections on two cores bring nothing");
    let least = table.best(NetKind::RoundTrip);
    assert!(least.iter().all(|(series, point)| (series.block, point.threads) == (1, 1)), "{least:?}");
    let (share, (series, _)) = table.highest_efficiency(NetKind::Rate).unwrap();
    let all = || table.of_kind(NetKind::Rate).flat_map(|series| &series.points);
    assert!(all().all(|point| point.efficiency <= Some(share)) && series.protocol == Protocol::Tcp);
    assert!(table.highest_efficiency(NetKind::RoundTrip).is_none(), "loopback has no least round trip");
}
