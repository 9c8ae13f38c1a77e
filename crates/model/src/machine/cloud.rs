//! The cloud that a machine was rented from.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::words;

words! {
    /// Who rents out machines.
    Provider, "cloud provider", {
        /// Amazon EC2.
        Ec2 => "ec2",
        /// Microsoft Azure.
        Azure => "azure",
        /// Google Compute Engine.
        Gce => "gce",
    }
}

impl Provider {
    /// The name for a reader.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Ec2 => "Amazon EC2",
            Self::Azure => "Microsoft Azure",
            Self::Gce => "Google Compute Engine",
        }
    }
}

/// The cloud underneath, and which of its machine types this is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Cloud {
    /// The provider.
    pub provider: Provider,
    /// The type in the provider's spelling, such as `m7i.2xlarge`; `None` where firmware and cloud-init do not state it.
    #[serde(default)]
    pub machine_type: Option<String>,
}
