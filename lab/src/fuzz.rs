//! `cargo lab fuzz`: runs every fuzz target of `fuzz/`, and writes the table of executions and crashes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use xtask::process::succeeds;
use xtask::shell::Shell;

use crate::record::{with_section, write};

const PAGE: &str = "docs/evidence/security.md";
const BEGIN: &str = "<!-- fuzzing -->";
const END: &str = "<!-- end of fuzzing -->";
const HEAD: &str = "# Security: evidence\n";

pub(crate) const USAGE: &str = "fuzz [EXECUTIONS]";

const EXECUTIONS: u64 = 100_000_000;

/// Limits all memory of a target, so also each allocation, to 256 MB. `AddressSanitizer` would need more, and take twice as long.
const MEMORY: &str = "--data=256000000";

/// A fuzz target with its time in each round.
struct Target {
    name: &'static str,
    seconds: u32,
    /// The longest input in bytes.
    longest: usize,
    about: &'static str,
}

const TARGETS: &[Target] = &[
    Target { name: "messages", seconds: 120, longest: 400, about: "messages and addresses of the network protocol" },
    Target { name: "journal", seconds: 60, longest: 800, about: "journals of runs" },
    Target { name: "suites", seconds: 40, longest: 800, about: "suites and their plans" },
    Target { name: "cpuid", seconds: 60, longest: 800, about: "CPUID dumps" },
    Target { name: "outputs", seconds: 20, longest: 2000, about: "outputs of reference tools" },
    Target {
        name: "plans",
        seconds: 20,
        longest: 6000,
        about: "files of a cluster plan, and every format of its report",
    },
    Target { name: "documents", seconds: 15, longest: 16_000, about: "run documents: judged again, and every format" },
    Target { name: "machines", seconds: 30, longest: 4000, about: "files of /sys, /proc and /etc" },
];

/// What a target did in all rounds.
struct Line {
    target: &'static Target,
    executions: u64,
    seconds: f64,
    crashes: usize,
}

/// Fuzzes every target; whether none crashed.
pub(crate) fn run(shell: &Shell, arguments: &[String]) -> Result<bool, String> {
    let executions = match arguments {
        [] => Some(EXECUTIONS),
        [count] => count.parse().ok(),
        _ => None,
    };
    all(shell, executions.ok_or("EXECUTIONS is not a number")?)
}

/// Fuzzes every target in rounds until the sum is reached; whether none crashed.
fn all(shell: &Shell, executions: u64) -> Result<bool, String> {
    let folder = shell.root().join("fuzz");
    seeds(shell, &folder)?;
    let programs = build(shell)?;
    let mut lines: Vec<Line> =
        TARGETS.iter().map(|target| Line { target, executions: 0, seconds: 0.0, crashes: 0 }).collect();
    while lines.iter().map(|line| line.executions).sum::<u64>() < executions {
        for line in &mut lines {
            round(shell, &programs, line)?;
        }
        println!("{}", table(&lines));
        // An interrupted campaign keeps what it did.
        write_table(&shell.root().join(PAGE), &table(&lines))?;
        if lines.iter().any(|line| line.crashes > 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Builds every target; returns the folder of the programs.
fn build(shell: &Shell) -> Result<PathBuf, String> {
    let target = shell.target().join("fuzz");
    let words = ["run", "nightly", "cargo", "fuzz", "build", "--sanitizer", "none", "--target-dir"];
    if !succeeds(shell.command("rustup", &words).arg(&target)) {
        return Err("the targets do not build; they need nightly Rust and cargo-fuzz".to_owned());
    }
    Ok(target.join(format!("{}-unknown-linux-gnu/release", std::env::consts::ARCH)))
}

/// Runs a target for its time in a round.
fn round(shell: &Shell, programs: &Path, line: &mut Line) -> Result<(), String> {
    let target = line.target;
    let [corpus, artifacts] =
        ["corpus", "artifacts"].map(|folder| shell.root().join("fuzz").join(folder).join(target.name));
    fs::create_dir_all(&artifacts).map_err(|error| format!("cannot create {}: {error}", artifacts.display()))?;
    let mut command = shell.command("nice", &["-n", "5", "prlimit", MEMORY]);
    command.arg(programs.join(target.name)).arg(corpus).arg(format!("-artifact_prefix={}/", artifacts.display()));
    command.args([format!("-max_total_time={}", target.seconds), format!("-max_len={}", target.longest)]);
    command.args(["-timeout=10", "-print_final_stats=1"]);
    let began = Instant::now();
    let output = command.output().map_err(|error| format!("cannot start the target {}: {error}", target.name))?;
    line.seconds += began.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&output.stderr);
    line.executions += executed(&text).ok_or_else(|| format!("{} did not run:\n{text}", target.name))?;
    if !output.status.success() {
        println!("{text}");
        line.crashes += 1;
    }
    Ok(())
}

fn executed(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:")?.trim().parse().ok())
}

/// Writes the seeds of every target: the fixtures of the repository, and `fuzz/seeds`.
fn seeds(shell: &Shell, folder: &Path) -> Result<(), String> {
    let corpus = folder.join("corpus");
    let of_documents = ["test", "--quiet", "--package", "report", "--test", "seeds", "--", "--ignored"];
    if !succeeds(&mut shell.cargo(&of_documents)) {
        return Err("the documents cannot be written as seeds".to_owned());
    }
    let root = shell.root();
    let machines = root.join("crates/machine/tests/machines");
    let mut pairs: Vec<(&str, PathBuf)> = Vec::new();
    for target in ["messages", "journal", "plans"] {
        pairs.extend(files(&folder.join("seeds").join(target)).into_iter().map(|file| (target, file)));
    }
    pairs.extend(files(&root.join("crates/tools/recorded")).into_iter().map(|file| ("outputs", file)));
    pairs.extend(files(&root.join("suites")).into_iter().map(|file| ("suites", file)));
    for (target, file) in pairs {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        seed(&corpus.join(target), &name, &fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?)?;
    }
    let mut kinds = BTreeSet::new();
    for (number, machine) in folders(&machines).iter().enumerate() {
        for file in below(machine) {
            let relative = file.strip_prefix(machine).map_or_else(|_| String::new(), |path| path.display().to_string());
            let content = fs::read(&file).unwrap_or_default();
            let name = format!("{number}-{}", relative.replace('/', "-"));
            if relative == "cpuid.txt" {
                seed(&corpus.join("cpuid"), &name, &content)?;
            }
            // Files of other CPUs, disks or machines that have the same format would only make a round's start longer.
            if !kinds.insert(relative.replace(|c: char| c.is_ascii_digit(), "")) {
                continue;
            }
            let first = u8::try_from(number).unwrap_or_default();
            let whole = [&[first][..], relative.as_bytes(), b"\n", &content].concat();
            seed(&corpus.join("machines"), &name, &whole)?;
        }
    }
    Ok(())
}

fn seed(folder: &Path, name: &str, content: &[u8]) -> Result<(), String> {
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(folder.join(name), content));
    written.map_err(|error| format!("cannot write a seed to {}: {error}", folder.display()))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

fn files(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.is_file()).collect()
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.is_dir() && !path.is_symlink()).collect()
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let deeper = folders(folder).into_iter().flat_map(|inner| below(&inner));
    files(folder).into_iter().filter(|path| !path.is_symlink()).chain(deeper).collect()
}

fn row(line: &Line) -> String {
    let Line { target, executions, seconds, crashes } = line;
    let rate = *executions as f64 / seconds;
    let Target { name, about, longest, .. } = target;
    format!("| {name} | {about} | {longest} B | {executions} | {seconds:.0} | {rate:.0} | {crashes} |")
}

fn table(lines: &[Line]) -> String {
    let rows: Vec<String> = lines.iter().map(row).collect();
    let executions: u64 = lines.iter().map(|line| line.executions).sum();
    let seconds: f64 = lines.iter().map(|line| line.seconds).sum();
    let crashes: usize = lines.iter().map(|line| line.crashes).sum();
    format!(
        "| target | input | longest | executions | seconds | per second | crashes |\n|---|---|--:|--:|--:|--:|--:|\n{}\n\
         | all | | | {executions} | {seconds:.0} | {:.0} | {crashes} |\n",
        rows.join("\n"),
        executions as f64 / seconds
    )
}

fn write_table(page: &Path, table: &str) -> Result<(), String> {
    let text = fs::read_to_string(page).unwrap_or_else(|_| HEAD.to_owned());
    write(page, &with_section([BEGIN, END], &text, table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoke_executions_are_read_from_the_output() {
        let text = "#4\tDONE cov: 1\nstat::number_of_executed_units: 4711\nstat::average_exec_per_sec: 12\n";
        assert_eq!((executed(text), executed("nothing")), (Some(4711), None));
    }
}
