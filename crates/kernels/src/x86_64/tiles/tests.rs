//! The packing of bf16 against the processor's own instruction.

use core::arch::asm;

use crate::dense::pairs::{boundary_numbers, tiles};

extern crate std;

use std::vec::Vec;

/// Sixteen numbers each, rounded by the instruction: the first in the lower half of the result.
fn by_the_instruction(first: &[f32; 16], second: &[f32; 16]) -> [u32; 16] {
    let mut halves = [0_u16; 32];
    // SAFETY: the caller has found AVX512_BF16; the pointers are to sixteen numbers and room for thirty-two.
    unsafe {
        asm!("vmovups zmm0, [{first}]", "vmovups zmm1, [{second}]", "vcvtne2ps2bf16 zmm0, zmm1, zmm0",
            "vmovups [{halves}], zmm0", "vzeroupper", first = in(reg) first, second = in(reg) second,
            halves = in(reg) &raw mut halves, out("zmm0") _, out("zmm1") _, options(nostack));
    }
    core::array::from_fn(|index| u32::from(halves[index]) | u32::from(halves[16 + index]) << 16)
}

#[test]
fn pairs_match_the_instruction() {
    let tiles = tiles();
    let Some(tile) = tiles.first() else { return };
    let mut all = boundary_numbers();
    all.extend([f32::INFINITY, f32::NEG_INFINITY, f32::from_bits(0x7f80_0001), f32::from_bits(0xffc1_2345)]);
    let reversed: Vec<f32> = all.iter().rev().copied().collect();
    for (first, second) in all.as_chunks::<16>().0.iter().zip(reversed.as_chunks::<16>().0) {
        let mut pairs = [0.0; 16];
        tile.round(first, Some(second), &mut pairs);
        assert_eq!(pairs.map(f32::to_bits), by_the_instruction(first, second));
        tile.round(&first[..5], None, &mut pairs[..5]);
        assert_eq!(pairs.map(f32::to_bits)[..5], by_the_instruction(first, &[0.0; 16])[..5]);
    }
}
