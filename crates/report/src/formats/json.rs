//! The document as JSON, indented, one trailing newline.

use model::document::Document;

use crate::render::{Render, RenderError};

/// Writes the document itself.
#[derive(Clone, Copy, Debug)]
pub struct Json;

impl Render for Json {
    fn render(&self, document: &Document) -> Result<Vec<u8>, RenderError> {
        render(document).map(String::into_bytes)
    }
}

/// The document as text.
///
/// # Errors
/// Where it holds a figure that is not finite: JSON has no word for one, and a document that does not load again must
/// not be written. (Where a fact may be absent, a figure that is none becomes `null`, which is what it is.)
pub fn render(document: &Document) -> Result<String, RenderError> {
    let refuse =
        |error: serde_json::Error| RenderError::new(format!("the document cannot be written as JSON: {error}"));
    let mut text = serde_json::to_string_pretty(document).map_err(refuse)?;
    serde_json::from_str::<Document>(&text).map_err(refuse)?;
    text.push('\n');
    Ok(text)
}
