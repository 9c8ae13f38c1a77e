//! What every renderer is, and why one fails.

use model::document::Document;

/// Something that turns a document into bytes.
pub trait Render: std::fmt::Debug + Sync {
    /// The whole output for one document.
    ///
    /// # Errors
    /// Where the document cannot be written in this form.
    fn render(&self, document: &Document) -> Result<Vec<u8>, RenderError>;
}

/// Why a document could not be rendered, in one sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderError {
    message: String,
}

impl RenderError {
    /// An error with this sentence.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl std::fmt::Display for RenderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RenderError {}
