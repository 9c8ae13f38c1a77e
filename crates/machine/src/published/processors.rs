//! Published clocks of processors, by the model in their brand string.

use model::isa::Isa;
use model::machine::Machine;

use crate::published::table::{Published, Table};

pub(super) const TABLE: Table = Table::new(include_str!("../../data/processors.tsv"));
pub(super) const VECTORS: Table = Table::new(include_str!("../../data/vector_clocks.tsv"));

/// Published clocks of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedClocks {
    /// Physical cores of one package.
    pub cores: Option<Published>,
    /// Guaranteed clock, Hz.
    pub base_hz: Option<Published>,
    /// Highest clock of all cores together, Hz.
    pub all_core_hz: Option<Published>,
    /// Highest clock of one core, Hz.
    pub boost_hz: Option<Published>,
}

/// The published clocks of a brand string's model; `None` where the model is hidden or not in the table.
pub fn processor_clocks(brand: &str) -> Option<PublishedClocks> {
    let row = TABLE.find(&processor_model(brand)?).pop()?;
    let clock = |column: &str| row.number(column, 1e6);
    Some(PublishedClocks {
        cores: row.number("cores", 1.0),
        base_hz: clock("base_MHz"),
        all_core_hz: clock("all_core_MHz"),
        boost_hz: clock("boost_MHz"),
    })
}

/// Published clocks of a model's cores that multiply and add wide vectors.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VectorClocks {
    /// Guaranteed clock, Hz.
    pub(crate) base_hz: Published,
    /// Highest clock of all cores together, Hz; `None` in a virtual machine, where other cores of the package may idle.
    pub(crate) all_core_hz: Option<Published>,
}

/// The clocks that are published of a machine's model for FMA of one instruction set.
pub(crate) fn vector_clocks(machine: &Machine, isa: Isa) -> Option<VectorClocks> {
    let [base, all_core] = match isa {
        Isa::Avx2 => ["avx2_base_MHz", "avx2_all_core_MHz"],
        Isa::Avx512 => ["avx512_base_MHz", "avx512_all_core_MHz"],
        _ => return None,
    };
    let row = VECTORS.find(&processor_model(machine.cpu.model_name.as_deref()?)?).pop()?;
    let is_virtual = machine.virtualization.is_some() || machine.cpu.hypervisor_bit == Some(true);
    let all_core_hz = row.number(all_core, 1e6).filter(|_| !is_virtual);
    Some(VectorClocks { base_hz: row.number(base, 1e6)?, all_core_hz })
}

/// A brand string's model, such as `XEON PLATINUM 8488C`: the words that distinguish it, in capitals; `None` where it states none.
pub fn processor_model(brand: &str) -> Option<String> {
    let plain = brand.to_ascii_uppercase().replace("(R)", " ").replace("(TM)", " ");
    // The clock, and the graphics alongside.
    let plain = plain.split(['@', '(']).next()?.split(" WITH ").next()?.split(" W/ ").next()?;
    let plain = plain.split(" OEM/TRAY").next()?;
    let generation = |word: &str| word == "GEN" || ["ST", "ND", "RD", "TH"].iter().any(|end| is_number_with(word, end));
    let is_noise = |word: &&str| {
        matches!(*word, "INTEL" | "AMD" | "CPU" | "PROCESSOR" | "EXTREME" | "GHZ" | "0" | "VIRTUAL")
            || generation(word)
            || ["-CORE", "-CORES", "GHZ"].iter().any(|end| is_number_with(word, end))
            || word.starts_with("LGA")
            || word.contains('.')
    };
    let words: Vec<&str> = plain.split_whitespace().filter(|word| !is_noise(word)).collect();
    let words: Vec<&str> = words.iter().flat_map(|word| word.split('-')).filter(|word| !word.is_empty()).collect();
    let digits = |word: &&str| word.chars().filter(char::is_ascii_digit).count() >= 3;
    (words.len() > 1 && words.iter().any(digits)).then(|| words.join(" "))
}

/// Whether a word is a number with this end, such as `96-CORE`.
fn is_number_with(word: &str, end: &str) -> bool {
    word.strip_suffix(end).is_some_and(|number| number.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brand_strings_of_one_model_have_one_name() {
        for (brand, model) in [
            ("Intel(R) Xeon(R) Platinum 8488C", Some("XEON PLATINUM 8488C")),
            ("INTEL(R) XEON(R) PLATINUM 8559C", Some("XEON PLATINUM 8559C")),
            ("Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz", Some("XEON E5 2686 V4")),
            ("Intel(R) Xeon(R) CPU E5-2665 0 @ 2.40GHz", Some("XEON E5 2665")),
            ("Intel(R) Xeon(R) 6975P-C", Some("XEON 6975P C")),
            ("Intel(R) Xeon(R) CPU Max 9480", Some("XEON MAX 9480")),
            ("Intel(R) Xeon(R) Platinum 8480+", Some("XEON PLATINUM 8480+")),
            ("13th Gen Intel(R) Core(TM) i9-13900K", Some("CORE I9 13900K")),
            ("Intel Core i7 5930K", Some("CORE I7 5930K")),
            ("Intel(R) Core(TM) Ultra 9 285K", Some("CORE ULTRA 9 285K")),
            ("AMD EPYC 7R13 Processor", Some("EPYC 7R13")),
            ("AMD EPYC 7R13 48-Core Processor", Some("EPYC 7R13")),
            ("AMD EPYC 9654 96-Core Processor", Some("EPYC 9654")),
            ("AMD Ryzen 7 5700G with Radeon Graphics", Some("RYZEN 7 5700G")),
            ("AMD Ryzen Threadripper PRO 5995WX 64-Cores", Some("RYZEN THREADRIPPER PRO 5995WX")),
            ("Intel Xeon E5 1620 V3 OEM/Tray 3.5 GHz 4-Core LGA2011-3", Some("XEON E5 1620 V3")),
            ("Intel(R) Xeon(R) CPU @ 2.20GHz", None),
            ("Intel(R) Xeon(R) Processor @ 2.60GHz", None),
            ("Intel Xeon Processor (Skylake, IBRS)", None),
            ("AMD EPYC Processor", None),
            ("AMD EPYC-Milan Processor", None),
            ("QEMU Virtual CPU version 2.5+", None),
            ("", None),
        ] {
            assert_eq!(processor_model(brand).as_deref(), model, "{brand}");
        }
    }

    #[test]
    fn a_model_is_found_as_a_whole() {
        let known = processor_clocks("AMD EPYC 9V33X 96-Core Processor").unwrap();
        assert_eq!(known.all_core_hz.map(|clock| clock.value), Some(3.7e9));
        let base = known.base_hz.unwrap();
        assert_eq!((base.value, base.date.as_str()), (2.55e9, "2025-11-24"));
        assert!(base.origin.ends_with("hbv4-series.md"), "{}", base.origin);
        let base = |brand: &str| processor_clocks(brand).and_then(|clocks| Some(clocks.base_hz?.value));
        assert_eq!(base("AMD EPYC 9654 96-Core Processor"), Some(2.4e9));
        assert_eq!(base("AMD EPYC 965"), None);
        assert_ne!(base("Intel(R) Xeon(R) Platinum 8480"), base("Intel(R) Xeon(R) Platinum 8488C").or(Some(0.0)));
    }
}
