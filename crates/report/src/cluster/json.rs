//! The document as JSON, indented, one trailing newline.

use model::cluster::ClusterDocument;

use crate::render::RenderError;

/// The document as text.
///
/// # Errors
/// Where it holds a figure that is not finite: JSON has no word for one, and a document that does not load again must
/// not be written.
pub fn render(document: &ClusterDocument) -> Result<String, RenderError> {
    let refuse =
        |error: serde_json::Error| RenderError::new(format!("the document cannot be written as JSON: {error}"));
    let mut text = serde_json::to_string_pretty(document).map_err(refuse)?;
    serde_json::from_str::<ClusterDocument>(&text).map_err(refuse)?;
    text.push('\n');
    Ok(text)
}
