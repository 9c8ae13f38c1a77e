//! A document as text for other programs.

pub mod benchfmt;
pub mod csv;
pub(crate) mod escape;
pub mod json;
pub mod junit;
pub mod latex;
pub mod markdown;
pub mod prometheus;
pub mod schema;
