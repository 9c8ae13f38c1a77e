//! How the operands of a kernel are drawn, and what its accumulators gain by them. They are such that no rounding,
//! saturation or loss can occur, in whatever order a processor sums. Floating-point values are whole numbers of units,
//! powers of two: a *grid*, on which all intermediate results stay, small enough for the mantissa.

use crate::arithmetic::float::Float;
use crate::rng::Rng;

/// Bytes of one operand slot: a tile of sixteen rows of 64 bytes. Vectors use its beginning.
pub(crate) const SLOT: usize = 1024;
/// Operand slots, as used by [`Data`].
pub(crate) const OPERANDS: usize = 6;
/// The most lanes of an accumulator: those of a tile of 32-bit elements.
pub(crate) const MAX_LANES: usize = 256;
/// Rows of a tile, and 32-bit columns of a tile.
const TILE: usize = 16;

pub(crate) type Operands = [[u8; SLOT]; OPERANDS];

/// The grid of floating-point accumulators, and their range on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// A unit is 2 to the minus this.
    pub(crate) fraction_bits: u32,
    lowest: i64,
    spread: i64,
    /// The accumulators stay below this many units.
    end: i64,
}

impl Grid {
    /// From [1, 1.5) to 2.
    const fn from_one_to_two(fraction_bits: u32) -> Self {
        let one = 1 << fraction_bits;
        Self { fraction_bits, lowest: one, spread: one / 2, end: 2 * one }
    }

    /// How many times every accumulator may gain `units`.
    const fn room(self, units: u64) -> u64 {
        (self.end - self.lowest - self.spread).cast_unsigned() / units
    }

    pub(crate) fn unit(self) -> f64 {
        1.0 / (1_u64 << self.fraction_bits) as f64
    }
}

/// The whole numbers from which an operand is drawn; the lower end is even and the upper one odd, so that the lowest
/// bit is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) bytes: usize,
    lowest: i64,
    highest: i64,
}

impl Range {
    pub(crate) const U8: Self = Self { bytes: 1, lowest: 0, highest: 255 };
    /// Half of them: two products with signed bytes cannot saturate 16 bits.
    pub(crate) const U7: Self = Self { bytes: 1, lowest: 0, highest: 127 };
    pub(crate) const S8: Self = Self { bytes: 1, lowest: -128, highest: 127 };
    /// Signed words but the two lowest: two products cannot overflow 32 bits.
    pub(crate) const S16: Self = Self { bytes: 2, lowest: -32766, highest: 32767 };

    /// One of them, neither 0 nor ±1.
    fn draw(self, rng: &mut Rng) -> i64 {
        loop {
            let value = self.lowest + rng.below((self.highest - self.lowest + 1).cast_unsigned()).cast_signed();
            if value.abs() >= 2 {
                return value;
            }
        }
    }

    const fn is_signed(self) -> bool {
        self.lowest < 0
    }
}

/// The arrangement of the lanes of one accumulator, with the factors of their sums of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Each lane has this number of adjacent factors in both operands.
    Vector(usize),
    /// A matrix of 16 x 16 lanes with this number of factors in a row; `interleaved` are those of one column in one row of
    /// the second operand.
    Tile { products: usize, interleaved: usize },
    /// Matrices of `side` x `side` lanes, one after another: rows of the first operand, with this number of factors, by rows
    /// of the second.
    Rows { side: usize, products: usize },
}

impl Shape {
    /// Bytes, multiplied by fours.
    pub(crate) const TILE_OF_BYTES: Self = Self::Tile { products: 64, interleaved: 4 };
    /// 16-bit elements, multiplied by twos.
    pub(crate) const TILE_OF_PAIRS: Self = Self::Tile { products: 32, interleaved: 2 };

    const fn products(self) -> usize {
        match self {
            Self::Vector(products) | Self::Tile { products, .. } | Self::Rows { products, .. } => products,
        }
    }

    /// The indices of the factors of product `k` of a lane in the first and in the second operand.
    const fn factors(self, lane: usize, k: usize) -> (usize, usize) {
        match self {
            Self::Vector(products) => (lane * products + k, lane * products + k),
            Self::Tile { products, interleaved } => {
                let (row, column) = (lane / TILE, lane % TILE);
                (row * products + k, (k / interleaved * TILE + column) * interleaved + k % interleaved)
            }
            Self::Rows { side, products } => {
                let (first, row, column) = (lane / (side * side) * side, lane / side % side, lane % side);
                ((first + row) * products + k, (first + column) * products + k)
            }
        }
    }
}

/// The rule by which the operands of a kernel are drawn and its results predicted. Steps come in pairs, even and odd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Data {
    /// Operands 0 by 1, then 2 by 3: the products sum to one unit.
    Products(Float),
    /// The same, and every second pair of steps with the negatives 4 for 0 and 5 for 2: an odd number of pairs sums to
    /// one unit.
    AlternatingProducts(Float),
    /// Operand 0, then operand 1: they sum to one unit.
    Sums(Float),
    /// Products for even accumulators, with equal operands 0 and 1; operand 0, then operand 4 for odd ones.
    ProductsAndSums(Float),
    /// By operand 0, which is two, then by operand 1, which is a half; after each plus operand 2 and minus operand 3.
    DoubledAndHalved(Float),
    /// Whole numbers, operands 0 by 1, then 2 by 3, into 32-bit sums that wrap; operand 4 holds 16-bit ones. `first` is
    /// the range of operands 0 and 2.
    IntegerDot { shape: Shape, first: Range, second: Range },
    /// Rows by columns of `side` x `side` lanes, operands 0 by 1, then 2 by 3: each lane gains its row's factor of units.
    OuterProducts { float: Float, side: usize },
    /// 16-bit floating-point factors, operands 0 by 1, then 2 by 3, into fp32: they sum to one unit.
    FloatDot { shape: Shape, factor: Float },
    /// Whole numbers that wrap, operands 0 by 1, then 2 by 3; operand 4 masks odd bytes, 5 even ones.
    Elements { bytes: usize },
    /// Whole numbers in registers of at least four bytes: by operand 0, plus operand 1, minus operand 2, at every step.
    Affine { bytes: usize },
}

impl Data {
    pub(crate) const fn float(self) -> Option<Float> {
        match self {
            Self::Products(float)
            | Self::AlternatingProducts(float)
            | Self::Sums(float)
            | Self::ProductsAndSums(float)
            | Self::OuterProducts { float, .. }
            | Self::DoubledAndHalved(float) => Some(float),
            Self::FloatDot { .. } => Some(Float::Fp32),
            Self::IntegerDot { .. } | Self::Elements { .. } | Self::Affine { .. } => None,
        }
    }

    /// Bytes of one accumulator lane.
    pub(crate) const fn lane_bytes(self) -> usize {
        match (self, self.float()) {
            (_, Some(float)) => float.bytes(),
            (Self::Elements { bytes }, _) => bytes,
            (Self::Affine { bytes: 8 }, _) => 8,
            _ => 4,
        }
    }

    /// Whether lanes wrap so soon that the loop also counts its iterations.
    pub(crate) const fn is_counted(self) -> bool {
        matches!(self, Self::Elements { bytes: 1 | 2 })
    }

    pub(crate) const fn grid(self) -> Option<Grid> {
        match (self, self.float()) {
            // Each step adds less than 4 to less than 4: 11 bits hold multiples of 2^-8 up to 8.
            (Self::AlternatingProducts(_), _) => {
                Some(Grid { fraction_bits: 8, lowest: -4 << 8, spread: 1 << 7, end: 4 << 8 })
            }
            // Twice a value up to 2 and another up to 2 are less than 8: one bit less below the point.
            (Self::DoubledAndHalved(Float::Fp32), _) => Some(Grid::from_one_to_two(21)),
            (Self::DoubledAndHalved(_), _) => Some(Grid::from_one_to_two(50)),
            // Products of less than 2^20 units (2^40 of fp64) on up to 2^23 (2^52): all fit 24 (53) bits.
            (Self::OuterProducts { float, .. }, _) => {
                let fraction_bits = 2 * (outer_bits(float) - 1);
                let end = if matches!(float, Float::Fp64) { 1 << 52 } else { 1 << 23 };
                Some(Grid { end, ..Grid::from_one_to_two(fraction_bits) })
            }
            // Up to 32 products of up to 2^16 units, on 2^21 to 2^23 of them, need no more than 24 bits.
            (Self::FloatDot { .. }, _) => {
                Some(Grid { fraction_bits: 14, lowest: 1 << 21, spread: 1 << 20, end: 1 << 23 })
            }
            // Factors in [1, 2) have one bit less below the point than in all; their products have twice that.
            (_, Some(float)) => Some(Grid::from_one_to_two(2 * (float.factor_bits() - 1))),
            (_, None) => None,
        }
    }

    /// Units that a floating-point accumulator gains per iteration, at most.
    pub(crate) const fn units(self, pairs: usize) -> u64 {
        match self {
            Self::AlternatingProducts(_) => 1,
            Self::DoubledAndHalved(_) => 3 * pairs as u64,
            Self::OuterProducts { float, .. } => (pairs as u64) << outer_bits(float),
            _ => pairs as u64,
        }
    }

    /// Iterations after which floating-point accumulators must be reset to stay exact.
    pub(crate) const fn lap(self, pairs: usize) -> u64 {
        match self.grid() {
            Some(grid) => grid.room(self.units(pairs)),
            None => u64::MAX,
        }
    }

    pub(crate) fn draw_seed(self, rng: &mut Rng) -> u64 {
        match (self.float(), self.grid(), self) {
            (Some(float), Some(grid), _) => {
                let units = grid.lowest + rng.below(grid.spread.cast_unsigned()).cast_signed();
                float.encode(units as f64 * grid.unit())
            }
            // Sign-extended, as a C type would be.
            (_, _, Self::Affine { bytes }) => draw_signed(rng, bytes).cast_unsigned(),
            _ => rng.next(),
        }
    }

    /// Draws the operands of `lanes` lanes.
    pub(crate) fn draw(self, rng: &mut Rng, lanes: usize, operands: &mut Operands) {
        match self {
            Self::IntegerDot { shape, first, second } => integer_dot(rng, lanes, operands, shape, [first, second]),
            Self::FloatDot { shape, factor } => float_dot(rng, lanes, operands, shape, factor),
            Self::OuterProducts { float, side } => {
                (0..side).for_each(|index| set(operands, float, index, &outer(rng, float, index as u64, side as u64)));
            }
            Self::Affine { bytes } => affine(rng, bytes, self.lane_bytes(), operands),
            Self::Elements { bytes } => {
                (0..lanes).for_each(|lane| elements(rng, lane, bytes, operands));
                operands[4].as_chunks_mut().0.fill(0xff00_u16.to_ne_bytes());
                operands[5].as_chunks_mut().0.fill(0x00ff_u16.to_ne_bytes());
            }
            Self::Products(float) => (0..lanes).for_each(|lane| {
                set(operands, float, lane, &products(rng, float));
            }),
            Self::AlternatingProducts(float) => (0..lanes).for_each(|lane| {
                let [a, b, c, d] = products(rng, float);
                set(operands, float, lane, &[a, b, c, d, -a, -c]);
            }),
            Self::Sums(float) => (0..lanes).for_each(|lane| {
                let [a, b] = sums(rng, self.grid());
                set(operands, float, lane, &[a, b]);
            }),
            Self::ProductsAndSums(float) => (0..lanes).for_each(|lane| {
                let [a, c, d] = adjacent(rng, float);
                let unit = self.grid().map_or(0.0, Grid::unit);
                set(operands, float, lane, &[a, a, c, d, unit - a]);
                // A second copy behind the first, for loads that must not share a position in a cache line.
                store(&mut operands[4], lanes + lane, float.bytes(), float.encode(unit - a));
            }),
            Self::DoubledAndHalved(float) => {
                let unit = self.grid().map_or(0.0, Grid::unit);
                let [a, _] = sums(rng, self.grid());
                set(operands, float, 0, &[2.0, 0.5, a, a - 2.0 * unit]);
            }
        }
    }

    /// The sum that one pair of steps adds to a lane of whole numbers, modulo 2^64; of outer products, in units.
    pub(crate) fn gain(self, lane: usize, operands: &Operands) -> u64 {
        match self {
            Self::IntegerDot { shape, first, second } => {
                let product = |pair: usize, k| {
                    let (a, b) = shape.factors(lane, k);
                    number(&operands[2 * pair], a, first) * number(&operands[2 * pair + 1], b, second)
                };
                let sum = |pair| (0..shape.products()).map(|k| product(pair, k)).sum::<i64>();
                (sum(0) + sum(1)).cast_unsigned()
            }
            Self::Elements { bytes } => {
                let [a, b, c, d] = [0, 1, 2, 3].map(|operand| load(&operands[operand], lane, bytes));
                a.wrapping_mul(b).wrapping_add(c.wrapping_mul(d))
            }
            Self::OuterProducts { float, side } => {
                let factor = float.decode(load(&operands[0], lane / side, float.bytes()));
                whole(factor * (1_u64 << (outer_bits(float) - 1)) as f64)
            }
            _ => 0,
        }
    }
}

fn set(operands: &mut Operands, float: Float, lane: usize, values: &[f64]) {
    for (slot, value) in operands.iter_mut().zip(values) {
        store(slot, lane, float.bytes(), float.encode(*value));
    }
}

/// Factors `[a, b, c, d]` in [1, 2), with `c` negated, whose two products sum to one unit.
fn products(rng: &mut Rng, float: Float) -> [f64; 4] {
    let [a, b, c, d] = factors(rng, float).map(|factor| scaled(factor, float));
    [a, b, -c, d]
}

/// Bits of a factor of an outer product: few, as every lane gains its row's factor in each pair of steps.
const fn outer_bits(float: Float) -> u32 {
    if matches!(float, Float::Fp64) { 20 } else { 10 }
}

/// Factors `[a, b, c, d]` of row and column `index` in [1, 2), different from those of the others: `c` is `a` negated and
/// `d` less than `b` by the unit of a factor, so that the two products of any row and column sum to the row's factor.
fn outer(rng: &mut Rng, float: Float, index: u64, side: u64) -> [f64; 4] {
    let top = 1_u64 << (outer_bits(float) - 1);
    let value = |factor: u64| factor as f64 / top as f64;
    let (lowest, spread) = (top + index * (top / side), top / side);
    // An odd row's factor, and an even column's that is no multiple of four: none of the four ends in many zeros.
    let (row, column) = (lowest + (rng.below(spread) | 1), lowest + (rng.below(spread) & !3 | 2));
    [value(row), value(column), -value(row), value(column - 1)]
}

/// Factors `[a, c, d]` with `a * a + c * d` equal to one unit: the product of the two numbers next to `a` is one less
/// than its square.
fn adjacent(rng: &mut Rng, float: Float) -> [f64; 3] {
    let bits = float.factor_bits();
    let top = 1_u64 << (bits - 1);
    loop {
        let middle = top + 1 + rng.below(top - 2);
        let drawn = [middle, middle - 1, middle + 1];
        if drawn.iter().all(|factor| is_filled(*factor, bits)) && middle * middle < float.product_end() {
            let [a, c, d] = drawn.map(|factor| scaled(factor, float));
            return [a, -c, d];
        }
    }
}

/// Two numbers of magnitude in [1, 2) and opposite signs that sum to one unit.
fn sums(rng: &mut Rng, grid: Option<Grid>) -> [f64; 2] {
    let Some(grid) = grid else { return [0.0; 2] };
    // Odd, so that the lowest bit is used.
    let units = (1_u64 << grid.fraction_bits) + (rng.below(1 << grid.fraction_bits) | 1);
    let value = units as f64 * grid.unit();
    [value, grid.unit() - value]
}

/// An integer as a value in [1, 2).
fn scaled(factor: u64, float: Float) -> f64 {
    factor as f64 / (1_u64 << (float.factor_bits() - 1)) as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the caller's value is a whole number")]
const fn whole(value: f64) -> u64 {
    value as u64
}

/// Whether a factor has exactly `bits` bits and few trailing zeros.
const fn is_filled(factor: u64, bits: u32) -> bool {
    factor >> (bits - 1) == 1 && factor.trailing_zeros() <= if bits < 8 { 2 } else { bits / 4 }
}

/// Integers `[a, b, c, d]` that fill the bits of a factor, with few trailing zeros, and `a * b - c * d == 1`.
fn factors(rng: &mut Rng, float: Float) -> [u64; 4] {
    let bits = float.factor_bits();
    let top = 1_u64 << (bits - 1);
    loop {
        let a = top + rng.below(top);
        let c = top + rng.below(top);
        let Some(b) = inverse(a, c) else { continue };
        let drawn = [a, b, c, (a * b - 1) / c];
        if drawn.iter().all(|factor| is_filled(*factor, bits)) && a * b < float.product_end() {
            return drawn;
        }
    }
}

/// The `x` below `modulus` with `value * x == 1` modulo `modulus`, by the extended Euclidean algorithm.
fn inverse(value: u64, modulus: u64) -> Option<u64> {
    let modulus = modulus.cast_signed();
    let (mut r0, mut r1) = (modulus, value.cast_signed() % modulus);
    let (mut x0, mut x1) = (0_i64, 1_i64);
    while r1 != 0 {
        let quotient = r0 / r1;
        (r0, r1) = (r1, r0 - quotient * r1);
        (x0, x1) = (x1, x0 - quotient * x1);
    }
    (r0 == 1).then(|| x0.rem_euclid(modulus).cast_unsigned())
}

/// Draws whole factors such that the sum of products of each lane is odd: no lane returns to an earlier value before
/// all of its 2^32. Whether a first factor is odd depends only on its position in the sum, so it is the same in every
/// row of a matrix, and flipping the lowest bit of one factor corrects an even column for all rows.
fn integer_dot(rng: &mut Rng, lanes: usize, operands: &mut Operands, shape: Shape, [first, second]: [Range; 2]) {
    for pair in 0..2 {
        for k in 0..shape.products() {
            // The first product decides, so its first factor is odd.
            let odd = if (pair, k) == (0, 0) { 1 } else { rng.below(2).cast_signed() };
            for lane in 0..lanes {
                let (a, b) = shape.factors(lane, k);
                let drawn = first.draw(rng) & !1 | odd;
                store(&mut operands[2 * pair], a, first.bytes, drawn.cast_unsigned());
                store(&mut operands[2 * pair + 1], b, second.bytes, second.draw(rng).cast_unsigned());
            }
        }
    }
    // Lanes with a second factor of their own: all of a vector, the first row of a tile. Of rows by rows, all lanes of
    // a column become odd together.
    let own = if matches!(shape, Shape::Tile { .. }) { TILE } else { lanes };
    for lane in 0..own {
        if (Data::IntegerDot { shape, first, second }).gain(lane, operands).is_multiple_of(2) {
            let (_, b) = shape.factors(lane, 0);
            let even = number(&operands[1], b, second);
            store(&mut operands[1], b, second.bytes, (even ^ 1).cast_unsigned());
        }
    }
    operands[4].as_chunks_mut().0.fill(1_u16.to_ne_bytes());
}

/// Draws 16-bit factors of 8 bits in [1, 2) whose sums of products are one unit in every lane: the second pair of
/// operands is the first one negated and, where the first two factors of a sum are `v` and `v - 1`, shifted by one against
/// them.
fn float_dot(rng: &mut Rng, lanes: usize, operands: &mut Operands, shape: Shape, factor: Float) {
    /// The least whole number of 8 bits; factors have 7 bits below the point.
    const ONE: u64 = 1 << 7;
    let bits = |number: u64| factor.encode(number as f64 / ONE as f64);
    let size = factor.bytes();
    for lane in 0..lanes {
        let next = ONE + 1 + rng.below(ONE - 1);
        for k in 0..shape.products() {
            let (a, b) = shape.factors(lane, k);
            let (first, sign) = match k {
                0 => (next, 0),
                1 => (next - 1, 0),
                _ => (ONE + rng.below(ONE), rng.below(2)),
            };
            let second = ONE + 1 + rng.below(ONE - 2);
            let other = match k {
                0 => second - 1,
                1 => second + 1,
                _ => second,
            };
            store(&mut operands[0], a, size, bits(first) ^ sign << 15);
            store(&mut operands[2], a, size, bits(first) ^ (1 - sign) << 15);
            store(&mut operands[1], b, size, bits(second));
            store(&mut operands[3], b, size, bits(other));
        }
    }
}

/// Draws the factors of one lane until their sum of products is odd.
fn elements(rng: &mut Rng, lane: usize, bytes: usize, operands: &mut Operands) {
    loop {
        for slot in &mut operands[..4] {
            store(slot, lane, bytes, draw_signed(rng, bytes).cast_unsigned());
        }
        if (Data::Elements { bytes }).gain(lane, operands) % 2 == 1 {
            return;
        }
    }
}

/// Draws a multiplier and two summands that carry a value through all values of its width: the multiplier is one more
/// than a multiple of four and the difference of the summands is odd (Hull and Dobell, "Random number generators", SIAM
/// Review 1962).
fn affine(rng: &mut Rng, bytes: usize, lane_bytes: usize, operands: &mut Operands) {
    // 5 more than a multiple of 8: never one.
    let multiplier = draw_signed(rng, bytes) & !7 | 5;
    let summand = draw_signed(rng, bytes);
    let subtrahend = draw_signed(rng, bytes) & !1 | (!summand & 1);
    for (slot, value) in operands.iter_mut().zip([multiplier, summand, subtrahend]) {
        store(slot, 0, lane_bytes, value.cast_unsigned());
    }
}

/// A signed number of this width, not in -2..=1.
fn draw_signed(rng: &mut Rng, bytes: usize) -> i64 {
    let shift = 64 - 8 * bytes;
    loop {
        let value = rng.next().cast_signed() << shift >> shift;
        if !(-2..=1).contains(&value) {
            return value;
        }
    }
}

/// Element `index` of a slot as a number of the range's type.
fn number(slot: &[u8], index: usize, range: Range) -> i64 {
    let bits = load(slot, index, range.bytes).cast_signed();
    let shift = 64 - 8 * range.bytes;
    if range.is_signed() { bits << shift >> shift } else { bits }
}

fn load(slot: &[u8], index: usize, bytes: usize) -> u64 {
    bits(&slot[index * bytes..][..bytes])
}

fn store(slot: &mut [u8], index: usize, bytes: usize, value: u64) {
    set_bits(&mut slot[index * bytes..][..bytes], value);
}

/// The bits of a lane of up to eight bytes, in the machine's order, widened.
#[inline]
pub(crate) fn bits(lane: &[u8]) -> u64 {
    let mut word = [0; 8];
    if cfg!(target_endian = "big") {
        word[8 - lane.len()..].copy_from_slice(lane);
    } else {
        word[..lane.len()].copy_from_slice(lane);
    }
    u64::from_ne_bytes(word)
}

/// Writes the low bits of `value` into a lane of up to eight bytes.
pub(crate) fn set_bits(lane: &mut [u8], value: u64) {
    let word = value.to_ne_bytes();
    let low = if cfg!(target_endian = "big") { &word[8 - lane.len()..] } else { &word[..lane.len()] };
    lane.copy_from_slice(low);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_fill_their_bits_and_differ_by_one_unit() {
        let mut rng = Rng::new(7);
        for (float, bits, zeros) in [(Float::Fp16, 5, 2), (Float::Fp32, 12, 3), (Float::Fp64, 26, 6)] {
            for _ in 0..200 {
                let [a, b, c, d] = factors(&mut rng, float);
                assert_eq!(a * b - c * d, 1);
                let filled = |factor: &u64| factor.ilog2() == bits - 1 && factor.trailing_zeros() <= zeros;
                assert!([a, b, c, d].iter().all(filled), "{a} {b} {c} {d}");
                assert!(float == Float::Fp16 || (a * b).ilog2() < 2 * bits - 1);
            }
        }
    }

    #[test]
    fn a_tile_of_columns_holds_each_factor_once() {
        for shape in [Shape::TILE_OF_BYTES, Shape::TILE_OF_PAIRS] {
            let mut seen = [0_u8; SLOT];
            for column in 0..TILE {
                for k in 0..shape.products() {
                    seen[shape.factors(column, k).1] += 1;
                }
            }
            let factors = TILE * shape.products();
            assert!(seen[..factors].iter().all(|count| *count == 1) && seen[factors..].iter().all(|count| *count == 0));
        }
    }
}
