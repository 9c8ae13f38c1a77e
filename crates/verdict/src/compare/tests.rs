//! Comparisons of runs that were made up: their values are known, so the verdict is.

use model::comparison::{Change, Comparison, Direction};
use model::document::{DiskConditions, Document, Row, Status};
use model::experiment::{Area, MemoryParams, Params};
use model::isa::{Isa, MemoryOp, MemoryPattern, Pages};
use model::machine::Virtualization;
use model::sample::{Metric, Sample};
use model::unit::{Better, Unit};
use model::warning::{Confidence, Warning, WarningCode};
use stats::random::Random;

use crate::tests;

mod refusals;

fn compare(base: &Document, new: &Document, history: &[Document]) -> Result<Comparison, String> {
    super::compare(base, new, history, tests::AREAS)
}

/// This many values around a centre, evenly spread over this part of it on either side.
fn around(centre: f64, spread: f64, n: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..n).map(|_| centre * (1.0 + spread * (2.0 * random.unit() - 1.0))).collect()
}

fn metric(name: &str, better: Better, values: &[f64]) -> Metric {
    let unit = if better == Better::Higher { Unit::FlopPerSecond } else { Unit::Second };
    let numbered = values.iter().enumerate().map(|(index, value)| {
        let launch = u32::try_from(index / 3 + 1).unwrap();
        Sample { launch, start: index as f64, ..tests::sample(*value) }
    });
    let samples = numbered.collect();
    Metric { name: name.into(), unit, better, samples, ..tests::document().experiments[0].metrics[0].clone() }
}

fn row(id: &str, values: &[f64]) -> Row {
    let mut row = tests::document().experiments.remove(0);
    row.id = id.into();
    row.metrics = vec![metric("throughput", Better::Higher, values)];
    row
}

fn run(day: u32, rows: Vec<Row>) -> Document {
    let mut document = tests::document();
    document.run.id = format!("run-{day}");
    document.run.started = format!("2026-11-{day:02}T12:00:00Z");
    document.run.complete = true;
    document.machine.cpu.model_name = Some("Example 9000".into());
    document.machine.cpu.cores = Some(2);
    document.machine.memory.total_bytes = Some(16 << 30);
    document.experiments = rows;
    document
}

fn one_row(day: u32, values: &[f64]) -> Document {
    run(day, vec![row("cpu/fma/fp64/avx2/t1", values)])
}

/// A base of nine quiet samples around 100, and a new run of this centre.
fn against(centre: f64) -> (Document, Document) {
    (one_row(1, &around(100.0, 0.004, 9, 1)), one_row(2, &around(centre, 0.004, 9, 2)))
}

#[track_caller]
fn compared(base: &Document, new: &Document) -> Comparison {
    compare(base, new, &[]).unwrap()
}

#[track_caller]
fn explanation(comparison: &Comparison) -> &str {
    comparison.experiments[0].explanation.as_deref().expect("an explanation")
}

#[test]
fn two_runs_of_the_same_are_the_same() {
    let (base, new) = against(100.0);
    let comparison = compared(&base, &new);
    let row = &comparison.experiments[0];
    assert_eq!((comparison.verdict, row.verdict, row.direction), (Change::Same, Change::Same, None));
    assert!((row.ratio - 1.0).abs() < 0.004 && row.p.unwrap() > 0.01, "{row:?}");
    assert_eq!((row.n_base, row.n_new, row.units.as_str(), row.needed), (9, 9, "samples", None));
    assert_eq!((row.threshold, row.allowance, row.noise), (0.02, 0.0, Some(0.01)));
    assert_eq!(row.noise_source.as_deref(), Some("no earlier runs: typical for dedicated machines"));
    assert_eq!(row.explanation, None);
    assert_eq!(comparison.warnings, Vec::<String>::new());
}

#[test]
fn a_clear_fall_is_a_change_for_the_worse_and_a_rise_one_for_the_better() {
    for (centre, direction) in [(92.0, Direction::Worse), (108.0, Direction::Better)] {
        let (base, new) = against(centre);
        let comparison = compared(&base, &new);
        let row = &comparison.experiments[0];
        assert_eq!((comparison.verdict, row.direction), (Change::Changed, Some(direction)));
        let [low, high] = row.ratio_ci95.unwrap();
        assert!(low < row.ratio && row.ratio < high && (row.ratio - centre / 100.0).abs() < 0.004, "{row:?}");
        assert!(row.p.unwrap() < 0.001, "{row:?}");
        // Nothing of what is known explains it, and nothing is said.
        assert_eq!(row.explanation, None);
    }
}

#[test]
fn of_seconds_more_is_worse() {
    let (mut base, mut new) = against(108.0);
    for document in [&mut base, &mut new] {
        let values: Vec<f64> = document.experiments[0].metrics[0].samples.iter().map(|sample| sample.value).collect();
        document.experiments[0].metrics = vec![metric("latency", Better::Lower, &values)];
    }
    let comparison = compared(&base, &new);
    assert_eq!(comparison.experiments[0].direction, Some(Direction::Worse));
    assert!(comparison.geometric_means[0].ratio < 0.94, "counted so that more is better");
}

#[test]
fn a_small_change_is_the_same_and_one_at_the_limit_is_inconclusive() {
    let (base, new) = against(101.0);
    let row = compared(&base, &new).experiments.remove(0);
    assert_eq!(row.verdict, Change::Same, "however clear it is: {row:?}");
    let (base, new) = against(102.0);
    let comparison = compared(&base, &new);
    let row = &comparison.experiments[0];
    assert_eq!(row.verdict, Change::Inconclusive, "{row:?}");
    assert!(explanation(&comparison).contains("--live"), "{row:?}");
}

#[test]
fn without_a_verdict_the_explanation_says_what_is_needed() {
    let wide = |day: u32| one_row(day, &around(100.0, 0.05, 9, u64::from(day) + 2));
    let comparison = compared(&wide(1), &wide(2));
    let row = &comparison.experiments[0];
    assert_eq!(row.verdict, Change::Inconclusive, "{row:?}");
    let more = format!("About {} more samples of each side than these 9", row.needed.unwrap());
    assert!(explanation(&comparison).contains(&more), "{row:?}");

    let mut bimodal = wide(2);
    warn(&mut bimodal, WarningCode::Bimodal, 1.0, "Two groups.");
    let comparison = compared(&wide(1), &bimodal);
    assert!(explanation(&comparison).starts_with("The samples of NEW fall into two groups. About "), "{comparison:?}");

    let comparison = compared(&one_row(1, &[100.0]), &one_row(2, &[50.0]));
    let row = &comparison.experiments[0];
    assert_eq!((comparison.verdict, row.p, row.ratio_ci95), (Change::Inconclusive, None, None));
    assert!((row.ratio - 0.5).abs() < 1e-12);
    let few = "1 sample of each side is too few: about 5 more of each are needed (--repeat).";
    assert_eq!(explanation(&comparison), few);
    let comparison = compared(&one_row(1, &around(100.0, 0.004, 9, 1)), &one_row(2, &[100.0, 100.1, 99.9]));
    assert_eq!(explanation(&comparison), "3 samples of NEW are too few: about 3 more are needed (--repeat).");
}

fn earlier(day: u32, centre: f64) -> Document {
    let mut earlier = one_row(day, &around(centre, 0.004, 9, u64::from(day)));
    earlier.run.started = format!("2026-10-{day:02}T12:00:00Z");
    earlier
}

#[test]
fn noise_between_earlier_runs_widens_the_limit() {
    let (base, new) = against(92.0);
    let noisy: Vec<Document> =
        [100.0, 93.0, 104.0, 96.0, 101.0].into_iter().zip(1..).map(|(c, day)| earlier(day, c)).collect();
    let row = compare(&base, &new, &noisy).unwrap().experiments.remove(0);
    assert!(row.threshold > 0.08 && row.noise.unwrap() > 0.04, "{row:?}");
    assert_eq!(row.noise_source.as_deref(), Some("5 earlier runs of this machine"));
    assert_eq!(row.verdict, Change::Same, "{row:?}");

    let quiet: Vec<Document> = (1..=8).map(|day| earlier(day, 100.0)).collect();
    let row = compare(&base, &new, &quiet).unwrap().experiments.remove(0);
    assert!((row.noise.unwrap() - 0.01 / 3.0).abs() < 1e-12, "never below a third of what is usual: {row:?}");
    assert!(row.noise_source.as_deref().unwrap().starts_with("8 earlier runs of this machine, but at least"));
    assert_eq!((row.threshold, row.verdict), (0.02, Change::Changed));

    let row = compare(&base, &new, &noisy[..3]).unwrap().experiments.remove(0);
    assert_eq!(row.noise_source.as_deref(), Some("only 3 earlier runs: typical for dedicated machines"));
}

#[test]
fn only_whole_earlier_undisturbed_runs_of_the_same_machine_show_its_noise() {
    let (base, new) = against(92.0);
    let used = |spoil: fn(&mut Document)| {
        let centres = [100.0, 50.0, 100.0, 50.0, 100.0, 50.0];
        let mut noisy: Vec<Document> = (1..).zip(centres).map(|(day, centre)| earlier(day, centre)).collect();
        noisy.iter_mut().for_each(spoil);
        let row = compare(&base, &new, &noisy).unwrap().experiments.remove(0);
        row.noise_source.unwrap().starts_with("6 earlier runs")
    };
    assert!(used(|_| {}));
    assert!(used(|run| run.machine.memory.total_bytes = Some((16 << 30) - (100 << 20))), "a boot's difference");
    assert!(!used(|run| run.run.complete = false));
    assert!(!used(|run| run.run.started = "2026-12-01T12:00:00Z".into()));
    assert!(!used(|run| run.machine.cpu.cores = Some(4)));
    assert!(!used(|run| run.machine.cpu.model_name = Some("Another".into())));
    assert!(!used(|run| run.machine.memory.total_bytes = Some(8 << 30)));
    assert!(!used(|run| run.assay.profile = "debug".into()));
    assert!(!used(|run| run.experiments[0].method = "cpu-fma/9".into()));
    assert!(!used(|run| run.experiments[0].confidence = Some(Confidence::Low)));
    assert!(!used(|run| run.experiments[0].id = "cpu/fma/fp64/avx2/t2".into()));
}

#[test]
fn machines_without_a_history_have_the_noise_of_their_kind() {
    let (mut base, mut new) = against(92.0);
    new.machine.cpu.cores = Some(64);
    let row = compared(&base, &new).experiments.remove(0);
    assert_eq!(row.noise_source.as_deref(), Some("two machines: typical for dedicated machines"));
    new.machine.cpu.cores = base.machine.cpu.cores;
    for document in [&mut base, &mut new] {
        document.machine.virtualization = Some(Virtualization { hypervisor: Some("KVM".into()), signature: None });
    }
    let row = compared(&base, &new).experiments.remove(0);
    assert_eq!(row.noise_source.as_deref(), Some("no earlier runs: typical for shared virtual machines"));
    assert_eq!((row.threshold, row.verdict), (0.1, Change::Same));
}

fn warn(document: &mut Document, code: WarningCode, value: f64, seen: &str) {
    let warning = Warning::new(code, value, seen);
    let row = &mut document.experiments[0];
    row.confidence = row.confidence.max(Some(warning.confidence));
    row.warnings.push(warning);
}

#[test]
fn what_others_took_from_one_side_is_allowed_for_in_its_direction_alone() {
    let took = |side: usize, centre: f64| {
        let (mut base, mut new) = against(centre);
        warn([&mut base, &mut new][side], WarningCode::CpuShared, 0.07, "The threads had 93 % of their CPUs.");
        compared(&base, &new)
    };
    let fell = took(1, 93.0);
    assert_eq!(fell.experiments[0].verdict, Change::Inconclusive);
    assert!((fell.experiments[0].allowance - 0.07 / 0.93).abs() < 1e-12);
    let expected = "Interference in NEW may account for 7.5 % of it: The threads had 93 % of their CPUs.";
    assert!(explanation(&fell).starts_with(expected), "{}", explanation(&fell));
    assert_eq!(took(0, 107.0).experiments[0].verdict, Change::Inconclusive);
    // What was taken from the base makes no fall, and more fell than was taken.
    assert_eq!(took(0, 93.0).experiments[0].verdict, Change::Changed);
    assert_eq!(took(1, 85.0).experiments[0].verdict, Change::Changed);
    assert_eq!(took(1, 107.0).experiments[0].verdict, Change::Changed);
}

#[test]
fn a_clock_that_moved_is_allowed_for_in_either_direction_and_a_share_of_samples_in_none() {
    for centre in [95.0, 105.0] {
        let (mut base, new) = against(centre);
        warn(&mut base, WarningCode::ClockMoved, 0.05, "The clock moved by 5 %.");
        assert_eq!(compared(&base, &new).experiments[0].verdict, Change::Inconclusive, "{centre}");
        let (base, mut new) = against(centre);
        warn(&mut new, WarningCode::DisturbedBlocks, 0.3, "3 of 10 samples were disturbed.");
        let row = compared(&base, &new).experiments.remove(0);
        assert_eq!((row.verdict, row.allowance), (Change::Changed, 0.0), "{centre}");
    }
}

#[test]
fn a_result_of_low_confidence_is_never_the_same_and_changed_only_by_more_than_the_interference() {
    let disturbed = |code: WarningCode, value: f64, centre: f64| {
        let (mut base, mut new) = against(centre);
        warn(if centre > 90.0 { &mut base } else { &mut new }, code, value, "Others did something.");
        compared(&base, &new)
    };
    let same = disturbed(WarningCode::Steal, 0.2, 100.0);
    assert_eq!(same.experiments[0].verdict, Change::Inconclusive);
    let text = explanation(&same);
    assert!(text.starts_with("BASE had too much interference for a verdict: Others did something."), "{text}");
    assert_eq!(same.experiments[0].needed, None);
    assert_eq!(disturbed(WarningCode::Steal, 0.2, 80.0).experiments[0].verdict, Change::Inconclusive);
    assert_eq!(disturbed(WarningCode::Steal, 0.2, 40.0).experiments[0].verdict, Change::Changed);
    let unknown = disturbed(WarningCode::Swapping, 1e9, 40.0);
    assert_eq!(unknown.experiments[0].verdict, Change::Inconclusive, "nobody knows how much swapping took");
}

#[test]
fn a_quota_hides_no_change_and_explains_it() {
    let (base, mut new) = against(50.0);
    warn(&mut new, WarningCode::CpuQuota, 0.5, "A control group's quota of 0.5 CPUs stopped the threads.");
    let comparison = compared(&base, &new);
    assert_eq!(comparison.experiments[0].direction, Some(Direction::Worse));
    assert_eq!(explanation(&comparison), "A CPU quota throttled the threads of NEW for 50 % of the time.");
    // The same quota on both sides explains nothing.
    let (mut base, mut new) = against(50.0);
    warn(&mut base, WarningCode::CpuQuota, 0.5, "A quota.");
    warn(&mut new, WarningCode::CpuQuota, 0.52, "A quota.");
    assert_eq!(compared(&base, &new).experiments[0].explanation, None);
}

#[test]
fn the_clock_explains_what_it_took_with_it() {
    let slowed = |clock: f64, centre: f64| {
        let (base, mut new) = against(centre);
        for sample in &mut new.experiments[0].metrics[0].samples {
            sample.clock_hz = sample.clock_hz.map(|hz| hz * clock);
        }
        compared(&base, &new)
    };
    let with_it = slowed(0.92, 92.0);
    assert_eq!(with_it.experiments[0].verdict, Change::Changed);
    assert_eq!(explanation(&with_it), "The clock fell by 8.0 %, and the rate with it; per cycle nothing changed.");
    let per_cycle = with_it.experiments[0].per_cycle.unwrap();
    assert_eq!(per_cycle.verdict, Change::Same);
    assert!((per_cycle.ratio - 1.0).abs() < 0.004, "{per_cycle:?}");
    let in_part = slowed(0.92, 80.0);
    let expected = "The clock fell by 8.0 %, which is part of it; per cycle 13 % less was done.";
    assert_eq!(explanation(&in_part), expected);
    assert_eq!(in_part.experiments[0].per_cycle.unwrap().verdict, Change::Changed);
    // A clock that stayed, or went the other way, explains nothing.
    assert_eq!(slowed(1.0, 92.0).experiments[0].explanation, None);
    assert_eq!(slowed(1.05, 92.0).experiments[0].explanation, None);
    let (mut base, mut new) = against(100.0);
    base.experiments[0].metrics = vec![metric("latency", Better::Lower, &around(100e-9, 0.004, 9, 1))];
    new.experiments[0].metrics = vec![metric("latency", Better::Lower, &around(125e-9, 0.004, 9, 2))];
    new.experiments[0].metrics[0].samples.iter_mut().for_each(|sample| sample.clock_hz = Some(2.4e9));
    let comparison = compared(&base, &new);
    assert_eq!(explanation(&comparison), "The clock fell by 20 %, so the latency rose; per cycle nothing changed.");
    base.experiments[0].metrics[0].samples[4].clock_hz = None;
    assert_eq!(compared(&base, &new).experiments[0].per_cycle, None, "without a clock of every sample");
}

#[test]
fn process_runs_or_sessions_are_the_units_where_they_differ_or_suffice() {
    let levels = [100.0, 104.0, 98.0, 102.0, 96.0, 101.0];
    let values = |seed: u64| -> Vec<f64> {
        levels.iter().enumerate().flat_map(|(i, level)| around(*level, 0.001, 3, seed + i as u64)).collect()
    };
    let comparison = compared(&one_row(1, &values(1)), &one_row(2, &values(50)));
    let row = &comparison.experiments[0];
    assert_eq!((row.units.as_str(), row.n_base, row.n_new), ("process runs", 6, 6));
    // Three process runs are too few, however many samples they have.
    let comparison = compared(&one_row(1, &values(1)[..9]), &one_row(2, &values(50)[..9]));
    let row = &comparison.experiments[0];
    assert_eq!((row.units.as_str(), row.n_base, row.verdict), ("process runs", 3, Change::Inconclusive));
    assert_eq!((row.p, row.ratio_ci95, row.needed), (None, None, Some(3)));
    let too_few = "3 process runs of each side are too few: about 3 more of each";
    assert!(explanation(&comparison).contains(too_few), "{row:?}");
    let sessions = |day: u32, count: usize| {
        let mut document = one_row(day, &around(100.0, 0.004, 3 * count, u64::from(day)));
        for (index, sample) in document.experiments[0].metrics[0].samples.iter_mut().enumerate() {
            sample.session = u32::try_from(index / 3 + 1).unwrap();
        }
        document
    };
    let row = compared(&sessions(1, 6), &sessions(2, 7)).experiments.remove(0);
    assert_eq!((row.units.as_str(), row.n_base, row.n_new, row.verdict), ("sessions", 6, 7, Change::Same));
    let row = compared(&sessions(1, 6), &sessions(2, 5)).experiments.remove(0);
    assert_eq!((row.units.as_str(), row.n_base, row.n_new), ("samples", 18, 15));
}

#[test]
fn a_clock_that_hardly_moved_explains_no_uncertainty() {
    let (base, mut new) = (one_row(1, &around(100.0, 0.05, 9, 3)), one_row(2, &around(97.0, 0.05, 9, 4)));
    let mut moved = |clock: f64| {
        let samples = &mut new.experiments[0].metrics[0].samples;
        samples.iter_mut().for_each(|sample| sample.clock_hz = Some(3e9 * clock));
        let comparison = compared(&base, &new);
        assert_eq!(comparison.verdict, Change::Inconclusive);
        explanation(&comparison).to_owned()
    };
    assert!(moved(0.995).starts_with("About "));
    assert!(moved(0.97).starts_with("The clock fell by 3.0 %, and the rate with it; per cycle the result is"));
}

#[test]
fn probabilities_are_corrected_for_the_number_of_rows() {
    let rows = |centre: f64, seed: u64| -> Vec<Row> {
        (0..20).map(|i| row(&format!("cpu/x{i}/t1"), &around(centre, 0.001, 5, seed + i))).collect()
    };
    let alone = compared(&run(1, rows(100.0, 1).split_off(19)), &run(2, rows(90.0, 60).split_off(19)));
    assert_eq!(alone.experiments[0].verdict, Change::Changed);
    // 2 of 252 orders are as clear as this: 0.0079, twenty times is more than 0.05.
    let comparison = compared(&run(1, rows(100.0, 1)), &run(2, rows(90.0, 60)));
    for row in &comparison.experiments {
        assert_eq!(row.verdict, Change::Inconclusive, "{row:?}");
        assert!((row.p.unwrap() - 40.0 / 252.0).abs() < 1e-9, "{row:?}");
        assert_eq!(row.needed, Some(1), "of 6 and 6 it is 40 of 924");
    }
    assert_eq!(comparison.geometric_means[0].n, 20);
    assert!((comparison.geometric_means[0].ratio - 0.9).abs() < 0.002);
}

/// Two runs of one row that differ by what is done to the new one; why the row was not compared.
#[track_caller]
fn refused(spoil: impl Fn(&mut Row)) -> String {
    let rows = || vec![row("cpu/fma/fp64/avx2/t1", &around(100.0, 0.004, 9, 1)), row("cpu/other/t1", &[1.0])];
    let (base, mut new) = (run(1, rows()), run(2, rows()));
    spoil(&mut new.experiments[0]);
    let comparison = compared(&base, &new);
    assert_eq!(comparison.experiments.len(), 1);
    let refused: Vec<_> = comparison.not_compared.iter().filter(|row| row.id == "cpu/fma/fp64/avx2/t1").collect();
    assert_eq!(refused.len(), 1, "{comparison:?}");
    refused[0].reason.clone()
}

#[test]
fn what_does_not_mean_the_same_is_not_compared() {
    let cases: [(fn(&mut Row), &str); 5] = [
        (
            |row| row.method = "cpu-fma/2".into(),
            "counted differently: by the method cpu-fma/1 in BASE and cpu-fma/2 in NEW",
        ),
        (|row| row.metrics[0].unit = Unit::OpPerSecond, "its throughput is in flop/s in BASE and in op/s in NEW"),
        (|row| (row.status, row.reason) = (Status::Skipped, Some("x".into())), "not measured in NEW: skipped (x)"),
        (|row| row.metrics[0].samples.clear(), "no samples of its throughput"),
        (|row| row.metrics.clear(), "no metric on both sides"),
    ];
    for (spoil, reason) in cases {
        assert_eq!(refused(spoil), reason);
    }
    for value in [0.0, -1.0, f64::INFINITY, 1e300] {
        let reason = refused(|row| row.metrics[0].samples[3].value = value);
        assert_eq!(reason, "a sample of its throughput is no positive number");
    }
}

#[test]
fn rows_of_one_side_are_listed() {
    let common = || row("cpu/a/t1", &around(100.0, 0.004, 9, 1));
    let base = run(1, vec![common(), row("cpu/b/t1", &[1.0])]);
    let new = run(2, vec![row("cpu/c/t1", &[1.0]), common()]);
    let comparison = compared(&base, &new);
    let reasons: Vec<_> = comparison.not_compared.iter().map(|row| (row.id.as_str(), row.reason.as_str())).collect();
    assert_eq!(reasons, [("cpu/b/t1", "only in BASE"), ("cpu/c/t1", "only in NEW")]);
}

fn memory_row(working_set: u64, level: Option<&str>) -> Row {
    let params = MemoryParams {
        pattern: MemoryPattern::Sequential,
        op: MemoryOp::Read,
        block: None,
        working_set,
        pages: Pages::Huge2M,
        isa: Isa::Avx2,
        chains: None,
        threads: 1,
        level: level.map(str::to_owned),
        nodes: None,
        group: None,
        background: None,
        placement: None,
    };
    let mut row = row("memory/sequential-read/t1", &around(100.0, 0.004, 9, 1));
    (row.area, row.params) = (Area::Memory, Params::Memory(params));
    row
}

#[test]
fn parameters_that_an_id_does_not_show_must_agree_too() {
    let error = compare(&run(1, vec![memory_row(1 << 30, None)]), &run(2, vec![memory_row(2 << 30, None)]), &[]);
    assert_eq!(
        error.unwrap_err(),
        "the two runs have no benchmark that can be compared: memory/sequential-read/t1: measured with other \
         parameters: working set 1GiB against 2GiB"
    );
    // What was found from the data is no setting.
    let [base, new] = [(1, None), (2, Some("dram"))].map(|(day, level)| run(day, vec![memory_row(1 << 30, level)]));
    assert_eq!(compared(&base, &new).experiments.len(), 1);
}

#[test]
fn test_files_that_were_cut_to_other_sizes_are_a_difference() {
    let with = |day: u32, mebibytes: &[u64]| {
        let rows = mebibytes.iter().enumerate().map(|(index, bytes)| {
            let mut row = row(&format!("disk/{index}"), &around(100.0, 0.004, 9, u64::from(day)));
            row.conditions.disk = Some(DiskConditions { file_bytes: Some(bytes << 20), ..DiskConditions::default() });
            row
        });
        run(day, rows.collect())
    };
    let used = |base: &[u64], new: &[u64]| compared(&with(1, base), &with(2, new)).warnings.join(" ");
    assert!(!used(&[1024, 512], &[1024, 512]).contains("test files"));
    let text = used(&[1024, 512, 64], &[1024, 1024, 128]);
    assert!(text.contains("differ in size: 512 MiB against 1024 MiB for disk/1 and 1 more"), "{text}");
}

#[test]
fn derived_metrics_are_not_compared() {
    let with = |day: u32, names: [&str; 4]| {
        let mut document = one_row(day, &around(100.0, 0.004, 9, u64::from(day)));
        let template = document.experiments[0].metrics[0].clone();
        let named = |name: &&str| Metric { name: (*name).into(), ..template.clone() };
        document.experiments[0].metrics = names.iter().map(named).collect();
        document
    };
    let names = |order: [&str; 4]| -> Vec<String> {
        let comparison = compared(&with(1, order), &with(2, order));
        comparison.experiments.into_iter().map(|row| row.metric).collect()
    };
    assert_eq!(names(["throughput", "iops", "latency", "clock"]), ["throughput", "latency"]);
    assert_eq!(names(["iops", "throughput", "latency", "clock"]), ["iops", "latency"]);
    assert_eq!(names(["latency", "iops", "clock", "sunshine"]), ["latency"]);
    assert_eq!(names(["sunshine", "iops", "clock", "latency"]), ["sunshine", "latency"]);
    let mut solution = one_row(1, &[1.0; 9]);
    solution.experiments[0].metrics.push(metric("latency", Better::Lower, &[1.0; 9]));
    let again = Document { run: run(2, Vec::new()).run, ..solution.clone() };
    let metrics: Vec<String> = compared(&solution, &again).experiments.into_iter().map(|row| row.metric).collect();
    assert_eq!(metrics, ["throughput"], "the duration of a sample is its rate again");
}
