//! Readers of the forms that are written, made from their grammars and not from the writers.

mod benchfmt;
mod csv;
mod latex;
mod markdown;
mod prometheus;

pub(crate) use benchfmt::benchmarks;
pub(crate) use csv::records;
pub(crate) use latex::check as check_latex;
pub(crate) use markdown::check as check_markdown;
pub(crate) use prometheus::{Series, series};
