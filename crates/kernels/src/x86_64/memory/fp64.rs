//! STREAM's scale, add and triad of fp64, as `stream.c` 5.10 defines them, each with and without non-temporal stores.

use model::isa::{Isa, MemoryOp};

use super::streams::{at, row, start, stream, vectors};
use crate::features::Feature;
use crate::memory::kernel::{Job, MemoryKernel};

/// Defines a loop of these steps, which leave in vectors 0 to 7 what is stored; vector 8 is the scalar.
macro_rules! stored {
    ($name:ident, [$($source:ident)+], $register:literal, $bytes:literal, $groups:literal, move: $move:literal,
     steps: [$($step:expr),+], store: $store:literal, finish: [$($finish:literal),*]) => {
        vectors!($name, [rdi $($source)+], groups: $groups,
            setup: [concat!($move, " ", $register, "8, [r10 + 64]")],
            steps: [$($step,)+ concat!($store, " ", at!(rdi, $bytes), ", ", $register, "\\i")],
            finish: [$($finish),*]);
    };
}

stored!(scale_avx512, [rsi], "zmm", 64, "0", move: "vmovapd",
    steps: [concat!("vmulpd zmm\\i, zmm8, ", at!(rsi, 64))],
    store: "vmovapd", finish: ["vzeroupper"]);
stored!(scale_avx2, [rsi], "ymm", 32, "0,256", move: "vmovapd",
    steps: [concat!("vmulpd ymm\\i, ymm8, ", at!(rsi, 32))],
    store: "vmovapd", finish: ["vzeroupper"]);
stored!(scale_sse2, [rsi], "xmm", 16, "0,128,256,384", move: "movapd",
    steps: [concat!("movapd xmm\\i, ", at!(rsi, 16)), "mulpd xmm\\i, xmm8"],
    store: "movapd", finish: []);
stored!(scale_nt_avx512, [rsi], "zmm", 64, "0", move: "vmovapd",
    steps: [concat!("vmulpd zmm\\i, zmm8, ", at!(rsi, 64))],
    store: "vmovntpd", finish: ["sfence", "vzeroupper"]);
stored!(scale_nt_avx2, [rsi], "ymm", 32, "0,256", move: "vmovapd",
    steps: [concat!("vmulpd ymm\\i, ymm8, ", at!(rsi, 32))],
    store: "vmovntpd", finish: ["sfence", "vzeroupper"]);
stored!(scale_nt_sse2, [rsi], "xmm", 16, "0,128,256,384", move: "movapd",
    steps: [concat!("movapd xmm\\i, ", at!(rsi, 16)), "mulpd xmm\\i, xmm8"],
    store: "movntpd", finish: ["sfence"]);
stored!(add_avx512, [rsi rdx], "zmm", 64, "0", move: "vmovapd",
    steps: [concat!("vmovapd zmm\\i, ", at!(rsi, 64)), concat!("vaddpd zmm\\i, zmm\\i, ", at!(rdx, 64))],
    store: "vmovapd", finish: ["vzeroupper"]);
stored!(add_avx2, [rsi rdx], "ymm", 32, "0,256", move: "vmovapd",
    steps: [concat!("vmovapd ymm\\i, ", at!(rsi, 32)), concat!("vaddpd ymm\\i, ymm\\i, ", at!(rdx, 32))],
    store: "vmovapd", finish: ["vzeroupper"]);
stored!(add_sse2, [rsi rdx], "xmm", 16, "0,128,256,384", move: "movapd",
    steps: [concat!("movapd xmm\\i, ", at!(rsi, 16)), concat!("addpd xmm\\i, ", at!(rdx, 16))],
    store: "movapd", finish: []);
stored!(add_nt_avx512, [rsi rdx], "zmm", 64, "0", move: "vmovapd",
    steps: [concat!("vmovapd zmm\\i, ", at!(rsi, 64)), concat!("vaddpd zmm\\i, zmm\\i, ", at!(rdx, 64))],
    store: "vmovntpd", finish: ["sfence", "vzeroupper"]);
stored!(add_nt_avx2, [rsi rdx], "ymm", 32, "0,256", move: "vmovapd",
    steps: [concat!("vmovapd ymm\\i, ", at!(rsi, 32)), concat!("vaddpd ymm\\i, ymm\\i, ", at!(rdx, 32))],
    store: "vmovntpd", finish: ["sfence", "vzeroupper"]);
stored!(add_nt_sse2, [rsi rdx], "xmm", 16, "0,128,256,384", move: "movapd",
    steps: [concat!("movapd xmm\\i, ", at!(rsi, 16)), concat!("addpd xmm\\i, ", at!(rdx, 16))],
    store: "movntpd", finish: ["sfence"]);
stored!(triad_avx512, [rsi rdx], "zmm", 64, "0", move: "vmovapd",
    steps: [concat!("vmovapd zmm\\i, ", at!(rdx, 64)), concat!("vfmadd213pd zmm\\i, zmm8, ", at!(rsi, 64))],
    store: "vmovapd", finish: ["vzeroupper"]);
stored!(triad_avx2, [rsi rdx], "ymm", 32, "0,256", move: "vmovapd",
    steps: [concat!("vmovapd ymm\\i, ", at!(rdx, 32)), concat!("vfmadd213pd ymm\\i, ymm8, ", at!(rsi, 32))],
    store: "vmovapd", finish: ["vzeroupper"]);
stored!(triad_sse2, [rsi rdx], "xmm", 16, "0,128,256,384", move: "movapd",
    steps: [concat!("movapd xmm\\i, ", at!(rdx, 16)), "mulpd xmm\\i, xmm8", concat!("addpd xmm\\i, ", at!(rsi, 16))],
    store: "movapd", finish: []);
stored!(triad_nt_avx512, [rsi rdx], "zmm", 64, "0", move: "vmovapd",
    steps: [concat!("vmovapd zmm\\i, ", at!(rdx, 64)), concat!("vfmadd213pd zmm\\i, zmm8, ", at!(rsi, 64))],
    store: "vmovntpd", finish: ["sfence", "vzeroupper"]);
stored!(triad_nt_avx2, [rsi rdx], "ymm", 32, "0,256", move: "vmovapd",
    steps: [concat!("vmovapd ymm\\i, ", at!(rdx, 32)), concat!("vfmadd213pd ymm\\i, ymm8, ", at!(rsi, 32))],
    store: "vmovntpd", finish: ["sfence", "vzeroupper"]);
stored!(triad_nt_sse2, [rsi rdx], "xmm", 16, "0,128,256,384", move: "movapd",
    steps: [concat!("movapd xmm\\i, ", at!(rdx, 16)), "mulpd xmm\\i, xmm8", concat!("addpd xmm\\i, ", at!(rsi, 16))],
    store: "movntpd", finish: ["sfence"]);

/// `b = s * c` in vectors of 64 bytes, stores through the cache.
pub(super) const SCALE_AVX512: MemoryKernel =
    row("scale/avx512", MemoryOp::Scale, Isa::Avx512, scale_avx512).by(&["vmulpd"], &[], Some("vmovapd"));

/// `b = s * c` in vectors of 32 bytes, stores through the cache.
pub(super) const SCALE_AVX2: MemoryKernel =
    row("scale/avx2", MemoryOp::Scale, Isa::Avx2, scale_avx2).by(&["vmulpd"], &[], Some("vmovapd"));

/// `b = s * c` in vectors of 16 bytes, stores through the cache.
pub(super) const SCALE_SSE2: MemoryKernel =
    row("scale/sse2", MemoryOp::Scale, Isa::Sse2, scale_sse2).by(&["movapd"], &["mulpd"], Some("movapd"));

/// `b = s * c` in vectors of 64 bytes, non-temporal stores.
pub(super) const SCALE_NT_AVX512: MemoryKernel =
    row("scale_nt/avx512", MemoryOp::ScaleNt, Isa::Avx512, scale_nt_avx512).by(&["vmulpd"], &[], Some("vmovntpd"));

/// `b = s * c` in vectors of 32 bytes, non-temporal stores.
pub(super) const SCALE_NT_AVX2: MemoryKernel =
    row("scale_nt/avx2", MemoryOp::ScaleNt, Isa::Avx2, scale_nt_avx2).by(&["vmulpd"], &[], Some("vmovntpd"));

/// `b = s * c` in vectors of 16 bytes, non-temporal stores.
pub(super) const SCALE_NT_SSE2: MemoryKernel =
    row("scale_nt/sse2", MemoryOp::ScaleNt, Isa::Sse2, scale_nt_sse2).by(&["movapd"], &["mulpd"], Some("movntpd"));

/// `a = b + c` in vectors of 64 bytes, stores through the cache.
pub(super) const ADD_AVX512: MemoryKernel =
    row("add/avx512", MemoryOp::Add, Isa::Avx512, add_avx512).by(&["vmovapd", "vaddpd"], &[], Some("vmovapd"));

/// `a = b + c` in vectors of 32 bytes, stores through the cache.
pub(super) const ADD_AVX2: MemoryKernel =
    row("add/avx2", MemoryOp::Add, Isa::Avx2, add_avx2).by(&["vmovapd", "vaddpd"], &[], Some("vmovapd"));

/// `a = b + c` in vectors of 16 bytes, stores through the cache.
pub(super) const ADD_SSE2: MemoryKernel =
    row("add/sse2", MemoryOp::Add, Isa::Sse2, add_sse2).by(&["movapd", "addpd"], &[], Some("movapd"));

/// `a = b + c` in vectors of 64 bytes, non-temporal stores.
pub(super) const ADD_NT_AVX512: MemoryKernel =
    row("add_nt/avx512", MemoryOp::AddNt, Isa::Avx512, add_nt_avx512).by(&["vmovapd", "vaddpd"], &[], Some("vmovntpd"));

/// `a = b + c` in vectors of 32 bytes, non-temporal stores.
pub(super) const ADD_NT_AVX2: MemoryKernel =
    row("add_nt/avx2", MemoryOp::AddNt, Isa::Avx2, add_nt_avx2).by(&["vmovapd", "vaddpd"], &[], Some("vmovntpd"));

/// `a = b + c` in vectors of 16 bytes, non-temporal stores.
pub(super) const ADD_NT_SSE2: MemoryKernel =
    row("add_nt/sse2", MemoryOp::AddNt, Isa::Sse2, add_nt_sse2).by(&["movapd", "addpd"], &[], Some("movntpd"));

/// `a = b + s * c` in vectors of 64 bytes, stores through the cache, by fused multiply-add.
pub(super) const TRIAD_AVX512: MemoryKernel = row("triad/avx512", MemoryOp::Triad, Isa::Avx512, triad_avx512).by(
    &["vmovapd", "vfmadd213pd"],
    &[],
    Some("vmovapd"),
);

/// `a = b + s * c` in vectors of 32 bytes, stores through the cache, by fused multiply-add.
pub(super) const TRIAD_AVX2: MemoryKernel = MemoryKernel {
    requires: &[Feature::Avx2, Feature::Fma],
    ..row("triad/avx2", MemoryOp::Triad, Isa::Avx2, triad_avx2).by(&["vmovapd", "vfmadd213pd"], &[], Some("vmovapd"))
};

/// `a = b + s * c` in vectors of 16 bytes, stores through the cache.
pub(super) const TRIAD_SSE2: MemoryKernel =
    row("triad/sse2", MemoryOp::Triad, Isa::Sse2, triad_sse2).by(&["movapd", "addpd"], &["mulpd"], Some("movapd"));

/// `a = b + s * c` in vectors of 64 bytes, non-temporal stores, by fused multiply-add.
pub(super) const TRIAD_NT_AVX512: MemoryKernel =
    row("triad_nt/avx512", MemoryOp::TriadNt, Isa::Avx512, triad_nt_avx512).by(
        &["vmovapd", "vfmadd213pd"],
        &[],
        Some("vmovntpd"),
    );

/// `a = b + s * c` in vectors of 32 bytes, non-temporal stores, by fused multiply-add.
pub(super) const TRIAD_NT_AVX2: MemoryKernel = MemoryKernel {
    requires: &[Feature::Avx2, Feature::Fma],
    ..row("triad_nt/avx2", MemoryOp::TriadNt, Isa::Avx2, triad_nt_avx2).by(
        &["vmovapd", "vfmadd213pd"],
        &[],
        Some("vmovntpd"),
    )
};

/// `a = b + s * c` in vectors of 16 bytes, non-temporal stores.
pub(super) const TRIAD_NT_SSE2: MemoryKernel = row("triad_nt/sse2", MemoryOp::TriadNt, Isa::Sse2, triad_nt_sse2).by(
    &["movapd", "addpd"],
    &["mulpd"],
    Some("movntpd"),
);
