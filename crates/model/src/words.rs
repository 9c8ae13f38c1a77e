//! The macro that makes an enum of names.

/// Builds an enum whose members have one wire name each, with `ALL`, `name`, `Display` and `FromStr`.
macro_rules! words {
    ($(#[$meta:meta])* $type:ident, $what:literal, { $($(#[$doc:meta])* $member:ident => $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $type { $($(#[$doc])* #[serde(rename = $name)] $member,)+ }

        impl $type {
            /// Every member, in the table's order.
            pub const ALL: &'static [Self] = &[$(Self::$member,)+];

            /// The name in ids, documents and options.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$member => $name,)+ }
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
    };
}
pub(crate) use words;
