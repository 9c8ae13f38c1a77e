//! The footnotes: why confidence is not high, a peak unknown, a row failed or skipped, and what to do.
//!
//! The same kind of warning on several rows is one footnote, with its worst value.

use model::document::{Row, Status};
use model::experiment::{Area, CpuParams};
use model::isa::{CpuOp, Element};
use model::number::{counted, factor, quantity};
use model::peak::PeakKind;
use model::unit::Better;
use model::warning::{Confidence, Warning, WarningCode};
use model::words::Named;

use super::sections::Section;
use crate::grid::groups::grouped;
use crate::html::text::{capital, warning_words};
use crate::layout::wrap;
use crate::reason::{self, kind_words, without_words};
use crate::style::{Style, Tone};
use crate::terminal::row::{confidence_tone, headline};
use areas::cpu::label as cpu;
use areas::label::{Label, labels, threads};
use areas::net::label::is_loopback;

/// Most marks in a cell, the gravest causes first; a line of its own has the other warnings.
const MARKS_PER_ROW: usize = 3;

const NO_LIMIT: &str = "Loopback round trips stay inside the kernel, so no hardware limit applies.";

/// Warnings that change no confidence but decide how a value is to be read: they are shown in full.
const SHOWN_IN_FULL: &[WarningCode] =
    &[WarningCode::HostCache, WarningCode::PartOfSector, WarningCode::EngineSteppedDown, WarningCode::CpuBound];

#[derive(Clone, Debug, PartialEq)]
enum Key {
    Warning(Named<WarningCode>),
    UnknownPeak(Area),
    NoLimit,
    Kind(PeakKind),
    /// The share is of the scalar peak, and vectors have a higher one.
    Plain,
    Reason(Status, String),
}

#[derive(Debug)]
struct Remark<'a> {
    row: &'a Row,
    value: Option<f64>,
    text: String,
    advice: String,
    /// The option that makes the limit known.
    declaration: Option<&'static str>,
}

impl<'a> Remark<'a> {
    const fn new(row: &'a Row, text: String) -> Self {
        Self { row, value: None, text, advice: String::new(), declaration: None }
    }
}

#[derive(Debug)]
struct Note<'a> {
    key: Key,
    remarks: Vec<Remark<'a>>,
}

#[derive(Debug, Default)]
pub(super) struct Notes<'a> {
    notes: Vec<Note<'a>>,
    /// The warnings without a mark.
    also: Vec<&'a Warning>,
}

impl<'a> Notes<'a> {
    pub(super) fn collect(sections: &[Section<'a>]) -> Self {
        let mut notes = Self::default();
        for section in sections {
            let mixed = efficiency_kind(section).is_none();
            for group in &section.groups {
                group.rows.iter().for_each(|row| notes.add_row(row));
                for row in &group.rows {
                    notes.add_peak(row, mixed);
                    if holds_vectors_against(row) {
                        notes.add(Key::Plain, Remark::new(row, String::new()));
                    }
                }
            }
            section.apart.iter().chain(&section.classic).for_each(|row| notes.add_row(row));
        }
        notes
    }

    fn add_row(&mut self, row: &'a Row) {
        if row.status != Status::Ok {
            let text = without_words(row);
            self.add(Key::Reason(row.status, reason::shape(&text)), Remark::new(row, text));
            return;
        }
        let marked = confidence_codes(row);
        for warning in row.warnings.iter().filter(|warning| !is_implied(row, &warning.code)) {
            if marked.contains(&&warning.code) {
                let (value, advice) = (warning.value, warning.advice.clone());
                let remark = Remark { value, advice, ..Remark::new(row, warning.text.clone()) };
                self.add(key_of(row, &warning.code), remark);
            } else if !is_about_peak(&warning.code) {
                self.also.push(warning);
            }
        }
    }

    /// Why there is no efficiency, or of which kind of peak it is where the heading does not say so.
    fn add_peak(&mut self, row: &'a Row, mixed: bool) {
        if has_no_limit(row) {
            self.add(Key::NoLimit, Remark::new(row, NO_LIMIT.to_owned()));
        } else if let Some(warning) = row.warnings.iter().find(|warning| is_about_peak(&warning.code)) {
            let key = key_of(row, &warning.code);
            let mut remark = Remark::new(row, warning.text.clone());
            if key == Key::UnknownPeak(row.area) {
                remark.declaration = (labels(row.area).declaration)(row);
                remark.advice = remark.declaration.map_or_else(String::new, |_| warning.advice.clone());
            } else {
                (remark.value, remark.advice) = (warning.value, warning.advice.clone());
            }
            self.add(key, remark);
        } else if let Some((kind, formula)) = against(row) {
            let text = match kind {
                PeakKind::Inferred => "The peak is inferred: its work per cycle was rounded from a measurement, \
                         so a share near 100 % is no evidence of the hardware's limit."
                    .to_owned(),
                _ if !mixed || kind == PeakKind::Sustained => return,
                _ => format!("Share of the {}: {formula}.", kind_words(kind)),
            };
            self.add(Key::Kind(kind), Remark::new(row, text));
        }
    }

    fn add(&mut self, key: Key, remark: Remark<'a>) {
        match self.notes.iter_mut().find(|note| note.key == key) {
            // The warning above_peak both lowers the confidence and explains the missing share.
            Some(note) if note.remarks.iter().any(|other| std::ptr::eq(other.row, remark.row)) => {}
            Some(note) => note.remarks.push(remark),
            None => self.notes.push(Note { key, remarks: vec![remark] }),
        }
    }

    fn number(&self, key: &Key) -> Option<usize> {
        self.notes.iter().position(|note| note.key == *key).map(|index| index + 1)
    }

    /// The footnotes behind a row's confidence, or behind its having none.
    pub(super) fn of_row(&self, row: &Row) -> Vec<usize> {
        if row.status != Status::Ok {
            let has = |note: &Note<'_>| note.remarks.iter().any(|remark| std::ptr::eq(remark.row, row));
            let reason = |note: &Note<'_>| matches!(&note.key, Key::Reason(..)) && has(note);
            return self.notes.iter().position(reason).map(|index| index + 1).into_iter().collect();
        }
        let numbers = confidence_codes(row).into_iter().filter_map(|code| self.number(&key_of(row, code)));
        let mut numbers: Vec<usize> = numbers.collect();
        numbers.sort_unstable();
        numbers
    }

    /// Confidence below high, or the status of a row that was not measured, with its footnotes: `fair ¹ ³`, `skipped ²`.
    pub(super) fn marks(&self, row: &Row, style: &Style) -> Option<(String, Tone)> {
        let (word, tone) = match (row.status, row.confidence) {
            (Status::Ok, Some(confidence)) if confidence > Confidence::High => {
                (confidence.name(), confidence_tone(confidence))
            }
            (Status::Ok, _) => return None,
            (Status::Failed, _) => (Status::Failed.name(), Tone::Bad),
            (Status::Skipped, _) => (Status::Skipped.name(), Tone::Dim),
        };
        Some((marked(word, &self.of_row(row), style), tone))
    }

    /// The footnotes behind a row's share of the peak.
    pub(super) fn of_peak(&self, row: &Row) -> Vec<usize> {
        let warning = row.warnings.iter().find(|warning| is_about_peak(&warning.code));
        let key = match warning {
            _ if has_no_limit(row) => Some(Key::NoLimit),
            Some(warning) => Some(key_of(row, &warning.code)),
            None => against(row).map(|(kind, _)| Key::Kind(kind)),
        };
        let plain = holds_vectors_against(row).then_some(Key::Plain);
        let keys = [key, plain].into_iter().flatten();
        keys.filter_map(|key| self.number(&key)).collect()
    }

    pub(super) fn lines(&self, style: &Style) -> Vec<String> {
        let widest = crate::layout::width(&style.mark(self.notes.len()));
        let numbered = self.notes.iter().enumerate().flat_map(|(index, note)| {
            let mark = format!(" {:<widest$} ", style.mark(index + 1));
            wrap(&style.clean(&note.text()), &mark, style.width)
        });
        numbered.chain(self.also_lines(style)).collect()
    }

    /// The warnings without a mark: one line for each that must be read, and one for the names of the others.
    fn also_lines(&self, style: &Style) -> Vec<String> {
        let kinds = grouped(self.also.iter().copied(), |warning| Some(&warning.code)).into_iter();
        let full = |(code, _): &(&Named<WarningCode>, Vec<&Warning>)| SHOWN_IN_FULL.iter().any(|shown| *code == shown);
        let (shown, named): (Vec<_>, Vec<_>) = kinds.partition(full);
        let words = |(code, alike): &(&Named<WarningCode>, Vec<&Warning>)| {
            format!("{} on {}", warning_words(code.as_str()), counted(alike.len() as u64, "result"))
        };
        let wrapped = |line: String| wrap(&style.clean(&line), " ", style.width);
        let shown = shown.iter().map(|kind| {
            let Warning { text, advice, .. } = kind.1[0];
            format!("{}: {text} {advice}", capital(&words(kind)))
        });
        let mut lines: Vec<String> = shown.flat_map(wrapped).collect();
        if !named.is_empty() {
            let named: Vec<String> = named.iter().map(words).collect();
            let named = wrapped(format!("Other warnings, without effect on the confidence: {}.", named.join(", ")));
            lines.extend(named.iter().map(|line| style.paint(line, Tone::Dim)));
        }
        lines
    }
}

impl Note<'_> {
    fn text(&self) -> String {
        if self.key == Key::Plain {
            return plain_text(&self.remarks.iter().map(|remark| remark.row).collect::<Vec<_>>());
        }
        if let Key::Reason(..) = self.key {
            return reason::merged(&self.remarks.iter().map(|remark| remark.text.as_str()).collect::<Vec<_>>());
        }
        let value = |remark: &Remark<'_>| remark.value.unwrap_or(f64::NEG_INFINITY);
        // The first of the worst.
        let worst = self.remarks.iter().reduce(|worst, other| if value(other) > value(worst) { other } else { worst });
        let Some(worst) = worst else { return String::new() };
        let shown = [worst.text.as_str(), &worst.advice, &self.example()].join(" ");
        if self.remarks.iter().all(|remark| remark.text == worst.text) {
            return shown;
        }
        let rows = counted(self.remarks.len() as u64, "result");
        let which = if worst.value.is_some() { "worst on" } else { "for example" };
        format!("On {rows}, {which} {}: {shown}", Label::sentence(worst.row))
    }

    /// The options that declare the limits of all its rows, unless a text has them.
    fn example(&self) -> String {
        let named = |remark: &Remark<'_>| remark.text.contains("--declare") || remark.advice.contains("--declare");
        let declared = self.remarks.iter().filter(|remark| !named(remark));
        let options = grouped(declared, |remark| remark.declaration).into_iter().map(|(option, _)| option);
        let options = options.collect::<Vec<_>>().join(" ");
        if options.is_empty() { options } else { format!("For example: {options}") }
    }
}

/// A word with the marks of footnotes: `fair ¹ ³`.
pub(super) fn marked(word: &str, numbers: &[usize], style: &Style) -> String {
    let marks: Vec<String> = numbers.iter().map(|number| style.mark(*number)).collect();
    // Superscripts need a blank between them, brackets do not.
    format!("{word} {}", marks.join(if style.unicode { " " } else { "" })).trim_end().to_owned()
}

/// Whether a row has a share of the scalar peak, and vectors have a higher one.
fn holds_vectors_against(row: &Row) -> bool {
    vector_peak(row).is_some() && headline(row).is_some_and(|metric| metric.efficiency.is_some())
}

/// Whether nothing physical limits a row's headline: a round trip within the machine.
pub(super) fn has_no_limit(row: &Row) -> bool {
    is_loopback(row)
        && headline(row).is_some_and(|metric| metric.better == Better::Lower && metric.efficiency.is_none())
}

fn key_of(row: &Row, code: &Named<WarningCode>) -> Key {
    if *code == WarningCode::PeakUnknown { Key::UnknownPeak(row.area) } else { Key::Warning(code.clone()) }
}

fn is_about_peak(code: &Named<WarningCode>) -> bool {
    matches!(code.known(), Some(WarningCode::PeakUnknown | WarningCode::AbovePeak))
}

/// Whether another warning of the row implies this one: a row that was cut short has few samples.
fn is_implied(row: &Row, code: &Named<WarningCode>) -> bool {
    let is_cut = || row.warnings.iter().any(|warning| warning.code == WarningCode::CutShort);
    *code == WarningCode::FewSamples && is_cut()
}

/// The warnings that made a row's confidence what it is.
fn confidence_codes(row: &Row) -> Vec<&Named<WarningCode>> {
    let Some(confidence) = row.confidence.filter(|confidence| *confidence > Confidence::High) else {
        return Vec::new();
    };
    let causes =
        row.warnings.iter().filter(|warning| warning.confidence == confidence && !is_implied(row, &warning.code));
    causes.take(MARKS_PER_ROW).map(|warning| &warning.code).collect()
}

/// The kind of peak that the row's efficiency is of, with its formula.
fn against(row: &Row) -> Option<(PeakKind, &str)> {
    let metric = row.metrics.first()?;
    let kind = metric.efficiency?.of;
    let peak = metric.peaks.iter().find(|peak| peak.kind == kind);
    Some((kind, peak.map_or("", |peak| peak.formula.as_str())))
}

/// The kind of peak that every efficiency of a section is of; `None` where they differ.
pub(super) fn efficiency_kind(section: &Section<'_>) -> Option<PeakKind> {
    let mut kinds = section.rows().filter_map(|row| row.metrics.first()?.efficiency.map(|efficiency| efficiency.of));
    let first = kinds.next()?;
    kinds.all(|kind| kind == first).then_some(first)
}

/// A kind of peak in one or two words, after "of".
pub(super) const fn short_kind(kind: PeakKind) -> &'static str {
    match kind {
        PeakKind::Declared => "declared",
        PeakKind::Datasheet => "data sheet",
        PeakKind::Link => "link",
        PeakKind::Limit => "limit",
        PeakKind::MeasuredCeiling => "ceiling",
        PeakKind::Inferred => "inferred",
        PeakKind::Sustained | PeakKind::Boost | PeakKind::Base | PeakKind::PlatformMaximum => "peak",
    }
}

/// The highest rate of vector instructions of the same type, for a plain loop.
fn vector_peak(row: &Row) -> Option<f64> {
    let plain = cpu::params(row).is_some_and(|params| params.op == CpuOp::Plain);
    let peaks = &headline(row).filter(|_| plain)?.peaks;
    peaks.iter().find(|peak| peak.kind == PeakKind::PlatformMaximum).map(|peak| peak.value)
}

/// The footnote of rows with a vector peak: each type by the row with the most threads that had a CPU each.
fn plain_text(rows: &[&Row]) -> String {
    let of = |element: Element| {
        let rows = rows.iter().filter_map(|row| Some((*row, cpu::params(row)?)));
        let own = rows.filter(|(_, params)| params.element == element);
        let is_crowded = |row: &Row| row.warnings.iter().any(|warning| warning.code == WarningCode::Oversubscribed);
        own.max_by_key(|(row, params)| (!is_crowded(row), params.threads))
    };
    let shown: Vec<(&Row, &CpuParams)> = Element::ALL.iter().filter_map(|element| of(*element)).collect();
    let counts = || shown.iter().map(|(_, params)| params.threads);
    let common = counts().next().filter(|first| counts().all(|count| count == *first));
    // `FP64 21x (191.9 GFLOP/s)`.
    let item = |(row, params): &(&Row, &CpuParams)| {
        let (peak, metric) = (vector_peak(row)?, headline(row)?);
        let (value, times) = (quantity(peak, metric.unit), factor(peak / metric.summary.median));
        let with = if common.is_none() { format!(" with {}", threads(params.threads)) } else { String::new() };
        Some(format!("{} {times}x ({value}{with})", cpu::precision(params.element)))
    };
    let items: Vec<String> = shown.iter().filter_map(item).collect();
    let with = common.map_or_else(String::new, |count| format!(", with {}", threads(count)));
    format!(
        "Share of the scalar peak, the limit of a plain loop. The vector peak is higher{with}: {}.",
        items.join(", ")
    )
}
