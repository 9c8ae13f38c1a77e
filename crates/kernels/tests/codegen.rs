//! The machine code of every kernel, disassembled, against the work that its row declares.
//!
//! Nothing is executed, so kernels for instruction sets that this host lacks are held to their word as well.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{
    Decoder, DecoderOptions, EncodingKind, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register,
};
use kernels::chain::{CHAINS, Chain};
use kernels::chase::Cycle;
use kernels::features::Feature;
use kernels::memory::{MEMORY_KERNELS, MemoryKernel};
use kernels::table::{KERNELS, Kernel};
use model::isa::{Element, Isa, MemoryOp};

/// Half of the micro-ops that the smallest micro-op cache of the wide cores holds (Haswell: 1536), as two threads share
/// it.
const MICRO_OP_CACHE: usize = 768;

/// One function: all of it, and the body of its only loop.
struct Code {
    all: Vec<Instruction>,
    body: Vec<Instruction>,
}

impl Code {
    fn of(start: *const u8) -> Self {
        let all = disassemble(start);
        let backward = |instruction: &&Instruction| {
            instruction.flow_control() == FlowControl::ConditionalBranch
                && instruction.near_branch_target() <= instruction.ip()
        };
        let ends: Vec<_> = all.iter().filter(backward).collect();
        let [end] = ends[..] else { panic!("one loop is expected, not {}", ends.len()) };
        let range = end.near_branch_target()..=end.ip();
        let body: Vec<_> = all.iter().copied().filter(|instruction| range.contains(&instruction.ip())).collect();
        assert_eq!(range.start() % 64, 0, "the loop does not begin on a cache line");
        assert!(body.len() < MICRO_OP_CACHE, "{} instructions do not fit the micro-op cache", body.len());
        Self { all, body }
    }

    /// How often each mnemonic occurs in the loop.
    fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for instruction in &self.body {
            *counts.entry(name(instruction)).or_default() += 1;
        }
        counts
    }

    /// The instructions of the loop without the counting and the jump at its end.
    fn work(&self) -> &[Instruction] {
        let [work @ .., count, jump] = &self.body[..] else { panic!("the loop is too short") };
        assert_eq!((count.mnemonic(), jump.mnemonic()), (Mnemonic::Dec, Mnemonic::Jne));
        work
    }

    /// Wide registers are left clean: VZEROUPPER comes right before the return.
    fn check_end(&self) {
        let wide = |register: Register| register.is_ymm() || register.is_zmm();
        let uses_wide =
            self.all.iter().any(|instruction| wide(instruction.op0_register()) || wide(instruction.op1_register()));
        let last = &self.all[self.all.len() - 2];
        assert!(!uses_wide || last.mnemonic() == Mnemonic::Vzeroupper, "dirty upper halves are left behind");
    }
}

/// The instructions from `start` to the first return.
fn disassemble(start: *const u8) -> Vec<Instruction> {
    /// The longest instruction that the architecture allows.
    const LONGEST: usize = 15;
    let mut instructions = Vec::new();
    let mut address = start;
    loop {
        // SAFETY: `address` is at an instruction of a function in this program, and the code is followed by more than
        // fifteen bytes of the same segment.
        let bytes = unsafe { std::slice::from_raw_parts(address, LONGEST) };
        let instruction = Decoder::with_ip(64, bytes, address as u64, DecoderOptions::NONE).decode();
        assert!(!instruction.is_invalid(), "no instruction at {address:p}");
        instructions.push(instruction);
        if instruction.flow_control() == FlowControl::Return {
            return instructions;
        }
        address = address.wrapping_add(instruction.len());
    }
}

fn name(instruction: &Instruction) -> String {
    format!("{:?}", instruction.mnemonic()).to_lowercase()
}

fn touches_memory(instruction: &Instruction) -> bool {
    instruction.op_kinds().any(|kind| kind == OpKind::Memory)
}

/// Additions and multiplications of one instruction, from its mnemonic and the width of its first register alone.
fn operations(instruction: &Instruction) -> u64 {
    let bytes = instruction.op0_register().size() as u64;
    match name(instruction).as_str() {
        "vfmadd231pd" => bytes / 8 * 2,
        "vfmadd231ps" => bytes / 4 * 2,
        "vfmadd231sd" | "vfmadd231ss" => 2,
        "mulpd" | "addpd" => bytes / 8,
        // One operation in each 32-bit lane; VPMADDWD's products are by one and a means, its sum counts.
        "mulps" | "addps" | "pmaddwd" | "vpmaddwd" | "paddd" | "vpaddd" => bytes / 4,
        "mulsd" | "mulss" | "addsd" | "addss" | "imul" | "add" => 1,
        // Four products, three sums of them and one with the accumulator in each 32-bit lane.
        "vpdpbusd" => bytes / 4 * 8,
        // Four products and two sums in each 32-bit lane.
        "pmaddubsw" | "vpmaddubsw" => bytes / 4 * 6,
        _ => 0,
    }
}

/// The registers that the last instruction of each step writes, in order.
fn accumulators(kernel: &Kernel, code: &Code) -> Vec<Register> {
    code.work().iter().skip(kernel.step.len() - 1).step_by(kernel.step.len()).map(Instruction::op0_register).collect()
}

#[test]
fn arithmetic_loops_do_the_work_that_they_declare_and_nothing_else() {
    for kernel in KERNELS {
        let code = Code::of(kernel.code());
        let mut declared: BTreeMap<_, _> =
            kernel.step.iter().map(|mnemonic| ((*mnemonic).to_owned(), kernel.steps())).collect();
        declared.extend([("dec".to_owned(), 1), ("jne".to_owned(), 1)]);
        assert_eq!(code.counts(), declared, "{}", kernel.name);
        let found: u64 = code.work().iter().map(operations).sum();
        assert_eq!(found, kernel.operations(), "{}", kernel.name);
        code.check_end();
    }
}

#[test]
fn arithmetic_loops_use_the_width_that_they_declare() {
    for kernel in KERNELS.iter().filter(|kernel| kernel.isa != Isa::Scalar) {
        for instruction in Code::of(kernel.code()).work() {
            let width = instruction.op0_register().size();
            assert_eq!(width, kernel.vector_bytes(), "{}: {instruction}", kernel.name);
        }
    }
}

#[test]
fn arithmetic_loops_stay_in_registers() {
    for kernel in KERNELS {
        for instruction in Code::of(kernel.code()).work() {
            let scalar_byte = (kernel.element, kernel.isa) == (Element::Int8, Isa::Scalar);
            let loads_byte = scalar_byte && instruction.mnemonic() == Mnemonic::Movsx;
            assert_eq!(touches_memory(instruction), loads_byte, "{}: {instruction}", kernel.name);
        }
    }
}

#[test]
fn accumulators_are_independent_and_take_turns() {
    for kernel in KERNELS {
        let code = Code::of(kernel.code());
        let order = accumulators(kernel, &code);
        let distinct: BTreeSet<_> = order.iter().map(|register| register.full_register()).collect();
        assert_eq!(distinct.len(), kernel.accumulators, "{}", kernel.name);
        let (first_turn, others) = order.split_at(kernel.accumulators);
        assert!(others.chunks(kernel.accumulators).all(|turn| turn == first_turn), "{}", kernel.name);
        for instruction in code.work() {
            let sources = [instruction.op1_register(), instruction.op2_register()];
            let reads_other =
                |source: &Register| distinct.contains(&source.full_register()) && *source != instruction.op0_register();
            assert!(!sources.iter().any(reads_other), "{}: {instruction}", kernel.name);
        }
    }
}

#[test]
fn kernels_are_encoded_for_their_instruction_set() {
    for kernel in KERNELS {
        let expected = match kernel.isa {
            Isa::Avx512 | Isa::Avx512Vnni => EncodingKind::EVEX,
            Isa::Avx2 | Isa::AvxVnni => EncodingKind::VEX,
            Isa::Scalar if kernel.requires.contains(&Feature::Fma) => EncodingKind::VEX,
            _ => EncodingKind::Legacy,
        };
        for instruction in Code::of(kernel.code()).work() {
            assert_eq!(instruction.code().encoding(), expected, "{}: {instruction}", kernel.name);
        }
    }
}

/// Bytes loaded and stored in a loop, with the displacement of every access.
#[derive(Default)]
struct Traffic {
    loads: Vec<(u64, usize)>,
    stores: Vec<(u64, usize)>,
}

fn traffic(code: &Code) -> Traffic {
    let mut factory = InstructionInfoFactory::new();
    let mut traffic = Traffic::default();
    for instruction in &code.body {
        for access in factory.info(instruction).used_memory() {
            let place = (access.displacement(), access.memory_size().size());
            match access.access() {
                OpAccess::Read => traffic.loads.push(place),
                OpAccess::Write => traffic.stores.push(place),
                other => panic!("{instruction}: {other:?}"),
            }
        }
    }
    traffic
}

/// Whether the accesses, in order, cover `bytes` bytes from the pointer on, each once.
fn covers(accesses: &[(u64, usize)], bytes: usize) -> bool {
    let mut next = 0;
    for &(displacement, size) in accesses {
        if displacement != next {
            return false;
        }
        next += size as u64;
    }
    next == bytes as u64
}

#[test]
fn memory_loops_move_each_byte_that_they_declare_once() {
    for kernel in MEMORY_KERNELS {
        let code = Code::of(kernel.code());
        let traffic = traffic(&code);
        assert!(covers(&traffic.loads, kernel.bytes_read()), "{}: {:?}", kernel.name, traffic.loads);
        assert!(covers(&traffic.stores, kernel.bytes_written()), "{}: {:?}", kernel.name, traffic.stores);
        let sizes = traffic.loads.iter().chain(&traffic.stores).map(|access| access.1);
        assert!(sizes.into_iter().all(|size| size == kernel.vector_bytes), "{}", kernel.name);
        check_mnemonics(kernel, &code);
        code.check_end();
    }
}

/// Loads and stores are by the instructions declared, and non-temporal ones end in a store fence.
fn check_mnemonics(kernel: &MemoryKernel, code: &Code) {
    for instruction in code.body.iter().filter(|instruction| touches_memory(instruction)) {
        let stores = instruction.op0_kind() == OpKind::Memory;
        let declared = if stores { kernel.store } else { kernel.load };
        assert_eq!(Some(name(instruction).as_str()), declared, "{}: {instruction}", kernel.name);
    }
    let non_temporal = matches!(kernel.op, MemoryOp::WriteNt | MemoryOp::CopyNt);
    assert_eq!(kernel.store.is_some_and(|store| store.contains("movnt")), non_temporal, "{}", kernel.name);
    let fences = code.all.iter().filter(|instruction| instruction.mnemonic() == Mnemonic::Sfence).count();
    assert_eq!(fences, usize::from(non_temporal), "{}", kernel.name);
}

#[test]
fn chains_are_of_one_instruction_on_two_different_registers() {
    for chain in CHAINS {
        let code = Code::of(chain.code());
        assert_eq!(code.work().len() as u64, Chain::LENGTH, "{}", chain.name);
        for instruction in code.work() {
            assert_eq!(name(instruction), chain.instruction);
            let (to, from) = (instruction.op0_register(), instruction.op1_register());
            assert!(to == Register::RAX && from == Register::RSI && instruction.op_count() == 2, "{instruction}");
        }
    }
}

#[test]
fn the_chase_is_dependent_loads_and_nothing_else() {
    let code = Code::of(Cycle::code());
    assert_eq!(code.work().len() as u64, Cycle::LOADS_PER_ROUND);
    for instruction in code.work() {
        assert_eq!(instruction.mnemonic(), Mnemonic::Mov);
        assert!(touches_memory(instruction) && instruction.memory_displacement64() == 0, "{instruction}");
        let (to, base, index) = (instruction.op0_register(), instruction.memory_base(), instruction.memory_index());
        assert_eq!((to, base, index), (Register::RAX, Register::RAX, Register::None), "{instruction}");
    }
}
