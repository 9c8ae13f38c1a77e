//! One 512-bit unit or two: by the part's name (Skylake-SP, Cascade and Cooper Lake), by model and CPUID (Zen 5).

use crate::cpu::uarch::{Uarch, Wide};

#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    pub(crate) brand: String,
    pub(crate) signature: (u32, u32),
    /// CPUID 0x8000001A EAX on a bare machine; a hypervisor masks it.
    pub(crate) datapath_bits: Option<u32>,
    /// Bits of a scalable vector in a process.
    pub(crate) vector_bits: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Units {
    pub(crate) value: Option<f64>,
    pub(crate) candidates: Vec<f64>,
    pub(crate) why: String,
    pub(crate) vector_bits: Option<u32>,
}

impl Units {
    pub(crate) fn of_part(uarch: &Uarch, part: &Part) -> Self {
        match uarch.wide.0 {
            Wide::No => Self { vector_bits: part.vector_bits, ..Self::default() },
            Wide::Units(units) => Self::known(units, "in all parts"),
            Wide::BySku => Self::by_name(&part.brand),
            Wide::ByDatapath => Self::by_datapath(part),
        }
    }

    fn known(units: f64, why: &str) -> Self {
        Self { value: Some(units), candidates: Vec::new(), why: why.to_owned(), vector_bits: None }
    }

    fn open(why: &str) -> Self {
        Self { value: None, candidates: vec![1.0, 2.0], why: why.to_owned(), vector_bits: None }
    }

    /// The rule of Intel's product pages, collected by `jeffhammond/vpu-count` (24d11ba).
    fn by_name(brand: &str) -> Self {
        const RULE: &str = "units by the part's name, vpu-count 24d11ba";
        let digits_after = |word: &str| -> Option<String> {
            let (_, after) = brand.split_once(word)?;
            let number: String = after.trim_start().chars().take_while(char::is_ascii_digit).collect();
            (!number.is_empty()).then_some(number)
        };
        let is_core_x = brand.contains("Core") && brand.contains("X-series") || brand.contains("Core(TM) i9");
        if digits_after("Platinum").is_some() || is_core_x {
            return Self::known(2.0, RULE);
        }
        if digits_after("Silver").is_some() || digits_after("Bronze").is_some() {
            return Self::known(1.0, RULE);
        }
        if let Some(gold) = digits_after("Gold") {
            // Of the 5000s only x122 and x222 have both units; all 5300s (Cooper Lake) do.
            let both = gold.starts_with('6') || gold.starts_with("53") || gold == "5122" || gold == "5222";
            return Self::known(if both { 2.0 } else { 1.0 }, RULE);
        }
        if let Some(workstation) = digits_after("W-") {
            return Self::known(if workstation == "2102" || workstation == "2104" { 1.0 } else { 2.0 }, RULE);
        }
        if digits_after("D-").is_some_and(|number| number.starts_with("21")) {
            return Self::known(1.0, RULE);
        }
        Self::open("by part, and the name does not identify the part")
    }

    /// AMD family 1Ah. Width per model from `InstLatx64` dumps; bit 3 of leaf 0x8000001A is FP512, bit 2 FP256.
    fn by_datapath(part: &Part) -> Self {
        const FP256: u32 = 1 << 2;
        const FP512: u32 = 1 << 3;
        let bits = part.datapath_bits.unwrap_or(0);
        match part.signature {
            // Granite Ridge and Strix Halo: firmware can halve the path under an unchanged CPUID.
            (0x1a, 0x40..=0x4f | 0x70..=0x77) => Self {
                value: Some(2.0),
                candidates: vec![1.0, 2.0],
                why: "unless set-up halves the data path, which CPUID does not show".into(),
                vector_bits: None,
            },
            _ if bits & FP512 != 0 => Self::known(2.0, "512-bit data path, leaf 0x8000001A FP512"),
            _ if bits & FP256 != 0 => Self::known(1.0, "256-bit data path, leaf 0x8000001A FP256"),
            (0x1a, 0x00..=0x1f) => Self::known(2.0, "512-bit data path by model"),
            (0x1a, 0x20..=0x2f | 0x60..=0x6f) => Self::known(1.0, "256-bit data path by model"),
            _ => Self::open("by data path, which model and CPUID do not show"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(brand: &str) -> Option<f64> {
        Units::by_name(&format!("Intel(R) {brand} CPU @ 2.30GHz")).value
    }

    #[test]
    fn the_name_of_a_xeon_decides_its_units() {
        let one = ["Xeon(R) Gold 5118", "Xeon(R) Silver 4216", "Xeon(R) W-2104", "Xeon(R) D-2146NT"];
        let two = ["Xeon(R) Gold 6140", "Xeon(R) Platinum 8280", "Xeon(R) Gold 5222", "Core(TM) i9-7980XE"];
        assert_eq!(one.map(named), [Some(1.0); 4]);
        assert_eq!(two.map(named), [Some(2.0); 4]);
        let units = Units::by_name("Intel(R) Xeon(R) Processor @ 2.50GHz");
        assert_eq!((units.value, units.candidates), (None, vec![1.0, 2.0]));
    }

    #[test]
    fn zen5_widths_by_cpuid_and_by_model() {
        let units = |model, datapath_bits| {
            Units::by_datapath(&Part { signature: (0x1a, model), datapath_bits, ..Part::default() })
        };
        assert_eq!(units(0x02, None).value, Some(2.0), "Turin under a hypervisor");
        assert_eq!(units(0x02, Some(0xa)).value, Some(2.0));
        assert_eq!(units(0x24, Some(0x6)).value, Some(1.0), "Strix Point");
        assert_eq!(units(0x44, Some(0xa)).candidates, [1.0, 2.0], "Granite Ridge");
        assert_eq!(units(0x78, None).value, None);
    }
}
