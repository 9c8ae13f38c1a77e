//! A comparison as a table for a terminal and as Markdown for a pull request. Verdicts and explanations are the
//! comparison's own.

mod bar;
mod markdown;
mod parts;
mod text;

pub use markdown::markdown;
pub use text::text;
