//! The first screen of a run: its headline benchmarks, and the lines of its answer.

use model::document::{Document, Row};
use model::experiment::Area;
use model::machine::Machine;
use model::sample::ExpectationVerdict;
use verdict::answer::{HeadlineRow, headline_rows};

use crate::label::labels;
use crate::plan::{RULES, rules};

pub fn headlines(document: &Document) -> Vec<HeadlineRow<'_>> {
    headlines_of(&document.experiments, &document.machine)
}

pub fn headlines_of<'a>(rows: &'a [Row], machine: &Machine) -> Vec<HeadlineRow<'a>> {
    headline_rows(rows, machine.cpu.count(), RULES).0
}

/// The headline benchmarks that a run's plan does not have, in a sentence; `None` for an area that was measured alone with
/// options of its own.
pub fn unplanned(document: &Document) -> Option<String> {
    let (_, titles) = headline_rows(&document.experiments, document.machine.cpu.count(), RULES);
    let is_suite = document.run.suite.parse::<Area>().is_err();
    (is_suite && !titles.is_empty()).then(|| format!("Not in the plan of this run: {}.", titles.join("; ")))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerLine {
    pub area: Area,
    pub title: &'static str,
    /// The worst verdict; `None` where an area has none.
    pub verdict: Option<ExpectationVerdict>,
    pub text: String,
    /// Whether its benchmarks can answer at all; those over loopback cannot.
    pub counts: bool,
}

pub fn answer_lines(document: &Document) -> Vec<AnswerLine> {
    let mut lines: Vec<AnswerLine> = Vec::new();
    for answer in &document.answers {
        let rows: Vec<&Row> = document.experiments.iter().filter(|row| row.area == answer.area).collect();
        let rules = rules(answer.area).answer;
        let counts = (rules.no_answer)(&rows).is_none();
        let (title, text) = (rules.title, answer.text.clone());
        let line = AnswerLine { area: answer.area, title, verdict: answer.verdict, text, counts };
        match lines.iter_mut().find(|other| other.title == title) {
            Some(other) => other.join(line),
            None => lines.push(line),
        }
    }
    lines
}

impl AnswerLine {
    /// Adds an area of the same title: the worse of two verdicts is explained, and a missing one is mentioned.
    fn join(&mut self, other: Self) {
        let below = Some(ExpectationVerdict::Below);
        if self.verdict != below && other.verdict == below {
            *self = other;
        } else if self.verdict != below && self.verdict.is_some() != other.verdict.is_some() {
            self.verdict = None;
            self.text = format!("{}; {}: {}", self.text, labels(other.area).in_sentence, other.text);
        }
    }
}

#[cfg(test)]
mod tests {
    use ExpectationVerdict::{AsExpected, Below};

    use super::*;

    fn joined(cpu: Option<ExpectationVerdict>, linpack: Option<ExpectationVerdict>) -> AnswerLine {
        let of =
            |area: Area, verdict| AnswerLine { area, title: "CPU", verdict, text: area.name().into(), counts: true };
        let mut line = of(Area::Cpu, cpu);
        line.join(of(Area::Linpack, linpack));
        line
    }

    #[test]
    fn of_two_areas_with_one_title_the_worse_is_explained() {
        let said = |cpu, linpack| {
            let line = joined(cpu, linpack);
            (line.verdict, line.text)
        };
        assert_eq!(said(Some(AsExpected), Some(AsExpected)), (Some(AsExpected), "cpu".into()));
        assert_eq!(said(Some(AsExpected), Some(Below)), (Some(Below), "linpack".into()));
        assert_eq!(said(Some(Below), Some(Below)), (Some(Below), "cpu".into()));
        assert_eq!(said(None, Some(Below)), (Some(Below), "linpack".into()));
        assert_eq!(said(Some(AsExpected), None), (None, "cpu; LINPACK: linpack".into()));
        assert_eq!(said(None, Some(AsExpected)), (None, "cpu; LINPACK: linpack".into()));
        assert_eq!(said(None, None), (None, "cpu".into()));
    }
}
