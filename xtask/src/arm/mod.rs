//! `cargo xtask arm`: the program for 64-bit Arm, built on x86-64 and tested under emulation.
//!
//! Emulation shows that every result is computed correctly, and nothing about speed.

mod emulator;
mod toolchain;

use std::fs;
use std::process::Command;

use xtask::process::succeeds;
use xtask::shell::Shell;
use xtask::tally::Tally;

use crate::test_runs::{self, ALONE, AT_A_TIME, SKIPS, skips_file};

use emulator::{Emulator, PACKAGE};
pub(crate) use toolchain::{TARGET, Toolchain};

/// Vector lengths of SVE in bytes: 128, 256 and 512 bits, as Neoverse N2, Neoverse V1 and A64FX have them.
const VECTOR_BYTES: [u32; 3] = [32, 16, 64];

/// The part of all tests that may be in [`CANNOT`].
const MOST_LEFT_OUT: f64 = 0.1;

const CLOCK: &str = "it needs the times of a real machine";
const NO_EXEC: &str = "a failed exec is an exit status of the emulator";
const NO_IO_URING: &str = "io_uring is missing";
const NO_REAPER: &str = "PR_SET_CHILD_SUBREAPER is missing";
const NO_TCP_INFO: &str = "TCP_INFO is missing";
const OF_X86: &str = "/proc/cpuinfo and tools are those of x86-64";

/// The tests that cannot pass under emulation in user mode, by parts of their names, and why.
const CANNOT: &[(&str, &str)] = &[
    ("cpu::emulation::", "it emulates x86-64 itself"),
    ("cpu::tick::tests::each_cpu_has_one_keeper", "threads of the emulator outlive their ends"),
    ("cpu::trouble::a_worker_on_a_cpu_without_the_instruction_set", OF_X86),
    ("cpu::trouble::an_instruction_set_that_this_machine_lacks", OF_X86),
    ("disk::engines::where_io_uring_is_forbidden", NO_IO_URING),
    ("disk::failures::a_disk_that_fails_is_named", NO_IO_URING),
    ("engines::disk::tests::paced::", CLOCK),
    ("engines::disk::tests::patterns::blocks_are_written_in_the_order", "io_uring and libaio are missing"),
    ("engines::net::tests::conditions_of_the_path_are_reported", "requests of ethtool are missing"),
    ("engines::net::tests::datagrams::a_path_that_swallows_datagrams", CLOCK),
    ("engines::net::tests::streams::a_transfer_goes_there_and_back", NO_TCP_INFO),
    ("engines::net::tests::streams::spared_copies_arrive", "SO_ZEROCOPY is missing"),
    ("engines::net::tests::streams::what_tcp_did_for_the_senders", NO_TCP_INFO),
    ("interference::disturbances::a_low_priority_is_named", "the emulator makes up /proc/self/stat"),
    ("interference::disturbances::other_traffic_over_loopback", CLOCK),
    ("interference::doctor::another_process_on_the_only_cpu", CLOCK),
    ("interruptions::resume::a_row_with_a_tool", OF_X86),
    ("interruptions::threads::a_user_who_may_start_few_threads", "the emulator has threads of its own"),
    ("memory::a_pair_of_nodes_is_measured", "set_mempolicy is missing"),
    ("memory::tests::a_collapsed_region_keeps_its_contents", "MADV_COLLAPSE is ignored"),
    ("net::datagrams::tests::a_message_that_is_refused_later", "system calls cannot be filtered"),
    ("net::datagrams::tests::messages_of_one_call_have_their_own_arrival_times", "packets have no time stamps"),
    ("net::path::tests::a_connection_over_loopback_has_its_mtu", "IP_MTU is missing"),
    ("net::streams::every_mode_has_its_metrics", NO_TCP_INFO),
    ("net::streams::rows_of_the_network_keep_the_contract", NO_TCP_INFO),
    ("net::tcp::tests::a_connection_reports_its_state", NO_TCP_INFO),
    ("net::tests::loopback_has_fixed_offloads", "requests of ethtool are missing"),
    ("net::zero_copy::", "SO_ZEROCOPY is missing"),
    ("process::code::tests::all_of_the_program_is_in_memory_afterwards", "MADV_POPULATE_READ is ignored"),
    ("process::session::tests::descendants_end_with_their_program", NO_REAPER),
    ("references::pairs::real_tools_are_compared", OF_X86),
    ("references::tests::a_child_of_a_tool_in_another_session", NO_REAPER),
    ("references::trouble::a_tool_finds_what_it_finds", "the emulator ignores two signals"),
    ("runner::launch::tests::a_program_that_is_not_there", NO_EXEC),
    ("runner::launch::tests::an_end_that_never_comes", CLOCK),
    ("server::tests::a_program_that_starts_no_server", NO_EXEC),
    ("server::tests::clients_are_admitted_while", CLOCK),
    ("worker::clock_probe::tests::the_two_chains_agree", CLOCK),
];

/// The step `arm-smoke`: the program is built, describes this machine and measures a little of every area.
pub(crate) fn smoke(shell: &Shell) -> Tally {
    with_emulator(shell, |toolchain, emulator| {
        let mut tally = Tally::check(succeeds(&mut build(shell, toolchain)));
        if tally.failed == 0 {
            tally.add(uses(shell, emulator, SMOKE));
        }
        tally
    })
}

/// The step `arm`: every test, those of the kernels once for each vector length, and a whole suite.
pub(crate) fn run(shell: &Shell) -> Tally {
    with_emulator(shell, |toolchain, emulator| {
        // One selection of packages for all: another one has other features of dependencies, and compiles them again.
        let tests = |arguments: &[&str]| {
            let mut command =
                cargo(shell, toolchain, &["test", "--workspace", "--exclude=lab", "--exclude=xtask", "--tests"]);
            command.args(arguments);
            command
        };
        if !succeeds(&mut tests(&["--no-run"])) {
            return Tally::failure("arm: the tests do not compile");
        }
        let test = |vector_bytes: u32, package: &str, harness: &[String]| {
            let mut command = tests(&["--no-fail-fast", "--", "--format=pretty"]);
            command.args(harness).env(PACKAGE, package);
            command.env(SKIPS, skips_file(shell)).env("INSTA_UPDATE", "no").env("INSTA_WORKSPACE_ROOT", shell.root());
            test_runs::counted(emulator.of(&mut command, vector_bytes))
        };
        let [first, others @ ..] = VECTOR_BYTES;
        let skip = |name: &&str| format!("--skip={name}");
        let cannot: Vec<String> = CANNOT.iter().map(|(name, _)| skip(name)).collect();
        let together = [vec![AT_A_TIME.to_owned()], cannot.clone(), ALONE.iter().map(skip).collect()].concat();
        let (all, filtered) = test(first, "", &together);
        let alone = |package: &str, names: &[&str]| {
            let names = ["--test-threads=1"].iter().chain(names).map(|word| (*word).to_owned());
            test(first, package, &names.chain(cannot.clone()).collect::<Vec<_>>()).0
        };
        let again = |tally| test_runs::again(tally, |name| alone("", &["--exact", name]));
        let (mut tally, undisturbed) = (again(all), again(alone("assay", ALONE)));
        let left_out = filtered.saturating_sub(undisturbed.passed + undisturbed.failed);
        tally.add(undisturbed);
        let share = left_out as f64 / (tally.passed + tally.failed + left_out) as f64;
        for vector_bytes in others {
            println!("kernels, SVE with {vector_bytes} bytes");
            // Refinement of solutions is not of vectors, and takes as long as all others.
            tally.add(test(vector_bytes, "kernels", &[AT_A_TIME.to_owned(), "--skip=mixed::".to_owned()]).0);
        }
        println!("{left_out} tests are left out, {:.1} % of all", share * 100.0);
        tally.add(Tally::check(share <= MOST_LEFT_OUT));
        tally.skipped.extend(CANNOT.iter().map(|(name, why)| format!("{name} under emulation: {why}")));
        tally.add(uses(shell, emulator, WHOLE));
        tally
    })
}

fn with_emulator(shell: &Shell, act: impl FnOnce(&Toolchain, &Emulator) -> Tally) -> Tally {
    let skipped = |why: String| Tally::skip(format!("64-bit Arm: {why}"));
    match Toolchain::get(shell) {
        Err(why) => skipped(why),
        Ok(toolchain) => match Emulator::start(shell, &toolchain, VECTOR_BYTES[0]) {
            Err(why) => skipped(why),
            Ok(emulator) => act(&toolchain, &emulator),
        },
    }
}

/// Cargo for the target. Without debug information, since nobody debugs an emulated program, and with little optimisation, since
/// the emulator translates each instruction again in every process.
fn cargo(shell: &Shell, toolchain: &Toolchain, arguments: &[&str]) -> Command {
    let mut command = shell.cargo(arguments);
    command.args(["--target", TARGET]).env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
    toolchain.links(&mut command);
    command
}

fn build(shell: &Shell, toolchain: &Toolchain) -> Command {
    cargo(shell, toolchain, &["build", "--package=assay"])
}

/// Whether the program does what it is for under emulation: each command ends with status 0.
fn uses(shell: &Shell, emulator: &Emulator, commands: &[&str]) -> Tally {
    let store = shell.target().join("arm/store");
    let _ = fs::remove_dir_all(&store);
    let program = shell.target().join(TARGET).join("debug/assay");
    let mut tally = Tally::default();
    for arguments in commands {
        let mut command = shell.command(&emulator.script, &[&program]);
        let ends = succeeds(command.args(arguments.split(' ')).env("ASSAY_STORE", &store));
        tally.add(if ends { Tally::check(true) } else { Tally::failure(format!("assay {arguments} under emulation")) });
    }
    tally
}

/// A little of every area, as far as a minute goes; the file of a suite's disk benchmarks alone takes as long.
const SMOKE: &[&str] = &[
    "--version",
    "info",
    "run quick --verify --area cpu,linpack,memory,net --time-budget 60s",
    "disk --cache bypassed,warm --pattern random --op read,write --depth 1 --size 64MiB --verify",
];
/// The whole suite, whatever its time budget on a real machine.
const WHOLE: &[&str] = &["run quick --verify --time-budget 15m"];
