//! The bodies of block accesses: the next block by addition or by a generated permutation, then its bytes.
//!
//! Registers: RDI the state, RSI the accesses left, RBX and RBP the starts of source and target, RAX and RDX the offsets
//! of the current blocks and then the addresses in them, R8 and R10 the counters of source and target, R9 their step, R11
//! the mask and CL the shift of the scrambles, R12 bytes of a block, R13 the pieces left, R14 and R15 as a body needs
//! them. `$parts` numbers the registers that make up one line.

use core::arch::naked_asm;
use core::mem::offset_of;

use model::isa::Isa;
use model::isa::MemoryOp::{self, Copy, Read, Write};

use crate::features::Feature;
use crate::memory::blocks::content::WORD_BYTES;
use crate::memory::blocks::kernel::Sequence::{Ascending, Random};
use crate::memory::blocks::kernel::{BlockKernel, Blocks, State, multiplier};

/// The scramble of a counter: the text of `State::scrambled`.
macro_rules! scrambled {
    ($block:literal, $counter:literal, $side:ident) => {
        concat!(
            "mov ", $block, ", ", $counter, "\n",
            "add ", $counter, ", r9\n",
            "and ", $block, ", r11\n",
            "mov r15, ", $block, "\nshr r15, cl\nxor ", $block, ", r15\n",
            "imul ", $block, ", ", $block, ", ", multiplier!($side 0), "\n",
            "and ", $block, ", r11\n",
            "mov r15, ", $block, "\nshr r15, cl\nxor ", $block, ", r15\n",
            "imul ", $block, ", ", $block, ", ", multiplier!($side 1), "\n",
            "and ", $block, ", r11\n",
            "mov r15, ", $block, "\nshr r15, cl\nxor ", $block, ", r15\n",
        )
    };
}

/// The offset in bytes of the next block: of the source in RAX, of the target in RDX.
macro_rules! next {
    (ascending source) => {
        "mov rax, r8\nadd r8, r9"
    };
    (ascending target) => {
        "mov rdx, r10\nadd r10, r9"
    };
    (random source) => {
        concat!(scrambled!("rax", "r8", source), "imul rax, r12")
    };
    (random target) => {
        concat!(scrambled!("rdx", "r10", target), "imul rdx, r12")
    };
    (random_words source) => {
        concat!(scrambled!("rax", "r8", source), "shl rax, 3")
    };
    (random_words target) => {
        concat!(scrambled!("rdx", "r10", target), "shl rdx, 3")
    };
}

/// A function that runs `each` for each access, and `before` and `after` once.
macro_rules! for_each_block {
    (before: [$($before:expr),* $(,)?], each: [$($each:expr),* $(,)?], after: [$($after:expr),* $(,)?],
     $($operand:ident),* $(,)?) => {
        naked_asm!(
            "push rbx",
            "push rbp",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            "mov rbx, rdx",
            "mov rbp, rcx",
            "mov r8, [rdi + {source}]",
            "mov r10, [rdi + {target}]",
            "mov r9, [rdi + {step}]",
            "mov r11, [rdi + {mask}]",
            "mov rcx, [rdi + {shift}]",
            "mov r12, [rdi + {block_bytes}]",
            $($before,)*
            "test rsi, rsi",
            "jz 9f",
            ".p2align 6",
            "2:",
            $($each,)*
            "dec rsi",
            "jnz 2b",
            "9:",
            $($after,)*
            "mov [rdi + {source}], r8",
            "mov [rdi + {target}], r10",
            "pop r15",
            "pop r14",
            "pop r13",
            "pop r12",
            "pop rbp",
            "pop rbx",
            "ret",
            source = const offset_of!(State, source),
            target = const offset_of!(State, target),
            step = const offset_of!(State, step),
            mask = const offset_of!(State, mask),
            shift = const offset_of!(State, shift),
            block_bytes = const offset_of!(State, block_bytes),
            $($operand = const offset_of!(State, $operand),)*
        )
    };
}

/// Begins the loop over the pieces of one size: chunks from label 3 to 4, lines from 5 to 6, words from 7 to 8.
macro_rules! pieces {
    ($field:literal, $this:literal, $past:literal) => {
        concat!("mov r13, [rdi + {", $field, "}]\ntest r13, r13\njz ", $past, "f\n.p2align 4\n", $this, ":")
    };
}

/// Steps over a piece and ends its loop.
macro_rules! next_piece {
    ($step:literal, $this:literal, $past:literal) => {
        concat!($step, "\ndec r13\njnz ", $this, "b\n", $past, ":")
    };
}

macro_rules! read {
    ($name:ident, $order:ident, $register:literal, $bytes:literal, parts: $parts:literal, groups: $groups:literal,
     clear: $clear:literal, load: $load:literal, add: $add:literal, reduce: $reduce:literal, store: $store:literal,
     finish: $finish:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name(state: &mut State, count: u64, source: *const u64, target: *mut u64) {
            for_each_block!(
                before: ["xor r14d, r14d", ".irp acc, 0,1,2,3,4,5,6,7", $clear, ".endr"],
                each: [
                    next!($order source),
                    "add rax, rbx",
                    pieces!("chunks", "3", "4"),
                    concat!(".irp group, ", $groups),
                    ".irp acc, 0,1,2,3,4,5,6,7",
                    concat!($load, "[rax + \\group + ", $bytes, " * \\acc]", $add),
                    ".endr",
                    ".endr",
                    next_piece!("add rax, 512", "3", "4"),
                    pieces!("lines", "5", "6"),
                    concat!(".irp acc, ", $parts),
                    concat!($load, "[rax + ", $bytes, " * \\acc]", $add),
                    ".endr",
                    next_piece!("add rax, 64", "5", "6"),
                    pieces!("words", "7", "8"),
                    "add r14, [rax]",
                    next_piece!("add rax, 8", "7", "8"),
                ],
                after: [
                    ".irp acc, 1,2,3,4,5,6,7",
                    $reduce,
                    ".endr",
                    concat!($store, " [rdi + {sums}], ", $register, "0"),
                    "mov [rdi + {word_sum}], r14",
                    $finish,
                ],
                chunks, lines, words, sums, word_sum,
            )
        }
    };
}

macro_rules! reads {
    ($avx512:ident, $avx2:ident, $sse2:ident, $order:ident) => {
        read!($avx512, $order, "zmm", 64, parts: "0", groups: "0", clear: "vpxorq zmm\\acc, zmm\\acc, zmm\\acc",
            load: "vpaddq zmm\\acc, zmm\\acc, ", add: "", reduce: "vpaddq zmm0, zmm0, zmm\\acc",
            store: "vmovdqu64", finish: "vzeroupper");
        read!($avx2, $order, "ymm", 32, parts: "0,1", groups: "0,256", clear: "vpxor ymm\\acc, ymm\\acc, ymm\\acc",
            load: "vpaddq ymm\\acc, ymm\\acc, ", add: "", reduce: "vpaddq ymm0, ymm0, ymm\\acc",
            store: "vmovdqu", finish: "vzeroupper");
        read!($sse2, $order, "xmm", 16, parts: "0,1,2,3", groups: "0,128,256,384", clear: "pxor xmm\\acc, xmm\\acc",
            load: "movdqu xmm8, ", add: "\npaddq xmm\\acc, xmm8", reduce: "paddq xmm0, xmm\\acc",
            store: "movdqu", finish: "");
    };
}

reads!(read_ascending_avx512, read_ascending_avx2, read_ascending_sse2, ascending);
reads!(read_random_avx512, read_random_avx2, read_random_sse2, random);

macro_rules! write {
    ($name:ident, $order:ident, $register:literal, $bytes:literal, parts: $parts:literal, step: $step:literal,
     spread: $spread:literal, begin: $begin:literal, store: $store:literal, advance: $advance:literal,
     word: $word:literal, finish: $finish:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name(state: &mut State, count: u64, source: *const u64, target: *mut u64) {
            for_each_block!(
                before: ["mov r14, [rdi + {byte_step}]", concat!($step, " ", $register, "8, [rdi + {line_step}]")],
                each: [
                    next!($order target),
                    "mov rax, rdx",
                    "imul rax, r14",
                    "add rax, [rdi + {first}]",
                    "add rdx, rbp",
                    $spread,
                    concat!(".irp part, ", $parts),
                    $begin,
                    ".endr",
                    pieces!("chunks", "3", "4"),
                    ".irp line, 0,64,128,192,256,320,384,448",
                    concat!(".irp part, ", $parts),
                    concat!($store, " [rdx + \\line + ", $bytes, " * \\part], ", $register, "\\part"),
                    $advance,
                    ".endr",
                    ".endr",
                    next_piece!("add rdx, 512", "3", "4"),
                    pieces!("lines", "5", "6"),
                    concat!(".irp part, ", $parts),
                    concat!($store, " [rdx + ", $bytes, " * \\part], ", $register, "\\part"),
                    $advance,
                    ".endr",
                    next_piece!("add rdx, 64", "5", "6"),
                    $word,
                    pieces!("words", "7", "8"),
                    "mov [rdx], rax",
                    "add rax, [rdi + {word_step}]",
                    next_piece!("add rdx, 8", "7", "8"),
                ],
                after: [$finish],
                chunks, lines, words, first, byte_step, word_step, line_step, lanes,
            )
        }
    };
}

macro_rules! writes {
    ($avx512:ident, $avx2:ident, $sse2:ident, $order:ident) => {
        write!($avx512, $order, "zmm", 64, parts: "0", step: "vmovdqu64",
            spread: "vpbroadcastq zmm9, rax", begin: "vpaddq zmm\\part, zmm9, [rdi + {lanes} + 64 * \\part]",
            store: "vmovdqu64", advance: "vpaddq zmm\\part, zmm\\part, zmm8", word: "vmovq rax, xmm0",
            finish: "vzeroupper");
        write!($avx2, $order, "ymm", 32, parts: "0,1", step: "vmovdqu",
            spread: "vmovq xmm9, rax\nvpbroadcastq ymm9, xmm9",
            begin: "vpaddq ymm\\part, ymm9, [rdi + {lanes} + 32 * \\part]",
            store: "vmovdqu", advance: "vpaddq ymm\\part, ymm\\part, ymm8", word: "vmovq rax, xmm0",
            finish: "vzeroupper");
        write!($sse2, $order, "xmm", 16, parts: "0,1,2,3", step: "movdqu",
            spread: "movq xmm9, rax\npunpcklqdq xmm9, xmm9",
            begin: "movdqu xmm\\part, [rdi + {lanes} + 16 * \\part]\npaddq xmm\\part, xmm9",
            store: "movdqu", advance: "paddq xmm\\part, xmm8", word: "movq rax, xmm0", finish: "");
    };
}

writes!(write_ascending_avx512, write_ascending_avx2, write_ascending_sse2, ascending);
writes!(write_random_avx512, write_random_avx2, write_random_sse2, random);

/// Defines a loop that copies each block, eight vectors loaded, then stored.
macro_rules! copy {
    ($name:ident, $order:ident, $register:literal, $bytes:literal, parts: $parts:literal, groups: $groups:literal,
     move: $move:literal, finish: $finish:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name(state: &mut State, count: u64, source: *const u64, target: *mut u64) {
            for_each_block!(
                before: [],
                each: [
                    next!($order source),
                    next!($order target),
                    "add rax, rbx",
                    "add rdx, rbp",
                    pieces!("chunks", "3", "4"),
                    concat!(".irp group, ", $groups),
                    ".irp part, 0,1,2,3,4,5,6,7",
                    concat!($move, " ", $register, "\\part, [rax + \\group + ", $bytes, " * \\part]"),
                    ".endr",
                    ".irp part, 0,1,2,3,4,5,6,7",
                    concat!($move, " [rdx + \\group + ", $bytes, " * \\part], ", $register, "\\part"),
                    ".endr",
                    ".endr",
                    next_piece!("add rax, 512\nadd rdx, 512", "3", "4"),
                    pieces!("lines", "5", "6"),
                    concat!(".irp part, ", $parts),
                    concat!($move, " ", $register, "\\part, [rax + ", $bytes, " * \\part]"),
                    ".endr",
                    concat!(".irp part, ", $parts),
                    concat!($move, " [rdx + ", $bytes, " * \\part], ", $register, "\\part"),
                    ".endr",
                    next_piece!("add rax, 64\nadd rdx, 64", "5", "6"),
                    pieces!("words", "7", "8"),
                    "mov r14, [rax]",
                    "mov [rdx], r14",
                    next_piece!("add rax, 8\nadd rdx, 8", "7", "8"),
                ],
                after: [$finish],
                chunks, lines, words,
            )
        }
    };
}

macro_rules! copies {
    ($avx512:ident, $avx2:ident, $sse2:ident, $order:ident) => {
        copy!($avx512, $order, "zmm", 64, parts: "0", groups: "0", move: "vmovdqu64", finish: "vzeroupper");
        copy!($avx2, $order, "ymm", 32, parts: "0,1", groups: "0,256", move: "vmovdqu", finish: "vzeroupper");
        copy!($sse2, $order, "xmm", 16, parts: "0,1,2,3", groups: "0,128,256,384", move: "movdqu", finish: "");
    };
}

copies!(copy_ascending_avx512, copy_ascending_avx2, copy_ascending_sse2, ascending);
copies!(copy_random_avx512, copy_random_avx2, copy_random_sse2, random);

macro_rules! single_words {
    ($read:ident, $write:ident, $copy:ident, $order:ident) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $read(state: &mut State, count: u64, source: *const u64, target: *mut u64) {
            for_each_block!(
                before: ["xor r14d, r14d"],
                each: [next!($order source), "add r14, [rbx + rax]"],
                after: ["mov [rdi + {word_sum}], r14"],
                word_sum,
            )
        }

        #[unsafe(naked)]
        unsafe extern "C" fn $write(state: &mut State, count: u64, source: *const u64, target: *mut u64) {
            for_each_block!(
                before: ["mov r14, [rdi + {byte_step}]", "mov r13, [rdi + {first}]"],
                each: [
                    next!($order target),
                    "mov rax, rdx",
                    "imul rax, r14",
                    "add rax, r13",
                    "mov [rbp + rdx], rax",
                ],
                after: [],
                first, byte_step,
            )
        }

        #[unsafe(naked)]
        unsafe extern "C" fn $copy(state: &mut State, count: u64, source: *const u64, target: *mut u64) {
            for_each_block!(
                before: [],
                each: [next!($order source), next!($order target), "mov r14, [rbx + rax]", "mov [rbp + rdx], r14"],
                after: [],
            )
        }
    };
}

single_words!(read_ascending_words, write_ascending_words, copy_ascending_words, ascending);
single_words!(read_random_words, write_random_words, copy_random_words, random_words);

#[unsafe(naked)]
unsafe extern "C" fn increment_random_words(state: &mut State, count: u64, source: *const u64, target: *mut u64) {
    for_each_block!(before: [], each: [next!(random_words target), "inc qword ptr [rbp + rdx]"], after: [],)
}

/// Generates the order of the source and adds up the blocks' offsets. Safety: none is needed; the signature is that of
/// the other bodies.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn order_of_one(state: &mut State, count: u64, source: *const u64, target: *mut u64) {
    for_each_block!(
        before: ["xor r14d, r14d"],
        each: [next!(random source), "add r14, rax"],
        after: ["mov [rdi + {word_sum}], r14"],
        word_sum,
    )
}

/// Generates the orders of both sides and adds up the blocks' offsets. Safety: none is needed; the signature is that of
/// the other bodies.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn order_of_two(state: &mut State, count: u64, source: *const u64, target: *mut u64) {
    for_each_block!(
        before: ["xor r14d, r14d"],
        each: [next!(random source), next!(random target), "add r14, rax", "add r14, rdx"],
        after: ["mov [rdi + {word_sum}], r14"],
        word_sum,
    )
}

/// The increment of single words at random, and what the rows of single words have in common.
const INCREMENT: BlockKernel = BlockKernel {
    name: "blocks/increment/random/words",
    op: MemoryOp::Increment,
    sequence: Random,
    blocks: Blocks::Word,
    isa: Isa::Scalar,
    requires: &[],
    vector_bytes: WORD_BYTES,
    load: Some("inc"),
    store: Some("inc"),
    body: increment_random_words,
};
/// What the rows of a width have in common.
const AVX512: BlockKernel =
    BlockKernel { blocks: Blocks::Any, isa: Isa::Avx512, requires: &[Feature::Avx512F], vector_bytes: 64, ..INCREMENT };
const AVX2: BlockKernel = BlockKernel { isa: Isa::Avx2, requires: &[Feature::Avx2], vector_bytes: 32, ..AVX512 };
const SSE2: BlockKernel = BlockKernel { isa: Isa::Sse2, requires: &[Feature::Sse2], vector_bytes: 16, ..AVX512 };

/// Rows by operation and order; within these, single words first, then widest.
pub(crate) static KERNELS: &[BlockKernel] = &[
    INCREMENT.row("blocks/read/ascending/words", Read, Ascending, (Some("add"), None), read_ascending_words),
    AVX512.row("blocks/read/ascending/avx512", Read, Ascending, (Some("vpaddq"), None), read_ascending_avx512),
    AVX2.row("blocks/read/ascending/avx2", Read, Ascending, (Some("vpaddq"), None), read_ascending_avx2),
    SSE2.row("blocks/read/ascending/sse2", Read, Ascending, (Some("movdqu"), None), read_ascending_sse2),
    INCREMENT.row("blocks/read/random/words", Read, Random, (Some("add"), None), read_random_words),
    AVX512.row("blocks/read/random/avx512", Read, Random, (Some("vpaddq"), None), read_random_avx512),
    AVX2.row("blocks/read/random/avx2", Read, Random, (Some("vpaddq"), None), read_random_avx2),
    SSE2.row("blocks/read/random/sse2", Read, Random, (Some("movdqu"), None), read_random_sse2),
    INCREMENT.row("blocks/write/ascending/words", Write, Ascending, (None, Some("mov")), write_ascending_words),
    AVX512.row("blocks/write/ascending/avx512", Write, Ascending, (None, Some("vmovdqu64")), write_ascending_avx512),
    AVX2.row("blocks/write/ascending/avx2", Write, Ascending, (None, Some("vmovdqu")), write_ascending_avx2),
    SSE2.row("blocks/write/ascending/sse2", Write, Ascending, (None, Some("movdqu")), write_ascending_sse2),
    INCREMENT.row("blocks/write/random/words", Write, Random, (None, Some("mov")), write_random_words),
    AVX512.row("blocks/write/random/avx512", Write, Random, (None, Some("vmovdqu64")), write_random_avx512),
    AVX2.row("blocks/write/random/avx2", Write, Random, (None, Some("vmovdqu")), write_random_avx2),
    SSE2.row("blocks/write/random/sse2", Write, Random, (None, Some("movdqu")), write_random_sse2),
    INCREMENT.row("blocks/copy/ascending/words", Copy, Ascending, (Some("mov"), Some("mov")), copy_ascending_words),
    AVX512.row(
        "blocks/copy/ascending/avx512",
        Copy,
        Ascending,
        (Some("vmovdqu64"), Some("vmovdqu64")),
        copy_ascending_avx512,
    ),
    AVX2.row("blocks/copy/ascending/avx2", Copy, Ascending, (Some("vmovdqu"), Some("vmovdqu")), copy_ascending_avx2),
    SSE2.row("blocks/copy/ascending/sse2", Copy, Ascending, (Some("movdqu"), Some("movdqu")), copy_ascending_sse2),
    INCREMENT.row("blocks/copy/random/words", Copy, Random, (Some("mov"), Some("mov")), copy_random_words),
    AVX512.row("blocks/copy/random/avx512", Copy, Random, (Some("vmovdqu64"), Some("vmovdqu64")), copy_random_avx512),
    AVX2.row("blocks/copy/random/avx2", Copy, Random, (Some("vmovdqu"), Some("vmovdqu")), copy_random_avx2),
    SSE2.row("blocks/copy/random/sse2", Copy, Random, (Some("movdqu"), Some("movdqu")), copy_random_sse2),
    INCREMENT,
];
