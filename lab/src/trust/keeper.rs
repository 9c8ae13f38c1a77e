use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::Value;

use super::line::Line;
use xtask::shell::Shell;

pub(super) const RESULTS: &str = "lab/data/trust.jsonl";

pub(super) struct Keeper<'a> {
    pub(super) shell: &'a Shell,
    common: Vec<(String, Value)>,
    pub(super) kept: u32,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(shell: &'a Shell) -> Result<Self, String> {
        let said = |program: &str, arguments: &[&str]| {
            let output = shell.command(program, arguments).output().ok().filter(|output| output.status.success());
            output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let when = said("date", &["-u", "+%Y-%m-%dT%H:%M:%SZ"]).ok_or("cannot tell the time: date failed")?;
        let changed =
            said("git", &["status", "--porcelain", "--untracked-files=no"]).is_none_or(|text| !text.is_empty());
        let commit = said("git", &["rev-parse", "--short", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
        let git = if changed { format!("{commit}, changed") } else { commit };
        let common = vec![("batch".to_owned(), when.into()), ("git".to_owned(), git.into())];
        Ok(Self { shell, common, kept: 0 })
    }

    pub(super) fn carry(&mut self, key: &str, value: impl Into<Value>) {
        self.common.retain(|(kept, _)| kept != key);
        self.common.push((key.to_owned(), value.into()));
    }

    pub(super) fn keep(&mut self, result: &Value) -> Result<(), String> {
        let line = Line::new(&self.common, result);
        let path = self.shell.root().join(RESULTS);
        let written = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(format!("{}\n", line.text()).as_bytes()));
        written.map_err(|error| format!("cannot add a line to {}: {error}", path.display()))?;
        self.kept += 1;
        Ok(())
    }

    pub(super) fn fresh_folder(&self) -> PathBuf {
        let beside = self.shell.target().join("trust");
        let numbers = 1..=u32::MAX;
        numbers.map(|number| beside.join(number.to_string())).find(|path| !path.exists()).unwrap_or(beside)
    }
}
