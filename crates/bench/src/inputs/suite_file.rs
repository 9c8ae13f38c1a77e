//! Suites that are files.

use std::path::Path;

use areas::Suite;
use model::plan::PlanError;

/// The suite of this name, or in this file if the name ends in `.toml`.
///
/// # Errors
/// There is no such suite, the file cannot be read, or something in it is wrong.
pub fn find(name: &str) -> Result<Suite, PlanError> {
    if Path::new(name).extension().is_some_and(|extension| extension == "toml")
        && !Suite::names().any(|one| one == name)
    {
        let text = std::fs::read_to_string(name)
            .map_err(|error| PlanError(format!("cannot read the suite file '{name}': {error}")))?;
        return Suite::parse(&text, name);
    }
    Suite::embedded(name)
}
