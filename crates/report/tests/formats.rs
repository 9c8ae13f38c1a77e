//! Tables as values, and the forms that are made of them or that other programs read: what they hold, that they read back,
//! and that text from elsewhere stays text in each of them.

mod fixture;
mod readers;

use std::collections::BTreeSet;

use fixture::snapshot;
use model::document::{Document, Status};
use proptest::prelude::*;
use readers::{Series, benchmarks, check_latex, check_markdown, records, series};
use report::grid::{ABSENT, Grid, grid, grids};
use report::{RENDERERS, benchfmt, csv, junit, latex, markdown, prometheus};

/// A run of the classic suite with the rows of every area.
fn classic() -> Document {
    let mut document = fixture::classic_in_full();
    let others = [fixture::classic_memory(), fixture::classic_disk(), fixture::classic_net()];
    document.experiments.extend(others.into_iter().flat_map(|other| other.experiments));
    document
}

fn every() -> Vec<Document> {
    let mut single = fixture::good();
    single.experiments.retain(|row| row.params.threads() == 1);
    let mut extreme = fixture::good();
    for (index, row) in extreme.experiments.iter_mut().enumerate() {
        let factor = [1e-300, 1e300, 1e18, 1e-18, 0.0, -1.0][index % 6];
        scale(row, factor);
    }
    let mut unmeasured = fixture::good();
    for row in &mut unmeasured.experiments {
        (row.status, row.metrics, row.confidence) = (Status::Skipped, Vec::new(), None);
    }
    vec![
        fixture::good(),
        fixture::troubled(),
        fixture::interrupted(),
        fixture::empty(),
        fixture::later_version(),
        fixture::references(),
        fixture::io_unavailable(),
        fixture::disk_varied(),
        fixture::memory_nodes(),
        fixture::net_peer(),
        fixture::hostile(),
        classic(),
        single,
        extreme,
        unmeasured,
    ]
}

fn scale(row: &mut model::document::Row, factor: f64) {
    for metric in &mut row.metrics {
        let summary = &mut metric.summary;
        summary.median *= factor;
        summary.ci95 = summary.ci95.map(|ends| ends.map(|end| end * factor));
        metric.samples.iter_mut().for_each(|sample| sample.value *= factor);
        metric.peaks.iter_mut().for_each(|peak| peak.value *= factor);
    }
}

fn check(document: &Document) -> Result<(), String> {
    check_grids(&grids(document))?;
    records(&csv::render(document))?;
    check_samples(document)?;
    check_markdown(&markdown::render(document))?;
    check_latex(&latex::render(document))?;
    check_prometheus(document)?;
    check_junit(document)?;
    check_benchmarks(document)
}

fn check_grids(grids: &[Grid]) -> Result<(), String> {
    let names: BTreeSet<&str> = grids.iter().map(|grid| grid.name.as_str()).collect();
    if names.len() != grids.len() {
        return Err(format!("two tables of one name: {names:?}"));
    }
    for grid in grids {
        let wrong = |what: &str| Err(format!("{}: {what}", grid.name));
        if !grid.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            return wrong("no name for a file");
        }
        if grid.lines.is_empty() || grid.lines.iter().any(|line| line.cells.len() != grid.columns.len()) {
            return wrong("no lines, or one with other columns");
        }
        let cells = || grid.lines.iter().flat_map(|line| &line.cells);
        if cells().any(|cell| cell.text.is_empty() || cell.value.is_some_and(|value| !value.is_finite())) {
            return wrong("a cell without a text, or with a value that is not finite");
        }
        let headings: BTreeSet<&str> = grid.columns.iter().map(|column| column.heading.as_str()).collect();
        if headings.len() != grid.columns.len() {
            return wrong("two columns of one heading");
        }
        if records(&csv::table(grid))?.len() != grid.lines.len() + 1 {
            return wrong("CSV with other lines");
        }
    }
    Ok(())
}

fn check_samples(document: &Document) -> Result<(), String> {
    let read = records(&csv::samples(document))?;
    let value = read[0].iter().position(|name| name == "value").ok_or("no column of values")?;
    let metrics = document.experiments.iter().flat_map(|row| &row.metrics);
    let values = metrics.flat_map(|metric| {
        let theirs = metric.references.iter().flat_map(|one| &one.samples).map(|sample| sample.value);
        metric.samples.iter().map(|sample| sample.value).chain(theirs).collect::<Vec<_>>()
    });
    let values: Vec<u64> = values.map(f64::to_bits).collect();
    let bits = |record: &Vec<String>| record[value].parse::<f64>().map(f64::to_bits);
    let read: Result<Vec<u64>, _> = read[1..].iter().map(bits).collect();
    if Ok(values) == read { Ok(()) } else { Err("the samples are others".into()) }
}

fn check_prometheus(document: &Document) -> Result<(), String> {
    let read = series(&prometheus::render(document))?;
    let of = |name: &str| read.iter().filter(|one| one.name == name).cloned().collect::<Vec<Series>>();
    let rows: f64 = of("assay_rows").iter().map(|one| one.value).sum();
    #[expect(clippy::float_cmp, reason = "counts")]
    let all_there = rows == document.experiments.len() as f64;
    if !all_there || of("assay_run_info").len() != 1 {
        return Err(format!("{rows} rows, {:?}", of("assay_run_info")));
    }
    Ok(())
}

fn check_junit(document: &Document) -> Result<(), String> {
    let text = junit::render(document);
    let read = roxmltree::Document::parse(&text).map_err(|error| format!("{error}: {text}"))?;
    let cases: Vec<_> = read.descendants().filter(|node| node.has_tag_name("testcase")).collect();
    let count = |tag: &str| read.descendants().filter(|node| node.has_tag_name(tag)).count();
    let of = |status: Status| document.experiments.iter().filter(|row| row.status == status).count();
    let found = (cases.len(), count("failure"), count("skipped"));
    if found != (document.experiments.len(), of(Status::Failed), of(Status::Skipped)) {
        return Err(format!("{found:?} cases, failures and skipped"));
    }
    let root = read.root_element();
    if root.attribute("tests") != Some(cases.len().to_string().as_str()) {
        return Err(format!("{:?} tests are counted", root.attribute("tests")));
    }
    Ok(())
}

/// Each row has as many lines as its longest metric has samples, and each finite sample is there.
fn check_benchmarks(document: &Document) -> Result<(), String> {
    let read = benchmarks(&benchfmt::render(document))?;
    let rows = document.experiments.iter().filter(|row| row.status == Status::Ok);
    let metrics = || rows.clone().flat_map(|row| &row.metrics);
    let finite = |values: &[model::sample::Sample]| values.iter().filter(|sample| sample.value.is_finite()).count();
    let samples: usize = metrics().map(|metric| finite(&metric.samples)).sum();
    let values: usize = read.iter().map(|line| line.values.len()).sum();
    // A time of more than 10^299 s has no nanoseconds.
    let huge = metrics().any(|metric| metric.samples.iter().any(|sample| sample.value.abs() > 1e299));
    if values == samples || (huge && values < samples) {
        Ok(())
    } else {
        Err(format!("{values} values of {samples} samples"))
    }
}

#[test]
fn every_form_of_every_document_reads_back() {
    for document in every() {
        check(&document).unwrap_or_else(|error| panic!("{}: {error}", document.run.id));
    }
}

#[test]
fn a_row_is_in_exactly_one_of_measured_and_not_measured() {
    for document in every() {
        let of_rows = |grid: &&Grid| grid.name.ends_with("measured");
        let all = grids(&document);
        let mut found: Vec<&str> =
            all.iter().filter(of_rows).flat_map(|grid| &grid.lines).filter_map(|line| line.id.as_deref()).collect();
        let mut planned: Vec<&str> = document.experiments.iter().map(|row| row.id.as_str()).collect();
        found.sort_unstable();
        planned.sort_unstable();
        assert_eq!(found, planned, "{}", document.run.id);
    }
}

#[test]
fn rows_that_other_programs_have_too_are_called_as_they_call_them() {
    let document = fixture::disk_area();
    let grid = grid(&document, "disk-measured").unwrap();
    let column = grid.column("Known as").unwrap();
    let mut named: Vec<(&str, &str)> = grid
        .lines
        .iter()
        .filter(|line| !line.cells[column].is_absent())
        .map(|line| (line.cells[column].text.as_str(), line.id.as_deref().unwrap()))
        .collect();
    named.sort_unstable();
    let all = [
        ("RND4K Q1T1", "random", "4KiB/d1/t1"),
        ("RND4K Q32T1", "random", "4KiB/d32/t1"),
        ("RND4K Q32T16", "random", "4KiB/d32/t16"),
        ("SEQ128K Q32T1", "sequential", "128KiB/d32/t1"),
        ("SEQ1M Q1T1", "sequential", "1MiB/d1/t1"),
        ("SEQ1M Q8T1", "sequential", "1MiB/d8/t1"),
    ];
    // Neither what goes through the page cache, nor under a load, nor what waits for the medium, nor both in turn.
    let ids = all.map(|(name, order, rest)| ["read", "write"].map(|op| (name, format!("disk/{order}-{op}/{rest}"))));
    assert!(named.iter().copied().eq(ids.as_flattened().iter().map(|(name, id)| (*name, id.as_str()))), "{named:?}");
    let lines = records(&csv::render(&document)).unwrap();
    let place = lines[0].iter().position(|heading| heading == "known_as").unwrap();
    let in_csv: BTreeSet<(&str, &str)> = lines[1..]
        .iter()
        .filter(|line| !line[place].is_empty())
        .map(|line| (line[place].as_str(), line[0].as_str()))
        .collect();
    assert_eq!(in_csv, named.into_iter().collect());
}

#[test]
fn no_two_rows_of_the_disk_have_the_same_words_in_a_sentence() {
    let mut document = fixture::disk_area();
    // A warning of its own for each row names that row.
    for (row, rule) in document.experiments.iter_mut().zip(model::warning::WARNINGS) {
        row.warnings = vec![model::warning::Warning::new(rule.code, 1.0, "It was seen.")];
    }
    let grid = grid(&document, "warnings").unwrap();
    let column = grid.column("Worst on").unwrap();
    let words: BTreeSet<&str> = grid.lines.iter().map(|line| line.cells[column].text.as_str()).collect();
    assert_eq!(words.len(), document.experiments.len(), "{words:#?}");
    for shown in [
        "disk read random 4 KiB, depth 1",
        "disk read random 4 KiB, through a warm page cache, depth 1",
        "disk read random 4 KiB, at 25 % load, depth 32",
        "disk write random 4 KiB, to the medium (dsync), depth 1",
    ] {
        assert!(words.contains(shown), "{shown}: {words:#?}");
    }
}

#[test]
fn cpu_time_of_a_request_is_in_the_table_and_the_loop_without_a_device_below() {
    let document = fixture::disk_area();
    let grid = grid(&document, "disk-measured").unwrap();
    let column = grid.column("CPU per request").unwrap();
    let row = |id: &str| document.experiments.iter().find(|row| row.id == id).unwrap();
    for line in &grid.lines {
        let seen = row(line.id.as_deref().unwrap()).conditions.disk.as_ref().unwrap();
        assert_eq!(line.cells[column].value, seen.cpu_seconds_per_request, "{line:?}");
    }
    assert!(grid.lines.iter().any(|line| line.cells[column].is_absent()), "a load has none");
    let note = grid.notes.iter().find(|note| note.contains("no-op requests")).unwrap();
    // The range of the loop's rates, and the row that comes nearest to it: that from memory.
    let nearest = row("disk/random-read/4KiB/d1/warm/t1").metric(model::sample::MetricName::Iops).unwrap();
    let share = format!("{:.1} %", nearest.summary.median / 2.2e6 * 100.0);
    for shown in ["2.200 MIOPS to 7.500 MIOPS", &share, "through a warm page cache, depth 1"] {
        assert!(note.contains(shown), "{shown}: {note}");
    }
}

#[test]
fn loads_of_a_disk_have_a_table_with_their_percentiles() {
    let document = fixture::disk_area();
    let table = grid(&document, "disk-loads").unwrap();
    let ids: Vec<&str> = table.lines.iter().filter_map(|line| line.id.as_deref()).collect();
    let expected = [25, 50, 75, 90].map(|load| format!("disk/random-read/4KiB/d32/load{load}/t1"));
    assert_eq!(ids, expected);
    for (line, load) in table.lines.iter().zip([0.25, 0.5, 0.75, 0.9]) {
        let row = document.experiments.iter().find(|row| Some(&row.id) == line.id.as_ref()).unwrap();
        let cell = |heading: &str| line.cells[table.column(heading).unwrap()].value;
        let found = row.metric(model::sample::MetricName::Latency).unwrap().summary.percentiles.unwrap();
        assert_eq!([cell("p50"), cell("p99"), cell("p99.9")], [found.p50, found.p99, found.p99_9].map(Some));
        assert_eq!(cell("Load"), Some(load));
        assert_eq!(cell("Began late"), row.conditions.disk.as_ref().unwrap().late_share);
    }
    assert_eq!(grid(&fixture::good(), "disk-loads"), None);
}

#[test]
fn values_of_a_table_are_those_of_the_document() {
    let document = fixture::good();
    let table = grid(&document, "cpu-measured").unwrap();
    let [measured, share] = ["Measured", "Of peak"].map(|heading| table.column(heading).unwrap());
    for line in &table.lines {
        let row = document.experiments.iter().find(|row| Some(&row.id) == line.id.as_ref()).unwrap();
        assert_eq!(line.cells[measured].value, Some(row.metrics[0].summary.median));
        assert_eq!(line.cells[share].value, row.metrics[0].efficiency.map(|share| share.value));
        assert_eq!(line.confidence, row.confidence);
    }
    assert!(grid(&document, "classic-cpu").is_none(), "only a classic run has classic tables");
}

/// The columns of the classic tables as the suite demands them, without their units: those before the efficiencies, and the
/// tool.
#[rustfmt::skip]
const CLASSIC: &[(&str, &str, &str)] = &[
    ("cpu", "Workload, Concurrency, Measured, HPL measured, Theoretical", "HPL"),
    ("memory-throughput", "Workload, Concurrency, Block size, Measured throughput, pmbw/STREAM measured, Theoretical", "pmbw/STREAM"),
    ("memory-latency", "Workload, Concurrency, Block size, Measured latency, pmbw/STREAM measured, Theoretical", "pmbw/STREAM"),
    ("disk-throughput", "Workload, Concurrency, Block size, Measured throughput, IOzone, Theoretical", "IOzone"),
    ("disk-latency", "Workload, Concurrency, Block size, Measured, IOzone, Theoretical", "IOzone"),
    ("disk-iops", "Workload, Concurrency, Block size, Measured, IOzone, Theoretical", "IOzone"),
    ("net-throughput", "Protocol, Concurrency, Block size, Measured, iperf measured, Theoretical", "iperf"),
    ("net-latency", "Protocol, Concurrency, Message size, Measured latency, ping measured, Theoretical latency", "ping"),
];

/// Further columns: what is needed to read a line, and the interval with the deviation.
const EXTRA: &str = "Vector theoretical, Assay LINPACK measured, Assay LINPACK efficiency, Reference, Page cache, Files, fio, \
                     fio efficiency, Lost, Time of both, 95 % interval, Confidence";

#[test]
fn classic_tables_have_the_columns_of_the_suite_in_its_order() {
    let document = classic();
    for (name, columns, tool) in CLASSIC {
        let table = grid(&document, &format!("classic-{name}")).unwrap_or_else(|| panic!("no table {name}"));
        let headings: Vec<&str> = table.columns.iter().map(|column| column.heading.as_str()).collect();
        let is_extra = |heading: &str| EXTRA.split(", ").any(|extra| extra == heading);
        let of_suite: Vec<&str> = headings.iter().copied().filter(|heading| !is_extra(heading)).collect();
        let columns = format!("{columns}, Efficiency, {tool} efficiency, Standard deviation");
        // What has no value in any line is explained in a note.
        let (has, lacks): (Vec<&str>, Vec<&str>) = columns.split(", ").partition(|column| headings.contains(column));
        assert_eq!(of_suite, has, "{name}");
        let says_why =
            |note: &String| ["Not run:", "unknown", "No reference tool"].iter().any(|why| note.contains(why));
        assert!(lacks.is_empty() || table.notes.iter().any(says_why), "{name}: {lacks:?}");
        let place = |heading| headings.iter().position(|other| *other == heading);
        assert_eq!(place("95 % interval"), place("Standard deviation").map(|place| place + 1), "{name}");
        let is_best = |note: &String| ["ighest", "hortest", "astest"].iter().any(|word| note.contains(word));
        assert!(table.notes.iter().any(is_best));
    }
    let linpack = grids(&document).into_iter().filter(|grid| grid.name.starts_with("classic-linpack-"));
    for table in linpack {
        let headings: Vec<&str> = table.columns.iter().map(|column| column.heading.as_str()).collect();
        if table.name.contains("-trials-") {
            let columns =
                ["Size", "LDA", "Align", "Time", "GFlops", "Residual", "Residual(norm)", "Check", "Confidence"];
            assert_eq!(headings, columns, "{}", table.name);
        } else {
            assert_eq!(
                headings[..6],
                ["Size", "Concurrency", "LDA", "Measured", "Average", "Maximal"],
                "{}",
                table.name
            );
        }
    }
}

#[test]
fn no_classic_row_is_left_out_of_the_classic_tables() {
    let document = classic();
    let all = grids(&document);
    let tables = all.iter().filter(|grid| grid.name.starts_with("classic-"));
    let shown: BTreeSet<&str> = tables.flat_map(|grid| &grid.lines).filter_map(|line| line.id.as_deref()).collect();
    for row in document.experiments.iter().filter(|row| row.classic.is_some() && row.status == Status::Ok) {
        let table = row.classic.as_ref().map(|classic| classic.table.as_str());
        // Of several kernels of a type the fastest stands for all.
        assert!(table == Some("cpu") || shown.contains(row.id.as_str()), "{}", row.id);
    }
}

#[test]
fn what_a_spreadsheet_reads_of_a_table_is_what_is_shown_or_the_base_unit() {
    let document = classic();
    let table = grid(&document, "classic-memory-latency").unwrap();
    let read = records(&csv::table(&table)).unwrap();
    let column = read[0].iter().position(|heading| heading == "Measured latency [s]").unwrap();
    for (line, record) in table.lines.iter().zip(&read[1..]) {
        match line.cells[column].value {
            Some(value) => assert_eq!(record[column].parse(), Ok(value)),
            None => assert!(record[column].is_empty() || record[column] == line.cells[column].text),
        }
        assert!(!record.iter().any(|field| field == ABSENT));
    }
    let rates = records(&csv::table(&grid(&document, "classic-memory-throughput").unwrap())).unwrap();
    assert!(rates[0].iter().any(|heading| heading == "Measured throughput GB/s"), "{:?}", rates[0]);
}

#[test]
fn text_from_elsewhere_stays_text_in_every_form() {
    let document = fixture::hostile();
    let of = |name: &str| (report::renderer(name).unwrap().render)(&document).unwrap();
    // Formulas begin no field; values keep their sign.
    for record in records(&of("csv")).unwrap().iter().chain(&records(&of("csv-samples")).unwrap()) {
        for field in record {
            let is_formula = field.starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err();
            assert!(!is_formula, "{field:?}");
        }
    }
    for name in ["markdown", "junit"] {
        assert!(!of(name).contains("<script>"), "{name}");
    }
    for name in ["markdown", "latex", "prometheus", "junit", "benchfmt"] {
        let text = of(name);
        let stray = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(stray, None, "{name}");
    }
    let read = series(&of("prometheus")).unwrap();
    assert!(!read.iter().any(|one| one.labels.iter().any(|(name, _)| name == "evil")), "a label came out of a text");
    let lines = benchmarks(&of("benchfmt")).unwrap();
    assert!(lines.iter().all(|line| line.name != "X"), "a result came out of a text");
}

#[test]
fn hidden_characters_are_visible_in_every_format() {
    let hidden = |c: char| {
        let is_format = "\u{61c}\u{feff}".contains(c)
            || ['\u{200b}'..='\u{200f}', '\u{202a}'..='\u{202e}'].iter().any(|range| range.contains(&c));
        (c.is_control() && !matches!(c, '\n' | '\t')) || is_format || ('\u{2060}'..='\u{2069}').contains(&c)
    };
    let all: Vec<char> = ('\0'..='\u{feff}').filter(|c| hidden(*c)).collect();
    assert_eq!(all.len(), 29 + 1 + 32 + 1 + 5 + 5 + 10 + 1 + 1);
    let mut next = all.iter().cycle();
    let mut text = || format!("a{}b{}c", next.next().unwrap(), next.next().unwrap());
    let whole: String = all.iter().collect();
    let [each, together] = [
        fixture::with_text(fixture::hostile(), &mut text),
        fixture::with_text(fixture::hostile(), &mut || whole.clone()),
    ];
    for (renderer, document) in RENDERERS.iter().flat_map(|one| [(one, &each), (one, &together)]) {
        if renderer.name == "json" {
            continue;
        }
        let text = (renderer.render)(document).unwrap();
        assert_eq!(text.chars().find(|c| hidden(*c)), None, "{}", renderer.name);
        let replaced = match renderer.name {
            "text" => "?",
            "latex" => "FFFD",
            _ => "\u{fffd}",
        };
        assert!(text.contains(replaced), "{}", renderer.name);
    }
}

#[test]
fn forms_as_they_are() {
    let (troubled, hostile) = (fixture::troubled(), fixture::hostile());
    for renderer in RENDERERS.iter().filter(|one| !["html", "text", "json", "csv"].contains(&one.name)) {
        let text = |document: &Document| (renderer.render)(document).unwrap();
        let name = renderer.name.replace('-', "_");
        snapshot(&format!("{name}_troubled"), &text(&troubled));
        let mut few = hostile.clone();
        few.experiments.truncate(4);
        snapshot(&format!("{name}_hostile"), &text(&few));
    }
    snapshot("markdown_references", &markdown::render(&fixture::references()));
    let mut net = fixture::net_area();
    net.experiments.truncate(3);
    snapshot("prometheus_net", &prometheus::render(&net));
    snapshot("benchfmt_net", &benchfmt::render(&net));
}

#[test]
fn two_runs_in_one_textfile_folder_have_no_equal_series() {
    let first = fixture::net_area();
    let mut second = first.clone();
    second.run.id = "another-run".into();
    let of = |document: &Document| -> BTreeSet<String> {
        let text = prometheus::render(document);
        let series = text.lines().filter(|line| !line.starts_with('#'));
        series.filter_map(|line| line.rsplit_once(' ')).map(|(series, _)| series.to_owned()).collect()
    };
    let (first, second) = (of(&first), of(&second));
    assert!(!first.is_empty() && first.len() == second.len() && first.is_disjoint(&second));
}

#[test]
fn classic_tables_as_they_are() {
    let document = classic();
    let tables: Vec<Grid> = grids(&document).into_iter().filter(|grid| grid.name.starts_with("classic-")).collect();
    let text: Vec<String> = tables.iter().map(|grid| format!("{}\n\n{}", grid.name, csv::table(grid))).collect();
    snapshot("classic_tables_csv", &text.join("\n"));
    let text: Vec<String> = tables
        .into_iter()
        .map(|mut grid| {
            grid.lines.truncate(3);
            markdown::table(&grid)
        })
        .collect();
    snapshot("classic_tables_markdown", &text.join("\n"));
}

/// A value of any size, now and then none at all.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![4 => proptest::num::f64::NORMAL, 1 => proptest::num::f64::ANY, 2 => 1e-9..1e15]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_is_written_reads_back(texts in prop::collection::vec(".{0,40}|[\\x00-\\x7f]{0,40}", 1..20), values in prop::collection::vec(value(), 1..20), which in 0_usize..5) {
        let base = [fixture::troubled, fixture::references, fixture::disk_varied, fixture::net_area, classic][which]();
        let mut next = texts.into_iter().cycle();
        let mut document = fixture::with_text(base, &mut || next.next().unwrap_or_default());
        let mut value = values.into_iter().cycle();
        let mut value = || value.next().unwrap_or_default();
        for row in &mut document.experiments {
            row.seconds = value();
            for metric in &mut row.metrics {
                (metric.summary.median, metric.summary.ci95) = (value(), Some([value(), value()]));
                for sample in &mut metric.samples {
                    sample.value = value();
                }
            }
        }
        // A value that is none has no digits that read back as the same bits.
        let has_nan = document.experiments.iter().flat_map(|row| &row.metrics).any(|metric| {
            metric.samples.iter().any(|sample| sample.value.is_nan())
        });
        prop_assume!(!has_nan);
        if let Err(error) = check(&document) {
            prop_assert!(false, "{}", error);
        }
    }
}
