//! Phrases that several findings share.

/// The most characters of a sentence: two lines of a hundred.
pub(super) const LONGEST: usize = 200;

/// How many of all results: `the result`, `both results`, `all 9 results`, `3 of the 9 results`.
pub(super) fn results_of(count: usize, all: usize) -> String {
    match (count, all) {
        (1, 1) => "the result".to_owned(),
        (2, 2) => "both results".to_owned(),
        _ if count == all => format!("all {all} results"),
        _ => format!("{count} of the {all} results"),
    }
}

/// `a`, `a and b`, `a, b and c`.
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
    fn results_are_counted_in_words() {
        let counted = [(1, 1), (2, 2), (9, 9), (1, 9)].map(|(count, all)| results_of(count, all));
        assert_eq!(counted, ["the result", "both results", "all 9 results", "1 of the 9 results"]);
    }
}
