//! The machine code of an arithmetic kernel, disassembled and held to the work that the kernel's row declares.
//!
//! From the bytes of a function to a line of a table, or to what is wrong with it. It executes nothing and knows no
//! pointers of this process, so that it serves the tests of this crate as well as a look into a program on disk, and
//! kernels for instruction sets that the host lacks are held to their word like the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use iced_x86::{
    Decoder, DecoderOptions, EncodingKind, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register,
};
use kernels::features::Feature;
use kernels::table::Kernel;
use model::isa::{CpuOp, Element, Isa};

/// Half of the micro-ops that the smallest micro-op cache of the wide cores holds (Haswell: 1536), as two threads share
/// it.
const MICRO_OP_CACHE: usize = 768;

/// Bytes of a cache line, on which loops begin.
const LINE: u64 = 64;

/// What a kernel's machine code is found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableRow {
    /// The kernel's name.
    pub(crate) kernel: &'static str,
    /// Bits of an accumulator.
    pub(crate) accumulator_bits: usize,
    /// Independent accumulators.
    pub(crate) accumulators: usize,
    /// Instructions in the loop, its end included.
    pub(crate) instructions: usize,
    /// How often each mnemonic occurs in the loop, its end left out.
    pub(crate) mix: BTreeMap<String, u64>,
    /// Bytes of the loop.
    pub(crate) bytes: u64,
    /// Operations per iteration.
    pub(crate) operations: u64,
}

impl TableRow {
    /// The line above a table of such rows.
    pub(crate) fn heading() -> String {
        format!(
            "{:<24} {:>6} {:>6} {:>6} {:>6} {:>8}  {}",
            "kernel", "bits", "accum.", "instr.", "bytes", "ops/iter", "mix of the loop"
        )
    }
}

impl fmt::Display for TableRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, accumulator_bits, accumulators, instructions, mix, bytes, operations } = self;
        write!(
            f,
            "{kernel:<24} {accumulator_bits:>6} {accumulators:>6} {instructions:>6} {bytes:>6} {operations:>8} "
        )?;
        mix.iter().try_for_each(|(mnemonic, count)| write!(f, " {count} {mnemonic}"))
    }
}

/// Holds the function at the start of `code`, which lies at `address` in memory (or will, but for whole pages), to what
/// `kernel` declares. What follows the function is not looked at.
pub(crate) fn check(kernel: &Kernel, code: &[u8], address: u64) -> Result<TableRow, String> {
    let code = Code::of(code, address).map_err(|wrong| format!("{}: {wrong}", kernel.name))?;
    let checked = work(kernel, &code).and_then(|()| {
        places(kernel, &code)?;
        encoding(kernel, &code)?;
        code.end()
    });
    checked.map_err(|wrong| format!("{}: {wrong}", kernel.name))?;
    let mut mix = code.counts();
    mix.retain(|mnemonic, _| !LOOP_END.iter().any(|(end, _)| end == mnemonic));
    Ok(TableRow {
        kernel: kernel.name,
        accumulator_bits: 8 * kernel.vector_bytes(),
        accumulators: kernel.accumulators,
        instructions: code.body.len(),
        mix,
        bytes: code.bytes(),
        operations: kernel.operations(),
    })
}

/// The two instructions that end every loop.
const LOOP_END: [(&str, Mnemonic); 2] = [("dec", Mnemonic::Dec), ("jne", Mnemonic::Jne)];

/// One function: all of it, and the body of its only loop.
pub(crate) struct Code {
    /// Every instruction, from the first to the return.
    pub(crate) all: Vec<Instruction>,
    /// Those of the loop, its end included.
    pub(crate) body: Vec<Instruction>,
}

impl Code {
    /// Decodes the function at the start of `code`, up to its return, and finds its loop.
    pub(crate) fn of(code: &[u8], address: u64) -> Result<Self, String> {
        let all = decode(code, address)?;
        let backward = |instruction: &&Instruction| {
            instruction.flow_control() == FlowControl::ConditionalBranch
                && instruction.near_branch_target() <= instruction.ip()
        };
        let ends: Vec<_> = all.iter().filter(backward).collect();
        let [end] = ends[..] else { return Err(format!("one loop is expected, not {}", ends.len())) };
        let range = end.near_branch_target()..=end.ip();
        let body: Vec<_> = all.iter().copied().filter(|instruction| range.contains(&instruction.ip())).collect();
        if range.start() % LINE != 0 {
            return Err("the loop does not begin on a cache line".into());
        }
        if body.len() >= MICRO_OP_CACHE {
            return Err(format!("{} instructions do not fit the micro-op cache", body.len()));
        }
        let code = Self { all, body };
        let ending = code.body.iter().rev().take(2).map(Instruction::mnemonic);
        if !ending.eq(LOOP_END.iter().rev().map(|(_, mnemonic)| *mnemonic)) {
            return Err("the loop does not end in DEC and JNE".into());
        }
        Ok(code)
    }

    /// How often each mnemonic occurs in the loop.
    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for instruction in &self.body {
            *counts.entry(name(instruction)).or_default() += 1;
        }
        counts
    }

    /// The instructions of the loop without the counting and the jump at its end.
    pub(crate) fn work(&self) -> &[Instruction] {
        &self.body[..self.body.len().saturating_sub(LOOP_END.len())]
    }

    /// Bytes of the loop.
    fn bytes(&self) -> u64 {
        self.body.iter().map(|instruction| instruction.len() as u64).sum()
    }

    /// The instructions after the loop.
    fn after(&self) -> impl Iterator<Item = &Instruction> {
        let end = self.body.last().map_or(0, Instruction::ip);
        self.all.iter().filter(move |instruction| instruction.ip() > end)
    }

    /// The instructions before the loop.
    fn before(&self) -> impl Iterator<Item = &Instruction> {
        let start = self.body.first().map_or(0, Instruction::ip);
        self.all.iter().filter(move |instruction| instruction.ip() < start)
    }

    /// Wide registers are left clean: VZEROUPPER comes right before the return.
    pub(crate) fn end(&self) -> Result<(), String> {
        let wide = |register: Register| register.is_ymm() || register.is_zmm();
        let uses_wide =
            self.all.iter().any(|instruction| wide(instruction.op0_register()) || wide(instruction.op1_register()));
        match self.all.iter().rev().nth(1) {
            Some(last) if uses_wide && last.mnemonic() != Mnemonic::Vzeroupper => {
                Err("dirty upper halves are left behind".into())
            }
            _ => Ok(()),
        }
    }
}

/// The instructions up to and including the first return.
fn decode(code: &[u8], address: u64) -> Result<Vec<Instruction>, String> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut instructions = Vec::new();
    while decoder.can_decode() {
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            return Err(format!("no instruction at byte {}", instruction.ip() - address));
        }
        instructions.push(instruction);
        if instruction.flow_control() == FlowControl::Return {
            return Ok(instructions);
        }
    }
    Err(format!("no return within {} bytes", code.len()))
}

/// The mnemonic, in lower case.
pub(crate) fn name(instruction: &Instruction) -> String {
    format!("{:?}", instruction.mnemonic()).to_lowercase()
}

/// Whether an operand is in memory.
pub(crate) fn touches_memory(instruction: &Instruction) -> bool {
    instruction.op_kinds().any(|kind| kind == OpKind::Memory)
}

/// The mix is the declared one, and its operations come to the declared number.
fn work(kernel: &Kernel, code: &Code) -> Result<(), String> {
    let mut declared = BTreeMap::new();
    for mnemonic in kernel.step {
        *declared.entry((*mnemonic).to_owned()).or_default() += kernel.steps();
    }
    declared.extend(LOOP_END.map(|(mnemonic, _)| (mnemonic.to_owned(), 1)));
    if code.counts() != declared {
        return Err(format!("the loop has {:?} where {declared:?} is declared", code.counts()));
    }
    let found: u64 = code.work().iter().map(operations).sum();
    if found != kernel.operations() {
        return Err(format!("the loop does {found} operations where {} are declared", kernel.operations()));
    }
    Ok(())
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

/// The registers that the function stores behind its loop: what it calls its results.
fn stored(code: &Code) -> BTreeSet<Register> {
    let stores = code.after().filter(|instruction| instruction.op0_kind() == OpKind::Memory);
    stores.map(|instruction| instruction.op1_register().full_register()).collect()
}

/// Every accumulator is loaded before the loop and stored behind it, depends on no other, and they take turns; the work
/// is in registers of the declared width, but for what [`may_load`].
fn places(kernel: &Kernel, code: &Code) -> Result<(), String> {
    let accumulators = stored(code);
    if accumulators.len() != kernel.accumulators {
        return Err(format!("{} registers are stored, not {}", accumulators.len(), kernel.accumulators));
    }
    let loads = code.before().filter(|instruction| touches_memory(instruction));
    let loaded: BTreeSet<_> = loads.map(|instruction| instruction.op0_register().full_register()).collect();
    if !accumulators.is_subset(&loaded) {
        return Err("an accumulator is not loaded".into());
    }
    let is_accumulator = |register: Register| accumulators.contains(&register.full_register());
    let turns: Vec<_> = code.work().iter().map(Instruction::op0_register).filter(|to| is_accumulator(*to)).collect();
    let first_turn = turns.get(..kernel.accumulators).unwrap_or_default();
    let distinct: BTreeSet<_> = first_turn.iter().map(|register| register.full_register()).collect();
    if distinct != accumulators || !turns.chunks(kernel.accumulators).all(|turn| turn == first_turn) {
        return Err("the accumulators do not take turns".into());
    }
    let mut factory = InstructionInfoFactory::new();
    for instruction in code.work() {
        let to = instruction.op0_register();
        let sources = [instruction.op1_register(), instruction.op2_register()];
        if sources.iter().any(|source| is_accumulator(*source) && *source != to) {
            return Err(format!("{instruction} reads another accumulator"));
        }
        if kernel.isa != Isa::Scalar && to.size() != kernel.vector_bytes() {
            return Err(format!("{instruction} is {} bytes wide", to.size()));
        }
        let writes = |used: &iced_x86::UsedMemory| used.access() != OpAccess::Read;
        if touches_memory(instruction) != may_load(kernel, instruction)
            || factory.info(instruction).used_memory().iter().any(writes)
        {
            return Err(format!("{instruction} does not keep to registers"));
        }
    }
    Ok(())
}

/// Where an operand may lie in memory: the signed byte of the scalar dot product, which is extended at each use.
fn may_load(kernel: &Kernel, instruction: &Instruction) -> bool {
    (kernel.op, kernel.element, kernel.isa) == (CpuOp::Dot, Element::Int8, Isa::Scalar)
        && instruction.mnemonic() == Mnemonic::Movsx
}

/// Every instruction of the loop is encoded as its instruction set is.
fn encoding(kernel: &Kernel, code: &Code) -> Result<(), String> {
    let expected = match kernel.isa {
        Isa::Avx512 | Isa::Avx512Vnni => EncodingKind::EVEX,
        Isa::Avx2 | Isa::AvxVnni => EncodingKind::VEX,
        Isa::Scalar if kernel.requires.contains(&Feature::Fma) => EncodingKind::VEX,
        _ => EncodingKind::Legacy,
    };
    match code.work().iter().find(|instruction| instruction.code().encoding() != expected) {
        Some(other) => Err(format!("{other} is encoded as {:?}, not {expected:?}", other.code().encoding())),
        None => Ok(()),
    }
}
