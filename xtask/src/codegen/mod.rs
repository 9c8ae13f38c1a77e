//! `cargo xtask codegen`: every arithmetic kernel, as it lies in the program's own file, against the work that its row
//! declares.
//!
//! The rules are those of `kernels/tests/codegen.rs`; here they are held by the binary that is shipped, after linking.
//! Nothing is executed, so kernels for other machines than this are looked at too. As a step of `cargo xtask test` it
//! takes the program that the other steps have built: naked functions are assembled as they are written, so their code
//! is the same in every profile, and a dist build takes minutes.

#[path = "../../../crates/kernels/tests/support/machine_code.rs"]
mod machine_code;
mod symbols;

use std::path::Path;
use std::process::ExitCode;

use kernels::table::{KERNELS, Kernel};

use xtask::process::succeeds;
use xtask::shell::Shell;
use xtask::tally::Tally;

use crate::test_runs::build;

use machine_code::{TableRow, check, check_spaced};
use symbols::{Function, Program};

/// What this command takes, for the usage.
pub(crate) const USAGE: &str = "codegen [--binary PATH]";

/// The table for the dist build, or for the program named.
pub(crate) fn run(shell: &Shell, arguments: &[String]) -> ExitCode {
    let tally = match arguments {
        [] => release(shell),
        [option, path] if option == "--binary" => program(Path::new(path)),
        _ => {
            println!("usage: cargo lab {USAGE}");
            return ExitCode::from(2);
        }
    };
    print!("{tally}");
    if tally.failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The table for the program that the tests use.
pub(crate) fn step(shell: &Shell) -> Tally {
    if build(shell) { program(&shell.program()) } else { Tally::failure("codegen: the program does not compile") }
}

/// Builds the program that is shipped and looks at it.
fn release(shell: &Shell) -> Tally {
    if !succeeds(&mut shell.cargo(&["build", "--quiet", "--package", "assay", "--profile", "dist"])) {
        return Tally::check(false);
    }
    program(&shell.target().join("dist/assay"))
}

/// Prints the table of one program; each kernel counts, and each variant with NOPs.
fn program(path: &Path) -> Tally {
    if cfg!(not(all(target_arch = "x86_64", target_os = "linux"))) {
        return Tally::skip("the program's machine code: only x86-64 Linux has kernels in assembly");
    }
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return unreadable(path, &error.to_string()),
    };
    let program = match Program::read(&bytes) {
        Ok(program) => program,
        Err(error) => return unreadable(path, &error),
    };
    println!("{}\n       {}", path.display(), TableRow::heading());
    let mut tally = Tally::default();
    for kernel in KERNELS {
        let spaced = kernel.spaced_code().map(|(_, nops)| look_spaced(&program, kernel, nops));
        for looked_at in [Some(look(&program, kernel)), spaced].into_iter().flatten() {
            match &looked_at {
                Ok(row) => println!("ok     {row}"),
                Err(wrong) => {
                    println!("WRONG  {wrong}");
                    tally.failures.push(format!("{} (codegen)", kernel.name));
                }
            }
            tally.add(Tally::check(looked_at.is_ok()));
        }
    }
    tally
}

fn unreadable(path: &Path, why: &str) -> Tally {
    println!("{}: {why}", path.display());
    Tally::check(false)
}

/// The line of one kernel, or what is wrong with it.
fn look(program: &Program, kernel: &Kernel) -> Result<TableRow, String> {
    let function = function(program, kernel, "")?;
    check(kernel, function.bytes, function.address)
}

/// The same for its variant with NOPs.
fn look_spaced(program: &Program, kernel: &Kernel, nops: u64) -> Result<TableRow, String> {
    let [plain, spaced] = [function(program, kernel, "")?, function(program, kernel, "_spaced")?];
    check_spaced(kernel, (plain.bytes, plain.address), (spaced.bytes, spaced.address), nops)
}

/// The function of a kernel, or of a variant of it, as its name ends.
fn function<'data>(program: &Program<'data>, kernel: &Kernel, end: &str) -> Result<Function<'data>, String> {
    let (module, name) = place(kernel);
    program
        .function(&["kernels", "x86_64", module, &(name + end)])
        .map_err(|why| format!("{}{end}: is not in the program: {why}", kernel.name))
}

/// Where a kernel's code is, by its name `op/element/instruction set`: the module of its operation, and a function
/// called like the rest.
fn place(kernel: &Kernel) -> (&'static str, String) {
    let (module, rest) = kernel.name.split_once('/').unwrap_or((kernel.name, ""));
    (module, rest.replace('/', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_in_this_very_program_is_what_it_declares() {
        let tally = program(&std::env::current_exe().unwrap());
        let spaced = KERNELS.iter().filter(|kernel| kernel.spaced_code().is_some()).count();
        let is_looked_at = cfg!(all(target_arch = "x86_64", target_os = "linux"));
        let functions = if is_looked_at { (KERNELS.len() + spaced) as u64 } else { 0 };
        assert_eq!((tally.passed, tally.failed), (functions, 0), "{:?}", tally.failures);
    }

    #[test]
    fn a_file_that_is_not_there_or_is_no_program_fails() {
        assert_eq!(program(Path::new("/nonexistent/assay")).failed, 1);
        assert_eq!(program(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))).failed, 1);
    }
}
