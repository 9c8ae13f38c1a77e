//! One side of a live comparison.

use std::path::PathBuf;

/// One side.
#[derive(Clone, Debug)]
pub struct LiveSide {
    /// As it was given on the command line.
    pub name: String,
    /// The program that measures.
    pub program: PathBuf,
    /// Its options, without those for where its document goes.
    pub options: Vec<String>,
    /// The command that switches the machine to this side.
    pub switch: Option<String>,
}
