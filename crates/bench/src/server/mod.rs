//! The server of network measurements (`assay net serve`).

mod log;
mod queue;
mod serve;
#[cfg(test)]
mod tests;

pub use serve::{Notice, ServerOptions, serve};
