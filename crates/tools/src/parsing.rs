//! Labels, words and numbers in what a tool printed: what the parsers have in common.

use serde_json::Value;

use crate::error::ToolError;
use crate::output::Output;

/// A tool's text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) tool: &'static str,
    pub(crate) text: &'a str,
}

impl<'a> Text<'a> {
    pub(crate) fn new(tool: &'static str, text: &'a str) -> Self {
        Self { tool, text }
    }

    /// What follows `label` in the first line that begins with it, leading blanks aside.
    pub(crate) fn after(&self, label: &str) -> Result<&'a str, ToolError> {
        let label = label.trim_end();
        let rest = self.text.lines().find_map(|line| line.trim_start().strip_prefix(label)).map(str::trim);
        rest.ok_or_else(|| ToolError::Unreadable(format!("{} printed no '{label}'", self.tool)))
    }

    /// The number that follows `label`; a unit or a comma may follow.
    pub(crate) fn number(&self, label: &str) -> Result<f64, ToolError> {
        let rest = self.after(label)?;
        // A comma within a word is a decimal comma, which no tool is to print.
        let word = rest.split_whitespace().next().unwrap_or_default().trim_end_matches(',');
        number_in(word).ok_or_else(|| {
            let (tool, label) = (self.tool, label.trim_end());
            ToolError::Unreadable(format!("{tool} printed '{rest}' as its '{label}': that is no number"))
        })
    }

    /// Checks the number that follows `label` against a setting.
    pub(crate) fn ran_with(&self, label: &str, asked: u64) -> Result<(), ToolError> {
        let ran = self.number(label)?;
        if (ran - asked as f64).abs() > 0.0 {
            return Err(ToolError::other_setting(self.tool, label.trim_end(), ran, asked));
        }
        Ok(())
    }
}

/// A finite number.
pub(crate) fn number_in(word: &str) -> Option<f64> {
    word.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// A number below a JSON object.
pub(crate) fn json_number(tool: &str, object: &Value, key: &str) -> Result<f64, ToolError> {
    let number = object[key].as_f64();
    number.ok_or_else(|| ToolError::Unreadable(format!("{tool}'s report has no number '{key}'")))
}

/// A report in JSON; `output` has the complaint where there is none.
pub(crate) fn json_report(tool: &str, report: &str, output: &Output) -> Result<Value, ToolError> {
    serde_json::from_str(report)
        .map_err(|error| ToolError::Unreadable(format!("{tool}'s report is no JSON ({error}): {}", output.complaint())))
}
