//! `cargo lab replay`: discovers machines that other projects recorded, compares the result with what those projects
//! state, and writes docs/evidence/discovery.md. The recordings are read from git directories, `OWNER+NAME/repo`.

mod case;
mod cpuinfo;
mod facts;
mod hwloc;
mod libcpuid;
mod lscpu;

use std::fmt::Write as _;
use std::path::Path;

use xtask::shell::Shell;

use self::case::{Case, read};
use self::facts::Facts;
use crate::record::{distinct, write};
use crate::source::{Source, Sources};

pub(crate) const USAGE: &str = "replay SOURCES_FOLDER";
const PAGE: &str = "docs/evidence/discovery.md";
const EXPLAINED: &str = "lab/data/replay.tsv";

/// How one fact of a machine compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Equal,
    Unknown,
    Explained,
    Wrong,
}

/// Differences with their reason, found in the recording.
#[derive(Debug)]
struct Explained {
    data: String,
    /// The machine, or the beginning of several names and `*`.
    machine: String,
    /// One or several, separated by commas.
    facts: String,
    reason: String,
}

impl Explained {
    fn fits(&self, case: &Case, fact: &str) -> bool {
        let machine = self.machine.strip_suffix('*');
        let is_machine = machine.map_or(case.name == self.machine, |start| case.name.starts_with(start));
        is_machine && case.data == self.data && self.facts.split(", ").any(|one| one == fact)
    }
}

pub(crate) fn run(shell: &Shell, arguments: &[String]) -> Result<bool, String> {
    let [folder] = arguments else { return Err("one folder of sources is needed".to_owned()) };
    replay(Path::new(folder), shell.root())
}

/// Compares all machines and writes the page; whether every difference is explained, and every explanation needed.
fn replay(folder: &Path, root: &Path) -> Result<bool, String> {
    let sources = Sources { folder: folder.to_owned(), transcribed: root.join("lab/data") };
    let scratch = std::env::temp_dir().join(format!("assay-lab-replay-{}", std::process::id()));
    let projects: [(&str, &str, fn(&Source, &Path) -> Result<Vec<Case>, String>); 4] = [
        ("open-mpi/hwloc", "BSD-3-Clause", hwloc::cases),
        ("anrieff/libcpuid", "BSD-2-Clause", libcpuid::cases),
        ("util-linux/util-linux", "GPL-2.0-or-later", lscpu::cases),
        ("pytorch/cpuinfo", "BSD-2-Clause", cpuinfo::cases),
    ];
    let (mut cases, mut labels) = (Vec::new(), Vec::new());
    for (name, licence, read_cases) in projects {
        let source = sources.open(name, licence, "HEAD")?;
        let place = scratch.join(name.replace('/', "+"));
        let read = std::fs::create_dir_all(&place).map_err(|error| error.to_string());
        let read = read.and_then(|()| read_cases(&source, &place));
        let _ = std::fs::remove_dir_all(&scratch);
        cases.extend(read?);
        labels.push(source.label());
    }
    let explained = explained(&root.join(EXPLAINED))?;
    let outcomes = outcomes(&cases, &explained);
    for (case, fact, outcome) in outcomes.iter().filter(|(_, _, outcome)| *outcome != Outcome::Equal) {
        let value = |facts: &Facts| facts.0.get(fact).cloned().unwrap_or_else(|| "unknown".to_owned());
        let (stated, found) = (value(&case.stated), value(&case.found));
        println!("{outcome:?}: {}, {}, {fact}: stated {stated}, found {found}", case.data, case.name);
    }
    let is_needed = |entry: &&Explained| {
        outcomes.iter().any(|(case, fact, outcome)| *outcome == Outcome::Explained && entry.fits(case, fact))
    };
    let stale: Vec<&Explained> = explained.iter().filter(|entry| !is_needed(entry)).collect();
    for entry in &stale {
        println!("{EXPLAINED}: nothing to explain: {}, {}, {}", entry.data, entry.machine, entry.facts);
    }
    let holds = stale.is_empty() && outcomes.iter().all(|(_, _, outcome)| *outcome != Outcome::Wrong);
    let page = page(&cases, &outcomes, &explained, &labels);
    println!("{page}");
    write(&root.join(PAGE), &page)?;
    Ok(holds)
}

/// Every fact that a project states of a machine.
fn outcomes<'c>(cases: &'c [Case], explained: &[Explained]) -> Vec<(&'c Case, &'static str, Outcome)> {
    let of = |case: &Case, fact: &str| match (case.stated.0.get(fact), case.found.0.get(fact)) {
        (stated, found) if stated == found => Outcome::Equal,
        (_, None) => Outcome::Unknown,
        _ if explained.iter().any(|entry| entry.fits(case, fact)) => Outcome::Explained,
        _ => Outcome::Wrong,
    };
    let stated = |case: &'c Case| {
        facts::NAMES
            .into_iter()
            .filter(|fact| case.stated.0.contains_key(fact))
            .map(move |fact| (case, fact, of(case, fact)))
    };
    cases.iter().flat_map(stated).collect()
}

fn explained(path: &Path) -> Result<Vec<Explained>, String> {
    let lines = read(path)?;
    let lines = lines.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let entry = |line: &str| {
        let mut cells = line.split('\t').map(str::to_owned);
        Some(Explained { data: cells.next()?, machine: cells.next()?, facts: cells.next()?, reason: cells.next()? })
    };
    lines.map(|line| entry(line).ok_or_else(|| format!("{EXPLAINED}: not four cells: {line}"))).collect()
}

fn page(cases: &[Case], outcomes: &[(&Case, &str, Outcome)], explained: &[Explained], labels: &[String]) -> String {
    let row = |title: &str, of: &[Outcome]| {
        let number = |outcome| of.iter().filter(|one| **one == outcome).count();
        let numbers = [Outcome::Equal, Outcome::Unknown, Outcome::Explained, Outcome::Wrong].map(number);
        format!("| {title} | {} | {} |\n", of.len(), numbers.map(|number| number.to_string()).join(" | "))
    };
    let with = |outcome| {
        let has = |case: &&Case| outcomes.iter().any(|(of, _, one)| std::ptr::eq(*of, *case) && *one == outcome);
        cases.iter().filter(has).count()
    };
    let agree = cases.len()
        - cases
            .iter()
            .filter(|case| outcomes.iter().any(|(of, _, one)| std::ptr::eq(*of, *case) && *one != Outcome::Equal))
            .count();
    let mut page = format!(
        "# Discovery: evidence\n\nWritten by `cargo lab replay SOURCES_FOLDER`.\n\n{} recorded machines are read from public test data, \
         and none is stored here:\n{}.\n\nEach fact that a project states of a machine is compared with what discovery finds. \
         {agree} machines agree in every fact.\n{} have a fact that discovery reports as unknown, and {} a difference whose cause was \
         found in the recording (explained).\n\n",
        cases.len(),
        labels.join(",\n"),
        with(Outcome::Unknown),
        with(Outcome::Explained),
    );
    page += "| recordings | fact | machines | equal | unknown | explained | wrong |\n|---|---|--:|--:|--:|--:|--:|\n";
    for data in distinct(cases.iter().map(|case| &case.data)) {
        for fact in facts::NAMES {
            let of = outcomes.iter().filter(|(case, name, _)| case.data == *data && *name == fact);
            let of: Vec<Outcome> = of.map(|(_, _, outcome)| *outcome).collect();
            if !of.is_empty() {
                page += &row(&format!("{data} | {fact}"), &of);
            }
        }
    }
    page += &row("all |", &outcomes.iter().map(|(_, _, outcome)| *outcome).collect::<Vec<_>>());
    page += "\nCaches are compared by number and by the sum of their sizes. libcpuid states the cores of one package. Many of its \
             dumps hold one CPU of\nseveral: the numbers of cores and CPUs are unknown then, because CPUID counts those that a package \
             may have.\n\n\
             | recordings | machine | facts | why they differ |\n|---|---|---|---|\n";
    for Explained { data, machine, facts, reason } in explained {
        let _ = writeln!(page, "| {data} | `{machine}` | {facts} | {reason} |");
    }
    page
}
