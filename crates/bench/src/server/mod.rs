//! The server of network measurements: it serves the launches of clients on other hosts (`assay net serve`).

mod queue;
mod serve;
#[cfg(test)]
mod tests;

pub use serve::{Notice, ServerOptions, serve};
