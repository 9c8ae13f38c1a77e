//! The features of a machine whose architecture has no folder: none.

use crate::features::Features;

#[cfg_attr(
    all(target_arch = "x86_64", target_os = "linux"),
    expect(dead_code, reason = "x86_64 has a folder of its own")
)]
pub(crate) fn detect() -> Features {
    Features::NONE
}
