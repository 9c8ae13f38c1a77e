//! What a reference tool finds when we start it, compared with a start by hand as in the document, and what it leaves.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tools::{FOLDER, TOOLS, VersionSource};

use crate::common::{Scratch, command, document, list, only_run, ran, rows, skip, stored, text};
use crate::disk::support;
use crate::references::support::{
    Group, IPERF3_SAYS_VERSION, SAYS_VERSION, SEARCH_PATH, brief_rows, compared, fake, hangs, of_no_use, only_one,
    with_fake, with_tools, words,
};
use crate::system::family::ended_within;
use crate::system::process::{Running, has, signal};

/// Ticks of the CPU clock (0.01 s) that all our processes may take in a second of a tool's: 5 % of one CPU.
const OUR_TICKS: u64 = 5;

/// A script that appends all that it can see of how it was started to a file.
fn recording(into: &Path) -> String {
    format!(
        "{{ echo run; /usr/bin/tr '\\000' ' ' </proc/$$/cmdline; echo\n\
         /usr/bin/env | /usr/bin/sort | /bin/grep -v -e '^PWD=' -e '^OLDPWD=' -e '^SHLVL=' -e '^_='\n\
         /bin/grep -E '^(Umask|Cpus_allowed_list|Mems_allowed_list|NoNewPrivs|Seccomp|Sig(Blk|Ign)|Cap.*):' /proc/$$/status\n\
         /usr/bin/cut -d' ' -f18,19,40,41 /proc/$$/stat\n\
         /bin/cat /proc/$$/limits /proc/$$/oom_score_adj; /bin/cat /proc/$$/timerslack_ns 2>/dev/null\n\
         /usr/bin/readlink /proc/$$/fd/0; /bin/ls /proc/$$/fd; /bin/ls -A; }} 2>&1 | \
         /bin/sed \"s|$PWD|{FOLDER}|g\" >>{}",
        into.display()
    )
}

/// What a script recorded, by run.
fn recorded(from: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(from).unwrap();
    text.split("run\n").filter(|run| !run.is_empty()).map(str::to_owned).collect()
}

/// Starts the command of the document by hand, with its environment and CPUs, in an empty folder.
fn by_hand(scratch: &Scratch, reference: &Value, cpus: &[Value]) {
    let folder = scratch.join("by-hand");
    std::fs::create_dir(&folder).unwrap();
    let cpus: Vec<String> = cpus.iter().map(Value::to_string).collect();
    let mut line = Command::new("taskset");
    line.arg("-c").arg(cpus.join(",")).arg("/usr/bin/env").arg("-i");
    for (name, value) in reference["env"].as_object().unwrap() {
        line.arg(format!("{name}={}", value.as_str().unwrap().replace(FOLDER, folder.to_str().unwrap())));
    }
    line.args(words(reference, "argv")).current_dir(&folder).stdin(Stdio::null()).output().unwrap();
}

/// A record without the ignored signals 32 and 33: `posix_spawn` of glibc, with which this test starts programs, ignores them for
/// a moment, and they stay ignored.
fn plain(record: &str) -> String {
    let of_line = |line: &str| match line.strip_prefix("SigIgn:").map(|mask| u64::from_str_radix(mask.trim(), 16)) {
        Some(Ok(mask)) => format!("SigIgn: {:x}", mask & !(0b11 << 31)),
        _ => line.to_owned(),
    };
    record.lines().map(of_line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_tool_finds_what_it_finds_when_it_is_started_by_hand() {
    if !has("taskset") {
        return skip("a tool by hand", "taskset is not installed");
    }
    let scratch = Scratch::new();
    let into = scratch.join("recorded");
    fake(&scratch, "likwid-bench", &format!("{SAYS_VERSION}\n{}; exit 3", recording(&into)));
    let ran = with_tools(&scratch, &with_fake(&scratch, "likwid-bench"));
    assert!(of_no_use(&scratch, &ran, "failed").contains("exited with status 3"));
    let document = document(&only_run(&scratch));
    let row = &rows(&document)[0];
    by_hand(&scratch, only_one(row).1, list(&row["conditions"], "cpus"));
    let runs = recorded(&into);
    let (hand, ours) = runs.split_last().unwrap();
    assert!(hand.contains("Cpus_allowed_list:") && hand.contains("Max open files"), "{hand}");
    assert!(!ours.is_empty());
    for ours in ours {
        assert_eq!(plain(ours), plain(hand), "what it finds under us, and by hand");
    }
}

#[test]
fn nothing_of_ours_runs_while_a_tool_runs() {
    let scratch = Scratch::new();
    let into = scratch.join("ticks");
    // The CPU time of the process that started the tool and of its workers.
    let ticks = "/bin/cat /proc/[0-9]*/stat 2>/dev/null | /usr/bin/awk -v p=$PPID -v me=$$ \
                 '$2 ~ /^.(assay|qemu-)/ && ($1 == p || $4 == p && $1 != me) {t += $14 + $15} END {print t + 0}'";
    let body = format!("before=$({ticks}); /bin/sleep 1; echo $before $({ticks}) >>{}; exit 3", into.display());
    fake(&scratch, "likwid-bench", &format!("{SAYS_VERSION}\n{body}"));
    let ran = with_tools(&scratch, &with_fake(&scratch, "likwid-bench"));
    of_no_use(&scratch, &ran, "failed");
    let seen = std::fs::read_to_string(into).unwrap();
    assert!(!seen.is_empty());
    for line in seen.lines() {
        let ticks: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
        let [before, after] = ticks[..] else { panic!("{line}") };
        assert!(before > 0, "it was measured: a sample of ours stands before the tool, {seen}");
        assert!(after - before <= OUR_TICKS, "ours ran for {} ms of its second", 10 * (after - before));
    }
}

/// The line that makes a script pass for a tool.
fn passes_for(version: VersionSource) -> String {
    match version {
        VersionSource::Asked { argument, prefix, oldest: (major, minor) } => {
            format!("[ \"$1\" = {argument} ] && {{ echo '{prefix}{major}.{minor}'; exit; }}")
        }
        VersionSource::Written { prefix, oldest: (major, minor) } => format!("# {prefix}{major}.{minor} "),
        VersionSource::Marked(words) => format!("# {words}"),
        VersionSource::Unsaid { argument, help } => format!("[ \"$1\" = {argument} ] && {{ echo '{help}'; exit 1; }}"),
    }
}

#[test]
fn a_run_with_every_tool_ends_well_whatever_they_do() {
    let scratch = Scratch::new();
    let Some(directory) = support::directory(&scratch, "a run with every tool") else { return };
    let programs = scratch.join("programs");
    std::fs::create_dir(&programs).unwrap();
    for tool in TOOLS {
        let about = tool.description();
        let script =
            fake(&scratch, about.program, &format!("{}\necho 'out of order' >&2; exit 3", passes_for(about.version)));
        std::fs::rename(script, programs.join(about.program)).unwrap();
    }
    let arguments = format!("{} --dir {}", brief_rows(&scratch, "**", "all"), directory.display());
    let mut command = command(&scratch, arguments.split_whitespace());
    command.env("PATH", &programs);
    let ran = ran(command);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = stored(&scratch);
    let all: Vec<(&Value, &Value)> = rows(&document).iter().flat_map(compared).collect();
    let failed: BTreeSet<&str> = all
        .iter()
        .filter(|(_, reference)| text(reference, "reason").contains("out of order"))
        .map(|(_, reference)| text(reference, "tool"))
        .collect();
    // All but tools for linear equations, single requests, and round trips from 16 B on.
    let mut elsewhere = BTreeSet::from(["hpl", "hpcc", "xlinpack", "ioping", "iozone", "ping"]);
    if cfg!(not(target_arch = "x86_64")) {
        elsewhere.insert("pmbw");
    }
    let known: BTreeSet<&str> = tools::ids().collect();
    let missing: BTreeSet<&str> = known.difference(&failed).copied().collect();
    assert_eq!(missing, elsewhere, "each ran with the rows that it compares with");
    assert!(all.iter().all(|(_, reference)| reference["status"] != "ok"));
}

#[test]
fn a_signal_while_a_servers_client_runs_ends_both_ends_and_takes_their_folders_away() {
    let scratch = Scratch::new();
    let leader = scratch.join("leader");
    let places = scratch.join("places");
    // A server that listens through the real one, and a client that hangs.
    if !has("iperf3") {
        return skip("both ends of a tool", "iperf3 is not installed");
    }
    let body = format!(
        "{IPERF3_SAYS_VERSION}\necho $PWD >>{}\n[ \"$1\" = -s ] && PATH={SEARCH_PATH} exec iperf3 \"$@\"\n{}",
        places.display(),
        hangs(&leader)
    );
    fake(&scratch, "iperf3", &body);
    let run = Running::assay(&scratch, &with_fake(&scratch, "iperf3"));
    let group = Group::of(&leader);
    signal(run.id(), "INT");
    let ran = ended_within(run, Duration::from_secs(20));
    assert_eq!(ran.status, Some(130), "{ran:?}");
    group.assert_gone();
    let places = std::fs::read_to_string(places).unwrap();
    assert_eq!(places.lines().count(), 2, "a folder for each end: {places}");
    assert!(places.lines().all(|place| !Path::new(place).exists()), "{places}");
}
