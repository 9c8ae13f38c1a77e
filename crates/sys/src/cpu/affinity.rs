//! The CPUs on which a thread may run, and pinning. Masks are as long as the kernel's, for machines beyond 1024 CPUs.

use std::io;

use crate::calls::outcome;

const WORD_BITS: usize = libc::c_ulong::BITS as usize;

/// The largest mask to try, in CPUs; the kernel's own limit is 8192 today.
const MAX_CPUS: usize = 1 << 16;

/// The CPUs on which the calling thread may run, ascending.
pub fn allowed_cpus() -> io::Result<Vec<u32>> {
    let mask = kernel_mask()?;
    let is_set = |cpu: &usize| mask[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1 == 1;
    Ok((0..mask.len() * WORD_BITS).filter(is_set).filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// One more than the highest CPU number in the kernel's masks; 0 if it is unknown.
#[cfg(target_arch = "x86_64")]
pub(super) fn cpu_limit() -> u32 {
    kernel_mask().map_or(0, |mask| u32::try_from(mask.len() * WORD_BITS).unwrap_or(u32::MAX))
}

/// The mask of the calling thread, as long as the kernel's masks are.
fn kernel_mask() -> io::Result<Vec<libc::c_ulong>> {
    let mut words = 1024 / WORD_BITS;
    loop {
        let mut mask: Vec<libc::c_ulong> = vec![0; words];
        // SAFETY: the mask is a live, writable buffer of exactly the length that is passed with it.
        let bytes =
            unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, size_of_val(mask.as_slice()), mask.as_mut_ptr()) };
        match outcome(bytes) {
            Ok(bytes) => {
                mask.truncate(bytes / size_of::<libc::c_ulong>());
                return Ok(mask);
            }
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && words * WORD_BITS < MAX_CPUS => words *= 2,
            Err(error) => return Err(error),
        }
    }
}

/// Pins the calling thread to one CPU. Fails with `EINVAL` for a CPU that is offline or outside the cpuset.
pub fn pin_to(cpu: u32) -> io::Result<()> {
    restrict_to(&[cpu])
}

/// Whether this thread is still pinned to this CPU alone and runs on it: the threads of an offline CPU run anywhere.
pub fn is_pinned_to(cpu: u32) -> bool {
    u32::try_from(rustix::thread::sched_getcpu()) == Ok(cpu) && allowed_cpus().is_ok_and(|allowed| allowed == [cpu])
}

pub fn restrict_to(cpus: &[u32]) -> io::Result<()> {
    let highest = cpus.iter().copied().max().unwrap_or(0) as usize;
    let mut mask: Vec<libc::c_ulong> = vec![0; highest / WORD_BITS + 1];
    for &cpu in cpus {
        mask[cpu as usize / WORD_BITS] |= 1 << (cpu as usize % WORD_BITS);
    }
    // SAFETY: the mask is a live buffer of exactly the length that is passed with it; the kernel only reads it.
    let status = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(mask.as_slice()), mask.as_ptr()) };
    outcome(status).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_may_run_on_that_cpu_alone_and_knows_it() {
        let cpus = allowed_cpus().unwrap();
        let (first, last) = (cpus[0], *cpus.last().unwrap());
        let all = cpus.clone();
        let pinned = std::thread::spawn(move || {
            pin_to(last).unwrap();
            assert!(is_pinned_to(last) && (first == last || !is_pinned_to(first)));
            assert_eq!(allowed_cpus().unwrap(), [last]);
            // As the kernel does if the thread's CPU goes offline.
            restrict_to(&all).unwrap();
            assert_eq!(is_pinned_to(last), all.len() == 1);
        });
        pinned.join().unwrap();
        assert_eq!(allowed_cpus().unwrap(), cpus, "pinning one thread must not move another");
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        assert!(std::thread::spawn(|| pin_to(8000)).join().unwrap().is_err());
    }
}
