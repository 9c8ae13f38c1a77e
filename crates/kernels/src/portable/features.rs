//! The features of a machine whose architecture has no folder: none.

use crate::features::Features;

pub(crate) fn detect() -> Features {
    Features::NONE
}
