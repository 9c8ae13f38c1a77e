//! Rules of every area: what is disturbed, what to try, which limits bind, and whether trusted tools agree.

use std::collections::BTreeMap;

use model::document::{Finding, Row, Status};
use model::experiment::Area;
use model::peak::PeakKind;
use model::reference::Reference;
use model::sample::Metric;
use model::unit::Better;
use model::warning::{Grade, WARNINGS, WarningCode, WarningRule};

use super::figure::{Figure, TENTH, is_quiet};
use super::names::named;
use super::rules::Code;
use super::words::{LONGEST, any_of, figure, percent, rows_of, times};

/// From this share of a limit on, it binds.
pub(super) const BINDS: f64 = 0.9;

/// The low end of the share's span must be at least this.
const BINDS_LOW: f64 = 0.85;

/// A tool's figure and ours differ from this ratio on.
const DIFFERS: f64 = 1.05;

/// Causes that are named; more are summed up.
const CAUSES: usize = 3;

/// All of them, of one area.
pub(super) fn findings(area: Area, rows: &[&Row]) -> Vec<Finding> {
    let measured: Vec<&Row> =
        rows.iter().copied().filter(|row| row.status == Status::Ok && row.grade.is_some()).collect();
    let quiet: Vec<&Row> = measured.iter().copied().filter(|row| is_quiet(row)).collect();
    let mut findings: Vec<Finding> = disturbed(area, &measured).into_iter().collect();
    // The network has rules of its own for what holds a stream back.
    if area != Area::Net {
        findings.extend(limits(area, &quiet));
    }
    findings.extend(references(area, &quiet));
    findings
}

/// What an area is called where a sentence begins with it: in a terminal the sentences of all areas follow each other.
const fn title(area: Area) -> &'static str {
    match area {
        Area::Cpu => "CPU",
        Area::Linpack => "LINPACK",
        Area::Memory => "Memory",
        Area::Disk => "Disk",
        Area::Net => "Network",
    }
}

/// Which rows must not be quoted, by cause.
fn disturbed(area: Area, measured: &[&Row]) -> Option<Finding> {
    let rows: Vec<&Row> = measured.iter().copied().filter(|row| row.grade == Some(Grade::C)).collect();
    (!rows.is_empty()).then_some(())?;
    let cause = |row: &Row| -> String {
        let is_cause = |rule: &&WarningRule| {
            row.warnings.iter().any(|warning| warning.code == rule.code && warning.grade == Grade::C)
        };
        let found = WARNINGS.iter().find(is_cause);
        found.map_or_else(|| "grade C".to_owned(), |rule| rule.code.name().replace('_', " ").replace("cpu", "CPU"))
    };
    let mut causes: BTreeMap<String, usize> = BTreeMap::new();
    for row in &rows {
        *causes.entry(cause(row)).or_default() += 1;
    }
    let mut causes: Vec<(String, usize)> = causes.into_iter().collect();
    causes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let others: usize = causes.iter().skip(CAUSES).map(|(_, count)| count).sum();
    causes.truncate(CAUSES);
    causes.extend((others > 0).then(|| ("other causes".to_owned(), others)));
    let told: Vec<String> = causes.iter().map(|(cause, count)| format!("{cause} ({count})")).collect();
    let fields =
        [("area", title(area).to_owned()), ("rows", any_of(rows.len(), measured.len())), ("causes", told.join(", "))];
    Some(Code::Disturbed.tell(area, &fields, &rows))
}

/// An advice with the areas that it would help most, and with their rows.
struct Advice<'a> {
    rule: &'static WarningRule,
    areas: Vec<Area>,
    /// The rows that it would help.
    rows: Vec<&'a Row>,
    /// Rows measured in these areas.
    all: usize,
}

/// Of each area the advice that would help the most rows; what several areas need is said once, where the first of them
/// stands, and names them all.
pub(super) fn what_to_try(rows: &[Row]) -> Vec<Finding> {
    let mut told: Vec<Advice<'_>> = Vec::new();
    for area in Area::ALL {
        let is_measured = |row: &&Row| row.area == *area && row.status == Status::Ok && row.grade.is_some();
        let measured: Vec<&Row> = rows.iter().filter(is_measured).collect();
        let Some((rule, rows)) = most_helpful(&measured) else { continue };
        if let Some(same) = told.iter_mut().find(|other| other.rule.advice == rule.advice) {
            same.areas.push(*area);
            same.rows.extend(rows);
            same.all += measured.len();
        } else {
            told.push(Advice { rule, areas: vec![*area], rows, all: measured.len() });
        }
    }
    told.iter().filter_map(Advice::sentence).collect()
}

/// The warning that keeps the most of an area's rows below grade A, with these rows; `None` where nothing does.
fn most_helpful<'a>(measured: &[&'a Row]) -> Option<(&'static WarningRule, Vec<&'a Row>)> {
    let with = |code: WarningCode| -> Vec<&'a Row> {
        let costs = |row: &Row| row.warnings.iter().any(|warning| warning.code == code && warning.grade > Grade::A);
        measured.iter().copied().filter(|row| costs(row)).collect()
    };
    let helped = WARNINGS.iter().map(|rule| (rule, with(rule.code)));
    // Of as many rows the first of the table: it has causes before symptoms.
    let most = helped.reduce(|best, other| if other.1.len() > best.1.len() { other } else { best })?;
    (!most.1.is_empty()).then_some(most)
}

impl Advice<'_> {
    fn sentence(&self) -> Option<Finding> {
        let first = *self.areas.first()?;
        let fields = [
            ("area", titles(&self.areas)),
            ("rows", rows_of(self.rows.len(), self.all)),
            ("advice", self.rule.advice.trim_end_matches('.').to_owned()),
        ];
        Some(Code::WhatToTry.tell(first, &fields, &self.rows))
    }
}

/// `CPU, memory and network`.
fn titles(areas: &[Area]) -> String {
    let word = |(index, area): (usize, &Area)| match area {
        Area::Memory | Area::Disk | Area::Net if index > 0 => title(*area).to_lowercase(),
        _ => title(*area).to_owned(),
    };
    let words: Vec<String> = areas.iter().enumerate().map(word).collect();
    match words.as_slice() {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        _ => words.concat(),
    }
}

/// What a kind of peak is called, and what binds where it is reached.
pub(super) const fn peak_words(kind: PeakKind, area: Area) -> (&'static str, &'static str) {
    match (kind, area) {
        (PeakKind::Sustained, _) => ("sustained peak", "the pipes, at the clock that the cores had, are the limit"),
        (PeakKind::Inferred, _) => ("inferred peak", "nothing binds, since measurements are its source"),
        (PeakKind::Declared, _) => ("declared peak", "what was declared is the limit"),
        (PeakKind::Datasheet, Area::Memory) => ("data-sheet peak", "the memory modules are the limit"),
        (PeakKind::Datasheet, _) => ("data-sheet peak", "the device does what its maker says"),
        (PeakKind::Link, _) => ("link peak", "the link is the limit"),
        (PeakKind::Limit, _) => ("configured limit", "a setting is the limit, not the hardware"),
        (PeakKind::MeasuredCeiling, _) => ("measured ceiling", "what else was measured here reaches no more"),
        (PeakKind::Boost, _) => ("boost peak", "the pipes at their highest clock are the limit"),
        (PeakKind::Base, _) => ("base peak", "the pipes at their guaranteed clock are the limit"),
        (PeakKind::PlatformMaximum, _) => ("platform maximum", "the platform is the limit"),
    }
}

/// The headline's efficiency with its span; `None` where none is known, or it cannot be.
pub(super) fn efficiency(row: &Row) -> Option<(Figure, PeakKind)> {
    let metric = row.metrics.first()?;
    let known = metric.efficiency.filter(|known| known.value > 0.0)?;
    let ours = Figure::of_metric(metric)?;
    // Of a rate the peak is what it is divided by; of a time it is what is divided.
    let peak = if metric.better == Better::Higher { ours.median / known.value } else { ours.median * known.value };
    let share = |end: f64| if metric.better == Better::Higher { end / peak } else { peak / end };
    let mut span = ours.span.map(|span| span.map(share));
    if let Some(ends) = &mut span {
        ends.sort_by(f64::total_cmp);
    }
    let figure = Figure { median: known.value, span, ..ours };
    figure.median.is_finite().then_some((figure, known.of))
}

/// Which limits bind: the rows that come near to one, by the kind of their peak.
fn limits(area: Area, quiet: &[&Row]) -> Vec<Finding> {
    // A peak that was inferred from the same rows binds nothing.
    let kinds = PeakKind::ALL.iter().copied().filter(|kind| *kind != PeakKind::Inferred);
    let of_kind = |kind: PeakKind| {
        let known = quiet.iter().filter_map(move |row| Some((efficiency(row)?, *row)));
        known.filter(move |((_, of), _)| *of == kind).map(|((share, _), row)| (share, row)).collect::<Vec<_>>()
    };
    let sentence = |kind: PeakKind| {
        let all = of_kind(kind);
        let near = |share: &Figure| share.median >= BINDS && share.span.is_some_and(|[low, _]| low >= BINDS_LOW);
        let bound: Vec<(Figure, &Row)> = all.iter().copied().filter(|(share, _)| near(share)).collect();
        let shares = || bound.iter().map(|(share, _)| share.median);
        let (name, limit) = peak_words(kind, area);
        let [least, most] = [shares().reduce(f64::min)?, shares().reduce(f64::max)?].map(percent);
        let fields = [
            ("area", title(area).to_owned()),
            ("share", if least == most { most } else { format!("{least} to {most}") }),
            ("kind", name.to_owned()),
            ("rows", rows_of(bound.len(), all.len())),
            ("limit", limit.to_owned()),
        ];
        Some(Code::LimitBinds.tell(area, &fields, &bound.iter().map(|(_, row)| *row).collect::<Vec<_>>()))
    };
    kinds.filter_map(sentence).collect()
}

/// Ours over a tool's figure with its span.
fn ratio(reference: &Reference) -> Option<Figure> {
    let pairs: Vec<f64> = reference.samples.iter().map(|pair| pair.ours / pair.value).collect();
    let known = (reference.status == Status::Ok).then_some(reference.ratio?)?;
    Figure::of_ratios(known, reference.ratio_ci95, &pairs)
}

/// Ours against each tool: where they agree, and the row where they differ most.
fn references(area: Area, quiet: &[&Row]) -> Vec<Finding> {
    type Beside<'a> = (Figure, &'a Reference, &'a Metric, &'a Row);
    let mut tools: BTreeMap<&str, Vec<Beside<'_>>> = BTreeMap::new();
    for row in quiet {
        let Some(metric) = row.metrics.first() else { continue };
        for reference in &metric.references {
            if let Some(ratio) = ratio(reference) {
                tools.entry(&reference.tool).or_default().push((ratio, reference, metric, row));
            }
        }
    }
    let differs =
        |(ratio, ..): &&Beside<'_>| ratio.span.is_some_and(|[low, high]| low > DIFFERS || high < 1.0 / DIFFERS);
    let off = |(ratio, ..): &Beside<'_>| ratio.median.ln().abs();
    let mut findings = Vec::new();
    for all in tools.values() {
        let farthest = all.iter().filter(differs).max_by(|a, b| off(a).total_cmp(&off(b)));
        findings.extend(
            farthest.and_then(|(ratio, reference, metric, row)| difference(area, *ratio, reference, metric, row)),
        );
    }
    for (tool, all) in tools {
        findings.extend(agreement(
            area,
            tool,
            &all.iter().map(|(ratio, _, _, row)| (*ratio, *row)).collect::<Vec<_>>(),
        ));
    }
    findings
}

fn difference(area: Area, ratio: Figure, reference: &Reference, metric: &Metric, row: &Row) -> Option<Finding> {
    let theirs = reference.median.filter(|median| median.is_finite() && *median > 0.0)?;
    let fields = |explanation: String| {
        [
            ("what", named(row)),
            ("ratio", times(ratio.median)),
            ("tool", reference.tool.clone()),
            ("ours", figure(theirs * ratio.median, metric.unit, area)),
            ("theirs", figure(theirs, metric.unit, area)),
            ("explanation", explanation),
        ]
    };
    let tell = |explanation| Code::ReferenceDiffers.tell(area, &fields(explanation), &[row]);
    let explanation = reference.explanation.as_deref().unwrap_or_default().trim_end_matches('.');
    let clauses: Vec<&str> = explanation.split("; ").filter(|clause| !clause.is_empty()).collect();
    // Whole clauses, as many as fit; all of them stand with the row.
    let some = (1..=clauses.len()).rev().map(|count| tell(format!(": {}", clauses[..count].join("; "))));
    let told = some.into_iter().find(|finding| finding.text.chars().count() <= LONGEST);
    Some(told.unwrap_or_else(|| tell(String::new())))
}

fn agreement(area: Area, tool: &str, all: &[(Figure, &Row)]) -> Option<Finding> {
    let agrees = |ratio: &Figure| ratio.span.is_some_and(|[low, high]| low >= 1.0 / TENTH && high <= TENTH);
    let agreeing: Vec<(Figure, &Row)> = all.iter().copied().filter(|(ratio, _)| agrees(ratio)).collect();
    let within = agreeing.iter().map(|(ratio, _)| (ratio.median - 1.0).abs()).reduce(f64::max)?;
    let fields = [("tool", tool.to_owned()), ("within", percent(within)), ("rows", rows_of(agreeing.len(), all.len()))];
    Some(Code::ReferenceAgrees.tell(area, &fields, &agreeing.iter().map(|(_, row)| *row).collect::<Vec<_>>()))
}
