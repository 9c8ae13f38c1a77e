//! Which CPUs a thread may run on, and pinning it to one.
//!
//! Masks are sized to the kernel's answer, so machines beyond 1024 CPUs work too. Choosing CPUs is the caller's
//! business.

use std::io;

/// Bits in one word of a CPU mask.
const WORD_BITS: usize = libc::c_ulong::BITS as usize;

/// The largest mask tried, in CPUs: the kernel's own limit is 8192 today.
const MAX_CPUS: usize = 1 << 16;

/// The CPUs that the calling thread may run on, ascending.
///
/// # Errors
/// What the kernel said.
pub fn allowed_cpus() -> io::Result<Vec<u32>> {
    let mut words = 1024 / WORD_BITS;
    loop {
        let mut mask: Vec<libc::c_ulong> = vec![0; words];
        // SAFETY: the mask is a live, writable buffer of exactly the length that is passed with it.
        let bytes =
            unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, size_of_val(mask.as_slice()), mask.as_mut_ptr()) };
        if bytes >= 0 {
            let is_set = |cpu: &usize| mask[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1 == 1;
            return Ok((0..words * WORD_BITS).filter(is_set).filter_map(|cpu| u32::try_from(cpu).ok()).collect());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINVAL) || words * WORD_BITS >= MAX_CPUS {
            return Err(error);
        }
        words *= 2;
    }
}

/// Pins the calling thread to one CPU.
///
/// # Errors
/// What the kernel said, such as `EINVAL` for a CPU that is offline or outside the cpuset.
pub fn pin_to(cpu: u32) -> io::Result<()> {
    restrict_to(&[cpu])
}

/// Whether the calling thread is still pinned to this CPU alone, and runs on it. A CPU that is switched off loses the
/// threads pinned to it for good: they may then run anywhere.
pub fn is_pinned_to(cpu: u32) -> bool {
    // SAFETY: takes no argument and touches no memory of ours.
    let here = unsafe { libc::sched_getcpu() };
    u32::try_from(here) == Ok(cpu) && allowed_cpus().is_ok_and(|allowed| allowed == [cpu])
}

/// Restricts the calling thread to these CPUs.
///
/// # Errors
/// What the kernel said.
pub fn restrict_to(cpus: &[u32]) -> io::Result<()> {
    let highest = cpus.iter().copied().max().unwrap_or(0) as usize;
    let mut mask: Vec<libc::c_ulong> = vec![0; highest / WORD_BITS + 1];
    for &cpu in cpus {
        mask[cpu as usize / WORD_BITS] |= 1 << (cpu as usize % WORD_BITS);
    }
    // SAFETY: the mask is a live buffer of exactly the length that is passed with it; the kernel only reads it.
    let status = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(mask.as_slice()), mask.as_ptr()) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_may_run_on_that_cpu_alone() {
        let cpus = allowed_cpus().unwrap();
        let last = *cpus.last().unwrap();
        let seen = std::thread::spawn(move || pin_to(last).and_then(|()| allowed_cpus())).join().unwrap().unwrap();
        assert_eq!(seen, [last]);
        assert_eq!(allowed_cpus().unwrap(), cpus, "pinning one thread must not move another");
    }

    #[test]
    fn a_thread_knows_whether_it_is_still_where_it_was_pinned() {
        let cpus = allowed_cpus().unwrap();
        let (first, last) = (cpus[0], *cpus.last().unwrap());
        let seen = std::thread::spawn(move || {
            pin_to(last).unwrap();
            let pinned = is_pinned_to(last);
            // As the kernel does to a thread whose CPU is switched off.
            restrict_to(&cpus).unwrap();
            (pinned, is_pinned_to(last), cpus.len())
        });
        let (pinned, after, allowed) = seen.join().unwrap();
        assert!(pinned);
        assert_eq!(after, allowed == 1);
        if first != last {
            assert!(!std::thread::spawn(move || pin_to(first).map(|()| is_pinned_to(last))).join().unwrap().unwrap());
        }
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        assert!(std::thread::spawn(|| pin_to(8000)).join().unwrap().is_err());
    }
}
