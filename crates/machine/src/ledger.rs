//! Where each fact was found, and which facts are missing.

use std::collections::BTreeMap;

use model::machine::Unknown;

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) sources: BTreeMap<String, String>,
    pub(crate) unknown: Vec<Unknown>,
}

pub(crate) type Found<T> = Option<(T, String)>;

impl Ledger {
    pub(crate) fn source(&mut self, fact: &str, source: impl Into<String>) {
        self.sources.insert(fact.to_owned(), source.into());
    }

    pub(crate) fn same(&mut self, fact: &str, others: &[&str]) {
        if let Some(source) = self.sources.get(fact).cloned() {
            for other in others {
                self.source(other, source.clone());
            }
        }
    }

    /// Takes a fact with its source, if it was found.
    pub(crate) fn take<T>(&mut self, fact: &str, found: Found<T>) -> Option<T> {
        let (value, source) = found?;
        self.source(fact, source);
        Some(value)
    }

    /// Takes a fact with its source, or notes why it is missing and the consequence.
    pub(crate) fn need<T>(&mut self, fact: &str, found: Found<T>, why: &str, consequence: &str) -> Option<T> {
        if found.is_none() {
            self.missing(fact, why, consequence);
        }
        self.take(fact, found)
    }

    pub(crate) fn missing(&mut self, fact: &str, why: impl Into<String>, consequence: impl Into<String>) {
        self.unknown.push(Unknown { fact: fact.to_owned(), why: why.into(), consequence: consequence.into() });
    }
}
