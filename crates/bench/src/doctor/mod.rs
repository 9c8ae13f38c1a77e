//! Whether numbers taken now can be trusted.
