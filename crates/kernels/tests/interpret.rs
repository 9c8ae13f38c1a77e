//! The machine code of every kernel, interpreted: also of kernels that no machine at hand can run.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[path = "support/function.rs"]
mod function;
#[path = "support/interpreter/mod.rs"]
mod interpreter;

use function::function;
use iced_x86::{Decoder, DecoderOptions, Instruction};
use interpreter::Machine;
use kernels::features::Features;
use kernels::state::ArithmeticState;
use kernels::table::{KERNELS, Kernel};

/// The state after some interpreted iterations; none of its floating-point operations may round.
fn interpreted(kernel: &'static Kernel, seed: u64, iterations: u64) -> ArithmeticState {
    interpreted_as(kernel, kernel.code(), seed, iterations)
}

/// The same of the function at `code`, which is the kernel's or a variant.
fn interpreted_as(kernel: &'static Kernel, code: *const u8, seed: u64, iterations: u64) -> ArithmeticState {
    let name = kernel.name;
    let mut state = kernel.state(seed);
    let mut machine = Machine::new(state.register_file());
    machine.call(&function(code), iterations).unwrap_or_else(|why| panic!("{name}: {why}"));
    assert_eq!(machine.rounded(), 0, "{name}: the result depends on the order of operations");
    state.register_file().copy_from_slice(machine.file());
    state
}

#[test]
fn every_kernel_does_exactly_its_iterations() {
    for kernel in KERNELS {
        for (seed, iterations) in [(0, 3), (21, 0), (21, 1), (u64::MAX, 2)] {
            let mut state = interpreted(kernel, seed, iterations);
            assert_eq!(state.verify(iterations), Ok(()), "{iterations} iterations");
            for claimed in (0..8).filter(|claimed| *claimed != iterations) {
                assert!(state.verify(claimed).is_err(), "{}: {iterations} pass for {claimed}", kernel.name);
            }
            state.reset();
            assert!(*state.register_file() == *kernel.state(seed).register_file(), "{}: operands changed", kernel.name);
        }
    }
}

#[test]
fn paced_and_spaced_variants_agree_with_their_kernels() {
    let mut found = [false; 2];
    for kernel in KERNELS {
        for (which, variant) in [kernel.paced_code(), kernel.spaced_code()].into_iter().enumerate() {
            let Some((code, _)) = variant else { continue };
            found[which] = true;
            for iterations in [0, 2] {
                let state = interpreted_as(kernel, code, 6, iterations);
                assert_eq!(state.verify(iterations), Ok(()), "{iterations} iterations");
                assert!(state.results() == interpreted(kernel, 6, iterations).results(), "{}", kernel.name);
            }
        }
    }
    assert_eq!(found, [true; 2]);
}

#[test]
fn interpreted_results_agree_with_the_cpu() {
    let features = Features::detect();
    for kernel in KERNELS {
        let Some(bound) = kernel.bind(&features) else {
            println!("{}: interpreted only", kernel.name);
            continue;
        };
        for (seed, iterations) in [(22, 1), (23, 7)] {
            let mut state = bound.seeded(seed);
            bound.run(&mut state, iterations);
            let interpreted = interpreted(kernel, seed, iterations);
            assert!(state.results() == interpreted.results(), "{}: {iterations} iterations", kernel.name);
        }
    }
}

/// The outcome of a function of these bytes, without its return, on a register file of zeros.
fn call(code: &[u8]) -> Result<Machine, String> {
    /// RET.
    const RETURN: u8 = 0xc3;
    let bytes = [code, &[RETURN]].concat();
    let function: Vec<Instruction> = Decoder::with_ip(64, &bytes, 0x1000, DecoderOptions::NONE).into_iter().collect();
    let mut machine = Machine::new(&[0; 256]);
    machine.call(&function, 3).map(|()| machine)
}

#[test]
fn an_unknown_instruction_or_a_broken_promise_is_an_error_that_names_the_instruction() {
    for (code, says) in [
        (&[0x0f, 0xa2][..], "cpuid: this instruction is not modelled"),
        // mov rax, [rdi-8]; mov rax, [rdi+0xfc]
        (&[0x48, 0x8b, 0x47, 0xf8], "8 bytes at -8 from the register file"),
        (&[0x48, 0x8b, 0x87, 0xfc, 0, 0, 0], "8 bytes at 252 from the register file"),
        // movaps xmm0, [rdi+1]
        (&[0x0f, 0x28, 0x47, 0x01], "aligned to 16"),
        // mov rbx, rdi
        (&[0x48, 0x89, 0xfb], "register 3 is the caller's"),
        // push rbx, and no more
        (&[0x53], "no instruction at"),
        // vmovaps ymm0, ymm1; vmovups ymm0, [rdi] of zeros is clean, so ones first: vpternlogd zmm0, zmm0, zmm0, 255
        (&[0x62, 0xf3, 0x7d, 0x48, 0x25, 0xc0, 0xff], "left dirty"),
        // imul rax, rsi; jne to itself
        (&[0x48, 0x0f, 0xaf, 0xc6, 0x75, 0xfe], "zero flag is undefined"),
        // jmp to itself
        (&[0xeb, 0xfe], "does not end"),
        // tdpbusd tmm0, tmm1, tmm2, without a configuration
        (&[0xc4, 0xe2, 0x69, 0x5e, 0xc1], "not configured"),
        // vaddpd zmm0{k1}, zmm0, zmm0
        (&[0x62, 0xf1, 0xfd, 0x49, 0x58, 0xc0], "not modelled"),
    ] {
        let error = call(code).map(|_| ()).unwrap_err();
        assert!(error.contains(says), "{code:x?}: {error}");
    }
}

#[test]
fn a_function_that_keeps_its_promises_returns() {
    // push rbx; mov rbx, rsi; pop rbx; vzeroupper
    call(&[0x53, 0x48, 0x89, 0xf3, 0x5b, 0xc5, 0xf8, 0x77]).unwrap();
    // mov [rdi+8], rsi: the number of iterations
    let machine = call(&[0x48, 0x89, 0x77, 0x08]).unwrap();
    assert_eq!(machine.file()[8..16], 3_u64.to_le_bytes());
}
