//! Processes that a test starts, and programs of the system.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::common::{Ran, Scratch, command, is_root, program, ran, stored_runs};

const PATIENCE: Duration = Duration::from_secs(30);

/// Timeout for something to disappear.
pub(crate) const GONE: Duration = Duration::from_secs(2);

const PAUSE: Duration = Duration::from_millis(5);

/// Polls until there is a value, or `patience` has passed.
pub(crate) fn wait_for<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    for _ in 0..patience.as_millis() / PAUSE.as_millis() {
        if let Some(found) = look() {
            return Some(found);
        }
        std::thread::sleep(PAUSE);
    }
    look()
}

pub(crate) fn succeeded(name: &str, arguments: &[&str]) -> bool {
    let output = Command::new(name).args(arguments).stderr(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

pub(crate) fn has(name: &str) -> bool {
    succeeded("sh", &["-c", &format!("command -v {name}")])
}

pub(crate) fn allowed_cpu() -> u32 {
    allowed_cpus()[0]
}

pub(crate) fn allowed_cpus() -> Vec<u32> {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    machine::parse_list(allowed.trim())
}

pub(crate) fn signal(process: u32, name: &str) {
    assert!(signalled(process, name), "cannot send {name} to {process}");
}

/// Sends a signal, named without SIG; `false` if there is no such process.
pub(crate) fn signalled(process: u32, name: &str) -> bool {
    succeeded("kill", &["-s", name, &process.to_string()])
}

/// A command without standard input and with default signal handling: in a background job of a shell tests ignore
/// interrupts, which child processes would inherit.
pub(crate) fn reacting(command: &Command) -> Command {
    let mut plain = Command::new("env");
    plain.args(["-i", "--default-signal=INT,TERM,HUP"]);
    for (name, value) in command.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        let mut variable = name.to_owned();
        variable.push("=");
        variable.push(value);
        plain.arg(variable);
    }
    plain.arg(command.get_program()).args(command.get_args());
    plain.stdin(Stdio::null());
    plain
}

/// Whether a process ignores one of the signals that stop a run.
fn ignores_stop_signals(process: u32) -> bool {
    /// Mask of SIGHUP, SIGINT and SIGTERM (1, 2, 15); the lowest bit is number 1.
    const STOPS: u64 = 1 | 1 << 1 | 1 << 14;
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask & STOPS != 0)
}

/// A program that is killed when its value is dropped.
pub(crate) struct Running(Option<Child>);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(Some(command.spawn().unwrap()))
    }

    pub(crate) fn read(mut command: Command) -> Self {
        Self::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// Starts the program under test with default signal handling, and waits until `env` has restored it: an earlier signal
    /// would be lost.
    pub(crate) fn assay(scratch: &Scratch, arguments: &str) -> Self {
        let started = Self::read(reacting(&command(scratch, arguments.split_whitespace())));
        while ignores_stop_signals(started.id()) {
            std::thread::yield_now();
        }
        started
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    pub(crate) fn output(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }

    pub(crate) fn end(self) -> Ran {
        self.output().into()
    }

    /// Its worker, as soon as it has one.
    pub(crate) fn worker(&self) -> u32 {
        let own = |process: &Process| process.parent == self.id();
        wait_for(PATIENCE, || workers().into_iter().find(own)).expect("a worker").id
    }

    /// Waits for its end; also the most memory that a worker was seen to have, in bytes.
    pub(crate) fn memory_and_end(self) -> (u64, Ran) {
        let id = self.id();
        let looking = std::thread::spawn(move || {
            let mut most = 0;
            while Path::new("/proc").join(id.to_string()).exists() {
                let own = workers().into_iter().filter(|process| process.parent == id);
                most = own.map(|worker| most_memory(worker.id)).fold(most, u64::max);
                std::thread::sleep(PAUSE);
            }
            most
        });
        let ran = self.end();
        (looking.join().unwrap(), ran)
    }
}

pub(crate) fn samples_in_journal(scratch: &Scratch, samples: usize) -> PathBuf {
    let look = || stored_runs(scratch).into_iter().find(|folder| journalled(folder) >= samples);
    wait_for(PATIENCE, look).unwrap_or_else(|| panic!("no {samples} samples in {:?}", stored_runs(scratch)))
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub(crate) fn journalled(folder: &Path) -> usize {
    let text = fs::read_to_string(folder.join("journal.jsonl")).unwrap_or_default();
    text.lines().filter(|line| line.starts_with("{\"kind\":\"sample\"")).count()
}

/// The peak memory of a process in bytes; 0 if it has ended.
fn most_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    line.and_then(|kibibytes| kibibytes.parse::<u64>().ok()).map_or(0, |kibibytes| kibibytes << 10)
}

#[derive(Debug)]
pub(crate) struct Process {
    id: u32,
    parent: u32,
}

fn workers() -> Vec<Process> {
    let own = fs::canonicalize(program()).unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.filter(|id| is_worker(*id, &own)).filter_map(|id| Some(Process { id, parent: parent(id)? })).collect()
}

fn is_worker(process: u32, program: &Path) -> bool {
    arguments(process).ends_with(b"\0worker\0") && is_of(process, program)
}

fn arguments(process: u32) -> Vec<u8> {
    fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default()
}

/// Whether a process executes a program, or emulates it.
fn is_of(process: u32, program: &Path) -> bool {
    let is_emulated = || arguments(process).split(|byte| *byte == 0).any(|word| word == program.as_os_str().as_bytes());
    fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|exe| exe == program) || is_emulated()
}

/// The parent of a process: the second field after the name in parentheses of its `stat`.
pub(crate) fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Asserts that no worker outlives its runner. Workers started by a test are not counted.
#[track_caller]
pub(crate) fn assert_no_orphans() {
    let own = fs::canonicalize(program()).unwrap();
    let is_orphan = |worker: &Process| worker.parent != std::process::id() && !is_of(worker.parent, &own);
    let mut orphans = Vec::new();
    let gone = wait_for(GONE, || {
        orphans = workers().into_iter().filter(is_orphan).collect();
        orphans.is_empty().then_some(())
    });
    assert!(gone.is_some(), "workers that were left behind: {orphans:?}");
}

/// The program under test started by another program, with the usual environment.
pub(crate) fn wrapped(scratch: &Scratch, mut wrapper: Command) -> Command {
    let usual = command(scratch, [""; 0]);
    let variables = usual.get_envs().filter_map(|(name, value)| Some((name, value?)));
    wrapper.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin").envs(variables);
    wrapper.stdin(Stdio::null());
    wrapper
}

/// The program under test, started by a shell line in which it is `"$@"`.
pub(crate) fn through_shell(scratch: &Scratch, line: &str, arguments: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", line, "sh"]).arg(program()).args(arguments.split_whitespace());
    wrapped(scratch, shell)
}

/// Python that refuses the system calls of `argv[2]` with the error `argv[1]` (`SECCOMP_RET_ERRNO`) and becomes another program.
const REFUSING: &str = r"
import ctypes, os, struct, sys
step = lambda code, yes, no, value: struct.pack('HBBI', code, yes, no, value)
refuse = lambda call: step(0x15, 0, 1, call) + step(0x06, 0, 0, 0x00050000 | int(sys.argv[1]))
calls = [int(call) for call in sys.argv[2].split(',')]
code = step(0x20, 0, 0, 0) + b''.join(map(refuse, calls)) + step(0x06, 0, 0, 0x7fff0000)
class Filter(ctypes.Structure):
    _fields_ = [('steps', ctypes.c_ushort), ('code', ctypes.c_void_p)]
room = ctypes.create_string_buffer(code, len(code))
filter = Filter(len(code) // 8, ctypes.addressof(room))
prctl = ctypes.CDLL(None).prctl
if prctl(38, 1, 0, 0, 0) or prctl(22, 2, ctypes.byref(filter)):
    sys.exit(99)
os.execv(sys.argv[3], sys.argv[3:])
";

/// Runs the program where system calls of these numbers fail with this error; `None` where no such filter can be set.
pub(crate) fn without_calls(scratch: &Scratch, calls: &str, error: i32, arguments: &str) -> Option<Ran> {
    if !has("python3") {
        return None;
    }
    let mut python = Command::new("python3");
    python.args(["-c", REFUSING, &error.to_string(), calls]).arg(program()).args(arguments.split_whitespace());
    let ran = ran(wrapped(scratch, python));
    (ran.status != Some(99)).then_some(ran)
}

/// The program under test with namespaces of its own (an option of `unshare`) that this shell line sets up; `None` where
/// that is not allowed.
pub(crate) fn unshared(scratch: &Scratch, option: &str, set_up: &str, arguments: &str) -> Option<Command> {
    let unshare = |line: &str| {
        let mut command = Command::new("unshare");
        command.args([option, "sh", "-c", line, "sh"]);
        wrapped(scratch, command)
    };
    let is_allowed = is_root() && unshare(set_up).output().is_ok_and(|tried| tried.status.success());
    let mut command = unshare(&format!("{set_up} && exec \"$@\""));
    command.arg(program()).args(arguments.split_whitespace());
    is_allowed.then_some(command)
}

/// A process that takes all of a CPU until it is dropped.
pub(crate) fn spinning(cpu: u32) -> Running {
    let mut command = Command::new("taskset");
    Running::start(command.args(["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"]).stdin(Stdio::null()))
}
