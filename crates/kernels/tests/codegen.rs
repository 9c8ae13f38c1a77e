//! The machine code of every loop, disassembled, against the work that its row declares.
//!
//! Nothing is executed, so kernels for instruction sets that this host lacks are held to their word as well. The table
//! of arithmetic kernels is printed with `cargo test -p kernels --test codegen -- --nocapture`.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[path = "support/machine_code.rs"]
mod machine_code;

use iced_x86::{Decoder, DecoderOptions, FlowControl, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};
use kernels::chain::{CHAINS, Chain};
use kernels::chase::Cycle;
use kernels::memory::{MEMORY_KERNELS, MemoryKernel};
use kernels::table::{KERNELS, Kernel};
use machine_code::{Code, TableRow, check, check_paced, name, touches_memory};
use model::isa::{CpuOp, Element, MemoryOp};

/// The bytes of the function at `start`, up to its first return.
fn bytes(start: *const u8) -> &'static [u8] {
    /// The longest instruction that the architecture allows.
    const LONGEST: usize = 15;
    let mut length = 0;
    loop {
        // SAFETY: this is at an instruction of a function in this program, and the code is followed by more than
        // fifteen bytes of the same segment.
        let rest = unsafe { std::slice::from_raw_parts(start.add(length), LONGEST) };
        let instruction = Decoder::new(64, rest, DecoderOptions::NONE).decode();
        assert!(!instruction.is_invalid(), "no instruction at byte {length}");
        length += instruction.len();
        if instruction.flow_control() == FlowControl::Return {
            // SAFETY: all of it was just read.
            return unsafe { std::slice::from_raw_parts(start, length) };
        }
    }
}

fn code(start: *const u8) -> Code {
    Code::of(bytes(start), start as u64).unwrap_or_else(|wrong| panic!("{wrong}"))
}

#[test]
fn arithmetic_loops_do_the_work_that_they_declare_and_nothing_else() {
    println!("{}", TableRow::heading());
    for kernel in KERNELS {
        println!("{}", check(kernel, bytes(kernel.code()), kernel.code() as u64).unwrap());
    }
}

#[test]
fn paced_loops_do_the_same_work_beside_their_additions() {
    for kernel in KERNELS {
        let Some((start, additions)) = kernel.paced_code() else { continue };
        assert_eq!(check_paced(kernel, bytes(start), start as u64, additions), Ok(()));
        assert!(check_paced(kernel, bytes(kernel.code()), kernel.code() as u64, additions).is_err());
        // More cycles than the work takes where two of its instructions are finished in a cycle.
        let cycles = if kernel.element == Element::Bf16 { 4 } else { 1 } * kernel.steps() * kernel.step.len() as u64;
        assert!(kernel.op == CpuOp::Matrix || 2 * additions > cycles, "{}", kernel.name);
    }
}

#[test]
fn every_loop_of_512_bits_and_of_tiles_has_a_paced_variant() {
    for kernel in KERNELS {
        assert_eq!(kernel.paced_code().is_some(), kernel.vector_bytes() >= 64, "{}", kernel.name);
    }
}

#[test]
fn no_row_is_content_with_the_machine_code_of_another() {
    // C computes `char` and `short` as `int`.
    let as_int = |kernel: &Kernel| {
        kernel.op == CpuOp::Plain && matches!(kernel.element, Element::Int8 | Element::Int16 | Element::Int32)
    };
    for kernel in KERNELS {
        for other in KERNELS.iter().filter(|other| other.name != kernel.name) {
            let outcome = check(kernel, bytes(other.code()), other.code() as u64);
            let is_same = as_int(kernel) && as_int(other);
            assert_eq!(outcome.is_ok(), is_same, "{} as {}: {outcome:?}", other.name, kernel.name);
        }
    }
}

#[test]
fn code_that_is_cut_off_or_out_of_place_is_refused() {
    let kernel = &KERNELS[0];
    let (code, address) = (bytes(kernel.code()), kernel.code() as u64);
    let refused = |code, address| check(kernel, code, address).unwrap_err();
    assert!(refused(&code[..code.len() - 1], address).contains("no return"));
    assert!(refused(code, address + 16).contains("cache line"));
    assert!(refused(&[0xc3], address).contains("one loop"));
    assert!(refused(&[0x06], address).contains("no instruction"));
}

/// Bytes loaded and stored in a loop, with the displacement of every access.
#[derive(Default)]
struct Traffic {
    loads: Vec<(u64, usize)>,
    stores: Vec<(u64, usize)>,
}

fn traffic(code: &Code) -> Traffic {
    let mut factory = InstructionInfoFactory::new();
    let mut traffic = Traffic::default();
    for instruction in &code.body {
        for access in factory.info(instruction).used_memory() {
            let place = (access.displacement(), access.memory_size().size());
            match access.access() {
                OpAccess::Read => traffic.loads.push(place),
                OpAccess::Write => traffic.stores.push(place),
                other => panic!("{instruction}: {other:?}"),
            }
        }
    }
    traffic
}

/// Whether the accesses, in order, cover `bytes` bytes from the pointer on, each once.
fn covers(accesses: &[(u64, usize)], bytes: usize) -> bool {
    let mut next = 0;
    for &(displacement, size) in accesses {
        if displacement != next {
            return false;
        }
        next += size as u64;
    }
    next == bytes as u64
}

#[test]
fn memory_loops_move_each_byte_that_they_declare_once() {
    for kernel in MEMORY_KERNELS {
        let code = code(kernel.code());
        let traffic = traffic(&code);
        assert!(covers(&traffic.loads, kernel.bytes_read()), "{}: {:?}", kernel.name, traffic.loads);
        assert!(covers(&traffic.stores, kernel.bytes_written()), "{}: {:?}", kernel.name, traffic.stores);
        let sizes = traffic.loads.iter().chain(&traffic.stores).map(|access| access.1);
        assert!(sizes.into_iter().all(|size| size == kernel.vector_bytes), "{}", kernel.name);
        check_mnemonics(kernel, &code);
        code.end().unwrap();
    }
}

/// Loads and stores are by the instructions declared, and non-temporal ones end in a store fence.
fn check_mnemonics(kernel: &MemoryKernel, code: &Code) {
    for instruction in code.body.iter().filter(|instruction| touches_memory(instruction)) {
        let stores = instruction.op0_kind() == OpKind::Memory;
        let declared = if stores { kernel.store } else { kernel.load };
        assert_eq!(Some(name(instruction).as_str()), declared, "{}: {instruction}", kernel.name);
    }
    let non_temporal = matches!(kernel.op, MemoryOp::WriteNt | MemoryOp::CopyNt);
    assert_eq!(kernel.store.is_some_and(|store| store.contains("movnt")), non_temporal, "{}", kernel.name);
    let fences = code.all.iter().filter(|instruction| instruction.mnemonic() == Mnemonic::Sfence).count();
    assert_eq!(fences, usize::from(non_temporal), "{}", kernel.name);
}

#[test]
fn chains_are_of_one_instruction_on_two_different_registers() {
    for chain in CHAINS {
        let code = code(chain.code());
        assert_eq!(code.work().len() as u64, Chain::LENGTH, "{}", chain.name);
        for instruction in code.work() {
            assert_eq!(name(instruction), chain.instruction);
            let (to, from) = (instruction.op0_register(), instruction.op1_register());
            assert!(to == Register::RAX && from == Register::RSI && instruction.op_count() == 2, "{instruction}");
        }
    }
}

#[test]
fn the_chase_is_dependent_loads_and_nothing_else() {
    let code = code(Cycle::code());
    assert_eq!(code.work().len() as u64, Cycle::LOADS_PER_ROUND);
    for instruction in code.work() {
        assert_eq!(instruction.mnemonic(), Mnemonic::Mov);
        assert!(touches_memory(instruction) && instruction.memory_displacement64() == 0, "{instruction}");
        let (to, base, index) = (instruction.op0_register(), instruction.memory_base(), instruction.memory_index());
        assert_eq!((to, base, index), (Register::RAX, Register::RAX, Register::None), "{instruction}");
    }
}
