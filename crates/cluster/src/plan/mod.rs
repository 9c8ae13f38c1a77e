//! Making a plan, and writing it into its folder.

pub mod request;
pub(crate) mod suite;
pub mod write;
