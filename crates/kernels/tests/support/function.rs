//! Decodes the functions of this program.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};

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
