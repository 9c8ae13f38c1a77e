//! `cargo xtask codegen`: every arithmetic kernel, as it lies in the program's own file, against the work that its row
//! declares.
//!
//! The rules are those of `kernels/tests/codegen.rs`; here they hold for the binary that is shipped, after linking. As a
//! step of `cargo xtask test` it takes the program that the other steps have built: the code of naked functions is the
//! same in every profile, and a dist build takes minutes.

#[path = "../../../crates/kernels/tests/support/machine_code.rs"]
mod machine_code;
mod symbols;

use std::path::Path;

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, Register};
use kernels::dense::Real;
use kernels::table::{KERNELS, Kernel};
use model::isa::Isa;

use xtask::process::succeeds;
use xtask::shell::Shell;
use xtask::tally::Tally;

use crate::test_runs::build;

use machine_code::{TableRow, check, check_spaced};
use symbols::{Function, Program};

const DIST: [&str; 6] = ["build", "--quiet", "--package", "assay", "--profile", "dist"];

/// The table for the dist build, or for the program named; `None` for other arguments.
pub(crate) fn run(shell: &Shell, arguments: &[String]) -> Option<Tally> {
    Some(match arguments {
        [] if succeeds(shell.cargo(&DIST).env("CARGO_PROFILE_DIST_STRIP", "debuginfo")) => {
            program(&shell.target().join("dist/assay"))
        }
        [] => Tally::failure("codegen: the program does not compile"),
        [option, path] if option == "--binary" => program(Path::new(path)),
        _ => return None,
    })
}

pub(crate) fn step(shell: &Shell) -> Tally {
    if build(shell) { program(&shell.program()) } else { Tally::failure("codegen: the program does not compile") }
}

fn program(path: &Path) -> Tally {
    if cfg!(not(all(target_arch = "x86_64", target_os = "linux"))) {
        return Tally::skip("the program's machine code: this decodes x86-64; tests of `kernels` decode 64-bit Arm");
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string());
    let program = match bytes.as_ref().map_err(String::clone).and_then(|bytes| Program::read(bytes)) {
        Ok(program) => program,
        Err(error) => return Tally::failure(format!("codegen: {}: {error}", path.display())),
    };
    println!("{}\n       {}", path.display(), TableRow::heading());
    let mut tally = Tally::default();
    for kernel in KERNELS {
        let plain = function(&program, kernel, "");
        let spaced = kernel
            .spaced_code()
            .map(|(_, nops)| check_spaced(kernel, plain.clone()?, function(&program, kernel, "_spaced")?, nops));
        let plain = plain.clone().and_then(|(bytes, address)| check(kernel, bytes, address));
        for looked_at in std::iter::once(plain).chain(spaced) {
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
    for (name, isa) in columns() {
        let products = program.function(&["kernels", "x86_64", "tiles", &name]).map(|(bytes, address)| {
            let all = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).into_iter();
            let is_vector = |register: Register| if isa == Isa::Avx512 { register.is_zmm() } else { register.is_ymm() };
            let multiplies = |one: &Instruction| matches!(one.mnemonic(), Mnemonic::Vmulpd | Mnemonic::Vmulps);
            all.filter(|one| multiplies(one) && is_vector(one.op0_register())).count()
        });
        let are_vectors = products.as_ref().is_ok_and(|count| *count >= PRODUCTS);
        println!("{}  {name}: products of vectors: {products:?}", if are_vectors { "ok   " } else { "WRONG" });
        if !are_vectors {
            tally.failures.push(format!("{name} (codegen)"));
        }
        tally.add(Tally::check(are_vectors));
    }
    tally
}

/// The loops over columns of dense linear algebra that are compiled to vectors, and their instruction set.
fn columns() -> Vec<(String, Isa)> {
    let fp64 = f64::tiles().iter().map(|tile| ("fp64", tile.isa));
    let all = fp64.chain(f32::tiles().iter().map(|tile| ("fp32", tile.isa)));
    let vectors = all.filter(|(_, isa)| *isa != Isa::Scalar);
    vectors.map(|(element, isa)| (format!("{element}_{isa}_columns"), isa)).collect()
}

/// Such a loop has a version for each number of sources from one to eight, with at least one product for each source.
const PRODUCTS: usize = 36;

/// The function of a kernel, by its name `op/element/instruction set`: the module is that of its operation, and the
/// function is called like the rest, with this end.
fn function<'data>(program: &Program<'data>, kernel: &Kernel, end: &str) -> Result<Function<'data>, String> {
    let (module, rest) = kernel.name.split_once('/').unwrap_or((kernel.name, ""));
    program
        .function(&["kernels", "x86_64", module, &(rest.replace('/', "_") + end)])
        .map_err(|why| format!("{}{end}: is not in the program: {why}", kernel.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_in_this_very_program_is_what_it_declares() {
        let tally = program(&std::env::current_exe().unwrap());
        let spaced = KERNELS.iter().filter(|kernel| kernel.spaced_code().is_some()).count();
        let is_looked_at = cfg!(all(target_arch = "x86_64", target_os = "linux"));
        let functions = if is_looked_at { (KERNELS.len() + spaced + columns().len()) as u64 } else { 0 };
        assert_eq!((tally.passed, tally.failed), (functions, 0), "{:?}", tally.failures);
    }

    #[test]
    fn a_file_that_is_not_there_or_is_no_program_fails() {
        assert_eq!(program(Path::new("/nonexistent/assay")).failed, 1);
        assert_eq!(program(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))).failed, 1);
    }
}
