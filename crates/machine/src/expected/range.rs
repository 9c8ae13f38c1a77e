//! A published range with its document.

use model::machine::{ExpectedQuantity, MachineExpectation};
use model::sample::Expectation;

use crate::published::table::Published;

/// A published range, with the document of its lower end.
pub(super) fn published(
    quantity: ExpectedQuantity,
    [low, high]: [f64; 2],
    document: &Published,
    text: String,
) -> MachineExpectation {
    let [origin, date] = [&document.origin, &document.date].map(|text| Some(text.clone()));
    let range = Expectation { source: "published".to_owned(), low, high, text, origin, date, n: None };
    MachineExpectation { quantity: quantity.into(), benchmark: None, metric: None, range }
}
