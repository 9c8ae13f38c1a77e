//! The register tile of a benchmark on this machine.

use kernels::dense::{self, BoundTile, Real};
use kernels::features::Features;
use model::linpack::LinpackParams;

/// The tile for a row, where this machine can run it.
pub(super) fn tile<T: Real>(params: &LinpackParams) -> Option<BoundTile<T>> {
    dense::find::<T>(params.isa?, &Features::detect())
}
