//! Runs a tool and its server: own session, clean environment, timeout. Nothing is left running.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use sys::clock::monotonic_raw_seconds;
use sys::process::{session, signal_name, stop_signal};
use tools::{FOLDER, Invocation, NeededFile, NeededSetting, Otherwise, Output, OwnFolder, PORT, Server};

use super::listening::{free_port, is_listened_at};
use super::own::{Files, Folder, Lasting};

/// Poll interval for stop signals; waking up costs the measured CPUs microseconds.
const LOOK_AROUND: Duration = Duration::from_millis(100);
const LISTEN_LOOK: Duration = Duration::from_millis(5);
const LISTEN_SECONDS: f64 = 5.0;
const GRACE_SECONDS: f64 = 1.0;
/// Polls until the streams of an ended program must be closed.
const GRACE_LOOKS: u32 = 200;
const KEPT_BYTES: usize = 4 << 20;
const PORTS_TRIED: u32 = 5;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ran {
    pub(crate) output: Output,
    pub(crate) argv: Vec<String>,
    /// Environment, with [`FOLDER`] as a placeholder.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) files: BTreeMap<&'static str, String>,
    pub(crate) server_argv: Vec<String>,
    pub(crate) server_env: BTreeMap<String, String>,
    pub(crate) server_output: String,
    pub(crate) seconds: f64,
}

impl Ran {
    /// Command lines, environments and outputs as one text, for the run's folder.
    pub(crate) fn raw(&self) -> String {
        let files: Vec<String> = self.files.iter().map(|(name, text)| format!("# {name}\n{text}\n")).collect();
        let (files, called) = (files.concat(), self.argv.join(" "));
        let env = titled("environment", &self.env);
        let mut text = format!("{env}{files}$ {called}\n{}{}", self.output.stdout, self.output.stderr);
        if !self.server_argv.is_empty() {
            let (env, called) = (titled("environment of the server", &self.server_env), self.server_argv.join(" "));
            text = format!("{text}\n{env}$ {called}\n{}", self.server_output);
        }
        text
    }
}

fn titled(title: &str, env: &BTreeMap<String, String>) -> String {
    let lines: Vec<String> = env.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    if lines.is_empty() { String::new() } else { format!("# {title}\n{}\n", lines.concat()) }
}

/// Runs a tool, after its server. `on_start` receives what must be cleaned up. A tool that fails by itself is no error.
pub(crate) fn run(invocation: &Invocation, on_start: &mut dyn FnMut(Lasting<'_>)) -> Result<Ran, String> {
    invocation.files.iter().try_for_each(check)?;
    invocation.settings.iter().try_for_each(check_setting)?;
    let Some(server) = &invocation.server else {
        let ran = client(invocation, &invocation.argv, on_start)?;
        let failed =
            |other: &&Otherwise| ran.output.status != Some(0) && ran.output.stderr.contains(other.when_it_says);
        let retry = invocation.otherwise.as_ref().filter(failed);
        return retry.map_or_else(|| Ok(ran.clone()), |other| client(invocation, &other.argv, on_start));
    };
    let mut last = String::new();
    for _ in 0..PORTS_TRIED {
        let port = free_port(server.listens_for).map_err(|error| format!("no port is free: {error}"))?;
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
    Err(format!("other processes took {PORTS_TRIED} ports before the server could listen: {last}"))
}

/// A file must exist at full size, so that no tool creates or extends it.
fn check(file: &NeededFile) -> Result<(), String> {
    let sentence = |what: &str| format!("the file '{}' is not suitable for the tool: {what}", file.path.display());
    match file.path.metadata() {
        Err(error) => Err(sentence(&error.to_string())),
        Ok(found) if !found.is_file() => Err(sentence("it is not a regular file")),
        Ok(found) if found.len() < file.bytes => {
            Err(sentence(&format!("it has {} B, not {} B", found.len(), file.bytes)))
        }
        Ok(_) => Ok(()),
    }
}

/// A setting must already be as the tool would set it.
fn check_setting(setting: &NeededSetting) -> Result<(), String> {
    let sentence = |what: &str| format!("the tool is not run: it would change '{}', {what}", setting.path);
    let found =
        std::fs::read_to_string(setting.path).map_err(|error| sentence(&format!("which cannot be read ({error})")))?;
    if found.split_whitespace().any(|word| setting.one_of.contains(&word)) {
        return Ok(());
    }
    Err(sentence(&format!("which is '{}' and not {}", found.trim(), setting.one_of.join(" or "))))
}

fn with_port(argv: &[String], port: u16) -> Vec<String> {
    argv.iter().map(|word| word.replace(PORT, &port.to_string())).collect()
}

enum Listening {
    Yes(Running),
    PortTaken(String),
}

fn listening(server: &Server, port: u16, on_start: &mut dyn FnMut(Lasting<'_>)) -> Result<Listening, String> {
    let argv = with_port(&server.argv, port);
    let mut running = Running::start(&OwnFolder::default(), &argv, &server.env, &server.cpus)?;
    on_start(Lasting::Process(running.child.id()));
    let began = monotonic_raw_seconds();
    while monotonic_raw_seconds() - began < LISTEN_SECONDS {
        if stop_signal().is_some() {
            return Err(stopped(&argv));
        }
        let status = running.status()?;
        // In this order: an ended server may have left its port to another process.
        if status.is_none() && is_listened_at(port, server.listens_for) {
            return Ok(Listening::Yes(running));
        }
        if status.is_some() {
            running.end();
            let said = Output { stdout: running.printed(), ..Output::default() };
            let complaint = said.complaint();
            if said.stdout.to_lowercase().contains("in use") {
                return Ok(Listening::PortTaken(complaint));
            }
            return Err(format!("the server '{}' exited early: {complaint}", argv.join(" ")));
        }
        std::thread::sleep(LISTEN_LOOK);
    }
    Err(format!("the server '{}' did not listen within {LISTEN_SECONDS} s", argv.join(" ")))
}

fn client(invocation: &Invocation, argv: &[String], on_start: &mut dyn FnMut(Lasting<'_>)) -> Result<Ran, String> {
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
            return Err(format!("'{program}' took longer than {seconds:.0} s: {said}"));
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

fn stopped(argv: &[String]) -> String {
    let program = argv.first().map_or("", String::as_str);
    format!("'{program}' was stopped with the run")
}

/// A program in its own session; dropped, it and all its descendants are killed and reaped.
struct Running {
    folder: Folder,
    child: Child,
    streams: Vec<Stream>,
    status: Option<ExitStatus>,
    has_ended: bool,
}

struct Stream {
    kept: Arc<Mutex<Vec<u8>>>,
    closed: Receiver<()>,
}

impl Stream {
    fn listen(mut from: impl Read + Send + 'static) -> std::io::Result<Self> {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (sender, closed) = mpsc::channel();
        let ours = Arc::clone(&kept);
        std::thread::Builder::new().spawn(move || {
            let mut piece = [0; 16 << 10];
            loop {
                let length = match from.read(&mut piece) {
                    // A signal for one of our handlers does not end the stream.
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Ok(0) | Err(_) => break,
                    Ok(length) => length,
                };
                let mut kept = ours.lock().unwrap_or_else(PoisonError::into_inner);
                let room = KEPT_BYTES.saturating_sub(kept.len());
                kept.extend_from_slice(&piece[..length.min(room)]);
            }
            sender.send(())
        })?;
        Ok(Self { kept, closed })
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Running {
    /// Starts it in its own folder, whose path replaces [`FOLDER`] in the environment.
    fn start(
        wanted: &OwnFolder,
        argv: &[String],
        env: &BTreeMap<String, String>,
        cpus: &[u32],
    ) -> Result<Self, String> {
        let program = argv.first().map_or("", String::as_str);
        let folder = Folder::make(wanted)?;
        let path = folder.path.display().to_string();
        let mut command = Command::new(program);
        command.args(argv.iter().skip(1)).env_clear().current_dir(&folder.path);
        command.envs(env.iter().map(|(name, value)| (name, value.replace(FOLDER, &path))));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = start_on(cpus, &mut command).map_err(|error| format!("cannot start '{program}': {error}"))?;
        let mut running = Self { folder, child, streams: Vec::new(), status: None, has_ended: false };
        running.listen().map_err(|error| format!("cannot read the output of '{program}': {error}"))?;
        Ok(running)
    }

    fn listen(&mut self) -> std::io::Result<()> {
        let none = || std::io::Error::other("it has no pipe");
        self.streams.push(Stream::listen(self.child.stdout.take().ok_or_else(none)?)?);
        self.streams.push(Stream::listen(self.child.stderr.take().ok_or_else(none)?)?);
        Ok(())
    }

    fn status(&mut self) -> Result<Option<ExitStatus>, String> {
        if self.status.is_none() {
            self.status = self.child.try_wait().map_err(|error| format!("cannot wait for a tool: {error}"))?;
        }
        Ok(self.status)
    }

    fn wait(&mut self, at_most: Duration) -> Result<Option<ExitStatus>, String> {
        // Its standard output closes when it exits; if another process keeps it open, the time passes.
        let closes = |stdout: &Stream| stdout.closed.recv_timeout(at_most).is_ok();
        let looks = if self.streams.first().is_some_and(closes) { 10 } else { 1 };
        for _ in 0..looks {
            if self.status()?.is_some() {
                break;
            }
            std::thread::sleep(LISTEN_LOOK);
        }
        self.status()
    }

    /// Ends it and its descendants, once.
    fn end(&mut self) {
        if !std::mem::replace(&mut self.has_ended, true) {
            self.end_group();
            session::end_rest(self.child.id());
        }
    }

    fn end_group(&mut self) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // Until it is reaped its number is not reused. Afterwards the group is signalled only while a member holds a stream
        // open, which keeps the number taken.
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
        let closed = || self.streams.iter().all(|stream| Arc::strong_count(&stream.kept) == 1);
        // Polls, not seconds: a paused guest has not given its threads that time.
        for _ in 0..GRACE_LOOKS {
            if closed() {
                return;
            }
            std::thread::sleep(LISTEN_LOOK);
        }
        signal(group, Signal::KILL);
    }

    fn output(&self, status: Option<ExitStatus>) -> Output {
        let text = |stream: usize| self.streams.get(stream).map(Stream::text).unwrap_or_default();
        Output { stdout: text(0), stderr: text(1), status: status.and_then(|status| status.code()) }
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

/// Starts a program on these CPUs, if any: a child inherits those of the starting thread, which is a separate one.
fn start_on(cpus: &[u32], command: &mut Command) -> std::io::Result<Child> {
    if cpus.is_empty() {
        return session::start(command);
    }
    std::thread::scope(|scope| {
        let starter = std::thread::Builder::new().spawn_scoped(scope, || {
            sys::affinity::restrict_to(cpus)?;
            session::start(command)
        })?;
        starter.join().unwrap_or_else(|_| Err(std::io::Error::other("the thread that starts it ended")))
    })
}

/// The beginning of a child's standard error; the rest is drained, so that no process blocks.
pub(crate) fn complaints(child: &mut Child) -> std::io::Result<Receiver<String>> {
    const KEPT_BYTES: u64 = 4096;
    let (sender, receiver) = mpsc::channel();
    if let Some(mut stderr) = child.stderr.take() {
        std::thread::Builder::new().spawn(move || {
            let mut kept = Vec::new();
            let _ = stderr.by_ref().take(KEPT_BYTES).read_to_end(&mut kept);
            let heard = sender.send(String::from_utf8_lossy(&kept).into_owned());
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
            heard
        })?;
    }
    Ok(receiver)
}

/// Kills the group of this leader.
pub fn end_group(leader: u32) {
    signal(i32::try_from(leader).ok().and_then(Pid::from_raw), Signal::KILL);
}

fn signal(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        let _ = kill_process_group(group, signal);
    }
}
