//! Makes a plan and writes it into its folder.

pub mod request;
pub mod write;

use areas::Suite;

use crate::error::{Error, Result};

/// The suite of this name, or of this text.
pub(crate) fn suite(name_or_text: &str) -> Result<Suite> {
    if Suite::names().any(|name| name == name_or_text) {
        return Suite::embedded(name_or_text).map_err(|error| Error::Suite(error.0));
    }
    Suite::parse(name_or_text, "of the plan").map_err(|error| Error::Suite(error.0))
}
