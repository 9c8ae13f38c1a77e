//! `cargo lab fuzz`: runs every fuzz target of `fuzz/`, and writes the table of executions and crashes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use xtask::process::succeeds;
use xtask::shell::Shell;

use crate::record::{with_section, write};

const PAGE: &str = "docs/evidence/security.md";
const BEGIN: &str = "<!-- fuzzing -->";
const END: &str = "<!-- end of fuzzing -->";
const HEAD: &str = "# Security: evidence\n";

pub(crate) const USAGE: &str = "fuzz [EXECUTIONS]";

const EXECUTIONS: u64 = 1_000_000;

/// A fuzz target with its thousandths of all executions, which follow its speed.
struct Target {
    name: &'static str,
    share: u64,
    about: &'static str,
}

const TARGETS: &[Target] = &[
    Target { name: "messages", share: 560, about: "messages and addresses of the network protocol" },
    Target { name: "journal", share: 150, about: "journals of runs" },
    Target { name: "suites", share: 170, about: "suites and their plans" },
    Target { name: "cpuid", share: 80, about: "CPUID dumps" },
    Target { name: "outputs", share: 25, about: "outputs of reference tools" },
    Target { name: "plans", share: 10, about: "files of a cluster plan, and every format of its report" },
    Target { name: "documents", share: 4, about: "run documents: judged again, and every format" },
    Target { name: "machines", share: 1, about: "files of /sys, /proc and /etc" },
];

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

fn all(shell: &Shell, executions: u64) -> Result<bool, String> {
    let folder = shell.root().join("fuzz");
    seeds(shell, &folder)?;
    if !succeeds(&mut fuzz(shell, &["build"])) {
        return Err("the targets do not build; they need nightly Rust and cargo-fuzz".to_owned());
    }
    let mut lines = Vec::new();
    for target in TARGETS {
        let line = one(shell, &folder, target, (executions * target.share / 1000).max(1))?;
        println!("{}", row(&line));
        lines.push(line);
        // An interrupted campaign keeps what it did.
        write_table(&shell.root().join(PAGE), &table(&lines))?;
    }
    Ok(lines.iter().all(|line| line.crashes == 0))
}

fn fuzz(shell: &Shell, arguments: &[&str]) -> Command {
    let command = ["-n", "10", "rustup", "run", "nightly", "cargo", "fuzz"];
    shell.command("nice", &[&command[..], arguments].concat())
}

fn one(shell: &Shell, folder: &Path, target: &'static Target, executions: u64) -> Result<Line, String> {
    let runs = format!("-runs={executions}");
    let limits = ["-rss_limit_mb=1024", "-malloc_limit_mb=256", "-timeout=10", "-print_final_stats=1"];
    let arguments = [&["run", target.name, "--", &runs][..], &limits].concat();
    let crashes_before = files(&folder.join("artifacts").join(target.name)).len();
    let began = Instant::now();
    let output = fuzz(shell, &arguments).output().map_err(|error| format!("cannot start cargo fuzz: {error}"))?;
    let seconds = began.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&output.stderr);
    let executions = executed(&text).ok_or_else(|| format!("{} did not run:\n{text}", target.name))?;
    if !output.status.success() {
        println!("{text}");
    }
    let crashes = files(&folder.join("artifacts").join(target.name)).len().saturating_sub(crashes_before);
    Ok(Line { target, executions, seconds, crashes: crashes.max(usize::from(!output.status.success())) })
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
    for (number, machine) in folders(&machines).iter().enumerate() {
        for file in below(machine) {
            let relative = file.strip_prefix(machine).map_or_else(|_| String::new(), |path| path.display().to_string());
            let content = fs::read(&file).unwrap_or_default();
            let name = format!("{number}-{}", relative.replace('/', "-"));
            if relative == "cpuid.txt" {
                seed(&corpus.join("cpuid"), &name, &content)?;
            }
            let first = u8::try_from(number).unwrap_or_default();
            let whole = [&[first][..], relative.as_bytes(), b"\n", &content].concat();
            seed(&corpus.join("machines"), &name, &whole)?;
        }
    }
    Ok(())
}

/// Longer seeds make every execution slow.
const LONGEST_SEED: usize = 16_000;

fn seed(folder: &Path, name: &str, content: &[u8]) -> Result<(), String> {
    let content = &content[..content.len().min(LONGEST_SEED)];
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
    format!("| {} | {} | {executions} | {seconds:.0} | {crashes} |", target.name, target.about)
}

fn table(lines: &[Line]) -> String {
    let rows: Vec<String> = lines.iter().map(row).collect();
    let executions: u64 = lines.iter().map(|line| line.executions).sum();
    let seconds: f64 = lines.iter().map(|line| line.seconds).sum();
    let crashes: usize = lines.iter().map(|line| line.crashes).sum();
    format!(
        "| target | input | executions | seconds | crashes |\n|---|---|--:|--:|--:|\n{}\n| all | | {executions} | {seconds:.0} | {crashes} |\n",
        rows.join("\n")
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
    fn smoke_executions_are_read_from_the_output_and_shared_out() {
        let text = "#4\tDONE cov: 1\nstat::number_of_executed_units: 4711\nstat::average_exec_per_sec: 12\n";
        assert_eq!((executed(text), executed("nothing")), (Some(4711), None));
        assert_eq!(TARGETS.iter().map(|target| target.share).sum::<u64>(), 1000);
    }
}
