//! The program's tests once more as a user without any right: what works for root alone is found here.
//!
//! The test programs are built as usual and then run as `nobody` from a folder of its own, with a home, a temporary
//! folder and nothing else of the environment. The sources stay where they are, so `nobody` must be able to read them.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::count;
use crate::set_up::is_root;
use crate::shell::{Shell, is_there, output};
use crate::tally::Tally;

/// The user and group that own nothing, by their number, since the name is not everywhere.
const NOBODY: u32 = 65534;

/// Builds the program's tests and runs them as `nobody`.
pub(crate) fn run(shell: &Shell) -> Tally {
    if !is_root() {
        println!("this user has no rights: the program's tests ran so already");
        return Tally::default();
    }
    let sources = shell.root().join("crates/cli");
    if !is_there(as_nobody(shell, Path::new("cat")).arg(sources.join("Cargo.toml"))) {
        let why = "setpriv is missing, or nobody cannot read the sources";
        return Tally::skip(format!("the program's tests as an unprivileged user: {why}"));
    }
    let Some(built) = build(shell) else { return Tally::check(false) };
    match Sandbox::new(&built) {
        Ok(sandbox) => sandbox.run(shell, &sources),
        Err(error) => Tally::skip(format!("the program's tests as an unprivileged user: {error}")),
    }
}

/// A command that runs a program as `nobody`, for good.
fn as_nobody(shell: &Shell, program: &Path) -> Command {
    let identity = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
    let mut command = shell.command("setpriv", &identity);
    command.args(["--clear-groups", "--no-new-privs", "--"]).arg(program);
    command
}

/// What cargo built: the program, and the programs that test it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Built {
    program: PathBuf,
    tests: Vec<PathBuf>,
}

/// Builds the program and its tests; `None` where that fails.
fn build(shell: &Shell) -> Option<Built> {
    let messages = |arguments: &[&str]| output(shell.cargo(arguments).arg("--message-format=json"));
    let program = messages(&["build", "--quiet", "--package", "assay"])?;
    let tests = messages(&["test", "--quiet", "--package", "assay", "--no-run"])?;
    let built = read_messages(&(program + &tests));
    (!built.program.as_os_str().is_empty()).then_some(built)
}

/// Reads what was built from cargo's messages, one JSON object a line.
fn read_messages(messages: &str) -> Built {
    let mut built = Built::default();
    for message in messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let Some(executable) = message["executable"].as_str().map(PathBuf::from) else { continue };
        if message["profile"]["test"].as_bool() == Some(true) {
            built.tests.push(executable);
        } else if message["target"]["name"].as_str() == Some("assay") {
            built.program = executable;
        }
    }
    built
}

/// A folder that belongs to `nobody`, with copies of the programs; gone when dropped.
struct Sandbox {
    folder: PathBuf,
    program: PathBuf,
    tests: Vec<PathBuf>,
}

impl Sandbox {
    fn new(built: &Built) -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("assay-unprivileged-{}", std::process::id()));
        let sandbox = Self {
            program: folder.join("assay"),
            tests: (0..built.tests.len()).map(|index| folder.join(format!("tests-{index}"))).collect(),
            folder,
        };
        for folder in [&sandbox.folder, &sandbox.home(), &sandbox.temporary()] {
            fs::create_dir(folder)?;
            chown(folder, Some(NOBODY), Some(NOBODY))?;
        }
        fs::copy(&built.program, &sandbox.program)?;
        fs::set_permissions(&sandbox.program, Permissions::from_mode(0o755))?;
        for (from, to) in built.tests.iter().zip(&sandbox.tests) {
            fs::copy(from, to)?;
        }
        Ok(sandbox)
    }

    fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    fn temporary(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    /// Runs every test program, one test at a time, in the folder in which cargo would.
    fn run(&self, shell: &Shell, sources: &Path) -> Tally {
        let mut tally = Tally::default();
        for tests in &self.tests {
            let mut command = as_nobody(shell, tests);
            command.arg("--test-threads=1").current_dir(sources).env_clear();
            command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("CARGO_MANIFEST_DIR", sources);
            command.env("HOME", self.home()).env("TMPDIR", self.temporary()).env("ASSAY_TEST_BINARY", &self.program);
            tally.add(count(shell, &mut command, &self.folder, "unprivileged-tests"));
        }
        tally
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            println!("left behind: {}: {error}", self.folder.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargos_messages_are_read() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"assay"},"profile":{"test":false},"executable":"/t/assay"}
{"reason":"compiler-artifact","target":{"name":"libc"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","target":{"name":"run"},"profile":{"test":true},"executable":"/t/deps/run-1"}
{"reason":"build-finished","success":true}
"#;
        let expected = Built { program: "/t/assay".into(), tests: vec!["/t/deps/run-1".into()] };
        assert_eq!(read_messages(messages), expected);
    }

    #[test]
    fn a_sandbox_leaves_nothing_behind() {
        if !is_root() {
            return;
        }
        let folder = {
            let built = Built { program: "/proc/self/exe".into(), tests: Vec::new() };
            let sandbox = Sandbox::new(&built).unwrap();
            assert!(sandbox.home().is_dir() && sandbox.program.is_file());
            sandbox.folder.clone()
        };
        assert!(!folder.exists());
    }
}
