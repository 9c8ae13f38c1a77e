//! What `assay doctor` finds: whether numbers taken now can be trusted (schema `assay.doctor/1`).

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schema name that a diagnosis carries.
pub const SCHEMA: &str = "assay.doctor/1";

crate::words::words! {
    /// What a check found.
    CheckStatus, "check status", {
        /// Nothing to say against it.
        Ok => "ok",
        /// Results would have fair confidence.
        Warning => "warning",
        /// Results would have low confidence.
        Bad => "bad",
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Check {
    /// A warning's code, or the name of what was looked at.
    pub code: String,
    /// What was found.
    pub status: CheckStatus,
    /// What was seen, with its value.
    pub text: String,
    /// What to do about it, with the command; empty where there is nothing to do.
    pub advice: String,
    /// The value that was judged.
    #[serde(default, rename = "figure")]
    pub value: Option<f64>,
}

/// A reference tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct FoundTool {
    /// Its fixed lower-case id.
    pub tool: String,
    /// Where it is; `null` where it was not found.
    pub path: Option<String>,
    /// Its version; `null` where it was not found, cannot be used, or does not say.
    pub version: Option<String>,
    /// Why what was found cannot be used; `null` where it can.
    pub reason: Option<String>,
}

/// A whole diagnosis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Diagnosis {
    /// [`SCHEMA`].
    pub schema: String,
    /// Whether numbers taken now can be quoted: no check is bad.
    pub quotable: bool,
    /// How long it took.
    pub seconds: f64,
    /// What was looked at, in the table's order.
    pub checks: Vec<Check>,
    /// Reference tools.
    pub references: Vec<FoundTool>,
}
