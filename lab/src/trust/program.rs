//! The program under test and its output.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use xtask::process::succeeds;
use xtask::shell::Shell;

use super::keeper::Keeper;

#[derive(Debug)]
pub(super) struct Program {
    path: PathBuf,
    pub(super) store: PathBuf,
    root: PathBuf,
}

#[derive(Debug)]
pub(super) struct Said {
    pub(super) json: Option<Value>,
    pub(super) complaint: String,
}

impl Program {
    pub(super) fn build(keeper: &mut Keeper) -> Result<Self, String> {
        let shell = keeper.shell;
        if !succeeds(&mut shell.cargo(&["build", "--release", "--quiet", "--package", "assay"])) {
            return Err("the program does not build".to_owned());
        }
        let path = absolute(shell, &shell.target().join("release/assay"));
        let store = absolute(shell, &keeper.fresh_folder());
        std::fs::create_dir_all(&store).map_err(|error| format!("cannot make {}: {error}", store.display()))?;
        let program = Self { path, store, root: shell.root().to_owned() };
        let info = program.call(&["info", "--json"]).json.ok_or("assay info --json printed no JSON")?;
        keeper.carry("machine", machine(&info["machine"]));
        Ok(program)
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(arguments);
        self.prepare(command)
    }

    pub(super) fn through(&self, through: &[String], arguments: &[&str]) -> Command {
        let Some((first, rest)) = through.split_first() else { return self.command(arguments) };
        let mut command = Command::new(first);
        command.args(rest).arg(&self.path).args(arguments);
        self.prepare(command)
    }

    fn prepare(&self, mut command: Command) -> Command {
        command.env("ASSAY_STORE", &self.store).current_dir(&self.root).stdin(Stdio::null());
        command
    }

    pub(super) fn call(&self, arguments: &[&str]) -> Said {
        said(&mut self.command(arguments))
    }
}

fn absolute(shell: &Shell, path: &Path) -> PathBuf {
    shell.root().join(path)
}

pub(super) fn said(command: &mut Command) -> Said {
    match command.stdout(Stdio::piped()).stderr(Stdio::piped()).output() {
        Ok(output) => {
            let complaints = String::from_utf8_lossy(&output.stderr);
            Said {
                json: serde_json::from_slice(&output.stdout).ok(),
                complaint: complaints.lines().last().unwrap_or_default().to_owned(),
            }
        }
        Err(error) => {
            Said { json: None, complaint: format!("cannot start {}: {error}", command.get_program().display()) }
        }
    }
}

fn machine(machine: &Value) -> String {
    let cpu = &machine["cpu"];
    let name =
        cpu["model_name"].as_str().unwrap_or("unknown processor").split_whitespace().collect::<Vec<_>>().join(" ");
    let cores = cpu["cores"].as_u64().map(|cores| format!(", {cores} cores")).unwrap_or_default();
    let memory = machine["memory"]["total_bytes"].as_f64();
    let memory = memory.map(|bytes| format!(", {:.0} GiB", bytes / f64::from(1 << 30))).unwrap_or_default();
    let hypervisor = machine["virtualization"]["hypervisor"].as_str();
    let hypervisor = hypervisor.map_or_else(|| ", no hypervisor".to_owned(), |name| format!(", {name} guest"));
    format!("{name}{cores}{memory}{hypervisor}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_command_says_is_read() {
        let said = |script: &str| said(Command::new("sh").args(["-c", script]));
        let good = said("echo '{\"a\": 1}'; echo first >&2; echo last >&2; exit 3");
        assert_eq!((good.json, good.complaint.as_str()), (Some(json!({"a": 1})), "last"));
        let bad = said("echo no; kill -9 $$");
        assert_eq!(bad.json, None);
        assert!(super::said(&mut Command::new("/nowhere/at/all")).complaint.contains("cannot start"));
    }

    #[test]
    fn a_machine_is_a_line() {
        let told = json!({"cpu": {"model_name": "Some  CPU", "cores": 2}, "memory": {"total_bytes": 4_294_967_296_u64},
                          "virtualization": {"hypervisor": "KVM"}});
        assert_eq!(machine(&told), "Some CPU, 2 cores, 4 GiB, KVM guest");
        assert_eq!(machine(&json!({})), "unknown processor, no hypervisor");
    }
}
