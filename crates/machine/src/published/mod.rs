//! Published values: what providers and makers state of their machines, each with its source and date. The tables are text
//! in the program, made by `cargo lab expectations`, and are read only when a value is asked for.

pub(crate) mod agreement;
pub(crate) mod instances;
pub(crate) mod processors;
pub(crate) mod results;
pub(crate) mod table;

#[cfg(test)]
mod tests;
