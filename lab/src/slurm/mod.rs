//! `cargo lab cluster`: a real Slurm of four nodes on this machine, and the tests of the cluster commands on it. It needs root,
//! because a `slurmd` starts programs as the user who submitted them.

mod accept;
mod config;
mod daemons;
mod faults;
mod network;
mod once;
mod plan;
mod queue;
mod rig;
mod trials;
mod trouble;

use std::path::Path;
use std::process::ExitCode;

use rig::Rig;
use xtask::set_up::{self, Tool};
use xtask::shell::Shell;
use xtask::tally::Tally;

pub(crate) const USAGE: &str = "cluster up|down|user COMMAND…|test [PART…]|faults [TRIALS [FAULT]|again PLANS]";

const TOOLS: &[Tool] = &[
    Tool { program: "munged", package: "munge", version: "--version", needed_for: "a Slurm of four nodes" },
    Tool { program: "mariadbd", package: "mariadb-server", version: "--version", needed_for: "limits of Slurm" },
    Tool { program: "slurmdbd", package: "slurmdbd", version: "-V", needed_for: "limits of Slurm" },
    Tool { program: "slurmctld", package: "slurmctld", version: "-V", needed_for: "a Slurm of four nodes" },
    Tool { program: "slurmd", package: "slurmd", version: "-V", needed_for: "a Slurm of four nodes" },
    Tool { program: "sbatch", package: "slurm-client", version: "-V", needed_for: "a Slurm of four nodes" },
    // It fails when it is asked for its version, and says it all the same.
    Tool { program: "/usr/sbin/sshd", package: "openssh-server", version: "-V", needed_for: "workers over ssh" },
    Tool { program: "ip", package: "iproute2", version: "-V", needed_for: "a network between the nodes" },
    Tool { program: "setpriv", package: "util-linux", version: "--version", needed_for: "the user with a limit" },
];

struct Part {
    name: &'static str,
    about: &'static str,
    run: fn(&Shell) -> Tally,
}

const PARTS: &[Part] = &[
    Part { name: "rig", about: "Slurm itself: four nodes, and a third job is refused", run: accept::rig },
    Part { name: "accept", about: "four nodes under a limit of two jobs, one report", run: accept::run },
    Part { name: "allocation", about: "inside salloc; pairs of nodes; HPL by srun", run: accept::allocation },
    Part { name: "trouble", about: "what goes wrong with a scheduler, and what is said then", run: trouble::run },
    Part { name: "trials", about: "kill and cancel at random, continue: every task exactly once", run: trials::run },
    Part { name: "pairs", about: "the same while pairs of nodes are measured", run: trials::pairs },
    Part { name: "faults", about: "a slow node is named, once for each fault", run: faults::test },
];

pub(crate) fn run(shell: &Shell, arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["up"] => up(shell),
        ["down"] => Rig::down(),
        ["user", program, rest @ ..] => {
            let status = rig::as_user(program).args(rest).status();
            return ExitCode::from(status.ok().and_then(|status| u8::try_from(status.code()?).ok()).unwrap_or(1));
        }
        ["faults"] => try_faults(shell, "20", None),
        ["faults", "again", plans] => faults::judge_again(shell, Path::new(plans)),
        ["faults", trials] => try_faults(shell, trials, None),
        ["faults", trials, fault] => try_faults(shell, trials, Some(fault)),
        ["test", ..] => return test(shell, &arguments[1..]),
        _ => Err(format!("Usage: cargo lab {USAGE}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn up(shell: &Shell) -> Result<(), String> {
    let missing = set_up::get(shell, TOOLS);
    if !missing.skipped.is_empty() {
        return Err(missing.to_string());
    }
    // It stays until `down`.
    std::mem::forget(Rig::up(shell)?);
    println!("{}", rig::how_to_use());
    Ok(())
}

fn try_faults(shell: &Shell, trials: &str, fault: Option<&str>) -> Result<(), String> {
    let trials = trials.parse().map_err(|_| format!("'{trials}' is not a number"))?;
    if trials == 0 {
        return faults::page(shell);
    }
    let missing = set_up::get(shell, TOOLS);
    if !missing.skipped.is_empty() {
        return Err(missing.to_string());
    }
    faults::campaign(shell, trials, fault)
}

fn test(shell: &Shell, names: &[String]) -> ExitCode {
    if let Some(unknown) = names.iter().find(|name| PARTS.iter().all(|part| part.name != **name)) {
        let known: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        println!("no part is called {unknown}; there are {}", known.join(", "));
        return ExitCode::from(2);
    }
    let tally = tried(shell, names).unwrap_or_else(Tally::failure);
    print!("{tally}");
    if tally.failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn tried(shell: &Shell, names: &[String]) -> Result<Tally, String> {
    let mut tally = set_up::get(shell, TOOLS);
    if !tally.skipped.is_empty() {
        return Ok(tally);
    }
    if !set_up::is_root() {
        return Ok(Tally::skip("cargo lab cluster test: only root can start a slurmd that serves other users"));
    }
    let _rig = Rig::up(shell)?;
    for part in PARTS.iter().filter(|part| names.is_empty() || names.iter().any(|name| name == part.name)) {
        println!("\n=== {}: {}", part.name, part.about);
        let of_part = rig::ready().map_or_else(Tally::failure, |()| (part.run)(shell));
        print!("{}: {of_part}", part.name);
        tally.add(of_part);
    }
    Ok(tally)
}
