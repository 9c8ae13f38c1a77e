//! Dot products of unsigned and signed bytes into 32-bit sums that wrap.
//!
//! Where the CPU has VNNI one instruction multiplies, sums four products and accumulates. Before it, three do: pairs of
//! products are summed in 16 bits (saturating, which the operands chosen cannot reach), then in 32 bits by a
//! multiplication by one, then added; only the addition is in the dependent chain. Scalar code extends a byte,
//! multiplies and adds.

use core::arch::naked_asm;
use core::mem::offset_of;

use model::isa::{CpuOp, Element, Isa};

use super::loops::vector_loop;
use crate::features::Feature;
use crate::state::{Data, PAIRS, RegisterFile, SLOT};
use crate::table::Kernel;

vector_loop!(
    /// Sixteen sums of four products; 24 accumulators in ZMM4-27.
    int8_avx512_vnni {
        register: "zmm", bytes: 64, load_store: "vmovdqu32", operands: "0,1,2,3",
        accumulators: 4, "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
        even: "vpdpbusd zmm\\acc, zmm0, zmm1", odd: "vpdpbusd zmm\\acc, zmm2, zmm3",
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Eight sums of four products; 12 accumulators in YMM4-15. The prefix keeps the assembler from AVX-512's encoding.
    int8_avx_vnni {
        register: "ymm", bytes: 32, load_store: "vmovdqu", operands: "0,1,2,3",
        accumulators: 4, "4,5,6,7,8,9,10,11,12,13,14,15",
        even: "{{vex}} vpdpbusd ymm\\acc, ymm0, ymm1", odd: "{{vex}} vpdpbusd ymm\\acc, ymm2, ymm3",
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Sixteen sums of four products, in three instructions; 24 accumulators in ZMM5-28.
    int8_avx512 {
        register: "zmm", bytes: 64, load_store: "vmovdqu32", operands: "0,1,2,3,4",
        accumulators: 5, "5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28",
        even: "vpmaddubsw zmm31, zmm0, zmm1; vpmaddwd zmm31, zmm31, zmm4; vpaddd zmm\\acc, zmm\\acc, zmm31",
        odd: "vpmaddubsw zmm31, zmm2, zmm3; vpmaddwd zmm31, zmm31, zmm4; vpaddd zmm\\acc, zmm\\acc, zmm31",
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Eight sums of four products, in three instructions; 10 accumulators in YMM5-14.
    int8_avx2 {
        register: "ymm", bytes: 32, load_store: "vmovdqu", operands: "0,1,2,3,4",
        accumulators: 5, "5,6,7,8,9,10,11,12,13,14",
        even: "vpmaddubsw ymm15, ymm0, ymm1; vpmaddwd ymm15, ymm15, ymm4; vpaddd ymm\\acc, ymm\\acc, ymm15",
        odd: "vpmaddubsw ymm15, ymm2, ymm3; vpmaddwd ymm15, ymm15, ymm4; vpaddd ymm\\acc, ymm\\acc, ymm15",
        finish: "vzeroupper",
    }
);
vector_loop!(
    /// Four sums of four products, in three instructions and a copy; 10 accumulators in XMM5-14.
    int8_ssse3 {
        register: "xmm", bytes: 16, load_store: "movdqu", operands: "0,1,2,3,4",
        accumulators: 5, "5,6,7,8,9,10,11,12,13,14",
        even: "movdqa xmm15, xmm0; pmaddubsw xmm15, xmm1; pmaddwd xmm15, xmm4; paddd xmm\\acc, xmm15",
        odd: "movdqa xmm15, xmm2; pmaddubsw xmm15, xmm3; pmaddwd xmm15, xmm4; paddd xmm\\acc, xmm15",
        finish: "",
    }
);

/// One product at a time; four accumulators in R8D-R11D. The unsigned factors stay in ECX and EDX, the signed bytes are
/// extended from memory at each use (four loads of one byte each that the first-level cache answers), the product is in
/// EAX.
#[unsafe(naked)]
unsafe extern "C" fn int8_scalar(registers: &mut RegisterFile, iterations: u64) {
    naked_asm!(
        "movzx ecx, byte ptr [rdi + {operands}]",
        "movzx edx, byte ptr [rdi + {operands} + 2 * {slot}]",
        "mov r8d, [rdi + {results}]",
        "mov r9d, [rdi + {results} + 4]",
        "mov r10d, [rdi + {results} + 8]",
        "mov r11d, [rdi + {results} + 12]",
        "test rsi, rsi",
        "jz 3f",
        ".p2align 6",
        "2:",
        ".rept {pairs}",
        ".irp acc, r8d,r9d,r10d,r11d",
        "movsx eax, byte ptr [rdi + {operands} + {slot}]; imul eax, ecx; add \\acc, eax",
        ".endr",
        ".irp acc, r8d,r9d,r10d,r11d",
        "movsx eax, byte ptr [rdi + {operands} + 3 * {slot}]; imul eax, edx; add \\acc, eax",
        ".endr",
        ".endr",
        "dec rsi",
        "jnz 2b",
        "3:",
        "mov [rdi + {results}], r8d",
        "mov [rdi + {results} + 4], r9d",
        "mov [rdi + {results} + 8], r10d",
        "mov [rdi + {results} + 12], r11d",
        "ret",
        operands = const offset_of!(RegisterFile, operands),
        results = const offset_of!(RegisterFile, results),
        slot = const SLOT,
        pairs = const PAIRS,
    )
}

/// Any x86-64: one product at a time. The other rows say where they differ.
pub(super) const INT8_SCALAR: Kernel = Kernel {
    name: "dot/int8/scalar",
    op: CpuOp::Dot,
    element: Element::Int8,
    isa: Isa::Scalar,
    requires: &[],
    method: "cpu-dot-scalar/1",
    accumulator_type: "s32 <- u8 x s8",
    accumulators: 4,
    lanes: 1,
    step: &["movsx", "imul", "add"],
    operations_per_lane: 2,
    data: Data::Bytes { group: 1, unsigned_max: 255 },
    body: int8_scalar,
};
/// 128 bits, before VNNI.
pub(super) const INT8_SSSE3: Kernel = Kernel {
    name: "dot/int8/ssse3",
    isa: Isa::Ssse3,
    requires: &[Feature::Ssse3],
    method: "cpu-dot-maddubs/1",
    accumulators: 10,
    lanes: 4,
    step: &["movdqa", "pmaddubsw", "pmaddwd", "paddd"],
    operations_per_lane: 8,
    data: Data::Bytes { group: 4, unsigned_max: 127 },
    body: int8_ssse3,
    ..INT8_SCALAR
};
/// 256 bits, before VNNI.
pub(super) const INT8_AVX2: Kernel = Kernel {
    name: "dot/int8/avx2",
    isa: Isa::Avx2,
    requires: &[Feature::Avx2],
    lanes: 8,
    step: &["vpmaddubsw", "vpmaddwd", "vpaddd"],
    body: int8_avx2,
    ..INT8_SSSE3
};
/// 512 bits, before VNNI.
pub(super) const INT8_AVX512: Kernel = Kernel {
    name: "dot/int8/avx512",
    isa: Isa::Avx512,
    requires: &[Feature::Avx512F, Feature::Avx512Bw],
    accumulators: 24,
    lanes: 16,
    body: int8_avx512,
    ..INT8_AVX2
};
/// 512 bits, VNNI.
pub(super) const INT8_AVX512_VNNI: Kernel = Kernel {
    name: "dot/int8/avx512_vnni",
    isa: Isa::Avx512Vnni,
    requires: &[Feature::Avx512F, Feature::Avx512Vnni],
    method: "cpu-dot-vnni/1",
    accumulators: 24,
    lanes: 16,
    step: &["vpdpbusd"],
    operations_per_lane: 8,
    data: Data::Bytes { group: 4, unsigned_max: 255 },
    body: int8_avx512_vnni,
    ..INT8_SCALAR
};
/// 256 bits, VNNI in VEX encoding.
pub(super) const INT8_AVX_VNNI: Kernel = Kernel {
    name: "dot/int8/avx_vnni",
    isa: Isa::AvxVnni,
    requires: &[Feature::AvxVnni],
    accumulators: 12,
    lanes: 8,
    body: int8_avx_vnni,
    ..INT8_AVX512_VNNI
};
