//! `assay references`, and files that reference tools leave.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tools::{Side, TOOLS, VersionSource};

use crate::common::{Scratch, command, document, list, names, only_run, root, rows, text};
use crate::disk::support;
use crate::references::support::{Group, IOZONE_SAYS_VERSION, fake, hangs, words};
use crate::system::family::ended_within;
use crate::system::process::{Running, signal};

/// An `IOzone` whose random reads reach 400 kB/s in records of 4 kB.
fn iozone() -> String {
    format!(
        "{IOZONE_SAYS_VERSION}\necho '  kB  reclen  write  rewrite  read  reread  read  write'\n\
         echo '  1024  4  10  20  400  60'"
    )
}

fn catalogue(scratch: &Scratch, more: &[&str]) -> (Value, Option<i32>) {
    let arguments = ["references", "--json"].into_iter().chain(more.iter().copied());
    let ran = command(scratch, arguments).env("PATH", scratch.path()).output().unwrap();
    (serde_json::from_slice(&ran.stdout).unwrap(), ran.status.code())
}

#[test]
fn every_tool_is_listed_and_those_that_are_here_are_tried() {
    let scratch = Scratch::new();
    let (listed, status) = catalogue(&scratch, &[]);
    let tools: Vec<&str> = list(&listed, "tools").iter().map(|tool| text(tool, "tool")).collect();
    let known: Vec<&str> = tools::ids().collect();
    assert_eq!((tools, status), (known, Some(0)));
    assert!(list(&listed, "tools").iter().all(|tool| tool["found"] == false && tool["check"].is_null()));
    fake(&scratch, "sysbench", "[ \"$1\" = --version ] && echo 'sysbench 1.0.20' || echo nonsense");
    fake(&scratch, "iozone", &iozone());
    let directory = scratch.path().display().to_string();
    let (tried, status) = catalogue(&scratch, &["--check", "--dir", &directory]);
    let check = |tool: &str| list(&tried, "tools").iter().find(|one| one["tool"] == tool).unwrap()["check"].clone();
    assert_eq!(check("sysbench")["status"], "failed", "{tried:#}");
    assert_eq!(
        (&check("iozone")["status"], &check("iozone")["value"]),
        (&"ok".into(), &100.0.into()),
        "400 kB in 4 kB"
    );
    assert_eq!(status, Some(1), "one of them failed");
    assert!(check("fio").is_null(), "what is not here is not tried");
}

#[test]
fn who_waits_for_a_check_sees_how_far_it_is_and_can_end_it() {
    let scratch = Scratch::new();
    let nonsense = fake(&scratch, "sysbench", "[ \"$1\" = --version ] && echo 'sysbench 1.0.20' || echo nonsense");
    let read = fake(&scratch, "iozone", &iozone());
    let here = |programs: &[&Path]| {
        let named = |path: &&Path| format!(" --tool {}={}", path.file_name().unwrap().display(), path.display());
        format!("references --check --dir {}", scratch.path().display())
            + &programs.iter().map(named).collect::<String>()
    };
    let ran = ended_within(Running::assay(&scratch, &here(&[&nonsense, &read])), Duration::from_secs(60));
    assert_eq!(ran.status, Some(1), "one of them failed: {ran:?}");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert!(matches!(lines[..], [first, _, _] if first.starts_with("trying 2 tools, about ")), "{ran:?}");
    assert!(lines.iter().any(|line| line.contains("sysbench FAILED")), "{ran:?}");
    assert!(lines.iter().any(|line| line.contains("iozone works")), "{ran:?}");
    let leader = scratch.join("leader");
    let body = format!("# STREAM version $Revision: 5.10 $\n/bin/sleep 300 & {}", hangs(&leader));
    let hanging = fake(&scratch, "stream", &body);
    let run = Running::assay(&scratch, &here(&[&hanging]));
    let group = Group::of(&leader);
    signal(run.id(), "INT");
    let ran = ended_within(run, Duration::from_secs(20));
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(130), ""), "{ran:?}");
    group.assert_gone();
}

#[test]
fn a_tool_that_lays_out_its_own_data_leaves_none_when_it_is_stopped() {
    let scratch = Scratch::new();
    let Some(directory) = support::directory(&scratch, "a tool with files of its own") else { return };
    let leader = scratch.join("leader");
    let body = format!("{IOZONE_SAYS_VERSION}\nfor file; do :; done; echo laid out >$file; {}", hangs(&leader));
    let program = fake(&scratch, "iozone", &body);
    let arguments = format!(
        "disk --pattern sequential --op read --block 64KiB --depth 1 --size 64MiB --repeat 2 --dir {} --references iozone \
         --tool iozone={}",
        directory.display(),
        program.display()
    );
    let run = Running::assay(&scratch, &arguments);
    let group = Group::of(&leader);
    signal(run.id(), "INT");
    let ran = ended_within(run, Duration::from_secs(20));
    assert_eq!(ran.status, Some(130), "{ran:?}");
    group.assert_gone();
    assert!(names(&directory).is_empty(), "{:?}", names(&directory));
    let document = document(&only_run(&scratch));
    assert_eq!(document["run"]["complete"], false);
    let reference = &list(&list(&rows(&document)[0], "metrics")[0], "references")[0];
    assert!(words(reference, "argv").contains(&"-I"), "past the cache: {reference:#}");
}

/// The lines of docs/reference/reference-tools.md that the program's table implies.
fn catalogue_of_the_docs() -> Vec<String> {
    let mut lines = Vec::new();
    for tool in TOOLS {
        let about = tool.description();
        let version = match about.version {
            VersionSource::Asked { oldest: (major, minor), .. } => format!("from {major}.{minor} on, as it says"),
            VersionSource::Written { oldest: (major, minor), .. } => {
                format!("from {major}.{minor} on, as its file says")
            }
            VersionSource::Marked { .. } => "known by its file".to_owned(),
            VersionSource::Unsaid { .. } => "known by its help".to_owned(),
        };
        let [tool, program, compared_with, equal] = [about.id, about.program, about.compared_with, about.equal];
        lines.push(format!("| {tool} | `{program}`, {version} | {compared_with} | {equal} |"));
    }
    for tool in TOOLS {
        let about = tool.description();
        for rule in about.rules {
            let side = match rule.makes_it {
                Side::Slower => "slower",
                Side::Faster => "faster",
                Side::Either => "either",
            };
            lines.push(format!("| {} | {} | {} | {side} |", about.id, rule.name, rule.when.unwrap_or("always")));
        }
    }
    lines
}

#[test]
fn the_docs_have_every_tool_and_every_rule_as_the_program_has_them() {
    let docs = std::fs::read_to_string(root().join("docs/reference/reference-tools.md")).unwrap();
    let wanted = catalogue_of_the_docs();
    let missing: Vec<&str> =
        wanted.iter().map(String::as_str).filter(|wanted| !docs.lines().any(|line| line == *wanted)).collect();
    assert!(missing.is_empty(), "docs/reference/reference-tools.md lacks these lines:\n{}", missing.join("\n"));
    let tools: Vec<&str> = tools::ids().collect();
    let catalogue = docs.split("## ").find(|section| section.starts_with("The catalogue")).unwrap();
    let rows: Vec<&str> = catalogue.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(rows.len(), tools.len(), "and no other tool");
    let rules = docs.split("## ").find(|section| section.starts_with("The rules")).unwrap();
    let rows = rules.lines().filter(|line| line.starts_with("| ")).skip(1).count();
    assert_eq!(rows + tools.len(), wanted.len(), "and no other rule");
}
