//! Reference tools in pairs with our rows, installed ones and fakes.

pub(crate) mod fakes;
mod here;
mod pairs;
pub(crate) mod support;
mod trouble;
