//! Every loop over blocks, against plain loops in its oracle's order; and its machine code.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[path = "support/function.rs"]
mod function;

use kernels::blocks::{
    BLOCK_KERNELS, BlockKernel, Blocks, BoundBlocks, Content, Permuted, Sequence, find, words, words_mut,
};
use kernels::features::Features;
use kernels::portable;
use model::isa::{Isa, MemoryOp};

const SEED: u64 = 11;

/// Vectors that every CPU of the architecture has.
const VECTORS: Isa = if cfg!(target_arch = "aarch64") { Isa::Neon } else { Isa::Sse2 };

/// Lengths on both sides of words, lines and chunks.
const BLOCKS: [usize; 13] = [8, 16, 24, 56, 64, 72, 128, 504, 512, 520, 1000, 1024, 4096];

/// Every row that this machine can run.
fn rows() -> impl Iterator<Item = &'static BlockKernel> {
    let rows = BLOCK_KERNELS.iter().chain(portable::BLOCK_KERNELS);
    rows.filter(|kernel| Features::detect().has_all(kernel.requires))
}

/// Every row with every length that it can take.
fn rows_and_blocks() -> impl Iterator<Item = (&'static BlockKernel, usize)> {
    let takes = |kernel: &BlockKernel, bytes| kernel.blocks == Blocks::Any || bytes == 8;
    rows().flat_map(move |kernel| {
        BLOCKS.into_iter().filter(move |bytes| takes(kernel, *bytes)).map(move |bytes| (kernel, bytes))
    })
}

fn content() -> Content {
    Content::seeded(SEED)
}

fn random(kernel: &'static BlockKernel, bytes: usize, blocks: u64) -> Option<BoundBlocks> {
    kernel.random(&Features::detect(), bytes, content(), Permuted { blocks, seed: SEED })
}

fn index(block: u64) -> usize {
    usize::try_from(block).unwrap_or(usize::MAX)
}

/// A source, a target and guard words behind each.
struct Memory {
    source: Vec<u64>,
    target: Vec<u64>,
    words: usize,
}

/// Guard words behind the last block.
const BEHIND: usize = 64;

impl Memory {
    fn of(block_bytes: usize, blocks: usize) -> Self {
        let words = block_bytes / 8 * blocks;
        let (mut source, mut target) = (vec![0; words + BEHIND], vec![0; words + BEHIND]);
        content().fill(&mut source, 0);
        content().other().fill(&mut target, 0);
        Self { source, target, words }
    }

    fn run(&mut self, bound: &mut BoundBlocks, count: u64) {
        bound.run(count, &self.source[..self.words], &mut self.target[..self.words]);
    }
}

/// One access in plain Rust.
fn access(op: MemoryOp, words: usize, (from, to): (usize, usize), memory: &mut Memory, sum: &mut u64) {
    let target = &mut memory.target[to * words..][..words];
    match op {
        MemoryOp::Read => {
            let read = memory.source[from * words..][..words].iter();
            *sum = read.fold(*sum, |sum, word| sum.wrapping_add(*word));
        }
        MemoryOp::Write => content().fill(target, to * words),
        MemoryOp::Copy => target.copy_from_slice(&memory.source[from * words..][..words]),
        _ => target.iter_mut().for_each(|word| *word = word.wrapping_add(1)),
    }
}

#[test]
fn every_random_loop_agrees_with_its_oracle() {
    for (kernel, bytes) in rows_and_blocks().filter(|(kernel, _)| kernel.sequence == Sequence::Random) {
        let blocks = 32;
        let mut bound = random(kernel, bytes, blocks).unwrap();
        let (mut found, mut expected) = (Memory::of(bytes, 32), Memory::of(bytes, 32));
        let mut ordinal = 0;
        for count in [0, 1, 2, 5, 24, 3, 64, 40] {
            let mut sum = 0;
            found.run(&mut bound, count);
            for _ in 0..count {
                let both = (index(bound.source_block(ordinal)), index(bound.target_block(ordinal)));
                access(kernel.op, bytes / 8, both, &mut expected, &mut sum);
                ordinal += 1;
            }
            let context = format!("{}, {count} blocks of {bytes} B", kernel.name);
            assert!(found.target == expected.target, "{context}");
            assert!(kernel.op != MemoryOp::Read || bound.sum() == sum, "{context}");
            assert_eq!(bound.verify_place(ordinal), Ok(()), "{context}");
            assert!(bound.verify_place(ordinal + 1).is_err(), "{context}");
        }
    }
}

#[test]
fn every_ascending_loop_takes_one_block_after_the_other() {
    for (kernel, bytes) in rows_and_blocks().filter(|(kernel, _)| kernel.sequence == Sequence::Ascending) {
        let mut bound = kernel.ascending(&Features::detect(), bytes, content()).unwrap();
        let (mut found, mut expected) = (Memory::of(bytes, 20), Memory::of(bytes, 20));
        for (first, count) in [((0, 0), 5), ((5, 5), 15), ((3, 17), 1), ((19, 2), 1), ((0, 0), 20), ((1, 1), 0)] {
            let mut sum = 0;
            bound.go_to(first.0, first.1);
            found.run(&mut bound, count);
            for ahead in 0..index(count) {
                access(kernel.op, bytes / 8, (first.0 + ahead, first.1 + ahead), &mut expected, &mut sum);
            }
            let context = format!("{}, {count} blocks of {bytes} B from {first:?}", kernel.name);
            assert!(found.target == expected.target, "{context}");
            assert!(kernel.op != MemoryOp::Read || bound.sum() == sum, "{context}");
        }
    }
}

#[test]
fn after_a_pass_every_byte_is_written_once_and_no_other() {
    for (kernel, bytes) in rows_and_blocks().filter(|(kernel, _)| kernel.op == MemoryOp::Increment) {
        let mut bound = random(kernel, bytes, 64).unwrap();
        let mut memory = Memory::of(bytes, 64);
        memory.target.fill(7);
        for pass in 1..=3 {
            memory.run(&mut bound, 64);
            assert!(memory.target[..memory.words].iter().all(|word| *word == 7 + pass), "{}", kernel.name);
        }
        assert!(memory.target[memory.words..].iter().all(|word| *word == 7), "{}", kernel.name);
    }
    for (kernel, bytes) in rows_and_blocks().filter(|(kernel, _)| kernel.op == MemoryOp::Write) {
        let bound = random(kernel, bytes, 64).or_else(|| kernel.ascending(&Features::detect(), bytes, content()));
        let mut memory = Memory::of(bytes, 64);
        memory.run(&mut bound.unwrap(), 64);
        let (written, behind) = memory.target.split_at(memory.words);
        assert_eq!(content().verify(written, 0), Ok(()), "{}, {bytes} B", kernel.name);
        assert_eq!(content().other().verify(behind, memory.words), Ok(()), "{}, {bytes} B", kernel.name);
    }
}

#[test]
fn both_orders_are_permutations_and_differ() {
    let kernel = find(MemoryOp::Copy, Sequence::Random, Isa::Scalar, 8, &Features::detect()).unwrap();
    for seed in 0..8 {
        for bits in 0..=16 {
            let blocks = 1 << bits;
            let order = Permuted { blocks, seed };
            let bound = kernel.random(&Features::detect(), 8, content(), order).unwrap();
            let (mut of_source, mut of_target) = (vec![false; index(blocks)], vec![false; index(blocks)]);
            let mut same = 0;
            for ordinal in 1000..1000 + blocks {
                let (source, target) = (bound.source_block(ordinal), bound.target_block(ordinal));
                assert!(!std::mem::replace(&mut of_source[index(source)], true), "{source} of {blocks} comes twice");
                assert!(!std::mem::replace(&mut of_target[index(target)], true), "{target} of {blocks} comes twice");
                same += u64::from(source == target);
            }
            // One by chance, for any number of blocks: 20 is far beyond.
            assert!(blocks < 64 || same < 20, "{same} of {blocks} blocks are copied to their own place");
        }
    }
}

/// Consecutive accesses are as far apart as by chance, so that a prefetcher finds no stride and few share a page.
#[test]
fn the_orders_have_no_stride_and_no_locality() {
    let kernel = find(MemoryOp::Copy, Sequence::Random, Isa::Scalar, 8, &Features::detect()).unwrap();
    for (bits, seed) in [12, 16, 20, 27].into_iter().flat_map(|bits| (0..3).map(move |seed| (bits, seed))) {
        let (blocks, accesses) = (1_u64 << bits, 1_u64 << bits.min(16));
        let bound = kernel.random(&Features::detect(), 8, content(), Permuted { blocks, seed }).unwrap();
        let orders: [&dyn Fn(u64) -> u64; 2] = [&|n| bound.source_block(n), &|n| bound.target_block(n)];
        for order in orders {
            let mut strides = std::collections::HashMap::new();
            let mut near = 0;
            for ordinal in 0..accesses {
                let stride = order(ordinal + 1).wrapping_sub(order(ordinal)) % blocks;
                *strides.entry(stride).or_insert(0_u64) += 1;
                near += u64::from(stride < blocks / 128 || stride > blocks - blocks / 128);
            }
            // By chance each stride comes about once; few blocks have too few orders for that.
            let most = strides.values().max().copied().unwrap_or_default();
            assert!(
                most <= if bits < 20 { accesses / 50 } else { 16 },
                "{bits} bits, seed {seed}: a stride {most} times"
            );
            // By chance one in 64 is so short: 1024, with a standard deviation of 32.
            assert!(bits < 20 || (800..1250).contains(&near), "{bits} bits, seed {seed}: {near} short strides");
        }
    }
}

#[test]
fn other_seeds_give_other_orders() {
    let kernel = find(MemoryOp::Read, Sequence::Random, Isa::Scalar, 8, &Features::detect()).unwrap();
    let [mut one, two] = [1, 2].map(|seed| {
        let bound = kernel.random(&Features::detect(), 8, content(), Permuted { blocks: 64, seed }).unwrap();
        (0..64).map(|ordinal| bound.source_block(ordinal)).collect::<Vec<_>>()
    });
    for _ in 0..64 {
        one.rotate_left(1);
        assert_ne!(one, two, "not the same cycle from another block");
    }
}

#[test]
fn generating_the_order_agrees_with_the_loops() {
    for op in [MemoryOp::Read, MemoryOp::Copy] {
        let kernel =
            find(op, Sequence::Random, VECTORS, 72, &Features::detect()).unwrap_or(&portable::BLOCK_KERNELS[1]);
        let mut bound = random(kernel, 72, 256).unwrap();
        let mut memory = Memory::of(72, 256);
        memory.run(&mut bound, 10);
        let sides =
            |ordinal| bound.source_block(ordinal) + if kernel.writes() { bound.target_block(ordinal) } else { 0 };
        let expected: u64 = (10..110).map(sides).sum();
        assert_eq!(bound.generate(100), 72 * expected, "{op}");
        assert_eq!(bound.verify_place(10), Ok(()), "the accesses are still to come");
    }
}

#[test]
fn what_no_loop_supports_is_refused() {
    let features = Features::detect();
    let order = Permuted { blocks: 64, seed: 1 };
    for kernel in rows() {
        for bytes in [0, 1, 7, 9, 100] {
            assert!(kernel.random(&features, bytes, content(), order).is_none(), "{}", kernel.name);
            assert!(kernel.ascending(&features, bytes, content()).is_none(), "{}", kernel.name);
        }
        for blocks in [0, 3, 100] {
            assert!(kernel.random(&features, 8, content(), Permuted { blocks, ..order }).is_none(), "{}", kernel.name);
        }
        let is_random = kernel.sequence == Sequence::Random;
        assert_eq!(kernel.random(&features, 8, content(), order).is_some(), is_random, "{}", kernel.name);
        assert_eq!(kernel.ascending(&features, 8, content()).is_some(), !is_random, "{}", kernel.name);
        let none = kernel.random(&Features::having(&[]), 8, content(), order);
        assert!(kernel.requires.is_empty() || none.is_none(), "{}", kernel.name);
    }
}

#[test]
#[should_panic(expected = "target too short")]
fn memory_that_is_too_short_is_refused() {
    let kernel = find(MemoryOp::Write, Sequence::Random, Isa::Scalar, 8, &Features::detect()).unwrap();
    random(kernel, 8, 64).unwrap().run(1, &[], &mut [0; 63]);
}

#[test]
fn content_adds_up_and_a_wrong_word_is_found() {
    let mut memory = vec![0; 1000];
    content().fill(&mut memory, 5);
    for (first, count) in [(0, 0), (0, 1), (3, 2), (100, 801), (0, 1000)] {
        let naive = memory[first..first + count].iter().fold(0_u64, |sum, word| sum.wrapping_add(*word));
        assert_eq!(content().sum(5 + first, count), naive, "{count} words from {first}");
    }
    assert_eq!(content().verify(&memory, 5), Ok(()));
    memory[77] ^= 1;
    let wrong = content().verify(&memory, 5).unwrap_err();
    assert_eq!((wrong.word, wrong.expected ^ wrong.found), (77, 1));
    assert!((0..1000).all(|word| content().word(word) != content().other().word(word)));
    let unique: std::collections::HashSet<_> = memory.iter().collect();
    assert_eq!(unique.len(), memory.len());
}

#[test]
fn words_of_a_byte_buffer_are_whole_and_inside_it() {
    let mut bytes = vec![1; 100];
    let count = words_mut(&mut bytes).len();
    assert!((11..=12).contains(&count) && words(&bytes).len() == count);
    words_mut(&mut bytes).fill(0);
    assert_eq!(bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>(), 100 - 8 * count);
}

#[test]
fn names_describe_their_row_and_are_unique() {
    let mut seen = std::collections::HashSet::new();
    for kernel in BLOCK_KERNELS {
        let sequence = if kernel.sequence == Sequence::Random { "random" } else { "ascending" };
        let by = if kernel.blocks == Blocks::Word { "words" } else { kernel.isa.name() };
        let rest = kernel.name.strip_prefix(&format!("blocks/{}/{sequence}/{by}", kernel.op));
        assert!(rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')), "{}", kernel.name);
    }
    for kernel in BLOCK_KERNELS.iter().chain(portable::BLOCK_KERNELS) {
        assert!(seen.insert(kernel.name), "{} occurs twice", kernel.name);
        assert!(kernel.reads() || kernel.writes(), "{}", kernel.name);
    }
}

#[test]
fn find_distinguishes_single_words_from_blocks() {
    let features = Features::detect();
    for sequence in [Sequence::Ascending, Sequence::Random] {
        for kernel in rows().filter(|kernel| kernel.sequence == sequence && !kernel.name.ends_with("portable")) {
            let bytes = if kernel.blocks == Blocks::Word { 8 } else { 4096 };
            let found = find(kernel.op, sequence, kernel.isa, bytes, &features).unwrap();
            assert_eq!(found.name, kernel.name);
        }
    }
    assert!(find(MemoryOp::Triad, Sequence::Random, Isa::Avx2, 64, &features).is_none());
}

/// The machine code of all rows, also of those that this host lacks.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod code {
    use iced_x86::{Instruction, Mnemonic, OpAccess, Register};
    use kernels::blocks::order_code;

    use super::function::{self, Access, function as instructions, loops};
    use super::*;

    /// The accesses to the blocks: not to the state (RDI) nor to the stack.
    fn accesses(instructions: &[Instruction]) -> Vec<Access> {
        let mut all = function::accesses(instructions);
        all.retain(|access| !matches!(access.base, Register::RDI | Register::RSP));
        all
    }

    /// Whether these accesses cover some bytes, each once and in order.
    fn covers(accesses: &[&Access], bytes: usize) -> bool {
        let mut next = 0;
        let in_order = accesses.iter().all(|access| {
            let follows = access.displacement == next;
            next += access.bytes as u64;
            follows
        });
        in_order && next == bytes as u64
    }

    /// Checks a loop's loads and stores against its row and the bytes on each side.
    fn check_piece(kernel: &BlockKernel, piece: &[Instruction], bytes: usize, vector_bytes: usize) {
        let all = accesses(piece);
        let of = |kind: OpAccess| -> Vec<&Access> { all.iter().filter(|access| access.kind == kind).collect() };
        let (loads, stores, both) = (of(OpAccess::Read), of(OpAccess::Write), of(OpAccess::ReadWrite));
        assert_eq!(loads.len() + stores.len() + both.len(), all.len(), "{}", kernel.name);
        if kernel.op == MemoryOp::Increment {
            assert!(covers(&both, bytes) && all.len() == 1, "{}", kernel.name);
            return;
        }
        assert!(covers(&loads, if kernel.reads() { bytes } else { 0 }), "{}: loads of {bytes} B", kernel.name);
        assert!(covers(&stores, if kernel.writes() { bytes } else { 0 }), "{}: stores of {bytes} B", kernel.name);
        assert!(both.is_empty() && all.iter().all(|access| access.bytes == vector_bytes), "{}", kernel.name);
        if vector_bytes == kernel.vector_bytes {
            let by = |accesses: &[&Access], name: Option<&str>| {
                accesses.iter().all(|access| Some(access.mnemonic.as_str()) == name)
            };
            assert!(by(&loads, kernel.load) && by(&stores, kernel.store), "{}", kernel.name);
        }
    }

    #[test]
    fn every_byte_of_a_block_is_touched_once_by_the_declared_instructions() {
        for kernel in BLOCK_KERNELS {
            let all = instructions(kernel.code());
            let found = loops(&all);
            let outer = found.last().unwrap();
            assert!(found.iter().all(|each| each[each.len() - 2].mnemonic() == Mnemonic::Dec), "{}", kernel.name);
            assert_eq!(outer[0].ip() % 64, 0, "{}", kernel.name);
            assert_eq!(accesses(outer).len(), accesses(&all).len(), "{}: all of it in the loop", kernel.name);
            match (kernel.blocks, &found[..]) {
                (Blocks::Word, [outer]) => check_piece(kernel, outer, 8, 8),
                (Blocks::Any, [chunks, lines, words, outer]) => {
                    check_piece(kernel, chunks, 512, kernel.vector_bytes);
                    check_piece(kernel, lines, 64, kernel.vector_bytes);
                    check_piece(kernel, words, 8, 8);
                    let inside = [chunks, lines, words].map(|piece| accesses(piece).len()).iter().sum::<usize>();
                    assert_eq!(accesses(outer).len(), inside, "{}: nothing but the pieces", kernel.name);
                }
                _ => panic!("{} has {} loops", kernel.name, found.len()),
            }
        }
    }

    #[test]
    fn wide_registers_are_left_clean() {
        for kernel in BLOCK_KERNELS {
            let all = instructions(kernel.code());
            let wide = |register: Register| register.is_ymm() || register.is_zmm();
            let uses = all.iter().any(|each| wide(each.op0_register()) || wide(each.op1_register()));
            let cleans = all.iter().any(|each| each.mnemonic() == Mnemonic::Vzeroupper);
            assert_eq!((uses, cleans), (kernel.vector_bytes > 16, kernel.vector_bytes > 16), "{}", kernel.name);
        }
    }

    #[test]
    fn generating_the_order_touches_no_block_and_scrambles_like_the_loops() {
        /// Products of one scramble of a counter and the length of a block.
        const PRODUCTS: usize = 3;
        let products = |start| {
            let all = instructions(start);
            let outer = loops(&all).last().unwrap().to_vec();
            outer.iter().filter(|each| each.mnemonic() == Mnemonic::Imul).count()
        };
        for sides in [1, 2] {
            assert!(accesses(&instructions(order_code(sides))).is_empty());
            assert_eq!(products(order_code(sides)), sides * PRODUCTS);
        }
        for kernel in BLOCK_KERNELS.iter().filter(|kernel| kernel.blocks == Blocks::Any) {
            let sides = usize::from(kernel.reads()) + usize::from(kernel.writes());
            // The content of a block is a product of its offset.
            let content = usize::from(kernel.op == MemoryOp::Write);
            let expected = if kernel.sequence == Sequence::Random { sides * PRODUCTS } else { 0 };
            assert_eq!(products(kernel.code()), expected + content, "{}", kernel.name);
        }
    }
}
