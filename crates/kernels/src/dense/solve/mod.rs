//! Systems of linear equations: factorisation, its panels and triangles, refinement, and the check of a solution.

mod compiled;
pub(crate) mod gmres;
pub(crate) mod lu;
pub(crate) mod mixed;
mod panel;
pub(crate) mod residual;
mod step;
mod triangle;
