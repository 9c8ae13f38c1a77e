//! A field and a line of CSV.

use std::borrow::Cow;

pub(super) fn text(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// The shortest digits that read back as the same number.
pub(super) fn figure(value: Option<f64>) -> String {
    text(value)
}

pub(crate) fn line(fields: &[String]) -> String {
    let quoted: Vec<Cow<'_, str>> = fields.iter().map(|field| quote(field)).collect();
    format!("{}\n", quoted.join(","))
}

fn quote(field: &str) -> Cow<'_, str> {
    let field = harmless(field);
    if field.contains(['"', ',', '\r', '\n']) {
        Cow::Owned(format!("\"{}\"", field.replace('"', "\"\"")))
    } else {
        field
    }
}

/// The field with an apostrophe before what a spreadsheet would take for a formula (OWASP, "CSV Injection"); a figure is
/// none, whatever its sign.
fn harmless(field: &str) -> Cow<'_, str> {
    let is_formula = field.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && field.parse::<f64>().is_err();
    // A dash alone is what stands for nothing.
    if is_formula && field != crate::grid::value::ABSENT {
        Cow::Owned(format!("'{field}"))
    } else {
        Cow::Borrowed(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_needs_quotes_gets_them() {
        assert_eq!(quote("a b"), "a b");
        assert_eq!(quote("say \"no\", please\n"), "\"say \"\"no\"\", please\n\"");
    }

    #[test]
    fn what_a_spreadsheet_would_carry_out_is_text() {
        assert_eq!(quote("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
        assert_eq!(quote("@SUM(1,2)"), "\"'@SUM(1,2)\"");
        for figure in ["-1.5", "+2", "-1e-9", "-inf", "-", "a=b"] {
            assert_eq!(quote(figure), figure);
        }
    }
}
