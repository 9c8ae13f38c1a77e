//! Enums whose members have one name each in documents, ids and options; and names of later versions.

use std::cmp::Ordering;
use std::fmt;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Builds enums whose members have one wire name each (after `|` that of an earlier schema), with `ALL` and `name`.
macro_rules! words {
    ($($(#[$meta:meta])* $type:ident, $what:literal, {
        $($(#[$doc:meta])* $member:ident => $name:literal $(| $earlier:literal)?,)+
    })+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[cfg_attr(feature = "schema", derive(JsonSchema))]
        pub enum $type { $($(#[$doc])* #[serde(rename = $name $(, alias = $earlier)?)] $member,)+ }

        impl $type {
            /// Every member, in the table's order.
            pub const ALL: &'static [Self] = &[$(Self::$member,)+];

            /// The name in ids, documents and options.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$member => $name,)+ }
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                const NAMES: &[&str] = &[$($name, $($earlier,)?)+];
                const MEMBERS: &[$type] = &[$($type::$member, $({ let _ = $earlier; $type::$member },)?)+];
                deserializer.deserialize_str($crate::words::OneOf(NAMES)).map(|index| MEMBERS[index])
            }
        }

        impl $crate::words::Word for $type {
            const ALL: &'static [Self] = Self::ALL;

            fn name(self) -> &'static str {
                Self::name(self)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Self::ALL.iter().copied().find(|member| member.name() == text).ok_or_else(|| {
                    let names: Vec<_> = Self::ALL.iter().map(|member| member.name()).collect();
                    format!("'{text}' is no {}; known: {}", $what, names.join(", "))
                })
            }
        }
    )+};
}
pub(crate) use words;

/// Reads one of these names as its index. One `Visitor` for all enums: the code that serde derives for each is over 100 kB longer.
pub(crate) struct OneOf(pub(crate) &'static [&'static str]);

impl Visitor<'_> for OneOf {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        self.0.iter().position(|known| *known == name).ok_or_else(|| E::unknown_variant(name, self.0))
    }
}

/// The number of a field that earlier documents do not have.
pub(crate) const fn one() -> u32 {
    1
}

pub(crate) fn id<const N: usize>(parts: [Option<String>; N]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join("/")
}

/// An enum made by the macro `words`.
pub trait Word: Copy + Eq + std::str::FromStr + 'static {
    /// Every member, in the table's order.
    const ALL: &'static [Self];

    /// The name in ids, documents and options.
    fn name(self) -> &'static str;
}

/// A name in a document: one that this version knows, or one of a later version, which is kept as it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Named<W> {
    /// A name that this version knows.
    Known(W),
    /// A name of a later version.
    Other(String),
}

impl<W: Word> Named<W> {
    /// The name in the document.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(word) => word.name(),
            Self::Other(name) => name,
        }
    }

    /// The member, where this version knows the name.
    pub fn known(&self) -> Option<W> {
        match self {
            Self::Known(word) => Some(*word),
            Self::Other(_) => None,
        }
    }
}

impl<W: Word> From<W> for Named<W> {
    fn from(word: W) -> Self {
        Self::Known(word)
    }
}

impl<W: Word> From<&str> for Named<W> {
    fn from(name: &str) -> Self {
        name.parse().map_or_else(|_| Self::Other(name.to_owned()), Self::Known)
    }
}

impl<W: Word> From<String> for Named<W> {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl<W: Word> PartialEq<W> for Named<W> {
    fn eq(&self, word: &W) -> bool {
        self.known() == Some(*word)
    }
}

impl<W: Word> Ord for Named<W> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl<W: Word> PartialOrd for Named<W> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<W: Word> fmt::Display for Named<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl<W: Word> Serialize for Named<W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de, W: Word> Deserialize<'de> for Named<W> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

/// In the schema it is any string.
#[cfg(feature = "schema")]
impl<W> JsonSchema for Named<W> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}
