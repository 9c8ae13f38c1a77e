//! Calls of a scheduler's commands, with a timeout, in their own process group, and with selected variables only.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use bench::references::run::end_group;
use sys::clock::monotonic_raw_seconds;

use super::error::SchedulerError;

/// The variables for a scheduler's commands; `cli` takes them from its own environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

/// Variables with which commands of Slurm and ssh find their configuration, programs and agent. `SBATCH_…` and the other
/// `SLURM_…` would change the job.
const KEPT: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "SLURM_CONF", "SSH_AUTH_SOCK", "KRB5CCNAME"];

impl Environment {
    /// The selected ones of all variables.
    #[must_use]
    pub fn of(all: &BTreeMap<String, String>) -> Self {
        let kept = all.iter().filter(|(name, _)| KEPT.contains(&name.as_str()));
        Self(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn all(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

/// The path of a program in the environment's search path.
#[must_use]
pub fn find_program(name: &str, environment: &Environment) -> Option<PathBuf> {
    let folders = environment.get("PATH")?.split(':').filter(|folder| folder.starts_with('/'));
    folders.map(|folder| Path::new(folder).join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
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

/// How often a running command is polled.
const LOOK: Duration = Duration::from_millis(10);

/// The most bytes read of a stream: ten thousand nodes in ten partitions are 10 MB.
const MOST_BYTES: u64 = 64 << 20;

/// Runs a command with this input and waits for it.
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
    let mut child = command.spawn().map_err(|error| SchedulerError::Start(program.to_owned(), error))?;
    let (stdout, stderr) = (read_all(child.stdout.take()), read_all(child.stderr.take()));
    let writer = child.stdin.take().zip(input.map(str::to_owned)).map(|(mut stdin, text)| {
        // A program that does not read all of it reports what is missing.
        std::thread::spawn(move || drop(stdin.write_all(text.as_bytes())))
    });
    let ended = wait(&mut child, program, patience_seconds);
    if let Some(writer) = writer {
        let _ = writer.join();
    }
    let text = |reader: JoinHandle<Vec<u8>>| String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned();
    let (stdout, stderr) = (text(stdout), text(stderr));
    Ok(CommandOutput { succeeded: ended?, stdout, stderr })
}

fn wait(child: &mut Child, program: &str, patience_seconds: f64) -> Result<bool, SchedulerError> {
    let began = monotonic_raw_seconds();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) if monotonic_raw_seconds() - began <= patience_seconds => std::thread::sleep(LOOK),
            Ok(None) => {
                end_group(child.id());
                let _ = child.wait();
                return Err(SchedulerError::Timeout(program.to_owned(), patience_seconds));
            }
            Err(error) => return Err(SchedulerError::Lost(program.to_owned(), error)),
        }
    }
}

fn read_all(stream: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(stream) = stream {
            let _ = stream.take(MOST_BYTES).read_to_end(&mut bytes);
        }
        bytes
    })
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
    fn what_a_command_complains_of_is_kept() {
        let called = shell("echo a >&2; echo; echo ' b' >&2; exit 3", None, 60.0).unwrap();
        assert!(!called.succeeded);
        assert_eq!(called.complaint(), "a; b");
    }

    #[test]
    fn a_command_that_hangs_is_ended_with_all_that_it_started() {
        let sentence = shell("sleep 1000 & sleep 1000", None, 0.2).unwrap_err().to_string();
        assert!(sentence.contains("did not answer within"), "{sentence}");
    }

    #[test]
    fn a_missing_program_is_reported() {
        let sentence = call(&["assay-no-such-program"], None, &environment()).unwrap_err().to_string();
        assert!(sentence.contains("cannot start 'assay-no-such-program'"), "{sentence}");
        assert_eq!(find_program("assay-no-such-program", &environment()), None);
        assert!(find_program("sh", &environment()).is_some());
    }
}
