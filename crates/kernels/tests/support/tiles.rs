//! The operating system's permission to use tiles, requested by tests: `kernels` makes no system call.

/// Whether this process may use tiles, after asking; without it the first instruction on tiles is fatal.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) fn permitted() -> bool {
    /// `arch_prctl`, `ARCH_REQ_XCOMP_PERM` and the number of the tile data's state component: Linux,
    /// Documentation/arch/x86/xstate.rst.
    const ARCH_PRCTL: i64 = 158;
    const REQUEST_PERMISSION: u64 = 0x1023;
    const TILE_DATA: u64 = 18;
    let result: i64;
    // SAFETY: a system call that touches no memory of ours; it changes RAX, RCX and R11.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL => result,
            in("rdi") REQUEST_PERMISSION,
            in("rsi") TILE_DATA,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    result == 0
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub(crate) fn permitted() -> bool {
    false
}
