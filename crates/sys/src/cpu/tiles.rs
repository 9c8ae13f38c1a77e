//! Permission to use AMX tiles: 8 KiB of state per thread, which Linux disables (SIGILL) until a process requests it.

/// Requests permission for this process and all its threads to use tiles; a repeated request does no harm.
#[cfg(target_arch = "x86_64")]
pub fn permit() -> Result<(), String> {
    /// `ARCH_REQ_XCOMP_PERM` of Linux's `asm/prctl.h`.
    const REQUEST_PERMISSION: libc::c_ulong = 0x1023;
    /// `XFEATURE_XTILEDATA`: bit 18 of XCR0 (Intel SDM, volume 1, section 13.1).
    const TILE_DATA: libc::c_ulong = 18;
    // SAFETY: this `arch_prctl` takes two integers, touches no memory, and changes what state the kernel keeps for threads.
    let status = unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) };
    if status == 0 {
        return Ok(());
    }
    Err(refused(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)))
}

/// Always fails: there are no tiles here.
#[cfg(not(target_arch = "x86_64"))]
pub fn permit() -> Result<(), String> {
    Err("AMX tiles are not permitted: only x86-64 under Linux has them".to_owned())
}

/// The meaning of an error of the request (`fpu_xstate_prctl` in Linux's `arch/x86/kernel/fpu/xstate.c`).
#[cfg(target_arch = "x86_64")]
fn refused(error: i32) -> String {
    let why = match error {
        libc::EINVAL | libc::ENOSYS | libc::EPERM => {
            "the operating system does not know the request (Linux before 5.16, or a filter of system calls); use a newer \
             kernel, or allow arch_prctl in the container's seccomp profile"
        }
        libc::EOPNOTSUPP => {
            "the kernel finds no tile state: the CPU, the hypervisor or the kernel's command line lacks it; choose another \
             CPU, or let the hypervisor pass amx_tile through"
        }
        libc::ENOSPC => {
            "the operating system finds a signal stack of this process too small for them; start it without a preloaded \
             library that sets one"
        }
        other => &format!("the operating system says: {}", std::io::Error::from_raw_os_error(other)),
    };
    format!("AMX tiles are not permitted: {why}")
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use super::*;

    /// Whether XCR0 has both bits of tile state, configuration and data.
    fn enabled() -> bool {
        crate::cpu::cpuid::xcr0().is_some_and(|xcr0| xcr0 >> 17 & 3 == 3)
    }

    #[test]
    fn tiles_are_permitted_exactly_where_the_system_has_enabled_them() {
        let answer = permit();
        assert_eq!(answer.is_ok(), enabled(), "{answer:?}");
        assert_eq!(permit(), answer, "a repeated request changes nothing");
        if let Err(refusal) = answer {
            assert!(["hypervisor", "operating system"].iter().any(|party| refusal.contains(party)), "{refusal}");
        }
    }

    #[test]
    fn every_refusal_has_its_cause_and_fix() {
        for (error, says) in [
            (libc::EINVAL, "newer kernel"),
            (libc::ENOSYS, "seccomp"),
            (libc::EPERM, "operating system"),
            (libc::EOPNOTSUPP, "hypervisor"),
            (libc::ENOSPC, "signal stack"),
            (libc::EBUSY, "busy"),
        ] {
            assert!(refused(error).contains(says), "{}", refused(error));
        }
    }
}
