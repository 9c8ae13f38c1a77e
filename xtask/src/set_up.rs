//! Installs what the tests need: packages as root through the system's package manager, Rust components through rustup.

use std::process::{Command, Stdio};

use crate::process::{is_there, succeeds};
use crate::shell::Shell;
use crate::tally::Tally;

#[derive(Debug)]
pub struct Tool {
    /// Its name, or its path.
    pub program: &'static str,
    /// One package, or several with spaces between them.
    pub package: &'static str,
    /// An option with which it does nothing.
    pub version: &'static str,
    pub needed_for: &'static str,
}

pub const fn tool(
    program: &'static str,
    package: &'static str,
    version: &'static str,
    needed_for: &'static str,
) -> Tool {
    Tool { program, package, version, needed_for }
}

const TOOLS: &[Tool] = &[
    tool("qemu-x86_64", "qemu-user", "--version", "the program on processors without AVX-512 or AVX2"),
    tool("likwid-bench", "likwid", "-h", "likwid-bench compared with our kernels"),
    // hpcc itself only ever measures; what starts it comes with it.
    tool("mpirun", "hpcc", "--version", "HPL compared with our LINPACK"),
    tool("fio", "fio", "--version", "fio compared with our disk benchmarks"),
    tool("sysbench", "sysbench", "--version", "sysbench compared with our streams"),
    tool("ioping", "ioping", "-v", "ioping compared with our disk benchmarks"),
    tool("iperf", "iperf", "-v", "iperf 2 compared with our streams"),
    tool("iperf3", "iperf3", "--version", "iperf3 compared with our streams"),
    tool("sockperf", "sockperf", "--version", "sockperf compared with our round trips"),
    tool("ping", "iputils-ping", "-V", "ping compared with our round trips"),
    tool("ip", "iproute2", "-V", "the network between two namespaces"),
    tool("nft", "nftables", "--version", "networks that lose datagrams"),
    tool("mkfs.xfs", "xfsprogs", "-V", "disk benchmarks on xfs"),
    tool("mkfs.btrfs", "btrfs-progs", "--version", "disk benchmarks on btrfs"),
    tool("mkfs.vfat", "dosfstools", "--help", "disk benchmarks on FAT"),
    tool("bindfs", "bindfs", "-V", "disk benchmarks on a file system in user space"),
    tool("chromium", "chromium", "--version", "the report's page in a browser"),
    tool("node", "nodejs", "--version", "what drives the browser"),
    tool("npm", "npm", "--version", "getting what drives the browser"),
    tool("python3", "python3", "--version", "the independent check of documents"),
];

pub fn run(shell: &Shell) -> Tally {
    // Components of Rust that a minimal installation lacks, each with its command of cargo.
    for (component, _) in
        [("rustfmt", "fmt"), ("clippy", "clippy")].iter().filter(|(_, command)| !knows(shell, command))
    {
        succeeds(&mut shell.command("rustup", &["component", "add", component]));
    }
    get(shell, TOOLS)
}

/// Installs what is missing of these; what still is, as skipped.
pub fn get(shell: &Shell, tools: &[Tool]) -> Tally {
    let missing = || tools.iter().filter(|tool| !has(tool.program, tool.version));
    if missing().next().is_some() && is_root() && has("apt-get", "--version") {
        let packages: Vec<&str> = missing().flat_map(|tool| tool.package.split(' ')).collect();
        install(shell, &packages);
    }
    let mut tally = Tally::default();
    for tool in missing() {
        tally.add(Tally::skip(format!(
            "{}: no {} here (as root on Debian: apt-get install {})",
            tool.needed_for, tool.program, tool.package
        )));
    }
    tally
}

pub fn has(program: &str, version: &str) -> bool {
    // Some leave with 1 after they have said their version.
    let mut command = Command::new(program);
    command.arg(version).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

pub fn knows(shell: &Shell, command: &str) -> bool {
    is_there(&mut shell.cargo(&[command, "--version"]))
}

pub fn is_root() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| effective_user(&status) == Some(0))
}

/// The effective user of a `/proc/PID/status`: the second of the four of its `Uid:` line.
fn effective_user(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_whitespace().nth(1)?.parse().ok()
}

fn install(shell: &Shell, packages: &[&str]) {
    let apt = |arguments: &[&str]| {
        let mut command = shell.command("apt-get", arguments);
        command.env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
        succeeds(&mut command)
    };
    let install = [&["install", "--yes", "-qq", "--no-install-recommends"], packages].concat();
    // The lists of a fresh image are often empty; where updating fails, the old ones may still do.
    apt(&["update", "-qq"]);
    apt(&install);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_user_is_read() {
        assert_eq!(effective_user("Name:\tcargo\nUid:\t1000\t0\t0\t0\nGid:\t0\t0\t0\t0\n"), Some(0));
        assert_eq!(effective_user("Uid:\t1000\t1000\t1000\t1000\n"), Some(1000));
        assert_eq!(effective_user("Name:\tcargo\n"), None);
    }

    #[test]
    fn a_program_that_is_not_there_is_missing() {
        assert!(!has("no-such-program-anywhere", "--version"));
    }
}
