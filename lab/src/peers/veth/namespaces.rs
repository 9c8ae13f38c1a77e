//! Two network namespaces joined by a veth pair. A guard process in its own process group removes them when its input closes,
//! however this program ends.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use xtask::process::{is_there, succeeds};
use xtask::shell::Shell;

pub(super) const CLIENT: &str = "assay-peers-client";
pub(super) const SERVER: &str = "assay-peers-server";
/// An address of the benchmark network (RFC 2544, section C.2.2).
const CLIENT_ADDRESS: &str = "198.18.211.1";
pub(super) const SERVER_ADDRESS: &str = "198.18.211.2";
/// If it is 0, TCP keeps round trips and losses of a path for later connections: each run would depend on those before it.
const NO_METRICS: &str = "/proc/sys/net/ipv4/tcp_no_metrics_save";

pub(super) struct Namespaces {
    guard: Child,
}

impl Namespaces {
    pub(super) fn make(shell: &Shell) -> Result<Self, String> {
        let ip = |line: &str| shell.command("ip", &line.split_whitespace().collect::<Vec<_>>());
        for name in [CLIENT, SERVER] {
            is_there(&mut ip(&format!("netns del {name}")));
        }
        if !is_there(&mut ip(&format!("netns add {CLIENT}"))) {
            return Err(
                "cannot create a network namespace: needs root and ip (Debian: apt-get install iproute2)".to_owned()
            );
        }
        let made =
            Self { guard: guard().map_err(|error| format!("cannot start the guard of the namespaces: {error}"))? };
        for line in [
            format!("netns add {SERVER}"),
            format!("-n {CLIENT} link add client0 type veth peer name server0 netns {SERVER}"),
            format!("-n {CLIENT} addr add {CLIENT_ADDRESS}/30 dev client0"),
            format!("-n {SERVER} addr add {SERVER_ADDRESS}/30 dev server0"),
            format!("-n {CLIENT} link set lo up"),
            format!("-n {SERVER} link set lo up"),
            format!("-n {CLIENT} link set client0 up"),
            format!("-n {SERVER} link set server0 up"),
        ] {
            if !succeeds(&mut ip(&line)) {
                return Err(format!("'ip {line}' failed"));
            }
        }
        for name in [CLIENT, SERVER] {
            // /proc/sys/net is the namespace's own.
            let set = format!("echo 1 > {NO_METRICS}");
            if !succeeds(&mut shell.command("ip", &["netns", "exec", name, "sh", "-c", &set])) {
                return Err(format!("cannot set {NO_METRICS} in the namespace {name}"));
            }
        }
        Ok(made)
    }

    /// A command inside a namespace, on these CPUs. `ip` and `taskset` exec it, so the child is the program itself.
    pub(super) fn command(shell: &Shell, namespace: &str, cpus: &[u32], argv: &[String]) -> Command {
        let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
        let before = ["netns", "exec", namespace, "taskset", "-c", &cpus.join(",")].map(str::to_owned);
        shell.command("ip", &[&before[..], argv].concat())
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        // The end of its input starts the removal. What it cannot remove, the next `make` does.
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

fn guard() -> std::io::Result<Child> {
    let script = format!("cat > /dev/null; ip netns del {CLIENT}; ip netns del {SERVER}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    shell.process_group(0).spawn()
}
