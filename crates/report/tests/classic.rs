//! The classic tables as values: what renderers of every kind show.

mod fixture;

use areas::chart::classic::cpu::{self, CpuKey, best_threads};
use areas::chart::classic::disk::{self, DiskKey};
use areas::chart::classic::memory::{self, MemoryKey};
use areas::chart::classic::net::{self, NetKey, NetKind};
use areas::chart::classic::{Line, Point, Series, highest, lines};
use model::document::{Document, NotCompared, Status};
use model::io::{DiskCache, Protocol};
use model::isa::{Element, MemoryOp};
use report::grid::grid;

fn find<K: std::fmt::Debug>(all: &[Series<K>], wanted: impl Fn(&K) -> bool) -> &Series<K> {
    let keys = || all.iter().map(|series| &series.key).collect::<Vec<_>>();
    all.iter().find(|series| wanted(&series.key)).unwrap_or_else(|| panic!("not in {:?}", keys()))
}

fn cpu_series<'a>(all: &'a [Series<CpuKey>], element: Element, class: &str) -> &'a Series<CpuKey> {
    find(all, |key| (key.element, key.class.as_str()) == (element, class))
}

#[test]
fn a_table_is_of_its_own_rows_in_a_classic_run() {
    let counts = |document: &Document| {
        let (cpu, memory) = (cpu::series(document).len(), memory::series(document).len());
        [cpu, memory, disk::series(document).len(), net::series(document).len()].map(|count| count > 0)
    };
    let cases = [
        (fixture::classic(), [true, false, false, false]),
        (fixture::classic_memory(), [false, true, false, false]),
        (fixture::classic_disk(), [false, false, true, false]),
        (fixture::classic_net(), [false, false, false, true]),
    ];
    for (mut document, expected) in cases {
        assert_eq!(counts(&document), expected);
        document.run.suite = "standard".into();
        assert_eq!(counts(&document), [false; 4], "not a classic run");
        document.run.suite = "classic".into();
        document.experiments.iter_mut().for_each(|row| row.classic = None);
        assert_eq!(counts(&document), [false; 4], "no row of a classic table");
    }
}

#[test]
fn workloads_of_the_cpu_are_in_the_table_s_order_with_both_peaks() {
    let all = cpu::series(&fixture::classic());
    let names: Vec<String> = all.iter().map(|series| series.key.name()).collect();
    assert_eq!(names[..3], ["QP INT8 plain", "QP INT8 vector", "HP INT16 plain"]);
    assert_eq!(names.last().unwrap(), "DP FP64 vector");
    assert!(lines(&all).iter().all(|(_, point)| point.total == Some(1e12)));
    let plain = &cpu_series(&all, Element::Int8, "plain").points[1];
    let vector = &cpu_series(&all, Element::Int8, "vector").points[1];
    assert_eq!((plain.threads, plain.vector_theory), (2, vector.rate.theory));
    assert!(plain.rate.theory < plain.vector_theory && vector.vector_theory.is_none());
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
    let all = cpu::series(&document);
    let points = &cpu_series(&all, Element::Int8, "vector").points;
    assert!(points.len() == 4 && points.iter().all(|point| point.id.contains("avx512_vnni")), "{points:?}");
}

#[test]
fn the_best_thread_count_is_the_fewest_that_reach_the_highest_rate() {
    let two_cores = cpu::series(&fixture::classic());
    assert!(two_cores.iter().all(|series| best_threads(series) == Some(2)));
    assert!(cpu::series(&fixture::classic_in_full()).iter().all(|series| best_threads(series) == Some(8)));
    let (most, _) = highest(&lines(&two_cores), |point| point.rate.efficiency).unwrap();
    assert!(lines(&two_cores).iter().all(|(_, point)| point.rate.efficiency <= Some(most)));
}

#[test]
fn a_total_that_was_done_differs_from_a_computed_one() {
    let every = |all: &[Series<CpuKey>], holds: fn(&Point) -> bool| {
        lines(all).iter().filter(|(_, point)| point.status == Status::Ok).all(|(_, point)| holds(point))
    };
    assert!(every(&cpu::series(&fixture::classic()), |point| !point.in_full && point.total_seconds.is_some()));
    let done = cpu::series(&fixture::classic_in_full());
    assert!(every(&done, |point| point.in_full));
    let point = &cpu_series(&done, Element::Fp64, "vector").points[0];
    assert_eq!(point.total_seconds, point.rate.median().map(|rate| 1e12 / rate));
    let skipped = &cpu_series(&done, Element::Int16, "vector").points[1];
    assert_eq!((skipped.status, skipped.rate.median(), skipped.total_seconds), (Status::Skipped, None, None));
}

#[test]
fn hpl_and_our_own_linpack_are_compared_with_fp64_vectors() {
    let has_hpl = |point: &Point| !point.rate.tools.is_empty();
    assert!(!lines(&cpu::series(&fixture::classic())).iter().any(|(_, point)| has_hpl(point)));
    let all = cpu::series(&fixture::classic_in_full());
    let points = &cpu_series(&all, Element::Fp64, "vector").points;
    let sources = |point: &Point| point.rate.tools.iter().map(|found| found.tool.clone()).collect::<Vec<_>>();
    assert!(points[..3].iter().all(|point| sources(point) == ["hpl", cpu::OWN]));
    assert_eq!(sources(&points[3]), [cpu::OWN]);
    for (element, class) in [(Element::Fp64, "plain"), (Element::Fp32, "vector")] {
        assert!(!cpu_series(&all, element, class).points.iter().any(has_hpl));
    }
}

fn memory_series<'a>(all: &'a [Series<MemoryKey>], workload: &str, block: Option<u64>) -> &'a Series<MemoryKey> {
    find(all, |key| (key.workload.as_str(), key.block) == (workload, block))
}

fn rates(all: &[Series<MemoryKey>]) -> Vec<Line<'_, MemoryKey>> {
    lines(all.iter().filter(|series| series.key.is_rate()))
}

#[test]
fn workloads_of_memory_stand_in_the_table_s_order_by_block_and_threads() {
    let all = memory::series(&fixture::classic_memory());
    let mut workloads: Vec<&str> = all.iter().map(|series| series.key.workload.as_str()).collect();
    workloads.dedup();
    assert_eq!(workloads, ["RWS", "RWR", "WS", "RR", "STREAM", "latency", "random access", "byte loop"]);
    assert!(rates(&all).iter().all(|(_, point)| point.total == Some(1e11)));
    assert!(all.iter().all(|series| series.points.is_sorted_by_key(|point| point.threads)), "{all:?}");
    let blocks = all.iter().filter(|series| series.key.workload == "RWS").map(|series| series.key.block);
    assert!(blocks.clone().is_sorted() && blocks.count() == 6);
}

#[test]
fn a_tool_is_compared_with_its_own_row_or_the_same_operation_in_order() {
    let all = memory::series(&fixture::classic_memory());
    let tool = |workload, block| memory_series(&all, workload, block).points[0].rate.tools[0].clone();
    let stream = tool("STREAM", None);
    assert_eq!((stream.tool.as_str(), stream.is_own), ("stream", true));
    let blocks = tool("RWS", Some(1 << 20));
    assert_eq!((blocks.tool.as_str(), blocks.is_own, blocks.value), ("stream", false, stream.value));
    assert_eq!(tool("WS", Some(8)).tool, "pmbw");
    let at_random = memory_series(&all, "RWR", Some(1 << 20));
    assert!(at_random.points.iter().all(|point| point.rate.tools.is_empty()), "none is at random");
}

#[test]
fn one_byte_is_three_times_of_one_access() {
    let all = memory::series(&fixture::classic_memory());
    let point = |workload| &memory_series(&all, workload, None).points[0];
    let access = |workload| point(workload).latency.median().unwrap();
    assert!((access("latency") - 104.7e-9).abs() < 1e-15);
    assert!((access("random access") - 1.0 / 0.116e9).abs() < 1e-15);
    assert!((access("byte loop") - 2.0 / 5.9e9).abs() < 1e-15, "each byte is read and written");
    assert!((point("latency").total_seconds.unwrap() - 10.47).abs() < 1e-6);
}

#[test]
fn the_fastest_line_is_the_first_that_the_others_do_not_exceed() {
    let all = memory::series(&fixture::classic_memory());
    let rates = rates(&all);
    let fastest = memory::fastest(&rates);
    let copy = fastest.iter().find(|(series, _)| series.key.workload == "RWS").unwrap();
    assert_eq!((copy.0.key.op, copy.1.threads), (MemoryOp::Copy, 2), "four threads on two cores bring nothing");
    let (share, (series, point)) = highest(&rates, |point| point.rate.efficiency).unwrap();
    assert!(rates.iter().all(|(_, point)| point.rate.efficiency <= Some(share)));
    assert_eq!((series.key.op, point.threads), (MemoryOp::Copy, 2));
    let skipped = &memory_series(&all, "RWS", Some(80 << 20)).points[0];
    assert!(skipped.status == Status::Skipped && skipped.total_seconds.is_none());
}

#[test]
fn a_value_above_its_theory_is_marked_and_a_tool_without_values_is_explained() {
    let mut document = fixture::classic_memory();
    for metric in document.experiments.iter_mut().flat_map(|row| &mut row.metrics) {
        metric.references.clear();
    }
    let first = &mut document.experiments[0].metrics[0];
    (first.efficiency, first.summary.median) = (None, 2.0 * first.peaks[0].value);
    let reason = "pmbw has no size 1200MiB".to_owned();
    document.run.not_compared = vec![NotCompared { tool: "pmbw".into(), reason }];
    let table = grid(&document, "classic-memory-throughput").unwrap();
    let above = table.lines.iter().filter(|line| line.cells.iter().any(|cell| cell.text == "above"));
    assert_eq!(above.count(), 1);
    assert!(table.columns.iter().all(|column| !column.heading.contains("pmbw")), "no empty column");
    let notes = table.notes.join(" ");
    assert!(
        notes.contains("Above: ") && notes.contains("pmbw was found, but not compared: pmbw has no size"),
        "{notes}"
    );
}

fn disk_series<'a>(all: &'a [Series<DiskKey>], workload: &str, block: u64, cache: DiskCache) -> &'a Series<DiskKey> {
    find(all, |key| (key.workload.as_str(), key.block, key.cache) == (workload, block, cache))
}

fn disk_lines(all: &[Series<DiskKey>], of_requests: bool) -> Vec<Line<'_, DiskKey>> {
    lines(all.iter().filter(|series| series.key.of_requests == of_requests))
}

#[test]
fn workloads_of_disks_stand_in_the_table_s_order_small_blocks_in_tables_of_their_own() {
    let all = disk::series(&fixture::classic_disk());
    let workloads = |of_requests| {
        let own = disk_lines(&all, of_requests);
        assert!(own.iter().all(|(series, _)| (series.key.block == 1024) == of_requests));
        let mut names: Vec<String> = own.iter().map(|(series, _)| series.key.workload.clone()).collect();
        names.dedup();
        names
    };
    assert_eq!(workloads(false), ["RS", "WS", "RR", "WR", "RWR"], "8 B stand with what they do");
    assert_eq!(workloads(true), ["RR", "WR"]);
    assert!(disk_series(&all, "RS", 8, DiskCache::Warm).key.is_below_sector());
    assert!(all.iter().all(|series| series.points.is_sorted_by_key(|point| point.threads)), "{all:?}");
    assert_eq!(disk_series(&all, "RR", 1024, DiskCache::Bypassed).points.len(), 8);
    let title = |document: &Document| grid(document, "classic-disk-throughput").unwrap().title;
    let place = title(&fixture::classic_disk());
    assert!(place.contains("on ext4 on vda (virtio)") && place.contains("10 GiB file"), "{place}");
    let mut image = fixture::classic_disk();
    for seen in image.experiments.iter_mut().filter_map(|row| row.conditions.disk.as_mut()) {
        seen.layers = vec!["loop0".into()];
    }
    assert!(title(&image).contains("on ext4 on loop0 on vda (virtio)"), "{}", title(&image));
}

#[test]
fn the_rate_of_a_disk_is_in_bytes_and_in_requests() {
    let all = disk::series(&fixture::classic_disk());
    for (DiskKey { block, of_requests, .. }, point) in lines(&all).iter().map(|(series, point)| (&series.key, point)) {
        assert!(point.rate.tool(&["iozone"]).is_none());
        let (Some(rate), Some(iops)) = (point.rate.median(), point.iops.median()) else { continue };
        assert!((rate / (iops * *block as f64) - 1.0).abs() < 1e-9, "{point:?}");
        let total = if *of_requests || *block < 512 { 1e6 / iops } else { 10_737_418_240.0 / rate };
        assert!((point.total_seconds.unwrap() / total - 1.0).abs() < 1e-9 && !point.in_full, "{point:?}");
        let least = point.iops.theory.map(|most| f64::from(point.threads) / most);
        assert_eq!(point.latency.theory, least, "one request in flight per thread");
        if let (Some(theory), Some(efficiency)) = (point.rate.theory, point.rate.efficiency) {
            assert!((rate / theory / efficiency - 1.0).abs() < 1e-9, "{point:?}");
        }
    }
    let point = &disk_series(&all, "RR", 1024, DiskCache::Bypassed).points[0];
    let fio = |measured: &areas::chart::classic::Measured| measured.tool(&["fio"]).map(|found| found.value);
    assert_eq!(fio(&point.rate), fio(&point.iops).map(|iops| iops * 1024.0));
}

#[test]
fn the_fastest_disk_line_goes_past_the_page_cache_and_is_the_first_of_equals() {
    let all = disk::series(&fixture::classic_disk());
    let fastest = disk::fastest(&disk_lines(&all, false));
    assert!(fastest.iter().all(|(series, _)| series.key.cache == DiskCache::Bypassed));
    let read = fastest.iter().find(|(series, _)| series.key.workload == "RS").unwrap();
    assert_eq!((read.0.key.block, read.1.threads), (100 << 20, 4), "eight threads are no faster than four");
    let small = disk::fastest(&disk_lines(&all, true));
    assert!(small.iter().all(|(_, point)| point.threads == 32), "{small:?}");
    let skipped = &disk_series(&all, "RWR", 100 << 20, DiskCache::Bypassed).points[0];
    assert!(skipped.status == Status::Skipped && skipped.total_seconds.is_none());
}

#[test]
fn a_latency_below_the_least_mean_has_no_efficiency() {
    let mut document = fixture::classic_disk();
    let efficiency = |document: &Document| {
        let all = disk::series(document);
        disk_series(&all, "RR", 1024, DiskCache::Bypassed).points[0].latency.efficiency
    };
    assert!(efficiency(&document).is_some_and(|share| share < 0.1));
    for metric in document.experiments.iter_mut().flat_map(|row| &mut row.metrics) {
        if metric.name.as_str() == "latency" {
            metric.summary.median = 1e-9;
        }
    }
    assert_eq!(efficiency(&document), None, "a median may lie below the mean");
}

fn net_series(all: &[Series<NetKey>], kind: NetKind, protocol: Protocol, block: u64) -> &Series<NetKey> {
    find(all, |key| *key == NetKey { kind, protocol, block })
}

#[test]
fn rates_round_trips_and_transfers_are_tables_of_their_own_by_protocol_block_and_connections() {
    let all = net::series(&fixture::classic_net());
    let of = |kind| all.iter().map(|series| series.key).filter(move |key| key.kind == kind);
    let rates: Vec<(Protocol, u64)> = of(NetKind::Rate).map(|key| (key.protocol, key.block)).collect();
    let (tcp, udp) = (Protocol::Tcp, Protocol::Udp);
    assert_eq!(
        rates,
        [(tcp, 1 << 10), (tcp, 32 << 10), (tcp, 64 << 10), (udp, 1 << 10), (udp, 32 << 10), (udp, 65_507)]
    );
    assert_eq!((of(NetKind::RoundTrip).count(), of(NetKind::Transfer).count()), (4, 2));
    assert!(all.iter().all(|series| series.points.is_sorted_by_key(|point| point.threads)), "{all:?}");
    let title = grid(&fixture::classic_net(), "classic-net-throughput").unwrap().title;
    assert!(title.ends_with("; loopback"), "{title}");
    let skipped = &net_series(&all, NetKind::Rate, tcp, 32 << 10).points[3];
    assert!(skipped.status == Status::Skipped && skipped.rate.estimate.is_none() && skipped.total_seconds.is_none());
}

#[test]
fn totals_of_networks_are_worked_out_from_bytes_and_from_round_trips() {
    let all = net::series(&fixture::classic_net());
    let rate = &net_series(&all, NetKind::Rate, Protocol::Udp, 65_507).points[1];
    let median = rate.rate.median().unwrap();
    assert!((rate.total_seconds.unwrap() * median / 1e11 - 1.0).abs() < 1e-9 && !rate.in_full);
    assert_eq!(rate.loss, Some(0.0004));
    assert!((rate.rate.tool(&["iperf3"]).unwrap().value * 1.06 / median - 1.0).abs() < 1e-9);
    let trip = &net_series(&all, NetKind::RoundTrip, Protocol::Tcp, 1).points[2];
    let each = trip.latency.median().unwrap();
    assert!((trip.total_seconds.unwrap() / (1e6 * each / 4.0) - 1.0).abs() < 1e-9, "four connections share them");
    assert!(trip.rate.estimate.is_none() && trip.latency.theory.is_none() && trip.latency.efficiency.is_none());
    let transfer = &net_series(&all, NetKind::Transfer, Protocol::Tcp, 64 << 10).points[0];
    assert!(transfer.latency.estimate.is_some() && transfer.latency.theory.is_none());
}

#[test]
fn ping_is_compared_with_one_connection_of_the_same_message_size() {
    let all = net::series(&fixture::classic_net());
    let ping = |protocol, block: u64, at: usize| {
        let point = &net_series(&all, NetKind::RoundTrip, protocol, block).points[at];
        point.latency.tool(&["ping"]).map(|found| found.value)
    };
    assert!(ping(Protocol::Udp, 8 << 10, 0).is_some());
    assert_eq!(ping(Protocol::Tcp, 8 << 10, 0), ping(Protocol::Udp, 8 << 10, 0), "it knows no protocols");
    assert_eq!((ping(Protocol::Tcp, 1, 0), ping(Protocol::Tcp, 8 << 10, 1)), (None, None));
}

#[test]
fn the_best_line_of_a_network_is_the_first_that_others_do_not_beat() {
    let all = net::series(&fixture::classic_net());
    let rates = net::of_kind(&all, NetKind::Rate);
    let best = net::best_of(&rates, false);
    let places: Vec<_> =
        best.iter().map(|(series, point)| (series.key.protocol, series.key.block, point.threads)).collect();
    let expected = [(Protocol::Tcp, 64 << 10, 2), (Protocol::Udp, 65_507, 2)];
    assert_eq!(places, expected, "four connections on two cores bring nothing");
    let trips = net::of_kind(&all, NetKind::RoundTrip);
    let least = net::best_of(&trips, true);
    assert!(least.iter().all(|(series, point)| (series.key.block, point.threads) == (1, 1)), "{least:?}");
    let (_, (series, _)) = highest(&rates, |point| point.rate.efficiency).unwrap();
    assert_eq!(series.key.protocol, Protocol::Tcp);
    assert!(highest(&trips, |point| point.latency.efficiency).is_none(), "loopback has no least round trip");
}
