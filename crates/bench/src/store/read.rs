//! Reading the document of a run.

use std::path::Path;

use model::document::{Document, EARLIER_SCHEMA, SCHEMA};
use model::json::FromJson;
use serde::Deserialize;
use sys::file::read_regular;

use crate::journal;

pub const DOCUMENT: &str = "run.json";
pub const PAGE: &str = "report.html";
/// The largest document that is read: the classic suite writes 5 MB.
pub const MOST_DOCUMENT_BYTES: u64 = 64 << 20;
const OTHER_RUN: &str = "Name another run: assay runs";

/// A run's document, with journalled samples if it was interrupted.
pub(super) fn load_folder(folder: &Path) -> Result<Document, String> {
    let mut document = load_file(&folder.join(DOCUMENT))?;
    if !document.run.complete {
        crate::runner::add_journalled(&mut document, &journal::samples(folder));
    }
    Ok(document)
}

/// The document in a file, if this version knows its schema.
pub fn load_file(path: &Path) -> Result<Document, String> {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }
    let shown = path.display();
    let bytes = read_regular(path, MOST_DOCUMENT_BYTES).map_err(|error| format!("cannot read '{shown}': {error}"))?;
    let unknown = |schema: &str| {
        format!(
            "'{shown}' has the schema '{schema}', which this version of Assay does not know. Use the version that wrote it"
        )
    };
    let is_known = |schema: &str| matches!(schema, SCHEMA | EARLIER_SCHEMA);
    match Document::from_json(&bytes) {
        Ok(document) if is_known(&document.schema) => Ok(Document { schema: SCHEMA.to_owned(), ..document }),
        Ok(document) => Err(unknown(&document.schema)),
        Err(error) => Err(match serde_json::from_slice::<Head>(&bytes) {
            Ok(Head { schema: Some(schema) }) if is_known(&schema) => {
                format!("'{shown}' is a damaged run: {error}. {OTHER_RUN}")
            }
            Ok(Head { schema: Some(schema) }) => unknown(&schema),
            Err(error) if !error.is_data() => format!("'{shown}' is not a run: {error}. {OTHER_RUN}"),
            _ => format!("'{shown}' is not a run: it has no schema. {OTHER_RUN}"),
        }),
    }
}
