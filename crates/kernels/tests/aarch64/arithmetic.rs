//! The machine code of every loop of 64-bit Arm, disassembled by binutils, against the work that its row declares.

use std::collections::{BTreeMap, BTreeSet};

use crate::disassembly::{INSTRUCTION, Instruction, function};
use crate::skip;
use kernels::table::{KERNELS, Kernel};
use model::isa::{CpuOp, Element, Isa};

/// Bytes of a cache line, on which loops begin.
const LINE: usize = 64;

/// One function: what is before its only loop, the loop without its end, and what is after.
struct Code {
    before: Vec<Instruction>,
    work: Vec<Instruction>,
    after: Vec<Instruction>,
}

impl Code {
    fn of(kernel: &Kernel) -> Option<Self> {
        let (name, start) = (kernel.name, kernel.code());
        let all = function(start)?;
        // Where a jump back that ends a loop of iterations goes; tiles are loaded and stored by other loops.
        let backward = |end: usize| {
            let to = all[end].operands.first().and_then(|word| word.strip_prefix("0x"));
            let to = to.and_then(|to| usize::from_str_radix(to, 16).ok()).map(|to| to / INSTRUCTION);
            let counts = end > 0 && all[end - 1].mnemonic == "subs" && all[end].mnemonic == "b.ne";
            to.filter(|to| counts && *to < end).map(|to| (to, end))
        };
        let loops: Vec<_> = (0..all.len()).filter_map(backward).collect();
        let [(begin, end)] = loops[..] else { panic!("{name}: {} loops", loops.len()) };
        let line = (start.addr() + begin * INSTRUCTION).is_multiple_of(LINE);
        assert!(line, "{name}: the loop does not begin on a cache line");
        assert_eq!(all[end - 1].operands, ["x1", "x1", "#0x1"], "{name}");
        let (before, rest) = all.split_at(begin);
        let (body, after) = rest.split_at(end + 1 - before.len());
        Some(Self { before: before.to_vec(), work: body[..body.len() - 2].to_vec(), after: after.to_vec() })
    }

    /// The registers or tiles that are stored after the loop, but the count and those that belong to the caller.
    fn accumulators(&self, kernel: &Kernel) -> BTreeSet<String> {
        let stores = self.after.iter().filter(|one| matches!(&*one.mnemonic, "str" | "st1w" | "st1d"));
        let registers = stores.map(|one| vector(one.register(0)));
        registers.filter(|register| !kernel.counts_iterations() || register != "x10").collect()
    }
}

/// The name in which arithmetic uses a register that is loaded or stored: `v4` for `q4`, `za0` for a row `{za0h`.
fn vector(register: &str) -> String {
    match (register.strip_prefix('q'), register.strip_prefix('{')) {
        (Some(number), _) => format!("v{number}"),
        (_, Some(row)) => row.trim_end_matches('h').to_owned(),
        _ => register.to_owned(),
    }
}

/// The letters of the registers or tiles in which a kernel accumulates.
fn kind(kernel: &Kernel) -> &'static str {
    match (kernel.isa, kernel.element) {
        (Isa::Sme, _) => "za",
        (Isa::Sve, _) => "z",
        (Isa::Scalar, Element::Fp64) => "d",
        (Isa::Scalar, Element::Fp32) => "s",
        (Isa::Scalar, Element::Int64) => "x",
        (Isa::Scalar, _) => "w",
        _ => "v",
    }
}

/// Operations of one instruction in `bytes` of a vector; what only builds a product counts nothing, nor does its sum.
fn operations(kernel: &Kernel, one: &Instruction) -> u64 {
    let bytes = kernel.vector_bytes() as u64;
    let lane = |suffix: &str| match suffix {
        "2d" | "d" => 8,
        "4s" | "s" => 4,
        "8h" | "h" => 2,
        "16b" | "b" => 1,
        other => panic!("{other} is no arrangement: {one:?}"),
    };
    let lanes = || one.operands[0].split('.').nth(1).map_or(1, |suffix| bytes / lane(suffix));
    match &*one.mnemonic {
        "fmla" | "mla" | "smlal" => 2 * lanes(),
        "fmadd" | "madd" => 2,
        "fadd" => lanes(),
        "sub" | "fsub" => 1,
        // Four products and sums in each 32-bit lane; of bf16 two; eight and four in matrices.
        "sdot" | "usdot" | "bfmmla" => 8 * lanes(),
        "bfdot" => 4 * lanes(),
        "smmla" => 16 * lanes(),
        // Of outer products, each lane sums as many products as elements of a source fit it.
        "bfmopa" | "fmopa" => {
            let size = |operand: usize| one.operands[operand].split('.').nth(1).map_or(1, lane);
            2 * lanes() * (size(0) / size(3))
        }
        // Eight products in 16 bits, which another instruction sums in pairs into 32.
        "smull" | "sadalp" => 8,
        _ => 0,
    }
}

/// The loop has the declared instructions and no other, which do the declared operations on registers, and the
/// accumulators take turns.
fn check(kernel: &Kernel, code: &Code) -> Result<(), String> {
    let mut declared = BTreeMap::new();
    for mnemonic in kernel.step {
        *declared.entry(*mnemonic).or_insert(0) += kernel.steps();
    }
    if kernel.counts_iterations() {
        declared.insert("add", 1);
    }
    let mut found = BTreeMap::new();
    for one in &code.work {
        *found.entry(&*one.mnemonic).or_insert(0) += 1;
    }
    if found != declared {
        return Err(format!("{found:?} where {declared:?} is declared"));
    }
    let done: u64 = code.work.iter().map(|one| operations(kernel, one)).sum();
    if done != kernel.operations() {
        return Err(format!("{done} operations where {} are declared", kernel.operations()));
    }
    let accumulators = code.accumulators(kernel);
    let loads = code.before.iter().filter(|one| matches!(&*one.mnemonic, "ldr" | "ld1w" | "ld1d"));
    let loaded: BTreeSet<String> = loads.map(|one| vector(one.register(0))).collect();
    if accumulators.len() != kernel.accumulators || !accumulators.is_subset(&loaded) {
        return Err(format!("{accumulators:?} are stored, {loaded:?} loaded"));
    }
    if let Some(other) =
        accumulators.iter().find(|register| register.trim_end_matches(char::is_numeric) != kind(kernel))
    {
        return Err(format!("{other} is not a register {}", kind(kernel)));
    }
    let written: Vec<&Instruction> = code.work.iter().filter(|one| accumulators.contains(one.register(0))).collect();
    let turns: Vec<&str> = written.iter().map(|one| one.register(0)).collect();
    let first = &turns[..kernel.accumulators];
    let all: BTreeSet<_> = first.iter().collect();
    if all.len() != kernel.accumulators || turns.chunks(kernel.accumulators).any(|turn| turn != first) {
        return Err("the accumulators do not take turns".into());
    }
    let reads_another = |one: &&&Instruction| {
        let sources = (1..one.operands.len()).map(|operand| one.register(operand));
        sources.into_iter().any(|source| source != one.register(0) && accumulators.contains(source))
    };
    written.iter().find(reads_another).map_or(Ok(()), |one| Err(format!("{one:?} reads another accumulator")))
}

/// The registers that belong to the caller, X18 and up and the low halves of V8 to V15, are not used or are saved, and
/// streaming mode ends (AAPCS64, section 6.1).
fn promises(code: &Code) -> Result<(), String> {
    let all = || code.before.iter().chain(&code.work).chain(&code.after);
    let number = |register: &str, kinds: &[char]| {
        register.trim_matches(['[', ']', '{', '}']).strip_prefix(kinds).and_then(|number| number.parse::<u32>().ok())
    };
    let uses = |kinds: &[char], least: u32, most: u32| {
        let registers = || all().flat_map(|one| (0..one.operands.len()).map(|operand| one.register(operand)));
        registers().any(|register| number(register, kinds).is_some_and(|number| (least..=most).contains(&number)))
    };
    let pairs = |from: &[Instruction], mnemonic: &str| {
        let are = |one: &&Instruction| one.mnemonic == mnemonic && one.operands[2].starts_with("[sp");
        let registers =
            from.iter().filter(are).flat_map(|one| [one.register(0).to_owned(), one.register(1).to_owned()]);
        registers.collect::<BTreeSet<_>>()
    };
    let low: BTreeSet<String> = (8..16).map(|number| format!("d{number}")).collect();
    let are_saved = pairs(&code.before, "stp") == low && pairs(&code.after, "ldp") == low;
    let count = |mnemonic: &str| all().filter(|one| one.mnemonic == mnemonic).count();
    if uses(&['x', 'w'], 18, 30) || uses(&['v', 'z', 'q', 'd', 's'], 8, 15) && !are_saved {
        return Err("a register of the caller is not saved".into());
    }
    if count("smstart") == count("smstop") { Ok(()) } else { Err("streaming mode does not end".into()) }
}

/// The code of every row; none where no disassembler is installed.
fn codes(test: &str) -> &'static [(&'static Kernel, Code)] {
    static ALL: std::sync::LazyLock<Option<Vec<(&Kernel, Code)>>> =
        std::sync::LazyLock::new(|| KERNELS.iter().map(|kernel| Some((kernel, Code::of(kernel)?))).collect());
    ALL.as_deref().unwrap_or_else(|| {
        skip::skip(test, "objdump is not installed");
        &[]
    })
}

#[test]
fn arithmetic_loops_do_the_work_that_they_declare_and_nothing_else() {
    for (kernel, code) in codes("arithmetic_loops_do_the_work_that_they_declare_and_nothing_else") {
        assert_eq!(check(kernel, code).and_then(|()| promises(code)), Ok(()), "{}", kernel.name);
        println!("{:<28} {:>3} accumulators, {:>4} instructions", kernel.name, kernel.accumulators, code.work.len());
    }
}

#[test]
fn no_row_accepts_the_machine_code_of_another() {
    let codes = codes("no_row_accepts_the_machine_code_of_another");
    for (kernel, _) in codes {
        for (other, code) in codes.iter().filter(|(other, _)| other.name != kernel.name) {
            // C computes `char` and `short` as `int`; scalable vectors of every length have one loop.
            let is_plain = |one: &Kernel| one.op == CpuOp::Plain && one.accumulators == 12 && one.vector_bytes() == 4;
            let is_same = kernel.code() == other.code() || is_plain(kernel) && is_plain(other);
            assert_eq!(check(kernel, code).is_ok(), is_same, "{} as {}", other.name, kernel.name);
        }
    }
}
