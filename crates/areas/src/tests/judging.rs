//! From what process runs saw to the conditions and warnings of a result.

use model::document::{DiskConditions, NetConditions, Row};
use model::experiment::{Area, DiskParams, MemoryParams, NetParams, Params};
use model::io::{DiskCache, DiskOp, NetMode, Protocol};
use model::isa::{MemoryOp, MemoryPattern};
use model::plan::Planned;
use model::sample::{Metric, Percentiles, Sample, ThreadShare};
use model::surroundings::{Change, DiskHeat, Settings};
use model::unit::{Better, Unit};
use model::warning::{Cause, Confidence, WARNINGS, WarningCode};
use model::wire::Observations;
use verdict::judge::{self, ProcessRun};

use super::{disk_params, machine_with_cpus, planned, planned_with, sample};
use crate::{disk, memory, net, rules};

/// What a run of an undisturbed row sees: one thread on one of two CPUs for half a second, 0.3 s of it in samples.
fn quiet() -> ProcessRun {
    let settings = Settings {
        present_cpus: vec![0, 1],
        online_cpus: vec![0, 1],
        allowed_cpus: vec![0, 1],
        nice: Some(0),
        turbo: Some(true),
        memory_bytes: Some(16 << 30),
        ..Settings::default()
    };
    let seen = Observations {
        timed_seconds: 0.3,
        cpu_seconds: 0.2995,
        gap_seconds: 0.0005,
        least_cpu_share: Some(0.998),
        watched_seconds: 0.31,
        steal_seconds: Some(0.0),
        ops_per_cycle: vec![31.9; 100],
        clock_source: "counter".into(),
        counter_timer: true,
        involuntary_switches: 1,
        settings,
        ..Observations::default()
    };
    let around = Change {
        seconds: 0.5,
        cpus: 2,
        // A tick.
        other_load: Some(0.01),
        other_user_load: Some(0.01),
        steal: Some(0.0),
        swapped_bytes_per_second: Some(0.0),
        ..Change::default()
    };
    ProcessRun { number: 1, seen, surroundings: around, samples: 3, repeat: false }
}

fn memory_params() -> Params {
    let params = memory::tests::params(MemoryPattern::ALL[0], MemoryOp::ALL[0], None);
    Params::Memory(MemoryParams { working_set: 1 << 30, ..params })
}

fn net_params() -> Params {
    Params::Net(NetParams { path: "loopback".into(), ..net::judge::tests::params(Protocol::Udp, NetMode::Pingpong) })
}

fn disturbed(planned: &Planned, run: &ProcessRun, best: Option<f64>) -> Option<f64> {
    judge::disturbed(&rules(planned.experiment.area), planned, run, best)
}

fn metrics(planned: &Planned, runs: &[ProcessRun]) -> Vec<Metric> {
    let metric = |name: &str, value: f64| {
        // Values that no rule of `stats` minds.
        let values = (0..3 * runs.len()).map(|index| value * (1.0 + [0.0, 1e-4, -1e-4][index % 3]));
        let samples = values.enumerate().map(|(index, value)| Sample {
            launch: u32::try_from(index / 3).unwrap(),
            flags: disturbed(planned, &runs[index / 3], None).map(|_| "disturbed".to_owned()).into_iter().collect(),
            ..sample(value)
        });
        verdict::samples::metric(name, Unit::FlopPerSecond, Better::Higher, samples.collect()).unwrap()
    };
    let mut metrics = vec![metric("throughput", 31.9 * 3e9), metric("clock", 3e9)];
    metrics.extend((planned.experiment.area == Area::Net).then(|| metric("latency", 1e-5)));
    metrics
}

/// A result of these metrics with the conditions and warnings of these process runs.
fn judged_as(planned: &Planned, metrics: Vec<Metric>, runs: &[ProcessRun]) -> Row {
    let mut row = Row::planned(&planned.experiment, "");
    let rules = rules(planned.experiment.area);
    row.metrics = metrics;
    row.conditions = judge::conditions(&rules, planned, &row.metrics, runs, None, &machine_with_cpus(2));
    row.warnings = judge::warnings(&rules, planned, &row, runs);
    row
}

fn judged(area: Area, params: Params, runs: &[ProcessRun]) -> Row {
    let planned = planned_with(area, params);
    judged_as(&planned, metrics(&planned, runs), runs)
}

fn named(row: &Row) -> Vec<String> {
    row.warnings.iter().map(|warning| warning.code.to_string()).collect()
}

fn codes(area: Area, params: Params, runs: &[ProcessRun]) -> Vec<String> {
    named(&judged(area, params, runs))
}

fn cpu(runs: &[ProcessRun]) -> Vec<String> {
    codes(Area::Cpu, planned().experiment.params, runs)
}

fn last_of_three(change: impl Fn(&mut ProcessRun)) -> Vec<ProcessRun> {
    let mut runs = vec![quiet(); 3];
    change(&mut runs[2]);
    runs
}

fn all(change: impl Fn(&mut ProcessRun)) -> Vec<ProcessRun> {
    let mut runs = vec![quiet(); 3];
    runs.iter_mut().for_each(change);
    runs
}

#[test]
fn a_load_is_not_taken_for_a_rate_that_has_not_settled() {
    let runs = all(|run| (run.seen.warm_up_change, run.seen.waiting) = (Some(0.8), true));
    let free = codes(Area::Disk, Params::Disk(disk_params(32)), &runs);
    assert!(free.iter().any(|code| code == WarningCode::NotSteady.name()), "{free:?}");
    let loaded = DiskParams { load_percent: Some(50), ..disk_params(32) };
    let loaded = codes(Area::Disk, Params::Disk(loaded), &runs);
    assert!(loaded.iter().all(|code| code != WarningCode::NotSteady.name()), "{loaded:?}");
    let text = |change| {
        let runs = all(|run| (run.seen.warm_up_change, run.seen.waiting) = (change, true));
        let found = judged(Area::Disk, Params::Disk(disk_params(32)), &runs);
        found.warnings.into_iter().find(|warning| warning.code.as_str() == "not_steady").map(|warning| warning.text)
    };
    // Of a device a fifth is usual; beyond it the text has all of it.
    let found = text(Some(0.55)).unwrap();
    assert!(found.contains("changed by 55.0 %"), "{found}");
    assert_eq!((text(Some(0.22)), text(None)), (None, None), "of one slice there is nothing to compare");
}

#[test]
fn of_a_row_whose_launch_was_cut_off_nothing_is_made_up() {
    let seen = judge::conditions(&rules(Area::Cpu), &planned(), &[], &[], None, &machine_with_cpus(2));
    assert_eq!((seen.launches, seen.page_faults, seen.migrated_threads), (None, None, None));
    assert_eq!((seen.setup_seconds, seen.warm_up_seconds, seen.warm_up_change), (None, None, None));
}

#[test]
fn a_quiet_row_of_every_area_has_nothing_to_say() {
    assert_eq!(cpu(&vec![quiet(); 3]), Vec::<String>::new());
    assert_eq!(codes(Area::Memory, memory_params(), &vec![quiet(); 3]), Vec::<String>::new());
    let disk = all(|run| {
        (run.seen.waiting, run.seen.cpu_seconds) = (true, 0.1);
        run.seen.disk = Some(DiskConditions { storage_share: Some(1.0), ..DiskConditions::default() });
        (run.surroundings.disk_bytes, run.surroundings.other_disk_bytes) = (Some(100 << 20), Some(300 << 10));
        // Half of the CPUs' time in the kernel: for us.
        run.surroundings.other_load = Some(0.5);
    });
    assert_eq!(codes(Area::Disk, Params::Disk(disk_params(1)), &disk), Vec::<String>::new());
    let net = all(|run| {
        run.seen.waiting = true;
        run.seen.net = Some(NetConditions { link_bytes: Some(10 << 20), ..NetConditions::default() });
        (run.surroundings.net_bytes, run.surroundings.other_load) = (Some((10 << 20) + 9000), Some(0.5));
    });
    assert_eq!(codes(Area::Net, net_params(), &net), Vec::<String>::new());
}

#[test]
fn one_stop_in_one_launch_of_three_is_flagged() {
    let stopped = |run: &mut ProcessRun| {
        run.seen.timed_seconds += 0.5;
        run.seen.gap_seconds += 0.5;
        run.seen.least_cpu_share = Some(0.37);
        run.surroundings.seconds += 0.5;
    };
    assert_eq!(cpu(&last_of_three(stopped)), ["time_lost"]);
    let run = &last_of_three(stopped)[2];
    let share = disturbed(&planned(), run, None).unwrap();
    assert!((share - 0.5 / 0.8).abs() < 0.05, "{share}");
}

fn small_stop() -> Vec<ProcessRun> {
    let mut runs = all(|run| {
        (run.seen.timed_seconds, run.seen.cpu_seconds, run.seen.gap_seconds) = (9.5, 9.49, 0.01);
        (run.surroundings.seconds, run.surroundings.other_load) = (10.0, Some(0.0005));
    });
    runs[1].seen.gap_seconds = 0.5;
    runs[1].seen.cpu_seconds = 9.0;
    runs
}

#[test]
fn a_stop_that_is_small_in_a_long_row_is_flagged_as_a_disturbed_launch() {
    let row = judged(Area::Cpu, planned().experiment.params, &small_stop());
    assert_eq!(named(&row), ["disturbed_blocks"]);
    assert!(
        (row.warnings[0].value.unwrap() - 1.0 / 3.0).abs() < 1e-9 && row.warnings[0].confidence == Confidence::Fair
    );
}

#[test]
fn a_launch_is_disturbed_by_what_others_do_and_by_nothing_else() {
    let of = |change: &dyn Fn(&mut ProcessRun)| {
        let mut run = quiet();
        change(&mut run);
        disturbed(&planned(), &run, Some(32.0))
    };
    assert_eq!(of(&|_| {}), None);
    assert_eq!(of(&|run| run.seen.steal_seconds = Some(0.01)), None, "a single tick");
    assert!(of(&|run| run.seen.steal_seconds = Some(0.03)).is_some());
    assert!(of(&|run| run.seen.cpu_seconds = 0.15).unwrap() > 0.4);
    assert!(of(&|run| run.surroundings.other_load = Some(0.5)).unwrap() > 0.4);
    assert!((of(&|run| run.seen.ops_per_cycle = vec![16.0; 9]).unwrap() - 0.5).abs() < 0.01);
    assert_eq!(of(&|run| run.surroundings.swapped_bytes_per_second = Some(1e6)), Some(0.0));
    assert_eq!(of(&|run| run.seen.migrated_threads = 1), Some(0.0));
    assert_eq!(of(&|run| run.seen.throttled_seconds = Some(0.2)), None, "a setting, which a repetition meets again");
    assert_eq!(of(&|run| run.seen.settings.nice = Some(19)), None);
    assert_eq!(disturbed(&planned(), &ProcessRun::default(), None), None);
}

#[test]
fn what_the_row_is_already_blamed_for_is_not_said_of_its_launches() {
    let busy = all(|run| run.surroundings.other_load = Some(0.5));
    assert_eq!(cpu(&busy), ["other_load"]);
}

#[test]
fn the_slowest_thread_is_held_against_the_fastest() {
    let of = |area, better, works: [&[f64]; 3]| {
        let planned = planned_with(area, memory_params());
        let mut metrics = metrics(&planned, &[quiet()]);
        metrics[0].better = better;
        for (sample, works) in metrics[0].samples.iter_mut().zip(works) {
            let share = |work: &f64| ThreadShare { work: *work, seconds: 2.0, clock_hz: None };
            sample.per_thread = works.iter().map(share).collect();
        }
        judged_as(&planned, metrics, &[quiet()]).conditions.slowest_over_fastest
    };
    let works = [&[4.0, 8.0, 6.0][..], &[9.0, 10.0, 9.5], &[8.0, 7.0, 10.0]];
    assert_eq!(of(Area::Memory, Better::Higher, works), Some(0.7));
    assert_eq!(of(Area::Memory, Better::Lower, works), None, "who waits for the other does no work that counts");
    assert_eq!(of(Area::Linpack, Better::Higher, works), None, "threads share one solution");
    assert_eq!(of(Area::Memory, Better::Higher, [&[5.0], &[5.0], &[5.0]]), None, "a single thread");
    assert_eq!(of(Area::Memory, Better::Higher, [&[], &[], &[]]), None, "no thread is known");
}

#[test]
fn a_clock_that_interference_slows_makes_no_operations_per_cycle() {
    let of = |clock_source: &str, clocks: [f64; 3]| {
        let mut runs = [quiet(), quiet(), quiet()];
        for (number, run) in (0..).zip(&mut runs) {
            (run.number, run.seen.clock_source) = (number, clock_source.to_owned());
            run.seen.ops_per_cycle = vec![32.0 * 3e9 / clocks[number as usize]; 100];
        }
        let mut metrics = metrics(&planned(), &runs);
        for sample in &mut metrics[0].samples {
            let clock_hz = Some(clocks[sample.launch as usize]);
            sample.per_thread = vec![ThreadShare { work: 1.0, seconds: 1.0, clock_hz }];
        }
        let seen = judged_as(&planned(), metrics, &runs).conditions;
        (seen.ops_per_cycle.unwrap(), seen.ops_per_cycle_p90.unwrap())
    };
    assert_eq!(of("paced", [3e9, 2.4e9, 2.4e9]), (32.0, 32.0), "two of three runs had interference");
    assert_eq!(of("chains", [2.4e9, 3e9, 3e9]), (32.0, 32.0));
    assert_eq!(of("paced", [2.4e9; 3]), (40.0, 40.0), "all alike: that is the clock, as far as one can see");
    assert_eq!(of("counter", [3e9, 2.4e9, 2.4e9]), (40.0, 40.0), "counted cycles are cycles");
}

#[test]
fn starts_are_apart_by_the_most_of_all_launches() {
    let mut runs = vec![quiet(), quiet(), quiet()];
    runs[0].seen.start_spread_seconds = Some(2e-6);
    runs[2].seen.start_spread_seconds = Some(1e-6);
    let row = judged(Area::Memory, memory_params(), &runs);
    assert_eq!(row.conditions.start_spread_seconds, Some(2e-6));
}

#[test]
fn launches_that_differ_widen_the_interval() {
    let found = |samples: Vec<Sample>| {
        let metric = verdict::samples::metric("throughput", Unit::FlopPerSecond, Better::Higher, samples).unwrap();
        named(&judged_as(&planned(), vec![metric], &[quiet()]))
    };
    let sample = |launch: u32, value: f64| Sample { launch, ..sample(value) };
    let at = [10.0, 13.0, 9.0, 12.0, 8.5, 11.0, 14.0, 9.5];
    let apart = (1..).zip(at).flat_map(|(run, at)| [0.0, 0.1, -0.1].map(|x| sample(run, at + x))).collect();
    assert!(found(apart).contains(&"launches_differ".to_owned()));
    let alike = (1..=8).flat_map(|run| [10.0, 10.3, 9.7].map(|x| sample(run, x))).collect();
    assert!(!found(alike).contains(&"launches_differ".to_owned()));
}

/// Codes that are raised elsewhere: with the plan, with the peak and other limits (tests of `disk/judge/limits.rs`), by what an
/// interface carried (tests of `net/judge.rs`), or when a row is cut off.
const ELSEWHERE: &[WarningCode] = &[
    WarningCode::DebugBuild,
    WarningCode::Oversubscribed,
    WarningCode::PossiblyCached,
    WarningCode::HostCache,
    WarningCode::Unaccounted,
    WarningCode::PartOfSector,
    WarningCode::NearlyFull,
    WarningCode::CutShort,
    WarningCode::CappedByCgroup,
    WarningCode::CappedByProvider,
    WarningCode::ShortSpan,
    WarningCode::Impossible,
    WarningCode::OtherPath,
];

/// One change to runs for every code that they can raise in a row of computing or of memory.
fn of_threads() -> Vec<(WarningCode, Vec<ProcessRun>)> {
    use WarningCode as Code;
    let all_cpus = |run: &mut ProcessRun| run.seen.settings.allowed_cpus = vec![0];
    vec![
        (Code::CpuQuota, all(|run| run.seen.throttled_seconds = Some(0.1))),
        (Code::CpuShared, all(|run| run.seen.cpu_seconds = 0.28)),
        (Code::Steal, all(|run| run.seen.steal_seconds = Some(0.03))),
        (Code::TimeLost, all(|run| run.seen.gap_seconds = 0.1)),
        (Code::OtherLoad, all(|run| run.surroundings.other_load = Some(0.3))),
        (Code::InvoluntarySwitches, all(|run| run.seen.involuntary_switches = 50)),
        (Code::ClockChainsDisagree, all(|run| run.seen.clock_disagreement = vec![0.1])),
        (Code::Migrated, last_of_three(|run| run.seen.migrated_threads = 1)),
        (Code::Swapping, last_of_three(|run| run.surroundings.swapped_bytes_per_second = Some(1e6))),
        (Code::RemotePages, last_of_three(|run| run.seen.remote_pages = Some(0.3))),
        (Code::ThermalLimit, all(|run| run.surroundings.thermal_events = Some(1))),
        (Code::PowerLimit, all(|run| run.surroundings.power_events = Some(1))),
        (Code::LowPriority, all(|run| run.seen.settings.nice = Some(10))),
        (Code::Affinity, all(all_cpus)),
        (
            Code::CpusOffline,
            all(|run| {
                all_cpus(run);
                run.seen.settings.online_cpus = vec![0];
            }),
        ),
        (Code::MemoryLimit, all(|run| run.seen.settings.memory_limit_bytes = Some(3 << 29))),
        (Code::Governor, all(|run| run.seen.settings.governors = vec!["powersave".into()])),
        (Code::TurboOff, all(|run| run.seen.settings.turbo = Some(false))),
        (Code::Timer, all(|run| run.seen.counter_timer = false)),
        (Code::PagesRefused, all(|run| run.seen.pages_obtained = Some(0.5))),
        (Code::PageFaults, all(|run| run.seen.page_faults = 1000)),
        (Code::NotSteady, all(|run| run.seen.warm_up_change = Some(0.3))),
    ]
}

/// The same for rows that wait: of the disk, and of the network.
fn of_waiting() -> Vec<(WarningCode, DiskParams, DiskConditions)> {
    use WarningCode as Code;
    let good = || DiskConditions { storage_share: Some(1.0), ..DiskConditions::default() };
    let deep = || DiskParams { depth: 32, ..disk_params(1) };
    let through = |cache| DiskParams { cache, direct: false, ..disk_params(1) };
    let loaded = DiskParams { load_percent: Some(50), ..disk_params(1) };
    vec![
        (Code::NotWritten, deep(), DiskConditions { unwritten_bytes: Some(1 << 19), ..good() }),
        (Code::NotDirect, deep(), DiskConditions { cached_share: Some(0.5), ..good() }),
        (Code::Cached, deep(), DiskConditions { storage_share: Some(0.5), ..good() }),
        (Code::Compressed, deep(), DiskConditions { compressed: Some(true), ..good() }),
        (Code::NotCold, through(DiskCache::Cold), DiskConditions { cached_share_before: Some(0.5), ..good() }),
        (Code::NotWarm, through(DiskCache::Warm), DiskConditions { cached_share_before: Some(0.5), ..good() }),
        (Code::DepthNotReached, deep(), DiskConditions { depth_achieved: Some(0.5), ..good() }),
        (Code::CpuBound, deep(), DiskConditions { cpu_busy: Some(0.99), ..good() }),
        (Code::LoadNotKept, loaded, DiskConditions { late_share: Some(0.5), ..good() }),
        (Code::EngineSteppedDown, deep(), DiskConditions { stepped_down: vec!["x".into()], ..good() }),
    ]
}

fn of_devices(check: &mut impl FnMut(WarningCode, &[String])) {
    let runs = |change: Change| {
        all(move |run| {
            (run.seen.waiting, run.surroundings) = (true, change);
            run.seen.disk = Some(DiskConditions::default());
        })
    };
    let hot = DiskHeat { celsius: 82.0, limit_celsius: 81.0 };
    let change = Change {
        disk_bytes: Some(200 << 20),
        disk_written_bytes: Some(200 << 20),
        own_disk_bytes: 100 << 20,
        own_disk_written_bytes: 100 << 20,
        disk_heat: Some(hot),
        ..Change::default()
    };
    let found = codes(Area::Disk, Params::Disk(DiskParams { op: DiskOp::Write, ..disk_params(1) }), &runs(change));
    check(WarningCode::Amplified, &found);
    check(WarningCode::DeviceThrottled, &found);
    let slow = DiskConditions { mean_latency_seconds: Some(1e-3), ..DiskConditions::default() };
    let row = disk::judge::tests::row(disk_params(1), slow, &disk::judge::tests::QUIET);
    check(WarningCode::LittlesLaw, &warned(&row));
}

fn warned(row: &Row) -> Vec<String> {
    (rules(row.area).judge.warnings)(row, &[]).iter().map(|warning| warning.code.to_string()).collect()
}

#[test]
fn every_code_about_a_measurement_can_be_raised_by_what_is_seen() {
    let mut reached: Vec<WarningCode> = ELSEWHERE.to_vec();
    let mut check = |code: WarningCode, found: &[String]| {
        assert!(found.iter().any(|one| one == code.name()), "{code}: {found:?}");
        reached.push(code);
    };
    for (code, runs) in of_threads() {
        let of_memory = matches!(code, WarningCode::MemoryLimit | WarningCode::RemotePages);
        let (area, params) =
            if of_memory { (Area::Memory, memory_params()) } else { (Area::Cpu, planned().experiment.params) };
        check(code, &codes(area, params, &runs));
    }
    let best = all(|run| run.seen.ops_per_cycle = [vec![40.0; 50], vec![20.0; 50]].concat());
    check(WarningCode::VcpuShared, &cpu(&best));
    let waiting = |disk: Option<DiskConditions>, net: Option<NetConditions>| {
        all(move |run| {
            run.seen.waiting = true;
            (run.seen.disk, run.seen.net) = (disk.clone(), net.clone());
            (run.surroundings.disk_bytes, run.surroundings.other_disk_bytes) = (Some(100 << 20), Some(50 << 20));
            run.surroundings.net_bytes = Some(100 << 20);
        })
    };
    for (code, params, conditions) in of_waiting() {
        let direct = params.direct;
        let found = codes(Area::Disk, Params::Disk(params), &waiting(Some(conditions), None));
        check(code, &found);
        if direct {
            check(WarningCode::OtherDiskTraffic, &found);
        }
    }
    of_devices(&mut check);
    let net = NetConditions { link_bytes: Some(50 << 20), lost: Some(1000), ..NetConditions::default() };
    let mut row = judged(Area::Net, net_params(), &waiting(None, Some(net)));
    check(WarningCode::OtherNetTraffic, &named(&row));
    let percentiles = Percentiles { p50: 1e-5, p90: 1e-5, p99: 1e-5, p99_9: 1e-5, p99_99: 1e-5, max: 1e-5, count: 9 };
    row.metrics[2].summary.percentiles = Some(percentiles);
    check(WarningCode::DatagramsLost, &warned(&row));
    for (code, params, seen, bytes) in net::judge::tests::raising() {
        check(code, &warned(&net::judge::tests::row(params, seen, bytes)));
    }
    let mut metrics = metrics(&planned(), &vec![quiet(); 3]);
    let falling = |index: usize| 1.0 - 0.02 * index as f64;
    metrics[1].samples.iter_mut().enumerate().for_each(|(index, sample)| sample.value *= falling(index));
    check(WarningCode::ClockMoved, &named(&judged_as(&planned(), metrics.clone(), &vec![quiet(); 3])));
    let mut steady = planned();
    steady.sampling.until_steady = true;
    metrics[0].samples.iter_mut().enumerate().for_each(|(index, sample)| sample.value /= 1.0 + index as f64);
    check(WarningCode::NoSteadyState, &named(&judged_as(&steady, metrics, &vec![quiet(); 3])));
    check(WarningCode::DisturbedBlocks, &cpu(&small_stop()));
    let missing: Vec<&WarningCode> = WarningCode::ALL
        .iter()
        .filter(|code| matches!(code.rule().cause, Cause::Others | Cause::Setting | Cause::Method))
        .filter(|code| !reached.contains(code))
        .collect();
    assert!(missing.is_empty(), "nothing raises {missing:?}");
}

#[test]
fn the_documented_table_is_the_programs() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/warnings.md");
    let text = std::fs::read_to_string(file).unwrap();
    let threshold = |cell: &str| {
        let number: String = cell.chars().filter(|c| !c.is_whitespace()).collect();
        (number != "–").then(|| number.parse::<f64>().unwrap_or(f64::NAN))
    };
    let documented: Vec<(String, Option<f64>, Option<f64>)> = text
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.strip_prefix("| `")?.split(" | ").collect();
            let code = WARNINGS.iter().find(|rule| cells[0] == format!("{}`", rule.code.name()))?;
            Some((code.code.name().to_owned(), threshold(cells[2]), threshold(cells[3])))
        })
        .collect();
    let rules: Vec<_> = WARNINGS.iter().map(|rule| (rule.code.name().to_owned(), rule.fair, rule.low)).collect();
    assert_eq!(documented, rules, "in the same order");
}
