//! What one worker process saw, and what happened on the machine meanwhile.

use model::surroundings::Change;
use model::wire::Observations;

/// What one process run saw, and what happened on the machine meanwhile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessRun {
    /// Its number, which its samples bear.
    pub number: u32,
    /// What its worker reports.
    pub seen: Observations,
    /// What the kernel counted all over the machine meanwhile.
    pub surroundings: Change,
    /// Samples that it gave.
    pub samples: u32,
    /// Whether it was made because others had disturbed an earlier one.
    pub repeat: bool,
}
