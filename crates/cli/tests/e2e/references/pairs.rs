//! Installed reference tools in pairs with our rows, and requests for tools that are refused.

use serde_json::Value;

use crate::common::{Scratch, assay, check, document, names, only_run, refusal, rows, skip, text};
use crate::disk::support;
use crate::references::support::{
    SEARCH_PATH, assert_measured, brief, brief_rows, fake, only_one, with_fake, with_tools, words,
};
use crate::system::process::has;

/// A run of rows of [`BRIEF`] with a real tool, which must end well; the scratch folder that it is stored in, and the document. `None`,
/// said loudly, where the tool is missing.
fn beside_the_real(tool: &str, chosen: Option<&str>, more: &str) -> Option<(Scratch, Value)> {
    if !has(tool) {
        skip(&format!("{tool} beside our rows"), "it is not installed");
        return None;
    }
    let scratch = Scratch::new();
    let arguments = chosen.map_or_else(|| brief(&scratch, tool), |chosen| brief_rows(&scratch, chosen, tool));
    let ran = with_tools(&scratch, &format!("{arguments}{more}"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("Beside trusted tools") && ran.stdout.contains(tool), "{ran:?}");
    let folder = only_run(&scratch);
    let document = document(&folder);
    check(&document);
    let csv = assay(&scratch, &format!("report {} --format csv", folder.display())).stdout;
    assert!(csv.lines().any(|line| line.contains(&format!(",{tool},"))), "{csv}");
    Some((scratch, document))
}

#[test]
fn real_tools_stand_beside_our_rows() {
    // All at once, since most of their time is waiting.
    std::thread::scope(|scope| {
        scope.spawn(likwid_bench_stands_beside_arithmetic);
        scope.spawn(likwid_bench_stands_beside_memory_and_a_cache);
        scope.spawn(iperf3_stands_beside_a_stream_with_an_interval_of_six_pairs);
        scope.spawn(sockperf_stands_beside_a_ping_pong);
        scope.spawn(fio_stands_beside_requests_and_leaves_the_file_as_it_is);
    });
}

fn likwid_bench_stands_beside_arithmetic() {
    likwid_bench_stands_beside("cpu/**", "peakflops");
}

fn likwid_bench_stands_beside_memory_and_a_cache() {
    likwid_bench_stands_beside("memory/sequential-read/32MiB/**", "load_");
    likwid_bench_stands_beside("memory/sequential-read/128KiB/**", "load_");
}

fn likwid_bench_stands_beside(chosen: &str, its_loop: &str) {
    let Some((scratch, document)) = beside_the_real("likwid-bench", Some(chosen), "") else { return };
    assert_measured(&scratch, &rows(&document)[0], 2);
    let (_, reference) = only_one(&rows(&document)[0]);
    assert!(text(&reference["details"], "kernel").starts_with(its_loop), "{reference:#}");
}

fn iperf3_stands_beside_a_stream_with_an_interval_of_six_pairs() {
    let Some((scratch, document)) = beside_the_real("iperf3", None, " --repeat 6") else { return };
    assert_measured(&scratch, &rows(&document)[0], 6);
    let (_, reference) = only_one(&rows(&document)[0]);
    assert!(words(reference, "argv").contains(&"-l131072"), "a block as large as ours: {reference:#}");
    assert!(words(reference, "server_argv").contains(&"-B127.0.0.1"), "nobody else can reach it: {reference:#}");
}

fn sockperf_stands_beside_a_ping_pong() {
    let Some((scratch, document)) = beside_the_real("sockperf", None, "") else { return };
    let row = &rows(&document)[0];
    assert_measured(&scratch, row, 2);
    assert_eq!(only_one(row).0["name"], "latency");
}

fn fio_stands_beside_requests_and_leaves_the_file_as_it_is() {
    let scratch = Scratch::new();
    let Some(directory) = support::directory(&scratch, "fio beside our rows") else { return };
    if !has("fio") {
        return skip("fio beside our rows", "it is not installed");
    }
    let sizes = scratch.join("sizes");
    // A fio that looks at the file before and after.
    let body = format!(
        "for word; do case \"$word\" in --filename=*) file=\"${{word#--filename=}}\";; esac; done\n\
         PATH={SEARCH_PATH}; look() {{ [ -z \"$file\" ] || stat -L -c %s \"$file\" >>{sizes}; }}\n\
         look; fio \"$@\"; status=$?; look; exit $status",
        sizes = sizes.display()
    );
    let fake = fake(&scratch, "fio", &body);
    let place = format!("--dir {} --tool fio={}", directory.display(), fake.display());
    let ran = with_tools(&scratch, &format!("{} {place}", brief(&scratch, "fio")));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = document(&only_run(&scratch));
    check(&document);
    assert_eq!(rows(&document).len(), 2);
    for row in rows(&document) {
        assert_measured(&scratch, row, 2);
        assert_eq!(only_one(row).0["name"], "iops");
    }
    let seen = std::fs::read_to_string(sizes).unwrap();
    assert_eq!(seen.lines().collect::<Vec<_>>(), ["67108864"; 8], "the file is of one size before and after each run");
    assert!(names(&directory).is_empty(), "{:?}", names(&directory));
}

#[test]
fn the_help_names_every_tool() {
    let help = assay(&Scratch::new(), "memory --help").stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let known: Vec<&str> = tools::ids().collect();
    assert!(help.contains(&format!("in turn: {}; all; none", known.join(", "))), "{help}");
}

#[test]
fn bad_input_about_tools_is_refused() {
    for (arguments, says) in [
        ("--references nonsense", &["'nonsense'", "likwid-bench", "fio", "iperf3", "sockperf"][..]),
        ("--references fio,nonsense", &["'nonsense'"]),
        ("--references all,none", &["'none'", "all,none"]),
        ("--references none,fio", &["'none'"]),
        ("--tool fio", &["'fio'", "NAME=PATH"]),
        ("--tool nonsense=/usr/bin/fio", &["'nonsense'", "iperf3"]),
        ("--tool none=/usr/bin/fio", &["'none'"]),
    ] {
        let scratch = Scratch::new();
        let ran = assay(&scratch, &format!("cpu --op fma --threads 1 {arguments}"));
        let sentence = refusal(&ran);
        assert!(says.iter().all(|part| sentence.contains(part)), "'{arguments}': {sentence}");
        assert!(!scratch.join("store/runs").exists(), "'{arguments}' left a run behind");
    }
}

#[test]
fn a_tool_that_stands_beside_no_row_is_said_to_when_it_was_named() {
    let scratch = Scratch::new();
    let said = |arguments: &str| {
        let ran = assay(&scratch, &format!("{arguments} --list"));
        assert_eq!(ran.status, Some(0), "{ran:?}");
        ran.stderr
    };
    assert!(said("cpu --references fio").contains("fio stands beside no row"));
    assert!(said("net --block 1 --references sockperf").contains("sockperf stands beside no row"));
    assert!(said("cpu --op dot --references likwid-bench").contains("likwid-bench stands beside no row"));
    for quiet in ["cpu --references all", "cpu --references none", "net --references iperf3"] {
        assert!(!said(quiet).contains("stands beside"), "{quiet}");
    }
}

#[test]
fn a_mere_check_runs_no_tool() {
    let scratch = Scratch::new();
    fake(&scratch, "likwid-bench", &format!("echo run >>{}", scratch.join("ran").display()));
    let ran = assay(&scratch, &format!("{} --verify", with_fake(&scratch, "likwid-bench")));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_eq!(names(scratch.path()), ["brief.toml", "likwid-bench"]);
}
