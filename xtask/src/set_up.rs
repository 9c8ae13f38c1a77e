//! Installs what the tests need: packages as root through the system's package manager, Rust components through rustup.

use std::process::{Command, Stdio};

use crate::process::{is_there, succeeds};
use crate::shell::Shell;
use crate::tally::Tally;

/// A program that tests call.
#[derive(Debug)]
pub struct Tool {
    /// Its name, or its path.
    pub program: &'static str,
    /// The package of Debian and its descendants that has it.
    pub package: &'static str,
    /// An option with which it does nothing.
    pub version: &'static str,
    /// What is skipped without it.
    pub needed_for: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool {
        program: "qemu-x86_64",
        package: "qemu-user",
        version: "--version",
        needed_for: "the program on processors without AVX-512 or AVX2",
    },
    Tool {
        program: "likwid-bench",
        package: "likwid",
        version: "-h",
        needed_for: "likwid-bench compared with our kernels",
    },
    // hpcc itself only ever measures; what starts it comes with it.
    Tool { program: "mpirun", package: "hpcc", version: "--version", needed_for: "HPL compared with our LINPACK" },
    Tool { program: "fio", package: "fio", version: "--version", needed_for: "fio compared with our disk rows" },
    Tool {
        program: "sysbench",
        package: "sysbench",
        version: "--version",
        needed_for: "sysbench compared with our streams",
    },
    Tool { program: "ioping", package: "ioping", version: "-v", needed_for: "ioping compared with our disk rows" },
    Tool { program: "iperf", package: "iperf", version: "-v", needed_for: "iperf 2 compared with our streams" },
    Tool { program: "iperf3", package: "iperf3", version: "--version", needed_for: "iperf3 compared with our streams" },
    Tool {
        program: "sockperf",
        package: "sockperf",
        version: "--version",
        needed_for: "sockperf compared with our round trips",
    },
    Tool { program: "ping", package: "iputils-ping", version: "-V", needed_for: "ping compared with our round trips" },
    Tool { program: "ip", package: "iproute2", version: "-V", needed_for: "the network between two namespaces" },
    Tool { program: "nft", package: "nftables", version: "--version", needed_for: "networks that lose datagrams" },
    Tool { program: "mkfs.xfs", package: "xfsprogs", version: "-V", needed_for: "disk rows on xfs" },
    Tool { program: "mkfs.btrfs", package: "btrfs-progs", version: "--version", needed_for: "disk rows on btrfs" },
    Tool { program: "mkfs.vfat", package: "dosfstools", version: "--help", needed_for: "disk rows on FAT" },
    Tool {
        program: "bindfs",
        package: "bindfs",
        version: "-V",
        needed_for: "disk rows on a file system in user space",
    },
    Tool {
        program: "chromium",
        package: "chromium",
        version: "--version",
        needed_for: "the report's page in a browser",
    },
    Tool { program: "node", package: "nodejs", version: "--version", needed_for: "what drives the browser" },
    Tool { program: "npm", package: "npm", version: "--version", needed_for: "getting what drives the browser" },
    Tool {
        program: "python3",
        package: "python3",
        version: "--version",
        needed_for: "the independent check of documents",
    },
];

/// Components of Rust that a minimal installation lacks, each with its command of cargo.
const COMPONENTS: &[(&str, &str)] = &[("rustfmt", "fmt"), ("clippy", "clippy")];

/// Installs what is missing.
pub fn run(shell: &Shell) -> Tally {
    for (component, _) in COMPONENTS.iter().filter(|(_, command)| !knows(shell, command)) {
        succeeds(&mut shell.command("rustup", &["component", "add", component]));
    }
    get(shell, TOOLS)
}

/// Installs what is missing of these; what still is, as skipped.
pub fn get(shell: &Shell, tools: &[Tool]) -> Tally {
    let missing = || tools.iter().filter(|tool| !has(tool.program, tool.version));
    if missing().next().is_some() && may_install() {
        let packages: Vec<&str> = missing().map(|tool| tool.package).collect();
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

/// Whether a program is there and runs.
pub fn has(program: &str, version: &str) -> bool {
    // Some leave with 1 after they have said their version.
    let mut command = Command::new(program);
    command.arg(version).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Whether cargo knows this command.
pub fn knows(shell: &Shell, command: &str) -> bool {
    is_there(&mut shell.cargo(&[command, "--version"]))
}

/// Whether packages can be installed: root, and a package manager that is known here.
fn may_install() -> bool {
    is_root() && has("apt-get", "--version")
}

/// Whether this process has root's identity.
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
