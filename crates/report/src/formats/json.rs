//! The document as JSON, indented, one trailing newline.

use model::document::Document;
use model::json::FromJson;
use serde::Serialize;

/// The document as text.
pub fn render(document: &Document) -> Result<String, String> {
    pretty(document, "document")
}

/// Any document as indented JSON that loads again, with a newline at the end; `what` names it in errors. An error where a
/// value that may not be absent is not finite, which JSON cannot express.
pub fn pretty<T: Serialize + FromJson>(document: &T, what: &str) -> Result<String, String> {
    let refuse = |error: serde_json::Error| format!("the {what} cannot be written as JSON: {error}");
    let mut text = serde_json::to_string_pretty(document).map_err(refuse)?;
    T::from_json(text.as_bytes()).map_err(refuse)?;
    text.push('\n');
    Ok(text)
}
