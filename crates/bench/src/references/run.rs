//! Running a tool as it was told: alone in its process group, with nothing of our environment, no longer than it may,
//! and with its server beside it. Whatever happens becomes a value, and nothing is left running.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use sys::clock::monotonic_raw_seconds;
use sys::process::{signal_name, stop_signal};
use tools::{FOLDER, Invocation, NeededFile, NeededSetting, Output, OwnFolder, PORT, Server};

use super::error::RunError;
use super::lasting::Lasting;
use super::listening::{free_port, is_listened_at};
use super::own_files::Files;
use super::own_folder::Folder;

/// How often we look whether we are to stop. Waking up costs the measured CPUs some microseconds each time.
const LOOK_AROUND: Duration = Duration::from_millis(100);
/// How often we look whether a server listens: nothing is measured yet.
const LISTEN_LOOK: Duration = Duration::from_millis(5);
/// Seconds until a server must listen. They need milliseconds.
const LISTEN_SECONDS: f64 = 5.0;
/// Seconds between a request to end and the end.
const GRACE_SECONDS: f64 = 1.0;
/// Looks, [`LISTEN_LOOK`] apart, until the streams of a program that has ended must be closed: as long.
const GRACE_LOOKS: u32 = 200;
/// Bytes of each of a tool's streams that are kept: megabytes more than any of them prints.
const KEPT_BYTES: usize = 4 << 20;
/// Ports that are tried when others are quicker to take them.
const PORTS_TRIED: u32 = 5;

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ran {
    /// What the tool printed and how it ended.
    pub output: Output,
    /// Its command line, with the port that was used.
    pub argv: Vec<String>,
    /// Its whole environment, in which [`FOLDER`] stands for the path of its folder.
    pub env: BTreeMap<String, String>,
    /// What it found in its own folder: texts by the names of their files.
    pub files: BTreeMap<&'static str, String>,
    /// Its server's command line; empty without one.
    pub server_argv: Vec<String>,
    /// Its server's whole environment.
    pub server_env: BTreeMap<String, String>,
    /// What the server printed, both streams.
    pub server_output: String,
    /// Seconds from start to end.
    pub seconds: f64,
}

impl Ran {
    /// Exactly what was called, with which environment, and what was printed, as one text for the run's folder.
    pub fn raw(&self) -> String {
        let files: Vec<String> = self.files.iter().map(|(name, text)| format!("# {name}\n{text}\n")).collect();
        let (files, called) = (files.concat(), self.argv.join(" "));
        let env = told("environment", &self.env);
        let mut text = format!("{env}{files}$ {called}\n{}{}", self.output.stdout, self.output.stderr);
        if !self.server_argv.is_empty() {
            let (env, called) = (told("environment of the server", &self.server_env), self.server_argv.join(" "));
            text = format!("{text}\n{env}$ {called}\n{}", self.server_output);
        }
        text
    }
}

/// An environment under its title; nothing for an empty one.
fn told(title: &str, env: &BTreeMap<String, String>) -> String {
    let lines: Vec<String> = env.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    if lines.is_empty() { String::new() } else { format!("# {title}\n{}\n", lines.concat()) }
}

/// Runs a tool, after its server where it has one. `on_start` hears of everything that is to be ended or taken
/// away, should we be killed meanwhile.
///
/// # Errors
/// One sentence: a file or a setting is not as it must be, a program cannot be started, took too long, or was stopped
/// with us. A tool that fails by itself is no error: its output says so.
pub fn run(invocation: &Invocation, on_start: &mut dyn FnMut(Lasting<'_>)) -> Result<Ran, RunError> {
    invocation.files.iter().try_for_each(check)?;
    invocation.settings.iter().try_for_each(check_setting)?;
    let Some(server) = &invocation.server else {
        let ran = client(invocation, &invocation.argv, on_start)?;
        return match &invocation.otherwise {
            Some(other) if ran.output.status != Some(0) && ran.output.stderr.contains(other.when_it_says) => {
                client(invocation, &other.argv, on_start)
            }
            _ => Ok(ran),
        };
    };
    let mut last = String::new();
    for _ in 0..PORTS_TRIED {
        let port = free_port(server.listens_for)
            .map_err(|error| RunError::NoServer(format!("there is no free port: {error}")))?;
        match listening(server, port, on_start)? {
            Listening::Yes(mut running) => {
                let mut ran = client(invocation, &with_port(&invocation.argv, port), on_start)?;
                running.end();
                (ran.server_argv, ran.server_output) = (with_port(&server.argv, port), running.printed());
                ran.server_env.clone_from(&server.env);
                return Ok(ran);
            }
            Listening::PortTaken(said) => last = said,
        }
    }
    let reason = format!("{PORTS_TRIED} ports were taken by others before the server could listen: {last}");
    Err(RunError::NoServer(reason))
}

/// A file must be there in full, so that no tool can want to make or extend it.
fn check(file: &NeededFile) -> Result<(), RunError> {
    let sentence = |what: &str| RunError::NotReady(format!("'{}' is not given to a tool: {what}", file.path.display()));
    let metadata = file.path.metadata().map_err(|error| sentence(&error.to_string()))?;
    if !metadata.is_file() {
        return Err(sentence("it is no regular file"));
    }
    if metadata.len() < file.bytes {
        return Err(sentence(&format!("it has {} B, not {} B", metadata.len(), file.bytes)));
    }
    Ok(())
}

/// What a tool would set otherwise must be as it wants it, so that it changes nothing.
fn check_setting(setting: &NeededSetting) -> Result<(), RunError> {
    let sentence =
        |what: &str| RunError::NotReady(format!("the tool is not run: it would change '{}', {what}", setting.path));
    let found = std::fs::read_to_string(setting.path)
        .map_err(|error| sentence(&format!("of which it is not known how it stands ({error})")))?;
    if found.split_whitespace().any(|word| setting.one_of.contains(&word)) {
        return Ok(());
    }
    Err(sentence(&format!("which says '{}' and not {}", found.trim(), setting.one_of.join(" or "))))
}

fn with_port(argv: &[String], port: u16) -> Vec<String> {
    argv.iter().map(|word| word.replace(PORT, &port.to_string())).collect()
}

/// What became of a server.
enum Listening {
    Yes(Running),
    PortTaken(String),
}

fn listening(server: &Server, port: u16, on_start: &mut dyn FnMut(Lasting<'_>)) -> Result<Listening, RunError> {
    let argv = with_port(&server.argv, port);
    let mut running = Running::start(&OwnFolder::default(), &argv, &server.env, &server.cpus)?;
    on_start(Lasting::Process(running.child.id()));
    let began = monotonic_raw_seconds();
    while monotonic_raw_seconds() - began < LISTEN_SECONDS {
        if stop_signal().is_some() {
            return Err(stopped(&argv));
        }
        let status = running.status()?;
        // Asked in this order: a server that is gone may have left its port to another.
        if status.is_none() && is_listened_at(port, server.listens_for) {
            return Ok(Listening::Yes(running));
        }
        if status.is_some() {
            running.end();
            let said = running.printed();
            return if said.to_lowercase().contains("in use") {
                Ok(Listening::PortTaken(Output { stdout: said, ..Output::default() }.complaint()))
            } else {
                let said = Output { stdout: said, ..Output::default() }.complaint();
                Err(RunError::NoServer(format!("the server '{}' did not stay: {said}", argv.join(" "))))
            };
        }
        std::thread::sleep(LISTEN_LOOK);
    }
    let reason = format!("the server '{}' did not listen within {LISTEN_SECONDS} s", argv.join(" "));
    Err(RunError::NoServer(reason))
}

fn client(invocation: &Invocation, argv: &[String], on_start: &mut dyn FnMut(Lasting<'_>)) -> Result<Ran, RunError> {
    let began = monotonic_raw_seconds();
    let folder = invocation.folder.clone().unwrap_or_default();
    let own_files = invocation.own_files.as_ref().map(|wanted| Files::make(wanted, on_start)).transpose()?;
    let argv = own_files.as_ref().map_or_else(|| argv.to_vec(), |files| files.named_in(argv));
    let mut running = Running::start(&folder, &argv, &invocation.env, &invocation.cpus)?;
    on_start(Lasting::Process(running.child.id()));
    let status = loop {
        if let Some(status) = running.wait(LOOK_AROUND)? {
            break status;
        }
        if stop_signal().is_some() {
            return Err(stopped(&argv));
        }
        if monotonic_raw_seconds() - began > invocation.timeout_seconds {
            running.end();
            let said = running.output(None).complaint();
            let (program, seconds) = (&argv[0], invocation.timeout_seconds);
            return Err(RunError::TimedOut(format!("'{program}' took longer than {seconds:.0} s: {said}")));
        }
    };
    let seconds = monotonic_raw_seconds() - began;
    running.end();
    let mut output = running.output(Some(status));
    if let Some(name) = folder.results {
        output.stdout.push_str(&running.folder.text(name, KEPT_BYTES));
    }
    if let Some(signal) = status.signal() {
        output.stderr = format!("{}\nended by {}\n", output.stderr, signal_name(signal));
    }
    Ok(Ran { output, argv, env: invocation.env.clone(), files: folder.files, seconds, ..Ran::default() })
}

fn stopped(argv: &[String]) -> RunError {
    let program = argv.first().map_or("", String::as_str);
    RunError::Stopped(format!("'{program}' was stopped with the run"))
}

/// A program in its own process group; the whole group is ended and the program waited for when this is dropped.
struct Running {
    /// Where it runs: gone with this, after the group.
    folder: Folder,
    child: Child,
    streams: [Stream; 2],
    status: Option<ExitStatus>,
}

/// What one of its streams has said so far.
struct Stream {
    kept: Arc<Mutex<Vec<u8>>>,
    closed: Receiver<()>,
}

impl Stream {
    fn listen(mut from: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (sender, closed) = mpsc::channel();
        let ours = Arc::clone(&kept);
        std::thread::spawn(move || {
            let mut piece = [0; 16 << 10];
            loop {
                let length = match from.read(&mut piece) {
                    Ok(0) => break,
                    Ok(length) => length,
                    // A signal that one of our handlers took is not the end of what a tool says.
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(_) => break,
                };
                let mut kept = ours.lock().unwrap_or_else(PoisonError::into_inner);
                let room = KEPT_BYTES.saturating_sub(kept.len());
                kept.extend_from_slice(&piece[..length.min(room)]);
            }
            sender.send(())
        });
        Self { kept, closed }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Running {
    /// Starts it in a folder of its own, whose path stands in the environment where [`FOLDER`] does.
    fn start(
        wanted: &OwnFolder,
        argv: &[String],
        env: &BTreeMap<String, String>,
        cpus: &[u32],
    ) -> Result<Self, RunError> {
        let not_started = RunError::NotStarted;
        let (program, rest) =
            argv.split_first().ok_or_else(|| not_started("a tool without a program cannot be started".to_owned()))?;
        let folder = Folder::make(wanted)?;
        let path = folder.path().display().to_string();
        let mut command = Command::new(program);
        command.args(rest).env_clear().process_group(0).current_dir(folder.path());
        command.envs(env.iter().map(|(name, value)| (name, value.replace(FOLDER, &path))));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A child inherits the CPUs of the thread that starts it, so a thread of its own starts it.
        let spawned = std::thread::scope(|scope| {
            let starter = scope.spawn(|| {
                if !cpus.is_empty() {
                    sys::affinity::restrict_to(cpus)?;
                }
                command.spawn()
            });
            starter.join().unwrap_or_else(|_| Err(std::io::Error::other("the thread that starts it is gone")))
        });
        let mut child = spawned.map_err(|error| not_started(format!("cannot start '{program}': {error}")))?;
        let streams = (child.stdout.take().map(Stream::listen), child.stderr.take().map(Stream::listen));
        let (Some(stdout), Some(stderr)) = streams else {
            return Err(not_started(format!("cannot hear '{program}'")));
        };
        Ok(Self { folder, child, streams: [stdout, stderr], status: None })
    }

    /// Its status, if it has left.
    fn status(&mut self) -> Result<Option<ExitStatus>, RunError> {
        if self.status.is_none() {
            self.status =
                self.child.try_wait().map_err(|error| RunError::NotStarted(format!("a tool is lost: {error}")))?;
        }
        Ok(self.status)
    }

    /// Waits a while; its status, if it has left.
    fn wait(&mut self, at_most: Duration) -> Result<Option<ExitStatus>, RunError> {
        // Its standard output closes when it leaves, and that is heard at once; where something else keeps it open, or
        // it was closed before, the time passes.
        if self.streams[0].closed.recv_timeout(at_most).is_ok() {
            for _ in 0..10 {
                if let Some(status) = self.status()? {
                    return Ok(Some(status));
                }
                std::thread::sleep(LISTEN_LOOK);
            }
        } else if self.status()?.is_none() {
            std::thread::sleep(LISTEN_LOOK);
        }
        self.status()
    }

    /// Ends it, and all of its group, if they are still there.
    fn end(&mut self) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // While the program has not been waited for, its number cannot belong to anybody else. Afterwards its group is
        // signalled only if a member still holds a stream open, and so keeps the number taken.
        if self.status.is_none() {
            signal(group, Signal::TERM);
            let began = monotonic_raw_seconds();
            while matches!(self.status(), Ok(None)) && monotonic_raw_seconds() - began < GRACE_SECONDS {
                std::thread::sleep(LISTEN_LOOK);
            }
            if self.status.is_none() {
                signal(group, Signal::KILL);
                self.status = self.child.wait().ok();
            }
        }
        let closed = |stream: &Stream| Arc::strong_count(&stream.kept) == 1;
        // Looks are counted and not seconds: a guest that stood still has not given its threads that time.
        for _ in 0..GRACE_LOOKS {
            if self.streams.iter().all(closed) {
                break;
            }
            std::thread::sleep(LISTEN_LOOK);
        }
        if !self.streams.iter().all(closed) {
            signal(group, Signal::KILL);
        }
    }

    fn output(&self, status: Option<ExitStatus>) -> Output {
        let [stdout, stderr] = &self.streams;
        Output { stdout: stdout.text(), stderr: stderr.text(), status: status.and_then(|status| status.code()) }
    }

    fn printed(&self) -> String {
        self.streams.iter().map(Stream::text).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ends the group that this process leads, at once.
pub fn end_group(leader: u32) {
    signal(i32::try_from(leader).ok().and_then(Pid::from_raw), Signal::KILL);
}

fn signal(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        // A group that is gone is what was wanted.
        let _ = kill_process_group(group, signal);
    }
}
