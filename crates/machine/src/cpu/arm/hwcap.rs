//! What the kernel allows processes on Arm to use: its names in `/proc/cpuinfo`, else the bits that it passes to a process
//! (`/proc/self/auxv`), and the length of a scalable vector.

use crate::cpu::features::{Features, sets};
use crate::sysroot::{Sysroot, label};

const AUXV: &str = "proc/self/auxv";
const SVE_BYTES: &str = "proc/sys/abi/sve_default_vector_length";
/// Keys of the auxiliary vector (Linux, `include/uapi/linux/auxvec.h`).
const PAGE_SIZE: u64 = 6;
const HWCAP: u64 = 16;
const HWCAP2: u64 = 26;

/// Features that kernels need or that describe a machine, with their bits (Linux, `arch/arm64/include/uapi/asm/hwcap.h`).
const FEATURES: &[(&str, u64, u32)] = &[
    ("fp", HWCAP, 0),
    ("asimd", HWCAP, 1),
    ("atomics", HWCAP, 8),
    ("fphp", HWCAP, 9),
    ("asimdhp", HWCAP, 10),
    ("asimdrdm", HWCAP, 12),
    ("lrcpc", HWCAP, 15),
    ("dcpop", HWCAP, 16),
    ("asimddp", HWCAP, 20),
    ("sve", HWCAP, 22),
    ("asimdfhm", HWCAP, 23),
    ("uscat", HWCAP, 25),
    ("sve2", HWCAP2, 1),
    ("svei8mm", HWCAP2, 9),
    ("svebf16", HWCAP2, 12),
    ("i8mm", HWCAP2, 13),
    ("bf16", HWCAP2, 14),
    ("sme", HWCAP2, 23),
    ("smef64f64", HWCAP2, 25),
    ("sme2", HWCAP2, 37),
];

/// The features that `/proc/cpuinfo` lists; `None` for the names of 32-bit processes, which have other instructions.
pub(crate) fn from_words(words: &str, source: &str) -> Option<Features> {
    let words: Vec<&str> = words.split_whitespace().collect();
    words.contains(&"asimd").then(|| features(|name, _, _| words.contains(&name), source.to_owned()))
}

/// The features that the kernel passed to the process.
pub(crate) fn from_process(root: &Sysroot) -> Option<Features> {
    let vector = auxiliary(&root.bytes(AUXV)?)?;
    let word = |key: u64| vector.iter().find(|(of, _)| *of == key).map_or(0, |(_, value)| *value);
    let found = features(|_, key, bit| word(key) >> bit & 1 == 1, label(AUXV));
    (!found.names.is_empty()).then_some(found)
}

fn features(has: impl Fn(&str, u64, u32) -> bool, source: String) -> Features {
    let present = FEATURES.iter().filter(|(name, key, bit)| has(name, *key, *bit));
    let names: Vec<String> = present.map(|(name, ..)| (*name).to_owned()).collect();
    Features { isa: sets(&names), names, source, ..Features::default() }
}

/// Bits of a scalable vector in a new process, with the source. The kernel lowers it to what the cores have.
pub(crate) fn vector_bits(root: &Sysroot) -> Option<(u32, String)> {
    root.number::<u32>(SVE_BYTES).and_then(|bytes| Some((bytes.checked_mul(8)?, label(SVE_BYTES))))
}

/// The kernel's base page, B, with the source.
pub(crate) fn page_bytes(root: &Sysroot) -> Option<(u64, String)> {
    let vector = auxiliary(&root.bytes(AUXV)?)?;
    let (_, bytes) = vector.into_iter().find(|(key, bytes)| *key == PAGE_SIZE && bytes.is_power_of_two())?;
    Some((bytes, label(AUXV)))
}

/// Keys and values of a 64-bit process, up to the key that ends the vector; `None` if it is none.
fn auxiliary(bytes: &[u8]) -> Option<Vec<(u64, u64)>> {
    /// Linux defines no higher one.
    const HIGHEST_KEY: u64 = 63;
    let words =
        bytes.chunks_exact(8).map(|word| word.try_into().map(u64::from_le_bytes)).collect::<Result<Vec<_>, _>>();
    let pairs: Vec<(u64, u64)> = words.ok()?.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let end = pairs.iter().position(|(key, _)| *key == 0)?;
    let vector = pairs.get(..end)?.to_vec();
    vector.iter().all(|(key, _)| *key <= HIGHEST_KEY).then_some(vector)
}

#[cfg(test)]
mod tests {
    use model::isa::Isa;

    use super::*;
    use crate::fixture::Fixture;

    fn vector(pairs: &[(u64, u64)]) -> Vec<u8> {
        pairs.iter().flat_map(|(key, value)| [*key, *value]).flat_map(u64::to_le_bytes).collect()
    }

    #[test]
    fn words_and_bits_of_one_processor_agree() {
        let words = from_words("fp asimd evtstrm fphp asimdhp asimddp sve i8mm bf16 svei8mm", "w").unwrap();
        let bits =
            [(HWCAP, 1 << 0 | 1 << 1 | 1 << 9 | 1 << 10 | 1 << 20 | 1 << 22), (HWCAP2, 1 << 13 | 1 << 14 | 1 << 9)];
        let pages = [(PAGE_SIZE, 65_536), (0, 0)];
        let fixture = Fixture::new("hwcap").bytes(AUXV, &vector(&[&bits[..], &pages].concat()));
        let passed = from_process(&fixture.root()).unwrap();
        assert_eq!((&passed.names, &passed.isa), (&words.names, &words.isa));
        let sets = [Isa::Scalar, Isa::Neon, Isa::NeonFp16, Isa::NeonDotprod, Isa::NeonI8mm, Isa::NeonBf16, Isa::Sve];
        assert_eq!(words.isa, sets);
        assert_eq!(page_bytes(&fixture.root()).map(|(bytes, _)| bytes), Some(65_536));
    }

    #[test]
    fn names_of_32_bit_processes_and_vectors_of_other_sizes_are_refused() {
        assert!(from_words("half thumb fastmult vfp edsp neon vfpv3 tls vfpv4 idiva idivt lpae", "w").is_none());
        assert_eq!(auxiliary(&vector(&[(6, 4096)])), None, "no end");
        let narrow: Vec<u8> = [(6_u32, 4096_u32), (16, 0x3f), (0, 0)]
            .iter()
            .flat_map(|(key, value)| [*key, *value])
            .flat_map(u32::to_le_bytes)
            .collect();
        assert_eq!(auxiliary(&narrow), None);
    }
}
