//! LINPACK: curves over N in a terminal, and the classic tables.

mod fixture;

use areas::chart::classic::linpack::series;
use areas::chart::classic::{cpu, lines};
use model::document::{Document, Row, Status};
use model::experiment::{Area, Classic, Params};
use model::isa::{Element, Isa};
use model::linpack::{LinpackChoices, LinpackConditions, LinpackEngine, LinpackOp, LinpackParams, linpack_id};
use model::peak::{Efficiency, PeakKind};
use model::sample::{Metric, MetricName, Sample};
use model::unit::Unit;
use report::Style;
use report::terminal::render;

const GIGA: f64 = 1e9;

fn params(op: LinpackOp, n: u64, threads: u32) -> LinpackParams {
    LinpackParams {
        op,
        engine: LinpackEngine::Own,
        n,
        nb: None,
        lda: n + 8,
        align: 2 << 20,
        threads,
        element: op.usual_element(),
        isa: Some(Isa::Avx512),
    }
}

fn metric(like: &Metric, name: MetricName, unit: Unit, median: f64) -> Metric {
    let mut metric = like.clone();
    (metric.name, metric.unit, metric.summary.median) = (name.into(), unit, median);
    metric.summary.ci95 = Some([median * 0.99, median * 1.01]);
    metric.efficiency = None;
    metric
}

/// A row that reaches this share of its peak of 100 GFLOP/s a thread.
fn row(like: &Row, params: LinpackParams, share: f64) -> Row {
    let mut row = like.clone();
    let first = row.metrics[0].clone();
    let rate = share * 100.0 * GIGA * f64::from(params.threads);
    let mut headline = metric(&first, MetricName::Throughput, Unit::FlopPerSecond, rate);
    headline.efficiency = Some(Efficiency { of: PeakKind::Sustained, value: share });
    row.metrics = vec![headline, metric(&first, MetricName::Residual, Unit::One, 0.0052)];
    row.id = linpack_id(&params, LinpackChoices { n: true, ..LinpackChoices::default() });
    let rounds = (params.op == LinpackOp::LuMixed).then_some(3.0);
    row.conditions.linpack = Some(LinpackConditions { refinements: rounds, ..LinpackConditions::default() });
    (row.area, row.params, row.classic) = (Area::Linpack, Params::Linpack(params), None);
    row
}

/// A run of both kinds of solutions of these orders, on 1 and 2 threads, and a product.
fn run(orders: &[u64]) -> Document {
    let mut document = fixture::good();
    let like = document.experiments.remove(0);
    let at = |n: u64| 0.9 - 200.0 / n as f64;
    let mut rows = Vec::new();
    for op in [LinpackOp::Lu, LinpackOp::LuMixed] {
        for n in orders {
            rows.extend([1, 2].map(|threads| row(&like, params(op, *n, threads), at(*n))));
        }
    }
    let mut product = row(&like, params(LinpackOp::Gemm, 5000, 2), 0.93);
    product.metrics.truncate(1);
    rows.push(product);
    (document.experiments, document.findings) = (rows, Vec::new());
    document
}

fn shown(document: &Document, width: usize) -> String {
    let text = render(document, &Style { width, unicode: false, color: false });
    assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    text
}

#[test]
fn orders_are_a_curve_of_each_kind_with_its_residuals() {
    let document = run(&[1000, 2000, 5000, 10_000]);
    let text = shown(&document, 120);
    for title in ["LINPACK over N, AVX-512\n", "LINPACK mixed over N, FP32 factors, AVX-512\n"] {
        assert_eq!(text.matches(title).count(), 1, "{title}: {text}");
    }
    assert!(text.contains("1 thread GFLOP/s") && text.contains("2 threads GFLOP/s"), "{text}");
    let line = text.lines().find(|line| line.trim_start().starts_with("10000 ")).unwrap();
    for part in ["88.0", "176.0", "88.0 %", "5.2e-3"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(text.contains("Of peak: share of the multiply-add peak in FP32") && text.contains("rounds"), "{text}");
    assert!(text.contains("DGEMM") && !text.contains("N = 1000,") && !text.contains("N = 1000 "), "{text}");
    assert!(document.experiments.iter().all(|row| row.status == Status::Ok));
}

#[test]
fn a_narrow_terminal_has_a_table_for_each_number_of_threads() {
    let text = shown(&run(&[1000, 2000, 5000]), 60);
    for threads in ["1 thread", "2 threads"] {
        assert!(text.contains(&format!("LINPACK over N, AVX-512, {threads}\n")), "{text}");
    }
}

#[test]
fn nothing_stands_above_curves_where_there_is_nothing_else() {
    let mut document = run(&[1000, 2000]);
    document.experiments.retain(|row| row.id.starts_with("linpack/lu/"));
    let text = shown(&document, 120);
    assert_eq!(text.matches("LINPACK").count(), 1, "{text}");
}

#[test]
fn one_order_and_layouts_that_are_compared_stay_in_the_areas_table() {
    let text = shown(&run(&[2000]), 120);
    assert!(!text.contains("over N") && text.contains("N = 2000, FP32 factors"), "{text}");
    let mut document = run(&[2000, 4096]);
    let like = document.experiments[0].clone();
    let plain = LinpackParams { lda: 4096, ..params(LinpackOp::Lu, 4096, 1) };
    document.experiments.push(row(&like, plain, 0.5));
    let text = shown(&document, 120);
    assert!(!text.contains("LINPACK over N") && text.contains("LINPACK mixed over N"), "{text}");
}

#[test]
fn the_matrix_of_hpl_mxp_is_never_called_linpack() {
    let mut document = run(&[1000, 2000]);
    document.experiments.retain(|row| row.id.starts_with("linpack/lu_mixed"));
    for row in &mut document.experiments {
        let Params::Linpack(own) = &mut row.params else { panic!("{row:?}") };
        own.element = Element::Bf16;
        row.id.push_str("/bf16");
    }
    let text = shown(&document, 120);
    assert!(
        text.contains("HPL-MxP over N, BF16 factors, dominant matrix") && text.contains("so this is not LINPACK"),
        "{text}"
    );
    assert!(!text.contains("LINPACK over N") && !text.contains("LINPACK mixed"), "{text}");
    document.experiments.retain(|row| row.id.contains("/n1000/"));
    let text = shown(&document, 120);
    assert!(text.contains("HPL-MxP") && text.contains("dominant matrix") && !text.contains("LINPACK mixed"), "{text}");
}

#[test]
fn what_was_not_measured_says_so_in_its_place() {
    let mut document = run(&[1000, 2000]);
    let row = &mut document.experiments[2];
    assert_eq!(row.id, "linpack/lu/n2000/t1");
    (row.status, row.reason, row.confidence) = (Status::Failed, Some("the solution is wrong".into()), None);
    let text = shown(&document, 120);
    let line = text.lines().find(|line| line.trim_start().starts_with("2000 ")).unwrap();
    assert!(line.contains("failed") && text.contains("the solution is wrong"), "{text}");
}

#[test]
fn what_was_seen_of_the_solver_is_in_the_csv() {
    let mut document = run(&[1000]);
    document.experiments.retain(|row| row.id == "linpack/lu_mixed/n1000/t2");
    document.experiments[0].conditions.linpack = Some(LinpackConditions {
        kernel: Some("avx512/48x8".into()),
        matrix_bytes: Some(12_000_000),
        lost_to_clock: Some(-0.01),
        refinements: Some(3.0),
        ..LinpackConditions::default()
    });
    let text = report::csv::render(&document);
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heading = lines.next().unwrap();
    let first = lines.next().unwrap();
    let of = |name: &str| first[heading.iter().position(|column| *column == name).unwrap()];
    assert_eq!((of("solver"), of("matrix_bytes"), of("refinements")), ("avx512/48x8", "12000000", "3"));
    assert_eq!((of("lost_to_clock"), of("mapped_bytes"), of("fill_seconds")), ("-0.01", "", ""));
}

#[test]
fn other_solvers_have_curves_of_their_own() {
    let mut document = run(&[1000, 2000]);
    for row in &mut document.experiments {
        let Params::Linpack(own) = &mut row.params else { panic!("{row:?}") };
        (own.engine, own.isa) = (LinpackEngine::Faer, None);
        assert_ne!(own.element, Element::Int8);
    }
    assert!(shown(&document, 120).contains("LINPACK over N, faer\n"));
}

fn classic_params(n: u64, threads: u32) -> LinpackParams {
    LinpackParams { lda: if n == 5000 { 5008 } else { n }, align: 4096, ..params(LinpackOp::Lu, n, threads) }
}

/// A metric with these samples, each of a repetition of its own.
fn with_samples(like: &Metric, name: MetricName, unit: Unit, values: &[(f64, f64)]) -> Metric {
    let mut metric = metric(like, name, unit, like.summary.median);
    let template = metric.samples[0].clone();
    metric.samples = (0_u32..)
        .zip(values)
        .map(|(index, (value, seconds))| Sample {
            value: *value,
            seconds: *seconds,
            start: f64::from(index),
            ..template.clone()
        })
        .collect();
    metric
}

fn classic_row(like: &Row, params: LinpackParams, rates: &[f64]) -> Row {
    let mut row = like.clone();
    let work = params.op.operations(params.n);
    let value = |of: f64| -> Vec<(f64, f64)> { rates.iter().map(|rate| (of, work / rate)).collect() };
    let rate: Vec<(f64, f64)> = rates.iter().map(|rate| (*rate, work / rate)).collect();
    let first = row.metrics[0].clone();
    row.metrics = vec![
        with_samples(&first, MetricName::Throughput, Unit::FlopPerSecond, &rate),
        with_samples(&first, MetricName::Residual, Unit::One, &value(0.02)),
        with_samples(&first, MetricName::ResidualRaw, Unit::One, &value(1.25e-12)),
    ];
    if rates.is_empty() {
        (row.metrics, row.status, row.reason) = (Vec::new(), Status::Skipped, Some("memory".into()));
    }
    row.id = format!("linpack/lu/n{}/t{}", params.n, params.threads);
    (row.area, row.params) = (Area::Linpack, Params::Linpack(params));
    let (table, workload) = ("linpack".to_owned(), "LINPACK".to_owned());
    row.classic = Some(Classic { table, workload, class: None, total: Some(work) });
    row
}

/// A classic run with these rows of LINPACK alone.
fn classic_run() -> Document {
    let mut document = fixture::classic_in_full();
    let like = document.experiments.iter().find(|row| row.area == Area::Linpack).cloned();
    let like = like.unwrap_or_else(|| panic!("the fixture has no LINPACK row"));
    document.experiments = vec![
        classic_row(&like, classic_params(5000, 2), &[90.0 * GIGA, 110.0 * GIGA]),
        classic_row(&like, classic_params(1000, 2), &[40.0 * GIGA, 50.0 * GIGA, 60.0 * GIGA]),
        classic_row(&like, classic_params(45_000, 2), &[]),
        classic_row(&like, classic_params(1000, 1), &[30.0 * GIGA]),
    ];
    document
}

#[test]
fn each_trial_has_its_line_and_each_size_its_mean_and_its_best() {
    let document = classic_run();
    let all = series(&document);
    assert_eq!(all.iter().map(|series| series.threads).collect::<Vec<_>>(), [1, 2]);
    let sizes = &all[1].sizes;
    assert_eq!(
        sizes.iter().map(|size| (size.params.n, size.params.lda)).collect::<Vec<_>>(),
        [(1000, 1000), (5000, 5008), (45_000, 45_000)]
    );
    assert_eq!((sizes[0].average, sizes[0].maximal), (Some(50.0 * GIGA), Some(60.0 * GIGA)));
    let trial = sizes[1].trials[1];
    assert!((trial.seconds * trial.rate / LinpackOp::Lu.operations(5000) - 1.0).abs() < 1e-12);
    assert_eq!((trial.residual, trial.scaled, trial.passes()), (Some(1.25e-12), Some(0.02), Some(true)));
    assert_eq!((sizes[2].row.status, sizes[2].average, sizes[2].trials.len()), (Status::Skipped, None, 0));
}

#[test]
fn only_solutions_of_the_classic_run_belong_to_the_table() {
    let mut document = classic_run();
    document.run.suite = "standard".into();
    assert!(series(&document).is_empty());
    for op in [LinpackOp::Gemm, LinpackOp::LuMixed] {
        let mut document = classic_run();
        for row in &mut document.experiments {
            let Params::Linpack(params) = &mut row.params else { panic!("{row:?}") };
            params.op = op;
        }
        assert!(series(&document).is_empty(), "a product is no solution, and mixed precision no LINPACK");
    }
}

#[test]
fn a_residual_that_is_too_large_never_passes() {
    let mut document = classic_run();
    let residual =
        document.experiments[0].metrics.iter_mut().find(|metric| metric.name.as_str() == "residual").unwrap();
    (residual.samples[0].value, residual.samples[1].value) = (16.0, f64::NAN);
    let passes = |document: &Document| -> Vec<Option<bool>> {
        series(document)[1].sizes[1].trials.iter().map(areas::chart::classic::linpack::Trial::passes).collect()
    };
    assert_eq!(passes(&document), [Some(false); 2]);
    document.experiments[0].metrics.retain(|metric| metric.name.as_str() == "throughput");
    assert_eq!(passes(&document), [None; 2]);
}

#[test]
fn the_terminal_has_the_columns_that_people_know() {
    for width in [80, 120] {
        let text = render(&classic_run(), &Style { width, unicode: false, color: false });
        for heading in ["Size", "LDA", "Align", "Time", "GFlops", "Residual(norm)", "Check", "Average", "Maximal"] {
            assert!(text.contains(heading), "{heading} at {width}: {text}");
        }
        assert!(text.contains("1.250e-12") && text.contains("2.000e-2") && text.contains("pass"), "{text}");
        assert!(text.contains("Not measured on 2 threads: N = 45000."), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
}

#[test]
fn a_product_never_stands_for_hpl() {
    let mut document = fixture::classic_in_full();
    let mut like = document.experiments.iter().find(|row| row.area == Area::Linpack).unwrap().clone();
    like.metrics[0].references.clear();
    document.experiments.retain(|row| row.area != Area::Linpack);
    let product = LinpackParams { op: LinpackOp::Gemm, ..classic_params(5000, 2) };
    document.experiments.push(classic_row(&like, product, &[500.0 * GIGA]));
    let tools = |document: &Document| -> Vec<String> {
        lines(&cpu::series(document))
            .iter()
            .flat_map(|(_, point)| &point.rate.tools)
            .map(|found| found.tool.clone())
            .collect()
    };
    assert!(tools(&document).is_empty());
    document.experiments.push(classic_row(&like, classic_params(5000, 2), &[100.0 * GIGA]));
    assert_eq!(tools(&document), [cpu::OWN]);
}
