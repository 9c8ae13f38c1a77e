//! What a comparison has in common in every form.

use std::fmt::Write;

use model::comparison::{AreaMean, Change, Compared, Comparison, Direction, NotCompared};
use model::experiment::Area;
use model::number::{change, percent_short};
use model::unit::Unit;

use areas::label::area_title;
use model::number::{Notation, UnitScale, counted, percent};

/// The order in which verdicts are told: what changed, what cannot be told, what stayed.
pub(super) const ORDER: [Change; 3] = [Change::Changed, Change::Inconclusive, Change::Same];

/// The rows of a verdict, area by area in the order in which areas first appear.
pub(super) fn rows_of(comparison: &Comparison, verdict: Change) -> Vec<&Compared> {
    let mut areas: Vec<&str> = Vec::new();
    for row in &comparison.experiments {
        if !areas.contains(&area_word(&row.id)) {
            areas.push(area_word(&row.id));
        }
    }
    let of_area = |area| comparison.experiments.iter().filter(move |row| area_word(&row.id) == area);
    areas.into_iter().flat_map(of_area).filter(|row| row.verdict == verdict).collect()
}

/// The area that an id begins with.
pub(super) fn area_word(id: &str) -> &str {
    id.split('/').next().unwrap_or_default()
}

/// An area's title; the word itself where this version does not know it.
pub(super) fn area_words(word: &str) -> String {
    word.parse::<Area>().map_or_else(|_| word.to_owned(), |area| area_title(area).to_owned())
}

/// A verdict above its rows.
pub(super) const fn verdict_title(verdict: Change) -> &'static str {
    match verdict {
        Change::Changed => "Changed",
        Change::Inconclusive => "Cannot be told",
        Change::Same => "The same",
    }
}

/// A verdict beside its row.
pub(super) const fn verdict_words(row: &Compared) -> &'static str {
    match (row.verdict, row.direction) {
        (Change::Changed, Some(Direction::Worse)) => "worse",
        (Change::Changed, Some(Direction::Better)) => "better",
        (Change::Changed, None) => "changed",
        (Change::Inconclusive, _) => "cannot tell",
        (Change::Same, _) => "same",
    }
}

/// `2 of 38 rows changed, both for the worse; 30 are the same within 2 … 10 %; 6 cannot be told.`
pub(super) fn summary(comparison: &Comparison, ellipsis: &str) -> String {
    let rows = &comparison.experiments;
    let of = |verdict| rows.iter().filter(move |row| row.verdict == verdict);
    let count = |verdict| of(verdict).count();
    let total = counted(rows.len() as u64, "row");
    if rows.is_empty() {
        return "Nothing was compared.".to_owned();
    }
    let are = |count: usize| if count == 1 { "is" } else { "are" };
    let (changed, same, unknown) = (count(Change::Changed), count(Change::Same), count(Change::Inconclusive));
    let mut parts = vec![match changed {
        0 => format!("None of {total} changed"),
        _ => format!("{changed} of {total} changed, {}", directions(rows)),
    }];
    if same > 0 {
        let limits = limits(of(Change::Same), ellipsis);
        parts.push(format!("{same} {} the same within {limits}", are(same)));
    }
    if unknown > 0 {
        parts.push(format!("{unknown} cannot be told"));
    }
    format!("{}.", parts.join("; "))
}

/// In which directions rows changed: `both for the worse`, `2 for the worse and 1 for the better`.
pub(super) fn directions(rows: &[Compared]) -> String {
    let count = |direction| rows.iter().filter(|row| row.direction == Some(direction)).count();
    match (count(Direction::Worse), count(Direction::Better)) {
        (1, 0) => "for the worse".to_owned(),
        (2, 0) => "both for the worse".to_owned(),
        (_, 0) => "all for the worse".to_owned(),
        (0, 1) => "for the better".to_owned(),
        (0, 2) => "both for the better".to_owned(),
        (0, _) => "all for the better".to_owned(),
        (worse, better) => format!("{worse} for the worse and {better} for the better"),
    }
}

/// The thresholds of rows: `2 %`, `2 … 10 %`.
pub(super) fn limits<'a>(rows: impl Iterator<Item = &'a Compared> + Clone, ellipsis: &str) -> String {
    let least = rows.clone().map(|row| row.threshold).fold(f64::INFINITY, f64::min);
    let most = rows.map(|row| row.threshold).fold(0.0, f64::max);
    let (low, high) = (limit(least), limit(most));
    if low == high { format!("{high} %") } else { format!("{low} {ellipsis} {high} %") }
}

/// A threshold in percent, without the sign.
pub(super) fn limit(threshold: f64) -> String {
    percent_short(threshold).trim_end_matches(" %").to_owned()
}

/// How far a row must move to be called changed, in words for a cell: `10 %`, `10 + 4 %` with what disturbances may
/// account for.
pub(super) fn limit_words(row: &Compared) -> String {
    if row.allowance > 0.0005 {
        format!("{} + {} %", limit(row.threshold), limit(row.allowance))
    } else {
        format!("{} %", limit(row.threshold))
    }
}

/// The ends of an interval as changes: `-9.0 … -7.2`; empty where there is none.
pub(super) fn interval(row: &Compared, ellipsis: &str) -> String {
    row.ratio_ci95.map_or_else(String::new, |[low, high]| format!("{} {ellipsis} {}", change(low), change(high)))
}

/// Both figures of a row in one prefix, and the unit.
pub(super) fn figures(row: &Compared) -> [String; 3] {
    let area = area_word(&row.id).parse::<Area>();
    let notation = area.map_or(Notation::Plain(row.unit), |area| Notation::of(area, row.unit));
    let scale = UnitScale::common(&[row.base, row.new], notation).unwrap_or_else(|| UnitScale::of(row.base, notation));
    [scale.digits(row.base), scale.digits(row.new), scale.unit().to_owned()]
}

/// What a row is: its experiment, the other side's where it is another one, and its metric where the id has several.
pub(super) fn name(row: &Compared, comparison: &Comparison) -> String {
    let mut name = row.id.clone();
    if let Some(new) = &row.id_new {
        name = format!("{name} against {new}");
    }
    let several = comparison.experiments.iter().filter(|other| other.id == row.id).count() > 1;
    let usual = if row.unit == Unit::Second { "latency" } else { "throughput" };
    // Two rows of one experiment differ by their units; a name that the unit does not suggest is always said.
    if several && row.metric == "latency" || row.metric != usual && row.metric != "iops" {
        name = format!("{name} {}", row.metric);
    }
    name
}

/// Explanations, numbered in the order of reading; equal ones are one.
#[derive(Debug, Default)]
pub(super) struct Notes<'a> {
    pub(super) texts: Vec<&'a str>,
}

impl<'a> Notes<'a> {
    pub(super) fn of(comparison: &'a Comparison) -> Self {
        let mut texts: Vec<&str> = Vec::new();
        let rows = ORDER.into_iter().flat_map(|verdict| rows_of(comparison, verdict));
        for text in rows.filter_map(|row| row.explanation.as_deref()) {
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        Self { texts }
    }

    pub(super) fn number(&self, row: &Compared) -> Option<usize> {
        let text = row.explanation.as_deref()?;
        self.texts.iter().position(|other| *other == text).map(|index| index + 1)
    }
}

/// What was not compared, one entry for each reason, in the order in which they appear.
pub(super) fn reasons(not_compared: &[NotCompared]) -> Vec<(&str, Vec<&str>)> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in not_compared {
        match reasons.iter_mut().find(|(reason, _)| *reason == row.reason) {
            Some((_, ids)) => ids.push(&row.id),
            None => reasons.push((&row.reason, vec![&row.id])),
        }
    }
    reasons
}

/// What must be known to read the table: what the figures are, what the limit is, and what the samples cannot show.
pub(super) fn legend(comparison: &Comparison) -> String {
    let mut text = if comparison.live {
        "Change: NEW over BASE, the ratio of the medians of pairs measured in turn, with its 95 % interval.".to_owned()
    } else {
        "Change: NEW over BASE (Hodges-Lehmann), with its 95 % interval.".to_owned()
    };
    text.push_str(" Limit: smaller changes do not count.");
    if !comparison.live {
        text.push_str(" It is the larger of 2 % and twice the noise between runs.");
    }
    if comparison.experiments.iter().any(|row| limit_words(row).contains('+')) {
        text.push_str(" After the plus: what disturbances may account for.");
    }
    let mut sources: Vec<&str> = Vec::new();
    for source in comparison.experiments.iter().filter_map(|row| row.noise_source.as_deref()) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    if !sources.is_empty() {
        // Writing to a String cannot fail.
        let _ = write!(text, " Noise known from: {}.", sources.join("; "));
    }
    let one_session = |row: &&Compared| matches!(row.units.as_str(), "samples" | "launches");
    let launches = comparison.experiments.iter().filter(|row| row.units == "launches").count();
    if comparison.experiments.iter().any(|row| one_session(&row)) {
        text.push_str(" Intervals are of samples within one session; what sessions differ by is in the limit.");
    }
    if launches > 0 {
        let rows = counted(launches as u64, "row");
        let _ = write!(text, " On {rows} launches differ more than samples, so that launches were compared.");
    }
    text
}

/// `CPU -8.0 % (12 rows)`, for the foot of a table.
pub(super) fn means(means: &[AreaMean]) -> Option<String> {
    let words = |mean: &AreaMean| {
        format!("{} {} % ({})", area_words(&mean.area), change(mean.ratio), counted(u64::from(mean.n), "row"))
    };
    let all: Vec<String> = means.iter().map(words).collect();
    (!all.is_empty()).then(|| format!("Geometric mean of all rows, more is better: {}.", all.join(", ")))
}

/// The probability of a change by chance, for a cell.
pub(super) fn chance(row: &Compared) -> String {
    row.p.map_or_else(String::new, |p| if p < 0.0005 { "< 0.1 %".to_owned() } else { percent(p) })
}
