//! How many vector instructions a core of Arm starts per cycle.

/// Vector instructions that start per cycle, by mnemonic: `fmla 2, fmla.fp64 1`; `1|2` where parts of one number differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Vectors {
    pub(crate) neon: &'static str,
    pub(crate) sve: &'static str,
    /// Bits of a scalable vector; 0 without SVE.
    pub(crate) sve_bits: u32,
    pub(crate) source: &'static str,
}

impl Vectors {
    /// The count for an element type, else for all; two where parts of one number differ.
    pub(crate) fn per_cycle(&self, mnemonic: &str, element: &str, is_scalable: bool) -> Vec<f64> {
        let counts = if is_scalable { self.sve } else { self.neon };
        let own = format!("{mnemonic}.{element}");
        let find = |key: &str| counts.split(", ").find_map(|count| count.strip_prefix(key)?.strip_prefix(' '));
        let found = find(&own).or_else(|| find(mnemonic)).unwrap_or_default();
        found.split('|').filter_map(|count| count.parse().ok()).collect()
    }
}
