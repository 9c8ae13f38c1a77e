//! HPL across the nodes of a plan.

mod attempt;
mod launch;
pub(crate) mod meeting;
mod size;
pub(crate) mod tasks;
#[cfg(test)]
mod tests;
