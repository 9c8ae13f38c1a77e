//! The raw data inside the report: the document and its table, packed. A browser without scripts saves the packed file,
//! with scripts the unpacked one.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use model::document::Document;
use serde::Serialize;

use crate::formats::csv;
use crate::render::RenderError;
use model::number::size;

/// The most characters of all packed files together. Chromium refuses to save from an address of more than 2 MiB
/// (`url::kMaxURLChars` in `url/url_constants.h`), and a report must remain small enough to be sent.
const MOST: usize = 1_600_000;

#[derive(Debug, Serialize)]
pub(crate) struct File {
    name: &'static str,
    media: &'static str,
    about: &'static str,
    /// Its unpacked size.
    size: String,
    /// The content, compressed by gzip, in base64.
    packed: String,
}

fn refuse(error: impl std::fmt::Display) -> RenderError {
    RenderError::new(format!("the document cannot be packed: {error}"))
}

/// The files that fit: the document with every sample, and its table of summaries. An error where a value of the document
/// is not finite, which JSON cannot express.
pub(super) fn files(document: &Document) -> Result<Vec<File>, RenderError> {
    let json = serde_json::to_vec(document).map_err(refuse)?;
    let table = csv::render(document).into_bytes();
    fitting([
        ("run.json", "application/json", "the document with every sample", json),
        ("run.csv", "text/csv", "one line per metric of each row", table),
    ])
}

/// A file before it is packed: name, media type, description, content.
pub(crate) type Unpacked = (&'static str, &'static str, &'static str, Vec<u8>);

/// The files that fit into a report, in their order.
pub(crate) fn fitting(files: impl IntoIterator<Item = Unpacked>) -> Result<Vec<File>, RenderError> {
    let mut kept: Vec<File> = Vec::new();
    for (name, media, about, bytes) in files {
        let packed = STANDARD.encode(gzip(&bytes).map_err(refuse)?);
        let before: usize = kept.iter().map(|file| file.packed.len()).sum();
        if before + packed.len() <= MOST {
            kept.push(File { name, media, about, size: size(bytes.len() as u64), packed });
        }
    }
    Ok(kept)
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn what_is_packed_can_be_unpacked() {
        let bytes: Vec<u8> = (0_u32..100_000).flat_map(|n| (n % 251 * n % 13).to_le_bytes()).collect();
        let packed = gzip(&bytes).unwrap();
        assert!(packed.len() < bytes.len() / 4 && packed.starts_with(&[0x1f, 0x8b]));
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, bytes);
    }
}
