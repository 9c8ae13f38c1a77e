//! What is expected of healthy nodes before anything is measured.

/// Fewer equals than these have no middle from which one could tell who is slow: of three, the median is one of them, and
/// its distance from the nearer of the two others is all that the spread is known by.
pub const ENOUGH_NODES: usize = 4;

/// What a figure belongs to, as far as it matters how much healthy nodes differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Processor and memory.
    Core,
    /// Disks and the network, which vary more and are shared.
    Device,
}

/// What is expected of each sort of figure before anything is measured.
pub(super) struct Expected {
    pub(super) sort: Sort,
    /// A node less than this share below its equals is not slow, however little they vary: 5 % for processor and memory
    /// and 10 % for disk and network, as operators' acceptance tests have it (issue 12; MKL's cluster benchmark warns at
    /// a spread of 2 %, HPC sites' node checks fail at 5 to 10 %).
    pub(super) least_drop: f64,
    /// Spread of an area between healthy equals, which stands in for the one that a few nodes cannot show. A fifth of the
    /// least drop: with it alone the least drop is five scales, and decides.
    pub(super) scale: f64,
}

const EXPECTED: [Expected; 2] = [
    Expected { sort: Sort::Core, least_drop: 0.05, scale: 0.01 },
    Expected { sort: Sort::Device, least_drop: 0.10, scale: 0.02 },
];

impl Sort {
    pub(super) fn expected(self) -> &'static Expected {
        EXPECTED.iter().find(|row| row.sort == self).unwrap_or(&EXPECTED[0])
    }

    /// The least share below its equals at which a node can be slow.
    #[must_use]
    pub fn least_drop(self) -> f64 {
        self.expected().least_drop
    }
}
