//! JSON reports of tools: text around the report is ignored, contradictory keys have no value, and a tool's error is quoted.

use std::collections::BTreeMap;

use serde_json::Value;

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
    let mut reports = serde_json::Deserializer::from_str(report).into_iter::<Value>();
    let reason = match reports.next() {
        Some(Ok(value)) => return Ok(without_contradictions(value, &report[..reports.byte_offset()])),
        Some(Err(error)) => match not_a_number(report) {
            Some(what) => return Err(ToolError(format!("{tool}'s report has {what} instead of a number"))),
            None => error.to_string(),
        },
        None => "it has no object".to_owned(),
    };
    Err(ToolError(format!("{tool}'s report is not JSON ({reason}): {}", output.complaint())))
}

/// The value without those of contradictory keys, of which the last would count.
fn without_contradictions(mut value: Value, text: &str) -> Value {
    for place in Scan::of(text) {
        if let Some(value) = value.pointer_mut(&place) {
            *value = Value::String(CONTRADICTORY.to_owned());
        }
    }
    value
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

/// Walks a valid report for keys that an object has several times with different values.
struct Scan<'a> {
    rest: &'a str,
    /// JSON pointers of these keys.
    found: Vec<String>,
}

impl<'a> Scan<'a> {
    fn of(report: &'a str) -> Vec<String> {
        let mut scan = Self { rest: report, found: Vec::new() };
        scan.value("");
        scan.found
    }

    /// The text of the next value; `path` is its pointer.
    fn value(&mut self, path: &str) -> &'a str {
        self.rest = self.rest.trim_start();
        let whole = self.rest;
        match whole.chars().next() {
            Some('{') => self.object(path),
            Some('[') => self.list(path),
            Some('"') => _ = self.text(),
            _ => {
                let end = whole.find(|c: char| c.is_whitespace() || ",]}".contains(c));
                self.rest = end.map_or("", |end| &whole[end..]);
            }
        }
        &whole[..whole.len() - self.rest.len()]
    }

    fn object(&mut self, path: &str) {
        let mut values: BTreeMap<&str, &str> = BTreeMap::new();
        self.skip("{");
        while self.rest.starts_with('"') {
            let key = self.text();
            self.skip(":");
            let place = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
            let value = self.value(&place);
            if values.insert(key, value).is_some_and(|other| other != value) {
                self.found.push(place);
            }
            self.skip(",");
        }
        self.skip("}");
    }

    fn list(&mut self, path: &str) {
        self.skip("[");
        for index in 0.. {
            if self.rest.is_empty() || self.rest.starts_with(']') {
                break;
            }
            self.value(&format!("{path}/{index}"));
            self.skip(",");
        }
        self.skip("]");
    }

    /// The contents of a string.
    fn text(&mut self) -> &'a str {
        let inside = self.rest.get(1..).unwrap_or_default();
        let mut is_escaped = false;
        let end = inside.find(|c| {
            let ends = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends
        });
        let end = end.unwrap_or(inside.len());
        self.rest = inside.get(end + 1..).unwrap_or_default();
        &inside[..end]
    }

    fn skip(&mut self, sign: &str) {
        let rest = self.rest.trim_start();
        self.rest = rest.strip_prefix(sign).unwrap_or(rest).trim_start();
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
