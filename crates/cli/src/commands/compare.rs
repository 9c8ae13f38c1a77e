//! `assay compare`.

use crate::args::Compare;
use crate::exit::Result;

/// TODO
pub(crate) fn compare(_arguments: &Compare, _began: f64) -> Result {
    Err("not there yet".to_owned())
}
