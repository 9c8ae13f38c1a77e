//! The brief suite, fake tools and checks of the tests of reference tools.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{
    Ran, Scratch, check, command, document, is_verified, list, names, number, only_run, ran, rows, same, samples,
    suite, text,
};
use crate::references::fakes::PATIENCE;
use crate::system::family::group;
use crate::system::process::{assert_no_orphans, wait_for};

/// The search path of the system's programs.
pub(crate) const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

pub(crate) const SAYS_VERSION: &str = "[ \"$1\" = -v ] && { echo 'likwid-bench -- Version 5.2.2'; exit; }";

pub(crate) const IPERF3_SAYS_VERSION: &str = "[ \"$1\" = --version ] && { echo 'iperf 3.12 (a fake)'; exit; }";

pub(crate) const IOZONE_SAYS_VERSION: &str = "[ \"$1\" = -v ] && { echo '        Version $Revision: 3.508 $'; exit; }";

/// Rows that are measured in a moment, one for each tool.
pub(crate) const BRIEF: &str = r#"
name = "brief"
cpu = [{ op = "fma", type = ["fp64"], isa = ["vector"], threads = ["1"] }]
disk = [{ pattern = "random", op = ["read", "write"], block = ["4KiB"], depth = [4], size = "64MiB", threads = ["1"] }]
memory = [
    { pattern = "sequential", op = ["read"], isa = ["vector"], pages = ["4KiB"], working_sets = ["128KiB", "32MiB"], working_set = "32MiB", threads = ["1"] },
    { pattern = "sequential", op = ["copy"], pages = ["4KiB"], working_sets = ["64MiB"], working_set = "64MiB", threads = ["1"] },
    { pattern = "chase", op = ["load"], pages = ["4KiB"], working_sets = ["4MiB"], working_set = "4MiB", threads = ["1"] },
]
net = [
    { protocol = ["tcp"], mode = "stream", block = ["128KiB"], threads = ["1"] },
    { protocol = ["udp"], mode = "pingpong", block = ["14B"], threads = ["1"] },
]
[sampling]
cpu = { samples = 2, per_launch = 2, sample = "20ms", warm_up = ["5ms", "10ms"], target = 0.05 }
memory = { samples = 2, per_launch = 2, sample = "20ms", warm_up = ["5ms", "10ms"], target = 0.05 }
disk = { samples = 2, per_launch = 2, sample = "50ms", warm_up = ["10ms", "20ms"], target = 0.05 }
net = { samples = 2, per_launch = 2, sample = "50ms", warm_up = ["10ms", "20ms"], target = 0.05 }
"#;

pub(crate) fn brief(scratch: &Scratch, tool: &str) -> String {
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
    format!("{} --filter {rows} --references {tool} --details", suite(scratch, BRIEF))
}

pub(crate) fn with_tools(scratch: &Scratch, arguments: &str) -> Ran {
    let mut command = command(scratch, arguments.split_whitespace());
    command.env("PATH", SEARCH_PATH).env("HOME", "/nowhere").env("OPENBLAS_NUM_THREADS", "7");
    ran(command)
}

/// The tools of a row, each with its metric.
pub(crate) fn compared(row: &Value) -> Vec<(&Value, &Value)> {
    let metrics = list(row, "metrics").iter();
    metrics.flat_map(|metric| list(metric, "references").iter().map(move |reference| (metric, reference))).collect()
}

/// The only tool of a row, and its metric.
#[track_caller]
pub(crate) fn only_one(row: &Value) -> (&Value, &Value) {
    let compared = compared(row);
    assert_eq!(compared.len(), 1, "{row:#}");
    compared[0]
}

pub(crate) fn words<'a>(reference: &'a Value, key: &str) -> Vec<&'a str> {
    list(reference, key).iter().map(|word| word.as_str().unwrap()).collect()
}

/// Asserts that a tool was measured in these pairs with a row, and that everything about it was kept.
#[track_caller]
pub(crate) fn assert_measured(scratch: &Scratch, row: &Value, pairs: usize) {
    assert!(is_verified(row), "{row:#}");
    let (metric, reference) = only_one(row);
    assert_eq!((&reference["status"], &reference["reason"]), (&json!("ok"), &Value::Null), "{reference:#}");
    let program = words(reference, "argv")[0];
    assert!(program.ends_with(text(reference, "tool")));
    let says_none = ["pmbw", "multichase"].contains(&text(reference, "tool"));
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
    assert_eq!(launches.len(), pairs, "a process run for each of ours");
    assert_judged(reference, pairs);
    assert_in_turn(ours, theirs);
    let raw = std::fs::read_to_string(only_run(scratch).join(text(reference, "raw"))).unwrap();
    let ends = 1 + usize::from(!words(reference, "server_argv").is_empty());
    let resumed = list(&document(&only_run(scratch))["run"], "resumed").len();
    // A run that was killed may have more output, of the pair that was cut off.
    let (printed, cut_off) = (raw.matches(&format!("$ {program}")).count(), ends * resumed);
    assert!((pairs * ends..=pairs * ends + cut_off).contains(&printed), "what it printed in each pair: {raw}");
}

/// Asserts that there is a verdict, and from six pairs on an interval around the ratio.
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

/// Asserts that the samples were taken in rounds of two pairs in opposite order, the very first ours before theirs.
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

/// A tool played by a shell script.
pub(crate) fn fake(scratch: &Scratch, name: &str, body: &str) -> PathBuf {
    let path = scratch.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A shell line that writes its process number to a file and hangs.
pub(crate) fn hangs(leader: &Path) -> String {
    let path = leader.display();
    format!("echo $$ >{path}.new; /bin/mv {path}.new {path}; /bin/sleep 300")
}

pub(crate) fn with_fake(scratch: &Scratch, tool: &str) -> String {
    format!("{} --tool {tool}={}", brief(scratch, tool), scratch.join(tool).display())
}

/// Asserts that a run was measured without its tool, which has this status; returns the reason.
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
    for field in ["median", "ratio", "ratio_ci95", "verdict", "explanation"] {
        assert!(reference[field].is_null(), "{reference:#}");
    }
    assert!(list(reference, "samples").is_empty());
    let how = if status == "failed" { "failed for" } else { "skipped for" };
    assert!(ran.stdout.contains(how), "the table shows it: {ran:?}");
    assert!(!names(&folder).contains(&"journal.jsonl".to_owned()));
    assert_no_orphans();
    reason
}

/// The process group of a tool that a script leads; killed when this is dropped.
pub(crate) struct Group(pub(crate) u32);

impl Group {
    /// The group whose leader has written its number to a file.
    pub(crate) fn of(leader: &Path) -> Self {
        let number = || std::fs::read_to_string(leader).ok()?.trim().parse().ok();
        Self(wait_for(PATIENCE, number).expect("a tool that has begun"))
    }

    pub(crate) fn lives(&self) -> bool {
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
