//! Trusted tools beside our rows: real ones where they are installed, and fakes that hang, die, lie and leave things
//! behind.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{
    Ran, Scratch, assay, check, command, document, is_verified, left_in, list, names, number, only_run, refusal, rows,
    samples, skip, stored_runs, text,
};
use crate::disk;
use crate::family::{ended_within, group};
use crate::system::{Running, assert_no_orphans, has, signal, wait_for};

/// What counts as equal for figures that were divided.
const TOLERANCE: f64 = 1e-9;

/// Where the system's programs are.
pub(crate) const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// How likwid-bench says its version.
pub(crate) const SAYS_VERSION: &str = "[ \"$1\" = -v ] && { echo 'likwid-bench -- Version 5.2.2'; exit; }";

/// How iperf3 says its version.
const IPERF3_SAYS_VERSION: &str = "[ \"$1\" = --version ] && { echo 'iperf 3.12 (a fake)'; exit; }";

/// Rows that are over in a moment, one that each tool stands beside.
const BRIEF: &str = r#"
name = "brief"
about = "a row for each tool"
[sampling.cpu]
samples = 2
per_launch = 2
sample = "20ms"
warm_up = ["5ms", "10ms"]
target = 0.05
[sampling.disk]
samples = 2
per_launch = 2
sample = "50ms"
warm_up = ["10ms", "20ms"]
target = 0.05
[sampling.net]
samples = 2
per_launch = 2
sample = "50ms"
warm_up = ["10ms", "20ms"]
target = 0.05
[sampling.memory]
samples = 2
per_launch = 2
sample = "20ms"
warm_up = ["5ms", "10ms"]
target = 0.05
[[cpu]]
op = "fma"
type = ["fp64"]
isa = ["vector"]
threads = ["1"]
[[memory]]
pattern = "sequential"
op = ["read"]
isa = ["vector"]
pages = ["4KiB"]
working_sets = ["128KiB", "32MiB"]
working_set = "32MiB"
threads = ["1"]
[[memory]]
pattern = "sequential"
op = ["copy"]
pages = ["4KiB"]
working_sets = ["64MiB"]
working_set = "64MiB"
threads = ["1"]
[[memory]]
pattern = "chase"
op = ["load"]
pages = ["4KiB"]
working_sets = ["4MiB"]
working_set = "4MiB"
threads = ["1"]
[[disk]]
pattern = "random"
op = ["read", "write"]
block = ["4KiB"]
depth = [4]
size = "64MiB"
threads = ["1"]
[[net]]
protocol = ["tcp"]
mode = "stream"
block = ["128KiB"]
threads = ["1"]
[[net]]
protocol = ["udp"]
mode = "pingpong"
block = ["14B"]
threads = ["1"]
"#;

/// The arguments that run the rows of [`BRIEF`] that a tool stands beside, in pairs with it.
fn brief(scratch: &Scratch, tool: &str) -> String {
    let rows = match tool {
        "likwid-bench" => "cpu/**",
        "stream" => "memory/sequential-copy/**",
        "pmbw" => "memory/sequential-read/32MiB/**",
        "multichase" => "memory/chase-load/**",
        "fio" => "disk/**",
        "iperf3" => "net/tcp-stream/**",
        _ => "net/udp-pingpong/**",
    };
    brief_rows(scratch, rows, tool)
}

/// The arguments that run these rows of [`BRIEF`], in pairs with a tool.
pub(crate) fn brief_rows(scratch: &Scratch, rows: &str, tool: &str) -> String {
    let suite = scratch.join("brief.toml");
    std::fs::write(&suite, BRIEF).unwrap();
    format!("run {} --filter {rows} --references {tool}", suite.display())
}

/// Longer than any tool may take that was not seen to hang.
const PATIENCE: Duration = Duration::from_secs(40);

/// Runs the program with the system's programs at hand; the arguments are separated by spaces.
pub(crate) fn with_tools(scratch: &Scratch, arguments: &str) -> Ran {
    let mut command = command(scratch, arguments.split_whitespace());
    command.env("PATH", SEARCH_PATH).env("HOME", "/nowhere").env("OPENBLAS_NUM_THREADS", "7");
    command.output().unwrap().into()
}

/// What the document says of the tools beside a row, with the metric that they are beside.
pub(crate) fn beside(row: &Value) -> Vec<(&Value, &Value)> {
    let metrics = list(row, "metrics").iter();
    metrics.flat_map(|metric| list(metric, "references").iter().map(move |reference| (metric, reference))).collect()
}

/// The only tool beside a row, and the metric that it is beside.
#[track_caller]
pub(crate) fn only_one(row: &Value) -> (&Value, &Value) {
    let beside = beside(row);
    assert_eq!(beside.len(), 1, "{row:#}");
    beside[0]
}

#[track_caller]
fn same(a: f64, b: f64) {
    assert!((a - b).abs() <= TOLERANCE * a.abs().max(b.abs()), "{a} is not {b}");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

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

/// The words of a command line.
pub(crate) fn words<'a>(reference: &'a Value, key: &str) -> Vec<&'a str> {
    list(reference, key).iter().map(|word| word.as_str().unwrap()).collect()
}

/// Asserts that a tool was measured in so many pairs beside a row, and that everything about it was kept.
#[track_caller]
pub(crate) fn assert_measured(scratch: &Scratch, row: &Value, pairs: usize) {
    assert!(is_verified(row), "{row:#}");
    let (metric, reference) = only_one(row);
    assert_eq!((&reference["status"], &reference["reason"]), (&json!("ok"), &Value::Null), "{reference:#}");
    let program = words(reference, "argv")[0];
    assert!(program.ends_with(text(reference, "tool")));
    let says_none = ["pmbw", "multichase", "mbw"].contains(&text(reference, "tool"));
    assert_eq!(reference["version"] == "not stated", says_none, "{reference:#}");
    let env = reference["env"].as_object().unwrap();
    assert_eq!(env["LC_ALL"], "C");
    let its_own = |name: &str| ["LC_ALL", "HOME", "TMPDIR"].contains(&name) || name.starts_with("OMP_");
    assert!(env.keys().all(|name| its_own(name)), "nothing of ours reaches it: {env:?}");
    assert!([&env["HOME"], &env["TMPDIR"]].iter().all(|place| **place == "{folder}"), "its own folder: {env:?}");
    let (ours, theirs) = (list(metric, "samples"), list(reference, "samples"));
    assert_eq!((ours.len(), theirs.len(), &reference["pairs"]), (pairs, pairs, &json!(pairs)));
    for (pair, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        assert_eq!(theirs["pair"], json!(pair + 1));
        same(number(theirs, "ours"), number(ours, "value"));
    }
    let launches: BTreeSet<_> = ours.iter().map(|sample| sample["launch"].as_u64()).collect();
    assert_eq!(launches.len(), pairs, "a launch for each of ours");
    let value = |samples: &[Value]| median(samples.iter().map(|sample| number(sample, "value")).collect());
    same(number(reference, "median"), value(theirs));
    same(number(reference, "ratio"), value(ours) / value(theirs));
    assert_judged(reference, pairs);
    assert_in_turn(ours, theirs);
    let raw = std::fs::read_to_string(only_run(scratch).join(text(reference, "raw"))).unwrap();
    let ends = 1 + usize::from(!words(reference, "server_argv").is_empty());
    let resumed = list(&document(&only_run(scratch))["run"], "resumed").len();
    // A run that was killed may have more: what it printed in the pair that was cut off.
    let (printed, cut_off) = (raw.matches(&format!("$ {program}")).count(), ends * resumed);
    assert!((pairs * ends..=pairs * ends + cut_off).contains(&printed), "what it printed in each pair: {raw}");
}

/// Asserts that there is an interval from six pairs on, around the ratio, and a verdict in any case.
#[track_caller]
fn assert_judged(reference: &Value, pairs: usize) {
    assert!(["at_least", "below", "inconclusive"].contains(&text(reference, "verdict")), "{reference:#}");
    assert_eq!((reference["ratio_ci95"].is_null(), reference["half_width"].is_null()), (pairs < 6, pairs < 6));
    if pairs >= 6 {
        let ends: Vec<f64> = list(reference, "ratio_ci95").iter().map(|end| end.as_f64().unwrap()).collect();
        let ratio = number(reference, "ratio");
        assert!(0.0 < ends[0] && ends[0] <= ratio && ratio <= ends[1], "{reference:#}");
    }
}

/// Asserts that the samples were taken in rounds of two pairs, the one in the reverse order of the other, and in the
/// very first ours before theirs.
#[track_caller]
fn assert_in_turn(ours: &[Value], theirs: &[Value]) {
    let starts: Vec<[f64; 2]> =
        ours.iter().zip(theirs).map(|(ours, theirs)| [number(ours, "start"), number(theirs, "start")]).collect();
    assert!(starts[0].is_sorted(), "{starts:?}");
    for round in starts.chunks_exact(2) {
        assert_ne!(
            round[0].is_sorted(),
            round[1].is_sorted(),
            "ours first in the one and theirs in the other: {starts:?}"
        );
    }
    let latest = |pair: &[f64; 2]| pair[0].max(pair[1]);
    let earliest = |pair: &[f64; 2]| pair[0].min(pair[1]);
    assert!(starts.windows(2).all(|two| latest(&two[0]) < earliest(&two[1])), "pair after pair: {starts:?}");
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
    let Some(directory) = disk::directory(&scratch, "fio beside our rows") else { return };
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

/// A tool played by a shell script.
pub(crate) fn fake(scratch: &Scratch, name: &str, body: &str) -> PathBuf {
    let path = scratch.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// The arguments of a brief run with the fake of this name.
pub(crate) fn with_fake(scratch: &Scratch, tool: &str) -> String {
    format!("{} --tool {tool}={}", brief(scratch, tool), scratch.join(tool).display())
}

/// Asserts that a run with a tool that is of no use was measured all the same, each row with this status of the tool;
/// why it was of no use.
#[track_caller]
pub(crate) fn of_no_use(scratch: &Scratch, ran: &Ran, status: &str) -> String {
    assert_eq!(ran.status, Some(0), "a tool's trouble is not ours: {ran:?}");
    let folder = only_run(scratch);
    let document = document(&folder);
    check(&document);
    let row = &rows(&document)[0];
    assert!(is_verified(row) && samples(row).len() == 2, "{row:#}");
    let (_, reference) = only_one(row);
    let reason = text(reference, "reason").to_owned();
    assert_eq!(text(reference, "status"), status, "{reason}");
    for figure in ["median", "ratio", "ratio_ci95", "verdict", "explanation"] {
        assert!(reference[figure].is_null(), "{reference:#}");
    }
    assert!(list(reference, "samples").is_empty());
    let how = if status == "failed" { "failed beside" } else { "skipped beside" };
    assert!(ran.stdout.contains(how), "the table tells of it: {ran:?}");
    assert!(!names(&folder).contains(&"journal.jsonl".to_owned()));
    assert_no_orphans();
    reason
}

#[test]
fn a_tool_that_is_missing_is_said_to_be_and_how_to_get_it() {
    let scratch = Scratch::new();
    let reason = of_no_use(&scratch, &assay(&scratch, &brief(&scratch, "likwid-bench")), "skipped");
    assert!(reason.contains("not installed") && reason.contains("Debian package likwid"), "{reason}");
    let scratch = Scratch::new();
    let arguments = format!("{} --tool likwid-bench=/no/such/program", brief(&scratch, "likwid-bench"));
    let ran = with_tools(&scratch, &arguments);
    let reason = of_no_use(&scratch, &ran, "skipped");
    assert!(reason.contains("/no/such/program"), "one that was named is not looked for elsewhere: {reason}");
}

#[test]
fn a_tool_whose_version_is_not_known_is_not_used() {
    for (says, why) in [
        ("echo 'likwid-bench -- Version 4.3.1'", "older than 5.2"),
        ("head -c 3000 /dev/urandom", "does not name a version"),
        ("kill -SEGV $$", "does not name a version"),
    ] {
        let scratch = Scratch::new();
        fake(&scratch, "likwid-bench", says);
        let ran = assay(&scratch, &with_fake(&scratch, "likwid-bench"));
        let reason = of_no_use(&scratch, &ran, "skipped");
        assert!(reason.contains(why) && reason.len() < 1000, "{says}: {reason}");
        assert_eq!(left_in(&only_run(&scratch)), ["run.json"], "it was never run");
    }
}

#[test]
fn a_tool_that_fails_or_talks_nonsense_loses_its_place() {
    for (body, why, raw) in [
        ("env; echo 'oh dear' >&2; exit 3", "left with status 3: oh dear", "LC_ALL=C"),
        ("printf '\\377\\376 nonsense \\000\\n'", "likwid-bench", "nonsense"),
        ("echo begun; kill -KILL $$", "SIGKILL", "begun"),
        ("head -c 100000000 /dev/zero | tr '\\000' x", "likwid-bench", "xxxxx"),
        ("exec >&- 2>&-", "likwid-bench", "$ "),
    ] {
        let scratch = Scratch::new();
        let program = fake(&scratch, "likwid-bench", &format!("{SAYS_VERSION}\n{body}"));
        let ran = with_tools(&scratch, &with_fake(&scratch, "likwid-bench"));
        let reason = of_no_use(&scratch, &ran, "failed");
        assert!(reason.contains(why) && reason.len() < 1000, "{body}: {reason}");
        let folder = only_run(&scratch);
        let (document, printed) = (document(&folder), std::fs::read(folder.join("raw/likwid-bench-01.txt")).unwrap());
        let printed = String::from_utf8_lossy(&printed).into_owned();
        assert!(printed.contains(raw) && printed.len() < 10_000_000, "{body}: {} bytes", printed.len());
        for ours in ["HOME=/nowhere", "OPENBLAS", "ASSAY_STORE", "LANG="] {
            assert!(!printed.contains(ours), "{ours} has reached it: {printed}");
        }
        assert_eq!(words(only_one(&rows(&document)[0]).1, "argv")[0], program.to_str().unwrap());
    }
}

#[test]
fn a_memory_tool_that_measured_something_else_loses_its_place() {
    let written = "# STREAM version $Revision: 5.10 $";
    let [pmbw_help, multichase_help] = [
        "[ \"$1\" = -h ] && { echo '-M Limit the maximum amount of memory allocated at startup'; exit 1; }",
        "[ \"$1\" = -h ] && { echo '-T TLB locality in bytes'; exit 1; }",
    ];
    let small = "echo 'This system uses 8 bytes per array element.'; echo 'Array size = 1000 (elements), Offset = 0'";
    for (tool, known_by, body, why) in [
        ("stream", written, small, "-DSTREAM_ARRAY_SIZE=2796203"),
        ("stream", written, "printf '\\377\\376 nonsense \\000\\n'", "printed no number"),
        ("pmbw", pmbw_help, "echo 'RESULT nothing'", "0 results"),
        ("pmbw", pmbw_help, "printf 'RESULT\\tfuncname=ScanWrite64\\n'", "ran 'ScanWrite64'"),
        ("multichase", multichase_help, "echo 'stride = 256'", "and not 64"),
        ("multichase", multichase_help, "echo 88.8", "printed nothing behind 'stride ='"),
    ] {
        let scratch = Scratch::new();
        fake(&scratch, tool, &format!("{known_by}\n{body}"));
        let reason = of_no_use(&scratch, &assay(&scratch, &with_fake(&scratch, tool)), "failed");
        assert!(reason.contains(why) && reason.len() < 1000, "{tool}, {body}: {reason}");
    }
}

#[test]
fn a_tool_that_does_not_say_its_version_is_known_by_its_file_or_its_help() {
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/src/reference/recorded/stream-5.10-91MiB-serial.txt");
    let scratch = Scratch::new();
    fake(&scratch, "stream", &format!("# STREAM version $Revision: 5.10 $\n/bin/cat {recorded}"));
    let ran = assay(&scratch, &with_fake(&scratch, "stream"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = document(&only_run(&scratch));
    check(&document);
    assert_measured(&scratch, &rows(&document)[0], 2);
    let (_, reference) = only_one(&rows(&document)[0]);
    assert_eq!((&reference["version"], &reference["env"]["OMP_NUM_THREADS"]), (&json!("5.10"), &json!("1")));
    for tool in ["stream", "pmbw", "multichase", "mbw"] {
        let scratch = Scratch::new();
        fake(&scratch, tool, "echo 'somebody else'");
        let ran = assay(&scratch, &with_fake(&scratch, tool));
        let reason = of_no_use(&scratch, &ran, "skipped");
        assert!(reason.contains("does not"), "{tool}: {reason}");
    }
}

#[test]
fn the_help_names_every_tool() {
    let help = assay(&Scratch::new(), "memory --help").stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let known: Vec<&str> = bench::reference::REFERENCES.iter().map(|reference| reference.about().tool).collect();
    assert!(help.contains(&format!("in turn: {}; all; none", known.join(", "))), "{help}");
}

/// The group of a tool that a script leads: ended when this is dropped.
pub(crate) struct Group(u32);

impl Group {
    /// The group whose leader has written its number to a file, as soon as it has.
    pub(crate) fn of(leader: &Path) -> Self {
        let number = || std::fs::read_to_string(leader).ok()?.trim().parse().ok();
        Self(wait_for(PATIENCE, number).expect("a tool that has begun"))
    }

    fn lives(&self) -> bool {
        !group(self.0).is_empty()
    }

    #[track_caller]
    pub(crate) fn assert_gone(&self) {
        let gone = wait_for(Duration::from_secs(2), || (!self.lives()).then_some(()));
        assert!(gone.is_some(), "of the tool's group {} there is left {:?}", self.0, group(self.0));
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for member in group(self.0) {
            let _ = Command::new("kill").args(["-s", "KILL", &member.to_string()]).stderr(Stdio::null()).status();
        }
    }
}

/// A run with a tool of this name that writes its number to the file `leader` when it begins to hang.
fn hanging(scratch: &Scratch, tool: &str, before: &str, how: &str) -> (Running, PathBuf) {
    let leader = scratch.join("leader");
    let path = leader.display();
    let hang = format!("echo $$ >{path}.new; mv {path}.new {path}; sleep 300 & {how}");
    fake(scratch, tool, &format!("{before}\n{hang}"));
    (Running::assay(scratch, &with_fake(scratch, tool)), leader)
}

#[test]
fn a_signal_ends_a_tool_and_all_that_it_has_started() {
    for (name, status, how) in
        [("INT", 130, "sleep 300"), ("TERM", 143, "trap '' TERM INT HUP; while :; do sleep 9; done")]
    {
        let scratch = Scratch::new();
        let (run, leader) = hanging(&scratch, "likwid-bench", SAYS_VERSION, how);
        let group = Group::of(&leader);
        signal(run.id(), name);
        let ran = ended_within(run, Duration::from_secs(8));
        assert_eq!(ran.status, Some(status), "{ran:?}");
        group.assert_gone();
        let document = document(&only_run(&scratch));
        check(&document);
        assert_eq!(document["run"]["complete"], false);
    }
}

#[test]
fn the_next_run_ends_a_tool_that_a_killed_one_left() {
    let scratch = Scratch::new();
    let (run, leader) = hanging(&scratch, "likwid-bench", SAYS_VERSION, "sleep 300");
    let group = Group::of(&leader);
    let others = Scratch::new();
    let journal = || std::fs::read_to_string(only_run(&scratch).join("journal.jsonl")).unwrap();
    let noted = || journal().contains(&format!("{{\"kind\":\"started\",\"process\":{}", group.0)).then_some(());
    wait_for(PATIENCE, noted).expect("a note of the tool in the journal");
    signal(run.id(), "KILL");
    run.output();
    assert!(group.lives(), "nothing has ended it yet");
    let brief = "cpu --op fma --type fp64 --isa scalar --threads 1 --repeat 1";
    assert_eq!(assay(&others, brief).status, Some(0));
    assert!(group.lives(), "another store's run is nobody's business");
    assert_eq!(assay(&scratch, brief).status, Some(0));
    group.assert_gone();
    assert_eq!(stored_runs(&scratch).len(), 2);
}

/// Waits for a run whose tool hangs; why the tool was of no use.
fn ended_hanging(scratch: &Scratch, run: Running, status: &str) -> String {
    let ran = ended_within(run, PATIENCE);
    of_no_use(scratch, &ran, status)
}

#[test]
fn a_tool_that_hangs_is_ended_with_all_that_it_has_started() {
    // At once, since all that these do is wait: hanging when asked for the version, as a server that never listens, and
    // in the middle of a measurement.
    let [version, server, client] = [Scratch::new(), Scratch::new(), Scratch::new()];
    let (asked, asked_leader) = hanging(&version, "iperf3", "", "sleep 300");
    let (serving, serving_leader) = hanging(&server, "iperf3", IPERF3_SAYS_VERSION, "sleep 300");
    let real = has("iperf3").then(|| {
        let serve = format!("{IPERF3_SAYS_VERSION}\n[ \"$1\" = -s ] && PATH={SEARCH_PATH} exec iperf3 \"$@\"");
        hanging(&client, "iperf3", &serve, "sleep 300")
    });
    let groups = [Group::of(&asked_leader), Group::of(&serving_leader)];
    let reason = ended_hanging(&version, asked, "skipped");
    assert!(reason.contains("took longer than 5 s"), "{reason}");
    let reason = ended_hanging(&server, serving, "failed");
    assert!(reason.contains("did not listen within 5 s"), "{reason}");
    groups.iter().for_each(Group::assert_gone);
    let Some((measuring, leader)) = real else { return skip("an iperf3 that hangs", "iperf3 is not installed") };
    let group = Group::of(&leader);
    let reason = ended_hanging(&client, measuring, "failed");
    assert!(reason.contains("took longer than"), "{reason}");
    group.assert_gone();
}

#[test]
fn a_server_that_does_not_stay_is_told_with_its_last_words() {
    let scratch = Scratch::new();
    fake(&scratch, "iperf3", &format!("{IPERF3_SAYS_VERSION}\necho 'no such device' >&2; exit 1"));
    let ran = assay(&scratch, &with_fake(&scratch, "iperf3"));
    let reason = of_no_use(&scratch, &ran, "failed");
    assert!(reason.contains("did not stay") && reason.contains("no such device"), "{reason}");
}

#[test]
fn a_port_that_somebody_else_took_is_followed_by_another() {
    if !has("iperf3") {
        return skip("a server's port that is taken", "iperf3 is not installed");
    }
    let scratch = Scratch::new();
    let tried = scratch.join("tried");
    let body = format!(
        "PATH={SEARCH_PATH}\n[ \"$1\" = -s ] && {{ echo \"$@\" >>{tried}; [ $(wc -l <{tried}) -gt 2 ] || \
         {{ echo 'iperf3: error - unable to start listener for connections: Address already in use' >&2; \
         exit 1; }}; }}\n\
         exec iperf3 \"$@\"",
        tried = tried.display()
    );
    fake(&scratch, "iperf3", &body);
    let ran = assay(&scratch, &with_fake(&scratch, "iperf3"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = document(&only_run(&scratch));
    check(&document);
    assert_measured(&scratch, &rows(&document)[0], 2);
    let tried = std::fs::read_to_string(tried).unwrap();
    let ports: Vec<&str> = tried.lines().map(|line| line.rsplit_once("-p").unwrap().1).collect();
    assert_eq!(ports.len(), 4, "two in vain, then one for each pair: {tried}");
    let used = words(only_one(&rows(&document)[0]).1, "server_argv").last().copied().unwrap();
    assert_eq!(used.strip_prefix("-p"), ports.last().copied(), "the port that was used is the one that is told");
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
