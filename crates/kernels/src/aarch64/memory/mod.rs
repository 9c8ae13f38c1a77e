//! The bodies of the memory streams: one block of 512 bytes per iteration, ascending, pass after pass.
//!
//! All have the same registers. X9 is the job; X1 goes through the target, X2, X3 and X4 through the sources; X5 counts
//! blocks down, X6 passes; X0 sums up how far the first pointer went. NEON moves pairs of registers, 32 bytes per
//! instruction, twice what SVE of 128 bits would. Non-temporal rows load and store with the hint that data are not used
//! again (LDNP and STNP, LDNT1D and STNT1D).

mod bytes;
mod fp64;
mod streams;
mod words;

use model::isa::Isa::{Neon, Scalar, Sve};
use model::isa::MemoryOp::{
    Add, AddNt, ByteLoop, Copy, CopyNt, DcZva, Mix11, Mix21, Mix31, Read, Scale, ScaleNt, Triad, TriadNt, Update,
    Write, WriteNt,
};

use crate::features::Feature;
use crate::memory::kernel::{MemoryKernel, Stride};

pub(in crate::aarch64) use streams::{begin, eight, four, group, moved, numbered};

/// Defines a table by the operations with their bodies and instructions, of NEON for 32 bytes and of SVE for a vector.
macro_rules! rows {
    ($($name:literal $op:ident: $module:ident $neon:ident $sve:ident, $with:ident $of_neon:tt $of_sve:tt;)+) => {
        &[
            $(
                MemoryKernel::row(concat!($name, "/sve/512"), $op, (Sve, &[Feature::Sve512]), 64, $module::$sve::<1>)
                    .$with $of_sve,
                MemoryKernel::row(concat!($name, "/sve/256"), $op, (Sve, &[Feature::Sve256]), 32, $module::$sve::<2>)
                    .$with $of_sve,
                MemoryKernel::row(concat!($name, "/neon"), $op, (Neon, &[Feature::Asimd]), 32, $module::$neon)
                    .$with $of_neon,
            )+
            MemoryKernel::row("dc_zva/scalar", DcZva, (Scalar, &[Feature::DcZva]), 1, bytes::dc_zva)
                .by(&[], &[], "dc")
                .of_bytes(Stride::Zeroed),
            MemoryKernel::row("byte_loop/scalar", ByteLoop, (Scalar, &[]), 1, bytes::byte_loop)
                .by(&["ldrb"], &[], "strb")
                .of_bytes(Stride::Byte),
        ]
    };
}

/// Rows by operation; within these, widest first.
pub(crate) static KERNELS: &[MemoryKernel] = rows![
    "read" Read: words read_neon read_sve, summing(&["ldp"], "add") (&["ld1d"], "add");
    "write" Write: words write_neon write_sve, by(&[], &["add", "add"], "stp") (&[], &["add"], "st1d");
    "write_nt" WriteNt: words write_nt_neon write_nt_sve,
        by(&[], &["add", "add"], "stnp") (&[], &["add"], "stnt1d");
    "copy" Copy: words copy_neon copy_sve, by(&["ldp"], &[], "stp") (&["ld1d"], &[], "st1d");
    "copy_nt" CopyNt: words copy_nt_neon copy_nt_sve,
        by(&["ldnp"], &[], "stnp") (&["ldnt1d"], &[], "stnt1d");
    "update" Update: words update_neon update_sve,
        by(&["ldp"], &["add", "add"], "stp") (&["ld1d"], &["add"], "st1d");
    "scale" Scale: fp64 scale_neon scale_sve,
        by(&["ldp"], &["fmul", "fmul"], "stp") (&["ld1d"], &["fmul"], "st1d");
    "scale_nt" ScaleNt: fp64 scale_nt_neon scale_nt_sve,
        by(&["ldnp"], &["fmul", "fmul"], "stnp") (&["ldnt1d"], &["fmul"], "stnt1d");
    "add" Add: fp64 add_neon add_sve,
        by(&["ldp", "ldp"], &["fadd", "fadd"], "stp") (&["ld1d", "ld1d"], &["fadd"], "st1d");
    "add_nt" AddNt: fp64 add_nt_neon add_nt_sve,
        by(&["ldnp", "ldnp"], &["fadd", "fadd"], "stnp") (&["ldnt1d", "ldnt1d"], &["fadd"], "stnt1d");
    "triad" Triad: fp64 triad_neon triad_sve,
        by(&["ldp", "ldp"], &["fmla", "fmla"], "stp") (&["ld1d", "ld1d"], &["fmla"], "st1d");
    "triad_nt" TriadNt: fp64 triad_nt_neon triad_nt_sve,
        by(&["ldnp", "ldnp"], &["fmla", "fmla"], "stnp") (&["ldnt1d", "ldnt1d"], &["fmla"], "stnt1d");
    "mix_3_1" Mix31: words mix_3_1_neon mix_3_1_sve,
        by(&["ldnp", "ldnp", "ldnp"], &["eor", "eor", "eor", "eor"], "stnp")
        (&["ldnt1d", "ldnt1d", "ldnt1d"], &["eor", "eor"], "stnt1d");
    "mix_2_1" Mix21: words mix_2_1_neon mix_2_1_sve,
        by(&["ldnp", "ldnp"], &["eor", "eor"], "stnp") (&["ldnt1d", "ldnt1d"], &["eor"], "stnt1d");
    "mix_1_1" Mix11: words copy_nt_neon copy_nt_sve,
        by(&["ldnp"], &[], "stnp") (&["ldnt1d"], &[], "stnt1d");
];
