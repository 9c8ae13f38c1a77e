//! Which ids a filter matches.

/// Whether an id matches a glob, in which `*` does not cross `/` and `**` does.
///
/// # Errors
/// A sentence: it is no glob.
pub fn matches_id(glob: &str, id: &str) -> Result<bool, String> {
    let pattern = glob::Pattern::new(glob)
        .map_err(|error| format!("'{glob}' is no filter: {} at position {}", error.msg, error.pos))?;
    let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::default() };
    Ok(pattern.matches_with(id, options))
}
