//! Moves between vector registers, memory and general registers, and instructions on integer lanes.

use iced_x86::{EncodingKind, Instruction, OpKind};

use super::machine::{Machine, lane};

/// What an instruction does to every lane of some bytes.
enum Lanes {
    /// A function of two sources.
    Pair(usize, fn(u64, u64) -> u64),
    /// A function of the destination and two sources.
    Accumulate(usize, fn(u64, u64, u64) -> u64),
    /// A shift by a constant.
    Shift(usize, fn(u64, u64) -> u64),
}

/// The mnemonic in lower case, without the `v` of the VEX and EVEX forms.
pub(super) fn stem(instruction: &Instruction) -> String {
    let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
    name.strip_prefix('v').map_or_else(|| name.clone(), str::to_owned)
}

/// Whether this is SSE's encoding, whose destination is also a source and keeps what is not written.
pub(super) fn is_legacy(instruction: &Instruction) -> bool {
    instruction.code().encoding() == EncodingKind::Legacy
}

impl Machine {
    /// Executes the instruction, if it moves data to or from a vector register or clears upper halves.
    pub(super) fn move_vector(&mut self, instruction: &Instruction) -> Result<bool, String> {
        let stem = stem(instruction);
        match stem.as_str() {
            "movaps" | "movapd" | "movdqa" | "movdqa32" | "movdqa64" => {
                self.check_aligned(instruction)?;
                self.move_whole(instruction)?;
            }
            "movups" | "movupd" | "movdqu" | "movdqu32" => {
                self.move_whole(instruction)?;
            }
            "movsd" => self.move_scalar(instruction, 8)?,
            "movss" => self.move_scalar(instruction, 4)?,
            "zeroupper" => self.vectors[..16].iter_mut().for_each(|vector| vector[16..].fill(0)),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn check_aligned(&self, instruction: &Instruction) -> Result<(), String> {
        let in_memory = [0, 1].iter().any(|operand| instruction.op_kind(*operand) == OpKind::Memory);
        let size = instruction.memory_size().size() as u64;
        if in_memory && !self.address(instruction)?.is_multiple_of(size) {
            return Err(format!("the operand in memory is not aligned to {size} bytes"));
        }
        Ok(())
    }

    fn move_whole(&mut self, instruction: &Instruction) -> Result<(), String> {
        let bytes = self.operand(instruction, 1)?;
        self.set_destination(instruction, &bytes)
    }

    /// Loads the lowest lane, with zeros above it, or stores it.
    fn move_scalar(&mut self, instruction: &Instruction, size: usize) -> Result<(), String> {
        let mut bytes = self.operand(instruction, 1)?;
        bytes.truncate(size);
        match (instruction.op0_kind(), instruction.op1_kind()) {
            (OpKind::Memory, _) => {}
            (_, OpKind::Memory) => bytes.resize(16, 0),
            _ => return Err("a scalar moved between registers is not modelled".to_owned()),
        }
        self.set_destination(instruction, &bytes)
    }

    /// Writes the first operand. The upper bytes of a register are kept under SSE and become zero otherwise.
    pub(super) fn set_destination(&mut self, instruction: &Instruction, bytes: &[u8]) -> Result<(), String> {
        if instruction.op0_kind() == OpKind::Memory {
            let address = self.address(instruction)?;
            return self.store(address, bytes);
        }
        let register = instruction.op0_register();
        if !register.is_vector_register() {
            return Err("this destination is not modelled".to_owned());
        }
        let target = &mut self.vectors[register.number()];
        if !is_legacy(instruction) {
            target.fill(0);
        }
        target[..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// The bytes of the two sources: the first two operands under SSE, otherwise the last two.
    pub(super) fn sources(&self, instruction: &Instruction) -> Result<[Vec<u8>; 2], String> {
        let [first, second] = if instruction.op_count() == 2 { [0, 1] } else { [1, 2] };
        if is_legacy(instruction) && instruction.op_kind(second) == OpKind::Memory {
            self.check_aligned(instruction)?;
        }
        Ok([self.operand(instruction, first)?, self.operand(instruction, second)?])
    }

    /// Executes the instruction, if it is one on integer lanes.
    pub(super) fn integer_lanes(&mut self, instruction: &Instruction) -> Result<bool, String> {
        let stem = stem(instruction);
        if matches!(stem.as_str(), "pternlogd" | "pternlogq") {
            self.ternary_logic(instruction)?;
            return Ok(true);
        }
        let Some(lanes) = meaning(&stem) else { return Ok(false) };
        let result = match lanes {
            Lanes::Pair(size, apply) => {
                let [a, b] = self.sources(instruction)?;
                each(size, [&a, &a, &b], |_, a, b| apply(a, b))
            }
            Lanes::Accumulate(size, apply) => {
                let [a, b] = self.sources(instruction)?;
                each(size, [&self.operand(instruction, 0)?, &a, &b], apply)
            }
            Lanes::Shift(size, apply) => {
                let last = instruction.op_count() - 1;
                let count = instruction.immediate(last);
                let values = self.operand(instruction, last - 1)?;
                each(size, [&values; 3], |_, value, _| if count < 8 * size as u64 { apply(value, count) } else { 0 })
            }
        };
        self.set_destination(instruction, &result)?;
        Ok(true)
    }

    /// Looks up each bit of the result in the constant by the bits of destination, first and second source.
    fn ternary_logic(&mut self, instruction: &Instruction) -> Result<(), String> {
        let table = instruction.immediate(3);
        let [a, b, c] = [0, 1, 2].map(|operand| self.operand(instruction, operand));
        let look_up = |a: u64, b: u64, c: u64| {
            let bit = |index: u32| {
                let [a, b, c] = [a, b, c].map(|value| value >> index & 1);
                (table >> (a << 2 | b << 1 | c) & 1) << index
            };
            (0..64).map(bit).sum()
        };
        let result = each(8, [&a?, &b?, &c?], look_up);
        self.set_destination(instruction, &result)
    }
}

/// What an instruction of this name does to integer lanes.
fn meaning(stem: &str) -> Option<Lanes> {
    use Lanes::{Accumulate, Pair, Shift};
    Some(match stem {
        "paddb" => Pair(1, u64::wrapping_add),
        "paddw" => Pair(2, u64::wrapping_add),
        "paddd" => Pair(4, u64::wrapping_add),
        "paddq" => Pair(8, u64::wrapping_add),
        // The low half of a product is the same with and without sign.
        "pmullw" => Pair(2, u64::wrapping_mul),
        "pmulld" => Pair(4, u64::wrapping_mul),
        "pmullq" => Pair(8, u64::wrapping_mul),
        "pmuludq" => Pair(8, |a, b| (a & 0xffff_ffff) * (b & 0xffff_ffff)),
        "pand" | "pandd" => Pair(8, |a, b| a & b),
        "por" => Pair(8, |a, b| a | b),
        "pmaddwd" => Pair(4, |a, b| products(a, b, [4, 2], [signed, signed]).cast_unsigned()),
        "pmaddubsw" => Pair(2, |a, b| {
            let sum = products(a, b, [2, 1], [unsigned, signed]);
            sum.clamp(i16::MIN.into(), i16::MAX.into()).cast_unsigned()
        }),
        "pdpwssd" => Accumulate(4, |sum, a, b| add(sum, products(a, b, [4, 2], [signed, signed]))),
        "pdpbusd" => Accumulate(4, |sum, a, b| add(sum, products(a, b, [4, 1], [unsigned, signed]))),
        "pdpbssd" => Accumulate(4, |sum, a, b| add(sum, products(a, b, [4, 1], [signed, signed]))),
        "psrlw" => Shift(2, |value, count| value >> count),
        "psrlq" => Shift(8, |value, count| value >> count),
        "psllq" => Shift(8, |value, count| value << count),
        _ => return None,
    })
}

/// Reads a part of a lane, of some bytes, as a number.
type Reading = fn(u64, usize) -> i64;

/// A number with its sign in the highest bit.
pub(super) fn signed(bits: u64, bytes: usize) -> i64 {
    let unused = 64 - 8 * bytes;
    (bits << unused).cast_signed() >> unused
}

/// A number without sign.
pub(super) fn unsigned(bits: u64, _: usize) -> i64 {
    bits.cast_signed()
}

/// A sum that wraps.
pub(super) fn add(sum: u64, more: i64) -> u64 {
    sum.wrapping_add(more.cast_unsigned())
}

/// The sum of the products of the parts of two lanes; `sizes` are the bytes of a lane and of a part.
pub(super) fn products(a: u64, b: u64, [lane_bytes, part]: [usize; 2], [read_a, read_b]: [Reading; 2]) -> i64 {
    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
    let parts = a[..lane_bytes].chunks(part).zip(b[..lane_bytes].chunks(part));
    parts.map(|(a, b)| read_a(lane(a), part) * read_b(lane(b), part)).sum()
}

/// Applies a function to each lane of three vectors of one length; excess bits of a result are dropped.
fn each(size: usize, sources: [&Vec<u8>; 3], apply: impl Fn(u64, u64, u64) -> u64) -> Vec<u8> {
    let [a, b, c] = sources.map(|source| source.chunks(size).map(lane));
    a.zip(b).zip(c).flat_map(|((a, b), c)| apply(a, b, c).to_le_bytes().into_iter().take(size)).collect()
}
