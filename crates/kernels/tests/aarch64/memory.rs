//! The machine code of memory loops, chains and tiles of 64-bit Arm, disassembled by binutils, against their rows.
#![expect(clippy::unwrap_used, reason = "what fails here is a test")]
#![expect(clippy::cast_possible_wrap, reason = "places in a loop are below a page")]

use std::collections::{BTreeMap, BTreeSet};

use crate::disassembly::{INSTRUCTION, Instruction, function, loops};
use crate::skip;
use kernels::blocks::{BLOCK_KERNELS, BlockKernel, Blocks, Sequence, order_code};
use kernels::chain::{CHAINS, Chain};
use kernels::chase::{Chase, MOST_CHAINS};
use kernels::dense::{Real, Tile};
use kernels::lines::Block;
use kernels::memory::{MEMORY_KERNELS, MemoryKernel, Stride};
use model::isa::{Isa, MemoryOp};

/// Bytes of a cache line, on which loops begin.
const LINE: usize = 64;

/// Reports a test as skipped if nothing was decoded.
fn decoded(test: &str, outcome: Option<()>) {
    if outcome.is_none() {
        skip::skip(test, "objdump is not installed");
    }
}

/// How often each mnemonic occurs.
fn counts(instructions: &[Instruction]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for one in instructions {
        *counts.entry(&*one.mnemonic).or_default() += 1;
    }
    counts
}

/// An access to memory, its place relative to where its pointer was before the first instruction.
#[derive(Debug)]
struct Access<'a> {
    instruction: &'a Instruction,
    pointer: String,
    place: i64,
    bytes: usize,
}

impl Access<'_> {
    fn stores(&self) -> bool {
        self.instruction.mnemonic.starts_with("st")
    }
}

fn number(word: &str) -> i64 {
    let word = word.trim_start_matches('#');
    let value = word.strip_prefix("0x").map_or_else(|| word.parse(), |digits| i64::from_str_radix(digits, 16));
    value.unwrap_or_else(|_| panic!("{word} is no number"))
}

/// Bytes that an instruction loads or stores.
fn bytes(one: &Instruction, vector_bytes: usize) -> usize {
    let register = match one.operands[0].chars().next() {
        Some('q') => 16,
        Some('x' | 'd') => 8,
        _ => 0,
    };
    match &*one.mnemonic {
        "ldp" | "stp" | "ldnp" | "stnp" => 2 * register,
        "ldr" | "str" => register,
        "ldrb" | "strb" => 1,
        "ld1d" | "st1d" | "ldnt1d" | "stnt1d" | "ld1w" | "st1w" => vector_bytes,
        "ld1rd" => 8,
        "ld1rw" => 4,
        other => panic!("{other} is not known to access memory"),
    }
}

/// The accesses of some instructions in their order, but prefetches, and how far each pointer goes.
fn accesses(instructions: &[Instruction], vector_bytes: usize) -> (Vec<Access<'_>>, BTreeMap<String, i64>) {
    let mut went: BTreeMap<String, i64> = BTreeMap::new();
    let mut all = Vec::new();
    for one in instructions {
        let text = one.operands.join(", ");
        if let Some((address, behind)) = text.split_once(", [").and_then(|(_, rest)| rest.split_once(']')) {
            if one.mnemonic.starts_with("prf") {
                continue;
            }
            let words: Vec<&str> = address.split(", ").collect();
            let offset = match words[1..] {
                [offset] if offset.starts_with('#') => number(offset),
                [offset, "mul vl"] => number(offset) * vector_bytes as i64,
                _ => 0,
            };
            let pointer = words[0].to_owned();
            let place = went.get(&pointer).copied().unwrap_or_default() + offset;
            let ahead = behind.trim_start_matches(", ");
            if !ahead.is_empty() && ahead != "!" {
                *went.entry(pointer.clone()).or_default() += number(ahead);
            }
            all.push(Access { instruction: one, pointer, place, bytes: bytes(one, vector_bytes) });
        } else if one.operands.get(2).is_some_and(|word| word.starts_with('#')) && one.operands[0] == one.operands[1] {
            let unit = if one.mnemonic == "addvl" { vector_bytes as i64 } else { 1 };
            if one.mnemonic.starts_with("add") {
                *went.entry(one.operands[0].clone()).or_default() += unit * number(&one.operands[2]);
            }
        }
    }
    (all, went)
}

/// The pointers whose accesses, of `width` bytes each, cover `bytes` bytes once and in ascending order.
fn covered(name: &str, accesses: &[&Access], bytes: usize, width: usize) -> BTreeSet<String> {
    let pointers: BTreeSet<String> = accesses.iter().map(|access| access.pointer.clone()).collect();
    for pointer in &pointers {
        let through = accesses.iter().filter(|access| access.pointer == *pointer);
        let places: Vec<_> = through.map(|access| (access.place, access.bytes)).collect();
        let expected: Vec<_> = (0..bytes).step_by(width).map(|place| (place as i64, width)).collect();
        assert_eq!(places, expected, "{name} through {pointer}");
    }
    pointers
}

fn is_past_caches(kernel: &MemoryKernel) -> bool {
    use MemoryOp::{AddNt, CopyNt, Mix11, Mix21, Mix31, ScaleNt, TriadNt, WriteNt};
    matches!(kernel.op, WriteNt | CopyNt | ScaleNt | AddNt | TriadNt | Mix11 | Mix21 | Mix31)
}

/// The instructions that an iteration declares.
fn declared(kernel: &MemoryKernel) -> BTreeMap<&str, usize> {
    let mut declared: BTreeMap<&str, usize> = BTreeMap::from([("subs", 1), ("b.ne", 1)]);
    if kernel.stride == Stride::Byte {
        declared.extend([(kernel.loads[0], 1), (kernel.store.unwrap(), 1)]);
        return declared;
    }
    let vectors = size_of::<Block>() / kernel.vector_bytes;
    for mnemonic in kernel.loads.iter().chain(kernel.computes).chain(&kernel.store) {
        *declared.entry(mnemonic).or_default() += vectors;
    }
    let groups = size_of::<Block>() / kernel.group_bytes();
    let (registers, advance) = if kernel.isa == Isa::Neon { (2, ("add", 1)) } else { (1, ("addvl", groups)) };
    if let Some(sum) = kernel.sum {
        *declared.entry(sum).or_default() += registers * groups;
    }
    let arrays = kernel.sources() + usize::from(kernel.store.is_some());
    *declared.entry(advance.0).or_default() += arrays * advance.1;
    declared
}

fn check_stream(kernel: &MemoryKernel) -> Option<()> {
    let (name, start) = (kernel.name, kernel.code());
    let all = function(start)?;
    let [inner, outer] = &loops(&all)[..] else { panic!("{name}: not two loops") };
    assert!(inner.start == outer.start && (start.addr() + inner.start * INSTRUCTION).is_multiple_of(LINE), "{name}");
    assert_ne!(all[inner.end - 2].operands[0], all[outer.end - 2].operands[0], "{name}: one counter");
    let body = &all[inner.clone()];
    assert_eq!(counts(body), declared(kernel), "{name}");

    let (accesses, went) = accesses(body, kernel.vector_bytes);
    let (stores, loads): (Vec<_>, Vec<_>) = accesses.iter().partition(|access| access.stores());
    let bytes = if kernel.stride == Stride::Byte { 1 } else { size_of::<Block>() };
    let loaded = covered(name, &loads, bytes, kernel.vector_bytes);
    let stored = covered(name, &stores, bytes, kernel.vector_bytes);
    assert_eq!((loaded.len(), stored.len()), (kernel.loads.len(), usize::from(kernel.store.is_some())), "{name}");
    let in_place = kernel.op == MemoryOp::Update;
    assert_eq!(loaded.intersection(&stored).count(), usize::from(in_place), "{name}");
    let advanced = loaded.union(&stored).map(|pointer| (pointer.clone(), bytes as i64));
    assert_eq!(went, advanced.collect(), "{name}: pointers advance by what they access");

    let scalable = all[..inner.start].iter().any(|one| one.mnemonic == "ptrue" && one.operands[0] == "p0.d");
    assert_eq!(scalable, kernel.isa == Isa::Sve, "{name}: all lanes are active");
    let fences: Vec<_> = (0..all.len()).filter(|&place| all[place].mnemonic == "dsb").collect();
    assert_eq!(fences.len(), usize::from(is_past_caches(kernel)), "{name}");
    assert!(fences.iter().all(|fence| *fence >= outer.end), "{name}");
    assert_eq!(kernel.store.is_some_and(|store| store.contains("nt") || store == "stnp"), is_past_caches(kernel));
    Some(())
}

#[test]
fn memory_loops_move_each_declared_byte_once_by_the_declared_instructions() {
    let streams = MEMORY_KERNELS.iter().filter(|kernel| kernel.stride != Stride::Zeroed);
    let outcome = streams.into_iter().try_for_each(check_stream);
    decoded("memory_loops_move_each_declared_byte_once_by_the_declared_instructions", outcome);
}

#[test]
fn zeroing_stores_only_where_the_instruction_would_zero_too_much() {
    let kernel = MEMORY_KERNELS.iter().find(|kernel| kernel.op == MemoryOp::DcZva).unwrap();
    let outcome = function(kernel.code()).map(|all| {
        let at = all.iter().position(|one| one.mnemonic == "dc").unwrap();
        assert_eq!((&*all[at].operands.concat(), &*all[at + 2].mnemonic), ("zvax1", "b"));
        // It begins with the comparison and the jump behind the loop.
        let jump = usize::from_str_radix(all[at + 2].operands[0].trim_start_matches("0x"), 16).unwrap();
        assert_eq!(jump / INSTRUCTION, at - 2);
        assert!((kernel.code().addr() + jump).is_multiple_of(LINE));
        let body = counts(&all[at - 2..=at + 2]);
        assert_eq!(body, BTreeMap::from([("cmp", 1), ("b.cs", 1), ("dc", 1), ("add", 1), ("b", 1)]));
        assert_eq!((counts(&all)["dc"], counts(&all)["stp"]), (1, 2 * LINE / 16));
    });
    decoded("zeroing_stores_only_where_the_instruction_would_zero_too_much", outcome);
}

/// Checks the loads and stores of a loop against its row and the bytes on each side.
fn check_piece(kernel: &BlockKernel, piece: &[Instruction], bytes: usize, width: usize) {
    let (all, _) = accesses(piece, kernel.vector_bytes);
    // Not the state.
    let blocks = all.iter().filter(|access| access.pointer != "x0");
    let (stores, loads): (Vec<_>, Vec<_>) = blocks.partition(|access| access.stores());
    let sides = [(&loads, kernel.reads(), kernel.load), (&stores, kernel.writes(), kernel.store)];
    for (accesses, is_used, mnemonic) in sides {
        let pointers = covered(kernel.name, accesses, bytes, width);
        assert_eq!(pointers.len(), usize::from(is_used), "{}: {bytes} bytes", kernel.name);
        let declared =
            |access: &&&Access| width != kernel.vector_bytes || Some(&*access.instruction.mnemonic) == mnemonic;
        assert!(accesses.iter().all(|access| declared(&access)), "{}", kernel.name);
    }
}

fn check_blocks(kernel: &BlockKernel) -> Option<()> {
    let (name, all) = (kernel.name, function(kernel.code())?);
    let found = loops(&all);
    let outer = found.last().unwrap().clone();
    assert!((kernel.code().addr() + outer.start * INSTRUCTION).is_multiple_of(LINE), "{name}");
    let body = |piece: &std::ops::Range<usize>| &all[piece.clone()];
    match (kernel.blocks, &found[..]) {
        (Blocks::Word, [outer]) => check_piece(kernel, body(outer), 8, 8),
        (Blocks::Any, [chunks, lines, words, outer]) => {
            check_piece(kernel, body(chunks), 512, kernel.vector_bytes);
            check_piece(kernel, body(lines), 64, kernel.vector_bytes);
            check_piece(kernel, body(words), 8, 8);
            let of_blocks = |piece| {
                let (all, _) = accesses(body(piece), kernel.vector_bytes);
                all.iter().filter(|access| access.pointer != "x0").count()
            };
            let inside: usize = [chunks, lines, words].map(of_blocks).iter().sum();
            assert_eq!(of_blocks(outer), inside, "{name}: nothing but the pieces");
        }
        _ => panic!("{name} has {} loops", found.len()),
    }
    // The content of a block is a product of its offset.
    let content = usize::from(kernel.op == MemoryOp::Write);
    let sides = usize::from(kernel.reads()) + usize::from(kernel.writes());
    let random = if kernel.sequence == Sequence::Random { sides * PRODUCTS } else { 0 };
    if kernel.blocks == Blocks::Any {
        assert_eq!(products(body(&outer)), random + content, "{name}");
    }
    Some(())
}

/// Products of one scramble of a counter and the length of a block.
const PRODUCTS: usize = 3;

fn products(instructions: &[Instruction]) -> usize {
    instructions.iter().filter(|one| matches!(&*one.mnemonic, "mul" | "madd")).count()
}

#[test]
fn every_byte_of_a_block_is_touched_once_by_the_declared_instructions() {
    let outcome = BLOCK_KERNELS.iter().try_for_each(check_blocks);
    decoded("every_byte_of_a_block_is_touched_once_by_the_declared_instructions", outcome);
    for sides in [1, 2] {
        let Some(all) = function(order_code(sides)) else { return };
        let [outer] = &loops(&all)[..] else { panic!("the order of {sides} has several loops") };
        let body = &all[outer.clone()];
        assert!(accesses(body, 0).0.is_empty() && products(body) == sides * PRODUCTS, "the order of {sides}");
    }
}

fn check_chain(chain: &Chain) -> Option<()> {
    let all = function(chain.code())?;
    let [body] = &loops(&all)[..] else { panic!("{}: not one loop", chain.name) };
    let work = &all[body.start..body.end - 2];
    assert_eq!(work.len() as u64, Chain::LENGTH, "{}", chain.name);
    let is_step = |one: &Instruction| one.mnemonic == chain.instruction && one.operands == ["x0", "x0", "x1"];
    assert!(work.iter().all(is_step), "{}: {work:?}", chain.name);
    Some(())
}

#[test]
fn chains_repeat_one_instruction_on_two_registers() {
    decoded("chains_repeat_one_instruction_on_two_registers", CHAINS.into_iter().try_for_each(check_chain));
}

/// The loads of a chase's loop by their chain: its register, or its offset in memory.
fn steps(work: &[Instruction]) -> Vec<String> {
    let mut steps = Vec::new();
    let mut rest = work.iter();
    while let Some(step) = rest.next() {
        assert_eq!(step.mnemonic, "ldr");
        let place = step.operands[1..].join(", ");
        if place == format!("[{}]", step.operands[0]) {
            steps.push(place);
            continue;
        }
        // A chain without a register: loaded, followed, stored.
        let (Some(follow), Some(store)) = (rest.next(), rest.next()) else { panic!("{step:?} is not followed") };
        assert_eq!((&*step.operands[0], &*follow.mnemonic, &*store.mnemonic), ("x30", "ldr", "str"));
        assert!(
            follow.operands == ["x30", "[x30]"] && store.operands == step.operands,
            "{step:?} {follow:?} {store:?}"
        );
        steps.push(place);
    }
    steps
}

fn check_chase(chains: usize) -> Option<()> {
    let (start, each) = Chase::code(chains).unwrap();
    let all = function(start)?;
    let [body] = &loops(&all)[..] else { panic!("{chains} chains: not one loop") };
    let steps = steps(&all[body.start..body.end - 2]);
    let (turn, rest) = steps.split_at(chains);
    assert_eq!(steps.len(), chains * each, "{chains} chains");
    assert!(rest.chunks(chains).all(|other| other == turn), "{chains} chains do not take turns");
    assert_eq!(turn.iter().collect::<BTreeSet<_>>().len(), chains, "two of {chains} chains share a place: {turn:?}");
    let in_memory = turn.iter().filter(|place| place.starts_with("[x0,")).count();
    assert_eq!(in_memory, chains.saturating_sub(26), "chains that have no register");
    Some(())
}

#[test]
fn a_chase_is_one_dependent_load_for_each_chain_in_turn_and_nothing_else() {
    let outcome = (1..=MOST_CHAINS).try_for_each(check_chase);
    decoded("a_chase_is_one_dependent_load_for_each_chain_in_turn_and_nothing_else", outcome);
}

/// In every loop of a tile that multiplies, each left column is loaded once, each right element loaded once and
/// multiplied by every vector of the column in registers, and nothing is stored.
fn check_tile<T: Real>(tile: &Tile<T>, code: *const u8, multiply_add: &str) -> Option<()> {
    let (name, all) = (tile.name, function(code)?);
    let bytes = tile.rows * size_of::<T>() / 3;
    let found = loops(&all);
    let is_innermost = |one: &&std::ops::Range<usize>| {
        !found.iter().any(|other| other != *one && one.contains(&other.start) && one.contains(&(other.end - 1)))
    };
    let mut depths = BTreeSet::new();
    for body in found.iter().filter(is_innermost).map(|range| &all[range.clone()]) {
        let products: Vec<_> = body.iter().filter(|one| one.mnemonic == multiply_add).collect();
        let steps = products.len() / (3 * tile.columns);
        depths.insert(steps);
        let sums: BTreeSet<_> = products.iter().map(|one| one.register(0)).collect();
        assert_eq!((products.len(), sums.len()), (steps * 3 * tile.columns, 3 * tile.columns), "{name}");
        let (accesses, _) = accesses(body, bytes);
        let (left, right): (Vec<_>, Vec<_>) = accesses.iter().partition(|access| access.pointer == "x1");
        let loaded = |side: &[&Access]| side.iter().map(|access| access.bytes).sum::<usize>();
        assert_eq!(loaded(&left), steps * 3 * bytes, "{name}: the left column");
        covered(name, &right, steps * tile.columns * size_of::<T>(), right[0].bytes);
        assert!(right.iter().all(|access| access.pointer == "x3" && !access.stores()), "{name}");
        let others =
            counts(body).into_iter().filter(|(mnemonic, _)| !mnemonic.starts_with("prf") && *mnemonic != multiply_add);
        let loads = accesses.len();
        assert_eq!(
            others.map(|(_, count)| count).sum::<usize>(),
            loads + steps + 3,
            "{name}: a step advances one pointer"
        );
    }
    assert_eq!(depths, BTreeSet::from([1, 4]), "{name}");
    Some(())
}

#[test]
fn tiles_multiply_and_add_in_registers_and_do_nothing_else() {
    fn check_all<T: Real>() -> Option<()> {
        let tiles = T::tiles().iter().filter(|tile| !tile.requires.is_empty());
        tiles.into_iter().try_for_each(|tile| check_tile(tile, tile.codes()[0].unwrap(), "fmla"))
    }
    let outcome = check_all::<f64>().and_then(|()| check_all::<f32>());
    decoded("tiles_multiply_and_add_in_registers_and_do_nothing_else", outcome);
}

#[test]
fn tiles_of_pairs_multiply_bf16_in_registers_and_do_nothing_else() {
    assert!(!f32::paired_tiles().is_empty() && f64::paired_tiles().is_empty());
    let check = |tile: &Tile<f32>| {
        let [Some(plain), None, Some(pairs)] = tile.codes() else { panic!("{}", tile.name) };
        // Panels and triangles are the fp32 tile's.
        check_tile(tile, pairs, "bfdot").and_then(|()| check_tile(tile, plain, "fmla"))
    };
    let outcome = f32::paired_tiles().iter().try_for_each(check);
    decoded("tiles_of_pairs_multiply_bf16_in_registers_and_do_nothing_else", outcome);
}
