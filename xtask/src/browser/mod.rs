//! The report's pages in a real browser: those of made-up runs and clusters and of a run of this machine, driven by
//! `tests/browser/page.mjs` through Chromium, with axe-core's rules of accessibility.
//!
//! What it needs in addition to Chromium and Node comes from npm, in the versions of `tests/browser/package-lock.json`, into
//! `target/browser`; nothing of it is in the repository. Pictures and PDFs of the pages stay there to be looked at.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use xtask::process::{announce, succeeds};
use xtask::set_up::has;
use xtask::shell::Shell;
use xtask::tally::Tally;

use crate::test_runs::build;

/// Where what drives the browser is.
const FOLDER: &str = "tests/browser";

/// The tests that write the pages of made-up runs and clusters, and where they do, in what cargo builds into. `--tests`, as
/// for every other pass: with fewer targets cargo would build dependencies once more.
const WRITERS: [&str; 8] =
    ["test", "--workspace", "--exclude=lab", "--tests", "--", "--exact", "pages_for_the_browser", "--ignored"];
const PAGES: &str = "tmp/pages";

/// What the run of this machine may take.
const BUDGET: &str = "25s";

const NEEDED: [&str; 3] = ["chromium", "node", "npm"];

pub(crate) fn run(shell: &Shell) -> Tally {
    if let Some(missing) = NEEDED.iter().find(|program| !has(program, "--version")) {
        return Tally::skip(format!("the page in a browser: no {missing} here (as root: cargo xtask set-up)"));
    }
    let home = shell.target().join("browser");
    if let Err(why) = install(shell, &home) {
        return Tally::skip(format!("the page in a browser: {why}"));
    }
    if !build(shell) {
        return Tally::failure("browser: the program does not compile");
    }
    let pages = match pages(shell, &home) {
        Ok(pages) => pages,
        Err(why) => return Tally::failure(format!("browser: {why}")),
    };
    drive(shell, &home, &pages)
}

fn install(shell: &Shell, home: &Path) -> Result<(), String> {
    let no_folder = |error: std::io::Error| format!("{} cannot be made: {error}", home.display());
    std::fs::create_dir_all(home).map_err(no_folder)?;
    let folder = shell.root().join(FOLDER);
    let (lock, have) = (folder.join("package-lock.json"), home.join("node_modules/.package-lock.json"));
    let is_new = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified()).ok();
    if have.exists() && is_new(&have) > is_new(&lock) {
        return Ok(());
    }
    for name in ["package.json", "package-lock.json"] {
        std::fs::copy(folder.join(name), home.join(name)).map_err(no_folder)?;
    }
    let mut npm = shell.command("npm", &["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    if succeeds(npm.current_dir(home)) { Ok(()) } else { Err("its packages cannot be had from npm".to_owned()) }
}

fn pages(shell: &Shell, home: &Path) -> Result<Vec<PathBuf>, String> {
    let folder = shell.target().join(PAGES);
    for old in [&folder, &home.join("run")] {
        let _ = std::fs::remove_dir_all(old);
    }
    std::fs::create_dir_all(&folder).map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
    if !succeeds(shell.cargo(&WRITERS).stdout(Stdio::null())) {
        return Err("the pages of made-up documents cannot be written".to_owned());
    }
    let run = home.join("run");
    let run_path = run.display().to_string();
    // A row may fail on a machine without a disk to measure: the document is there all the same.
    let mut measured = shell.command(shell.program(), &["run", "--time-budget", BUDGET, "--quiet", "--out", &run_path]);
    let _ = succeeds(measured.stdout(Stdio::null()));
    let page = folder.join("0-this-machine.html");
    let page_path = page.display().to_string();
    if !succeeds(&mut shell.command(shell.program(), &["report", &run_path, "-o", &page_path])) {
        return Err("the page of a run of this machine cannot be written".to_owned());
    }
    let entries = std::fs::read_dir(&folder).map_err(|error| error.to_string())?;
    let mut pages: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    pages.sort();
    Ok(pages)
}

fn drive(shell: &Shell, home: &Path, pages: &[PathBuf]) -> Tally {
    let script = shell.root().join(FOLDER).join("page.mjs");
    let mut command = shell.command("node", &[script, home.to_path_buf(), home.join("pictures")]);
    command.args(pages);
    announce(&command);
    let output = match command.stderr(Stdio::inherit()).output() {
        Ok(output) => output,
        Err(error) => return Tally::failure(format!("browser: node cannot be started: {error}")),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    let mut tally = read(&said);
    if !output.status.success() && tally.failed == 0 {
        tally.add(Tally::failure(format!("browser: node ended with {}", output.status)));
    }
    tally
}

/// Counts lines that begin with `ok` or `FAILED`; nothing at all is a failure.
fn read(said: &str) -> Tally {
    let mut tally = Tally::default();
    for line in said.lines() {
        if let Some(what) = line.strip_prefix("FAILED ") {
            tally.add(Tally::failure(format!("browser: {what}")));
        } else if line.starts_with("ok ") {
            tally.passed += 1;
        }
    }
    if tally == Tally::default() {
        return Tally::failure("browser: nothing was checked");
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_browser_says_is_counted() {
        let tally = read("note Chromium 150\nok one\nFAILED two: why\nok three\n");
        assert_eq!((tally.passed, tally.failed), (2, 1));
        assert_eq!(tally.failures, ["browser: two: why"]);
        assert_eq!(read("note nothing\n").failed, 1, "silence is no success");
    }
}
