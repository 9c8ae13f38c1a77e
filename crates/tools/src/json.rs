//! JSON reports of tools: text around the report is ignored, contradictory keys have no value, and a tool's error is quoted.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

use crate::output::{Output, ToolError};

/// Stands for the value of a key that a report has several times, with different values.
const CONTRADICTORY: &str = "several different values";
/// What `printf` prints for a value that is not a number; JSON has none of these.
const NOT_NUMBERS: &[&str] = &["-nan", "nan", "-inf", "inf"];

pub(crate) fn json_number(tool: &str, object: &Value, key: &str) -> Result<f64, ToolError> {
    let contradicts = |value: &Value| value.as_str() == Some(CONTRADICTORY);
    if contradicts(object) || contradicts(&object[key]) {
        return Err(ToolError(format!("{tool}'s report has {CONTRADICTORY} for the same key, at or above '{key}'")));
    }
    let number = object[key].as_f64();
    number.ok_or_else(|| ToolError(format!("{tool}'s report has no number '{key}'")))
}

/// The first JSON object or list of a text that starts a line; without one, the error quotes the complaint in `output`.
pub(crate) fn json_report(tool: &str, text: &str, output: &Output) -> Result<Value, ToolError> {
    let report = report_in(text);
    let mut reports = serde_json::Deserializer::from_str(report).into_iter::<Report>();
    let reason = match reports.next() {
        Some(Ok(Report(report))) => return Ok(report),
        Some(Err(error)) => match not_a_number(report) {
            Some(what) => return Err(ToolError(format!("{tool}'s report has {what} instead of a number"))),
            None => error.to_string(),
        },
        None => "it has no object".to_owned(),
    };
    Err(ToolError(format!("{tool}'s report is not JSON ({reason}): {}", output.complaint())))
}

/// The text from the first line on that begins an object, or a list of objects.
fn report_in(text: &str) -> &str {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let begins = line.trim();
        let is_list = |rest: &str| rest.trim_start().is_empty() || rest.trim_start().starts_with(['{', ']']);
        if begins.starts_with('{') || begins.strip_prefix('[').is_some_and(is_list) {
            return &text[start..];
        }
        start += line.len();
    }
    ""
}

/// The first key whose value is not a number, with this value: `'lost_percent': -nan`.
fn not_a_number(report: &str) -> Option<String> {
    let mut pieces = report.split(':').peekable();
    while let Some(piece) = pieces.next() {
        let value = pieces.peek()?.trim_start();
        let word = value.split([',', '}', ']', ' ', '\n']).next().unwrap_or_default();
        let key = piece.trim_end().strip_suffix('"').and_then(|piece| piece.rsplit('"').next());
        if let Some(key) = key.filter(|_| NOT_NUMBERS.contains(&word)) {
            return Some(format!("'{key}': {word}"));
        }
    }
    None
}

/// A value in which a key with several different values has [`CONTRADICTORY`] as its value.
struct Report(Value);

impl<'de> Deserialize<'de> for Report {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReportVisitor).map(Self)
    }
}

struct ReportVisitor;

impl<'de> Visitor<'de> for ReportVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Report(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let (mut values, mut contradictory) = (BTreeMap::new(), BTreeSet::new());
        while let Some((key, Report(value))) = object.next_entry::<String, Report>()? {
            match values.entry(key) {
                Entry::Vacant(entry) => _ = entry.insert(value),
                Entry::Occupied(entry) if *entry.get() == value => {}
                Entry::Occupied(entry) => _ = contradictory.insert(entry.key().clone()),
            }
        }
        for key in contradictory {
            values.insert(key, Value::String(CONTRADICTORY.to_owned()));
        }
        Ok(Value::Object(values.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tests::fixtures::said;

    fn read(text: &str) -> Result<Value, ToolError> {
        json_report("tool", text, &said(text))
    }

    #[test]
    fn text_before_and_after_the_report_is_ignored() {
        let whole = json!({"a": [1, -2, 0.5, true, null, "{"], "b": {"c": {}}});
        for text in ["{before}{}{after}", "warning: {} is slow\n{}\nfio: pid=3\n}", "\n  {}\u{fffd}"] {
            let text = text.replacen("{before}", "", 1).replacen("{after}", " \nended", 1);
            let place = text.rfind("{}").unwrap();
            let text = format!("{}{whole}{}", &text[..place], &text[place + 2..]);
            assert_eq!(read(&text).unwrap(), whole, "{text}");
        }
    }

    #[test]
    fn a_key_with_different_values_has_none_and_one_with_equal_values_keeps_it() {
        let report =
            read(r#"{"sum": {"rate": 1}, "sum": {"rate": 2}, "block": 8, "block": 8, "n": 1, "n": 2}"#).unwrap();
        assert_eq!(json_number("tool", &report, "block"), Ok(8.0));
        for (object, key) in [(&report["sum"], "rate"), (&report, "n")] {
            let reason = json_number("tool", object, key).unwrap_err();
            assert!(reason.contains("tool's report has several different values"), "{reason}");
        }
        assert!(json_number("tool", &report, "other").unwrap_err().contains("no number 'other'"));
    }

    #[test]
    fn what_is_not_a_number_is_named_with_its_key() {
        for (text, expected) in [
            (r#"{"a": 1, "loss": -nan}"#, "'loss': -nan instead of a number"),
            ("{\"loss\" : nan,\n\"b\": 1}", "'loss': nan"),
            (r#"{"rate":inf}"#, "'rate': inf"),
            (
                "{\"rate\": 1\nserver: error: broken pipe",
                "not JSON (expected `,` or `}` at line 2 column 1): server: error",
            ),
            ("[  5] 0.00-1.00 sec", "not JSON"),
            ("", "it printed nothing"),
        ] {
            let reason = read(text).unwrap_err();
            assert!(reason.contains(expected), "{reason}");
        }
    }
}
