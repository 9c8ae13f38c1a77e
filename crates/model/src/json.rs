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
                check_counts(text)?;
                serde_json::from_slice(text)
            }
        })+
    };
}

/// Without limits: only our own text is read back, and ten thousand nodes have a million values.
impl FromJson for ClusterDocument {
    fn from_json(text: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(text)
    }
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
    check_counts(text)?;
    serde_json::from_slice(text).map(|Tagged { kind }| kind)
}

/// The most objects in a text: classic on 512 threads has 840 thousand. The largest that may be empty takes 0.6 kB in memory.
const MOST_OBJECTS: usize = 1 << 20;
/// The most values in a text: the largest, a text, takes 24 B in memory.
const MOST_VALUES: usize = 1 << 23;

/// Fails for a text of many tiny values, which would take a hundred times its size in memory.
fn check_counts(text: &[u8]) -> serde_json::Result<()> {
    let has_over = |most: usize, byte: u8| text.iter().filter(|it| **it == byte).nth(most).is_some();
    if has_over(MOST_OBJECTS, b'{') || has_over(MOST_VALUES, b',') {
        return Err(serde::de::Error::custom("it has too many values"));
    }
    Ok(())
}

from_json!(
    Catalogue,
    Claim,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_of_millions_of_tiny_values_is_refused_before_it_takes_memory() {
        for tiny in [&b"{},"[..], b"{ },", b"\"\",", b"0,"] {
            let text = [&b"{\"schema\":["[..], &tiny.repeat(MOST_VALUES + 1), b"0]}"].concat();
            let error = Document::from_json(&text).unwrap_err();
            assert!(error.to_string().contains("too many values"), "{error}");
            assert!(kind(&text).unwrap_err().to_string().contains("too many values"));
        }
    }
}
