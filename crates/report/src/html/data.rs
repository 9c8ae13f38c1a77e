//! The raw data inside the page: the document and its table, packed, so that whoever has the page has the run.
//!
//! A browser without scripts saves the packed file; with them it saves what is in it.

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

/// Most characters of packed files in a page, all of them together. Chromium refuses to save from an address of more than 2 MiB
/// (`url::kMaxURLChars` in `url/url_constants.h`), and a page has to stay light enough to be sent.
const MOST: usize = 1_600_000;

/// A file inside the page.
#[derive(Debug, Serialize)]
pub(crate) struct File {
    name: &'static str,
    media: &'static str,
    about: &'static str,
    /// Its size once unpacked.
    size: String,
    /// Packed by gzip, in base64.
    packed: String,
}

/// The files that fit: the document with every sample, and its table of summaries.
///
/// # Errors
/// Where the document cannot be written as JSON, since a figure is not finite.
pub(super) fn files(document: &Document) -> Result<Vec<File>, RenderError> {
    let refuse = |error: serde_json::Error| RenderError::new(format!("the document cannot be packed: {error}"));
    let json = serde_json::to_vec(document).map_err(refuse)?;
    let table = csv::render(document).into_bytes();
    let files = [
        ("run.json", "application/json", "the document with every sample", json),
        ("run.csv", "text/csv", "one line per metric of each row", table),
    ];
    fitting(files)
}

/// A file before it is packed: name, kind of media, what it is, what is in it.
pub(crate) type Unpacked = (&'static str, &'static str, &'static str, Vec<u8>);

/// Those of the files that fit into a page, in their order.
///
/// # Errors
/// Where one cannot be packed.
pub(crate) fn fitting(files: impl IntoIterator<Item = Unpacked>) -> Result<Vec<File>, RenderError> {
    let refuse = |error: std::io::Error| RenderError::new(format!("the document cannot be packed: {error}"));
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
