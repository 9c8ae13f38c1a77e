//! Floating-point lanes of 16, 32 and 64 bits: every operation is a multiplication with an addition, and reports whether
//! its result is exact. Kernels never round, so the bits of an inexact result do not matter.

use iced_x86::{Instruction, Mnemonic};

use super::machine::{Machine, lane};
use super::vectors::stem;

/// A type of floating-point numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// 16 bits, IEEE 754 binary16.
    Half,
    Single,
    Double,
}

/// The bits of a result, and whether no rounding was needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rounded {
    pub(super) bits: u64,
    pub(super) exact: bool,
}

/// The operation of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Add,
    Subtract,
    Multiply,
    /// The second operand times the third plus the first.
    MultiplyAdd,
}

impl Format {
    const fn bytes(self) -> usize {
        match self {
            Self::Half => 2,
            Self::Single => 4,
            Self::Double => 8,
        }
    }

    /// The bits of one, of minus one and of minus zero.
    const fn constants(self) -> [u64; 3] {
        match self {
            Self::Half => [0x3c00, 0xbc00, 0x8000],
            Self::Single => [0x3f80_0000, 0xbf80_0000, 0x8000_0000],
            Self::Double => [0x3ff0_0000_0000_0000, 0xbff0_0000_0000_0000, 0x8000_0000_0000_0000],
        }
    }

    /// `a * b + c`, rounded once.
    fn multiply_add(self, a: u64, b: u64, c: u64) -> Rounded {
        match self {
            Self::Half => half(a, b, c),
            Self::Single => {
                let result = single([a, b, c].map(to_single));
                Rounded { bits: result.0.to_bits().into(), exact: result.1 }
            }
            Self::Double => double([a, b, c].map(f64::from_bits)),
        }
    }
}

impl Operation {
    /// The operation of an instruction, its type, and whether it is of the lowest lane alone.
    fn parse(stem: &str) -> Option<(Self, Format, bool)> {
        let (name, suffix) = stem.split_at_checked(stem.len().checked_sub(2)?)?;
        let operation = match name {
            "add" => Self::Add,
            "sub" => Self::Subtract,
            "mul" => Self::Multiply,
            "fmadd231" => Self::MultiplyAdd,
            _ => return None,
        };
        let (format, scalar) = match suffix {
            "ph" => (Format::Half, false),
            "ps" => (Format::Single, false),
            "ss" => (Format::Single, true),
            "pd" => (Format::Double, false),
            "sd" => (Format::Double, true),
            _ => return None,
        };
        Some((operation, format, scalar))
    }

    fn apply(self, format: Format, [a, b, c]: [u64; 3]) -> Rounded {
        let [one, minus_one, minus_zero] = format.constants();
        match self {
            Self::Add => format.multiply_add(a, one, b),
            Self::Subtract => format.multiply_add(b, minus_one, a),
            // Minus zero, unlike zero, keeps the sign of every product.
            Self::Multiply => format.multiply_add(a, b, minus_zero),
            Self::MultiplyAdd => format.multiply_add(a, b, c),
        }
    }
}

impl Machine {
    /// Executes the instruction, if it is one on floating-point lanes.
    pub(super) fn float_lanes(&mut self, instruction: &Instruction) -> Result<bool, String> {
        if instruction.mnemonic() == Mnemonic::Vdpbf16ps {
            self.dot_of_brain_floats(instruction)?;
            return Ok(true);
        }
        let Some((operation, format, scalar)) = Operation::parse(&stem(instruction)) else { return Ok(false) };
        let ([a, b], c) = (self.sources(instruction)?, self.operand(instruction, 0)?);
        // Above the lowest lane the destination keeps its bits, or takes the first of two sources'.
        let keeps = u32::from(instruction.op_count() == 3 && operation != Operation::MultiplyAdd);
        let mut result = self.operand(instruction, keeps)?;
        let size = format.bytes();
        let lanes = if scalar { 1 } else { result.len() / size };
        for (index, target) in result.chunks_mut(size).take(lanes).enumerate() {
            let values = [&a, &b, &c].map(|source| lane(&source[index * size..(index + 1) * size]));
            let rounded = operation.apply(format, values);
            self.rounded += u64::from(!rounded.exact);
            target.copy_from_slice(&rounded.bits.to_le_bytes()[..size]);
        }
        self.set_destination(instruction, &result)?;
        Ok(true)
    }

    /// Two products of brain floats and a sum of 32 bits in every lane, the odd product first.
    fn dot_of_brain_floats(&mut self, instruction: &Instruction) -> Result<(), String> {
        let [a, b] = self.sources(instruction)?;
        let mut sums = self.operand(instruction, 0)?;
        for ((sum, a), b) in sums.as_chunks_mut::<4>().0.iter_mut().zip(a.as_chunks::<4>().0).zip(b.as_chunks::<4>().0)
        {
            for part in [2, 0] {
                let [a, b] = [a, b].map(|pair| brain([pair[part], pair[part + 1]]));
                *sum = self.flushing_multiply_add(a, b, f32::from_le_bytes(*sum)).to_le_bytes();
            }
        }
        self.set_destination(instruction, &sums)
    }

    /// `a * b + c` as in the instructions on bf16 and tiles: subnormal operands and results become zero.
    pub(super) fn flushing_multiply_add(&mut self, a: f32, b: f32, c: f32) -> f32 {
        let (result, exact) = single([a, b, c].map(flush));
        let lost = [a, b, c, result].into_iter().any(f32::is_subnormal);
        self.rounded += u64::from(!exact || lost);
        flush(result)
    }
}

fn flush(value: f32) -> f32 {
    if value.is_subnormal() { 0.0_f32.copysign(value) } else { value }
}

/// The value of a bf16: the upper half of an fp32.
pub(super) fn brain([low, high]: [u8; 2]) -> f32 {
    f32::from_le_bytes([0, 0, low, high])
}

/// The value of a binary16 as fp32, which is exact.
pub(super) fn widened(bits: [u8; 2]) -> f32 {
    let (value, _) = half_units(u16::from_le_bytes(bits).into());
    // Eleven bits at most, scaled by a power of two.
    value as f32 / (1 << HALF_FRACTION) as f32
}

#[expect(clippy::cast_possible_truncation, reason = "the lane has 32 bits")]
fn to_single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// The error of `sum` as `a + b` (Knuth's two-sum).
fn lost(a: f64, b: f64, sum: f64) -> f64 {
    let b_part = sum - a;
    (a - (sum - b_part)) + (b - b_part)
}

/// `a * b + c`, and whether it is exact.
fn single([a, b, c]: [f32; 3]) -> (f32, bool) {
    let result = a.mul_add(b, c);
    // A product of two 24-bit numbers is exact in 53 bits.
    let (product, addend) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + addend;
    (result, lost(product, addend, sum) == 0.0 && f64::from(result) - sum == 0.0)
}

/// `a * b + c`, and whether it is exact and the product too.
fn double([a, b, c]: [f64; 3]) -> Rounded {
    let product = a * b;
    let product_lost = a.mul_add(b, -product);
    let exact = product_lost == 0.0 && lost(product, c, product + c) == 0.0;
    Rounded { bits: a.mul_add(b, c).to_bits(), exact }
}

/// Binary digits after the point of the smallest binary16 number.
const HALF_FRACTION: u32 = 24;

/// A binary16 number as a multiple of the smallest one, and whether it is negative.
fn half_units(bits: u64) -> (i128, bool) {
    let (negative, exponent, fraction) = (bits >> 15 & 1 == 1, bits >> 10 & 0x1f, bits & 0x3ff);
    let magnitude = if exponent == 0 { i128::from(fraction) } else { i128::from(fraction | 0x400) << (exponent - 1) };
    (if negative { -magnitude } else { magnitude }, negative)
}

/// `a * b + c` of binary16 numbers, as a multiple of the square of the smallest one.
fn half(a: u64, b: u64, c: u64) -> Rounded {
    let [(a, a_negative), (b, b_negative), (c, c_negative)] = [a, b, c].map(half_units);
    let sum = a * b + (c << HALF_FRACTION);
    let minus = if sum == 0 { a_negative != b_negative && c_negative } else { sum < 0 };
    let magnitude = sum.unsigned_abs();
    // Digits below eleven significant ones, and below the smallest number.
    let dropped = magnitude.checked_ilog2().unwrap_or(0).saturating_sub(10).max(HALF_FRACTION);
    let bits = (magnitude >> dropped) + (u128::from(dropped - HALF_FRACTION) << 10);
    let exact = magnitude & ((1 << dropped) - 1) == 0 && bits < 0x7c00;
    Rounded { bits: u64::from(minus) << 15 | u64::try_from(bits).unwrap_or(0x7c00), exact }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inexact_results_are_marked() {
        let tiny = f32::EPSILON / 2.0;
        assert_eq!(single([1.0, 1.0, tiny]), (1.0, false));
        assert_eq!(single([3.0, 5.0, 1.0]), (16.0, true));
        assert!(!single([1.0 + f32::EPSILON, 1.0 + f32::EPSILON, 0.0]).1);
        assert!(double([3.0, 5.0, 1.0]).exact);
        assert!(!double([1.0, 1.0, f64::EPSILON / 2.0]).exact);
        assert!(!double([1.0 + f64::EPSILON, 1.0 + f64::EPSILON, 0.0]).exact);
        // 1 x 1 + 1; 1 + 1023, which carries into the exponent; 1 + 2048; twice the largest; the smallest squared, and
        // twice; 1 - 1; minus zero.
        let (one, smallest) = (0x3c00, 1);
        for (a, b, c, exact) in [
            (one, one, one, Some(0x4000)),
            (one, one, 0x63fe, Some(0x6400)),
            (one, one, 0x6800, None),
            (0x7bff, 0x4000, 0, None),
            (smallest, smallest, 0, None),
            (smallest, one, smallest, Some(2)),
            (one, 0xbc00, one, Some(0)),
            (0x8000, one, 0x8000, Some(0x8000)),
        ] {
            let found = half(a, b, c);
            assert_eq!(found.exact.then_some(found.bits), exact, "{a:#x} {b:#x} {c:#x}");
        }
    }
}
