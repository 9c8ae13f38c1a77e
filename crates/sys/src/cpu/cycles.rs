//! The calling thread's hardware cycle counter, which many virtual machines lack. It is preferred to the clock chains.

use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;

/// `PERF_TYPE_HARDWARE` (`linux/perf_event.h`).
const TYPE_HARDWARE: u32 = 0;
/// `PERF_COUNT_HW_CPU_CYCLES` (`linux/perf_event.h`).
const CPU_CYCLES: u64 = 0;
/// Bits `exclude_kernel` and `exclude_hv` of `perf_event_attr`, which a process without privilege must set.
const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 1 << 5 | 1 << 6;
/// `PERF_ATTR_SIZE_VER0`: the first published size of `perf_event_attr`, which every kernel accepts.
const ATTRIBUTE_BYTES: usize = 64;

/// Counts core cycles of the calling thread in user mode.
#[derive(Debug)]
pub struct CycleCounter {
    file: File,
}

impl CycleCounter {
    /// Opens the counter for the calling thread; `None` without a counter or permission.
    pub fn open() -> Option<Self> {
        // The fields of perf_event_attr that are not zero: type, size, config, and the flag bits at byte 40.
        let mut attribute = [0_u64; ATTRIBUTE_BYTES / 8];
        attribute[0] = u64::from(TYPE_HARDWARE) | (ATTRIBUTE_BYTES as u64) << 32;
        attribute[1] = CPU_CYCLES;
        attribute[5] = EXCLUDE_KERNEL_AND_HYPERVISOR;
        let (this_thread, any_cpu, no_group, no_flags) = (0, -1, -1, 0);
        // SAFETY: the attribute is live and as long as it says; the kernel only reads it.
        let descriptor = unsafe {
            libc::syscall(libc::SYS_perf_event_open, attribute.as_ptr(), this_thread, any_cpu, no_group, no_flags)
        };
        let descriptor = i32::try_from(descriptor).ok().filter(|descriptor| *descriptor >= 0)?;
        // SAFETY: a descriptor that the kernel has just returned, owned by nobody else.
        let counter = Self { file: unsafe { File::from_raw_fd(descriptor) } };
        // Some hypervisors offer a counter that never counts.
        let before = counter.read()?;
        let spun = (0..10_000_u64).fold(1_u64, |x, i| std::hint::black_box(x ^ i));
        std::hint::black_box(spun);
        (counter.read()? > before).then_some(counter)
    }

    pub fn read(&self) -> Option<u64> {
        let mut bytes = [0; 8];
        (&self.file).read_exact(&mut bytes).ok()?;
        Some(u64::from_ne_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_counts_or_is_absent() {
        if let Some(counter) = CycleCounter::open() {
            let before = counter.read().unwrap();
            std::hint::black_box((0..100_000_u64).fold(1_u64, |x, i| std::hint::black_box(x ^ i)));
            assert!(counter.read().unwrap() > before);
        } else {
            eprintln!("skipped: this machine offers no cycle counter");
        }
    }
}
