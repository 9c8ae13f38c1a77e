//! Streams of 64-bit words: read, write, update, copy and the mixes of loads and stores.

use model::isa::{Isa, MemoryOp};

use super::streams::{at, row, start, stream, vectors};
use crate::memory::kernel::{Job, MemoryKernel};

/// Defines a loop that loads every vector and adds the first of each eight to vector 8.
///
/// A sum of all would occupy the ports that add as much as those that load: of a first-level cache, which delivers two
/// or three vectors a cycle, it would show three quarters. It is a sum as an exclusive or would be none after an even
/// number of passes.
macro_rules! read {
    ($name:ident, $register:literal, $bytes:literal, $groups:literal, clear: $clear:literal, sum: $sum:literal,
     load: $load:literal, finish: [$($finish:literal),*]) => {
        stream!($name, [rsi],
            setup: [$clear],
            block: [
                concat!(".irp group, ", $groups),
                concat!($sum, "[rsi + \\group]"),
                ".irp i, 1,2,3,4,5,6,7",
                concat!($load, " ", $register, "\\i, ", at!(rsi, $bytes)),
                ".endr",
                ".endr"
            ],
            finish: [concat!($load, " [r10 + 128], ", $register, "8") $(, $finish)*]);
    };
}

read!(read_avx512, "zmm", 64, "0", clear: "vpxorq zmm8, zmm8, zmm8", sum: "vpaddq zmm8, zmm8, ",
    load: "vmovdqa64", finish: ["vzeroupper"]);
read!(read_avx2, "ymm", 32, "0,256", clear: "vpxor ymm8, ymm8, ymm8", sum: "vpaddq ymm8, ymm8, ",
    load: "vmovdqa", finish: ["vzeroupper"]);
read!(read_sse2, "xmm", 16, "0,128,256,384", clear: "pxor xmm8, xmm8", sum: "paddq xmm8, ",
    load: "movdqa", finish: []);

/// Defines a loop that stores eight vectors and advances each by the operand, block after block and pass after pass.
macro_rules! write {
    ($name:ident, $register:literal, $bytes:literal, $groups:literal, load: $load:literal, store: $store:literal,
     advance: $advance:literal, finish: [$($finish:literal),*]) => {
        vectors!($name, [rdi], groups: $groups,
            setup: [
                ".irp i, 0,1,2,3,4,5,6,7",
                concat!($load, " ", $register, "\\i, [r10 + 128 + ", $bytes, " * \\i]"),
                ".endr",
                concat!($load, " ", $register, "8, [r10 + 64]")
            ],
            steps: [concat!($store, " ", at!(rdi, $bytes), ", ", $register, "\\i\n", $advance)],
            finish: [$($finish),*]);
    };
}

write!(write_avx512, "zmm", 64, "0", load: "vmovdqa64", store: "vmovdqa64",
    advance: "vpaddq zmm\\i, zmm\\i, zmm8", finish: ["vzeroupper"]);
write!(write_avx2, "ymm", 32, "0,256", load: "vmovdqa", store: "vmovdqa",
    advance: "vpaddq ymm\\i, ymm\\i, ymm8", finish: ["vzeroupper"]);
write!(write_sse2, "xmm", 16, "0,128,256,384", load: "movdqa", store: "movdqa",
    advance: "paddq xmm\\i, xmm8", finish: []);
write!(write_nt_avx512, "zmm", 64, "0", load: "vmovdqa64", store: "vmovntdq",
    advance: "vpaddq zmm\\i, zmm\\i, zmm8", finish: ["sfence", "vzeroupper"]);
write!(write_nt_avx2, "ymm", 32, "0,256", load: "vmovdqa", store: "vmovntdq",
    advance: "vpaddq ymm\\i, ymm\\i, ymm8", finish: ["sfence", "vzeroupper"]);
write!(write_nt_sse2, "xmm", 16, "0,128,256,384", load: "movdqa", store: "movntdq",
    advance: "paddq xmm\\i, xmm8", finish: ["sfence"]);

/// Defines a loop that adds the operand to every word and stores the sum where the word was.
macro_rules! update {
    ($name:ident, $register:literal, $bytes:literal, $groups:literal, operand: $operand:literal,
     steps: [$($step:expr),+], store: $store:literal, finish: [$($finish:literal),*]) => {
        vectors!($name, [rdi], groups: $groups,
            setup: [concat!($operand, " ", $register, "8, [r10 + 64]")],
            steps: [$($step,)+ concat!($store, " ", at!(rdi, $bytes), ", ", $register, "\\i")],
            finish: [$($finish),*]);
    };
}

update!(update_avx512, "zmm", 64, "0", operand: "vmovdqa64",
    steps: [concat!("vpaddq zmm\\i, zmm8, ", at!(rdi, 64))], store: "vmovdqa64", finish: ["vzeroupper"]);
update!(update_avx2, "ymm", 32, "0,256", operand: "vmovdqa",
    steps: [concat!("vpaddq ymm\\i, ymm8, ", at!(rdi, 32))], store: "vmovdqa", finish: ["vzeroupper"]);
update!(update_sse2, "xmm", 16, "0,128,256,384", operand: "movdqa",
    steps: [concat!("movdqa xmm\\i, ", at!(rdi, 16)), "paddq xmm\\i, xmm8"], store: "movdqa", finish: []);

/// Defines a loop that stores the exclusive or of as many lines as there are other pointers: of one, the line itself.
macro_rules! mix {
    ($name:ident, [$first:ident $($other:ident)*], $register:literal, $bytes:literal, $groups:literal,
     load: $load:literal, xor: $xor:literal, store: $store:literal, finish: [$($finish:literal),*]) => {
        vectors!($name, [rdi $first $($other)*], groups: $groups, setup: [],
            steps: [
                concat!($load, " ", $register, "\\i, ", at!($first, $bytes)),
                $(concat!($xor, at!($other, $bytes)),)*
                concat!($store, " ", at!(rdi, $bytes), ", ", $register, "\\i")
            ],
            finish: [$($finish),*]);
    };
}

mix!(copy_avx512, [rsi], "zmm", 64, "0", load: "vmovdqa64",
    xor: "vpxorq zmm\\i, zmm\\i, ", store: "vmovdqa64", finish: ["vzeroupper"]);
mix!(copy_avx2, [rsi], "ymm", 32, "0,256", load: "vmovdqa",
    xor: "vpxor ymm\\i, ymm\\i, ", store: "vmovdqa", finish: ["vzeroupper"]);
mix!(copy_sse2, [rsi], "xmm", 16, "0,128,256,384", load: "movdqa",
    xor: "pxor xmm\\i, ", store: "movdqa", finish: []);
mix!(copy_nt_avx512, [rsi], "zmm", 64, "0", load: "vmovdqa64",
    xor: "vpxorq zmm\\i, zmm\\i, ", store: "vmovntdq", finish: ["sfence", "vzeroupper"]);
mix!(copy_nt_avx2, [rsi], "ymm", 32, "0,256", load: "vmovdqa",
    xor: "vpxor ymm\\i, ymm\\i, ", store: "vmovntdq", finish: ["sfence", "vzeroupper"]);
mix!(copy_nt_sse2, [rsi], "xmm", 16, "0,128,256,384", load: "movdqa",
    xor: "pxor xmm\\i, ", store: "movntdq", finish: ["sfence"]);
mix!(mix_2_1_avx512, [rsi rdx], "zmm", 64, "0", load: "vmovdqa64",
    xor: "vpxorq zmm\\i, zmm\\i, ", store: "vmovntdq", finish: ["sfence", "vzeroupper"]);
mix!(mix_2_1_avx2, [rsi rdx], "ymm", 32, "0,256", load: "vmovdqa",
    xor: "vpxor ymm\\i, ymm\\i, ", store: "vmovntdq", finish: ["sfence", "vzeroupper"]);
mix!(mix_2_1_sse2, [rsi rdx], "xmm", 16, "0,128,256,384", load: "movdqa",
    xor: "pxor xmm\\i, ", store: "movntdq", finish: ["sfence"]);
mix!(mix_3_1_avx512, [rsi rdx rcx], "zmm", 64, "0", load: "vmovdqa64",
    xor: "vpxorq zmm\\i, zmm\\i, ", store: "vmovntdq", finish: ["sfence", "vzeroupper"]);
mix!(mix_3_1_avx2, [rsi rdx rcx], "ymm", 32, "0,256", load: "vmovdqa",
    xor: "vpxor ymm\\i, ymm\\i, ", store: "vmovntdq", finish: ["sfence", "vzeroupper"]);
mix!(mix_3_1_sse2, [rsi rdx rcx], "xmm", 16, "0,128,256,384", load: "movdqa",
    xor: "pxor xmm\\i, ", store: "movntdq", finish: ["sfence"]);

/// Loads of 64 bytes.
pub(super) const READ_AVX512: MemoryKernel = MemoryKernel {
    sum: Some("vpaddq"),
    ..row("read/avx512", MemoryOp::Read, Isa::Avx512, read_avx512).by(&["vmovdqa64"], &[], None)
};

/// Loads of 32 bytes.
pub(super) const READ_AVX2: MemoryKernel = MemoryKernel {
    sum: Some("vpaddq"),
    ..row("read/avx2", MemoryOp::Read, Isa::Avx2, read_avx2).by(&["vmovdqa"], &[], None)
};

/// Loads of 16 bytes.
pub(super) const READ_SSE2: MemoryKernel = MemoryKernel {
    sum: Some("paddq"),
    ..row("read/sse2", MemoryOp::Read, Isa::Sse2, read_sse2).by(&["movdqa"], &[], None)
};

/// Stores through the cache of 64 bytes.
pub(super) const WRITE_AVX512: MemoryKernel =
    row("write/avx512", MemoryOp::Write, Isa::Avx512, write_avx512).by(&[], &["vpaddq"], Some("vmovdqa64"));

/// Stores through the cache of 32 bytes.
pub(super) const WRITE_AVX2: MemoryKernel =
    row("write/avx2", MemoryOp::Write, Isa::Avx2, write_avx2).by(&[], &["vpaddq"], Some("vmovdqa"));

/// Stores through the cache of 16 bytes.
pub(super) const WRITE_SSE2: MemoryKernel =
    row("write/sse2", MemoryOp::Write, Isa::Sse2, write_sse2).by(&[], &["paddq"], Some("movdqa"));

/// Non-temporal stores of 64 bytes.
pub(super) const WRITE_NT_AVX512: MemoryKernel =
    row("write_nt/avx512", MemoryOp::WriteNt, Isa::Avx512, write_nt_avx512).by(&[], &["vpaddq"], Some("vmovntdq"));

/// Non-temporal stores of 32 bytes.
pub(super) const WRITE_NT_AVX2: MemoryKernel =
    row("write_nt/avx2", MemoryOp::WriteNt, Isa::Avx2, write_nt_avx2).by(&[], &["vpaddq"], Some("vmovntdq"));

/// Non-temporal stores of 16 bytes.
pub(super) const WRITE_NT_SSE2: MemoryKernel =
    row("write_nt/sse2", MemoryOp::WriteNt, Isa::Sse2, write_nt_sse2).by(&[], &["paddq"], Some("movntdq"));

/// Loads and stores through the cache of 64 bytes.
pub(super) const COPY_AVX512: MemoryKernel =
    row("copy/avx512", MemoryOp::Copy, Isa::Avx512, copy_avx512).by(&["vmovdqa64"], &[], Some("vmovdqa64"));

/// Loads and stores through the cache of 32 bytes.
pub(super) const COPY_AVX2: MemoryKernel =
    row("copy/avx2", MemoryOp::Copy, Isa::Avx2, copy_avx2).by(&["vmovdqa"], &[], Some("vmovdqa"));

/// Loads and stores through the cache of 16 bytes.
pub(super) const COPY_SSE2: MemoryKernel =
    row("copy/sse2", MemoryOp::Copy, Isa::Sse2, copy_sse2).by(&["movdqa"], &[], Some("movdqa"));

/// Loads and non-temporal stores of 64 bytes.
pub(super) const COPY_NT_AVX512: MemoryKernel =
    row("copy_nt/avx512", MemoryOp::CopyNt, Isa::Avx512, copy_nt_avx512).by(&["vmovdqa64"], &[], Some("vmovntdq"));

/// Loads and non-temporal stores of 32 bytes.
pub(super) const COPY_NT_AVX2: MemoryKernel =
    row("copy_nt/avx2", MemoryOp::CopyNt, Isa::Avx2, copy_nt_avx2).by(&["vmovdqa"], &[], Some("vmovntdq"));

/// Loads and non-temporal stores of 16 bytes.
pub(super) const COPY_NT_SSE2: MemoryKernel =
    row("copy_nt/sse2", MemoryOp::CopyNt, Isa::Sse2, copy_nt_sse2).by(&["movdqa"], &[], Some("movntdq"));

/// Loads of 64 bytes, and stores of their sums in place.
pub(super) const UPDATE_AVX512: MemoryKernel =
    row("update/avx512", MemoryOp::Update, Isa::Avx512, update_avx512).by(&["vpaddq"], &[], Some("vmovdqa64"));

/// Loads of 32 bytes, and stores of their sums in place.
pub(super) const UPDATE_AVX2: MemoryKernel =
    row("update/avx2", MemoryOp::Update, Isa::Avx2, update_avx2).by(&["vpaddq"], &[], Some("vmovdqa"));

/// Loads of 16 bytes, and stores of their sums in place.
pub(super) const UPDATE_SSE2: MemoryKernel =
    row("update/sse2", MemoryOp::Update, Isa::Sse2, update_sse2).by(&["movdqa"], &["paddq"], Some("movdqa"));

/// Three loads of 64 bytes for each non-temporal store.
pub(super) const MIX_3_1_AVX512: MemoryKernel = row("mix_3_1/avx512", MemoryOp::Mix31, Isa::Avx512, mix_3_1_avx512).by(
    &["vmovdqa64", "vpxorq", "vpxorq"],
    &[],
    Some("vmovntdq"),
);

/// Three loads of 32 bytes for each non-temporal store.
pub(super) const MIX_3_1_AVX2: MemoryKernel = row("mix_3_1/avx2", MemoryOp::Mix31, Isa::Avx2, mix_3_1_avx2).by(
    &["vmovdqa", "vpxor", "vpxor"],
    &[],
    Some("vmovntdq"),
);

/// Three loads of 16 bytes for each non-temporal store.
pub(super) const MIX_3_1_SSE2: MemoryKernel =
    row("mix_3_1/sse2", MemoryOp::Mix31, Isa::Sse2, mix_3_1_sse2).by(&["movdqa", "pxor", "pxor"], &[], Some("movntdq"));

/// Two loads of 64 bytes for each non-temporal store.
pub(super) const MIX_2_1_AVX512: MemoryKernel = row("mix_2_1/avx512", MemoryOp::Mix21, Isa::Avx512, mix_2_1_avx512).by(
    &["vmovdqa64", "vpxorq"],
    &[],
    Some("vmovntdq"),
);

/// Two loads of 32 bytes for each non-temporal store.
pub(super) const MIX_2_1_AVX2: MemoryKernel =
    row("mix_2_1/avx2", MemoryOp::Mix21, Isa::Avx2, mix_2_1_avx2).by(&["vmovdqa", "vpxor"], &[], Some("vmovntdq"));

/// Two loads of 16 bytes for each non-temporal store.
pub(super) const MIX_2_1_SSE2: MemoryKernel =
    row("mix_2_1/sse2", MemoryOp::Mix21, Isa::Sse2, mix_2_1_sse2).by(&["movdqa", "pxor"], &[], Some("movntdq"));

/// One load of 64 bytes for each non-temporal store: the loop of the copy, as the first of a series.
pub(super) const MIX_1_1_AVX512: MemoryKernel =
    row("mix_1_1/avx512", MemoryOp::Mix11, Isa::Avx512, copy_nt_avx512).by(&["vmovdqa64"], &[], Some("vmovntdq"));

/// One load of 32 bytes for each non-temporal store: the loop of the copy, as the first of a series.
pub(super) const MIX_1_1_AVX2: MemoryKernel =
    row("mix_1_1/avx2", MemoryOp::Mix11, Isa::Avx2, copy_nt_avx2).by(&["vmovdqa"], &[], Some("vmovntdq"));

/// One load of 16 bytes for each non-temporal store: the loop of the copy, as the first of a series.
pub(super) const MIX_1_1_SSE2: MemoryKernel =
    row("mix_1_1/sse2", MemoryOp::Mix11, Isa::Sse2, copy_nt_sse2).by(&["movdqa"], &[], Some("movntdq"));
