//! Copies without vectors: the string instruction and the byte loop.

use core::arch::naked_asm;

use crate::memory::kernel::Job;

/// Copies a pass by one instruction, which every x86-64 has. Whether microcode makes wide moves of it (the feature
/// ERMS) is for the measurement to show.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn rep_movsb(job: &mut Job) -> u64 {
    naked_asm!(
        "mov r10, rdi",
        "xor eax, eax",
        "mov r9, [r10 + 40]",
        "test r9, r9",
        "jz 3f",
        ".p2align 6",
        "2:",
        "mov rdi, [r10]",
        "mov rsi, [r10 + 8]",
        "mov rcx, [r10 + 32]",
        "shl rcx, 9",
        "rep movsb",
        "add rax, rdi",
        "sub rax, [r10]",
        "dec r9",
        "jnz 2b",
        "3:",
        "ret",
    )
}

/// Copies one byte per iteration, which RCX counts up and R8 counts down.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn byte_loop(job: &mut Job) -> u64 {
    naked_asm!(
        "mov r10, rdi",
        "xor eax, eax",
        "mov rdi, [r10]",
        "mov rsi, [r10 + 8]",
        "mov r8, [r10 + 32]",
        "mov r9, [r10 + 40]",
        "test r8, r8",
        "jz 3f",
        "test r9, r9",
        "jz 3f",
        "shl r8, 9",
        "xor ecx, ecx",
        ".p2align 6",
        "2:",
        "movzx edx, byte ptr [rsi + rcx]",
        "mov byte ptr [rdi + rcx], dl",
        "inc rcx",
        "dec r8",
        "jnz 2b",
        "add rax, rcx",
        "mov r8, rcx",
        "xor ecx, ecx",
        "dec r9",
        "jnz 2b",
        "3:",
        "ret",
    )
}
