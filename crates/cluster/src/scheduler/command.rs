//! Calls of a scheduler's commands, with a timeout, in their own process group, and with selected variables only.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use bench::references::run::end_group;

use super::error::SchedulerError;

/// The variables for a scheduler's commands; `cli` takes them from its own environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

/// For configuration, programs and agent of Slurm's commands and ssh. `SBATCH_…` and other `SLURM_…` would change the job.
const KEPT: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "SLURM_CONF", "SSH_AUTH_SOCK", "KRB5CCNAME"];

impl Environment {
    /// The selected ones of all variables.
    pub fn of(all: &BTreeMap<String, String>) -> Self {
        let kept = all.iter().filter(|(name, _)| KEPT.contains(&name.as_str()));
        Self(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn all(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

/// The path of a program in the environment's search path.
pub fn find_program(name: &str, environment: &Environment) -> Option<PathBuf> {
    let folders = environment.get("PATH")?.split(':').filter(|folder| folder.starts_with('/'));
    let is_executable = |data: Metadata| data.is_file() && data.permissions().mode() & 0o111 != 0;
    folders.map(|folder| Path::new(folder).join(name)).find(|path| path.metadata().is_ok_and(is_executable))
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CommandOutput {
    pub(super) succeeded: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl CommandOutput {
    pub(super) fn complaint(&self) -> String {
        let said = self.stderr.lines().chain(self.stdout.lines()).map(str::trim).filter(|line| !line.is_empty());
        said.collect::<Vec<_>>().join("; ")
    }
}

/// Timeout of a command. Slurm's commands wait ten seconds or longer for a busy controller, and retry.
const PATIENCE_SECONDS: f64 = 60.0;

pub(super) fn call(
    argv: &[impl AsRef<str>],
    input: Option<&str>,
    environment: &Environment,
) -> Result<CommandOutput, SchedulerError> {
    call_within(argv, input, environment, PATIENCE_SECONDS)
}

fn call_within(
    argv: &[impl AsRef<str>],
    input: Option<&str>,
    environment: &Environment,
    patience_seconds: f64,
) -> Result<CommandOutput, SchedulerError> {
    let (program, rest) = argv.split_first().ok_or(SchedulerError::NoCommand)?;
    let program = program.as_ref();
    let mut command = Command::new(find_program(program, environment).unwrap_or_else(|| PathBuf::from(program)));
    // English, because the output is parsed.
    command
        .args(rest.iter().map(AsRef::as_ref))
        .env_clear()
        .envs(environment.all())
        .env("LC_ALL", "C")
        .process_group(0);
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let (sender, ended) = mpsc::channel();
    let (hand, child) = mpsc::channel::<Child>();
    let text = input.map(str::to_owned);
    let cannot_start = |error| SchedulerError::Start(program.to_owned(), error);
    // Before the program: without this thread its output would not be read.
    std::thread::Builder::new()
        .spawn(move || {
            let Ok(mut child) = child.recv() else { return };
            if let Some((mut stdin, text)) = child.stdin.take().zip(text) {
                // A program that does not read all of it reports what is missing.
                let _ = stdin.write_all(text.as_bytes());
            }
            let _ = sender.send(child.wait_with_output());
        })
        .map_err(cannot_start)?;
    let child = command.spawn().map_err(cannot_start)?;
    let id = child.id();
    let _ = hand.send(child);
    let Ok(output) = ended.recv_timeout(Duration::from_secs_f64(patience_seconds)) else {
        end_group(id);
        let _ = ended.recv();
        return Err(SchedulerError::Timeout(program.to_owned(), patience_seconds));
    };
    let output = output.map_err(|error| SchedulerError::Lost(program.to_owned(), error))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(CommandOutput { succeeded: output.status.success(), stdout: text(&output.stdout), stderr: text(&output.stderr) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        let given = [("PATH", "/usr/bin:/bin"), ("SBATCH_PARTITION", "x"), ("HOME", "/h"), ("SLURM_HINT", "y")];
        Environment::of(&given.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
    }

    fn shell(script: &str, input: Option<&str>, patience: f64) -> Result<CommandOutput, SchedulerError> {
        call_within(&["sh", "-c", script], input, &environment(), patience)
    }

    #[test]
    fn a_command_is_called_with_nothing_but_what_is_named() {
        let called = shell("cat; env | sort", Some("read\n"), 60.0).unwrap();
        let lines: Vec<&str> = called.stdout.lines().filter(|line| !line.starts_with("_=")).collect();
        assert!(called.succeeded);
        let others: Vec<&&str> =
            lines.iter().filter(|line| !line.starts_with("PWD=") && !line.contains("SHLVL")).collect();
        assert_eq!(others, [&"read", &"HOME=/h", &"LC_ALL=C", &"PATH=/usr/bin:/bin"]);
    }

    #[test]
    fn a_command_that_fails_hangs_or_is_missing_is_reported() {
        let called = shell("echo a >&2; echo; echo ' b' >&2; exit 3", None, 60.0).unwrap();
        assert_eq!((called.succeeded, called.complaint().as_str()), (false, "a; b"));
        // It is ended with all that it started.
        let sentence = shell("sleep 1000 & sleep 1000", None, 0.2).unwrap_err().to_string();
        assert!(sentence.contains("did not answer within"), "{sentence}");
        let sentence = call(&["assay-no-such-program"], None, &environment()).unwrap_err().to_string();
        assert!(sentence.contains("cannot start 'assay-no-such-program'"), "{sentence}");
        assert_eq!(find_program("assay-no-such-program", &environment()), None);
        assert!(find_program("sh", &environment()).is_some());
    }
}
