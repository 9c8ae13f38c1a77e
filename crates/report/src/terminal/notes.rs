//! The footnotes: why a grade is below A, why a peak is unknown, why a row failed or was skipped, and what to do about
//! it.
//!
//! The same kind of warning on several rows is one footnote, told with the worst of its figures.

use model::document::{Row, Status};
use model::experiment::Area;
use model::peak::PeakKind;
use model::warning::{Grade, WarningCode};

use super::section::Section;
use crate::label::{Label, counted};
use crate::layout::wrap;
use crate::style::{Style, Tone};

/// A cell has at most this many marks, the gravest causes first; what else was seen is told in one line of its own.
const MARKS_PER_ROW: usize = 3;

/// The facts that make an invisible limit known, per area.
const DECLARATIONS: &[(Area, &str)] = &[
    (Area::Memory, "--declare memory.channels=12 --declare memory.mts=6000"),
    (Area::Disk, "--declare disk.read_bps=7e9 --declare disk.read_iops=1e6"),
    (Area::Net, "--declare net.link_bps=25e9 --declare net.latency_s=1e-6"),
];

/// Reasons that are words of the document, in words for people.
const REASONS: &[(&str, &str)] = &[
    ("time_budget", "the time budget was used up; give it more with --time-budget"),
    ("interrupted", "the run was interrupted before its turn"),
];

/// What makes two remarks the same footnote.
#[derive(Clone, Debug, PartialEq)]
enum Key {
    Warning(String),
    UnknownPeak(Area),
    Kind(PeakKind),
    Reason(Status, String),
}

/// One row's remark.
#[derive(Debug)]
struct Remark<'a> {
    row: &'a Row,
    figure: Option<f64>,
    text: String,
    advice: String,
}

#[derive(Debug)]
struct Note<'a> {
    key: Key,
    remarks: Vec<Remark<'a>>,
}

/// The footnotes of a result, numbered in reading order.
#[derive(Debug, Default)]
pub(super) struct Notes<'a> {
    notes: Vec<Note<'a>>,
    /// Kinds of warning that no mark refers to, with the number of rows.
    also: Vec<(String, u64)>,
}

impl<'a> Notes<'a> {
    /// Everything that needs a footnote.
    pub(super) fn collect(sections: &[Section<'a>]) -> Self {
        let mut notes = Self::default();
        for section in sections {
            let mixed = efficiency_kind(section).is_none();
            for group in &section.groups {
                for row in &group.rows {
                    notes.add_row(row);
                }
                for row in &group.rows {
                    notes.add_peak(row, mixed);
                }
            }
        }
        notes
    }

    fn add_row(&mut self, row: &'a Row) {
        if row.status != Status::Ok {
            let reason = row.reason.clone().unwrap_or_else(|| "no reason was recorded".to_owned());
            let text = format!("{}: {}", status_words(row.status), reason_words(&reason));
            self.add(Key::Reason(row.status, reason), Remark { row, figure: None, text, advice: String::new() });
            return;
        }
        let marked = grade_codes(row);
        for warning in &row.warnings {
            if marked.contains(&warning.code.as_str()) {
                let (text, advice) = (warning.text.clone(), warning.advice.clone());
                self.add(key_of(row, &warning.code), Remark { row, figure: warning.figure, text, advice });
            } else if !is_about_peak(&warning.code) {
                match self.also.iter_mut().find(|(code, _)| *code == warning.code) {
                    Some((_, rows)) => *rows += 1,
                    None => self.also.push((warning.code.clone(), 1)),
                }
            }
        }
    }

    /// Why there is no efficiency, or against which kind it is where the heading does not say it.
    fn add_peak(&mut self, row: &'a Row, mixed: bool) {
        if let Some(warning) = row.warnings.iter().find(|warning| is_about_peak(&warning.code)) {
            let key = key_of(row, &warning.code);
            let declaration = DECLARATIONS.iter().find(|(area, _)| *area == row.area && key == Key::UnknownPeak(*area));
            let advice = match declaration {
                Some((_, example)) if !warning.text.contains("--declare") && !warning.advice.contains("--declare") => {
                    format!("{} For example: {example}", warning.advice)
                }
                // What cannot be declared, nobody should be asked to declare.
                None if key == Key::UnknownPeak(row.area) => String::new(),
                _ => warning.advice.clone(),
            };
            self.add(key, Remark { row, figure: warning.figure, text: warning.text.clone(), advice });
        } else if let Some((kind, formula)) = against(row) {
            let text = match kind {
                PeakKind::Inferred => {
                    "The peak is inferred: its work per cycle was rounded from this very measurement, so the \
                    share is near 100 % by construction."
                        .to_owned()
                }
                // What the heading says already.
                _ if !mixed || kind == PeakKind::Sustained => return,
                _ => format!("This is the share of the {}: {formula}.", kind_words(kind)),
            };
            self.add(Key::Kind(kind), Remark { row, figure: None, text, advice: String::new() });
        }
    }

    fn add(&mut self, key: Key, remark: Remark<'a>) {
        match self.notes.iter_mut().find(|note| note.key == key) {
            // The warning above_peak lowers the grade and explains the missing share: one row, one remark.
            Some(note) if note.remarks.iter().any(|other| std::ptr::eq(other.row, remark.row)) => {}
            Some(note) => note.remarks.push(remark),
            None => self.notes.push(Note { key, remarks: vec![remark] }),
        }
    }

    fn number(&self, key: &Key) -> Option<usize> {
        self.notes.iter().position(|note| note.key == *key).map(|index| index + 1)
    }

    /// The footnotes behind a row's grade, or behind its having none.
    pub(super) fn of_row(&self, row: &Row) -> Vec<usize> {
        if row.status != Status::Ok {
            let reason = |note: &Note<'_>| matches!(&note.key, Key::Reason(..)) && note.has(row);
            return self.notes.iter().position(reason).map(|index| index + 1).into_iter().collect();
        }
        let numbers = grade_codes(row).into_iter().filter_map(|code| self.number(&key_of(row, code)));
        let mut numbers: Vec<usize> = numbers.collect();
        numbers.sort_unstable();
        numbers
    }

    /// The footnote behind a row's share of the peak, where there is one.
    pub(super) fn of_peak(&self, row: &Row) -> Option<usize> {
        if let Some(warning) = row.warnings.iter().find(|warning| is_about_peak(&warning.code)) {
            return self.number(&key_of(row, &warning.code));
        }
        against(row).and_then(|(kind, _)| self.number(&Key::Kind(kind)))
    }

    /// The footnotes as text.
    pub(super) fn lines(&self, style: &Style) -> Vec<String> {
        let widest = crate::layout::width(&style.mark(self.notes.len()));
        let numbered = self.notes.iter().enumerate().flat_map(|(index, note)| {
            let mark = format!(" {:<widest$} ", style.mark(index + 1));
            wrap(&style.clean(&note.text()), &mark, style.width)
        });
        numbered.chain(self.also_line(style)).collect()
    }

    fn also_line(&self, style: &Style) -> Vec<String> {
        if self.also.is_empty() {
            return Vec::new();
        }
        let part = |(code, rows): &(String, u64)| format!("{} on {}", code.replace('_', " "), counted(*rows, "row"));
        let parts: Vec<String> = self.also.iter().map(part).collect();
        let text = format!("Seen besides, changing no grade: {}.", parts.join(", "));
        wrap(&style.clean(&text), " ", style.width).iter().map(|line| style.paint(line, Tone::Dim)).collect()
    }
}

impl Note<'_> {
    fn has(&self, row: &Row) -> bool {
        self.remarks.iter().any(|remark| std::ptr::eq(remark.row, row))
    }

    fn text(&self) -> String {
        let figure = |remark: &Remark<'_>| remark.figure.unwrap_or(f64::NEG_INFINITY);
        // The first of the worst.
        let worst =
            self.remarks.iter().reduce(|worst, other| if figure(other) > figure(worst) { other } else { worst });
        let Some(worst) = worst else { return String::new() };
        let told = format!("{} {}", worst.text, worst.advice);
        if self.remarks.iter().all(|remark| remark.text == worst.text) {
            return told;
        }
        let rows = counted(self.remarks.len() as u64, "row");
        let which = if worst.figure.is_some() { "most on" } else { "for example" };
        format!("On {rows}, {which} {}: {told}", Label::sentence(worst.row))
    }
}

fn key_of(row: &Row, code: &str) -> Key {
    if code == WarningCode::PeakUnknown.name() { Key::UnknownPeak(row.area) } else { Key::Warning(code.to_owned()) }
}

fn is_about_peak(code: &str) -> bool {
    code == WarningCode::PeakUnknown.name() || code == WarningCode::AbovePeak.name()
}

/// The warnings that made a row's grade what it is.
fn grade_codes(row: &Row) -> Vec<&str> {
    let Some(grade) = row.grade.filter(|grade| *grade > Grade::A) else { return Vec::new() };
    let causes = row.warnings.iter().filter(|warning| warning.grade == grade);
    causes.take(MARKS_PER_ROW).map(|warning| warning.code.as_str()).collect()
}

/// The kind of peak that the row's headline is held against, with its formula.
fn against(row: &Row) -> Option<(PeakKind, &str)> {
    let metric = row.metrics.first()?;
    let kind = metric.efficiency?.of;
    let peak = metric.peaks.iter().find(|peak| peak.kind == kind);
    Some((kind, peak.map_or("", |peak| peak.formula.as_str())))
}

/// The kind of peak that every efficiency of a section is of; `None` where they differ, or where there is none.
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

/// A kind of peak in a sentence.
const fn kind_words(kind: PeakKind) -> &'static str {
    match kind {
        PeakKind::Sustained => "sustained peak",
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

pub(super) const fn status_words(status: Status) -> &'static str {
    match status {
        Status::Ok => "Measured",
        Status::Failed => "Failed",
        Status::Skipped => "Skipped",
    }
}

/// A reason as a sentence.
pub(super) fn reason_words(reason: &str) -> String {
    let known = REASONS.iter().find(|(word, _)| *word == reason).map_or(reason, |(_, words)| *words).trim_end();
    if known.ends_with(['.', '!', '?']) { known.to_owned() } else { format!("{known}.") }
}
