//! Installed reference tools in pairs with our rows, and refused requests for tools.

use serde_json::Value;

use crate::common::{Scratch, assay, check, document, names, only_run, refused, rows, skip, stored, succeed, text};
use crate::disk::support;
use crate::references::support::{
    SEARCH_PATH, assert_measured, brief, brief_rows, fake, only_one, with_fake, with_tools, words,
};
use crate::system::process::has;

/// A run of rows of [`BRIEF`] with an installed tool: its scratch folder and document; `None` where the tool is missing.
fn with_the_real(tool: &str, chosen: Option<&str>, more: &str) -> Option<(Scratch, Value)> {
    if !has(tool) {
        skip(&format!("{tool} alongside our rows"), "it is not installed");
        return None;
    }
    let scratch = Scratch::new();
    let arguments = chosen.map_or_else(|| brief(&scratch, tool), |chosen| brief_rows(&scratch, chosen, tool));
    let ran = with_tools(&scratch, &format!("{arguments}{more}"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("Compared with reference tools") && ran.stdout.contains(tool), "{ran:?}");
    let folder = only_run(&scratch);
    let document = document(&folder);
    check(&document);
    let csv = assay(&scratch, &format!("report {} --format csv", folder.display())).stdout;
    assert!(csv.lines().any(|line| line.contains(&format!(",{tool},"))), "{csv}");
    Some((scratch, document))
}

#[test]
fn real_tools_are_compared_with_our_rows() {
    // At the same time, since they mostly wait.
    std::thread::scope(|scope| {
        scope.spawn(likwid_bench_is_compared_with_arithmetic);
        scope.spawn(likwid_bench_is_compared_with_memory_and_a_cache);
        scope.spawn(iperf3_is_compared_with_a_stream_over_six_pairs);
        scope.spawn(sockperf_is_compared_with_a_ping_pong);
        scope.spawn(fio_is_compared_with_requests_and_leaves_the_file_unchanged);
    });
}

fn likwid_bench_is_compared_with_arithmetic() {
    likwid_bench_is_compared("cpu/**", "peakflops");
}

fn likwid_bench_is_compared_with_memory_and_a_cache() {
    likwid_bench_is_compared("memory/sequential-read/32MiB/**", "load_");
    likwid_bench_is_compared("memory/sequential-read/128KiB/**", "load_");
}

fn likwid_bench_is_compared(chosen: &str, its_loop: &str) {
    let Some((scratch, document)) = with_the_real("likwid-bench", Some(chosen), "") else { return };
    assert_measured(&scratch, &rows(&document)[0], 2);
    let (_, reference) = only_one(&rows(&document)[0]);
    assert!(text(&reference["details"], "kernel").starts_with(its_loop), "{reference:#}");
}

fn iperf3_is_compared_with_a_stream_over_six_pairs() {
    let Some((scratch, document)) = with_the_real("iperf3", None, " --repeat 6") else { return };
    assert_measured(&scratch, &rows(&document)[0], 6);
    let (_, reference) = only_one(&rows(&document)[0]);
    assert!(words(reference, "argv").contains(&"-l131072"), "a block as large as ours: {reference:#}");
    assert!(words(reference, "server_argv").contains(&"-B127.0.0.1"), "nobody else can reach it: {reference:#}");
}

fn sockperf_is_compared_with_a_ping_pong() {
    let Some((scratch, document)) = with_the_real("sockperf", None, "") else { return };
    let row = &rows(&document)[0];
    assert_measured(&scratch, row, 2);
    assert_eq!(only_one(row).0["name"], "latency");
}

fn fio_is_compared_with_requests_and_leaves_the_file_unchanged() {
    let scratch = Scratch::new();
    let Some(directory) = support::directory(&scratch, "fio compared with our results") else { return };
    if !has("fio") {
        return skip("fio compared with our results", "it is not installed");
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
    let document = stored(&scratch);
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
        refused(&format!("cpu --op fma --threads 1 {arguments}"), says);
    }
}

#[test]
fn a_named_tool_without_a_row_is_reported() {
    let scratch = Scratch::new();
    let said = |arguments: &str| succeed(&scratch, &format!("{arguments} --list")).stderr;
    assert!(said("cpu --references fio").contains("fio compares with no benchmark"));
    assert!(said("net --block 1 --references sockperf").contains("sockperf compares with no benchmark"));
    assert!(said("cpu --op dot --references likwid-bench").contains("likwid-bench compares with no benchmark"));
    for quiet in ["cpu --references all", "cpu --references none", "net --references iperf3"] {
        assert!(!said(quiet).contains("compares with no benchmark"), "{quiet}");
    }
}

#[test]
fn a_mere_check_runs_no_tool() {
    let scratch = Scratch::new();
    fake(&scratch, "likwid-bench", &format!("echo run >>{}", scratch.join("ran").display()));
    succeed(&scratch, &format!("{} --verify", with_fake(&scratch, "likwid-bench")));
    assert_eq!(names(scratch.path()), ["likwid-bench", "suite.toml"]);
}
