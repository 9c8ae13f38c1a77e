//! Two network namespaces joined by a veth pair: two hosts with addresses of their own, on one machine.
//!
//! They are taken away by a guard process that waits for the end of its standard input, in a process group of its own:
//! whatever ends this program, closes it.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use xtask::process::{is_there, succeeds};
use xtask::shell::Shell;

/// The namespace of the near end.
pub(super) const NEAR: &str = "assay-peers-near";
/// The namespace of the far end.
pub(super) const FAR: &str = "assay-peers-far";
/// The address of the near end: of a network that is nobody's (RFC 2544, section C.2.2: for benchmarks).
const NEAR_ADDRESS: &str = "198.18.211.1";
/// The address of the far end.
pub(super) const FAR_ADDRESS: &str = "198.18.211.2";
/// Whether TCP keeps what it learnt of a path for later connections, which it is not to do: each run, ours or theirs,
/// would begin with the losses and round trips of all rows before it.
const NO_METRICS: &str = "/proc/sys/net/ipv4/tcp_no_metrics_save";

/// Both of them, while it lives.
pub(super) struct Namespaces {
    guard: Child,
}

impl Namespaces {
    /// Makes them, in place of any that were left behind.
    ///
    /// # Errors
    /// Why there are none.
    pub(super) fn make(shell: &Shell) -> Result<Self, String> {
        let ip = |line: &str| shell.command("ip", &line.split_whitespace().collect::<Vec<_>>());
        for name in [NEAR, FAR] {
            is_there(&mut ip(&format!("netns del {name}")));
        }
        if !is_there(&mut ip(&format!("netns add {NEAR}"))) {
            return Err("no network namespace can be made; it needs the superuser and ip (Debian: iproute2)".to_owned());
        }
        let made = Self { guard: guard().map_err(|error| format!("no guard for the namespaces: {error}"))? };
        for line in [
            format!("netns add {FAR}"),
            format!("-n {NEAR} link add near0 type veth peer name far0 netns {FAR}"),
            format!("-n {NEAR} addr add {NEAR_ADDRESS}/30 dev near0"),
            format!("-n {FAR} addr add {FAR_ADDRESS}/30 dev far0"),
            format!("-n {NEAR} link set lo up"),
            format!("-n {FAR} link set lo up"),
            format!("-n {NEAR} link set near0 up"),
            format!("-n {FAR} link set far0 up"),
        ] {
            if !succeeds(&mut ip(&line)) {
                return Err(format!("'ip {line}' failed"));
            }
        }
        for name in [NEAR, FAR] {
            // The table is the namespace's own.
            let set = format!("echo 1 > {NO_METRICS}");
            if !succeeds(&mut shell.command("ip", &["netns", "exec", name, "sh", "-c", &set])) {
                return Err(format!("{NO_METRICS} cannot be set in the namespace {name}"));
            }
        }
        Ok(made)
    }

    /// A command inside a namespace, on these CPUs. `ip` and `taskset` put the program in their own place, so that the
    /// process is the program's.
    pub(super) fn command(shell: &Shell, namespace: &str, cpus: &[u32], argv: &[String]) -> Command {
        let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
        let before = ["netns", "exec", namespace, "taskset", "-c", &cpus.join(",")].map(str::to_owned);
        shell.command("ip", &[&before[..], argv].concat())
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        // The end of its input is its word; what it cannot remove is removed before the next are made.
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// A process that removes both namespaces once we are gone.
fn guard() -> std::io::Result<Child> {
    let script = format!("cat > /dev/null; ip netns del {NEAR}; ip netns del {FAR}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    shell.process_group(0).spawn()
}
