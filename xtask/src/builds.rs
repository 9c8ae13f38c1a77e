//! What the tests need built: the program and every program of tests, by one command of cargo.
//!
//! Cargo chooses the features of the crates that are shared by what it is asked to build: `--package assay` and
//! `--workspace` build most of them anew for each other. So every step takes what this one command has built.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::shell::{Shell, output};

/// What cargo builds for `cargo test`.
const BUILD: [&str; 5] = ["test", "--workspace", "--no-run", "--quiet", "--message-format=json-render-diagnostics"];

/// A program of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tests {
    /// The crate's folder, in which cargo runs its tests.
    pub(crate) folder: PathBuf,
    pub(crate) executable: PathBuf,
}

/// The program, and the programs of tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Built {
    pub(crate) program: PathBuf,
    tests: Vec<Tests>,
}

impl Built {
    /// Builds what has changed; `None` where something does not compile.
    pub(crate) fn now(shell: &Shell) -> Option<Self> {
        let built = Self::read(&output(&mut shell.cargo(&BUILD))?);
        (!built.program.as_os_str().is_empty() && !built.tests.is_empty()).then_some(built)
    }

    /// Reads what was built from cargo's messages, one JSON object a line.
    fn read(messages: &str) -> Self {
        let mut built = Self::default();
        for message in messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let Some(executable) = message["executable"].as_str().map(PathBuf::from) else { continue };
            let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
            if message["profile"]["test"].as_bool() == Some(true) {
                let folder = manifest.parent().unwrap_or(manifest).to_path_buf();
                built.tests.push(Tests { folder, executable });
            } else if message["target"]["name"].as_str() == Some("assay") {
                built.program = executable;
            }
        }
        built
    }

    /// The tests of the program.
    pub(crate) fn of_program(&self, shell: &Shell) -> Vec<&Tests> {
        let folder = program_folder(shell);
        self.tests.iter().filter(|tests| tests.folder == folder).collect()
    }

    /// The tests of every other crate.
    pub(crate) fn of_crates(&self, shell: &Shell) -> Vec<&Tests> {
        let folder = program_folder(shell);
        self.tests.iter().filter(|tests| tests.folder != folder).collect()
    }
}

/// The folder of the crate that the program is of.
pub(crate) fn program_folder(shell: &Shell) -> PathBuf {
    shell.root().join("crates/cli")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargos_messages_are_read() {
        let shell = Shell::at_root();
        let root = shell.root().display().to_string();
        let messages = r#"{"reason":"compiler-artifact","manifest_path":"ROOT/crates/cli/Cargo.toml","target":{"name":"assay"},"profile":{"test":false},"executable":"/t/assay"}
{"reason":"compiler-artifact","manifest_path":"/c/libc/Cargo.toml","target":{"name":"libc"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","manifest_path":"ROOT/crates/cli/Cargo.toml","target":{"name":"e2e"},"profile":{"test":true},"executable":"/t/deps/e2e-1"}
{"reason":"compiler-artifact","manifest_path":"ROOT/crates/stats/Cargo.toml","target":{"name":"stats"},"profile":{"test":true},"executable":"/t/deps/stats-1"}
{"reason":"build-finished","success":true}
"#;
        let built = Built::read(&messages.replace("ROOT", &root));
        assert_eq!(built.program, Path::new("/t/assay"));
        let executables =
            |tests: Vec<&Tests>| -> Vec<PathBuf> { tests.into_iter().map(|tests| tests.executable.clone()).collect() };
        assert_eq!(executables(built.of_program(&shell)), [Path::new("/t/deps/e2e-1")]);
        assert_eq!(executables(built.of_crates(&shell)), [Path::new("/t/deps/stats-1")]);
    }
}
