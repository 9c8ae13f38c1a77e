//! JSON reports of tools: text around the report is ignored, contradictory keys have no value, and a tool's error is quoted.

use std::fmt;

use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

use crate::output::Output;

/// Stands for the value of a key that an object has several times, with different values.
const CONTRADICTORY: &str = "several different values";

pub(crate) fn json_number(tool: &str, object: &Value, key: &str) -> Result<f64, String> {
    if [object, &object[key]].iter().any(|value| value.as_str() == Some(CONTRADICTORY)) {
        return Err(format!("{tool}'s report has {CONTRADICTORY} for the same key, at or above '{key}'"));
    }
    let number = object[key].as_f64();
    number.ok_or_else(|| format!("{tool}'s report has no number '{key}'"))
}

/// The first JSON object or list of a text that starts a line; without one, the error quotes the complaint in `output`.
pub(crate) fn json_report(tool: &str, text: &str, output: &Output) -> Result<Value, String> {
    let mut reports = serde_json::Deserializer::from_str(report_in(text)).into_iter::<Node>();
    let reason = match reports.next() {
        Some(Ok(node)) => return Ok(node.into_value()),
        Some(Err(error)) => error.to_string(),
        None => "it has no object".to_owned(),
    };
    Err(format!("{tool}'s report is not JSON ({reason}): {}", output.complaint()))
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

/// A value with every key of its objects; `serde_json` keeps the last of equal keys.
#[derive(Deserialize)]
#[serde(untagged)]
enum Node {
    List(Vec<Self>),
    Object(Pairs),
    Plain(Value),
}

impl Node {
    fn into_value(self) -> Value {
        match self {
            Self::Plain(value) => value,
            Self::List(nodes) => nodes.into_iter().map(Self::into_value).collect(),
            Self::Object(Pairs(pairs)) => {
                let mut object = Map::new();
                for (key, node) in pairs {
                    let value = node.into_value();
                    let contradicts = object.get(&key).is_some_and(|other| *other != value);
                    object.insert(key, if contradicts { CONTRADICTORY.into() } else { value });
                }
                Value::Object(object)
            }
        }
    }
}

struct Pairs(Vec<(String, Node)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsReader)
    }
}

struct PairsReader;

impl<'de> de::Visitor<'de> for PairsReader {
    type Value = Pairs;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tests::fixtures::said;

    fn read(text: &str) -> Result<Value, String> {
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
        let text = r#"{"sum": {"rate": 1}, "sum": {"rate": 2}, "block": 8, "block": 8, "n": 1, "n": 2}"#;
        let report = read(text).unwrap();
        assert_eq!(json_number("tool", &report, "block"), Ok(8.0));
        for (object, key) in [(&report["sum"], "rate"), (&report, "n")] {
            let reason = json_number("tool", object, key).unwrap_err();
            assert!(reason.contains("tool's report has several different values"), "{reason}");
        }
    }

    #[test]
    fn a_report_that_is_not_json_has_a_reason() {
        for (text, expected) in [
            (r#"{"a": 1, "loss": -nan}"#, "not JSON (invalid number at line 1 column 19)"),
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
        assert!(json_number("tool", &read("{}").unwrap(), "other").unwrap_err().contains("no number 'other'"));
    }
}
