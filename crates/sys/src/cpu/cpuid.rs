//! The raw CPUID leaves of every CPU, and the extended state that the operating system enables; none on other architectures.

#[cfg(target_arch = "x86_64")]
use super::affinity;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subleaf {
    pub leaf: u32,
    pub subleaf: u32,
    /// EAX, EBX, ECX, EDX.
    pub registers: [u32; 4],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuLeaves {
    /// The kernel's number.
    pub cpu: u32,
    /// Its leaves, in ascending order.
    pub leaves: Vec<Subleaf>,
}

/// The leaves of every CPU to which this process can be moved, ascending by number.
///
/// A thread runs on each CPU: the caller's affinity stays. Empty if threads cannot be pinned.
#[cfg(target_arch = "x86_64")]
pub fn every_cpu() -> Vec<CpuLeaves> {
    let run_on_each = || {
        let moves = |cpu: &u32| affinity::pin_to(*cpu).is_ok() && affinity::is_pinned_to(*cpu);
        let cpus = (0..affinity::cpu_limit()).filter(moves);
        cpus.map(|cpu| CpuLeaves { cpu, leaves: all_leaves() }).collect()
    };
    let helper = std::thread::Builder::new().name("cpuid".into()).spawn(run_on_each).ok();
    helper.and_then(|helper| helper.join().ok()).unwrap_or_default()
}

/// Empty: there are no leaves here.
#[cfg(not(target_arch = "x86_64"))]
pub fn every_cpu() -> Vec<CpuLeaves> {
    Vec::new()
}

/// XCR0, the register of extended state that the operating system enables; `None` for a CPU without it.
#[cfg(target_arch = "x86_64")]
pub fn xcr0() -> Option<u64> {
    const OSXSAVE: u32 = 1 << 27;
    let enabled = read(1, 0)[2] & OSXSAVE != 0;
    enabled.then(|| {
        let (low, high): (u32, u32);
        // SAFETY: CPUID.1:ECX.OSXSAVE, just checked, means an unprivileged XGETBV with ECX = 0; it only writes EDX:EAX.
        unsafe {
            std::arch::asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags));
        }
        u64::from(high) << 32 | u64::from(low)
    })
}

/// `None`: there is no XCR0 here.
#[cfg(not(target_arch = "x86_64"))]
pub fn xcr0() -> Option<u64> {
    None
}

#[cfg(target_arch = "x86_64")]
pub(crate) fn read(leaf: u32, subleaf: u32) -> [u32; 4] {
    // SAFETY: every x86-64 processor has CPUID, which reads no memory.
    #[allow(unused_unsafe, reason = "the function is unsafe in Rust 1.89")]
    let result = unsafe { std::arch::x86_64::__cpuid_count(leaf, subleaf) };
    [result.eax, result.ebx, result.ecx, result.edx]
}

/// The processor that CPUID describes, equal on all CPUs of a machine: vendor, signature and brand. `None` without CPUID.
#[cfg(target_arch = "x86_64")]
pub fn processor() -> Option<String> {
    const BRAND: std::ops::RangeInclusive<u32> = 0x8000_0002..=0x8000_0004;
    let text = |registers: &[u32]| -> String {
        let bytes: Vec<u8> = registers.iter().flat_map(|register| register.to_le_bytes()).collect();
        String::from_utf8_lossy(&bytes).trim_matches(['\0', ' ']).to_owned()
    };
    let [_, first, third, second] = read(0, 0);
    let brand: Vec<u32> = if read(0x8000_0000, 0)[0] >= *BRAND.end() {
        BRAND.flat_map(|leaf| read(leaf, 0)).collect()
    } else {
        Vec::new()
    };
    Some(format!("{} {:x} {}", text(&[first, second, third]), read(1, 0)[0], text(&brand)).trim_end().to_owned())
}

/// `None`: there is no CPUID here.
#[cfg(not(target_arch = "x86_64"))]
pub fn processor() -> Option<String> {
    None
}

#[cfg(target_arch = "x86_64")]
fn all_leaves() -> Vec<Subleaf> {
    // A longer range is a hypervisor's invention.
    const LONGEST: u32 = 0x200;
    const HYPERVISOR_PRESENT: u32 = 1 << 31;
    let hypervisor = read(1, 0)[2] & HYPERVISOR_PRESENT != 0;
    let mut leaves = Vec::new();
    for base in [0, 0x4000_0000, 0x8000_0000] {
        if base == 0x4000_0000 && !hypervisor {
            continue;
        }
        let last = read(base, 0)[0];
        if last < base || last - base > LONGEST {
            continue;
        }
        for leaf in base..=last {
            subleaves(leaf, &mut leaves);
        }
    }
    leaves
}

/// The subleaves of one leaf, as far as the leaf declares them.
#[cfg(target_arch = "x86_64")]
fn subleaves(leaf: u32, leaves: &mut Vec<Subleaf>) {
    const MOST: u32 = 64;
    let first = read(leaf, 0);
    leaves.push(Subleaf { leaf, subleaf: 0, registers: first });
    for subleaf in 1..MOST {
        let registers = read(leaf, subleaf);
        let goes_on = match leaf {
            0x4 | 0x8000_001d => registers[0] & 0x1f != 0,
            0x7 | 0x14 | 0x17 | 0x18 | 0x1d | 0x20 | 0x23 | 0x24 => subleaf <= first[0],
            0xb | 0x1f | 0x8000_0026 => registers[2] & 0xff00 != 0,
            0xd => true,
            0xf | 0x10 | 0x12 => subleaf <= 3,
            _ => false,
        };
        if !goes_on {
            break;
        }
        if leaf != 0xd || registers != [0; 4] {
            leaves.push(Subleaf { leaf, subleaf, registers });
        }
    }
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_has_its_vendor() {
        let cpus = every_cpu();
        assert!(!cpus.is_empty());
        assert!(cpus.is_sorted_by_key(|leaves| leaves.cpu));
        for leaves in &cpus {
            assert_eq!((leaves.leaves[0].leaf, leaves.leaves[0].subleaf), (0, 0));
            assert_ne!(leaves.leaves[0].registers[1], 0);
        }
    }

    #[test]
    fn reading_does_not_move_the_caller() {
        let allowed = || std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let mask = |status: String| status.lines().find(|line| line.starts_with("Cpus_allowed:")).map(str::to_owned);
        let before = mask(allowed());
        every_cpu();
        assert_eq!(mask(allowed()), before);
    }

    #[test]
    fn the_system_enables_x87_and_sse_state_at_least() {
        if let Some(xcr0) = xcr0() {
            assert_eq!(xcr0 & 3, 3);
        }
    }
}
