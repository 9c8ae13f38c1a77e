//! A comparison as a table for a terminal, as Markdown for a pull request, and as JSON. Verdicts and explanations are the
//! comparison's own.

mod bar;
mod markdown;
mod parts;
mod text;

use model::comparison::Comparison;

use crate::formats::json::pretty;
use crate::render::RenderError;

pub use markdown::markdown;
pub use text::text;

/// The comparison as JSON.
///
/// # Errors
/// A value is not finite, which JSON cannot express.
pub fn json(comparison: &Comparison) -> Result<String, RenderError> {
    pretty(comparison, "comparison")
}
