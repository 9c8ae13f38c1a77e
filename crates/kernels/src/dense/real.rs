//! The register tiles of each type of number.

use model::isa::Isa;

use crate::dense::number::Number;
use crate::dense::tile::{BoundTile, Tile};
use crate::features::Features;
use crate::native;

/// A [`Number`] that has register tiles.
pub trait Real: Number {
    /// The tiles of this type, widest first; the last one needs no instruction set.
    fn tiles() -> &'static [Tile<Self>];

    /// The tiles of this type that multiply the part to the right of a panel in bf16, widest first.
    fn paired_tiles() -> &'static [Tile<Self>];
}

impl Real for f64 {
    fn tiles() -> &'static [Tile<Self>] {
        native::tiles::FP64
    }

    fn paired_tiles() -> &'static [Tile<Self>] {
        &[]
    }
}

impl Real for f32 {
    fn tiles() -> &'static [Tile<Self>] {
        native::tiles::FP32
    }

    fn paired_tiles() -> &'static [Tile<Self>] {
        native::tiles::FP32_BY_BF16
    }
}

/// The tile of this instruction set.
pub fn find<T: Real>(isa: Isa, features: &Features) -> Option<BoundTile<T>> {
    let all = T::tiles().iter().chain(T::paired_tiles());
    all.filter(|tile| tile.isa == isa).find_map(|tile| tile.bind(features))
}

/// The widest tile that binds; there is always one, as the last of the table requires nothing.
pub fn widest<T: Real>(features: &Features) -> Option<BoundTile<T>> {
    T::tiles().iter().find_map(|tile| tile.bind(features))
}
