//! Phrases that several findings share.

/// The most characters of a sentence: two lines of a hundred.
pub(super) const LONGEST: usize = 200;

/// How many of all results: `the row`, `both rows`, `all 9 rows`, `3 of the 9 rows`.
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
#[must_use]
pub fn joined(parts: &[String]) -> String {
    match parts {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => parts.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_as_one_says_it() {
        let counted =
            [(1, 1), (2, 2), (9, 9), (1, 9), (3, 9)].map(|(count, all)| (rows_of(count, all), any_of(count, all)));
        let expected = [
            ("the row", "the row"),
            ("both rows", "either row"),
            ("all 9 rows", "any of the 9 rows"),
            ("1 of the 9 rows", "1 of the 9 rows"),
            ("3 of the 9 rows", "3 of the 9 rows"),
        ];
        assert_eq!(counted, expected.map(|(of, any)| (of.to_owned(), any.to_owned())));
    }
}
