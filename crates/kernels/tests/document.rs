//! `docs/reference/kernels.md` and `kernels-aarch64.md` are written from the table by this file and compared with it.
#![cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux"))]

use std::fmt::Write as _;

use kernels::table::{KERNELS, Kernel};

const IS_ARM: bool = cfg!(target_arch = "aarch64");
const FILE: &str = if IS_ARM {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/kernels-aarch64.md")
} else {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/kernels.md")
};

const TITLE: &str = if IS_ARM { "# Arithmetic kernels of 64-bit Arm" } else { "# Arithmetic kernels" };

const HEAD: &str = "

Every loop of the table in the program (`kernels/src/arithmetic/table.rs`), with the work it declares. Tests keep this page equal to the
table, and the declared work equal to the machine code. What the operations compute: [CPU benchmarks](../explanation/cpu.md).

*Accumulator*: its type and what is summed into it. *Step*: the instructions that one accumulator takes. *Operations*: multiplications
and additions of one step. Among kernels of one operation and type, the first is chosen whose features the CPU has and the operating
system enables.

| kernel | accumulator | step of one accumulator | accumulators x lanes | operations a step | method | needs |
|---|---|---|---|---|---|---|
";

fn line(kernel: &Kernel) -> String {
    let step: Vec<String> = kernel.step.iter().map(|name| format!("`{name}`")).collect();
    let needs: Vec<&str> = kernel.requires.iter().map(|feature| feature.name()).collect();
    format!(
        "| `{}` | {} | {} | {} x {} | {} | `{}` | {} |\n",
        kernel.name,
        kernel.accumulator_type,
        step.join(", "),
        kernel.accumulators,
        kernel.lanes,
        kernel.lanes as u64 * kernel.operations_per_lane,
        kernel.method,
        if needs.is_empty() { "nothing".to_owned() } else { needs.join(", ") },
    )
}

fn document() -> String {
    let mut text = format!("{TITLE}{HEAD}");
    for kernel in KERNELS {
        let _ = write!(text, "{}", line(kernel));
    }
    text
}

#[test]
fn the_document_agrees_with_the_table() {
    let found = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(found == document(), "{FILE} is not the table: cargo test -p kernels --test document -- --ignored");
}

#[test]
#[ignore = "writes docs/reference/kernels.md"]
fn write_the_document() {
    std::fs::write(FILE, document()).unwrap();
}
