//! The machine beside its results: every fact with its source, and what could not be found with what follows from it.

use model::document::{Document, MachineState};
use model::machine::{Machine, Unknown};
use serde::Serialize;

use crate::commands::info::facts_of;
use model::number::{digits, duration, size};

/// A machine in words.
#[derive(Debug, Serialize)]
pub(super) struct Described {
    title: String,
    sections: Vec<Section>,
    unknown: Vec<Gap>,
}

#[derive(Debug, Serialize)]
struct Section {
    title: &'static str,
    facts: Vec<Fact>,
}

#[derive(Debug, Serialize)]
struct Fact {
    name: String,
    value: String,
    source: String,
}

/// What is not known.
#[derive(Debug, Serialize)]
struct Gap {
    facts: String,
    why: String,
    consequence: String,
}

/// This machine, its state during the run, and the other one where there was one.
pub(super) fn machines(document: &Document) -> Vec<Described> {
    let mut own = described("This machine".to_owned(), &document.machine);
    own.sections.extend(state(document));
    let peer = document.peer.as_deref().map(|peer| {
        let title = format!("The other host: {} ({}, Assay {})", peer.name, peer.address, peer.version);
        described(title, &peer.machine)
    });
    std::iter::once(own).chain(peer).collect()
}

fn described(title: String, machine: &Machine) -> Described {
    let sections = facts_of(machine).into_iter().map(|(title, facts)| Section {
        title,
        facts: facts.into_iter().map(|[name, value, source]| Fact { name, value, source }).collect(),
    });
    let alike = |one: &Unknown, next: &Unknown| one.why == next.why && one.consequence == next.consequence;
    let unknown = machine.unknown.chunk_by(alike).map(|group| Gap {
        facts: group.iter().map(|unknown| unknown.fact.as_str()).collect::<Vec<_>>().join(", "),
        why: group[0].why.clone(),
        consequence: group[0].consequence.clone(),
    });
    Described { title, sections: sections.collect(), unknown: unknown.collect() }
}

/// The state of the machine at both ends of the run, and the clock that intervals were timed by.
fn state(document: &Document) -> Option<Section> {
    let conditions = &document.conditions;
    let mut facts = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        let fact = |value| Fact { name: name.to_owned(), value, source: String::new() };
        facts.extend(value.map(fact));
    };
    let both = |of: fn(&MachineState) -> Option<String>| {
        let (before, after) = (of(&conditions.before), of(&conditions.after));
        match (before, after) {
            (Some(before), Some(after)) => Some(format!("{before} before, {after} after")),
            (Some(only), None) | (None, Some(only)) => Some(only),
            (None, None) => None,
        }
    };
    add("load (1 min)", both(|state| state.load_average.map(|[load, ..]| format!("{load:.2}"))));
    add("memory available", both(|state| state.memory_available_bytes.map(size)));
    add("waited for quiet", conditions.waited_seconds.map(duration));
    let timer = &conditions.timer;
    if !timer.source.is_empty() {
        let cost = digits(timer.overhead_seconds * 1e9);
        add("timed by", Some(format!("{}, {cost} ns a time stamp", timer.source)));
        add("its drift over the run", timer.drift.map(|drift| format!("{} ppm", digits(drift * 1e6))));
    }
    (!facts.is_empty()).then_some(Section { title: "State during the run", facts })
}
