//! The classic tables of LINPACK, as values and in a terminal.

mod fixture;

use model::document::{Document, Row, Status};
use model::experiment::{Area, Classic, Params};
use model::isa::{Element, Isa};
use model::linpack::{LinpackEngine, LinpackOp, LinpackParams};
use model::sample::{Metric, MetricName};
use model::unit::Unit;
use report::Style;
use report::classic::linpack::series;
use report::classic::{cpu, lines};
use report::terminal::render;

const GIGA: f64 = 1e9;

fn params(n: u64, threads: u32) -> LinpackParams {
    LinpackParams {
        op: LinpackOp::Lu,
        engine: LinpackEngine::Own,
        n,
        nb: Some(192),
        lda: if n == 5000 { 5008 } else { n },
        align: 4096,
        threads,
        element: Element::Fp64,
        isa: Some(Isa::Avx512),
    }
}

/// A metric with these samples, each of a repetition of its own.
fn metric(like: &Metric, name: MetricName, unit: Unit, values: &[(f64, f64)]) -> Metric {
    let mut metric = like.clone();
    (metric.name, metric.unit) = (name.into(), unit);
    let template = metric.samples[0].clone();
    metric.samples = (0_u32..)
        .zip(values)
        .map(|(index, (value, seconds))| model::sample::Sample {
            value: *value,
            seconds: *seconds,
            start: f64::from(index),
            ..template.clone()
        })
        .collect();
    metric
}

/// A row of the classic series, solved at these rates.
fn row(like: &Row, params: LinpackParams, rates: &[f64]) -> Row {
    let mut row = like.clone();
    let work = params.op.operations(params.n);
    let figure = |of: f64| -> Vec<(f64, f64)> { rates.iter().map(|rate| (of, work / rate)).collect() };
    let rate: Vec<(f64, f64)> = rates.iter().map(|rate| (*rate, work / rate)).collect();
    let first = row.metrics[0].clone();
    row.metrics = vec![
        metric(&first, MetricName::Throughput, Unit::FlopPerSecond, &rate),
        metric(&first, MetricName::Residual, Unit::One, &figure(0.02)),
        metric(&first, MetricName::ResidualRaw, Unit::One, &figure(1.25e-12)),
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
fn run() -> Document {
    let mut document = fixture::classic_in_full();
    let like = document.experiments.iter().find(|row| row.area == Area::Linpack).cloned();
    let like = like.unwrap_or_else(|| panic!("the fixture has no LINPACK row"));
    document.experiments = vec![
        row(&like, params(5000, 2), &[90.0 * GIGA, 110.0 * GIGA]),
        row(&like, params(1000, 2), &[40.0 * GIGA, 50.0 * GIGA, 60.0 * GIGA]),
        row(&like, params(45_000, 2), &[]),
        row(&like, params(1000, 1), &[30.0 * GIGA]),
    ];
    document
}

#[test]
fn each_trial_has_its_line_and_each_size_its_mean_and_its_best() {
    let document = run();
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
    let mut document = run();
    document.run.suite = "standard".into();
    assert!(series(&document).is_empty());
    for op in [LinpackOp::Gemm, LinpackOp::LuMixed] {
        let mut document = run();
        for row in &mut document.experiments {
            let Params::Linpack(params) = &mut row.params else { panic!("{row:?}") };
            params.op = op;
        }
        assert!(series(&document).is_empty(), "a product is no solution, and mixed precision no LINPACK");
    }
}

#[test]
fn a_residual_that_is_too_large_never_passes() {
    let mut document = run();
    let residual =
        document.experiments[0].metrics.iter_mut().find(|metric| metric.name.as_str() == "residual").unwrap();
    (residual.samples[0].value, residual.samples[1].value) = (16.0, f64::NAN);
    let passes = |document: &Document| -> Vec<Option<bool>> {
        series(document)[1].sizes[1].trials.iter().map(report::classic::linpack::Trial::passes).collect()
    };
    assert_eq!(passes(&document), [Some(false); 2]);
    document.experiments[0].metrics.retain(|metric| metric.name.as_str() == "throughput");
    assert_eq!(passes(&document), [None; 2]);
}

#[test]
fn the_terminal_has_the_columns_that_people_know() {
    for width in [80, 120] {
        let text = render(&run(), &Style { width, unicode: false, color: false });
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
    let product = LinpackParams { op: LinpackOp::Gemm, ..params(5000, 2) };
    document.experiments.push(row(&like, product, &[500.0 * GIGA]));
    let tools = |document: &Document| -> Vec<String> {
        lines(&cpu::series(document))
            .iter()
            .flat_map(|(_, point)| &point.rate.tools)
            .map(|found| found.tool.clone())
            .collect()
    };
    assert!(tools(&document).is_empty());
    document.experiments.push(row(&like, params(5000, 2), &[100.0 * GIGA]));
    assert_eq!(tools(&document), [cpu::OWN]);
}
