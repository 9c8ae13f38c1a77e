//! What a tool's run leaves behind if this process is killed.

use std::path::Path;

/// What a run has begun that would outlive us if we were killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting<'a> {
    /// The leader of a group of processes, just started.
    Process(u32),
    /// A file that is about to be made.
    File(&'a Path),
}
