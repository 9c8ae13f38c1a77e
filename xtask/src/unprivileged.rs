//! The program's tests once more as a user without any right: what works for root alone is found here.
//!
//! The test programs are built as usual and then run as `nobody` from a folder of its own, with a home, a temporary
//! folder and nothing else of the environment. The sources stay where they are, so `nobody` must be able to read them.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::builds::{Built, program_folder};
use crate::harness::{does_not_compile, twice};
use crate::passes::{User, passes};
use crate::set_up::is_root;
use crate::shell::{Shell, is_there};
use crate::tally::Tally;

/// The user and group that own nothing, by their number, since the name is not everywhere.
const NOBODY: u32 = 65534;

/// Builds the program's tests and runs them as `nobody`.
pub(crate) fn run(shell: &Shell) -> Tally {
    if !is_root() {
        println!("this user has no rights: the program's tests ran so already");
        return Tally::default();
    }
    let sources = program_folder(shell);
    if !is_there(as_nobody(shell, Path::new("cat")).arg(sources.join("Cargo.toml"))) {
        let why = "setpriv is missing, or nobody cannot read the sources";
        return Tally::skip(format!("the program's tests as an unprivileged user: {why}"));
    }
    let Some(built) = Built::now(shell) else { return does_not_compile("unprivileged-tests") };
    let tests: Vec<&Path> = built.of_program(shell).into_iter().map(|tests| tests.executable.as_path()).collect();
    match Sandbox::new(&built.program, &tests) {
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

/// A folder that belongs to `nobody`, with copies of the programs; gone when dropped.
struct Sandbox {
    folder: PathBuf,
    program: PathBuf,
    tests: Vec<PathBuf>,
}

impl Sandbox {
    fn new(program: &Path, tests: &[&Path]) -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("assay-unprivileged-{}", std::process::id()));
        let sandbox = Self {
            program: folder.join("assay"),
            tests: (0..tests.len()).map(|index| folder.join(format!("tests-{index}"))).collect(),
            folder,
        };
        for folder in [&sandbox.folder, &sandbox.home(), &sandbox.temporary()] {
            fs::create_dir(folder)?;
            chown(folder, Some(NOBODY), Some(NOBODY))?;
        }
        fs::copy(program, &sandbox.program)?;
        fs::set_permissions(&sandbox.program, Permissions::from_mode(0o755))?;
        for (from, to) in tests.iter().zip(&sandbox.tests) {
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

    /// Runs every test program in the folder in which cargo would, but for the tests that are the same for everybody.
    fn run(&self, shell: &Shell, sources: &Path) -> Tally {
        let mut tally = Tally::default();
        for (tests, pass) in self.tests.iter().flat_map(|tests| passes(User::Nobody).map(|pass| (tests, pass))) {
            let command = || {
                let mut command = as_nobody(shell, tests);
                command.current_dir(sources).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
                command.env("CARGO_MANIFEST_DIR", sources).env("ASSAY_TEST_BINARY", &self.program);
                command.env("HOME", self.home()).env("TMPDIR", self.temporary());
                command
            };
            tally.add(twice(shell, &command, &pass, &self.folder, "unprivileged-tests"));
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
    fn a_sandbox_leaves_nothing_behind() {
        if !is_root() {
            return;
        }
        let folder = {
            let sandbox = Sandbox::new(Path::new("/proc/self/exe"), &[]).unwrap();
            assert!(sandbox.home().is_dir() && sandbox.program.is_file());
            sandbox.folder.clone()
        };
        assert!(!folder.exists());
    }
}
