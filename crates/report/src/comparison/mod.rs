//! A comparison as a table for a terminal, as Markdown for a pull request, and as JSON.
//!
//! Verdicts and explanations are the comparison's own. Here is only said how many there are of each, and how figures
//! are written.

mod bar;
mod markdown;
mod parts;
mod text;

use model::comparison::Comparison;

use crate::render::RenderError;

pub use markdown::markdown;
pub use text::text;

/// The comparison as JSON, indented, one trailing newline.
///
/// # Errors
/// Where it holds a figure that is not finite: JSON has no word for one.
pub fn json(comparison: &Comparison) -> Result<String, RenderError> {
    let refuse =
        |error: serde_json::Error| RenderError::new(format!("the comparison cannot be written as JSON: {error}"));
    let mut text = serde_json::to_string_pretty(comparison).map_err(refuse)?;
    serde_json::from_str::<Comparison>(&text).map_err(refuse)?;
    text.push('\n');
    Ok(text)
}
