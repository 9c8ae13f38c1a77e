//! The tiles of bf16 and their packing against their definition.

extern crate std;

use std::vec::Vec;

use crate::dense::Real;
use crate::dense::random::Uniform;
use crate::dense::tile::{BoundTile, Levels};
use crate::features::Features;

#[path = "../../tests/support/brain.rs"]
mod brain;
#[path = "../../tests/support/skip.rs"]
mod skip;

/// Numbers at every boundary: halves between two bf16, powers of two, the smallest normal and the largest finite ones.
pub(crate) fn boundary_numbers() -> Vec<f32> {
    let uppers = [0, 1, 0x7f, 0x80, 0x81, 0xff, 0x3f7f, 0x3f80, 0x3f81, 0x4049, 0x7eff, 0x7f7e, 0x7f7f];
    let lowers = [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff];
    let magnitudes = uppers.iter().flat_map(|upper| lowers.iter().map(move |lower| upper << 16 | lower));
    let drawn = (0..997).map(|row| Uniform::new(11, 997).real::<f32>(row, 0));
    let signed = magnitudes.flat_map(|bits: u32| [f32::from_bits(bits), -f32::from_bits(bits)]);
    let all: Vec<f32> = signed.chain(drawn.map(|entry| entry * entry * entry)).collect();
    assert!(all.iter().all(|number| number.is_finite()));
    all
}

/// The tiles of bf16 that this machine can run.
pub(crate) fn tiles() -> Vec<BoundTile<f32>> {
    let found: Vec<_> = f32::paired_tiles().iter().filter_map(|tile| tile.bind(&Features::detect())).collect();
    if found.is_empty() {
        skip::skip("the tile of bf16", "this machine has no instruction set that multiplies bf16");
    }
    found
}

#[test]
fn rounds_to_the_nearest_bf16_and_halves_to_even() {
    for (tile, number) in
        tiles().into_iter().flat_map(|tile| boundary_numbers().into_iter().map(move |one| (tile, one)))
    {
        let mut pair = [0.0];
        tile.round(&[number], None, &mut pair);
        let expected = u32::from(brain::nearest(number));
        assert_eq!(pair[0].to_bits(), expected, "{number:e} {:#x}", number.to_bits());
    }
}

/// Random numbers with exponents far apart; some numbers, and products of other numbers, are subnormal.
fn drawn(seed: u64, count: usize) -> Vec<f32> {
    let number = |row: usize| {
        let entry = Uniform::new(seed, count).real::<f32>(row, 0);
        let scale = [1.0, 1e-3, 1e4, 1e-19, 1.0, 3e-38][row % 6];
        entry * scale
    };
    (0..count).map(number).collect()
}

#[test]
fn tiles_of_pairs_match_the_oracle_bit_for_bit() {
    tiles().into_iter().for_each(matches_the_oracle);
}

fn matches_the_oracle(tile: BoundTile<f32>) {
    let (rows, columns) = (tile.rows(), tile.columns());
    let step = rows + 5;
    for depth in (0..=9).chain([63, 64, 65, 128, 131]) {
        let (left, right) = (drawn(1, rows * depth), drawn(2, depth * columns));
        let before = drawn(3, step * columns);
        let pack = |numbers: &[f32], width: usize| -> Vec<f32> {
            numbers
                .chunks(2 * width)
                .flat_map(|two| {
                    let mut pairs = std::vec![0.0; width];
                    tile.round(&two[..width], two.get(width..).filter(|second| !second.is_empty()), &mut pairs);
                    pairs
                })
                .collect()
        };
        let (a, b, mut found) = (pack(&left, rows), pack(&right, columns), before.clone());
        // SAFETY: as many pairs are packed as are named, and the result has the tile's columns.
        unsafe {
            let next = b.as_ptr();
            tile.run(Levels::packed(tile, depth), (a.as_ptr(), rows), b.as_ptr(), (found.as_mut_ptr(), step), next);
        }
        for (index, (found, before)) in found.iter().zip(&before).enumerate() {
            let (column, row) = (index / step, index % step);
            let at = |numbers: &[f32], place: usize| numbers.get(place).map_or(0, |number| brain::nearest(*number));
            let sum = (0..depth).step_by(2).fold(0.0, |sum, level| {
                let left = [level, level + 1].map(|level| at(&left, level * rows + row));
                let right = [level, level + 1].map(|level| at(&right, level * columns + column));
                brain::add_products(sum, left, right)
            });
            let expected = if row < rows { before - sum } else { *before };
            assert_eq!(found.to_bits(), expected.to_bits(), "depth {depth}, row {row}, column {column}");
        }
    }
}
