//! The books of a discovery: where each fact came from and which facts are missing.

use std::collections::BTreeMap;

use model::machine::Unknown;

/// Sources and unknowns, filled while facts are gathered.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Dotted fact to source.
    pub(crate) sources: BTreeMap<String, String>,
    /// Facts not found.
    pub(crate) unknown: Vec<Unknown>,
}

/// A value with the place it was found in.
pub(crate) type Found<T> = Option<(T, String)>;

impl Ledger {
    /// Notes where a fact came from.
    pub(crate) fn source(&mut self, fact: &str, source: impl Into<String>) {
        self.sources.insert(fact.to_owned(), source.into());
    }

    /// Notes that facts came from where another came from, if that was found.
    pub(crate) fn same(&mut self, fact: &str, others: &[&str]) {
        if let Some(source) = self.sources.get(fact).cloned() {
            for other in others {
                self.source(other, source.clone());
            }
        }
    }

    /// Takes a fact with its source, or leaves it absent without a word.
    pub(crate) fn take<T>(&mut self, fact: &str, found: Found<T>) -> Option<T> {
        let (value, source) = found?;
        self.source(fact, source);
        Some(value)
    }

    /// Takes a fact with its source, or says why it is missing and what follows.
    pub(crate) fn need<T>(&mut self, fact: &str, found: Found<T>, why: &str, consequence: &str) -> Option<T> {
        if found.is_none() {
            self.missing(fact, why, consequence);
        }
        self.take(fact, found)
    }

    /// Says that a fact is missing.
    pub(crate) fn missing(&mut self, fact: &str, why: impl Into<String>, consequence: impl Into<String>) {
        self.unknown.push(Unknown { fact: fact.to_owned(), why: why.into(), consequence: consequence.into() });
    }
}
