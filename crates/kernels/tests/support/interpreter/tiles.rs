//! Tiles: configuration, loads and stores, and products. All tiles have sixteen rows of 64 bytes.

use iced_x86::{Instruction, Mnemonic, Register};

use super::floats::{brain, widened};
use super::machine::{Machine, lane};
use super::vectors::{add, products, signed, unsigned};

const TILES: usize = 8;
const ROWS: usize = 16;
const ROW: usize = 64;

type Tile = [[u8; ROW]; ROWS];

/// The tile registers; none before they are configured.
#[derive(Debug, Default)]
pub(super) struct Tiles(Vec<Tile>);

impl Tiles {
    pub(super) fn are_configured(&self) -> bool {
        !self.0.is_empty()
    }

    /// Takes a configuration of whole tiles, and clears them.
    fn configure(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut whole = [0; 64];
        whole[0] = 1;
        for tile in 0..TILES {
            (whole[16 + 2 * tile], whole[48 + tile]) = (64, 16);
        }
        if bytes != whole {
            return Err("a configuration other than of whole tiles of palette 1 is not modelled".to_owned());
        }
        self.0 = vec![[[0; ROW]; ROWS]; TILES];
        Ok(())
    }

    fn get(&mut self, register: Register) -> Result<&mut Tile, String> {
        self.0.get_mut(register.number()).ok_or_else(|| "tiles are not configured".to_owned())
    }
}

impl Machine {
    /// Executes the instruction, if it is one on tiles.
    pub(super) fn tile(&mut self, instruction: &Instruction) -> Result<bool, String> {
        match instruction.mnemonic() {
            Mnemonic::Ldtilecfg => {
                let bytes = self.load(self.address(instruction)?, 64)?;
                self.tiles.configure(&bytes)?;
            }
            Mnemonic::Tilerelease => self.tiles = Tiles::default(),
            Mnemonic::Tileloadd => {
                let mut loaded = [[0; ROW]; ROWS];
                for (row, address) in loaded.iter_mut().zip(self.row_addresses(instruction)?) {
                    row.copy_from_slice(&self.load(address, ROW)?);
                }
                *self.tiles.get(instruction.op0_register())? = loaded;
            }
            Mnemonic::Tilestored => {
                let stored = *self.tiles.get(instruction.op1_register())?;
                for (row, address) in stored.iter().zip(self.row_addresses(instruction)?) {
                    self.store(address, row)?;
                }
            }
            Mnemonic::Tdpbusd => self.integer_product(instruction)?,
            Mnemonic::Tdpbf16ps => self.float_product(instruction, brain)?,
            Mnemonic::Tdpfp16ps => self.float_product(instruction, widened)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The addresses of a tile's rows in memory, as far apart as the index register says.
    fn row_addresses(&self, instruction: &Instruction) -> Result<impl Iterator<Item = u64> + use<>, String> {
        let index = self.address_part(instruction.memory_index())?;
        let stride = index.wrapping_mul(u64::from(instruction.memory_index_scale()));
        let first = self.address(instruction)?.wrapping_sub(stride);
        Ok((0..ROWS as u64).map(move |row| first.wrapping_add(row.wrapping_mul(stride))))
    }

    /// Adds to each 32-bit element the products of four bytes of a row of the first source with four of a column of
    /// the second, for every four of the row.
    fn integer_product(&mut self, instruction: &Instruction) -> Result<(), String> {
        self.each_element(instruction, |_, sum, steps| {
            let more = steps.iter().map(|[a, b]| products(lane(a), lane(b), [4, 1], [unsigned, signed])).sum();
            let [a, b, c, d, ..] = add(lane(&sum), more).to_le_bytes();
            [a, b, c, d]
        })
    }

    /// The same with pairs of 16-bit floats: even and odd products have a sum each, and both are added to the element.
    fn float_product(&mut self, instruction: &Instruction, read: fn([u8; 2]) -> f32) -> Result<(), String> {
        self.each_element(instruction, |machine, element, steps| {
            let mut sums = [0.0_f32; 2];
            for [a, b] in steps {
                for (sum, (a, b)) in sums.iter_mut().zip(a.as_chunks::<2>().0.iter().zip(b.as_chunks::<2>().0)) {
                    *sum = machine.flushing_multiply_add(read(*a), read(*b), *sum);
                }
            }
            let both = machine.flushing_multiply_add(sums[0], 1.0, sums[1]);
            machine.flushing_multiply_add(both, 1.0, f32::from_le_bytes(element)).to_le_bytes()
        })
    }

    /// Replaces every element of the destination by `apply` of itself and of the four bytes each of its row and column,
    /// step by step.
    fn each_element(
        &mut self,
        instruction: &Instruction,
        apply: impl Fn(&mut Self, [u8; 4], &[[[u8; 4]; 2]]) -> [u8; 4],
    ) -> Result<(), String> {
        let [target, first, second] = [0, 1, 2].map(|operand| instruction.op_register(operand));
        if target == first || target == second || first == second {
            return Err("the three tiles of a product must be different ones".to_owned());
        }
        let (a, b, mut result) = (*self.tiles.get(first)?, *self.tiles.get(second)?, *self.tiles.get(target)?);
        for (a, elements) in a.iter().zip(&mut result) {
            for (column, element) in elements.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let step = |step: usize| [a.as_chunks::<4>().0[step], b[step].as_chunks::<4>().0[column]];
                let steps: [_; ROWS] = std::array::from_fn(step);
                *element = apply(self, *element, &steps);
            }
        }
        *self.tiles.get(target)? = result;
        Ok(())
    }
}
