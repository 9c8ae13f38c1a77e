//! `assay doctor`.

use crate::args::Doctor;
use crate::exit::Result;

/// TODO
pub(crate) fn doctor(_arguments: &Doctor, _began: f64) -> Result {
    Err("not there yet".to_owned())
}
