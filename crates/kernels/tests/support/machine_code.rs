//! Checks the disassembled machine code of an arithmetic kernel against its row.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use iced_x86::{
    Decoder, DecoderOptions, EncodingKind, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register,
};
use kernels::features::Feature;
use kernels::table::Kernel;
use model::isa::{CpuOp, Element, Isa};

/// Half of the smallest micro-op cache of the wide cores (Haswell: 1536), as two threads share it.
const MICRO_OP_CACHE: usize = 768;

/// Half of Golden Cove's (4096: Intel's optimization manual, section 2.3), where spaced loops run.
const SPACED_MICRO_OP_CACHE: usize = 2048;

/// Bytes of a cache line, on which loops begin.
const LINE: u64 = 64;

/// The properties of a kernel's machine code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableRow {
    pub(crate) kernel: String,
    pub(crate) accumulator_bits: usize,
    pub(crate) accumulators: usize,
    pub(crate) instructions: usize,
    pub(crate) mix: BTreeMap<String, u64>,
    pub(crate) bytes: u64,
    pub(crate) operations: u64,
}

impl TableRow {
    /// The line above a table of such rows.
    pub(crate) fn heading() -> String {
        format!(
            "{:<28} {:>6} {:>6} {:>6} {:>6} {:>8}  {}",
            "kernel", "bits", "accum.", "instr.", "bytes", "ops/iter", "mix of the loop"
        )
    }
}

impl fmt::Display for TableRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, accumulator_bits, accumulators, instructions, mix, bytes, operations } = self;
        write!(f, "{kernel:<28} {accumulator_bits:>6} {accumulators:>6} {instructions:>6} {bytes:>6} ")?;
        write!(f, "{operations:>8} ")?;
        mix.iter().try_for_each(|(mnemonic, count)| write!(f, " {count} {mnemonic}"))
    }
}

/// Checks the function at the start of `code` against `kernel`; `address` is its address in memory, less whole pages.
pub(crate) fn check(kernel: &Kernel, code: &[u8], address: u64) -> Result<TableRow, String> {
    let code = Code::of(code, address).map_err(|wrong| format!("{}: {wrong}", kernel.name))?;
    declared(kernel, &code).map_err(|wrong| format!("{}: {wrong}", kernel.name))?;
    Ok(code.row(kernel, kernel.name.to_owned()))
}

/// Checks the variant of a kernel with NOPs: their number per iteration, their even spread, and that the other
/// instructions are those of the loop `plain`, on the same registers and in the same order.
pub(crate) fn check_spaced(
    kernel: &Kernel,
    (plain, plain_address): (&[u8], u64),
    (code, address): (&[u8], u64),
    nops: u64,
) -> Result<TableRow, String> {
    let name = format!("{}, spaced", kernel.name);
    let outcome = Code::with_room(code, address, SPACED_MICRO_OP_CACHE).and_then(|spaced| {
        let rest = spaced.without(is_nop);
        let found = (spaced.body.len() - rest.body.len()) as u64;
        let lengths: BTreeSet<_> = spaced.body.iter().filter(|one| is_nop(one)).map(Instruction::len).collect();
        if lengths.len() > 1 {
            return Err(format!("NOPs of different lengths: {lengths:?}"));
        }
        if found != nops || found == 0 {
            return Err(format!("the loop has {found} NOPs where {nops} are declared"));
        }
        // At 512 bits NOPs separate groups of equal instructions; they do not keep pace.
        if kernel.vector_bytes() < 64 {
            cycles(&spaced)?;
        }
        beginnings(kernel, &spaced)?;
        if lengths.contains(&2) {
            lines(kernel, &spaced)?;
        }
        declared(kernel, &rest)?;
        // Equal instructions at different addresses compare equal.
        if rest.work() != Code::of(plain, plain_address)?.work() {
            return Err("without its NOPs the loop is another than the plain one".into());
        }
        Ok(spaced.row(kernel, name.clone()))
    });
    outcome.map_err(|wrong| format!("{name}: {wrong}"))
}

/// A NOP of one of the lengths that the loops use.
fn is_nop(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Nop && matches!(instruction.len(), 2 | 9)
}

/// Micro-operations that a core which binds ports at renaming renames in a cycle (LLVM `X86SchedAlderlakeP.td`).
const RENAMED: usize = 6;

/// Each cycle renames six instructions of which three take a vector port: the iteration is a whole number of cycles
/// long, with DEC and JNE renamed as one, and nowhere are three cycles' worth of vector instructions renamed in less
/// than two.
fn cycles(code: &Code) -> Result<(), String> {
    /// Vector ports (LLVM `X86SchedAlderlakeP.td`).
    const PORTS: usize = 3;
    let all: Vec<usize> = code.work().iter().flat_map(micro_operations).chain([0]).collect();
    if !all.len().is_multiple_of(RENAMED) || all.iter().sum::<usize>() > all.len() / RENAMED * PORTS {
        let cycles = all.len() / RENAMED;
        return Err(format!("{} are renamed, {cycles} cycles and {} more", all.len(), all.len() % RENAMED));
    }
    let dense = all.windows(2 * RENAMED).any(|some| some.iter().sum::<usize>() > 3 * PORTS);
    if dense { Err("NOPs are not spread over the loop".into()) } else { Ok(()) }
}

/// Steps with short NOPs fill cache lines: a line holds a whole number of them.
fn lines(kernel: &Kernel, code: &Code) -> Result<(), String> {
    let addition = kernel.step.last().copied().unwrap_or_default();
    let begins: Vec<u64> = code.body.iter().filter(|one| name(one) == addition).map(Instruction::ip).collect();
    let apart = begins.windows(2).map(|pair| pair[1] - pair[0]).collect::<BTreeSet<_>>();
    let whole = apart.len() == 1 && apart.iter().all(|apart| LINE.is_multiple_of(*apart));
    if whole && begins.first().is_some_and(|first| first.is_multiple_of(LINE)) {
        return Ok(());
    }
    Err(format!("steps are {apart:?} bytes apart, and a line of {LINE} bytes should hold a whole number"))
}

/// Where a step of whole numbers takes whole cycles, each begins with an addition, which may take any vector port, and
/// those that have fewer ports follow; or it has nothing but NOPs.
fn beginnings(kernel: &Kernel, code: &Code) -> Result<(), String> {
    let all: Vec<_> = code.work().iter().flat_map(|one| micro_operations(one).into_iter().map(move |_| one)).collect();
    let steps = kernel.pairs * 2 * kernel.accumulators / kernel.accumulators_per_step;
    let is_addition = |mnemonic: &str| mnemonic.trim_start_matches('v').starts_with("padd");
    // The end of the loop takes one more.
    let whole = ((all.len() + 1) / steps).is_multiple_of(RENAMED);
    if !whole || !kernel.step.iter().any(|mnemonic| is_addition(mnemonic)) {
        return Ok(());
    }
    let begins = |cycle: &&[&Instruction]| is_addition(&name(cycle[0])) || cycle.iter().all(|one| is_nop(one));
    match all.chunks(RENAMED).find(|cycle| !begins(cycle)) {
        Some(cycle) => Err(format!("{} begins a cycle where an addition should", cycle[0])),
        None => Ok(()),
    }
}

/// The renamed micro-operations of an instruction: 1 where one takes a vector port.
fn micro_operations(instruction: &Instruction) -> Vec<usize> {
    match instruction.mnemonic() {
        Mnemonic::Pmulld | Mnemonic::Vpmulld => vec![1, 1],
        // Copies are done by renaming.
        Mnemonic::Nop | Mnemonic::Inc | Mnemonic::Movapd | Mnemonic::Movaps | Mnemonic::Movdqa => vec![0],
        _ => vec![1],
    }
}

/// Checks the paced variant of a kernel: the same loop with additions of one register to another, which depend on each
/// other.
#[allow(dead_code, reason = "only some of those that include this file look at paced loops")]
pub(crate) fn check_paced(kernel: &Kernel, code: &[u8], address: u64, additions: u64) -> Result<(), String> {
    let paces = |instruction: &Instruction| {
        let registers = (instruction.op0_register(), instruction.op1_register());
        instruction.mnemonic() == Mnemonic::Add && registers == (Register::R8, Register::R9)
    };
    let whole = Code::with_room(code, address, usize::MAX).map_err(|wrong| format!("{}: {wrong}", kernel.name))?;
    let found = whole.body.iter().filter(|instruction| paces(instruction)).count() as u64;
    if found != additions {
        return Err(format!("{}: paced by {found} additions where {additions} are declared", kernel.name));
    }
    declared(kernel, &whole.without(paces)).map_err(|wrong| format!("{}, paced: {wrong}", kernel.name))
}

/// The loop does what the row declares, where and as it declares it.
pub(crate) fn declared(kernel: &Kernel, code: &Code) -> Result<(), String> {
    work(kernel, code)?;
    places(kernel, code)?;
    products(kernel, code)?;
    registers(kernel, code)?;
    encoding(kernel, code)?;
    code.end()
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
        Self::with_room(code, address, MICRO_OP_CACHE)
    }

    /// The same, for a loop of fewer than `room` instructions.
    fn with_room(code: &[u8], address: u64, room: usize) -> Result<Self, String> {
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
        if body.len() >= room {
            return Err(format!("{} instructions do not fit the micro-op cache", body.len()));
        }
        let code = Self { all, body };
        let ending = code.body.iter().rev().take(2).map(Instruction::mnemonic);
        if !ending.eq(LOOP_END.iter().rev().map(|(_, mnemonic)| *mnemonic)) {
            return Err("the loop does not end in DEC and JNE".into());
        }
        Ok(code)
    }

    /// The same function without some instructions.
    fn without(&self, unwanted: impl Fn(&Instruction) -> bool) -> Self {
        let rest = |from: &[Instruction]| from.iter().copied().filter(|one| !unwanted(one)).collect();
        Self { all: rest(&self.all), body: rest(&self.body) }
    }

    /// This loop's row of the table.
    fn row(&self, kernel: &Kernel, name: String) -> TableRow {
        let mut mix = self.counts();
        mix.retain(|mnemonic, _| !LOOP_END.iter().any(|(end, _)| end == mnemonic));
        TableRow {
            kernel: name,
            accumulator_bits: 8 * kernel.vector_bytes(),
            accumulators: kernel.accumulators,
            instructions: self.body.len(),
            mix,
            bytes: self.bytes(),
            operations: kernel.operations(),
        }
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

    /// Wide registers are left clean and tiles released: VZEROUPPER or TILERELEASE comes right before the return.
    pub(crate) fn end(&self) -> Result<(), String> {
        let uses = |kind: fn(Register) -> bool| {
            self.all.iter().any(|instruction| kind(instruction.op0_register()) || kind(instruction.op1_register()))
        };
        let last = self.all.iter().rev().nth(1).map(Instruction::mnemonic);
        if uses(|register| register.is_ymm() || register.is_zmm()) && last != Some(Mnemonic::Vzeroupper) {
            return Err("dirty upper halves are left behind".into());
        }
        if uses(Register::is_tmm) && last != Some(Mnemonic::Tilerelease) {
            return Err("tiles are left in use".into());
        }
        Ok(())
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

/// The mix is the declared one, and so is its number of operations.
fn work(kernel: &Kernel, code: &Code) -> Result<(), String> {
    let mut declared = BTreeMap::new();
    for mnemonic in kernel.step {
        *declared.entry((*mnemonic).to_owned()).or_default() += kernel.steps();
    }
    declared.extend(LOOP_END.map(|(mnemonic, _)| (mnemonic.to_owned(), 1)));
    if kernel.counts_iterations() {
        declared.insert("inc".to_owned(), 1);
    }
    if code.counts() != declared {
        return Err(format!("the loop has {:?} where {declared:?} is declared", code.counts()));
    }
    let accumulators = stored(code);
    let accumulates = |instruction: &Instruction| accumulators.contains(&instruction.op0_register().full_register());
    let found: u64 = code.work().iter().map(|each| sixths_of_operations(kernel, each, accumulates(each))).sum();
    if found != 6 * kernel.operations() {
        return Err(format!("the loop does {}/6 operations where {} are declared", found, kernel.operations()));
    }
    Ok(())
}

/// Sixths of the additions and multiplications of one instruction, by its mnemonic and the width of its first register;
/// what only serves to build a product counts nothing.
fn sixths_of_operations(kernel: &Kernel, instruction: &Instruction, accumulates: bool) -> u64 {
    let bytes = instruction.op0_register().size() as u64;
    let operations = match name(instruction).as_str() {
        "vfmadd231pd" => bytes / 8 * 2,
        "vfmadd231ps" => bytes / 4 * 2,
        "vfmadd231ph" => bytes / 2 * 2,
        "vfmadd231sd" | "vfmadd231ss" => 2,
        "mulsd" | "mulss" | "addsd" | "addss" | "subsd" | "subss" | "imul" | "add" | "sub" => 1,
        "mulpd" | "addpd" | "vaddpd" | "vpmullq" => bytes / 8,
        "mulps" | "addps" | "vaddps" | "pmulld" | "vpmulld" | "paddd" | "vpaddd" => bytes / 4,
        "pmullw" | "vpmullw" | "paddw" | "vpaddw" => bytes / 2,
        "paddb" | "vpaddb" => bytes,
        // Sums of partial products do not count.
        "paddq" | "vpaddq" if accumulates => bytes / 8,
        // Three make the product of two quadwords.
        "pmuludq" | "vpmuludq" => return bytes / 8 * 2,
        // Two products and their sum in each 32-bit lane; of bytes, the multiplications by one do not count.
        "pmaddwd" | "vpmaddwd" => bytes / 4 * if kernel.element == Element::Int8 { 1 } else { 3 },
        // Four products and two sums in each 32-bit lane.
        "pmaddubsw" | "vpmaddubsw" => bytes / 4 * 6,
        // Four products, three sums of them and one with the accumulator in each 32-bit lane; or two, one and one.
        "vpdpbusd" | "vpdpbssd" => bytes / 4 * 8,
        "vpdpwssd" | "vdpbf16ps" => bytes / 4 * 4,
        // In each of 16 x 16 lanes 64 products, or 32, and as many sums.
        "tdpbusd" => 16 * 16 * 64 * 2,
        "tdpbf16ps" | "tdpfp16ps" => 16 * 16 * 32 * 2,
        _ => 0,
    };
    6 * operations
}

/// The registers that the function stores after its loop, without the count of iterations.
fn stored(code: &Code) -> BTreeSet<Register> {
    let counts = code.work().iter().filter(|instruction| instruction.mnemonic() == Mnemonic::Inc);
    let count: Vec<_> = counts.map(|instruction| instruction.op0_register().full_register()).collect();
    let stores = code.after().filter(|instruction| instruction.op0_kind() == OpKind::Memory);
    let registers = stores.map(|instruction| instruction.op1_register().full_register());
    registers.filter(|register| !count.contains(register)).collect()
}

/// Every accumulator is loaded before the loop and stored after it, depends on no other, and they take turns.
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
    let writes = code.work().iter().map(|instruction| instruction.op0_register().full_register());
    let mut written: Vec<_> = writes.filter(|register| accumulators.contains(register)).collect();
    if is_plain_integer(kernel) {
        // Each variable takes the three instructions of its step in succession.
        let steps = written.chunks(kernel.step.len());
        if !steps.clone().all(|step| step.len() == kernel.step.len() && step.iter().all(|one| *one == step[0])) {
            return Err("a variable's step is interrupted".into());
        }
        written = steps.map(|step| step[0]).collect();
    }
    take_turns(kernel, &written)?;
    let reads_another = |instruction: &&Instruction| {
        let sources = [instruction.op1_register(), instruction.op2_register()];
        sources.iter().any(|source| is_accumulator(*source) && *source != instruction.op0_register())
    };
    match code.work().iter().find(reads_another) {
        Some(instruction) => Err(format!("{instruction} reads another accumulator")),
        None => Ok(()),
    }
}

/// Whether the kernel is a plain loop in general registers.
fn is_plain_integer(kernel: &Kernel) -> bool {
    kernel.op == CpuOp::Plain
        && matches!(kernel.element, Element::Int8 | Element::Int16 | Element::Int32 | Element::Int64)
}

/// Every step writes the same accumulators in the same order, all of them, and far enough apart.
fn take_turns(kernel: &Kernel, written: &[Register]) -> Result<(), String> {
    /// From one instruction to the next on the same accumulator, as far as four tiles allow.
    const APART: usize = 4;
    let apart = APART.min(kernel.accumulators);
    let turns = 2 * kernel.pairs;
    let (turn, rest) = written.split_at(written.len() / turns);
    let mut times = BTreeMap::new();
    for register in turn {
        *times.entry(*register).or_insert(0) += 1;
    }
    let all = times.len() == kernel.accumulators && times.values().all(|count| count * times.len() == turn.len());
    let apart = written.windows(apart).all(|near| !near[1..].contains(&near[0]));
    if all && apart && rest.chunks(turn.len()).all(|other| other == turn) {
        Ok(())
    } else {
        Err("the accumulators do not take turns".into())
    }
}

/// A product that is formed from operands before an accumulator adds it.
#[derive(Clone, Default)]
struct Product {
    /// The indices of its instructions, in order.
    formed: Vec<usize>,
    /// The operands' registers, once for each use, in order.
    from: Vec<Register>,
    /// Additions to accumulators before the first of the instructions.
    since: usize,
}

/// Where products are formed ahead of the loop, every addition to an accumulator adds one that no other adds, formed
/// by the instructions of one step and from other operands than the accumulator's last.
fn products(kernel: &Kernel, code: &Code) -> Result<(), String> {
    let computes = |instruction: &&Instruction| {
        let to = instruction.op0_register();
        !touches_memory(instruction) && (to.is_xmm() || to.is_ymm() || to.is_zmm())
    };
    let ahead = code.before().filter(computes).count();
    if ahead == 0 {
        return Ok(());
    }
    // Twice, since an iteration adds what the previous one has begun.
    let work = || code.work().iter().filter(computes);
    let all: Vec<_> = code.before().filter(computes).chain(work()).chain(work()).collect();
    let sums = sums(&all, &stored(code))?;
    let mut declared = kernel.step[..kernel.step.len() - 1].to_vec();
    declared.sort_unstable();
    for product in &sums {
        let mut formed: Vec<_> = product.formed.iter().map(|place| name(all[*place])).collect();
        formed.sort_unstable();
        if formed != declared {
            return Err(format!("{formed:?} form a product where {declared:?} should"));
        }
    }
    let mut used: Vec<_> = sums.iter().flat_map(|product| &product.formed).collect();
    used.sort_unstable();
    let of_the_first = used.iter().copied().take_while(|place| **place < ahead);
    if used.windows(2).any(|pair| pair[0] == pair[1]) || of_the_first.count() != ahead {
        return Err("a product is added twice or never".into());
    }
    let kinds: BTreeSet<_> = sums.iter().map(|product| &product.from).collect();
    let alternate = sums.windows(kernel.accumulators + 1).all(|near| near[0].from != near[kernel.accumulators].from);
    if kinds.len() != 2 || !alternate {
        return Err("even and odd steps do not take turns with their operands".into());
    }
    let settled = || sums.iter().enumerate().skip(sums.len() / 2);
    let begun: Vec<_> = settled().map(|(_, product)| product.formed.iter().min()).collect();
    if !begun.is_sorted() {
        return Err("products are not added in the order in which they are begun".into());
    }
    let distances: BTreeSet<_> = settled().map(|(index, product)| index + 1 - product.since).collect();
    match distances.first() {
        Some(steps) if distances.len() == group(kernel) && *steps >= kernel.accumulators => Ok(()),
        _ => Err(format!("products are added {distances:?} steps after they were begun")),
    }
}

/// The number of additions before as many products are begun: one, but six at 512 bits.
fn group(kernel: &Kernel) -> usize {
    if kernel.vector_bytes() == 64 { 6 } else { 1 }
}

/// What each addition to one of the accumulators adds, in order.
fn sums(all: &[&Instruction], accumulators: &BTreeSet<Register>) -> Result<Vec<Product>, String> {
    let mut factory = InstructionInfoFactory::new();
    let mut parts: BTreeMap<Register, Product> = BTreeMap::new();
    let mut sums = Vec::new();
    for (place, instruction) in all.iter().enumerate() {
        let to = instruction.op0_register().full_register();
        let reads_first = factory.info(instruction).op0_access() != OpAccess::Write;
        let operands = (u32::from(!reads_first)..instruction.op_count())
            .filter(|operand| instruction.op_kind(*operand) == OpKind::Register)
            .map(|operand| instruction.op_register(operand).full_register());
        if accumulators.contains(&to) {
            let mut added = operands.filter(|operand| *operand != to);
            let product = added.next().and_then(|operand| parts.remove(&operand));
            sums.push(product.ok_or_else(|| format!("{instruction} does not add a product"))?);
            continue;
        }
        let mut product = Product { formed: vec![place], from: Vec::new(), since: sums.len() };
        for operand in operands {
            match parts.get(&operand) {
                Some(part) => {
                    product.formed.extend(&part.formed);
                    product.from.extend(&part.from);
                    product.since = product.since.min(part.since);
                }
                None => product.from.push(operand),
            }
        }
        product.from.sort_unstable();
        parts.insert(to, product);
    }
    Ok(sums)
}

/// The work is in registers of the declared width, except for what [`may_load`].
fn registers(kernel: &Kernel, code: &Code) -> Result<(), String> {
    let mut factory = InstructionInfoFactory::new();
    for instruction in code.work().iter().filter(|instruction| instruction.mnemonic() != Mnemonic::Inc) {
        let width = instruction.op0_register().size();
        // A scalar float uses only the low part of its register.
        let is_partly_used = kernel.isa == Isa::Scalar && instruction.op0_register().is_xmm();
        if !is_partly_used && width != kernel.vector_bytes() {
            return Err(format!("{instruction} is {width} bytes wide, not {}", kernel.vector_bytes()));
        }
        let is_write = |used: &iced_x86::UsedMemory| used.access() != OpAccess::Read;
        let writes = factory.info(instruction).used_memory().iter().any(is_write);
        if writes || touches_memory(instruction) && !may_load(kernel, instruction) {
            return Err(format!("{instruction} does not keep to registers"));
        }
    }
    Ok(())
}

/// Where an operand may be in memory: in the scalar dot product, whose second factor is extended at each use, and where
/// both kinds of pipe are kept busy with sixteen registers.
fn may_load(kernel: &Kernel, instruction: &Instruction) -> bool {
    match (kernel.op, kernel.isa) {
        (CpuOp::Dot, Isa::Scalar) => {
            let bytes = if kernel.element == Element::Int8 { 1 } else { 2 };
            instruction.mnemonic() == Mnemonic::Movsx && instruction.memory_size().size() == bytes
        }
        (CpuOp::AllPipes, Isa::Avx2) => true,
        _ => false,
    }
}

/// Every instruction of the loop has its instruction set's encoding.
fn encoding(kernel: &Kernel, code: &Code) -> Result<(), String> {
    let expected = match kernel.isa {
        Isa::Avx512 | Isa::Avx512Vl | Isa::Avx512Vnni | Isa::Avx512Bf16 | Isa::Avx512Fp16 => EncodingKind::EVEX,
        Isa::Avx2 | Isa::AvxVnni | Isa::AvxVnniInt8 | Isa::Amx => EncodingKind::VEX,
        Isa::Scalar if kernel.requires.contains(&Feature::Fma) => EncodingKind::VEX,
        _ => EncodingKind::Legacy,
    };
    let is_other = |instruction: &&Instruction| {
        instruction.code().encoding() != expected && instruction.mnemonic() != Mnemonic::Inc
    };
    match code.work().iter().find(is_other) {
        Some(other) => Err(format!("{other} is encoded as {:?}, not {expected:?}", other.code().encoding())),
        None => Ok(()),
    }
}
