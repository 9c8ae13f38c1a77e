//! CPUs that do not go idle while something is compared.
//!
//! Between two requests of a queue one deep, the CPU sleeps, and in a virtual machine its waking costs as much as the
//! request. What a comparison shows with sleeping CPUs and does not show without is that waking, and neither program's
//! doing. A loop of the idle class (`SCHED_IDLE`) on each CPU keeps it awake and gives way to anything else at once.

use std::process::{Child, Command, Stdio};

use xtask::process::is_there;
use xtask::shell::Shell;

/// A loop on each CPU, until it is dropped.
#[derive(Debug)]
pub(super) struct Awake(Vec<Child>);

impl Awake {
    /// Begins them.
    ///
    /// # Errors
    /// One sentence: what they need is not here, or a loop could not be started.
    pub(super) fn begin(shell: &Shell) -> Result<Self, String> {
        if !["chrt", "taskset"].iter().all(|program| is_there(&mut shell.command(program, &["--version"]))) {
            return Err("--awake needs chrt and taskset (as root on Debian: apt-get install util-linux)".to_owned());
        }
        let cpus = std::thread::available_parallelism().map_err(|error| format!("the CPUs: {error}"))?;
        let mut awake = Self(Vec::new());
        for cpu in 0..cpus.get() {
            let started = spin(cpu).spawn().map_err(|error| format!("a loop on CPU {cpu}: {error}"))?;
            awake.0.push(started);
        }
        Ok(awake)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The loop: `chrt` and `taskset` become the shell that spins, so that ending the process ends it.
fn spin(cpu: usize) -> Command {
    let mut command = Command::new("chrt");
    command.args(["--idle", "0", "taskset", "--cpu-list", &cpu.to_string(), "sh", "-c", "while :; do :; done"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
