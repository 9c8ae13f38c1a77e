//! Where commands run, and whose `cargo`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Clone, Debug)]
pub struct Shell {
    root: PathBuf,
    cargo: OsString,
}

impl Shell {
    pub fn at_root() -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.parent().unwrap_or(here).to_path_buf();
        Self { root, cargo: std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()) }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where cargo puts what it builds.
    pub fn target(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.root.join("target"), |folder| self.root.join(folder))
    }

    pub fn program(&self) -> PathBuf {
        self.target().join("debug/assay")
    }

    /// A program with its arguments, to run in the root.
    pub fn command<S: AsRef<OsStr>>(&self, program: impl AsRef<OsStr>, arguments: &[S]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.root).stdin(Stdio::null());
        command
    }

    pub fn cargo(&self, arguments: &[&str]) -> Command {
        self.command(&self.cargo, arguments)
    }
}
