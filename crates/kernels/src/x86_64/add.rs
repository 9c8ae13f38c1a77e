//! Floating-point additions of a number and, in turn, of its negative less one unit.

use super::loops::vector_loop;

macro_rules! additions {
    ($name:ident, $register:literal, $bytes:literal, $move:literal, $add:literal, $first:literal, $accumulators:literal
        $(, $($paced:tt)*)?
    ) => {
        vector_loop!($name {
            register: $register, bytes: $bytes, load_store: $move, operands: 0, "0,1",
            accumulators: $first, $accumulators,
            body: 2 x [
                concat!($add, " ", $register, "\\acc, ", $register, "\\acc, ", $register, "0"),
                concat!($add, " ", $register, "\\acc, ", $register, "\\acc, ", $register, "1"),
            ],
            finish: "vzeroupper",
        } $(, $($paced)*)?);
    };
}
additions!(fp64_avx512, "zmm", 64, "vmovupd", "vaddpd",
    4, "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
    paced: fp64_avx512_paced, "((\\acc & 3) + 2) / 3");
additions!(fp32_avx512, "zmm", 64, "vmovups", "vaddps",
    4, "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
    paced: fp32_avx512_paced, "((\\acc & 3) + 2) / 3");
additions!(fp64_avx2, "ymm", 32, "vmovupd", "vaddpd", 2, "2,3,4,5,6,7,8,9,10,11,12,13,14,15");
additions!(fp32_avx2, "ymm", 32, "vmovups", "vaddps", 2, "2,3,4,5,6,7,8,9,10,11,12,13,14,15");

macro_rules! sse_additions {
    ($name:ident, $bytes:literal, $move:literal, $add:literal) => {
        vector_loop!($name {
            register: "xmm", bytes: $bytes, load_store: $move, operands: 0, "0,1",
            accumulators: 2, "2,3,4,5,6,7,8,9,10,11,12,13,14,15",
            body: 2 x [concat!($add, " xmm\\acc, xmm0"), concat!($add, " xmm\\acc, xmm1")],
            finish: "",
        });
    };
}
sse_additions!(fp64_sse2, 16, "movupd", "addpd");
sse_additions!(fp64_scalar, 8, "movsd", "addsd");
sse_additions!(fp32_sse2, 16, "movups", "addps");
sse_additions!(fp32_scalar, 4, "movss", "addss");
