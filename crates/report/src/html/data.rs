//! The raw data inside the report: the document, or its table, packed. A browser without scripts saves the packed file,
//! with scripts the unpacked one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use miniz_oxide::deflate::compress_to_vec;
use model::document::Document;
use serde::Serialize;
use serde_json::{Number, Value};

use crate::formats::csv;
use model::number::size;

/// The most characters of all packed files together: Chromium refuses to save from an address of more than 2 MiB
/// (`url::kMaxURLChars` in `url/url_constants.h`).
pub(crate) const MOST: usize = 1_600_000;

#[derive(Debug, Serialize)]
pub(crate) struct File {
    name: &'static str,
    media: &'static str,
    about: &'static str,
    size: String,
    packed: String,
}

fn refuse(error: impl std::fmt::Display) -> String {
    format!("the document cannot be packed: {error}")
}

/// The document with every sample, or where that does not fit into this many characters, its table of summaries. An error
/// where a value of the document is not finite, which JSON cannot express.
pub(super) fn files(document: &Document, most: usize) -> Result<Vec<File>, String> {
    let mut json = serde_json::to_value(document).map_err(refuse)?;
    round(&mut json);
    let json = serde_json::to_vec(&json).map_err(refuse)?;
    let table = csv::render(document).into_bytes();
    let all = [
        ("run.json", "application/json", "the document with every sample, in eight digits", json),
        ("run.csv", "text/csv", "one line per metric of each result", table),
    ];
    let mut files = fitting(all, most);
    files.truncate(1);
    Ok(files)
}

/// Numbers in eight digits, which pack into half the space of all digits.
fn round(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let short = number.as_f64().and_then(|own| format!("{own:.7e}").parse().ok()).and_then(Number::from_f64);
            *number = short.unwrap_or_else(|| number.clone());
        }
        Value::Array(values) => values.iter_mut().for_each(round),
        Value::Object(values) => values.values_mut().for_each(round),
        _ => {}
    }
}

pub(crate) type Unpacked = (&'static str, &'static str, &'static str, Vec<u8>);

/// The files that fit into this many characters, in their order.
pub(crate) fn fitting(files: impl IntoIterator<Item = Unpacked>, most: usize) -> Vec<File> {
    let mut kept: Vec<File> = Vec::new();
    for (name, media, about, bytes) in files {
        let packed = STANDARD.encode(gzip(&bytes));
        let before: usize = kept.iter().map(|file| file.packed.len()).sum();
        if before + packed.len() <= most {
            kept.push(File { name, media, about, size: size(bytes.len() as u64), packed });
        }
    }
    kept
}

/// A gzip file (RFC 1952): header, deflated bytes, checksum, length. The checksum is computed bit by bit: the tables of
/// `crc32fast` take 16 KiB of the program, and packing takes most of the time.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let step = |crc: u32, _| crc >> 1 ^ 0xEDB8_8320 & (crc & 1).wrapping_neg();
    let crc = bytes.iter().fold(!0, |crc: u32, byte| (0..8).fold(crc ^ u32::from(*byte), step));
    let [deflated, length] = [compress_to_vec(bytes, 9), bytes.len().to_le_bytes()[..4].to_vec()];
    [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255], deflated.as_slice(), &(!crc).to_le_bytes(), &length].concat()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn what_is_packed_can_be_unpacked() {
        let bytes: Vec<u8> = (0_u32..100_000).flat_map(|n| (n % 251 * n % 13).to_le_bytes()).collect();
        let packed = gzip(&bytes);
        assert!(packed.len() < bytes.len() / 4 && packed.starts_with(&[0x1f, 0x8b]));
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, bytes);
    }
}
