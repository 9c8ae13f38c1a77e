//! Why a tool has no value.

use std::fmt;

/// Why a tool cannot be used, or has no value for a benchmark. Each carries the sentence for the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolError {
    /// The tool cannot measure the benchmark at equal settings.
    Unsuitable(String),
    /// The tool cannot be called here: a file, a program or a newer version is missing.
    Uncallable(String),
    /// The tool reports that it failed.
    Failed(String),
    /// The output is not what a known version prints.
    Unreadable(String),
    /// The tool ran with other settings than it was asked for.
    OtherSettings(String),
    /// A number in the output cannot be a measurement, or contradicts another one.
    Implausible(String),
}

impl ToolError {
    /// The sentence.
    pub fn reason(&self) -> &str {
        match self {
            Self::Unsuitable(reason)
            | Self::Uncallable(reason)
            | Self::Failed(reason)
            | Self::Unreadable(reason)
            | Self::OtherSettings(reason)
            | Self::Implausible(reason) => reason,
        }
    }

    /// The tool is not compared with a benchmark of its own area.
    pub(crate) fn not_beside(tool: &str, why: &str) -> Self {
        Self::Unsuitable(format!("{tool} is not run beside this: {why}"))
    }

    /// The tool ran with `setting` as `ran`, not as `asked`.
    pub(crate) fn other_setting(tool: &str, setting: &str, ran: impl fmt::Display, asked: impl fmt::Display) -> Self {
        Self::OtherSettings(format!("{tool} ran with {setting} {ran} and not {asked}"))
    }

    #[cfg(test)]
    pub(crate) fn contains(&self, words: &str) -> bool {
        self.reason().contains(words)
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl std::error::Error for ToolError {}

impl From<ToolError> for String {
    fn from(error: ToolError) -> Self {
        error.to_string()
    }
}
