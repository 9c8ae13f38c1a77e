//! The suite of a plan.

use bench::suite::Suite;

use crate::error::{Error, Result};

/// The suite of this name, or of this text.
pub(crate) fn suite(name_or_text: &str) -> Result<Suite> {
    if Suite::names().any(|name| name == name_or_text) {
        return Suite::find(name_or_text).map_err(Error::Suite);
    }
    Suite::parse(name_or_text, "of the plan").map_err(Error::Suite)
}
