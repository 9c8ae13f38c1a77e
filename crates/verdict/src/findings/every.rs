//! Rules of every area: which results are disturbed, what to try, which limits are reached, and whether reference tools agree.

use std::collections::BTreeMap;

use model::document::{Finding, Row, Status};
use model::number::brief::{percent, quantity, times};
use model::peak::PeakKind;
use model::reference::Reference;
use model::sample::Metric;
use model::unit::Better;
use model::warning::{Confidence, WARNINGS, Warning, WarningCode, WarningRule};

use super::estimate::{Estimate, TENTH, is_undisturbed};
use super::rules::{DISTURBED, LIMIT_BINDS, REFERENCE_AGREES, REFERENCE_DIFFERS, WHAT_TO_TRY};
use super::words::{LONGEST, joined, results_of};
use crate::rules::AreaRules;

const BINDS: f64 = 0.9;
const BINDS_LOW: f64 = 0.85;
/// The least ratio of a tool's value and ours that differ.
const DIFFERS: f64 = 1.05;
const CAUSES: usize = 3;

pub(super) fn findings(rows: &[&Row], area: &AreaRules) -> Vec<Finding> {
    let measured: Vec<&Row> = rows.iter().copied().filter(|row| is_measured(row)).collect();
    let quiet: Vec<&Row> = measured.iter().copied().filter(|row| is_undisturbed(row)).collect();
    let mut findings: Vec<Finding> = disturbed(&measured, area).into_iter().collect();
    findings.extend(limits(&quiet, area));
    findings.extend(references(&quiet, area));
    findings
}

fn is_measured(row: &Row) -> bool {
    row.status == Status::Ok && row.confidence.is_some()
}

fn disturbed(measured: &[&Row], area: &AreaRules) -> Option<Finding> {
    let rows: Vec<&Row> = measured.iter().copied().filter(|row| row.confidence == Some(Confidence::Low)).collect();
    let mut causes: BTreeMap<String, usize> = BTreeMap::new();
    for row in &rows {
        let is_low = |warning: &&Warning| warning.confidence == Confidence::Low;
        let is_cause =
            |rule: &&WarningRule| row.warnings.iter().filter(is_low).any(|warning| warning.code == rule.code);
        let name = |rule: &WarningRule| rule.code.name().replace('_', " ").replace("cpu", "CPU");
        let cause = WARNINGS.iter().find(is_cause).map_or_else(|| "no warning".to_owned(), name);
        *causes.entry(cause).or_default() += 1;
    }
    let mut causes: Vec<(String, usize)> = causes.into_iter().collect();
    causes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let others: usize = causes.iter().skip(CAUSES).map(|(_, count)| count).sum();
    causes.truncate(CAUSES);
    causes.extend((others > 0).then(|| ("other causes".to_owned(), others)));
    let causes: Vec<String> = causes.iter().map(|(cause, count)| format!("{cause} ({count})")).collect();
    let fields = [
        ("area", area.findings.title.to_owned()),
        ("results", results_of(rows.len(), measured.len())),
        ("causes", causes.join(", ")),
    ];
    DISTURBED.finding(&fields, &rows)
}

struct Advice<'a> {
    words: String,
    areas: Vec<&'a AreaRules>,
    rows: Vec<&'a Row>,
    all: usize,
}

/// The advice that helps the most results of each area; areas with the same advice share a finding.
pub(super) fn what_to_try(rows: &[Row], areas: &[AreaRules]) -> Vec<Finding> {
    let mut advice: Vec<Advice<'_>> = Vec::new();
    for area in areas {
        let measured: Vec<&Row> = rows.iter().filter(|row| row.area == area.area && is_measured(row)).collect();
        let Some((rule, rows)) = most_helpful(&measured) else { continue };
        let words = words_of(rule, &rows);
        if let Some(same) = advice.iter_mut().find(|other| other.words == words) {
            same.areas.push(area);
            same.rows.extend(rows);
            same.all += measured.len();
        } else {
            advice.push(Advice { words, areas: vec![area], rows, all: measured.len() });
        }
    }
    advice.iter().filter_map(Advice::finding).collect()
}

/// The advice of the first result's warning, which may know the machine better than the rule.
fn words_of(rule: &WarningRule, rows: &[&Row]) -> String {
    let warnings = rows.iter().flat_map(|row| &row.warnings).filter(|warning| warning.code == rule.code);
    let first = warnings.map(|warning| warning.advice.as_str()).find(|advice| !advice.is_empty());
    first.unwrap_or(rule.advice).to_owned()
}

/// The warning that keeps the most results below high confidence, with these results.
fn most_helpful<'a>(measured: &[&'a Row]) -> Option<(&'static WarningRule, Vec<&'a Row>)> {
    let with = |code: WarningCode| -> Vec<&'a Row> {
        let costs = |row: &Row| {
            row.warnings.iter().any(|warning| warning.code == code && warning.confidence > Confidence::High)
        };
        measured.iter().copied().filter(|row| costs(row)).collect()
    };
    let helped = WARNINGS.iter().map(|rule| (rule, with(rule.code)));
    // Of two warnings with as many results the first counts: the table has causes before symptoms.
    let most = helped.reduce(|best, other| if other.1.len() > best.1.len() { other } else { best })?;
    (!most.1.is_empty()).then_some(most)
}

impl Advice<'_> {
    fn finding(&self) -> Option<Finding> {
        let is_acronym = |title: &str| title.chars().all(char::is_uppercase);
        let title = |(index, area): (usize, &&AreaRules)| match area.findings.title {
            title if index == 0 || is_acronym(title) => title.to_owned(),
            title => title.to_lowercase(),
        };
        let titles: Vec<String> = self.areas.iter().enumerate().map(title).collect();
        let fields = [
            ("area", joined(&titles)),
            ("results", results_of(self.rows.len(), self.all)),
            ("advice", self.words.trim_end_matches('.').to_owned()),
        ];
        WHAT_TO_TRY.finding(&fields, &self.rows)
    }
}

pub(super) const fn peak_words(kind: PeakKind) -> (&'static str, &'static str) {
    match kind {
        PeakKind::Sustained => ("limit at the measured clock", "the execution units are the limit"),
        PeakKind::Inferred => ("inferred limit", "it follows from measurements"),
        PeakKind::Declared => ("declared limit", "the declared value is the limit"),
        PeakKind::Datasheet => ("data sheet", "the hardware is the limit"),
        PeakKind::Link => ("link rate", "the link is the limit"),
        PeakKind::Limit => ("configured limit", "a setting is the limit, not the hardware"),
        PeakKind::MeasuredCeiling => ("measured limit", "another measurement here reaches no more"),
        PeakKind::Boost => ("limit at the boost clock", "the execution units are the limit"),
        PeakKind::Base => ("limit at the base clock", "the execution units are the limit"),
        PeakKind::PlatformMaximum => ("platform maximum", "the platform is the limit"),
    }
}

/// The efficiency of a result's first metric, with its span and the kind of the peak.
pub(super) fn efficiency(row: &Row) -> Option<(Estimate, PeakKind)> {
    let metric = row.metrics.first()?;
    let known = metric.efficiency.filter(|known| known.value > 0.0)?;
    let ours = Estimate::of_metric(metric)?;
    // A rate is divided by its peak; a time divides its own.
    let peak = if metric.better == Better::Higher { ours.median / known.value } else { ours.median * known.value };
    let share = |end: f64| if metric.better == Better::Higher { end / peak } else { peak / end };
    let mut span = ours.span.map(|span| span.map(share));
    if let Some(ends) = &mut span {
        ends.sort_by(f64::total_cmp);
    }
    let estimate = Estimate { median: known.value, span, ..ours };
    estimate.median.is_finite().then_some((estimate, known.of))
}

fn limits(quiet: &[&Row], area: &AreaRules) -> Vec<Finding> {
    // A peak that was inferred from the same results limits nothing.
    let kinds = PeakKind::ALL.iter().copied().filter(|kind| *kind != PeakKind::Inferred);
    let of_kind = |kind: PeakKind| {
        let known = quiet.iter().filter_map(move |row| Some((efficiency(row)?, *row)));
        known.filter(move |((_, of), _)| *of == kind).map(|((share, _), row)| (share, row)).collect::<Vec<_>>()
    };
    let finding = |kind: PeakKind| {
        let all = of_kind(kind);
        let near = |share: &Estimate| share.median >= BINDS && share.span.is_some_and(|[low, _]| low >= BINDS_LOW);
        let (shares, rows): (Vec<Estimate>, Vec<&Row>) = all.iter().filter(|(share, _)| near(share)).copied().unzip();
        let medians = || shares.iter().map(|share| share.median);
        let (name, limit) = peak_words(kind);
        let [least, most] = [medians().reduce(f64::min)?, medians().reduce(f64::max)?].map(percent);
        let fields = [
            ("area", area.findings.title.to_owned()),
            ("share", if least == most { most } else { format!("{least} to {most}") }),
            ("kind", name.to_owned()),
            ("results", results_of(rows.len(), all.len())),
            ("limit", limit.to_owned()),
        ];
        LIMIT_BINDS.finding(&fields, &rows)
    };
    kinds.filter_map(finding).collect()
}

struct Compared<'a> {
    ratio: Estimate,
    reference: &'a Reference,
    metric: &'a Metric,
    row: &'a Row,
}

impl<'a> Compared<'a> {
    fn new(row: &'a Row, metric: &'a Metric, reference: &'a Reference) -> Option<Self> {
        let pairs: Vec<f64> = reference.samples.iter().map(|pair| pair.ours / pair.value).collect();
        let known = (reference.status == Status::Ok).then_some(reference.ratio?)?;
        Some(Self { ratio: Estimate::of_ratios(known, reference.ratio_ci95, &pairs)?, reference, metric, row })
    }

    fn differs(&self) -> bool {
        self.ratio.span.is_some_and(|[low, high]| low > DIFFERS || high < 1.0 / DIFFERS)
    }

    fn agrees(&self) -> bool {
        self.ratio.span.is_some_and(|[low, high]| low >= 1.0 / TENTH && high <= TENTH)
    }
}

/// Our results compared with each tool: the one that differs most, and those that agree.
fn references(quiet: &[&Row], area: &AreaRules) -> Vec<Finding> {
    let mut tools: BTreeMap<&str, Vec<Compared<'_>>> = BTreeMap::new();
    for row in quiet {
        let Some(metric) = row.metrics.first() else { continue };
        for reference in &metric.references {
            tools.entry(&reference.tool).or_default().extend(Compared::new(row, metric, reference));
        }
    }
    let off = |one: &Compared<'_>| one.ratio.median.ln().abs();
    let farthest = |all: &Vec<Compared<'_>>| {
        let differing = all.iter().filter(|one| one.differs());
        differing.max_by(|a, b| off(a).total_cmp(&off(b))).and_then(|one| difference(one, area))
    };
    let differences = tools.values().filter_map(farthest);
    differences.chain(tools.iter().filter_map(|(tool, all)| agreement(tool, all))).collect()
}

fn difference(compared: &Compared<'_>, area: &AreaRules) -> Option<Finding> {
    let Compared { ratio, reference, metric, row } = compared;
    let theirs = reference.median.filter(|median| median.is_finite() && *median > 0.0)?;
    let with = |explanation: String| {
        let fields = [
            ("what", area.findings.describe_with_threads(row)),
            ("ratio", times(ratio.median)),
            ("tool", reference.tool.clone()),
            ("ours", quantity(theirs * ratio.median, metric.unit, row.area)),
            ("theirs", quantity(theirs, metric.unit, row.area)),
            ("explanation", explanation),
        ];
        REFERENCE_DIFFERS.finding(&fields, &[row])
    };
    let explanation = reference.explanation.as_deref().unwrap_or_default().trim_end_matches('.');
    let clauses: Vec<&str> = explanation.split("; ").filter(|clause| !clause.is_empty()).collect();
    // As many whole clauses as fit; the result itself lists all.
    let explained = (1..=clauses.len()).rev().filter_map(|count| with(format!(": {}", clauses[..count].join("; "))));
    explained.into_iter().find(|one| one.text.chars().count() <= LONGEST).or_else(|| with(String::new()))
}

fn agreement(tool: &str, all: &[Compared<'_>]) -> Option<Finding> {
    let agreeing = || all.iter().filter(|one| one.agrees());
    let within = agreeing().map(|one| (one.ratio.median - 1.0).abs()).reduce(f64::max)?;
    let rows: Vec<&Row> = agreeing().map(|one| one.row).collect();
    let fields =
        [("tool", tool.to_owned()), ("within", percent(within)), ("results", results_of(rows.len(), all.len()))];
    REFERENCE_AGREES.finding(&fields, &rows)
}
