//! The sentence below a chart's title: what its results say, by the rules of the tables and of the findings.

use model::document::Document;
use model::number::brief::times;

use super::measured::{Measured, by_key};

/// A value of a result, to be compared with those of the other results of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) value: f64,
    pub(crate) name: String,
    /// Whether a result that it rests on has low confidence.
    pub(crate) is_doubtful: bool,
}

impl Seen {
    /// The second over the first; `None` where it is no number.
    pub(crate) fn ratio(name: &str, first: &Measured<'_>, second: &Measured<'_>) -> Option<Self> {
        let value = second.value() / first.value();
        let is_doubtful = first.is_doubtful() || second.is_doubtful();
        (value.is_finite() && value > 0.0).then(|| Self { value, name: name.to_owned(), is_doubtful })
    }
}

/// `1.11x (read) to 1.24x (copy)`: the least and the greatest. Values with low confidence count where there are no others.
pub(crate) fn range(seen: impl IntoIterator<Item = Seen>, words: impl Fn(f64) -> String) -> Option<String> {
    let (doubtful, sure): (Vec<Seen>, Vec<Seen>) = seen.into_iter().partition(|seen| seen.is_doubtful);
    let suffix = if sure.is_empty() { " (low confidence)" } else { "" };
    let mut all = if sure.is_empty() { doubtful } else { sure };
    all.sort_by(|one, other| one.value.total_cmp(&other.value));
    let (least, most) = (all.first()?, all.last()?);
    let named = |seen: &Seen| {
        let name = if seen.name.is_empty() { String::new() } else { format!(" ({})", seen.name) };
        format!("{}{name}", words(seen.value))
    };
    let text = match (words(least.value), words(most.value)) {
        (one, other) if one == other && all.len() > 1 => one,
        _ if all.len() == 1 => named(least),
        _ => format!("{} to {}", named(least), named(most)),
    };
    Some(text + suffix)
}

/// The same of factors.
pub(crate) fn factors(seen: impl IntoIterator<Item = Seen>) -> Option<String> {
    range(seen, times)
}

/// Equal answers together, those with the most names first: `1 MiB with 2 threads (RWS, RS); 8 KiB (WR)`.
pub(crate) fn answers(all: Vec<(String, String)>) -> Option<String> {
    let count = all.len();
    let mut groups = by_key(all, |(answer, _)| Some(answer.clone()));
    groups.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let words = groups.iter().map(|(answer, names)| {
        let names: Vec<&str> = names.iter().map(|(_, name)| name.as_str()).filter(|name| !name.is_empty()).collect();
        if groups.len() == 1 && count > 1 || names.is_empty() {
            answer.clone()
        } else {
            format!("{answer} ({})", names.join(", "))
        }
    });
    (count > 0).then(|| words.collect::<Vec<_>>().join("; "))
}

/// The sentence of the first finding by this rule that rests on these results and no others.
pub(crate) fn finding(document: &Document, code: &str, all: &[Measured<'_>]) -> Option<String> {
    let is_shown = |id: &String| all.iter().any(|measured| measured.row.id == *id);
    let found = document.findings.iter().find(|found| found.code == code && found.evidence.iter().all(is_shown));
    found.map(|found| found.text.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(value: f64, name: &str, is_doubtful: bool) -> Seen {
        Seen { value, name: name.into(), is_doubtful }
    }

    #[test]
    fn a_range_names_its_ends_and_leaves_out_what_is_doubtful() {
        let all = vec![seen(1.24, "copy", false), seen(1.11, "read", false), seen(9.0, "write", true)];
        assert_eq!(factors(all).unwrap(), "1.11x (read) to 1.24x (copy)");
        assert_eq!(factors([seen(1.5, "", true)]).unwrap(), "1.50x (low confidence)");
        assert_eq!(factors([seen(2.0, "a", false), seen(2.001, "b", false)]).unwrap(), "2.00x");
        assert_eq!(factors([]), None);
    }

    #[test]
    fn equal_answers_are_together() {
        let of = |all: &[[&str; 2]]| answers(all.iter().map(|[one, other]| ((*one).into(), (*other).into())).collect());
        let words = of(&[["8 KiB", "WR"], ["1 MiB", "RS"], ["1 MiB", "RWS"]]);
        assert_eq!(words.unwrap(), "1 MiB (RS, RWS); 8 KiB (WR)");
        assert_eq!(of(&[["1 MiB", "RS"], ["1 MiB", "WS"]]).unwrap(), "1 MiB");
        assert_eq!(of(&[["1 MiB", ""]]).unwrap(), "1 MiB");
        assert_eq!(of(&[]), None);
    }
}
