//! The words for what a processor computes with: instruction sets and element types.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

use crate::words::words;

words! {
    /// An instruction set as one kernel needs it: the features it uses, all of them, on CPU and operating system.
    Isa, "instruction set", {
        /// One element at a time.
        Scalar => "scalar",
        /// 128-bit vectors every x86-64 has: separate multiply and add.
        Sse2 => "sse2",
        /// 128-bit vectors with the byte multiply-add `PMADDUBSW`.
        Ssse3 => "ssse3",
        /// 128-bit vectors with the 32-bit multiplication `PMULLD`.
        Sse41 => "sse4_1",
        /// 256-bit vectors, with FMA3 where the kernel is a fused multiply-add.
        Avx2 => "avx2",
        /// 512-bit vectors (AVX512F; for bytes and words with BW, for products of 64-bit integers with DQ).
        Avx512 => "avx512",
        /// 256-bit vectors in AVX-512's encoding (AVX512VL).
        Avx512Vl => "avx512vl",
        /// 256-bit integer dot products, VEX-encoded.
        AvxVnni => "avx_vnni",
        /// 256-bit signed-by-signed dot products.
        AvxVnniInt8 => "avx_vnni_int8",
        /// 512-bit integer dot products.
        Avx512Vnni => "avx512_vnni",
        /// 512-bit bf16 dot products.
        Avx512Bf16 => "avx512_bf16",
        /// 512-bit half-precision arithmetic.
        Avx512Fp16 => "avx512_fp16",
        /// Tile matrices.
        Amx => "amx",
        /// 128-bit vectors of aarch64.
        Neon => "neon",
        /// 128-bit half-precision arithmetic of aarch64.
        NeonFp16 => "neon_fp16",
        /// 128-bit signed-by-signed dot products of bytes.
        NeonDotprod => "neon_dotprod",
        /// 128-bit matrix products of bytes, and unsigned-by-signed dot products.
        NeonI8mm => "neon_i8mm",
        /// 128-bit bf16 dot and matrix products.
        NeonBf16 => "neon_bf16",
        /// Scalable vectors of aarch64.
        Sve => "sve",
        /// Outer products of aarch64's streaming mode.
        Sme => "sme",
    }

    /// The type of one element of an operand.
    Element, "element type", {
        /// 64-bit IEEE floating point (DP).
        Fp64 => "fp64",
        /// 32-bit IEEE floating point (SP).
        Fp32 => "fp32",
        /// 16-bit IEEE floating point (HP).
        Fp16 => "fp16",
        /// 16-bit brain floating point.
        Bf16 => "bf16",
        /// 8-bit integer (QP).
        Int8 => "int8",
        /// 16-bit integer (HP).
        Int16 => "int16",
        /// 32-bit integer (SP).
        Int32 => "int32",
        /// 64-bit integer (DP).
        Int64 => "int64",
    }

    /// What a CPU experiment computes.
    CpuOp, "cpu operation", {
        /// Fused multiply-add (multiply, then add, where the CPU has no FMA).
        Fma => "fma",
        /// Products of narrow integers or bf16 summed into a wider accumulator.
        Dot => "dot",
        /// Element-wise multiply-add of integers.
        MulAdd => "muladd",
        /// Additions alone.
        Add => "add",
        /// Matrix tiles.
        Matrix => "matrix",
        /// What a compiler makes of an ordinary scalar loop.
        Plain => "plain",
        /// FMA and addition pipes kept busy together: a bound, never a peak.
        AllPipes => "all_pipes",
    }

    /// What a memory experiment does to each block.
    MemoryOp, "memory operation", {
        /// Loads only.
        Read => "read",
        /// Stores through the cache: each line is read before it is written (write-allocate).
        Write => "write",
        /// Non-temporal stores: no line is read first.
        WriteNt => "write_nt",
        /// Loads and stores through the cache.
        Copy => "copy",
        /// Loads and non-temporal stores.
        CopyNt => "copy_nt",
        /// Each word is loaded, changed and stored where it was: no line is read only to be overwritten.
        Update => "update",
        /// STREAM's `b = s * c` of fp64.
        Scale => "scale",
        /// The same with non-temporal stores.
        ScaleNt => "scale_nt",
        /// STREAM's `a = b + c` of fp64.
        Add => "add",
        /// The same with non-temporal stores.
        AddNt => "add_nt",
        /// STREAM's `a = b + s * c` of fp64.
        Triad => "triad",
        /// The same with non-temporal stores.
        TriadNt => "triad_nt",
        /// Three lines loaded for each one stored, past the cache.
        Mix31 => "mix_3_1",
        /// Two lines loaded for each one stored, past the cache.
        Mix21 => "mix_2_1",
        /// One line loaded for each one stored, past the cache.
        Mix11 => "mix_1_1",
        /// The string instruction: what the microcode makes of a copy.
        RepMovsb => "rep_movsb",
        /// The instruction that zeroes a block of memory, which is not read first.
        DcZva => "dc_zva",
        /// The copy function of the C library.
        Memcpy => "memcpy",
        /// A copy byte by byte: bound by instructions, not by memory.
        ByteLoop => "byte_loop",
        /// Single words, each loaded, increased and stored: independent of each other.
        Increment => "increment",
        /// Dependent loads, each giving the address of the next.
        Load => "load",
        /// A line handed from one core to another and back.
        Handoff => "handoff",
    }

    /// Order in which a memory benchmark accesses its working set.
    MemoryPattern, "memory pattern", {
        /// Ascending addresses.
        Sequential => "sequential",
        /// Blocks in a random order.
        Random => "random",
        /// One dependent chain through every line, in a random cycle.
        Chase => "chase",
        /// Two cores and a line between them.
        Pair => "pair",
    }

    /// Which cores are filled first.
    Placement, "placement", {
        /// Those that share a last-level cache, then the next such group.
        Compact => "compact",
        /// One of each group in turn, the groups of different memory nodes first.
        Scatter => "scatter",
    }

    /// The size of the pages behind a buffer.
    Pages, "page size", {
        /// The base page.
        Base4K => "4KiB",
        /// Transparent or reserved huge pages.
        Huge2M => "2MiB",
    }
}

impl Isa {
    /// The name as its vendor writes it: `AVX-512 VNNI`.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Sse2 => "SSE2",
            Self::Ssse3 => "SSSE3",
            Self::Sse41 => "SSE4.1",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
            Self::Avx512Vl => "AVX-512VL",
            Self::AvxVnni => "AVX-VNNI",
            Self::AvxVnniInt8 => "AVX-VNNI-INT8",
            Self::Avx512Vnni => "AVX-512 VNNI",
            Self::Avx512Bf16 => "AVX-512 BF16",
            Self::Avx512Fp16 => "AVX-512 FP16",
            Self::Amx => "AMX",
            Self::Neon => "NEON",
            Self::NeonFp16 => "NEON FP16",
            Self::NeonDotprod => "NEON DotProd",
            Self::NeonI8mm => "NEON I8MM",
            Self::NeonBf16 => "NEON BF16",
            Self::Sve => "SVE",
            Self::Sme => "SME",
        }
    }
}

impl MemoryOp {
    /// The operations that go through a working set in order.
    pub const STREAMS: &'static [Self] = match Self::ALL {
        [streams @ .., Self::Increment, Self::Load, Self::Handoff] => streams,
        _ => panic!("those that are not sequential come last"),
    };

    /// The operations on blocks, sequential or random.
    pub const OF_BLOCKS: &'static [Self] = &[Self::Read, Self::Write, Self::Copy];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_back_and_an_unknown_one_is_answered_with_the_known_ones() {
        assert!(Isa::ALL.iter().all(|isa| isa.name().parse() == Ok(*isa)));
        let error = "avx9".parse::<Isa>().unwrap_err();
        assert!(error.contains("'avx9'") && error.contains("avx512"), "{error}");
    }
}
