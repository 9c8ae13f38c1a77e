//! JSON reports of tools: text around the report is ignored, and a tool's error is quoted.

use serde_json::Value;

use crate::output::Output;

pub(crate) fn json_number(tool: &str, object: &Value, key: &str) -> Result<f64, String> {
    let number = object[key].as_f64();
    number.ok_or_else(|| format!("{tool}'s report has no number '{key}'"))
}

/// The first JSON object or list of a text that starts a line; without one, the error quotes the complaint in `output`.
pub(crate) fn json_report(tool: &str, text: &str, output: &Output) -> Result<Value, String> {
    let mut reports = serde_json::Deserializer::from_str(report_in(text)).into_iter::<Value>();
    let reason = match reports.next() {
        Some(Ok(value)) => return Ok(value),
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
