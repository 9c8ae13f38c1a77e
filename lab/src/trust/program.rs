//! The program under test, and its output.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::record::{Keeper, build, fresh_folder, machine_line};

pub(super) const RESULTS: &str = "lab/data/trust.jsonl";

#[derive(Debug)]
pub(super) struct Program {
    path: PathBuf,
    pub(super) store: PathBuf,
    root: PathBuf,
}

#[derive(Debug)]
pub(super) struct Output {
    /// Standard output, if it is JSON.
    pub(super) json: Option<Value>,
    pub(super) error: String,
}

impl Program {
    /// Builds the program; from then on every line has the machine.
    pub(super) fn build(keeper: &mut Keeper) -> Result<Self, String> {
        let path = build(keeper.shell)?;
        let root = keeper.shell.root().to_owned();
        let store = root.join(fresh_folder(&keeper.shell.target().join("trust")));
        create_folder(&store)?;
        let program = Self { path, store, root };
        let info = program.call(&["info", "--json"]).json.ok_or("assay info --json printed no JSON")?;
        keeper.add("machine", machine_line(&info["machine"]).into());
        Ok(program)
    }

    /// A command that starts the program with these arguments, through the command `prefix` if it is not empty.
    pub(super) fn through(&self, prefix: &[String], arguments: &[&str]) -> Command {
        let mut command = match prefix.split_first() {
            None => Command::new(&self.path),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(&self.path);
                command
            }
        };
        command.args(arguments).env("ASSAY_STORE", &self.store).current_dir(&self.root).stdin(Stdio::null());
        command
    }

    pub(super) fn call(&self, arguments: &[&str]) -> Output {
        output(&mut self.through(&[], arguments))
    }
}

pub(super) fn create_folder(path: &Path) -> Result<(), String> {
    std::fs::create_dir_all(path).map_err(|error| format!("cannot create {}: {error}", path.display()))
}

pub(super) fn output(command: &mut Command) -> Output {
    match command.stdout(Stdio::piped()).stderr(Stdio::piped()).output() {
        Ok(output) => {
            let error = String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned();
            Output { json: serde_json::from_slice(&output.stdout).ok(), error }
        }
        Err(error) => {
            Output { json: None, error: format!("cannot start {}: {error}", command.get_program().display()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_output_of_a_command_is_read() {
        let of = |script: &str| output(Command::new("sh").args(["-c", script]));
        let good = of("echo '{\"a\": 1}'; echo first >&2; echo last >&2; exit 3");
        assert_eq!((good.json, good.error.as_str()), (Some(json!({"a": 1})), "last"));
        assert_eq!(of("echo no; kill -9 $$").json, None);
        assert!(output(&mut Command::new("/nowhere/at/all")).error.contains("cannot start"));
    }
}
