//! The answer in three sentences: how close the machine is to its limits, which limits are known, and how far the
//! values can be trusted; below it, the most important warnings.

use minijinja::{Value, context};
use model::document::{Document, Status};
use model::number::counted;
use model::warning::Confidence;

use super::gauge::{ABOVE, Gauge};
use super::log::WarningKind;
use super::text::{capital, listed};
use areas::label::area_words;

const MOST_WARNINGS: usize = 4;

/// The sentences, the confidence, the warnings, and the number of results without values.
pub(super) fn verdict(document: &Document, gauges: &[Gauge], kinds: &[WarningKind]) -> Value {
    let sentences = closeness(gauges).into_iter().chain(limits(gauges)).chain([trust(document, kinds)]);
    let warnings = kinds.iter().filter(|kind| kind.lowered() > 0).take(MOST_WARNINGS);
    context! {
        sentences => sentences.collect::<Vec<_>>(),
        confidence => document.run.confidence.map(Confidence::name),
        meaning => meaning(document.run.confidence),
        warnings => warnings.collect::<Vec<_>>(),
        absent => absent(document),
    }
}

/// `1 failed, 4 skipped`; empty where all results have values.
fn absent(document: &Document) -> String {
    let count = |status: Status| document.experiments.iter().filter(|row| row.status == status).count();
    let counts = [Status::Failed, Status::Skipped].map(|status| (count(status), status.name()));
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, name)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
}

const fn meaning(confidence: Option<Confidence>) -> &'static str {
    match confidence {
        Some(Confidence::High) => "trust its results",
        Some(Confidence::Fair) => "usable with care",
        Some(Confidence::Low) => "some results are disturbed",
        None => "nothing was rated",
    }
}

/// The share of its limit that each area reaches.
fn closeness(gauges: &[Gauge]) -> Option<String> {
    let share = |gauge: &Gauge| {
        // A value stays on one line with its unit.
        let [share, value] = [gauge.share.as_ref()?, &gauge.value].map(|value| value.replace(' ', "\u{a0}"));
        Some(format!("{} reaches {share} {} ({value}, {})", area_words(gauge.area), gauge.of.as_ref()?, gauge.what))
    };
    let shares: Vec<String> = gauges.iter().filter_map(share).collect();
    (!shares.is_empty()).then(|| format!("{}.", capital(&listed(&shares))))
}

/// Which areas have a limit.
fn limits(gauges: &[Gauge]) -> Option<String> {
    let unknown = gauges.iter().filter(|gauge| gauge.share.is_none() && gauge.why != ABOVE);
    let unknown: Vec<String> = unknown.map(|gauge| area_words(gauge.area).to_owned()).collect();
    if !unknown.is_empty() {
        return Some(format!(
            "The limit of {} is unknown, so its results have no share of it. Use --declare if you know the limit.",
            listed(&unknown)
        ));
    }
    match gauges.iter().filter(|gauge| gauge.share.is_some()).count() {
        0 => None,
        1 => Some("This limit was calculated for this machine; the formula is below.".to_owned()),
        _ => Some("Each limit was calculated for this machine; the formulas are below.".to_owned()),
    }
}

/// How many results can be trusted, and the most frequent warning.
fn trust(document: &Document, kinds: &[WarningKind]) -> String {
    let rows = &document.experiments;
    if rows.is_empty() {
        return "Nothing was planned, so nothing was measured.".to_owned();
    }
    let with = |status: Status| rows.iter().filter(|row| row.status == status).count();
    let rated = |confidence: Confidence| rows.iter().filter(|row| row.confidence == Some(confidence)).count();
    let parts = [
        (rated(Confidence::High), "can be trusted as they are"),
        (rated(Confidence::Fair), "can be used with their warnings in mind"),
        (rated(Confidence::Low), "were disturbed and must not be quoted"),
        (with(Status::Failed), "failed"),
        (with(Status::Skipped), "were skipped"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0).collect::<Vec<_>>();
    // The first of equals.
    let worst = kinds.iter().rev().max_by_key(|kind| kind.lowered()).filter(|kind| kind.lowered() > 0);
    let why = worst.map_or_else(String::new, |kind| {
        format!("; the most frequent reason is {} ({})", kind.words, counted(kind.lowered() as u64, "result"))
    });
    let cut = if document.run.complete { "" } else { "This run was interrupted. " };
    format!("{cut}{}{why}.", of_results(rows.len(), &parts))
}

/// `All 9 results were skipped`, `Of 9 results 1 failed and 8 were skipped`.
fn of_results(all: usize, parts: &[(usize, &str)]) -> String {
    match (all, parts) {
        (1, [(_, words)]) => format!("The result {}", for_count(1, words)),
        (2, [(_, words)]) => format!("Both results {words}"),
        (_, [(count, words)]) if *count == all => format!("All {all} results {words}"),
        _ => {
            let counts = parts.iter().map(|(count, words)| format!("{count} {}", for_count(*count, words)));
            format!("Of {} {}", counted(all as u64, "result"), listed(&counts.collect::<Vec<_>>()))
        }
    }
}

/// A verb for one row or for several.
fn for_count(count: usize, words: &str) -> String {
    let singular = || words.replace("were ", "was ").replace("they are", "it is").replace("their ", "its ");
    if count == 1 { singular() } else { words.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_results_are_counted_as_all() {
        let bad = "were disturbed and must not be quoted";
        assert_eq!(of_results(26, &[(26, bad)]), "All 26 results were disturbed and must not be quoted");
        assert_eq!(of_results(2, &[(2, "can be trusted as they are")]), "Both results can be trusted as they are");
        assert_eq!(of_results(1, &[(1, "can be trusted as they are")]), "The result can be trusted as it is");
        assert_eq!(of_results(9, &[(1, "failed"), (8, "were skipped")]), "Of 9 results 1 failed and 8 were skipped");
    }
}
