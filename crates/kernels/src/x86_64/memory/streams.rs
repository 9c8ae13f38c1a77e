//! What the bodies of all memory streams have in common.

use core::mem::offset_of;

use model::isa::{Isa, MemoryOp};

use crate::features::Feature;
use crate::memory::kernel::{Job, MemoryKernel};

// The offsets that are spelt out in the assembly below.
const _: () = {
    assert!(offset_of!(Job, target) == 0 && offset_of!(Job, sources) == 8);
    assert!(offset_of!(Job, blocks) == 32 && offset_of!(Job, passes) == 40);
    assert!(offset_of!(Job, operand) == 64 && offset_of!(Job, vectors) == 128);
};

/// Where the job says that this pointer begins.
macro_rules! start {
    (rdi) => {
        "[r10]"
    };
    (rsi) => {
        "[r10 + 8]"
    };
    (rdx) => {
        "[r10 + 16]"
    };
    (rcx) => {
        "[r10 + 24]"
    };
}

/// Defines a stream by the pointers that it advances, what it does once before the first block (`setup`), to each
/// `block`, and behind the last one (`finish`).
macro_rules! stream {
    ($name:ident, [$first:ident $($other:ident)*], setup: [$($setup:expr),*], block: [$($block:expr),+],
     finish: [$($finish:expr),*]) => {
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name(job: &mut Job) -> u64 {
            core::arch::naked_asm!(
                "mov r10, rdi",
                "xor eax, eax",
                $($setup,)*
                "mov r8, [r10 + 32]",
                "mov r9, [r10 + 40]",
                "test r8, r8",
                "jz 3f",
                "test r9, r9",
                "jz 3f",
                concat!("mov ", stringify!($first), ", ", start!($first)),
                $(concat!("mov ", stringify!($other), ", ", start!($other)),)*
                ".p2align 6",
                "2:",
                $($block,)+
                concat!("add ", stringify!($first), ", 512"),
                $(concat!("add ", stringify!($other), ", 512"),)*
                "dec r8",
                "jnz 2b",
                concat!("add rax, ", stringify!($first)),
                concat!("sub rax, ", start!($first)),
                concat!("mov ", stringify!($first), ", ", start!($first)),
                $(concat!("mov ", stringify!($other), ", ", start!($other)),)*
                "mov r8, [r10 + 32]",
                "dec r9",
                "jnz 2b",
                "3:",
                $($finish,)*
                "ret",
            )
        }
    };
}

/// Defines a stream by steps, each one instruction for each of eight vectors before the next; `$groups` are the offsets
/// of each eight vectors in a block.
macro_rules! vectors {
    ($name:ident, [$($cursor:ident)+], groups: $groups:literal, setup: [$($setup:expr),*],
     steps: [$($step:expr),+ $(,)?], finish: [$($finish:expr),*]) => {
        stream!($name, [$($cursor)+],
            setup: [$($setup),*],
            block: [
                concat!(".irp group, ", $groups),
                $(".irp i, 0,1,2,3,4,5,6,7", $step, ".endr",)+
                ".endr"
            ],
            finish: [$($finish),*]);
    };
}

/// Defines a stream of these steps, which leave in vectors 0 to 7 what is stored; vector 8 is the operand.
macro_rules! stored {
    ($name:ident, [$($cursor:ident)+], $register:literal, $bytes:literal, $groups:literal, operand: $operand:literal,
     steps: [$($step:expr),+], store: $store:literal, finish: [$($finish:literal),*]) => {
        vectors!($name, [$($cursor)+], groups: $groups,
            setup: [concat!($operand, " ", $register, "8, [r10 + 64]")],
            steps: [$($step,)+ concat!($store, " ", at!(rdi, $bytes), ", ", $register, "\\i")],
            finish: [$($finish),*]);
    };
}

/// Where a pointer has the vector of this step.
macro_rules! at {
    ($cursor:ident, $bytes:literal) => {
        concat!("[", stringify!($cursor), " + \\group + ", $bytes, " * \\i]")
    };
}
pub(super) use {at, start, stored, stream, vectors};

/// What all rows of an instruction set have in common.
pub(super) const fn row(name: &'static str, op: MemoryOp, isa: Isa, body: crate::memory::kernel::Body) -> MemoryKernel {
    let (requires, vector_bytes): (&[Feature], usize) = match (isa, op) {
        (Isa::Avx512, _) => (&[Feature::Avx512F], 64),
        (Isa::Avx2, MemoryOp::Triad | MemoryOp::TriadNt) => (&[Feature::Avx2, Feature::Fma], 32),
        (Isa::Avx2, _) => (&[Feature::Avx2], 32),
        (Isa::Sse2, _) => (&[Feature::Sse2], 16),
        _ => (&[], 8),
    };
    MemoryKernel::row(name, op, (isa, requires), vector_bytes, body)
}
