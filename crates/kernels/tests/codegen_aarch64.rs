//! The machine code of every loop of 64-bit Arm, disassembled by binutils, against the work that its row declares.
#![cfg(all(target_arch = "aarch64", target_os = "linux"))]

#[path = "support/disassembly.rs"]
mod disassembly;
#[path = "support/skip.rs"]
mod skip;

use std::collections::{BTreeMap, BTreeSet};

use disassembly::{INSTRUCTION, Instruction, function};
use kernels::table::{KERNELS, Kernel};

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
        let backward = |(index, one): &(usize, &Instruction)| {
            let to = one.operands.first().and_then(|word| word.strip_prefix("0x"));
            let to = to.and_then(|to| usize::from_str_radix(to, 16).ok()).map(|to| to / INSTRUCTION);
            let counts = *index > 0 && all[index - 1].mnemonic == "subs";
            counts && one.mnemonic.starts_with("b.") && to.is_some_and(|to| to <= *index)
        };
        let ends: Vec<_> = all.iter().enumerate().filter(backward).collect();
        let [(end, jump)] = ends[..] else { panic!("{name}: {} loops", ends.len()) };
        let begin = usize::from_str_radix(&jump.operands[0][2..], 16).unwrap();
        assert!((start.addr() + begin).is_multiple_of(LINE), "{name}: the loop does not begin on a cache line");
        assert_eq!(jump.mnemonic, "b.ne", "{name}");
        assert_eq!((&*all[end - 1].mnemonic, &*all[end - 1].operands.concat()), ("subs", "x1x1#0x1"), "{name}");
        let (before, rest) = all.split_at(begin / INSTRUCTION);
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
        "sdot" | "usdot" => 8 * lanes(),
        "bfdot" => 4 * lanes(),
        "smmla" => 16 * lanes(),
        "bfmmla" => 8 * lanes(),
        // Of outer products, each lane sums as many products as elements of a source fit it.
        "smopa" | "bfmopa" | "fmopa" => {
            let size = |operand: usize| one.operands[operand].split('.').nth(1).map_or(1, lane);
            2 * lanes() * (size(0) / size(3))
        }
        // Eight products in 16 bits, which another instruction sums in pairs into 32.
        "smull" | "sadalp" => 8,
        _ => 0,
    }
}

/// The loop has the declared instructions and no other, which do the declared operations on registers.
fn check(kernel: &Kernel, code: &Code) {
    let name = kernel.name;
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
    assert_eq!(found, declared, "{name}");
    let done: u64 = code.work.iter().map(|one| operations(kernel, one)).sum();
    assert_eq!(done, kernel.operations(), "{name}");

    let accumulators = code.accumulators(kernel);
    assert_eq!(accumulators.len(), kernel.accumulators, "{name}: {accumulators:?}");
    let loaded: BTreeSet<String> = code
        .before
        .iter()
        .filter(|one| matches!(&*one.mnemonic, "ldr" | "ld1w" | "ld1d"))
        .map(|one| vector(one.register(0)))
        .collect();
    assert!(accumulators.is_subset(&loaded), "{name}: an accumulator is not loaded");
    let written = |one: &Instruction| vector(one.register(0));
    let turns: Vec<String> = code.work.iter().map(written).filter(|to| accumulators.contains(to)).collect();
    for turn in turns.chunks(kernel.accumulators) {
        assert_eq!(turn.iter().cloned().collect::<BTreeSet<_>>(), accumulators, "{name}: not in turn");
        assert!(turn == &turns[..kernel.accumulators], "{name}: another order");
    }
    for one in code.work.iter().filter(|one| accumulators.contains(&written(one))) {
        let sources = (1..one.operands.len()).map(|operand| one.register(operand));
        let others = sources.filter(|source| accumulators.contains(*source) && *source != one.register(0));
        assert_eq!(others.count(), 0, "{name}: {one:?} reads another accumulator");
    }
}

#[test]
fn arithmetic_loops_do_the_work_that_they_declare_and_nothing_else() {
    for kernel in KERNELS {
        let Some(code) = Code::of(kernel) else {
            skip::skip("arithmetic_loops_do_the_work_that_they_declare_and_nothing_else", "objdump is not installed");
            return;
        };
        check(kernel, &code);
        println!("{:<28} {:>3} accumulators, {:>4} instructions", kernel.name, kernel.accumulators, code.work.len());
    }
}
