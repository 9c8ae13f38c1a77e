//! Reasons and kinds of limits in words. Reasons that differ in numbers alone share a sentence; numbers in names (`avx512`,
//! `n1`) make reasons different.

use areas::cpu::label as cpu;
use model::document::Row;
use model::experiment::CpuParams;
use model::peak::PeakKind;

use crate::html::text::capital;

pub(crate) const NO_REASON: &str = "no reason was recorded";

const REASONS: &[(&str, &str)] = &[
    ("time_budget", "the time budget was used up; raise --time-budget"),
    ("write_budget", "the write budget was used up; raise --write-budget"),
    ("interrupted", "the run was interrupted before it started"),
];

/// A piece of a reason, with its value where it is a number.
type Part<'a> = (&'a str, Option<f64>);

/// The same for reasons that differ in numbers alone.
pub(crate) fn shape(reason: &str) -> String {
    parts(reason).into_iter().map(|(text, number)| if number.is_some() { "#" } else { text }).collect()
}

/// One sentence for reasons of the same shape: `expected to take 31 to 955 s`. Empty without reasons.
pub(crate) fn merged(reasons: &[&str]) -> String {
    let all: Vec<Vec<Part<'_>>> = reasons.iter().map(|reason| parts(reason)).collect();
    let Some(first) = all.first() else { return String::new() };
    let shown = |(place, (text, number)): (usize, &Part<'_>)| {
        let numbers = || all.iter().filter_map(|parts| parts.get(place).copied()).filter(|_| number.is_some());
        let least = numbers().reduce(|least, other| if other.1 < least.1 { other } else { least });
        let most = numbers().reduce(|most, other| if other.1 > most.1 { other } else { most });
        match (least, most) {
            (Some((least, _)), Some((most, _))) if least != most => format!("{least} to {most}"),
            _ => (*text).to_owned(),
        }
    };
    first.iter().enumerate().map(shown).collect()
}

fn parts(reason: &str) -> Vec<Part<'_>> {
    reason.split_inclusive(' ').flat_map(word_parts).collect()
}

/// A word with the blank behind it: a number and the rest, or words.
fn word_parts(word: &str) -> impl Iterator<Item = Part<'_>> {
    let digits = word.trim_end_matches([' ', ',', ';', ':', '.', ')']);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = digits.parse().ok().filter(|_| is_number);
    let words = if number.is_some() { &word[digits.len()..] } else { word };
    number.map(|number| (digits, Some(number))).into_iter().chain([(words, None)])
}

/// A kind of peak in a sentence.
pub(crate) const fn kind_words(kind: PeakKind) -> &'static str {
    match kind {
        PeakKind::Sustained => "limit at the measured clock",
        PeakKind::Boost => "boost peak",
        PeakKind::Base => "base peak",
        PeakKind::Declared => "declared limit",
        PeakKind::Datasheet => "data sheet",
        PeakKind::Link => "link",
        PeakKind::Limit => "limit",
        PeakKind::PlatformMaximum => "platform maximum",
        PeakKind::MeasuredCeiling => "ceiling",
        PeakKind::Inferred => "inferred peak",
    }
}

/// Why a row was not measured, without what its line says, so that rows share the sentence.
pub(crate) fn without_words(row: &Row) -> String {
    let reason = row.reason.as_deref().unwrap_or(NO_REASON);
    let status = capital(row.status.name());
    let wanting = cpu::params(row).and_then(|CpuParams { op, element, isa, threads: _ }| {
        let why = reason.strip_prefix(&format!("{op} of {element} needs {isa}: "))?;
        Some(format!("{status}, needs {}: {}", isa.title(), reason_words(why)))
    });
    wanting.unwrap_or_else(|| format!("{status}: {}", reason_words(reason)))
}

/// A reason as a sentence.
pub(crate) fn reason_words(reason: &str) -> String {
    let known = REASONS.iter().find(|(word, _)| *word == reason).map_or(reason, |(_, words)| *words).trim_end();
    if known.ends_with(['.', '!', '?']) { known.to_owned() } else { format!("{known}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_differ_in_numbers_are_one() {
        let of = |seconds: &str| format!("a solution is expected to take {seconds} s, and no more than 20 s are given");
        let [a, b, c] = ["84.5", "31", "955"].map(of);
        assert_eq!((shape(&a), shape(&a)), (shape(&b), shape(&c)));
        assert_eq!(merged(&[&a, &b, &c]), of("31 to 955"));
        assert_eq!(merged(&[&a, &a]), a);
        assert_eq!(merged(&[]), "");
    }

    #[test]
    fn numbers_in_names_and_units_make_a_difference() {
        for (one, other) in
            [("needs avx512 here", "needs avx2 here"), ("takes 4 KiB", "takes 4 MiB"), ("n1", "n2"), ("", "1")]
        {
            assert_ne!(shape(one), shape(other));
        }
        for text in ["", " ", "1", "1.", "at 3, 4; (5).", ". . .", "…", "1e9 -3 +4 inf NaN"] {
            assert_eq!(merged(&[text]), text);
        }
        assert_eq!(shape("at 3, 4; 5."), "at #, #; #.");
    }
}
