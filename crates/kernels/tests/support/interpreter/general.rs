//! Instructions on general registers: moves, extensions, arithmetic, and the zero flag.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use super::machine::{Machine, lane};

impl Machine {
    /// Executes the instruction, if it is one of these.
    pub(super) fn general(&mut self, instruction: &Instruction) -> Result<bool, String> {
        use Mnemonic::{Add, Dec, Imul, Inc, Mov, Movsx, Movzx, Nop, Pop, Push, Sub, Test};
        match instruction.mnemonic() {
            Nop => {}
            Mov | Movzx => self.set_general(instruction, self.value(instruction, 1)?)?,
            Movsx => self.set_general(instruction, self.signed(instruction, 1)?)?,
            Push => self.push(self.whole(instruction)?)?,
            Pop => {
                let value = self.pop()?;
                self.whole(instruction)?;
                self.set_general(instruction, value)?;
            }
            Add => self.arithmetic(instruction, u64::wrapping_add)?,
            Sub => self.arithmetic(instruction, u64::wrapping_sub)?,
            Inc => self.arithmetic(instruction, |a, _| a.wrapping_add(1))?,
            Dec => self.arithmetic(instruction, |a, _| a.wrapping_sub(1))?,
            Test => drop(self.compare(instruction, |a, b| a & b)?),
            Imul => self.multiply(instruction)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The value of a general register, widened without sign.
    pub(super) fn general_register(&self, register: Register) -> Result<u64, String> {
        if !register.is_gpr() || (Register::AH..=Register::BH).contains(&register) {
            return Err(format!("register {register:?} is not modelled"));
        }
        let value = self.general[register.number()];
        Ok(lane(&value.to_le_bytes()[..register.size()]))
    }

    /// An operand widened without sign; immediate ones come with the sign that the instruction gives them.
    fn value(&self, instruction: &Instruction, operand: u32) -> Result<u64, String> {
        match instruction.op_kind(operand) {
            OpKind::Register => self.general_register(instruction.op_register(operand)),
            OpKind::Memory => self.operand(instruction, operand).map(|bytes| lane(&bytes)),
            _ => instruction.try_immediate(operand).map_err(|error| error.to_string()),
        }
    }

    /// An operand widened with its sign.
    fn signed(&self, instruction: &Instruction, operand: u32) -> Result<u64, String> {
        let bits = 8 * self.operand(instruction, operand)?.len();
        let unused = 64 - bits;
        let value = self.value(instruction, operand)?;
        Ok(((value << unused).cast_signed() >> unused).cast_unsigned())
    }

    /// The first operand, which must be a whole register.
    fn whole(&self, instruction: &Instruction) -> Result<u64, String> {
        let register = instruction.op0_register();
        if register.is_gpr64() { self.general_register(register) } else { Err("is not modelled".to_owned()) }
    }

    /// Bytes of the first operand.
    fn size(instruction: &Instruction) -> usize {
        match instruction.op0_kind() {
            OpKind::Memory => instruction.memory_size().size(),
            _ => instruction.op0_register().size(),
        }
    }

    /// Writes the first operand.
    fn set_general(&mut self, instruction: &Instruction, value: u64) -> Result<(), String> {
        let size = Self::size(instruction);
        if instruction.op0_kind() == OpKind::Memory {
            let address = self.address(instruction)?;
            return self.store(address, &value.to_le_bytes()[..size]);
        }
        let register = instruction.op0_register();
        self.general_register(register)?;
        let old = &mut self.general[register.number()];
        let mut bytes = if size == 4 { [0; 8] } else { old.to_le_bytes() };
        bytes[..size].copy_from_slice(&value.to_le_bytes()[..size]);
        *old = u64::from_le_bytes(bytes);
        Ok(())
    }

    /// The first operand becomes `apply` of itself and the second, and the zero flag says whether that is zero.
    fn arithmetic(&mut self, instruction: &Instruction, apply: fn(u64, u64) -> u64) -> Result<(), String> {
        let value = self.compare(instruction, apply)?;
        self.set_general(instruction, value)
    }

    /// `apply` of both operands (the second is 0 where there is one), by which the zero flag is set.
    fn compare(&mut self, instruction: &Instruction, apply: fn(u64, u64) -> u64) -> Result<u64, String> {
        let second = if instruction.op_count() > 1 { self.value(instruction, 1)? } else { 0 };
        let value = apply(self.value(instruction, 0)?, second);
        self.zero = Some(lane(&value.to_le_bytes()[..Self::size(instruction)]) == 0);
        Ok(value)
    }

    /// The low half of a product: of both operands, or of the last two of three. The zero flag is undefined after it.
    fn multiply(&mut self, instruction: &Instruction) -> Result<(), String> {
        let [first, second] = match instruction.op_count() {
            2 => [0, 1],
            3 => [1, 2],
            _ => return Err("the product of full width is not modelled".to_owned()),
        };
        let product = self.value(instruction, first)?.wrapping_mul(self.value(instruction, second)?);
        self.zero = None;
        self.set_general(instruction, product)
    }
}
