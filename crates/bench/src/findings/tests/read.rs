//! Reading a sentence back: its fields by the documented pattern, and the figures in them. None of what wrote it is used.

use std::collections::BTreeMap;

/// The fields of a text that follows a pattern; `None` where it does not.
pub(super) fn fields(pattern: &str, text: &str) -> Option<BTreeMap<String, String>> {
    let Some((literal, rest)) = pattern.split_once('{') else {
        return (pattern == text).then(BTreeMap::new);
    };
    let text = text.strip_prefix(literal)?;
    let (name, rest) = rest.split_once('}')?;
    let next = rest.split('{').next().unwrap_or_default();
    // The shortest value first; what follows decides. Where another field follows at once it begins with a mark.
    let follows = |at: &usize| {
        let after = &text[*at..];
        let marked = after == "." || [", ", ": ", "; "].iter().any(|mark| after.starts_with(mark));
        after.starts_with(next) && (!next.is_empty() || rest.is_empty() || marked)
    };
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]).filter(follows);
    for end in ends {
        if let Some(mut found) = fields(rest, &text[end..]) {
            found.insert(name.to_owned(), text[..end].to_owned());
            return Some(found);
        }
    }
    None
}

/// Units as sentences have them, in base units; bits of networks in bytes.
const UNITS: &[(&str, f64)] = &[
    ("", 1.0),
    ("x", 1.0),
    ("%", 0.01),
    ("s", 1.0),
    ("ms", 1e-3),
    ("us", 1e-6),
    ("ns", 1e-9),
    ("B/s", 1.0),
    ("kB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("TB/s", 1e12),
    ("b/s", 0.125),
    ("kb/s", 125.0),
    ("Mb/s", 125e3),
    ("Gb/s", 125e6),
    ("Tb/s", 125e9),
    ("FLOP/s", 1.0),
    ("MFLOP/s", 1e6),
    ("GFLOP/s", 1e9),
    ("TFLOP/s", 1e12),
    ("OP/s", 1.0),
    ("MOP/s", 1e6),
    ("GOP/s", 1e9),
    ("TOP/s", 1e12),
    ("requests/s", 1.0),
    ("thousand requests/s", 1e3),
    ("million requests/s", 1e6),
    ("million", 1e6),
    ("billion", 1e9),
    ("Hz", 1.0),
    ("MHz", 1e6),
    ("GHz", 1e9),
    ("B", 1.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("thread", 1.0),
    ("threads", 1.0),
    ("connections", 1.0),
];

/// A figure with half of its last digit.
pub(super) fn number(text: &str) -> Result<(f64, f64), String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c)).unwrap_or(text.len());
    let (digits, unit) = (&text[..end], text[end..].trim());
    let value: f64 = digits.parse().map_err(|_| format!("'{text}' is no figure"))?;
    let factor = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(|| format!("'{text}' has no known unit"))?.1;
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    Ok((value * factor, 0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(0)) * factor))
}

/// Whether a figure is this value as far as it is printed.
pub(super) fn says(text: &str, value: f64) -> Result<(), String> {
    let (printed, half) = number(text)?;
    // The boundary between two roundings may fall to either side.
    let holds = (printed - value).abs() <= half * (1.0 + 1e-6) + 1e-9 * value.abs();
    if holds { Ok(()) } else { Err(format!("'{text}' is not {value:e}")) }
}

/// The sentence with one figure made another, once for each.
pub(super) fn lies(text: &str) -> Vec<String> {
    let mut lies = Vec::new();
    let mut at = 0;
    while let Some(begin) = text[at..].find(|c: char| c.is_ascii_digit()).map(|found| at + found) {
        let length = text[begin..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - begin);
        let digits = &text[begin..begin + length];
        let other: String = digits
            .chars()
            .enumerate()
            .map(|(index, digit)| match (index, digit) {
                (0, '9') => '4',
                (0, '0') => '5',
                (0, digit) => char::from(digit as u8 + 1),
                (_, digit) => digit,
            })
            .collect();
        lies.push(format!("{}{other}{}", &text[..begin], &text[begin + length..]));
        at = begin + length;
    }
    lies
}
