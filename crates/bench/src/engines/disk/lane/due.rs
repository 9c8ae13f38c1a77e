//! How many requests of an open loop were due.

/// What has been due so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engines::disk) struct Due {
    /// Requests that were due inside windows.
    pub(in crate::engines::disk) all: u64,
    /// Those of them that began late, or never, since all places were taken or the thread was not there yet.
    pub(in crate::engines::disk) late: u64,
}
