//! STREAM's scale, add and triad of fp64, as `stream.c` 5.10 defines them, each with and without non-temporal stores.

use super::streams::{at, start, stored, stream, vectors};
use crate::memory::kernel::Job;

/// Defines the loops of these steps with stores through the cache and with non-temporal ones.
macro_rules! both {
    ($name:ident $name_nt:ident, [$($source:ident)+], $register:literal, $bytes:literal, $groups:literal,
     move: $move:literal, $nt:literal, steps: [$($step:expr),+], finish: [$($finish:literal),*]) => {
        stored!($name, [rdi $($source)+], $register, $bytes, $groups, operand: $move,
            steps: [$($step),+], store: $move, finish: [$($finish),*]);
        stored!($name_nt, [rdi $($source)+], $register, $bytes, $groups, operand: $move,
            steps: [$($step),+], store: $nt, finish: ["sfence" $(, $finish)*]);
    };
}

both!(scale_avx512 scale_nt_avx512, [rsi], "zmm", 64, "0", move: "vmovapd", "vmovntpd",
    steps: [concat!("vmulpd zmm\\i, zmm8, ", at!(rsi, 64))], finish: ["vzeroupper"]);
both!(scale_avx2 scale_nt_avx2, [rsi], "ymm", 32, "0,256", move: "vmovapd", "vmovntpd",
    steps: [concat!("vmulpd ymm\\i, ymm8, ", at!(rsi, 32))], finish: ["vzeroupper"]);
both!(scale_sse2 scale_nt_sse2, [rsi], "xmm", 16, "0,128,256,384", move: "movapd", "movntpd",
    steps: [concat!("movapd xmm\\i, ", at!(rsi, 16)), "mulpd xmm\\i, xmm8"], finish: []);
both!(add_avx512 add_nt_avx512, [rsi rdx], "zmm", 64, "0", move: "vmovapd", "vmovntpd",
    steps: [concat!("vmovapd zmm\\i, ", at!(rsi, 64)), concat!("vaddpd zmm\\i, zmm\\i, ", at!(rdx, 64))],
    finish: ["vzeroupper"]);
both!(add_avx2 add_nt_avx2, [rsi rdx], "ymm", 32, "0,256", move: "vmovapd", "vmovntpd",
    steps: [concat!("vmovapd ymm\\i, ", at!(rsi, 32)), concat!("vaddpd ymm\\i, ymm\\i, ", at!(rdx, 32))],
    finish: ["vzeroupper"]);
both!(add_sse2 add_nt_sse2, [rsi rdx], "xmm", 16, "0,128,256,384", move: "movapd", "movntpd",
    steps: [concat!("movapd xmm\\i, ", at!(rsi, 16)), concat!("addpd xmm\\i, ", at!(rdx, 16))], finish: []);
both!(triad_avx512 triad_nt_avx512, [rsi rdx], "zmm", 64, "0", move: "vmovapd", "vmovntpd",
    steps: [concat!("vmovapd zmm\\i, ", at!(rdx, 64)), concat!("vfmadd213pd zmm\\i, zmm8, ", at!(rsi, 64))],
    finish: ["vzeroupper"]);
both!(triad_avx2 triad_nt_avx2, [rsi rdx], "ymm", 32, "0,256", move: "vmovapd", "vmovntpd",
    steps: [concat!("vmovapd ymm\\i, ", at!(rdx, 32)), concat!("vfmadd213pd ymm\\i, ymm8, ", at!(rsi, 32))],
    finish: ["vzeroupper"]);
both!(triad_sse2 triad_nt_sse2, [rsi rdx], "xmm", 16, "0,128,256,384", move: "movapd", "movntpd",
    steps: [concat!("movapd xmm\\i, ", at!(rdx, 16)), "mulpd xmm\\i, xmm8", concat!("addpd xmm\\i, ", at!(rsi, 16))],
    finish: []);
