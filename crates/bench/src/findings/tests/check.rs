//! Whether a finding is true: every figure of its sentence worked out anew from the rows that it names, directions,
//! superlatives and spans included. What the rules use to find it is not used here.

use std::collections::BTreeMap;

use model::document::{Finding, Row, Status};
use model::experiment::Area;
use model::machine::Machine;
use model::warning::Grade;

use super::super::rules::{Group, RULES};
use super::facts::{Outcome, beside, ensure, is_quiet, maybe, median, metric, names};
use super::read::{fields, says};
use super::{areas, every, memory};

/// A finding with what it says and what it rests on.
pub(super) struct Case<'a> {
    pub(super) code: &'a str,
    pub(super) area: Area,
    pub(super) fields: BTreeMap<String, String>,
    /// The rows of its evidence, in its order.
    pub(super) rows: Vec<&'a Row>,
    /// All rows of the document.
    pub(super) all: &'a [Row],
    pub(super) machine: &'a Machine,
}

impl<'a> Case<'a> {
    pub(super) fn text(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", String::as_str)
    }

    pub(super) fn is(&self, field: &str, value: f64) -> Outcome {
        says(self.text(field), value).map_err(|why| format!("{field}: {why}"))
    }

    pub(super) fn names(&self, row: &Row, with_threads: bool) -> Outcome {
        names(self.text("what"), row, with_threads)
    }

    /// The only row of the evidence.
    pub(super) fn only(&self) -> Result<&'a Row, String> {
        if let [row] = self.rows[..] { Ok(row) } else { Err(format!("{} rows instead of one", self.rows.len())) }
    }

    /// The only row of the evidence that is so, and the only one that is not: the other, and what it is set against.
    pub(super) fn pair(&self, is_other: impl Fn(&Row) -> bool) -> Result<(&'a Row, &'a Row), String> {
        match self.rows[..] {
            [a, b] if is_other(b) && !is_other(a) => Ok((a, b)),
            [a, b] if is_other(a) && !is_other(b) => Ok((b, a)),
            _ => Err("these are no such two rows".to_owned()),
        }
    }

    /// The quiet rows of the area.
    pub(super) fn quiet(&self) -> impl Iterator<Item = &'a Row> {
        let area = self.area;
        self.all.iter().filter(move |row| row.area == area && is_quiet(row))
    }

    /// The highest of a metric among the evidence.
    pub(super) fn highest(&self, name: &str) -> f64 {
        self.rows.iter().filter_map(|row| maybe(row, name)).fold(0.0, f64::max)
    }
}

/// Which way the second of two figures has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    More,
    Less,
    Differs,
    Alike,
    NotMore,
    Any,
}

/// That two rows are to each other as a rule says, in a metric.
pub(super) fn goes(way: Way, base: &Row, other: &Row, name: &str) -> Outcome {
    if way == Way::Any {
        return Ok(());
    }
    let found = beside(metric(base, name)?, metric(other, name)?)?;
    let holds = match way {
        Way::More => found == 1,
        Way::Less => found == -1,
        Way::Differs => found.abs() == 1,
        Way::Alike => found == 0,
        Way::NotMore => found == 0 || found == -1,
        Way::Any => true,
    };
    ensure(holds, &format!("{name} of {} beside {} is {found}, not {way:?}", other.id, base.id))
}

/// The second figure over the first.
pub(super) fn ratio(base: &Row, other: &Row, name: &str) -> Result<f64, String> {
    Ok(median(other, name)? / median(base, name)?)
}

/// Whether a finding is true of these rows.
pub(super) fn check(finding: &Finding, all: &[Row], machine: &Machine) -> Outcome {
    let rule = RULES.iter().find(|rule| rule.code == finding.code).ok_or("no such rule")?;
    ensure(rule.areas.contains(&finding.area), "not a rule of this area")?;
    // What a tool or a library says of itself has no bound.
    let quotes = matches!(finding.code.as_str(), "linpack_core_type" | "reference_differs");
    ensure(quotes || finding.text.chars().count() <= 200, "longer than two lines")?;
    ensure(finding.text.ends_with('.') && !finding.text.contains(['{', '}', '\n']), "no sentence")?;
    let fields = fields(rule.pattern, &finding.text).ok_or("it does not follow its pattern")?;
    let mut rows: Vec<&Row> = Vec::new();
    for id in &finding.evidence {
        let found: Vec<&Row> = all.iter().filter(|row| row.id == *id).collect();
        let [row] = found[..] else { return Err(format!("evidence {id} is {} rows", found.len())) };
        ensure(!rows.iter().any(|other| other.id == row.id), "evidence twice")?;
        // Advice alone may be of several areas: which ones it names is checked with its rule.
        let is_own = row.area == finding.area || finding.code == "what_to_try";
        ensure(is_own && row.status == Status::Ok && row.grade.is_some(), "evidence not measured")?;
        let claims = rule.group != Group::Trust;
        ensure(!claims || row.grade < Some(Grade::C), "a claim that rests on a disturbed row")?;
        rows.push(row);
    }
    ensure(!rows.is_empty(), "no evidence")?;
    let case = Case { code: &finding.code, area: finding.area, fields, rows, all, machine };
    let known = every::check(&case)
        .or_else(|| memory::check(&case))
        .or_else(|| areas::two_rows(&case))
        .or_else(|| areas::check(&case));
    known.unwrap_or_else(|| Err("nothing checks this rule".to_owned()))
}
