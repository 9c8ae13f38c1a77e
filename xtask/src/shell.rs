//! Running other programs: never through a shell, never with a standard input, always said aloud.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where commands run, and whose `cargo`.
#[derive(Clone, Debug)]
pub(crate) struct Shell {
    root: PathBuf,
    cargo: std::ffi::OsString,
}

impl Shell {
    /// Commands run in the root of the repository.
    pub(crate) fn at_root() -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.parent().unwrap_or(here).to_path_buf();
        Self { root, cargo: std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()) }
    }

    /// The root of the repository.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where cargo puts what it builds.
    pub(crate) fn target(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.root.join("target"), |folder| self.root.join(folder))
    }

    /// A program with its arguments, to run in the root.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, program: impl AsRef<OsStr>, arguments: &[S]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.root).stdin(Stdio::null());
        command
    }

    /// `cargo` with these arguments.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        self.command(&self.cargo, arguments)
    }
}

/// Runs a command whose output goes where ours goes; whether it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    announce(command);
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            println!("cannot start {}: {error}", command.get_program().display());
            false
        }
    }
}

/// Runs a command in silence; whether it succeeded. For asking whether something is there.
pub(crate) fn is_there(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Runs a command and returns what it wrote to its standard output, if it succeeded.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    announce(command);
    let output = command.stderr(Stdio::inherit()).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// Says what is about to run, as a reader could type it.
pub(crate) fn announce(command: &Command) {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line: Vec<String> = words.map(|word| word.display().to_string()).collect();
    println!("$ {}", line.join(" "));
}
