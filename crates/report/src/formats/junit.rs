//! `JUnit` XML for CI systems: a suite for each area, a case for each row, with its values, confidence and warnings as output.

use std::fmt::Write;

use model::document::{Document, Row, Status};
use model::experiment::Area;

use crate::formats::escape::one_line;
use crate::grid::groups::by_area;
use model::number::{Notation, percent, quantity, spread};

/// The whole file.
pub fn render(document: &Document) -> String {
    let rows: Vec<&Row> = document.experiments.iter().collect();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay {}\"{}>\n",
        attribute(&document.run.suite),
        counts(&rows),
    );
    for (area, rows) in by_area(document) {
        text.push_str(&suite(area, &rows, document));
    }
    text.push_str("</testsuites>\n");
    text
}

/// The attributes that count cases and their time.
fn counts(rows: &[&Row]) -> String {
    let of = |status: Status| rows.iter().filter(|row| row.status == status).count();
    let seconds: f64 = rows.iter().map(|row| row.seconds).filter(|seconds| seconds.is_finite()).sum();
    format!(
        " tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{}\"",
        rows.len(),
        of(Status::Failed),
        of(Status::Skipped),
        time(seconds)
    )
}

/// Seconds as the schema wants them: no exponent, not below 0.
fn time(seconds: f64) -> String {
    // An empty sum is -0.0.
    let seconds = if seconds.is_finite() && seconds > 0.0 { seconds } else { 0.0 };
    format!("{seconds:.3}")
}

fn suite(area: Area, rows: &[&Row], document: &Document) -> String {
    // The schema wants a moment without a zone.
    let started = document.run.started.trim_end_matches('Z');
    let host = document.machine.host.as_deref().unwrap_or_default();
    let cpu = document.machine.cpu.model_name.as_deref().unwrap_or("unknown");
    let mut text = format!(
        "  <testsuite name=\"{area}\"{} timestamp=\"{}\" hostname=\"{}\">\n    <properties>\n",
        counts(rows),
        attribute(started),
        attribute(host),
    );
    let confidence = document.run.confidence.map_or("none", |confidence| confidence.name());
    let properties = [
        ("run", document.run.id.as_str()),
        ("version", &document.assay.version),
        ("cpu", cpu),
        ("confidence", confidence),
    ];
    for (name, value) in properties {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "      <property name=\"{name}\" value=\"{}\"/>", attribute(value));
    }
    text.push_str("    </properties>\n");
    text.extend(rows.iter().map(|row| case(row)));
    text.push_str("  </testsuite>\n");
    text
}

fn case(row: &Row) -> String {
    let mut text = format!(
        "    <testcase name=\"{}\" classname=\"assay.{}\" time=\"{}\">\n",
        attribute(&row.id),
        row.area,
        time(row.seconds)
    );
    let reason = row.reason.as_deref().unwrap_or("no reason was recorded");
    let _ = match row.status {
        Status::Ok => Ok(()),
        Status::Failed => {
            let (message, body) = (attribute(reason), content(reason));
            writeln!(text, "      <failure message=\"{message}\" type=\"failed\">{body}</failure>")
        }
        Status::Skipped => writeln!(text, "      <skipped message=\"{}\"/>", attribute(reason)),
    };
    let output = output(row);
    if !output.is_empty() {
        let output: Vec<String> = output.iter().map(|line| content(line)).collect();
        let _ = writeln!(text, "      <system-out>{}</system-out>", output.join("\n"));
    }
    text.push_str("    </testcase>\n");
    text
}

/// Confidence, values and warnings, a line each.
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

/// Text between quotes.
pub(crate) fn attribute(text: &str) -> String {
    content(text).replace('"', "&quot;").replace('\'', "&apos;")
}

/// Text between tags, escaped and without characters that XML forbids.
pub(crate) fn content(text: &str) -> String {
    one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_elsewhere_stays_text() {
        assert_eq!(attribute("a\u{0}\"b\" <c> & ]]>\u{ffff}"), "a &quot;b&quot; &lt;c&gt; &amp; ]]&gt;");
    }

    #[test]
    fn times_are_plain_numbers() {
        assert_eq!([1.5, -0.0, f64::NAN, -3.0].map(time), ["1.500", "0.000", "0.000", "0.000"]);
    }
}
