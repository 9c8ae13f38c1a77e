//! Reading documents from JSON, in one function for each.
//!
//! The code that reads a document takes half a megabyte, and each crate that called `serde_json` itself would have its own copy.

use crate::cluster::{Claim, ClusterDocument, NodeFacts, Outcome, Plan, ServerRecord, SubmittedJob, Task};
use crate::comparison::Comparison;
use crate::doctor::Diagnosis;
use crate::document::Document;
use crate::reference::Catalogue;

/// What can be read from JSON.
pub trait FromJson: Sized {
    /// Reads it; fails where the text is not such a value.
    fn from_json(text: &[u8]) -> serde_json::Result<Self>;
}

macro_rules! from_json {
    ($($name:ty),+ $(,)?) => {
        $(impl FromJson for $name {
            fn from_json(text: &[u8]) -> serde_json::Result<Self> {
                serde_json::from_slice(text)
            }
        })+
    };
}

from_json!(
    Catalogue,
    Claim,
    ClusterDocument,
    Comparison,
    Diagnosis,
    Document,
    NodeFacts,
    Outcome,
    Plan,
    ServerRecord,
    SubmittedJob,
    Task,
);
