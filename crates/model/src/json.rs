//! Reading documents from JSON, in one function for each.
//!
//! The code that reads a document takes half a megabyte, and each crate that called `serde_json` itself would have its own copy.

use crate::cluster::{
    CampaignMark, Claim, ClusterDocument, NodeFacts, Outcome, Plan, ServerRecord, SubmittedJob, Task,
};
use crate::comparison::Comparison;
use crate::doctor::Diagnosis;
use crate::document::Document;
use crate::reference::Catalogue;
use crate::wire::Task as WorkerTask;

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

/// Implements [`FromJson`] for an enum of objects that are tagged by `kind`. Serde's own way reads every object twice, with a second
/// copy of all code.
#[macro_export]
macro_rules! from_tagged_json {
    ($name:ident {
        $($kind:literal => $variant:ident $(($value:ident))? $({ $($(#[$attribute:meta])* $field:ident: $type:ty),+ $(,)? })?),+ $(,)?
    }) => {
        impl $crate::json::FromJson for $name {
            fn from_json(text: &[u8]) -> serde_json::Result<Self> {
                match $crate::json::kind(text)?.as_str() {
                    $($kind => $crate::from_tagged_json!(@read text, $variant $(($value))? $({ $($(#[$attribute])* $field: $type),+ })?),)+
                    other => Err(serde::de::Error::custom(format_args!("unknown kind '{other}'"))),
                }
            }
        }
    };
    (@read $text:ident, $variant:ident) => { Ok(Self::$variant) };
    (@read $text:ident, $variant:ident ($value:ident)) => { serde_json::from_slice($text).map(Self::$variant) };
    (@read $text:ident, $variant:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),+ }) => {{
        #[derive(serde::Deserialize)]
        struct Fields { $($(#[$attribute])* $field: $type),+ }
        serde_json::from_slice($text).map(|Fields { $($field),+ }| Self::$variant { $($field),+ })
    }};
}

/// The `kind` of an object.
pub fn kind(text: &[u8]) -> serde_json::Result<String> {
    #[derive(serde::Deserialize)]
    struct Tagged {
        kind: String,
    }
    serde_json::from_slice(text).map(|Tagged { kind }| kind)
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
    CampaignMark,
    Task,
    WorkerTask,
);
