//! Dense linear algebra against naive oracles.

#[path = "../support/skip.rs"]
mod skip;
#[path = "../support/dense.rs"]
mod support;

mod mixed;
mod product;
mod systems;
