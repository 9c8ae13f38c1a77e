//! Every chart is read by an XML parser and compared with its document.
#![allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests; exactly the same value")]

mod fixture;

use std::collections::BTreeSet;

use fixture::snapshot;
use model::document::{Document, Row};
use model::experiment::{Area, Params};
use model::isa::{Element, Isa};
use model::linpack::{LinpackEngine, LinpackOp, LinpackParams};
use model::sample::{Metric, Sample};
use model::warning::Confidence;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use report::chart::{DrawnChart, charts, standalone, text_width};
use roxmltree::{Document as Xml, Node};

/// LINPACK over sizes, made of arithmetic.
fn linpack() -> Document {
    let mut document = fixture::many_threads();
    let mut rows: Vec<Row> = Vec::new();
    for (index, n) in [1000_u64, 5000, 10_000, 20_000].into_iter().enumerate() {
        for threads in [1_u32, 2] {
            let mut row = document.experiments[0].clone();
            row.area = Area::Linpack;
            row.id = format!("linpack/lu/n{n}/t{threads}");
            row.params = Params::Linpack(LinpackParams {
                op: LinpackOp::Lu,
                engine: LinpackEngine::Own,
                n,
                nb: Some(192),
                lda: n,
                align: 4096,
                threads,
                element: Element::Fp64,
                isa: Some(Isa::Avx512),
            });
            let share = 0.5 + 0.1 * index as f64;
            scale(&mut row.metrics[0], share * f64::from(threads));
            rows.push(row);
        }
    }
    document.experiments = rows;
    document
}

fn scale(metric: &mut Metric, factor: f64) {
    let summary = &mut metric.summary;
    summary.median *= factor;
    summary.ci95 = summary.ci95.map(|ends| ends.map(|end| end * factor));
    for sample in &mut metric.samples {
        sample.value *= factor;
    }
}

/// Networks on the loopback interface and between two nodes.
fn both_paths() -> Document {
    let mut document = fixture::net_area();
    document.experiments.extend(fixture::net_peer().experiments);
    let mut seen = BTreeSet::new();
    document.experiments.retain(|row| seen.insert(row.id.clone()));
    document
}

/// A document with seven samples of each value, one after the other.
fn sampled(mut document: Document) -> Document {
    let mut start = 0.0;
    for row in &mut document.experiments {
        for metric in &mut row.metrics {
            let Some(first) = metric.samples.first().cloned() else { continue };
            let next = |(nth, share): (usize, f64)| Sample {
                value: first.value * share,
                start: start + nth as f64,
                stolen_seconds: Some(0.01 * first.seconds * nth as f64),
                ..first.clone()
            };
            metric.samples = [0.99, 1.0, 1.02, 0.98, 1.0, 1.01, 1.0].into_iter().enumerate().map(next).collect();
        }
        start += 10.0;
    }
    document
}

fn documents() -> Vec<(&'static str, Document)> {
    // The charts of these are those of other documents.
    let same = ["clean", "references_absent", "io_unavailable", "other_axes", "classic"];
    let all = fixture::documents().into_iter().filter(|(name, _)| !same.contains(name));
    let all = all.chain([("both_paths", both_paths()), ("linpack", linpack())]);
    all.map(|(name, document)| (name, sampled(document))).collect()
}

/// A text's box by the estimate of its width: left, top, right, bottom.
#[derive(Debug)]
struct Place {
    text: String,
    sides: [f64; 4],
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

fn boxed(node: Node<'_, '_>) -> Place {
    let text = node.text().unwrap_or_default().to_owned();
    let (x, y, size) = (number(node, "x"), number(node, "y"), number(node, "font-size"));
    let width = text_width(&text) * size / 12.0;
    let left = match node.attribute("text-anchor") {
        Some("middle") => x - width / 2.0,
        Some("end") => x - width,
        _ => x,
    };
    Place { text, sides: [left, y - 0.75 * size, left + width, y + 0.2 * size] }
}

fn touch(one: &Place, other: &Place) -> bool {
    let ([left, top, right, bottom], [l, t, r, b]) = (one.sides, other.sides);
    left < r && l < right && top < b && t < bottom
}

fn path_numbers(path: &str) -> Vec<f64> {
    // A dot is a line without a length.
    let path = path.replace("h0", "");
    let words = path.split(|c: char| c.is_ascii_alphabetic() || c == ' ').filter(|word| !word.is_empty());
    words.map(|word| word.parse().unwrap_or(f64::NAN)).collect()
}

/// What is wrong with the layout of an SVG, in words; empty where nothing is.
fn faults_of_layout(svg: &str) -> Vec<String> {
    let xml = match Xml::parse(svg) {
        Ok(xml) => xml,
        Err(error) => return vec![format!("no XML: {error}")],
    };
    let mut faults = Vec::new();
    let root = xml.root_element();
    let view: Vec<f64> =
        root.attribute("viewBox").unwrap_or_default().split(' ').filter_map(|side| side.parse().ok()).collect();
    let [0.0, 0.0, width, height] = view[..] else { return vec!["no view box".to_owned()] };
    let inside = |x: f64, y: f64| (-1.0..=width + 1.0).contains(&x) && (-1.0..=height + 1.0).contains(&y);
    for node in root.descendants().filter(Node::is_element) {
        let is_inside = match node.tag_name().name() {
            "line" => inside(number(node, "x1"), number(node, "y1")) && inside(number(node, "x2"), number(node, "y2")),
            "rect" => {
                let (x, y) = (number(node, "x"), number(node, "y"));
                inside(x, y) && inside(x + number(node, "width"), y + number(node, "height"))
            }
            "circle" => inside(number(node, "cx"), number(node, "cy")),
            "path" => {
                let path = node.attribute("d").unwrap_or_default();
                let numbers = path_numbers(path);
                let arcs = path.contains('A');
                let finite = numbers.iter().all(|number| number.is_finite()) && !numbers.is_empty();
                finite && (arcs || numbers.chunks(2).all(|at| at.len() == 2 && inside(at[0], at[1])))
            }
            _ => true,
        };
        if !is_inside {
            faults.push(format!("outside {width} x {height}: {:?}", node.attributes().collect::<Vec<_>>()));
        }
    }
    let texts: Vec<Place> = root.descendants().filter(|node| node.has_tag_name("text")).map(boxed).collect();
    for (index, text) in texts.iter().enumerate() {
        let [left, top, right, bottom] = text.sides;
        if !(inside(left, top) && inside(right, bottom)) {
            faults.push(format!("'{}' outside {width} x {height}: {:?}", text.text, text.sides));
        }
        let others = texts[..index].iter().filter(|other| touch(text, other));
        faults.extend(
            others.map(|other| format!("'{}' {:?} on '{}' {:?}", text.text, text.sides, other.text, other.sides)),
        );
    }
    faults
}

/// Every value that a document has of a result.
fn values_of(row: &Row) -> Vec<f64> {
    let of_metric = |metric: &Metric| {
        let tools = metric.references.iter().filter_map(|reference| reference.median);
        let peaks = metric.peaks.iter().map(|peak| peak.value);
        let ratios = metric.references.iter().filter_map(|reference| reference.ratio);
        let percentiles = metric.summary.percentiles.iter();
        let percentiles = percentiles.flat_map(|of| [of.p50, of.p90, of.p99, of.p99_9, of.p99_99, of.max]);
        let own = [Some(metric.summary.median), metric.efficiency.map(|efficiency| efficiency.value)];
        own.into_iter().flatten().chain(tools).chain(peaks).chain(ratios).chain(percentiles).collect::<Vec<_>>()
    };
    let idle = row.conditions.net.as_ref().and_then(|net| net.idle_latency_seconds);
    row.metrics.iter().flat_map(of_metric).chain(idle).collect()
}

/// The differences between a chart and its document.
fn faults_of_values(chart: &DrawnChart, document: &Document) -> Vec<String> {
    let mut faults = Vec::new();
    let xml = Xml::parse(&chart.svg).unwrap();
    for node in xml.descendants().filter(|node| node.has_attribute("data-id")) {
        let id = node.attribute("data-id").unwrap_or_default();
        let value = number(node, "data-value");
        if id.is_empty() {
            // Of the whole run.
            continue;
        }
        // A row is found by its id as XML has it: what cannot be written there was replaced.
        let rows = document.experiments.iter().filter(|row| row.id == id);
        let rows: Vec<&Row> = rows.collect();
        if !rows.iter().any(|row| values_of(row).contains(&value)) {
            faults.push(format!("{value} is no value of '{id}'"));
        }
        let class = node.attribute("class").unwrap_or_default();
        let doubtful = rows.iter().any(|row| row.confidence == Some(Confidence::Low));
        let own = rows.iter().any(|row| row.metrics.iter().any(|metric| metric.summary.median == value));
        if class.starts_with("mark") && own && class.contains("hollow") != doubtful {
            faults.push(format!("'{id}' is hollow or not: {class}"));
        }
        if node.attribute("data-text").is_none_or(str::is_empty) {
            faults.push(format!("'{id}' has no tooltip"));
        }
    }
    faults
}

/// The chart without results of its own.
const RUN: &str = "run-interference";

/// Everything that must hold of the charts of a document.
fn check(name: &str, document: &Document) -> Vec<DrawnChart> {
    let all = charts(document);
    let mut names = BTreeSet::new();
    for chart in &all {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(names.insert(chart.name.clone()) && chart.name.chars().all(plain), "{name}: {}", chart.name);
        assert!(!chart.title.is_empty() && !chart.about.is_empty(), "{name}: {}", chart.name);
        let whole = standalone(chart);
        assert!(whole.is_ascii() && !whole.contains("var("), "{name}: {}", chart.name);
        let parsed = Xml::parse(&whole).map(|xml| xml.descendants().filter(|node| node.has_tag_name("text")).count());
        assert!(parsed.is_ok_and(|texts| texts > 1), "{name}: {}", chart.name);
        for svg in [&chart.svg, &chart.narrow] {
            let faults = faults_of_layout(svg);
            assert!(faults.is_empty(), "{name}: {}: {faults:#?}", chart.name);
        }
        let faults = faults_of_values(chart, document);
        assert!(faults.is_empty(), "{name}: {}: {faults:#?}", chart.name);
    }
    all
}

#[test]
fn charts_of_every_fixture_are_well_formed_and_true() {
    for (name, document) in documents() {
        check(name, &document);
    }
}

#[test]
fn every_kind_of_chart_is_made_of_some_fixture() {
    let made: BTreeSet<String> =
        documents().iter().flat_map(|(_, document)| charts(document)).map(|chart| chart.name).collect();
    let listed = include_str!("../../../docs/reference/charts.md");
    for name in &made {
        assert!(listed.contains(&format!("`{name}`")), "docs/reference/charts.md does not list {name}");
    }
    let said: BTreeSet<&str> = listed.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let absent: Vec<&str> = said.into_iter().filter(|name| !name.contains('.') && !made.contains(*name)).collect();
    assert!(absent.is_empty(), "docs/reference/charts.md lists {absent:?}, which no fixture has");
}

fn chart(document: &Document, name: &str) -> DrawnChart {
    charts(document).into_iter().find(|chart| chart.name == name).unwrap()
}

#[test]
fn planted_faults_are_found() {
    let document = fixture::many_threads();
    let good = chart(&document, "cpu-throughput-over-threads");
    assert!(faults_of_layout(&good.svg).is_empty());
    let first = good.svg.find("<text").unwrap();
    let end = good.svg[first..].find("</text>").unwrap() + first + "</text>".len();
    let twice = good.svg.replacen("</svg>", &format!("{}</svg>", &good.svg[first..end]), 1);
    assert!(faults_of_layout(&twice).iter().any(|fault| fault.contains(" on ")), "a text on a text");
    let outside = good.svg.replacen("<path class=\"grid\" d=\"M", "<path class=\"grid\" d=\"M9", 1);
    assert!(faults_of_layout(&outside).iter().any(|fault| fault.contains("outside")), "a line outside");
    assert!(!faults_of_layout(&good.svg.replacen("<text", "<tex", 1)).is_empty(), "no XML");
    assert!(!faults_of_layout(&good.svg.replacen("cy=\"", "cy=\"NaN", 1)).is_empty(), "no number");
    let mut wrong = good.clone();
    wrong.svg = wrong.svg.replacen("data-value=\"", "data-value=\"1", 1);
    assert!(!faults_of_values(&wrong, &document).is_empty(), "a wrong value");
    let mut doubtful = document.clone();
    doubtful.experiments[0].confidence = Some(Confidence::Low);
    assert!(!faults_of_values(&good, &doubtful).is_empty(), "a hollow mark that is full");
}

#[test]
fn a_sample_far_away_leaves_room_for_the_others() {
    let quiet = sampled(fixture::good());
    let mut document = quiet.clone();
    for metric in document.experiments.iter_mut().filter_map(|row| row.metrics.first_mut()) {
        metric.samples[0].value *= 1000.0;
    }
    let far = chart(&document, "run-samples");
    assert!(far.about.contains("at the end of the axis"), "{}", far.about);
    assert!(far.svg.contains(">+100 %</text>") && !far.svg.contains("000 %</text>"), "{}", far.svg);
    assert!(!chart(&quiet, "run-samples").about.contains("end of the axis"));
}

#[test]
fn hostile_names_are_only_text() {
    let hostile = format!("<script>alert(\"1\")</script>&'\u{202e}\u{0}\n磁盘{}", "x".repeat(500));
    let mut document = fixture::all_areas();
    for row in &mut document.experiments {
        match &mut row.params {
            Params::Disk(params) => params.path.clone_from(&hostile),
            Params::Net(params) => params.path.clone_from(&hostile),
            Params::Memory(params) => params.nodes = Some(hostile.clone()),
            _ => {}
        }
        for reference in row.metrics.iter_mut().flat_map(|metric| &mut metric.references) {
            reference.tool.clone_from(&hostile);
        }
    }
    for chart in check("hostile", &document) {
        assert!(!chart.svg.contains("<script") && chart.svg.is_ascii(), "{}", chart.name);
    }
}

/// Factors of a value: none, another size, 0, not finite.
fn factors() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => Just(1.0),
        3 => (-12.0_f64..9.0).prop_map(|power| 10_f64.powf(power)),
        1 => Just(0.0),
        1 => prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(1e300), Just(-1.0)],
    ]
}

#[test]
fn whatever_a_document_holds_its_charts_are_well_formed_and_true() {
    let pool: Vec<Document> = documents().into_iter().map(|(_, document)| document).collect();
    let count = pool.len();
    let strategy =
        (0..count, prop::collection::vec((0_usize..400, factors(), 0_u8..8), 0..40), prop::option::of(1_usize..9));
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[11; 32]);
    let config = Config { cases: 64, failure_persistence: None, max_shrink_iters: 40, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, rng);
    let run = |(which, changes, kept): (usize, Vec<(usize, f64, u8)>, Option<usize>)| {
        let mut document = pool[which].clone();
        if let Some(kept) = kept {
            document.experiments.truncate(kept);
        }
        let rows = document.experiments.len();
        for (index, factor, what) in changes.into_iter().filter(|_| rows > 0) {
            let row = &mut document.experiments[index % rows];
            for metric in &mut row.metrics {
                scale(metric, factor);
            }
            match what {
                0 => row.metrics.clear(),
                1 => row.confidence = Some(Confidence::Low),
                2 => row.metrics.iter_mut().for_each(|metric| metric.summary.ci95 = None),
                3 => row.metrics.iter_mut().for_each(|metric| metric.samples.clear()),
                _ => {}
            }
        }
        check("random", &document);
        Ok(())
    };
    if let Err(failure) = runner.run(&strategy, run) {
        panic!("{failure}");
    }
}

#[test]
fn a_thousand_rows_are_drawn_as_few() {
    let mut document = fixture::classic_memory();
    let rows = document.experiments.clone();
    let mut copy = 0_u32;
    while document.experiments.len() < 1000 {
        copy += 1;
        document.experiments.extend(rows.iter().cloned().map(|mut row| {
            row.id = format!("{}/copy{copy}", row.id);
            if let Params::Memory(params) = &mut row.params {
                params.group = Some(u64::from(copy) << 10);
            }
            row
        }));
    }
    let all = check("thousand", &document);
    assert!(all.iter().map(|chart| chart.svg.len()).sum::<usize>() < 1_500_000);
}

#[test]
fn charts_look_as_they_did() {
    let shown = vec![
        (fixture::good(), "cpu-throughput-over-threads"),
        (fixture::good(), "cpu-plain-and-vector"),
        (fixture::good(), "roofline"),
        (fixture::memory_area(), "memory-latency-curve"),
        (fixture::memory_area(), "memory-loaded-latency"),
        (fixture::memory_nodes(), "memory-node-bandwidth"),
        (sampled(fixture::good()), "run-samples"),
        (both_paths(), "net-paths-throughput"),
        (fixture::net_area(), "net-latency-percentiles"),
        (linpack(), "linpack-over-size"),
        (sampled(fixture::good()), RUN),
    ];
    for (document, name) in shown {
        snapshot(&format!("chart_{name}"), &chart(&document, name).svg);
    }
    for (name, document) in documents() {
        snapshot(&format!("charts_{name}"), &charts(&document).iter().map(summary).collect::<Vec<_>>().join("\n"));
    }
}

/// A chart in a few lines: its title, its texts in order, how much it shows.
fn summary(chart: &DrawnChart) -> String {
    let xml = Xml::parse(&chart.svg).unwrap();
    let texts: Vec<&str> =
        xml.descendants().filter(|node| node.has_tag_name("text")).filter_map(|node| node.text()).collect();
    let marks = xml.descendants().filter(|node| node.has_attribute("data-id")).count();
    let [width, height] = chart.size;
    let DrawnChart { name, title, observation, .. } = chart;
    format!("{name} · {title} · {width} x {height} · {marks} marks\n  {observation}\n  {}\n", texts.join(" | "))
}
