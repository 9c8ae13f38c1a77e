//! The bodies of the memory streams: one block of 512 bytes per iteration, ascending.
//!
//! In the macros, `$register` is the register class, `$bytes` its width, and `$parts` numbers the registers that make
//! up one line. RDI, RSI and RDX are the arguments in order; RSI counts blocks down and none is none.

use core::arch::naked_asm;

use model::isa::{Isa, MemoryOp};

use crate::features::Feature;
use crate::lines::{Block, Line};
use crate::memory::{Body, MemoryKernel};
use crate::pattern::Pattern;

/// Defines a loop that folds a block into eight accumulators, `$groups` being the offsets of each eight vectors.
macro_rules! read {
    ($name:ident, $register:literal, $bytes:literal, groups: $groups:literal, clear: $clear:literal,
     fold: $fold:literal, reduce: $reduce:literal, store: $store:literal, finish: $finish:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name(src: *const Block, blocks: usize, sum: &mut Line) {
            naked_asm!(
                ".irp acc, 0,1,2,3,4,5,6,7",
                $clear,
                ".endr",
                "test rsi, rsi",
                "jz 3f",
                ".p2align 6",
                "2:",
                concat!(".irp group, ", $groups),
                ".irp acc, 0,1,2,3,4,5,6,7",
                concat!($fold, "[rdi + \\group + ", $bytes, " * \\acc]"),
                ".endr",
                ".endr",
                "add rdi, 512",
                "dec rsi",
                "jnz 2b",
                "3:",
                ".irp acc, 1,2,3,4,5,6,7",
                $reduce,
                ".endr",
                concat!($store, " [rdx], ", $register, "0"),
                $finish,
                "ret",
            )
        }
    };
}

read!(read_avx512, "zmm", 64, groups: "0", clear: "vpxorq zmm\\acc, zmm\\acc, zmm\\acc",
    fold: "vpxorq zmm\\acc, zmm\\acc, ", reduce: "vpxorq zmm0, zmm0, zmm\\acc",
    store: "vmovdqa64", finish: "vzeroupper");
read!(read_avx2, "ymm", 32, groups: "0,256", clear: "vpxor ymm\\acc, ymm\\acc, ymm\\acc",
    fold: "vpxor ymm\\acc, ymm\\acc, ", reduce: "vpxor ymm0, ymm0, ymm\\acc",
    store: "vmovdqa", finish: "vzeroupper");
read!(read_sse2, "xmm", 16, groups: "0,128,256,384", clear: "pxor xmm\\acc, xmm\\acc",
    fold: "pxor xmm\\acc, ", reduce: "pxor xmm0, xmm\\acc",
    store: "movdqa", finish: "");

/// Defines a loop that stores a line from the registers `$parts` and advances each by the step in register 8.
macro_rules! write {
    ($name:ident, $register:literal, $bytes:literal, parts: $parts:literal, load: $load:literal, store: $store:literal,
     advance: $advance:literal, finish: $finish:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name(dst: *mut Block, blocks: usize, pattern: &Pattern) {
            naked_asm!(
                concat!(".irp part, ", $parts),
                concat!($load, " ", $register, "\\part, [rdx + {words} + ", $bytes, " * \\part]"),
                ".endr",
                concat!($load, " ", $register, "8, [rdx + {step}]"),
                "test rsi, rsi",
                "jz 3f",
                ".p2align 6",
                "2:",
                ".irp line, 0,64,128,192,256,320,384,448",
                concat!(".irp part, ", $parts),
                concat!($store, " [rdi + \\line + ", $bytes, " * \\part], ", $register, "\\part"),
                $advance,
                ".endr",
                ".endr",
                "add rdi, 512",
                "dec rsi",
                "jnz 2b",
                "3:",
                $finish,
                "ret",
                words = const core::mem::offset_of!(Pattern, words),
                step = const core::mem::offset_of!(Pattern, step),
            )
        }
    };
}

write!(write_avx512, "zmm", 64, parts: "0", load: "vmovdqa64", store: "vmovdqa64",
    advance: "vpaddq zmm\\part, zmm\\part, zmm8", finish: "vzeroupper");
write!(write_avx2, "ymm", 32, parts: "0,1", load: "vmovdqa", store: "vmovdqa",
    advance: "vpaddq ymm\\part, ymm\\part, ymm8", finish: "vzeroupper");
write!(write_sse2, "xmm", 16, parts: "0,1,2,3", load: "movdqa", store: "movdqa",
    advance: "paddq xmm\\part, xmm8", finish: "");
write!(write_nt_avx512, "zmm", 64, parts: "0", load: "vmovdqa64", store: "vmovntdq",
    advance: "vpaddq zmm\\part, zmm\\part, zmm8", finish: "sfence; vzeroupper");
write!(write_nt_avx2, "ymm", 32, parts: "0,1", load: "vmovdqa", store: "vmovntdq",
    advance: "vpaddq ymm\\part, ymm\\part, ymm8", finish: "sfence; vzeroupper");
write!(write_nt_sse2, "xmm", 16, parts: "0,1,2,3", load: "movdqa", store: "movntdq",
    advance: "paddq xmm\\part, xmm8", finish: "sfence");

/// Defines a loop that loads eight vectors, then stores them, for each group of eight.
macro_rules! copy {
    ($name:ident, $register:literal, $bytes:literal, groups: $groups:literal, load: $load:literal,
     store: $store:literal, finish: $finish:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name(dst: *mut Block, blocks: usize, src: *const Block) {
            naked_asm!(
                "test rsi, rsi",
                "jz 3f",
                ".p2align 6",
                "2:",
                concat!(".irp group, ", $groups),
                ".irp part, 0,1,2,3,4,5,6,7",
                concat!($load, " ", $register, "\\part, [rdx + \\group + ", $bytes, " * \\part]"),
                ".endr",
                ".irp part, 0,1,2,3,4,5,6,7",
                concat!($store, " [rdi + \\group + ", $bytes, " * \\part], ", $register, "\\part"),
                ".endr",
                ".endr",
                "add rdi, 512",
                "add rdx, 512",
                "dec rsi",
                "jnz 2b",
                "3:",
                $finish,
                "ret",
            )
        }
    };
}

copy!(copy_avx512, "zmm", 64, groups: "0", load: "vmovdqa64", store: "vmovdqa64", finish: "vzeroupper");
copy!(copy_avx2, "ymm", 32, groups: "0,256", load: "vmovdqa", store: "vmovdqa", finish: "vzeroupper");
copy!(copy_sse2, "xmm", 16, groups: "0,128,256,384", load: "movdqa", store: "movdqa", finish: "");
copy!(copy_nt_avx512, "zmm", 64, groups: "0", load: "vmovdqa64", store: "vmovntdq", finish: "sfence; vzeroupper");
copy!(copy_nt_avx2, "ymm", 32, groups: "0,256", load: "vmovdqa", store: "vmovntdq", finish: "sfence; vzeroupper");
copy!(copy_nt_sse2, "xmm", 16, groups: "0,128,256,384", load: "movdqa", store: "movntdq", finish: "sfence");

/// Loads of 64 bytes.
pub(super) const READ_AVX512: MemoryKernel = MemoryKernel {
    name: "read/avx512",
    op: MemoryOp::Read,
    isa: Isa::Avx512,
    requires: &[Feature::Avx512F],
    vector_bytes: 64,
    load: Some("vpxorq"),
    store: None,
    body: Body::Read(read_avx512),
};
/// Loads of 32 bytes.
pub(super) const READ_AVX2: MemoryKernel = MemoryKernel {
    name: "read/avx2",
    op: MemoryOp::Read,
    isa: Isa::Avx2,
    requires: &[Feature::Avx2],
    vector_bytes: 32,
    load: Some("vpxor"),
    store: None,
    body: Body::Read(read_avx2),
};
/// Loads of 16 bytes.
pub(super) const READ_SSE2: MemoryKernel = MemoryKernel {
    name: "read/sse2",
    op: MemoryOp::Read,
    isa: Isa::Sse2,
    requires: &[Feature::Sse2],
    vector_bytes: 16,
    load: Some("pxor"),
    store: None,
    body: Body::Read(read_sse2),
};
/// Stores through the cache of 64 bytes.
pub(super) const WRITE_AVX512: MemoryKernel = MemoryKernel {
    name: "write/avx512",
    op: MemoryOp::Write,
    isa: Isa::Avx512,
    requires: &[Feature::Avx512F],
    vector_bytes: 64,
    load: None,
    store: Some("vmovdqa64"),
    body: Body::Write(write_avx512),
};
/// Stores through the cache of 32 bytes.
pub(super) const WRITE_AVX2: MemoryKernel = MemoryKernel {
    name: "write/avx2",
    op: MemoryOp::Write,
    isa: Isa::Avx2,
    requires: &[Feature::Avx2],
    vector_bytes: 32,
    load: None,
    store: Some("vmovdqa"),
    body: Body::Write(write_avx2),
};
/// Stores through the cache of 16 bytes.
pub(super) const WRITE_SSE2: MemoryKernel = MemoryKernel {
    name: "write/sse2",
    op: MemoryOp::Write,
    isa: Isa::Sse2,
    requires: &[Feature::Sse2],
    vector_bytes: 16,
    load: None,
    store: Some("movdqa"),
    body: Body::Write(write_sse2),
};
/// Non-temporal stores of 64 bytes.
pub(super) const WRITE_NT_AVX512: MemoryKernel = MemoryKernel {
    name: "write_nt/avx512",
    op: MemoryOp::WriteNt,
    isa: Isa::Avx512,
    requires: &[Feature::Avx512F],
    vector_bytes: 64,
    load: None,
    store: Some("vmovntdq"),
    body: Body::Write(write_nt_avx512),
};
/// Non-temporal stores of 32 bytes.
pub(super) const WRITE_NT_AVX2: MemoryKernel = MemoryKernel {
    name: "write_nt/avx2",
    op: MemoryOp::WriteNt,
    isa: Isa::Avx2,
    requires: &[Feature::Avx2],
    vector_bytes: 32,
    load: None,
    store: Some("vmovntdq"),
    body: Body::Write(write_nt_avx2),
};
/// Non-temporal stores of 16 bytes.
pub(super) const WRITE_NT_SSE2: MemoryKernel = MemoryKernel {
    name: "write_nt/sse2",
    op: MemoryOp::WriteNt,
    isa: Isa::Sse2,
    requires: &[Feature::Sse2],
    vector_bytes: 16,
    load: None,
    store: Some("movntdq"),
    body: Body::Write(write_nt_sse2),
};
/// Loads and stores through the cache of 64 bytes.
pub(super) const COPY_AVX512: MemoryKernel = MemoryKernel {
    name: "copy/avx512",
    op: MemoryOp::Copy,
    isa: Isa::Avx512,
    requires: &[Feature::Avx512F],
    vector_bytes: 64,
    load: Some("vmovdqa64"),
    store: Some("vmovdqa64"),
    body: Body::Copy(copy_avx512),
};
/// Loads and stores through the cache of 32 bytes.
pub(super) const COPY_AVX2: MemoryKernel = MemoryKernel {
    name: "copy/avx2",
    op: MemoryOp::Copy,
    isa: Isa::Avx2,
    requires: &[Feature::Avx2],
    vector_bytes: 32,
    load: Some("vmovdqa"),
    store: Some("vmovdqa"),
    body: Body::Copy(copy_avx2),
};
/// Loads and stores through the cache of 16 bytes.
pub(super) const COPY_SSE2: MemoryKernel = MemoryKernel {
    name: "copy/sse2",
    op: MemoryOp::Copy,
    isa: Isa::Sse2,
    requires: &[Feature::Sse2],
    vector_bytes: 16,
    load: Some("movdqa"),
    store: Some("movdqa"),
    body: Body::Copy(copy_sse2),
};
/// Loads and non-temporal stores of 64 bytes.
pub(super) const COPY_NT_AVX512: MemoryKernel = MemoryKernel {
    name: "copy_nt/avx512",
    op: MemoryOp::CopyNt,
    isa: Isa::Avx512,
    requires: &[Feature::Avx512F],
    vector_bytes: 64,
    load: Some("vmovdqa64"),
    store: Some("vmovntdq"),
    body: Body::Copy(copy_nt_avx512),
};
/// Loads and non-temporal stores of 32 bytes.
pub(super) const COPY_NT_AVX2: MemoryKernel = MemoryKernel {
    name: "copy_nt/avx2",
    op: MemoryOp::CopyNt,
    isa: Isa::Avx2,
    requires: &[Feature::Avx2],
    vector_bytes: 32,
    load: Some("vmovdqa"),
    store: Some("vmovntdq"),
    body: Body::Copy(copy_nt_avx2),
};
/// Loads and non-temporal stores of 16 bytes.
pub(super) const COPY_NT_SSE2: MemoryKernel = MemoryKernel {
    name: "copy_nt/sse2",
    op: MemoryOp::CopyNt,
    isa: Isa::Sse2,
    requires: &[Feature::Sse2],
    vector_bytes: 16,
    load: Some("movdqa"),
    store: Some("movntdq"),
    body: Body::Copy(copy_nt_sse2),
};
