//! What the programs for contributors share: where commands run, how they are ended, what came of a step, what is
//! installed. `lab` uses it too.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    missing_docs,
    reason = "programs for developers print, read the environment and time their steps; names explain themselves"
)]

pub mod process;
pub mod set_up;
pub mod shell;
pub mod tally;
