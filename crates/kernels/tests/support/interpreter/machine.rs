//! Registers, memory, and the flow of control from a function's first instruction to its return.

use std::collections::BTreeMap;

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::tiles::Tiles;

/// The address of the register file in the model's memory, aligned like the real one.
const FILE: u64 = 0x10_0000;
/// One past the top of the stack.
const STACK_END: u64 = 0x20_0000;
/// Bytes of the stack.
const STACK: usize = 256;
/// The return address, at which there is no instruction.
const CALLER: u64 = 0xdead_0000;
/// Far more instructions than any test asks for.
const MOST_STEPS: u64 = 1_000_000;

/// Numbers of the general registers that the calling convention names.
const RSP: usize = 4;
const RSI: usize = 6;
const RDI: usize = 7;
/// RBX, RSP, RBP and R12-R15 are the caller's (System V's calling convention).
const PRESERVED: [usize; 7] = [3, RSP, 5, 12, 13, 14, 15];

/// Bytes of the widest vector register.
pub(super) const VECTOR: usize = 64;

/// A CPU in the middle of a function.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(super) general: [u64; 16],
    /// The zero flag; `None` where the last instruction left it undefined.
    pub(super) zero: Option<bool>,
    pub(super) vectors: [[u8; VECTOR]; 32],
    pub(super) tiles: Tiles,
    file: Vec<u8>,
    stack: [u8; STACK],
    /// Floating-point operations so far whose result was not exact.
    pub(super) rounded: u64,
}

impl Machine {
    /// A CPU whose memory is this register file, and whose registers hold garbage.
    pub(crate) fn new(file: &[u8]) -> Self {
        let garbage = |index: usize| 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(index as u64 + 1);
        let mut vectors = [[0; VECTOR]; 32];
        for (index, vector) in vectors.iter_mut().enumerate() {
            // The upper halves of the first sixteen are clean, as after every function.
            let dirty = if index < 16 { 16 } else { VECTOR };
            for (word, bytes) in vector[..dirty].as_chunks_mut().0.iter_mut().enumerate() {
                *bytes = garbage(8 * index + word).to_le_bytes();
            }
        }
        Self {
            general: std::array::from_fn(|index| garbage(1000 + index)),
            zero: None,
            vectors,
            tiles: Tiles::default(),
            file: file.to_vec(),
            stack: [0; STACK],
            rounded: 0,
        }
    }

    /// The register file as the last call left it.
    pub(crate) fn file(&self) -> &[u8] {
        &self.file
    }

    /// The number of floating-point operations that were not exact.
    pub(crate) fn rounded(&self) -> u64 {
        self.rounded
    }

    /// Calls the function with the register file and a number of iterations, as the kernels are called.
    ///
    /// # Errors
    /// The instruction that it could not execute, and why; or the promise to the caller that the function broke.
    pub(crate) fn call(&mut self, function: &[Instruction], iterations: u64) -> Result<(), String> {
        let code: BTreeMap<u64, &Instruction> = function.iter().map(|one| (one.ip(), one)).collect();
        (self.general[RDI], self.general[RSI]) = (FILE, iterations);
        self.general[RSP] = STACK_END;
        self.push(CALLER)?;
        let before = self.general;
        let mut next = function.first().ok_or("a function without instructions")?.ip();
        for _ in 0..MOST_STEPS {
            if next == CALLER {
                return self.check_return(&before);
            }
            let instruction = code.get(&next).ok_or_else(|| format!("there is no instruction at {next:#x}"))?;
            next = self.step(instruction).map_err(|why| format!("{instruction}: {why}"))?;
        }
        Err("the function does not end".to_owned())
    }

    /// Executes one instruction and returns the address of the next.
    fn step(&mut self, instruction: &Instruction) -> Result<u64, String> {
        match instruction.flow_control() {
            FlowControl::Next => {
                self.execute(instruction)?;
                Ok(instruction.next_ip())
            }
            FlowControl::Return => self.pop(),
            FlowControl::UnconditionalBranch if instruction.is_jmp_short_or_near() => {
                Ok(instruction.near_branch_target())
            }
            FlowControl::ConditionalBranch => {
                let zero = self.zero.ok_or("the zero flag is undefined here")?;
                let taken = match instruction.mnemonic() {
                    Mnemonic::Je => zero,
                    Mnemonic::Jne => !zero,
                    _ => return Err("this condition is not modelled".to_owned()),
                };
                Ok(if taken { instruction.near_branch_target() } else { instruction.next_ip() })
            }
            _ => Err("this flow of control is not modelled".to_owned()),
        }
    }

    fn execute(&mut self, instruction: &Instruction) -> Result<(), String> {
        let plain = instruction.op_mask() == Register::None
            && !instruction.is_broadcast()
            && !instruction.suppress_all_exceptions()
            && !instruction.has_rep_prefix()
            && !instruction.has_repne_prefix()
            && !instruction.has_lock_prefix();
        if !plain {
            return Err("masks, broadcasts, rounding modes and prefixes are not modelled".to_owned());
        }
        let known = self.general(instruction)?
            || self.move_vector(instruction)?
            || self.integer_lanes(instruction)?
            || self.float_lanes(instruction)?
            || self.tile(instruction)?;
        if known { Ok(()) } else { Err("this instruction is not modelled".to_owned()) }
    }

    /// Checks the function's promises at its return.
    fn check_return(&self, before: &[u64; 16]) -> Result<(), String> {
        let changed = |register: &&usize| {
            let taken_off = if **register == RSP { 8 } else { 0 };
            self.general[**register] != before[**register] + taken_off
        };
        if let Some(register) = PRESERVED.iter().find(changed) {
            return Err(format!("general register {register} is the caller's and was not restored"));
        }
        if self.vectors[..16].iter().any(|vector| vector[16..].iter().any(|byte| *byte != 0)) {
            return Err("upper halves of vector registers are left dirty".to_owned());
        }
        if self.tiles.are_configured() {
            return Err("tiles are not released".to_owned());
        }
        Ok(())
    }

    pub(super) fn push(&mut self, value: u64) -> Result<(), String> {
        self.general[RSP] -= 8;
        self.store(self.general[RSP], &value.to_le_bytes())
    }

    pub(super) fn pop(&mut self) -> Result<u64, String> {
        let bytes = self.load(self.general[RSP], 8)?;
        self.general[RSP] += 8;
        Ok(lane(&bytes))
    }

    /// Loads bytes of memory.
    pub(super) fn load(&self, address: u64, bytes: usize) -> Result<Vec<u8>, String> {
        let place = |start: u64, length: usize| place(start, length, address, bytes);
        if let Some(range) = place(FILE, self.file.len()) {
            return Ok(self.file[range].to_vec());
        }
        let range = place(STACK_END - STACK as u64, STACK).ok_or_else(|| fault(address, bytes))?;
        Ok(self.stack[range].to_vec())
    }

    /// Stores bytes to memory.
    pub(super) fn store(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        if let Some(range) = place(FILE, self.file.len(), address, bytes.len()) {
            self.file[range].copy_from_slice(bytes);
            return Ok(());
        }
        let range = place(STACK_END - STACK as u64, STACK, address, bytes.len());
        self.stack[range.ok_or_else(|| fault(address, bytes.len()))?].copy_from_slice(bytes);
        Ok(())
    }

    /// The address of an instruction's memory operand.
    pub(super) fn address(&self, instruction: &Instruction) -> Result<u64, String> {
        let ours = [Register::None, Register::DS, Register::SS];
        if instruction.is_ip_rel_memory_operand() || !ours.contains(&instruction.memory_segment()) {
            return Err("memory other than the register file and the stack is not modelled".to_owned());
        }
        let index = self.address_part(instruction.memory_index())?;
        let scaled = index.wrapping_mul(u64::from(instruction.memory_index_scale()));
        let base = self.address_part(instruction.memory_base())?;
        Ok(base.wrapping_add(scaled).wrapping_add(instruction.memory_displacement64()))
    }

    /// The value of a register that is part of an address.
    pub(super) fn address_part(&self, register: Register) -> Result<u64, String> {
        match register {
            Register::None => Ok(0),
            register if register.is_gpr64() => Ok(self.general[register.number()]),
            _ => Err("addresses of other than 64 bits are not modelled".to_owned()),
        }
    }

    /// The bytes of an operand: all of a register, or what the instruction reads of memory.
    pub(super) fn operand(&self, instruction: &Instruction, operand: u32) -> Result<Vec<u8>, String> {
        match instruction.op_kind(operand) {
            OpKind::Register => {
                let register = instruction.op_register(operand);
                if register.is_vector_register() {
                    Ok(self.vectors[register.number()][..register.size()].to_vec())
                } else {
                    let value = self.general_register(register)?;
                    Ok(value.to_le_bytes()[..register.size()].to_vec())
                }
            }
            OpKind::Memory => self.load(self.address(instruction)?, instruction.memory_size().size()),
            _ => Err("this operand is not modelled".to_owned()),
        }
    }
}

/// The range of an access within a piece of memory, if all of the access is in it.
fn place(start: u64, length: usize, address: u64, bytes: usize) -> Option<std::ops::Range<usize>> {
    let first = usize::try_from(address.checked_sub(start)?).ok()?;
    let end = first.checked_add(bytes)?;
    (end <= length).then_some(first..end)
}

fn fault(address: u64, bytes: usize) -> String {
    let offset = address.cast_signed().wrapping_sub(FILE.cast_signed());
    format!("{bytes} bytes at {offset} from the register file are not the kernel's")
}

/// The bits of a lane of at most eight bytes, widened without sign.
pub(super) fn lane(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
