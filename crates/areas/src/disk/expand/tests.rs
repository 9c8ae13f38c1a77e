use std::path::PathBuf;

use model::io::DiskLayout;

use super::*;
use crate::fields::Threads;
use crate::plan;
use crate::request::LEAST_SAMPLES;
use crate::suite::Suite;
use crate::tests::{machine_with_cpus, request_of};

const GIB: u64 = 1 << 30;

fn target() -> DiskTarget {
    DiskTarget {
        directory: PathBuf::from("/data"),
        total_bytes: 100 * GIB,
        available_bytes: 50 * GIB,
        ..DiskTarget::default()
    }
}

fn stanza() -> DiskChoice {
    DiskChoice {
        pattern: vec![DiskPattern::Random],
        op: vec![DiskOp::Read, DiskOp::Write],
        block: vec![4096],
        depth: vec![1, 32],
        size: vec![GIB],
        sync: vec![DiskSync::None],
        cache: vec![DiskCache::Bypassed],
        layout: vec![DiskLayout::Shared],
        threads: vec![Threads::Count(1)],
        ..DiskChoice::default()
    }
}

fn request(stanza: DiskChoice, target: DiskTarget) -> Request {
    let quick = Suite::embedded("quick").unwrap();
    let suite = Suite { cpu: Vec::new(), memory: Vec::new(), net: Vec::new(), disk: vec![stanza], ..quick };
    Request { disk: Some(target), ..request_of(suite) }
}

fn expanded(request: &Request) -> Result<Vec<Planned>, PlanError> {
    expand(request, &machine_with_cpus(2))
}

fn params(row: &Planned) -> &DiskParams {
    let Params::Disk(params) = &row.experiment.params else { panic!("no disk row") };
    params
}

#[test]
fn a_stanza_comes_to_every_combination_with_the_fastest_engine() {
    let rows = expanded(&request(stanza(), target())).unwrap();
    let ids: Vec<_> = rows.iter().map(|row| row.experiment.id.as_str()).collect();
    let expected =
        ["random-read/4KiB/d1/t1", "random-read/4KiB/d32/t1", "random-write/4KiB/d1/t1", "random-write/4KiB/d32/t1"];
    assert_eq!(ids, expected.map(|id| format!("disk/{id}")));
    assert!(rows.iter().all(|row| params(row).engine == DiskEngine::IoUring && row.obstacle.is_none()));
    assert!(rows.iter().all(|row| params(row).size == GIB && params(row).path == "/data"));
    assert!(rows[0].setup_seconds > 3.0 * rows[1].setup_seconds, "the first row lays the file out");
    assert_eq!(
        (rows[0].experiment.method.as_str(), rows[2].experiment.method.as_str()),
        ("disk-read/3", "disk-write/3")
    );
}

#[test]
fn files_are_as_large_as_all_of_them_have_room_for() {
    let with = |available_bytes, chosen| {
        let mut request = request(stanza(), DiskTarget { available_bytes, ..target() });
        request.choices.disk.size = if chosen { vec![GIB] } else { Vec::new() };
        expanded(&request).map(|rows| (params(&rows[0]).size, rows[0].obstacle.clone()))
    };
    assert_eq!(with(3 * GIB, false), Ok((GIB, None)));
    assert_eq!(with(3 * GIB - 1, false), Ok((GIB / 2, None)), "2 GiB are left alone");
    assert_eq!(with(2 * GIB + (64 << 20), false), Ok((64 << 20, None)));
    let (_, obstacle) = with(2 * GIB, false).unwrap();
    assert!(obstacle.unwrap().contains("'/data' is nearly full: 2.0 GiB are free"));
    let error = with(2 * GIB, true).unwrap_err().0;
    assert!(error.contains("1.0 GiB does not fit into '/data'") && error.contains("2.0 GiB are free"), "{error}");
    let small = DiskTarget { total_bytes: 4 * GIB, available_bytes: 2 * GIB, ..target() };
    assert_eq!(params(&expanded(&request(stanza(), small)).unwrap()[0]).size, GIB, "5 % of 4 GiB are left alone");
    let with = |available_bytes| {
        let mut request = request(stanza(), DiskTarget { available_bytes, ..target() });
        request.suite.disk.push(DiskChoice { size: vec![4 * GIB], pattern: vec![DiskPattern::Sequential], ..stanza() });
        let words = vec![8, 512];
        request.suite.disk.push(DiskChoice { size: vec![64 << 20], block: words, cache: warm(), ..stanza() });
        let rows = expanded(&request).unwrap();
        let mut sizes: Vec<(u64, bool)> = rows.iter().map(|row| (params(row).size, row.obstacle.is_some())).collect();
        sizes.dedup();
        sizes
    };
    let all = 5 * GIB + 2 * (64 << 20);
    let mib = 1 << 20;
    assert_eq!(with(2 * GIB + all), [(GIB, false), (4 * GIB, false), (64 * mib, false)]);
    assert_eq!(with(2 * GIB + all - 1), [(GIB / 2, false), (2 * GIB, false), (64 * mib, false)]);
    assert_eq!(with(2 * GIB + 4 * 64 * mib), [(64 * mib, false)], "the least of each kind, and two of both");
    assert!(with(2 * GIB + 2 * 64 * mib - 1).iter().all(|(_, obstacle)| *obstacle));
}

fn warm() -> Vec<DiskCache> {
    vec![DiskCache::Warm]
}

#[test]
fn files_of_threads_are_counted_and_each_is_as_large() {
    let with = |available_bytes, chosen| {
        let threads = vec![Threads::Count(1), Threads::Count(4)];
        let stanza = DiskChoice { layout: vec![DiskLayout::PerThread], depth: vec![1], threads, ..stanza() };
        let mut request = request(stanza, DiskTarget { available_bytes, ..target() });
        request.choices.disk.size = if chosen { vec![GIB] } else { Vec::new() };
        expanded(&request)
    };
    let rows = with(6 * GIB, false).unwrap();
    assert!(rows.iter().all(|row| params(row).size == GIB && row.experiment.id.contains("/per_thread/")));
    assert!(rows[2].setup_seconds > 2.0 * rows[0].setup_seconds, "three more files are laid out for four threads");
    assert_eq!(params(&with(6 * GIB - 1, false).unwrap()[0]).size, GIB / 2);
    let error = with(6 * GIB - 1, true).unwrap_err().0;
    assert!(error.starts_with("4 test files of together 4.0 GiB do not fit into '/data'"), "{error}");
    let blocks = DiskChoice { block: vec![128 << 20], layout: vec![DiskLayout::PerThread], ..stanza() };
    let few = DiskChoice { depth: vec![4], threads: vec![Threads::Count(2)], ..blocks };
    assert_eq!(expanded(&request(few.clone(), target())).map(drop), Ok(()), "1 GiB for the four of each thread");
    let shared = DiskChoice { layout: vec![DiskLayout::Shared], ..few };
    assert!(expanded(&request(shared, target())).unwrap_err().0.contains("from each of 2 threads"));
}

#[test]
fn caches_are_kept_warm_where_memory_can_and_only_reads_find_them_cold() {
    let cached = |size, op: &[DiskOp], cache: &[DiskCache]| {
        let stanza =
            DiskChoice { size: vec![size], op: op.to_vec(), cache: cache.to_vec(), depth: vec![1], ..stanza() };
        expanded(&request(stanza, target()))
    };
    let both = cached(GIB, &[DiskOp::Read, DiskOp::Write], &[DiskCache::Cold, DiskCache::Warm]).unwrap();
    let reported: Vec<_> =
        both.iter().map(|row| (row.experiment.id.as_str(), row.experiment.method.as_str())).collect();
    let expected = [
        ("disk/random-read/4KiB/d1/cold/t1", "disk-cached-read/3"),
        ("disk/random-read/4KiB/d1/warm/t1", "disk-cached-read/3"),
        ("disk/random-write/4KiB/d1/warm/t1", "disk-cached-write/3"),
    ];
    assert_eq!(reported, expected);
    assert!(both.iter().all(|row| !params(row).direct && row.obstacle.is_none()));
    let error = cached(GIB, &[DiskOp::Write], &[DiskCache::Cold]).unwrap_err().0;
    assert!(error.contains("only plain reads") && error.contains("--cache warm"), "{error}");
    // 16 GiB of memory are available.
    let large = cached(9 * GIB, &[DiskOp::Read], &[DiskCache::Cold, DiskCache::Warm]).unwrap();
    assert_eq!(large[0].obstacle, None);
    let obstacle = large[1].obstacle.as_ref().unwrap();
    assert!(obstacle.contains("9.0 GiB") && obstacle.contains("16.0 GiB") && obstacle.contains("--size"), "{obstacle}");
    let forbidden = DiskTarget { no_io_uring: Some("EPERM".into()), ..target() };
    let rows = expanded(&request(DiskChoice { cache: warm(), ..stanza() }, forbidden)).unwrap();
    assert!(rows.iter().all(|row| params(row).engine == DiskEngine::Sync), "native requests bypass the cache");
}

#[test]
fn totals_are_done_in_full_in_requests() {
    let with = |block, total, exact_workload, cache| {
        let stanza =
            DiskChoice { block: vec![block], total: Some(total), cache: vec![cache], depth: vec![1], ..stanza() };
        let request = Request { exact_workload, ..request(stanza, target()) };
        expanded(&request).unwrap().swap_remove(0)
    };
    let gib = GIB as f64;
    assert_eq!(with(4096, gib, false, DiskCache::Bypassed).exact_work, None);
    let exact = with(4096, gib, true, DiskCache::Bypassed);
    assert_eq!((exact.exact_work, exact.sampling.samples), (Some(262_144.0), LEAST_SAMPLES));
    assert_eq!(with(100 << 20, 10.0 * gib, true, DiskCache::Bypassed).exact_work, Some(103.0), "102.4 of them");
    assert_eq!(with(1024, 1e6, true, DiskCache::Bypassed).exact_work, Some(1e6), "a number of requests");
    assert_eq!(with(4096, gib, true, DiskCache::Cold).obstacle, None);
    let obstacle = with(4096, gib + 1.0, true, DiskCache::Cold).obstacle.unwrap();
    assert!(obstacle.contains("262145 requests of 4KiB") && obstacle.contains("1.0 GiB"), "{obstacle}");
}

#[test]
fn what_was_named_and_cannot_be_done_is_an_error_and_else_an_obstacle() {
    let obstacle = Some("'/data' is tmpfs".to_owned());
    let named = DiskTarget { named: true, obstacle: obstacle.clone(), ..target() };
    assert_eq!(expanded(&request(stanza(), named.clone())), Err(PlanError("'/data' is tmpfs".into())));
    let found = expanded(&request(stanza(), DiskTarget { named: false, ..named.clone() })).unwrap();
    assert!(found.iter().all(|row| row.obstacle == obstacle));
    let only_cpu = Request { areas: vec![Area::Cpu], ..request(stanza(), named) };
    assert_eq!(expanded(&only_cpu), Ok(Vec::new()), "a directory that is not needed is no error");
    let nowhere = Request { disk: None, ..request(stanza(), target()) };
    assert!(expanded(&nowhere).unwrap().iter().all(|row| row.obstacle.is_some()));
}

#[test]
fn engines_step_down_unless_they_are_named() {
    let forbidden = || DiskTarget { no_io_uring: Some("EPERM".into()), ..target() };
    let neither = DiskTarget { no_libaio: Some("ENOSYS".into()), ..forbidden() };
    for (target, engine) in [(forbidden(), DiskEngine::Libaio), (neither.clone(), DiskEngine::Sync)] {
        let rows = expanded(&request(stanza(), target)).unwrap();
        assert!(rows.iter().all(|row| params(row).engine == engine && row.obstacle.is_none()));
    }
    let rows = expanded(&request(stanza(), forbidden())).unwrap();
    assert!(rows.iter().all(|row| row.warnings.iter().any(|warning| warning.code.as_str() == "engine_stepped_down")));
    let wanted = DiskChoice { engine: vec![DiskEngine::IoUring], ..stanza() };
    let rows = expanded(&request(wanted.clone(), forbidden())).unwrap();
    assert!(rows[0].obstacle.as_ref().unwrap().contains("EPERM"));
    assert_eq!(rows[0].experiment.id, "disk/random-read/4KiB/d1/io_uring/t1");
    let mut chosen = request(wanted, forbidden());
    chosen.choices.disk.engine = vec![DiskEngine::IoUring];
    assert!(expanded(&chosen).unwrap_err().0.contains("EPERM"));
    let mut chosen = request(DiskChoice { engine: vec![DiskEngine::Libaio], ..stanza() }, neither);
    assert!(expanded(&chosen).unwrap()[0].obstacle.as_ref().unwrap().contains("libaio is not available: ENOSYS"));
    chosen.choices.disk.engine = vec![DiskEngine::IoUring];
    assert!(expanded(&chosen).unwrap_err().0.contains("choose --engine sync"));
    chosen.disk = Some(DiskTarget { remote: true, ..target() });
    assert_eq!(expanded(&chosen).unwrap()[0].experiment.id, "disk/random-read/4KiB/d1/libaio/t1");
    chosen.suite.disk[0].engine = vec![DiskEngine::Null];
    let null = expanded(&chosen).unwrap();
    assert!(null.iter().all(|row| row.experiment.method == "disk-null/2" && row.warnings.is_empty()), "no device");
}

#[test]
fn without_direct_io_only_rows_that_ask_for_it_are_skipped() {
    let buffered = DiskTarget { no_direct: Some("the file system refuses it".into()), ..target() };
    let all = vec![DiskCache::Bypassed, DiskCache::Cold, DiskCache::Warm];
    let reads = DiskChoice { op: vec![DiskOp::Read], depth: vec![1], block: vec![7, 4096], cache: all, ..stanza() };
    let mut request = request(DiskChoice { block: vec![4096], ..reads.clone() }, buffered);
    request.suite.disk.push(DiskChoice { cache: warm(), block: vec![7], ..reads });
    let rows = expanded(&request).unwrap();
    let skipped: Vec<_> = rows.iter().map(|row| (params(row).cache, row.obstacle.is_some())).collect();
    let expected = [DiskCache::Bypassed, DiskCache::Cold, DiskCache::Warm, DiskCache::Warm];
    assert_eq!(skipped, expected.map(|cache| (cache, cache == DiskCache::Bypassed)));
    let why = rows[0].obstacle.as_ref().unwrap();
    assert!(why.contains("'/data'") && why.contains("no direct I/O (the file system refuses it)"), "{why}");
    assert!(why.contains("--cache cold,warm"), "{why}");
    request.suite.disk[0].engine = vec![DiskEngine::Null];
    assert_eq!(expanded(&request).unwrap()[0].obstacle, None, "without a device nothing goes past anything");
}

#[test]
fn loads_and_rounds_until_a_drive_is_steady_are_rows_of_their_own() {
    let loaded = DiskChoice { load_percent: vec![25, 90], op: vec![DiskOp::Read], depth: vec![32], ..stanza() };
    let rows = expanded(&request(loaded, target())).unwrap();
    let seen: Vec<_> = rows.iter().map(|row| (row.experiment.method.as_str(), params(row).load_percent)).collect();
    assert_eq!(seen, [("disk-load/3", Some(25)), ("disk-load/3", Some(90))]);
    assert!(rows.iter().all(|row| row.obstacle.is_none()) && rows[0].experiment.id != rows[1].experiment.id);
    let steady = Some(Steady { rounds: 25, round_seconds: 10.0 });
    let writes = DiskChoice { op: vec![DiskOp::Write], depth: vec![32], ..stanza() };
    let mut asked = request(DiskChoice { steady, ..writes.clone() }, target());
    asked.suite.disk.push(writes);
    let row = &expanded(&asked).unwrap()[0];
    let seen = (row.experiment.id.as_str(), row.experiment.method.as_str());
    assert_eq!(seen, ("disk/random-write/4KiB/d32/steady/t1", "disk-steady/3"));
    assert!(row.sampling.until_steady && row.obstacle.is_none() && row.exact_work.is_none());
    assert_eq!((row.sampling.samples, row.sampling.per_launch), (25, 25));
    let written = 2.0 * params(row).size as f64 / LAYOUT_BYTES_PER_SECOND;
    let expected = row.expected_seconds(None) - 250.0 - written;
    assert!((0.0..1.0).contains(&expected), "rounds, the layout and once more, but {expected} s more");
    asked.repeat = Some(30);
    let row = &expanded(&asked).unwrap()[0];
    assert_eq!(row.sampling.per_launch, 30, "back to back too where the number of rounds is given");
    let plain = &expanded(&asked).unwrap()[1];
    assert!(!plain.sampling.until_steady && plain.experiment.id == "disk/random-write/4KiB/d32/t1");
}

#[test]
fn requests_that_make_no_sense_are_refused_in_a_sentence() {
    let refused = |stanza: DiskChoice| expanded(&request(stanza, target())).unwrap_err().0;
    assert!(refused(DiskChoice { block: vec![1000], ..stanza() }).contains("multiples of 512"));
    assert!(refused(DiskChoice { block: vec![0], ..stanza() }).contains("multiples of 512"));
    assert!(refused(DiskChoice { block: vec![2 * GIB], ..stanza() }).contains("too large"));
    assert!(refused(DiskChoice { depth: vec![0], ..stanza() }).contains("depth of 0"));
    assert!(refused(DiskChoice { depth: vec![5000], ..stanza() }).contains("depth of 5000"));
    let odd = request(DiskChoice { block: vec![1, 12], cache: warm(), ..stanza() }, target());
    assert!(expanded(&odd).is_ok(), "through the page cache a block may have any size");
    for percent in [0, 101] {
        let sentence = refused(DiskChoice { load_percent: vec![percent], ..stanza() });
        assert!(sentence.contains(&format!("a load of {percent} %")), "{sentence}");
    }
    assert!(refused(DiskChoice { size: vec![1000], ..stanza() }).contains("multiple of 4 KiB"));
    assert!(
        refused(DiskChoice { block: vec![100 << 20], ..stanza() }).contains("it takes 6.2 GiB; choose a larger --size")
    );
    let many =
        DiskChoice { engine: vec![DiskEngine::Sync], depth: vec![1024], threads: vec![Threads::Count(5)], ..stanza() };
    assert!(refused(many.clone()).contains("4096 is the most"));
    // What was not named is left out.
    let forbidden = DiskTarget { no_io_uring: Some("EPERM".into()), no_libaio: Some("EPERM".into()), ..target() };
    let rows = expanded(&request(DiskChoice { engine: Vec::new(), size: vec![64 * GIB], ..many }, forbidden)).unwrap();
    assert!(rows.iter().all(|row| row.obstacle.as_ref().is_some_and(|why| why.contains("4096 is the most"))));
}

#[test]
fn large_requests_have_long_samples_and_need_large_files() {
    let blocks = vec![4096, 100 << 20];
    let rows = expanded(&request(DiskChoice { block: blocks, depth: vec![1], ..stanza() }, target())).unwrap();
    let seconds: Vec<f64> = rows[..2].iter().map(|row| row.sampling.sample_seconds).collect();
    let suite = Suite::embedded("quick").unwrap().sampling(Area::Disk).sample_seconds;
    assert!((seconds[0] - suite).abs() < 1e-9 && (seconds[1] - 2.097_152).abs() < 1e-9, "{seconds:?}");
    let large = DiskChoice { block: vec![4096, 4 << 20], op: vec![DiskOp::Read], ..stanza() };
    let little = DiskTarget { available_bytes: 2 * GIB + (100 << 20), ..target() };
    let rows = expanded(&request(large, little)).unwrap();
    let skipped: Vec<_> = rows.iter().filter(|row| row.obstacle.is_some()).map(|row| &row.experiment.id).collect();
    assert_eq!(skipped, ["disk/random-read/4MiB/d32/t1"]);
}

#[test]
fn a_benchmark_that_the_filter_excludes_refuses_nothing() {
    // 32 requests of 1 MiB by each of 8 threads do not fit into 64 MiB.
    let blocks = |stanza: &mut DiskChoice| {
        (stanza.block, stanza.depth) = (vec![4096, 1 << 20], vec![32]);
        stanza.size = vec![64 << 20];
    };
    let mut stanza = stanza();
    blocks(&mut stanza);
    let mut request = request(stanza, target());
    request.choices.disk.size = vec![64 << 20];
    request.threads = vec![crate::fields::Threads::Count(8)];
    let refused = plan(&request, &machine_with_cpus(8)).unwrap_err();
    assert!(refused.0.contains("is too small for 32 requests of 1MiB"), "{refused}");
    request.filter = Some("disk/*/4KiB/**".to_owned());
    let rows = plan(&request, &machine_with_cpus(8)).unwrap().rows;
    assert!(!rows.is_empty() && rows.iter().all(|row| row.obstacle.is_none() && params(row).block == 4096));
    // The same for the room that test files take, and for a directory that cannot be used.
    request.disk = Some(DiskTarget { obstacle: Some("'/data' is tmpfs".to_owned()), named: true, ..target() });
    assert!(plan(&request, &machine_with_cpus(8)).is_err());
}
