//! Dense linear algebra that is timed: the product of two matrices, and the solution of `A x = b` by LU factorisation
//! with partial pivoting, as LINPACK and HPL do it.
//!
//! * [`Tile`] — the innermost loops, one row of a table for each element type and instruction set;
//! * [`Blocking`] — how a problem is cut for the caches;
//! * [`Crew`] — the threads that work a problem together: they are the caller's, and meet inside;
//! * [`Product`] — the product of two matrices that a crew draws, multiplies and checks, in the caller's buffers;
//! * [`Solver`] — a system of equations that a crew fills, solves and checks;
//! * [`Mixed`] — the same in fp64 by factors in fp32, their products in bf16 where the tile says so, and refinement.
//!
//! Matrices lie in columns, entries are drawn from a seed by [`Uniform`], so that a result is checked against a system
//! drawn again. Nothing here allocates, reads a clock or calls the operating system.

mod blocking;
mod crew;
mod gemm;
mod grid;
pub(crate) mod number;
mod pack;
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
