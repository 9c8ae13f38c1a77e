//! Streams of 64-bit words: read, write, update, copy and the mixes of loads and stores.

use super::streams::{at, start, stored, stream, vectors};
use crate::memory::kernel::Job;

/// Defines a loop that loads every vector and adds the first of each eight to vector 8.
///
/// A sum of all would occupy the ports that add as much as those that load, and show three quarters of a first-level
/// cache, which delivers two or three vectors a cycle. An exclusive or would be zero after an even number of passes.
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

/// Defines the loops that store eight vectors and advance each by the operand, block after block and pass after pass,
/// through the cache and with non-temporal stores.
macro_rules! writes {
    ($name:ident $name_nt:ident, $register:literal, $bytes:literal, $groups:literal, move: $move:literal, $nt:literal,
     advance: $advance:literal, finish: [$($finish:literal),*]) => {
        writes!(@ $name, $register, $bytes, $groups, $move, $move, $advance, [$($finish),*]);
        writes!(@ $name_nt, $register, $bytes, $groups, $move, $nt, $advance, ["sfence" $(, $finish)*]);
    };
    (@ $name:ident, $register:literal, $bytes:literal, $groups:literal, $load:literal, $store:literal,
     $advance:literal, [$($finish:literal),*]) => {
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

writes!(write_avx512 write_nt_avx512, "zmm", 64, "0", move: "vmovdqa64", "vmovntdq",
    advance: "vpaddq zmm\\i, zmm\\i, zmm8", finish: ["vzeroupper"]);
writes!(write_avx2 write_nt_avx2, "ymm", 32, "0,256", move: "vmovdqa", "vmovntdq",
    advance: "vpaddq ymm\\i, ymm\\i, ymm8", finish: ["vzeroupper"]);
writes!(write_sse2 write_nt_sse2, "xmm", 16, "0,128,256,384", move: "movdqa", "movntdq",
    advance: "paddq xmm\\i, xmm8", finish: []);

stored!(update_avx512, [rdi], "zmm", 64, "0", operand: "vmovdqa64",
    steps: [concat!("vpaddq zmm\\i, zmm8, ", at!(rdi, 64))], store: "vmovdqa64", finish: ["vzeroupper"]);
stored!(update_avx2, [rdi], "ymm", 32, "0,256", operand: "vmovdqa",
    steps: [concat!("vpaddq ymm\\i, ymm8, ", at!(rdi, 32))], store: "vmovdqa", finish: ["vzeroupper"]);
stored!(update_sse2, [rdi], "xmm", 16, "0,128,256,384", operand: "movdqa",
    steps: [concat!("movdqa xmm\\i, ", at!(rdi, 16)), "paddq xmm\\i, xmm8"], store: "movdqa", finish: []);

/// Defines the loops of a width that copy, then those that store the exclusive or of two lines and of three.
macro_rules! mixes {
    ($copy:ident $copy_nt:ident $two:ident $three:ident, $register:literal, $bytes:literal, $groups:literal,
     move: $move:literal, $nt:literal, xor: $xor:literal, finish: [$($finish:literal),*]) => {
        mixes!(@ $copy, [rsi], $register, $bytes, $groups, $move, $xor, $move, [$($finish),*]);
        mixes!(@ $copy_nt, [rsi], $register, $bytes, $groups, $move, $xor, $nt, ["sfence" $(, $finish)*]);
        mixes!(@ $two, [rsi rdx], $register, $bytes, $groups, $move, $xor, $nt, ["sfence" $(, $finish)*]);
        mixes!(@ $three, [rsi rdx rcx], $register, $bytes, $groups, $move, $xor, $nt, ["sfence" $(, $finish)*]);
    };
    (@ $name:ident, [$first:ident $($other:ident)*], $register:literal, $bytes:literal, $groups:literal,
     $load:literal, $xor:literal, $store:literal, [$($finish:literal),*]) => {
        vectors!($name, [rdi $first $($other)*], groups: $groups, setup: [],
            steps: [
                concat!($load, " ", $register, "\\i, ", at!($first, $bytes)),
                $(concat!($xor, at!($other, $bytes)),)*
                concat!($store, " ", at!(rdi, $bytes), ", ", $register, "\\i")
            ],
            finish: [$($finish),*]);
    };
}

mixes!(copy_avx512 copy_nt_avx512 mix_2_1_avx512 mix_3_1_avx512, "zmm", 64, "0", move: "vmovdqa64", "vmovntdq",
    xor: "vpxorq zmm\\i, zmm\\i, ", finish: ["vzeroupper"]);
mixes!(copy_avx2 copy_nt_avx2 mix_2_1_avx2 mix_3_1_avx2, "ymm", 32, "0,256", move: "vmovdqa", "vmovntdq",
    xor: "vpxor ymm\\i, ymm\\i, ", finish: ["vzeroupper"]);
mixes!(copy_sse2 copy_nt_sse2 mix_2_1_sse2 mix_3_1_sse2, "xmm", 16, "0,128,256,384", move: "movdqa", "movntdq",
    xor: "pxor xmm\\i, ", finish: []);
