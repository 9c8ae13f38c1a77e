//! What the CPU that executes a call can do.

use crate::features::{Feature, Features};
use crate::native;

impl Features {
    /// Whether all of `required` are in this set *and* on the CPU that executes this call: a set can only narrow what a
    /// machine does, never claim what it lacks. Cores of one machine may differ, so nothing is remembered; under a
    /// hypervisor a call takes some tens of microseconds.
    pub(crate) fn usable(self, required: &[Feature]) -> bool {
        self.has_all(required) && Self::detect().has_all(required)
    }

    /// Whether this set says so *and* the CPU that executes this call is such a core.
    pub(crate) fn binds_here(self) -> bool {
        self.binds_at_renaming() && Self::detect().binds_at_renaming()
    }

    /// The features of the CPU that executes this call, as the operating system enables them.
    pub fn detect() -> Self {
        native::features::detect()
    }
}
