//! Dense linear algebra: the product of two matrices ([`Product`]), and the solution of `A x = b` by LU factorisation
//! with partial pivoting as in LINPACK and HPL ([`Solver`]), or in mixed precision as in HPL-MxP ([`Mixed`]).
//!
//! Matrices are in columns; entries are drawn from a seed by [`Uniform`], so that a result is checked against a system drawn
//! again. Nothing here allocates, reads a clock or calls the operating system.

mod blocking;
mod crew;
mod gemm;
mod grid;
pub(crate) mod number;
mod pack;
#[cfg(test)]
pub(crate) mod pairs;
mod product;
pub(crate) mod random;
mod real;
mod solve;
mod stages;
pub(crate) mod tile;

pub use blocking::{Blocking, Caches, padded};
pub use crew::{Abandoned, Crew, MOST_THREADS};
pub use number::Number;
pub use product::{Product, SAMPLES, Shape, Verified};
pub use random::{Diagonal, Uniform};
pub use real::{Real, find, widest};
pub use solve::gmres::{MOST_REFINEMENTS, Refined};
pub use solve::lu::{Problem, Solver, Unfit};
pub use solve::mixed::Mixed;
pub use solve::residual::{Checked, THRESHOLD, check};
pub use tile::{BoundTile, Tile};
