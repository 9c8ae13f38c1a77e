//! The terminal's tables, for every situation at every kind of terminal.

mod fixture;

use fixture::{documents, snapshot};
use model::document::{Document, Row, Scaling, Status, Stop};
use model::experiment::Params;
use model::io::DiskEngine;
use model::warning::{Confidence, Warning, WarningCode};
use report::Style;
use report::terminal::{HeadlineLines, provisional_line, render, row_line};

const fn style(width: usize, unicode: bool, color: bool) -> Style {
    Style { width, unicode, color }
}

const RICH: Style = style(120, true, false);

#[test]
fn every_document_on_a_wide_terminal_and_on_a_narrow_one_without_unicode() {
    for (name, document) in documents() {
        snapshot(&format!("terminal_{name}_120_unicode"), &render(&document, &RICH));
        snapshot(&format!("terminal_{name}_80_ascii"), &render(&document, &Style::PLAIN));
    }
}

#[test]
fn the_other_ways_of_setting_it() {
    snapshot("terminal_good_80_unicode", &render(&fixture::good(), &style(80, true, false)));
    snapshot("terminal_good_120_ascii", &render(&fixture::good(), &style(120, false, false)));
    snapshot("terminal_troubled_100_unicode", &render(&fixture::troubled(), &style(100, true, false)));
    snapshot("terminal_references_160_unicode", &render(&fixture::references(), &style(160, true, false)));
    snapshot("terminal_every_kernel_150_unicode", &render(&fixture::every_kernel(), &style(150, true, false)));
    snapshot("terminal_classic_100_ascii", &render(&fixture::classic(), &style(100, false, false)));
    let colored = render(&fixture::troubled(), &style(120, true, true));
    snapshot("terminal_troubled_120_color", &colored.replace('\x1b', "␛"));
}

fn uncolored(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn no_line_is_too_wide_plain_output_is_ascii_and_nothing_is_said_by_colour_alone() {
    for (name, document) in documents() {
        for (width, unicode) in [80, 100, 120, 160].into_iter().flat_map(|width| [(width, false), (width, true)]) {
            let text = render(&document, &style(width, unicode, false));
            assert!(unicode || text.is_ascii(), "{name}: {}", text.replace(|c: char| c.is_ascii(), ""));
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{name} at {width}: {line}");
                assert_eq!(line.trim_end(), line, "{name}: blanks at the end of a line");
            }
            if (width, unicode) == (120, true) {
                assert_eq!(uncolored(&render(&document, &style(width, unicode, true))), text, "{name}");
            }
        }
    }
}

#[test]
fn rows_as_single_lines() {
    let mut lines = Vec::new();
    let documents = [
        fixture::good(),
        fixture::troubled(),
        fixture::later_version(),
        fixture::all_areas(),
        fixture::io_unavailable(),
        fixture::disk_varied(),
        fixture::short(),
    ];
    for document in documents {
        for style in [RICH, Style::PLAIN] {
            lines.extend(document.experiments.iter().map(|row| row_line(row, &style)));
            assert!(lines.iter().all(|line| line.chars().count() <= style.width.max(120)));
        }
    }
    let mut row = fixture::good().experiments.remove(0);
    lines.push(provisional_line(&row, 12, &RICH));
    row.metrics[0].summary.n = 3;
    row.metrics[0].summary.ci95 = None;
    lines.push(provisional_line(&row, 9, &RICH));
    row.metrics.clear();
    lines.push(provisional_line(&row, 9, &Style::PLAIN));
    snapshot("row_lines", &lines.join("\n"));
}

#[test]
fn headline_results_have_a_line_each_and_others_none() {
    let mut document = fixture::all_areas();
    let lines = HeadlineLines::new(&document.experiments, &document.machine);
    (document.experiments[0].status, document.experiments[0].reason) = (Status::Skipped, Some("time_budget".into()));
    let shown: Vec<String> = document.experiments.iter().flat_map(|row| lines.of(row, &RICH)).collect();
    assert!(!shown.is_empty() && shown.len() < document.experiments.len());
    snapshot("headline_lines", &shown.join("\n"));
}

#[test]
fn sampling_is_summarized() {
    let mut document = fixture::good();
    document.run.sessions = 3;
    document.conditions.waited_seconds = Some(12.3);
    for (index, row) in document.experiments.iter_mut().enumerate() {
        row.conditions.stop = Some(if index == 0 { Stop::Most } else { Stop::Narrow });
        row.conditions.launches = Some(9);
    }
    let first = &mut document.experiments[0].conditions;
    (first.disturbed_launches, first.repeated_launches) = (Some(2), Some(1));
    let (text, rows) = (render(&document, &RICH), document.experiments.len());
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for row in &mut document.experiments {
        (row.conditions.disturbed_launches, row.conditions.repeated_launches) = (Some(9), Some(0));
    }
    let all = format!("Other processes or VMs disturbed all {} process runs; none was repeated.", 9 * rows);
    assert!(render(&document, &RICH).split_whitespace().collect::<Vec<_>>().join(" ").contains(&all));
    for expected in [
        "9 samples per benchmark in 3 sessions".to_owned(),
        format!("{} benchmarks reached the target interval, 1 benchmark stopped at the sample limit", rows - 1),
        format!("Other processes or VMs disturbed 2 of {} process runs; 1 was repeated.", 9 * rows),
        "Waited 12 s for a quiet machine.".to_owned(),
    ] {
        assert!(words.contains(&expected), "{expected}: {text}");
    }
}

#[test]
fn rows_of_classic_tables_are_shown_where_there_is_no_such_table() {
    let mut document = fixture::classic_memory();
    let in_table = render(&document, &RICH);
    assert!(in_table.contains("The classic memory table") && !in_table.contains("blocks of 8 KiB"));
    document.run.suite = "mine".into();
    let text = render(&document, &RICH);
    assert!(!text.contains("The classic memory table") && text.contains("blocks of 8 KiB"), "{text}");
}

#[test]
fn cached_rows_are_apart_only_where_uncached_ones_exist() {
    let title = "what the page cache adds";
    let mut document = fixture::disk_area();
    assert!(render(&document, &RICH).contains(title));
    let of_cache = |row: &Row| ["/cold/", "/warm/"].iter().any(|cache| row.id.contains(cache));
    document.experiments.retain(of_cache);
    let alone = render(&document, &RICH);
    assert!(!alone.contains(title) && alone.contains("through a cold page cache"), "{alone}");
}

#[test]
fn a_load_has_a_table_of_its_own_with_its_percentiles() {
    let mut document = fixture::disk_area();
    document.experiments.retain(|row| row.id.contains("/load75/"));
    let text = render(&document, &RICH);
    assert!(text.contains("latency by offered load") && text.contains("at 75 % load"), "{text}");
    assert!(text.contains("p99.9") && !text.contains("without pause"), "{text}");
    // Nothing else says where it was measured.
    assert!(text.contains("\n\nDisk  /var/lib/assay on ext4 on vda (virtio), io_uring, direct"), "{text}");
}

#[test]
fn small_tables_distinguish_rows_on_a_narrow_terminal_too() {
    let mut document = fixture::disk_area();
    // A load of writes and the same without one.
    for row in &mut document.experiments {
        let Params::Disk(own) = &mut row.params else { continue };
        if own.load_percent.is_some() {
            own.op = model::io::DiskOp::Write;
            row.conditions.disk.as_mut().unwrap().flushed_bytes_per_second = Some(1e8);
        }
    }
    let text = render(&document, &Style::PLAIN);
    let flushes = text.split("\n\n").find(|table| table.contains("including the flush after each")).unwrap();
    for shown in ["4 KiB, dsync ", "1 MiB, warm ", "4 KiB, 25 % load ", "4 KiB, 90 % load "] {
        assert!(flushes.contains(shown), "{shown}: {flushes}");
    }
}

#[test]
fn names_of_other_programs_are_there_on_a_narrow_terminal_where_rows_scale_too() {
    let mut document = fixture::disk_area();
    for row in document.experiments.iter_mut().filter(|row| row.params.threads() > 1) {
        row.scaling = Some(Scaling { from: String::new(), threads_from: 1, speed_up: 1.1, parallel_efficiency: 0.069 });
    }
    let text = render(&document, &Style::PLAIN);
    for name in ["SEQ1M Q8T1", "SEQ128K Q32T1", "RND4K Q32T16", "RND4K Q1T1"] {
        assert_eq!(text.lines().filter(|line| line.contains(&format!(" {name} "))).count(), 2, "{name}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_row_that_was_cut_short_has_no_warning_of_few_samples() {
    let mut document = fixture::disk_area();
    for row in &mut document.experiments {
        let cut = Warning::new(WarningCode::CutShort, 0.5, "Only 3 samples were taken.");
        let few = Warning::new(WarningCode::FewSamples, 3.0, "3 repetitions are too few.");
        (row.warnings, row.confidence) = (vec![few, cut], Some(Confidence::Fair));
    }
    let text = render(&document, &RICH);
    assert!(text.contains("Only 3 samples were taken.") && text.contains("fair ¹"), "{text}");
    assert!(!text.contains("too few") && !text.contains("few samples") && !text.contains('²'), "{text}");
}

#[test]
fn a_run_without_values_ends_without_gaps() {
    let mut document = fixture::disk_area();
    for row in &mut document.experiments {
        (row.status, row.reason) = (Status::Skipped, Some("'/mnt' is nearly full".into()));
        row.metrics.clear();
        row.warnings.clear();
        (row.confidence, row.verified, row.conditions) = (None, None, model::document::Conditions::default());
    }
    let text = render(&document, &RICH);
    assert!(!text.contains("\n\n\n") && !text.ends_with("\n\n"), "{text}");
}

#[test]
fn our_own_loop_stands_on_no_file() {
    let mut document = fixture::disk_area();
    document.experiments.truncate(1);
    let row = &mut document.experiments[0];
    if let Params::Disk(params) = &mut row.params {
        params.engine = DiskEngine::Null;
    }
    row.conditions.disk = None;
    let text = render(&document, &RICH);
    let heading = text.lines().find(|line| line.starts_with("Disk")).unwrap();
    assert!(heading.contains("our own loop without a device") && !heading.contains("/var/lib"), "{heading}");
}

/// Test files that were cut to this size, of the rows whose ids have this part.
fn cut(document: &mut Document, part: &str, bytes: u64) {
    for row in document.experiments.iter_mut().filter(|row| row.id.contains(part)) {
        row.conditions.disk.iter_mut().for_each(|disk| disk.file_bytes = Some(bytes));
    }
}

#[test]
fn a_file_that_was_cut_short_is_shown_with_its_own_size() {
    let mut document = fixture::disk_area();
    document.experiments[0].status = Status::Skipped;
    let heading = |text: &str| text.lines().find(|line| line.starts_with("Disk  ")).unwrap_or_default().to_owned();
    assert!(heading(&render(&document, &RICH)).ends_with("direct, 1 GiB file"));
    assert!(!running(&document).contains("smaller than planned"));
    cut(&mut document, "disk/", 256 << 20);
    let text = render(&document, &RICH);
    assert!(heading(&text).ends_with("direct, 256 MiB file (1 GiB planned)"), "{text}");
    assert!(running(&document).contains("The test file is smaller than planned"));
    cut(&mut document, "/random", 1 << 30);
    let text = render(&document, &RICH);
    assert!(!heading(&text).contains("file"), "{text}");
    assert!(text.contains("sequential 1 MiB, 256 MiB file (1 GiB planned)"), "{text}");
    assert!(text.contains("random 4 KiB, 1 GiB file"), "{text}");
    assert!(running(&document).contains(" results is smaller than planned"));
    let page = report::html::render(&document).unwrap();
    assert!(page.contains("256 MiB file (1 GiB planned)") && page.contains("results is smaller than planned"));
}

#[test]
fn bytes_written_are_shown_at_the_end() {
    let mut document = fixture::disk_area();
    assert!(!running(&document).contains("Written to the disk"), "nothing is known");
    document.experiments[0].conditions.disk.as_mut().unwrap().laid_out_bytes = Some(1 << 30);
    assert!(running(&document).contains("Written to the disk: 1 GiB of test files."));
    document.experiments[1].conditions.disk.as_mut().unwrap().written_bytes = Some(3 << 30);
    assert!(running(&document).contains("Written to the disk: 1 GiB of test files and 3 GiB by requests."));
}

fn running(document: &Document) -> String {
    render(document, &RICH).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn thread_starts_the_slowest_thread_and_the_cost_of_an_order_are_shown() {
    let mut document = fixture::memory_area();
    let text = running(&document);
    assert!(!text.contains("apart") && !text.contains("generating the order"), "nothing is known: nothing is said");
    let row = |document: &mut Document, id: &str, change: &dyn Fn(&mut Row)| {
        change(document.experiments.iter_mut().find(|row| row.id == id).unwrap());
    };
    row(&mut document, "memory/random-increment/t1", &|row| row.conditions.order_seconds = Some(1.3e-9));
    let text = running(&document);
    let one = "generating the order: 1.300 ns (memory increment random, single words, 1 thread) per access.";
    assert!(text.contains(one), "{text}");
    row(&mut document, "memory/random-increment/t2", &|row| {
        row.conditions.order_seconds = Some(1.2e-9);
        row.conditions.start_spread_seconds = Some(2.5e-6);
    });
    let text = running(&document);
    assert!(
        text.contains(
            "generating the order: 1.200 ns (memory increment random, single words, 2 threads) to 1.300 ns ("
        ),
        "{text}"
    );
    assert!(text.contains("Threads of one benchmark started at most 2.500 us apart."), "{text}");
    row(&mut document, "memory/random-increment/t2", &|row| row.conditions.slowest_over_fastest = Some(0.97));
    row(&mut document, "memory/sequential-read/t2", &|row| row.conditions.slowest_over_fastest = Some(0.83));
    let text = running(&document);
    let slowest = "apart; the slowest did at least 83.0 % of the work of the fastest (memory read AVX2, 2 threads).";
    assert!(text.contains(slowest), "{text}");
}

#[test]
fn rows_that_differ_only_in_their_working_set_are_distinguished() {
    let mut document = fixture::memory_area();
    for row in document.experiments.iter_mut().filter(|row| row.id.starts_with("memory/sequential-read/")) {
        let reference = fixture::references()
            .experiments
            .iter()
            .flat_map(|row| &row.metrics)
            .find_map(|metric| metric.references.first().cloned());
        row.metrics[0].references.extend(reference);
    }
    let text = running(&document);
    for words in ["memory read AVX2, 32 KiB, 1 thread", "memory read AVX2, 64 KiB, 1 thread"] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
}

#[test]
fn classic_tables_of_disks_say_how_unknown_limits_are_declared() {
    let mut document = fixture::classic_disk();
    let advice = "--declare disk.read_bps=7e9";
    assert!(!render(&document, &RICH).contains(advice));
    for metric in document.experiments.iter_mut().flat_map(|row| &mut row.metrics) {
        metric.peaks.clear();
        metric.efficiency = None;
    }
    let text = render(&document, &RICH);
    assert!(text.contains(advice) && !text.contains("Highest efficiency"), "{text}");
}

/// The ids of a document's rows that hold one of these words.
fn keep(document: &mut Document, words: &[&str]) {
    document.experiments.retain(|row| words.iter().any(|word| row.id.contains(word)));
}

#[test]
fn a_few_kinds_of_round_trips_stand_in_the_area_s_table_and_more_in_one_of_their_own() {
    let title = "round trips of one message";
    let mut document = fixture::net_area();
    assert!(render(&document, &RICH).contains(title));
    keep(&mut document, &["stream", "tcp-pingpong/1B"]);
    let text = render(&document, &RICH);
    assert!(!text.contains(title) && text.contains("ping-pong 1 B, spinning"), "{text}");
}

#[test]
fn a_run_of_the_network_without_streams_names_its_path() {
    for (mode, words) in [
        ("load", "round trips while TCP streams run"),
        ("connect", "open, one round trip of one byte, close"),
        ("transfer", "a fixed amount in each direction"),
        ("blast", "a diagnostic and not a result"),
    ] {
        let mut document = fixture::net_area();
        keep(&mut document, &[mode]);
        let text = running(&document);
        assert!(text.contains(words) && text.contains("Path: interface lo, MTU 65536"), "{mode}: {text}");
        assert!(!text.contains("cost of streams") && !text.contains("both directions at once"), "{mode}: {text}");
    }
}
