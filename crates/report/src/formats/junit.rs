//! `JUnit` XML for CI systems: a suite for each area, a case for each row, with its values, confidence and warnings as output.

use std::fmt::Write;

use model::document::{Document, Row, Status};
use model::experiment::Area;

use crate::formats::escape::one_line;
use crate::grid::groups::by_area;
use crate::reason::NO_REASON;
use model::number::{Notation, percent, quantity, spread};

pub(crate) struct Suite<'a> {
    pub(crate) name: &'a str,
    pub(crate) started: &'a str,
    pub(crate) host: &'a str,
    pub(crate) properties: Vec<(&'static str, &'a str)>,
    pub(crate) cases: Vec<Case<'a>>,
}

pub(crate) struct Case<'a> {
    pub(crate) name: &'a str,
    pub(crate) class: String,
    pub(crate) seconds: f64,
    pub(crate) outcome: Outcome<'a>,
    pub(crate) output: Vec<String>,
}

pub(crate) enum Outcome<'a> {
    Passed,
    Failed { kind: &'static str, message: String, details: Vec<String> },
    Skipped(&'a str),
}

/// The whole file.
pub fn render(document: &Document) -> String {
    let suites = by_area(document).map(|(area, rows)| suite(area, &rows, document)).collect();
    file(&format!("assay {}", document.run.suite), suites).collect()
}

fn suite<'a>(area: Area, rows: &[&'a Row], document: &'a Document) -> Suite<'a> {
    Suite {
        name: area.name(),
        started: &document.run.started,
        host: document.machine.host.as_deref().unwrap_or_default(),
        properties: vec![
            ("run", &document.run.id),
            ("version", &document.assay.version),
            ("cpu", document.machine.cpu.model_name.as_deref().unwrap_or("unknown")),
            ("confidence", document.run.confidence.map_or("none", |confidence| confidence.name())),
        ],
        cases: rows.iter().map(|row| case(row)).collect(),
    }
}

fn case(row: &Row) -> Case<'_> {
    let reason = row.reason.as_deref().unwrap_or(NO_REASON);
    let outcome = match row.status {
        Status::Ok => Outcome::Passed,
        Status::Failed => Outcome::Failed { kind: "failed", message: reason.into(), details: vec![reason.into()] },
        Status::Skipped => Outcome::Skipped(reason),
    };
    Case { name: &row.id, class: format!("assay.{}", row.area), seconds: row.seconds, outcome, output: output(row) }
}

fn output(row: &Row) -> Vec<String> {
    let confidence = row.confidence.map(|confidence| format!("{confidence} confidence"));
    let values = row.metrics.iter().map(|metric| {
        let value = quantity(metric.summary.median, Notation::of(row.area, metric.unit));
        let share =
            metric.efficiency.map_or_else(String::new, |share| format!(", {} of {}", percent(share.value), share.of));
        format!("{}: {value} {}{share}", metric.name, spread(&metric.summary, "±"))
    });
    let warnings = row.warnings.iter().map(|warning| format!("{}: {} {}", warning.code, warning.text, warning.advice));
    confidence.into_iter().chain(values).chain(warnings).collect()
}

/// A file in pieces, one for each suite.
pub(crate) fn file<'a>(name: &str, suites: Vec<Suite<'a>>) -> impl Iterator<Item = String> + use<'a> {
    let head = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\"{}>\n",
        attribute(name),
        counts(suites.iter().flat_map(|suite| &suite.cases))
    );
    let tail = std::iter::once("</testsuites>\n".to_owned());
    std::iter::once(head).chain(suites.into_iter().map(|suite| suite_text(&suite))).chain(tail)
}

/// The attributes that count cases and their time.
fn counts<'c, 'a: 'c>(cases: impl Iterator<Item = &'c Case<'a>> + Clone) -> String {
    let all = cases.clone().count();
    let failed = cases.clone().filter(|case| matches!(case.outcome, Outcome::Failed { .. })).count();
    let skipped = cases.clone().filter(|case| matches!(case.outcome, Outcome::Skipped(_))).count();
    let seconds = time(cases.map(|case| case.seconds).filter(|seconds| seconds.is_finite()).sum());
    format!(" tests=\"{all}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\" time=\"{seconds}\"")
}

/// Seconds as the schema requires them: no exponent, not below 0.
fn time(seconds: f64) -> String {
    // An empty sum is -0.0.
    let seconds = if seconds.is_finite() && seconds > 0.0 { seconds } else { 0.0 };
    format!("{seconds:.3}")
}

fn suite_text(suite: &Suite<'_>) -> String {
    // The schema requires a time without a zone.
    let started = suite.started.trim_end_matches('Z');
    let mut text = format!(
        "  <testsuite name=\"{}\"{} timestamp=\"{}\" hostname=\"{}\">\n",
        attribute(suite.name),
        counts(suite.cases.iter()),
        attribute(started),
        attribute(suite.host),
    );
    if !suite.properties.is_empty() {
        text.push_str("    <properties>\n");
        for (name, value) in &suite.properties {
            let _ = writeln!(text, "      <property name=\"{name}\" value=\"{}\"/>", attribute(value));
        }
        text.push_str("    </properties>\n");
    }
    suite.cases.iter().for_each(|case| write_case(&mut text, case));
    text.push_str("  </testsuite>\n");
    text
}

fn write_case(text: &mut String, case: &Case<'_>) {
    let lines = |lines: &[String]| lines.iter().map(|line| content(line)).collect::<Vec<_>>().join("\n");
    let (name, class, seconds) = (attribute(case.name), attribute(&case.class), time(case.seconds));
    let _ = writeln!(text, "    <testcase name=\"{name}\" classname=\"{class}\" time=\"{seconds}\">");
    let _ = match &case.outcome {
        Outcome::Passed => Ok(()),
        Outcome::Failed { kind, message, details } => {
            let (message, body) = (attribute(message), lines(details));
            writeln!(text, "      <failure message=\"{message}\" type=\"{kind}\">{body}</failure>")
        }
        Outcome::Skipped(reason) => writeln!(text, "      <skipped message=\"{}\"/>", attribute(reason)),
    };
    if !case.output.is_empty() {
        let _ = writeln!(text, "      <system-out>{}</system-out>", lines(&case.output));
    }
    text.push_str("    </testcase>\n");
}

fn attribute(text: &str) -> String {
    content(text).replace('"', "&quot;").replace('\'', "&apos;")
}

/// Text between tags, escaped and without characters that XML forbids.
fn content(text: &str) -> String {
    one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_elsewhere_stays_text() {
        assert_eq!(attribute("a\u{0}\"b\" <c> & ]]>\u{ffff}"), "a\u{fffd}&quot;b&quot; &lt;c&gt; &amp; ]]&gt;\u{fffd}");
    }

    #[test]
    fn times_are_plain_numbers() {
        assert_eq!([1.5, -0.0, f64::NAN, -3.0].map(time), ["1.500", "0.000", "0.000", "0.000"]);
    }
}
