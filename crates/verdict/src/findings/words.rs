//! Figures as sentences have them.

pub(super) use model::number::brief::{bits, bytes, flops, hertz, percent, quantity as figure, requests, time, times};
use model::number::counted;
pub(super) use model::number::size_exact as size;

/// The most characters of a sentence: two lines of a hundred.
pub(super) const LONGEST: usize = 200;

/// `1 thread`, `2 threads`.
pub(super) fn threads(count: u32) -> String {
    counted(count.into(), "thread")
}

/// So many of all rows: `the row`, `both rows`, `all 9 rows`, `3 of the 9 rows`.
pub(super) fn rows_of(count: usize, all: usize) -> String {
    match (count, all) {
        (1, 1) => "the row".to_owned(),
        (2, 2) => "both rows".to_owned(),
        _ if count == all => format!("all {all} rows"),
        _ => format!("{count} of the {all} rows"),
    }
}

/// The same after a "not": `any of the 9 rows`.
pub(super) fn any_of(count: usize, all: usize) -> String {
    match (count, all) {
        (2, 2) => "either row".to_owned(),
        _ if count == all && all > 1 => format!("any of the {all} rows"),
        _ => rows_of(count, all),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// The text with a capital at its beginning.
pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_as_one_says_it() {
        let told =
            [(1, 1), (2, 2), (9, 9), (1, 9), (3, 9)].map(|(count, all)| (rows_of(count, all), any_of(count, all)));
        let expected = [
            ("the row", "the row"),
            ("both rows", "either row"),
            ("all 9 rows", "any of the 9 rows"),
            ("1 of the 9 rows", "1 of the 9 rows"),
            ("3 of the 9 rows", "3 of the 9 rows"),
        ];
        assert_eq!(told, expected.map(|(of, any)| (of.to_owned(), any.to_owned())));
    }
}
