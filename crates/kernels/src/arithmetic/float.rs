//! The floating-point formats of kernels.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Float {
    /// IEEE binary64.
    Fp64,
    /// IEEE binary32.
    Fp32,
    /// IEEE binary16.
    Fp16,
    /// The upper half of a binary32.
    Bf16,
}

impl Float {
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::Fp64 => 8,
            Self::Fp32 => 4,
            Self::Fp16 | Self::Bf16 => 2,
        }
    }

    /// Bits of a factor, so that a product of two fits the significand (53, 24, 11 bits) with room for a sum: up to 4
    /// for fp64 and fp32, up to 8 for fp16. Bf16 is multiplied into fp32, and fills its 8 bits.
    pub(crate) const fn factor_bits(self) -> u32 {
        match self {
            Self::Fp64 => 26,
            Self::Fp32 => 12,
            Self::Fp16 => 5,
            Self::Bf16 => 8,
        }
    }

    /// The limit of products of two factors, in units: 2 in value; or 4 where 2 would leave few to draw from.
    pub(crate) const fn product_end(self) -> u64 {
        let top = 1 << (self.factor_bits() - 1);
        if matches!(self, Self::Fp16) { 4 * top * top } else { 2 * top * top }
    }

    /// The bits of a value that the format holds exactly, as a normal number or zero.
    pub(crate) const fn encode(self, value: f64) -> u64 {
        /// From binary64's bias to binary16's.
        const BIAS: u64 = 1023 - 15;
        match self {
            Self::Fp64 => value.to_bits(),
            Self::Fp32 => exact_f32(value).to_bits() as u64,
            Self::Bf16 => (exact_f32(value).to_bits() >> 16) as u64,
            Self::Fp16 if value == 0.0 => 0,
            Self::Fp16 => {
                let bits = value.to_bits();
                (bits >> 63) << 15 | ((bits << 1 >> 53) - BIAS) << 10 | bits << 12 >> 54
            }
        }
    }

    /// The value of the bits of a normal number or zero.
    pub(crate) fn decode(self, bits: u64) -> f64 {
        match self {
            Self::Fp64 => f64::from_bits(bits),
            Self::Fp32 => f32::from_bits(low_half(bits)).into(),
            Self::Bf16 => f32::from_bits(low_half(bits) << 16).into(),
            Self::Fp16 => {
                // The upper half of a binary32 with a shifted exponent and the wrong bias: a multiplication by 2^112,
                // the difference of the biases 127 and 15, corrects both.
                let magnitude = f32::from_bits((low_half(bits) & 0x7fff) << 13);
                let value = f64::from(magnitude) * (1_u128 << 112) as f64;
                if bits & 0x8000 == 0 { value } else { -value }
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the caller's value has no more than 24 significant bits")]
const fn exact_f32(value: f64) -> f32 {
    value as f32
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
const fn low_half(value: u64) -> u32 {
    value as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_of_every_format_round_trip() {
        // One and a half, and the largest number of binary16: IEEE 754, table 3.5.
        let known = [
            (Float::Fp16, -1.5, 0xbe00),
            (Float::Fp16, 65504.0, 0x7bff),
            (Float::Fp16, 1.0 / 256.0, 0x1c00),
            (Float::Bf16, -1.5, 0xbfc0),
            (Float::Fp32, -1.5, 0xbfc0_0000),
            (Float::Fp64, -1.5, 0xbff8_0000_0000_0000),
        ];
        for (float, value, bits) in known {
            assert_eq!(float.encode(value), bits, "{float:?} {value}");
            assert_eq!(float.decode(bits).to_bits(), value.to_bits(), "{float:?} {value}");
            assert_eq!((float.encode(0.0), float.decode(0)), (0, 0.0));
        }
    }
}
