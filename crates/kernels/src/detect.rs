//! The features of the CPU that executes a call.

use crate::features::{Feature, Features};
use crate::native;

impl Features {
    /// Whether all of `required` are in this set *and* on the CPU that executes this call: a set can only narrow what a
    /// machine does. Cores of one machine may differ, so nothing is cached; under a hypervisor a call takes tens of
    /// microseconds.
    pub(crate) fn usable(self, required: &[Feature]) -> bool {
        self.has_all(required) && Self::detect().has_all(required)
    }

    pub(crate) fn binds_here(self) -> bool {
        self.binds_at_renaming() && Self::detect().binds_at_renaming()
    }

    /// The features of the CPU that executes this call, as the operating system enables them.
    pub fn detect() -> Self {
        native::features::detect()
    }
}
