//! Tiles: configuration, loads and stores, and products.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use super::floats::{brain, widened};
use super::machine::{Machine, lane};
use super::vectors::{add, products, signed, unsigned};

/// The tiles of palette 1, their rows, and the bytes of a row.
const TILES: usize = 8;
const ROWS: usize = 16;
const ROW: usize = 64;

/// Bytes of a configuration.
const CONFIGURATION: usize = 64;

type Tile = [[u8; ROW]; ROWS];

/// The rows of a tile that are in use, and the bytes of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Shape {
    rows: usize,
    row_bytes: usize,
}

/// The tile registers.
#[derive(Debug, Default)]
pub(super) struct Tiles {
    /// The shape of each; `None` where tiles are not configured.
    shapes: Option<[Shape; TILES]>,
    data: Vec<Tile>,
}

/// The operands of a product: destination and sources.
struct Product {
    target: usize,
    sources: [usize; 2],
    shapes: [Shape; 3],
}

impl Tiles {
    pub(super) fn are_configured(&self) -> bool {
        self.shapes.is_some()
    }

    /// Takes a configuration of palette 1 and clears all tiles.
    fn configure(&mut self, bytes: &[u8]) -> Result<(), String> {
        let [palette, start_row, reserved @ ..] = bytes else { return Err("no configuration".to_owned()) };
        let (reserved, rest) = reserved.split_at(14);
        let (row_bytes, rows) = rest.split_at(2 * ROWS);
        let unused = row_bytes[2 * TILES..].iter().chain(&rows[TILES..]).chain(reserved);
        if *palette != 1 || *start_row != 0 || unused.into_iter().any(|byte| *byte != 0) {
            return Err("a configuration other than of palette 1 from row 0 on is not modelled".to_owned());
        }
        let mut shapes = [Shape::default(); TILES];
        for ((shape, bytes), rows) in shapes.iter_mut().zip(row_bytes.as_chunks::<2>().0).zip(rows) {
            *shape = Shape { rows: (*rows).into(), row_bytes: u16::from_le_bytes(*bytes).into() };
            let used = (1..=ROWS).contains(&shape.rows) && (1..=ROW).contains(&shape.row_bytes);
            if !used && *shape != Shape::default() {
                return Err(format!("there is no tile of this shape: {shape:?}"));
            }
        }
        (self.shapes, self.data) = (Some(shapes), vec![[[0; ROW]; ROWS]; TILES]);
        Ok(())
    }

    fn shape(&self, tile: usize) -> Result<Shape, String> {
        let shapes = self.shapes.ok_or("tiles are not configured")?;
        Some(shapes[tile]).filter(|shape| shape.rows > 0).ok_or_else(|| format!("tile {tile} is not in use"))
    }

    /// The operands of a product, whose shapes must fit.
    fn product(&self, instruction: &Instruction) -> Result<Product, String> {
        let [target, first, second] = [0, 1, 2].map(|operand| instruction.op_register(operand).number());
        if target == first || target == second || first == second {
            return Err("the three tiles of a product must be different ones".to_owned());
        }
        let [c, a, b] = [self.shape(target)?, self.shape(first)?, self.shape(second)?];
        let fits = c.rows == a.rows && c.row_bytes == b.row_bytes && a.row_bytes == 4 * b.rows;
        if !fits || !c.row_bytes.is_multiple_of(4) {
            return Err(format!("tiles of these shapes do not fit one another: {c:?} {a:?} {b:?}"));
        }
        Ok(Product { target, sources: [first, second], shapes: [c, a, b] })
    }
}

impl Machine {
    /// Executes the instruction, if it is one on tiles.
    pub(super) fn tile(&mut self, instruction: &Instruction) -> Result<bool, String> {
        match instruction.mnemonic() {
            Mnemonic::Ldtilecfg => {
                let bytes = self.load(self.address(instruction)?, CONFIGURATION)?;
                self.tiles.configure(&bytes)?;
            }
            Mnemonic::Tilerelease => self.tiles = Tiles::default(),
            Mnemonic::Tileloadd => self.load_tile(instruction)?,
            Mnemonic::Tilestored => self.store_tile(instruction)?,
            Mnemonic::Tdpbusd => self.integer_product(instruction)?,
            Mnemonic::Tdpbf16ps => self.float_product(instruction, brain)?,
            Mnemonic::Tdpfp16ps => self.float_product(instruction, widened)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The addresses of a tile's rows in memory, as far apart as the index register says.
    fn row_addresses(&self, instruction: &Instruction, tile: usize) -> Result<(Vec<u64>, usize), String> {
        let shape = self.tiles.shape(tile)?;
        if instruction.memory_index() == Register::None {
            return Err("rows at a distance of zero are not modelled".to_owned());
        }
        let stride =
            self.address_part(instruction.memory_index())?.wrapping_mul(u64::from(instruction.memory_index_scale()));
        let first = self.address(instruction)?.wrapping_sub(stride);
        let rows = (0..shape.rows as u64).map(|row| first.wrapping_add(row.wrapping_mul(stride)));
        Ok((rows.collect(), shape.row_bytes))
    }

    fn load_tile(&mut self, instruction: &Instruction) -> Result<(), String> {
        let tile = instruction.op0_register().number();
        let (addresses, bytes) = self.row_addresses(instruction, tile)?;
        let mut loaded = [[0; ROW]; ROWS];
        for (row, address) in loaded.iter_mut().zip(addresses) {
            row[..bytes].copy_from_slice(&self.load(address, bytes)?);
        }
        self.tiles.data[tile] = loaded;
        Ok(())
    }

    fn store_tile(&mut self, instruction: &Instruction) -> Result<(), String> {
        if instruction.op0_kind() != OpKind::Memory {
            return Err("a tile is stored to memory".to_owned());
        }
        let tile = instruction.op1_register().number();
        let (addresses, bytes) = self.row_addresses(instruction, tile)?;
        for (row, address) in addresses.into_iter().enumerate() {
            let bytes = self.tiles.data[tile][row][..bytes].to_vec();
            self.store(address, &bytes)?;
        }
        Ok(())
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
        let Product { target, sources, shapes: [shape, _, second] } = self.tiles.product(instruction)?;
        let [a, b] = sources.map(|tile| self.tiles.data[tile]);
        let mut result = [[0; ROW]; ROWS];
        for (row, elements) in result[..shape.rows].iter_mut().enumerate() {
            let old = self.tiles.data[target][row];
            for (column, element) in elements[..shape.row_bytes].as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let step = |step: usize| [a[row].as_chunks::<4>().0[step], b[step].as_chunks::<4>().0[column]];
                let steps: Vec<_> = (0..second.rows).map(step).collect();
                *element = apply(self, old.as_chunks::<4>().0[column], &steps);
            }
        }
        self.tiles.data[target] = result;
        Ok(())
    }
}
