//! The machine code of every loop, disassembled, against the work that its row declares.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[path = "support/function.rs"]
mod function;
#[path = "support/machine_code.rs"]
mod machine_code;

use std::collections::{BTreeMap, BTreeSet};

use function::{Access, accesses, function, loops};
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpAccess, OpKind, Register};
use kernels::chain::{CHAINS, Chain};
use kernels::chase::{Chase, MOST_CHAINS};
use kernels::dense::{Real, Tile};
use kernels::lines::Block;
use kernels::memory::{MEMORY_KERNELS, MemoryKernel, Stride};
use kernels::table::{KERNELS, Kernel};
use machine_code::{Code, TableRow, check, check_paced, check_spaced, declared, name, touches_memory};
use model::isa::{CpuOp, Element, Isa, MemoryOp};

/// The bytes of the function at `start`, up to its first return.
fn bytes(start: *const u8) -> &'static [u8] {
    let length = function(start).iter().map(Instruction::len).sum();
    // SAFETY: all of it was just read.
    unsafe { std::slice::from_raw_parts(start, length) }
}

fn code(start: *const u8) -> Code {
    Code::of(bytes(start), start as u64).unwrap_or_else(|wrong| panic!("{wrong}"))
}

#[test]
fn arithmetic_loops_do_the_work_that_they_declare_and_nothing_else() {
    println!("{}", TableRow::heading());
    for kernel in KERNELS {
        println!("{}", check(kernel, bytes(kernel.code()), kernel.code() as u64).unwrap());
        if let Some((start, nops)) = kernel.spaced_code() {
            println!("{}", spaced(kernel, start, nops).unwrap());
        }
    }
}

/// Checks the function at `start` as the variant of a kernel with this number of NOPs.
fn spaced(kernel: &Kernel, start: *const u8, nops: u64) -> Result<TableRow, String> {
    let plain = (bytes(kernel.code()), kernel.code() as u64);
    check_spaced(kernel, plain, (bytes(start), start as u64), nops)
}

#[test]
fn spaced_loops_differ_from_plain_ones_and_by_their_number_of_nops() {
    for kernel in KERNELS {
        let Some((start, nops)) = kernel.spaced_code() else { continue };
        assert!(spaced(kernel, kernel.code(), nops).is_err(), "{}: the plain loop", kernel.name);
        assert!(spaced(kernel, kernel.code(), 0).is_err(), "{}: no NOPs", kernel.name);
        assert!(spaced(kernel, start, nops + 1).is_err(), "{}: one NOP less", kernel.name);
        assert!(check(kernel, bytes(start), start as u64).is_err(), "{}: NOPs in a plain loop", kernel.name);
        for other in KERNELS.iter().filter(|other| other.name != kernel.name) {
            let Some((start, nops)) = other.spaced_code() else { continue };
            assert!(spaced(kernel, start, nops).is_err(), "{} as {}", other.name, kernel.name);
        }
    }
}

#[test]
fn an_addition_that_does_not_begin_its_cycle_is_refused() {
    let mut found = 0;
    for kernel in KERNELS {
        let Some((start, nops)) = kernel.spaced_code() else { continue };
        let spaced = bytes(start);
        let all: Vec<_> = Decoder::with_ip(64, spaced, 0, DecoderOptions::NONE).into_iter().collect();
        let is_addition = |one: &Instruction| name(one).trim_start_matches('v').starts_with("padd");
        let Some(pair) = all.windows(2).rfind(|pair| pair[0].mnemonic() == Mnemonic::Nop && is_addition(&pair[1]))
        else {
            continue;
        };
        let place = |at: u64| usize::try_from(at).unwrap();
        let mut other = spaced.to_vec();
        other[place(pair[0].ip())..place(pair[1].next_ip())].rotate_left(pair[0].len());
        let plain = (bytes(kernel.code()), kernel.code() as u64);
        let Err(wrong) = check_spaced(kernel, plain, (&other, start as u64), nops) else { continue };
        assert!(wrong.contains("begins a cycle where an addition should"), "{wrong}");
        found += 1;
    }
    // Quadwords and doublewords of two widths, and bytes before VNNI.
    assert_eq!(found, 6);
}

#[test]
fn loops_that_can_lower_the_clock_have_paced_variants_of_the_same_work() {
    for kernel in KERNELS {
        // 512 bits and tiles, and 256 bits where they keep all pipes busy.
        let is_heavy = kernel.vector_bytes() >= 64 || kernel.op == CpuOp::AllPipes;
        assert_eq!(kernel.paced_code().is_some(), is_heavy, "{}", kernel.name);
        let Some((start, additions)) = kernel.paced_code() else { continue };
        assert_eq!(check_paced(kernel, bytes(start), start as u64, additions), Ok(()));
        assert!(check_paced(kernel, bytes(kernel.code()), kernel.code() as u64, additions).is_err());
        // More cycles than the work takes at two instructions a cycle; at three for 256 bits.
        let instructions = kernel.steps() * kernel.step.len() as u64;
        let cycles = if kernel.element == Element::Bf16 { 4 } else { 1 } * instructions;
        let at_once = if kernel.vector_bytes() < 64 { 3 } else { 2 };
        assert!(kernel.op == CpuOp::Matrix || at_once * additions > cycles, "{}", kernel.name);
    }
}

#[test]
fn no_row_accepts_the_machine_code_of_another() {
    // C computes `char` and `short` as `int`.
    let as_int = |kernel: &Kernel| {
        kernel.op == CpuOp::Plain && matches!(kernel.element, Element::Int8 | Element::Int16 | Element::Int32)
    };
    let codes: Vec<Code> = KERNELS.iter().map(|kernel| code(kernel.code())).collect();
    for kernel in KERNELS {
        for (other, code) in KERNELS.iter().zip(&codes).filter(|(other, _)| other.name != kernel.name) {
            let outcome = declared(kernel, code);
            assert_eq!(outcome.is_ok(), as_int(kernel) && as_int(other), "{} as {}", other.name, kernel.name);
        }
    }
}

#[test]
fn a_wrong_register_is_refused() {
    // Products are formed ahead of the loop, in stages; bytes of 512 bits are not.
    let is_ahead = |kernel: &&Kernel| kernel.op == CpuOp::MulAdd && kernel.name != "muladd/int8/avx512";
    for kernel in KERNELS.iter().filter(is_ahead) {
        let (plain, start) = (bytes(kernel.code()), kernel.code() as u64);
        let code = code(kernel.code());
        let turn = code.work().len() / kernel.pairs;
        for instruction in code.work().iter().take(turn).filter(|one| one.op0_register() != Register::RAX) {
            let end = usize::try_from(instruction.next_ip() - start).unwrap();
            // The last byte, or the one before an immediate, has the numbers of two registers, of three bits each.
            let immediate = usize::from(instruction.op_kinds().any(|kind| kind == OpKind::Immediate8));
            for bit in [1, 1 << 3] {
                // In a shift by an immediate these bits are the direction.
                if immediate == 1 && bit == 1 << 3 {
                    continue;
                }
                let mut other = plain.to_vec();
                other[end - 1 - immediate] ^= bit;
                let outcome = check(kernel, &other, start);
                assert!(outcome.is_err(), "{}: {instruction} with another register", kernel.name);
            }
        }
    }
}

#[test]
fn truncated_or_misaligned_code_is_refused() {
    let kernel = &KERNELS[0];
    let (code, address) = (bytes(kernel.code()), kernel.code() as u64);
    let refused = |code, address| check(kernel, code, address).unwrap_err();
    assert!(refused(&code[..code.len() - 1], address).contains("no return"));
    assert!(refused(code, address + 16).contains("cache line"));
    assert!(refused(&[0xc3], address).contains("one loop"));
    assert!(refused(&[0x06], address).contains("no instruction"));
}

/// A memory stream's innermost loop, inside the loop over passes (a string instruction has only that one).
fn stream(kernel: &MemoryKernel) -> Code {
    let start = kernel.code();
    if kernel.stride == Stride::Pass {
        return code(start);
    }
    let all = function(start);
    let ends: Vec<usize> = (0..all.len())
        .filter(|&index| all[index].is_jcc_short_or_near() && all[index].near_branch_target() <= all[index].ip())
        .collect();
    let [inner, outer] = ends[..] else { panic!("{}: {} loops", kernel.name, ends.len()) };
    let begin = all[inner].near_branch_target();
    assert!(begin == all[outer].near_branch_target() && begin.is_multiple_of(64), "{}", kernel.name);
    for end in [inner, outer] {
        let (count, jump) = (all[end - 1], all[end]);
        assert!(count.mnemonic() == Mnemonic::Dec && jump.mnemonic() == Mnemonic::Jne, "{}: {count}", kernel.name);
    }
    assert_ne!(all[inner - 1].op0_register(), all[outer - 1].op0_register(), "{}: one counter", kernel.name);
    let body = all[..=inner].iter().copied().filter(|instruction| instruction.ip() >= begin).collect();
    Code { all, body }
}

/// The loads and the stores of a loop in the order of execution.
fn traffic(code: &Code) -> [Vec<Access>; 2] {
    let (loads, stores) = accesses(&code.body).into_iter().partition(|access| access.kind == OpAccess::Read);
    [loads, stores]
}

/// The pointers whose accesses, as wide as the row says, cover `bytes` bytes once each and in ascending order.
fn covered(kernel: &MemoryKernel, accesses: &[Access], bytes: usize) -> BTreeSet<Register> {
    let pointers: BTreeSet<Register> = accesses.iter().map(|access| access.base).collect();
    for pointer in &pointers {
        let through = accesses.iter().filter(|access| access.base == *pointer);
        let places: Vec<(u64, usize)> = through.map(|access| (access.displacement, access.bytes)).collect();
        let expected: Vec<(u64, usize)> =
            (0..bytes).step_by(kernel.vector_bytes).map(|place| (place as u64, kernel.vector_bytes)).collect();
        assert_eq!(places, expected, "{} through {pointer:?}", kernel.name);
    }
    pointers
}

#[test]
fn memory_loops_move_each_declared_byte_once() {
    for kernel in MEMORY_KERNELS.iter().filter(|kernel| kernel.stride != Stride::Pass) {
        let code = stream(kernel);
        let [loads, stores] = traffic(&code);
        assert!(stores.iter().all(|access| access.kind == OpAccess::Write), "{}", kernel.name);
        let bytes = if kernel.stride == Stride::Byte { 1 } else { size_of::<Block>() };
        let loaded = covered(kernel, &loads, bytes);
        let stored = covered(kernel, &stores, bytes);
        assert_eq!(loaded.len(), kernel.loads.len(), "{}", kernel.name);
        assert_eq!(stored.len(), usize::from(kernel.store.is_some()), "{}", kernel.name);
        let in_place = kernel.op == MemoryOp::Update;
        assert_eq!(loaded.intersection(&stored).count(), usize::from(in_place), "{}", kernel.name);
        let advanced: BTreeSet<Register> = code
            .work()
            .iter()
            .filter(|instruction| name(instruction) == "add")
            .map(Instruction::op0_register)
            .collect();
        if kernel.stride == Stride::Block {
            assert_eq!(advanced, loaded.union(&stored).copied().collect(), "{}", kernel.name);
        }
    }
}

#[test]
fn memory_loops_have_the_declared_instructions_and_no_other() {
    for kernel in MEMORY_KERNELS.iter().filter(|kernel| kernel.stride == Stride::Block) {
        let code = stream(kernel);
        let mut declared: BTreeMap<String, u64> = BTreeMap::new();
        let vectors = (size_of::<Block>() / kernel.vector_bytes) as u64;
        for mnemonic in kernel.loads.iter().chain(kernel.computes).chain(&kernel.store) {
            *declared.entry((*mnemonic).to_owned()).or_default() += vectors;
        }
        if let Some(sum) = kernel.sum {
            let groups = (size_of::<Block>() / kernel.group_bytes()) as u64;
            declared.entry(kernel.loads[0].to_owned()).and_modify(|loads| *loads -= groups);
            declared.insert(sum.to_owned(), groups);
        }
        let arrays = kernel.sources() + usize::from(kernel.store.is_some());
        declared.extend([("add".to_owned(), arrays as u64), ("dec".to_owned(), 1), ("jne".to_owned(), 1)]);
        assert_eq!(code.counts(), declared, "{}", kernel.name);
        for instruction in code.work().iter().filter(|instruction| name(instruction) != "add") {
            let register = instruction.op_kinds().position(|kind| kind == OpKind::Register).unwrap();
            let width = instruction.op_register(u32::try_from(register).unwrap()).size();
            assert_eq!(width, kernel.vector_bytes, "{}: {instruction}", kernel.name);
            check_kind(kernel, instruction);
        }
        code.end().unwrap();
    }
}

/// An instruction that touches memory is declared to load or to store; any other one to compute.
fn check_kind(kernel: &MemoryKernel, instruction: &Instruction) {
    let mnemonic = name(instruction);
    let declared = if !touches_memory(instruction) {
        kernel.computes.contains(&mnemonic.as_str())
    } else if instruction.op0_kind() == OpKind::Memory {
        kernel.store == Some(mnemonic.as_str())
    } else {
        kernel.loads.iter().chain(&kernel.sum).any(|load| *load == mnemonic)
    };
    assert!(declared, "{}: {instruction}", kernel.name);
}

#[test]
fn non_temporal_stores_end_in_a_store_fence_and_no_other_loop_does() {
    for kernel in MEMORY_KERNELS {
        use MemoryOp::{AddNt, CopyNt, Mix11, Mix21, Mix31, ScaleNt, TriadNt, WriteNt};
        let non_temporal = matches!(kernel.op, WriteNt | CopyNt | ScaleNt | AddNt | TriadNt | Mix11 | Mix21 | Mix31);
        let code = stream(kernel);
        assert_eq!(kernel.store.is_some_and(|store| store.contains("movnt")), non_temporal, "{}", kernel.name);
        let fences = code.all.iter().filter(|instruction| instruction.mnemonic() == Mnemonic::Sfence);
        let end = code.body.last().map_or(0, Instruction::ip);
        let behind: Vec<bool> = fences.map(|fence| fence.ip() > end).collect();
        assert_eq!(behind, vec![true; usize::from(non_temporal)], "{}", kernel.name);
    }
}

#[test]
fn copies_without_vectors_are_as_named() {
    let row = |op: MemoryOp| MEMORY_KERNELS.iter().find(|kernel| kernel.op == op).unwrap();
    let string = stream(row(MemoryOp::RepMovsb));
    let moves: Vec<_> = string.work().iter().filter(|one| one.mnemonic() == Mnemonic::Movsb).collect();
    assert!(moves.len() == 1 && moves[0].has_rep_prefix(), "{moves:?}");
    let bytes = row(MemoryOp::ByteLoop);
    let code = stream(bytes);
    let moves = code.work().iter().filter(|instruction| touches_memory(instruction));
    assert!(moves.map(name).eq([bytes.loads[0], bytes.store.unwrap()]));
}

#[test]
fn no_two_memory_loops_are_alike() {
    let signature = |kernel: &MemoryKernel| {
        let code = stream(kernel);
        (code.counts(), traffic(&code)[0].len(), kernel.vector_bytes)
    };
    let blocks = MEMORY_KERNELS.iter().filter(|kernel| kernel.stride == Stride::Block);
    let rows: Vec<_> = blocks.map(|kernel| (kernel, signature(kernel))).collect();
    for (kernel, of_kernel) in &rows {
        for (other, of_other) in rows.iter().filter(|(other, _)| other.name != kernel.name) {
            let same = of_kernel == of_other;
            // A mix of one load and one non-temporal store is the copy.
            let pair = [kernel.op, other.op];
            let is_known =
                kernel.isa == other.isa && pair.iter().all(|op| [MemoryOp::CopyNt, MemoryOp::Mix11].contains(op));
            assert_eq!(same, is_known, "{} and {}", kernel.name, other.name);
        }
    }
}

#[test]
fn chains_repeat_one_instruction_on_two_registers() {
    for chain in CHAINS {
        let code = code(chain.code());
        assert_eq!(code.work().len() as u64, Chain::LENGTH, "{}", chain.name);
        for instruction in code.work() {
            assert_eq!(name(instruction), chain.instruction);
            let (to, from) = (instruction.op0_register(), instruction.op1_register());
            assert!(to == Register::RAX && from == Register::RSI && instruction.op_count() == 2, "{instruction}");
        }
    }
}

/// The loads of a chase's loop by their chain: its register, or its offset in memory.
fn steps(work: &[Instruction]) -> Vec<(Register, u64)> {
    let mut steps = Vec::new();
    let mut rest = work.iter();
    while let Some(step) = rest.next() {
        let (to, base) = (step.op0_register(), step.memory_base());
        assert!(step.mnemonic() == Mnemonic::Mov && step.memory_index() == Register::None, "{step}");
        let place = step.memory_displacement64();
        if base == to {
            assert_eq!(place, 0, "{step}");
            steps.push((to, 0));
            continue;
        }
        // A chain without a register: loaded, followed, stored.
        assert_eq!((to, base), (Register::RAX, Register::RDI), "{step}");
        let (Some(follow), Some(store)) = (rest.next(), rest.next()) else { panic!("{step} is not followed") };
        assert_eq!((follow.op0_register(), follow.memory_base()), (Register::RAX, Register::RAX), "{follow}");
        assert_eq!((follow.memory_displacement64(), follow.memory_index()), (0, Register::None), "{follow}");
        assert_eq!((store.memory_base(), store.op1_register()), (Register::RDI, Register::RAX), "{store}");
        assert_eq!((store.memory_displacement64(), store.memory_index()), (place, Register::None), "{store}");
        steps.push((Register::RDI, place));
    }
    steps
}

#[test]
fn a_chase_is_one_dependent_load_for_each_chain_in_turn_and_nothing_else() {
    for chains in 1..=MOST_CHAINS {
        let (start, each) = Chase::code(chains).unwrap();
        let code = code(start);
        let steps = steps(code.work());
        let (turn, rest) = steps.split_at(chains);
        assert_eq!(steps.len(), chains * each, "{chains} chains");
        assert!(rest.chunks(chains).all(|other| other == turn), "{chains} chains do not take turns");
        let different: BTreeSet<_> = turn.iter().collect();
        assert_eq!(different.len(), chains, "two of {chains} chains share a place: {turn:?}");
        let in_memory = turn.iter().filter(|(register, _)| *register == Register::RDI).count();
        assert_eq!(in_memory, chains.saturating_sub(12), "chains that have no register");
    }
    assert!(Chase::code(0).is_none() && Chase::code(MOST_CHAINS + 1).is_none());
}

/// In every loop of a tile that multiplies, each left column is loaded once, each right element broadcast once and
/// multiplied by every vector of the column in registers, and nothing is stored.
fn check_tile<T: Real>(tile: &Tile<T>, code: *const u8, multiply_add: &str) {
    let all = function(code);
    let mut depths = BTreeSet::new();
    for body in loops(&all) {
        let count = |word: &str| body.iter().filter(|one| name(one).starts_with(word)).count();
        let steps = count(multiply_add) / (3 * tile.columns);
        if body.iter().filter(|one| one.is_jcc_short_or_near()).count() > 1 {
            continue;
        }
        assert_eq!(count(multiply_add), steps * 3 * tile.columns, "{}", tile.name);
        assert_eq!((count("vbroadcasts"), count("vmovup")), (steps * tile.columns, steps * 3), "{}", tile.name);
        assert!(body.iter().all(|one| one.op0_kind() != OpKind::Memory || name(one).starts_with("prefetch")));
        let vectors = body.iter().filter(|one| name(one).starts_with(multiply_add));
        assert!(vectors.clone().all(|one| !touches_memory(one)), "{}", tile.name);
        let sums: BTreeSet<_> = vectors.map(Instruction::op0_register).collect();
        assert_eq!(sums.len(), 3 * tile.columns, "{}", tile.name);
        depths.insert(steps);
    }
    // Of 256 bits, groups of eight where the left stripe is packed.
    let groups: &[usize] = if tile.isa == Isa::Avx2 { &[1, 4, 8] } else { &[1, 4] };
    assert_eq!(depths, groups.iter().copied().collect(), "{}", tile.name);
}

#[test]
fn tiles_multiply_and_add_in_registers_and_do_nothing_else() {
    fn check_all<T: Real>() {
        for tile in T::tiles().iter().filter(|tile| !tile.requires.is_empty()) {
            check_tile(tile, tile.codes()[0].unwrap(), "vfmadd231p");
            check_asking(tile);
        }
    }
    check_all::<f64>();
    check_all::<f32>();
    assert!(f64::tiles().iter().any(|tile| tile.codes()[1].is_some()));
}

/// The loop of a tile that prefetches its left stripe differs from the plain one only in its prefetches.
fn check_asking<T: Real>(tile: &Tile<T>) {
    let [Some(plain), Some(asking), _] = tile.codes() else { return };
    check_tile(tile, asking, "vfmadd231p");
    let is_request = |one: &Instruction| one.mnemonic() == Mnemonic::Prefetcht0 && one.memory_base() == Register::RSI;
    let (plain, asking) = (function(plain), function(asking));
    assert!(!plain.iter().any(is_request) && asking.iter().any(is_request), "{}", tile.name);
    // Jumps have other targets, whose alignment takes other NOPs.
    let rest = |all: &[Instruction]| -> Vec<String> {
        let others = all.iter().filter(|one| !is_request(one) && one.mnemonic() != Mnemonic::Nop);
        others.map(|one| if one.near_branch_target() == 0 { one.to_string() } else { name(one) }).collect()
    };
    assert_eq!(rest(&plain), rest(&asking), "{}", tile.name);
}

#[test]
fn tiles_of_pairs_multiply_bf16_in_registers_and_do_nothing_else() {
    assert!(!f32::paired_tiles().is_empty() && f64::paired_tiles().is_empty());
    for tile in f32::paired_tiles() {
        let [Some(plain), None, Some(pairs)] = tile.codes() else { panic!("{}", tile.name) };
        check_tile(tile, pairs, "vdpbf16ps");
        // Panels and triangles are the fp32 tile's.
        check_tile(tile, plain, "vfmadd231p");
    }
    assert!(f32::tiles().iter().all(|tile| tile.codes()[2].is_none()));
}
