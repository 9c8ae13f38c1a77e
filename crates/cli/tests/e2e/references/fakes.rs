//! Fake reference tools that are missing, die, print nonsense, or leave processes behind.

use std::time::Duration;

use serde_json::json;

use crate::common::{Scratch, assay, document, left_in, only_run, rows, skip, stored};
use crate::references::support::{
    Group, SAYS_VERSION, SEARCH_PATH, assert_measured, brief, fake, hangs, of_no_use, only_one, with_fake, with_tools,
    words,
};
use crate::system::family::ended_within;
use crate::system::process::{Running, has, signal};

/// Longer than any tool that does not hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

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
fn a_tool_that_fails_or_talks_nonsense_loses_its_place() {
    for (body, why, raw) in [
        ("env; echo 'oh dear' >&2; exit 3", "exited with status 3: oh dear", "LC_ALL=C"),
        ("printf '\\377\\376 nonsense \\000\\n'", "likwid-bench", "nonsense"),
        ("echo begun; kill -KILL $$", "SIGKILL", "begun"),
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
fn a_tool_that_does_not_say_its_version_is_known_by_its_file_or_its_help() {
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/recorded/stream-5.10-91MiB-serial.txt");
    let scratch = Scratch::new();
    fake(&scratch, "stream", &format!("# STREAM version $Revision: 5.10 $\n/bin/cat {recorded}"));
    let ran = assay(&scratch, &with_fake(&scratch, "stream"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = stored(&scratch);
    assert_measured(&scratch, &rows(&document)[0], 2);
    let (_, reference) = only_one(&rows(&document)[0]);
    assert_eq!((&reference["version"], &reference["env"]["OMP_NUM_THREADS"]), (&json!("5.10"), &json!("1")));
    let scratch = Scratch::new();
    fake(&scratch, "likwid-bench", "echo 'another program'");
    let ran = assay(&scratch, &with_fake(&scratch, "likwid-bench"));
    let reason = of_no_use(&scratch, &ran, "skipped");
    assert!(reason.contains("does not") || reason.contains("has no version"), "{reason}");
    assert_eq!(left_in(&only_run(&scratch)), ["run.json"], "it was never run");
}

/// A run with a tool that writes its process number to the file `leader` when it begins to hang.
fn hanging(scratch: &Scratch, before: &str) -> (Running, Group) {
    let leader = scratch.join("leader");
    fake(scratch, "likwid-bench", &format!("{SAYS_VERSION}\n{before} /bin/sleep 300 & {}", hangs(&leader)));
    let run = Running::assay(scratch, &with_fake(scratch, "likwid-bench"));
    let group = Group::of(&leader);
    (run, group)
}

#[test]
fn a_signal_ends_a_tool_and_all_that_it_has_started() {
    for (name, status, before) in [("INT", 130, ""), ("TERM", 143, "trap '' TERM INT HUP;")] {
        let scratch = Scratch::new();
        let (run, group) = hanging(&scratch, before);
        signal(run.id(), name);
        let ran = ended_within(run, Duration::from_secs(8));
        assert_eq!(ran.status, Some(status), "{ran:?}");
        group.assert_gone();
        let document = stored(&scratch);
        assert_eq!(document["run"]["complete"], false);
    }
}

#[test]
fn the_next_run_of_any_store_ends_a_tool_that_a_killed_one_left() {
    let scratch = Scratch::new();
    let (run, group) = hanging(&scratch, "");
    let others = Scratch::new();
    signal(run.id(), "KILL");
    run.output();
    let brief =
        format!("cpu --op fma --type fp64 --isa scalar --threads 1 --repeat 1 --out {}", others.join("out").display());
    assert_eq!(assay(&others, &brief).status, Some(0));
    group.assert_gone();
    assert!(only_run(&scratch).join("journal.jsonl").exists(), "the other store is left alone");
}

#[test]
fn the_next_run_ends_what_a_tool_of_a_killed_one_started_in_another_session() {
    if !has("setsid") {
        return skip("a tool's process in another session", "setsid is not installed");
    }
    let scratch = Scratch::new();
    let path = scratch.join("session");
    let (run, group) = hanging(&scratch, &format!("/usr/bin/setsid /bin/sleep 300 & echo $! >{};", path.display()));
    let session = Group::of(&path);
    signal(run.id(), "KILL");
    run.output();
    let brief = "cpu --op fma --type fp64 --isa scalar --threads 1 --repeat 1";
    assert_eq!(assay(&scratch, brief).status, Some(0));
    group.assert_gone();
    session.assert_gone();
}

#[test]
fn a_port_in_use_is_replaced_by_another() {
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
    let document = stored(&scratch);
    assert_measured(&scratch, &rows(&document)[0], 2);
    let tried = std::fs::read_to_string(tried).unwrap();
    let ports: Vec<&str> = tried.lines().map(|line| line.rsplit_once("-p").unwrap().1).collect();
    assert_eq!(ports.len(), 4, "two in vain, then one for each pair: {tried}");
    let used = words(only_one(&rows(&document)[0]).1, "server_argv").last().copied().unwrap();
    assert_eq!(used.strip_prefix("-p"), ports.last().copied(), "the reported port is the one that was used");
}
