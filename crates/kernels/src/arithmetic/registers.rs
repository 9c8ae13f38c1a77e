//! The memory that an arithmetic kernel loads from before its loop and stores to after it.

use crate::arithmetic::data::{Operands, SLOT};

/// Bytes of all accumulators of a kernel: four tiles, and more than 32 vectors.
pub(crate) const RESULTS: usize = 4 * SLOT;

/// The memory that a kernel loads from and stores to. Accumulators are packed at the kernel's own width.
#[repr(C, align(64))]
#[derive(Clone, Debug)]
pub(crate) struct RegisterFile {
    pub(crate) operands: Operands,
    /// The configuration of the tiles, as LDTILECFG reads it.
    pub(crate) tiles: [u8; 64],
    /// The first word: iterations counted by loops that count.
    pub(crate) count: [u8; 64],
    /// The accumulators' first values, for prediction and reset; no kernel reads them.
    pub(crate) seeds: [u8; RESULTS],
    /// The accumulators: loaded before the loop, stored after it.
    pub(crate) results: [u8; RESULTS],
}

/// Palette 1, eight tiles of sixteen rows of 64 bytes: Intel SDM volume 1, section 18.2.
pub(crate) const TILES: [u8; 64] = {
    let mut configuration = [0; 64];
    configuration[0] = 1;
    let mut tile = 0;
    while tile < 8 {
        // Bytes of a row, in 16 bits, little endian.
        configuration[16 + 2 * tile] = 64;
        configuration[48 + tile] = 16;
        tile += 1;
    }
    configuration
};
