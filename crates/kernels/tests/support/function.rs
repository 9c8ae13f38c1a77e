//! Decodes the functions of this program.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, Register};

/// The instructions of the function at `start`, up to its first return.
pub(crate) fn function(start: *const u8) -> Vec<Instruction> {
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

/// The loops of a function, innermost first.
#[allow(dead_code, reason = "only some of those that include this file look at loops")]
pub(crate) fn loops(all: &[Instruction]) -> Vec<&[Instruction]> {
    let is_back = |jump: &Instruction| jump.is_jcc_short_or_near() && jump.near_branch_target() <= jump.ip();
    let of = |end: usize| {
        let begin = all.iter().position(|first| first.ip() == all[end].near_branch_target());
        &all[begin.unwrap_or(end)..=end]
    };
    (0..all.len()).filter(|end| is_back(&all[*end])).map(of).collect()
}

/// An access to memory.
#[allow(dead_code, reason = "only some of those that include this file look at accesses")]
pub(crate) struct Access {
    pub(crate) mnemonic: String,
    pub(crate) base: Register,
    pub(crate) displacement: u64,
    pub(crate) bytes: usize,
    pub(crate) kind: OpAccess,
}

/// The accesses of some instructions, in their order.
#[allow(dead_code, reason = "only some of those that include this file look at accesses")]
pub(crate) fn accesses(instructions: &[Instruction]) -> Vec<Access> {
    let mut factory = InstructionInfoFactory::new();
    let of = |instruction: &Instruction| -> Vec<Access> {
        let mnemonic = format!("{:?}", instruction.mnemonic()).to_lowercase();
        let used = factory.info(instruction).used_memory().iter();
        used.map(|used| Access {
            mnemonic: mnemonic.clone(),
            base: used.base(),
            displacement: used.displacement(),
            bytes: used.memory_size().size(),
            kind: used.access(),
        })
        .collect()
    };
    instructions.iter().flat_map(of).collect()
}
