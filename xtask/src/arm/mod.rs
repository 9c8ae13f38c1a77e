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

use crate::test_runs::{self, SKIPS, skips_file};

use emulator::Emulator;
pub(crate) use toolchain::{TARGET, Toolchain};

/// Vector lengths of SVE in bytes: 128, 256 and 512 bits, as Neoverse N2, Neoverse V1 and A64FX have them.
const VECTOR_BYTES: [u32; 3] = [32, 16, 64];

/// The part of all tests that may be in [`CANNOT`].
const MOST_LEFT_OUT: f64 = 0.1;

/// Tests that cannot pass under emulation in user mode, by parts of their names, and why.
const CANNOT: &[(&str, &str)] = &[];

/// The step `arm-smoke`: the program is built, describes this machine and measures a little of every area.
pub(crate) fn smoke(shell: &Shell) -> Tally {
    with_emulator(shell, |toolchain, emulator| {
        let mut tally = Tally::check(succeeds(&mut build(shell, toolchain)));
        if tally.failed == 0 {
            tally.add(uses(shell, emulator));
        }
        tally
    })
}

/// The step `arm`: every test, those of the kernels once for each vector length, and a whole suite.
pub(crate) fn run(shell: &Shell) -> Tally {
    with_emulator(shell, |toolchain, emulator| {
        let mut tally = Tally::check(succeeds(&mut build(shell, toolchain)));
        for targets in [&["--package=kernels"][..], OTHERS] {
            let mut command = cargo(shell, toolchain, &["test", "--no-run", "--tests"]);
            if !succeeds(command.args(targets)) {
                tally.add(Tally::failure("arm: the tests do not compile"));
                return tally;
            }
        }
        let test = |targets: &[&str], vector_bytes: u32, harness: &[&str]| {
            let mut command = cargo(shell, toolchain, &["test", "--no-fail-fast", "--tests"]);
            command.args(targets).args(["--", "--format=pretty", "--test-threads=2"]).args(harness);
            command.env(SKIPS, skips_file(shell)).env("INSTA_UPDATE", "no").env("INSTA_WORKSPACE_ROOT", shell.root());
            test_runs::counted(emulator.of(&mut command, vector_bytes))
        };
        for vector_bytes in VECTOR_BYTES {
            println!("SVE with {vector_bytes} bytes");
            tally.add(test(&["--package=kernels"], vector_bytes, &[]).0);
        }
        let skips: Vec<String> = CANNOT.iter().map(|(name, _)| format!("--skip={name}")).collect();
        let skips: Vec<&str> = skips.iter().map(String::as_str).collect();
        let (others, left_out) = test(OTHERS, VECTOR_BYTES[0], &skips);
        let all = others.passed + others.failed + left_out;
        tally.add(test_runs::again(others, |name| test(OTHERS, VECTOR_BYTES[0], &["--exact", name]).0));
        let share = left_out as f64 / all as f64;
        println!("{left_out} of {all} tests of these crates are left out, {:.1} %", share * 100.0);
        tally.add(Tally::check(share <= MOST_LEFT_OUT));
        tally.skipped.extend(CANNOT.iter().map(|(name, why)| format!("{name} under emulation: {why}")));
        tally.add(uses(shell, emulator));
        tally
    })
}

/// Every crate that is part of the program, but the kernels.
const OTHERS: &[&str] = &["--workspace", "--exclude=kernels", "--exclude=lab", "--exclude=xtask"];

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

/// Cargo for the target. Without debug information, since nobody debugs an emulated program.
fn cargo(shell: &Shell, toolchain: &Toolchain, arguments: &[&str]) -> Command {
    let mut command = shell.cargo(arguments);
    command.args(["--target", TARGET]).env("CARGO_PROFILE_DEV_DEBUG", "0");
    toolchain.links(&mut command);
    command
}

fn build(shell: &Shell, toolchain: &Toolchain) -> Command {
    cargo(shell, toolchain, &["build", "--package=assay"])
}

/// Whether the program does what it is for under emulation: each command ends with status 0.
fn uses(shell: &Shell, emulator: &Emulator) -> Tally {
    let store = shell.target().join("arm/store");
    let _ = fs::remove_dir_all(&store);
    let program = shell.target().join(TARGET).join("debug/assay");
    let mut tally = Tally::default();
    for arguments in ["--version", "info", "run quick --verify", DISK] {
        let mut command = shell.command(&emulator.script, &[&program]);
        let ends = succeeds(command.args(arguments.split(' ')).env("ASSAY_STORE", &store));
        tally.add(if ends { Tally::check(true) } else { Tally::failure(format!("assay {arguments} under emulation")) });
    }
    tally
}

/// Emulation hides that files have direct I/O, so the benchmarks of disks in a suite are skipped.
const DISK: &str = "disk --cache warm --pattern random --op read,write --depth 1 --size 64MiB --verify";
