//! The machine: every fact with its source, and unknown facts with their consequences.

use minijinja::{Value, context};
use model::document::{Document, MachineState};
use model::machine::{Machine, Unknown};
use model::number::{digits, duration, size};

use crate::commands::info::facts_of;

pub(super) fn machines(document: &Document) -> Vec<Value> {
    let own = described("This machine", &document.machine);
    let peer = document.peer.as_deref().map(|peer| {
        let title = format!("The other host: {} ({}, Assay {})", peer.name, peer.address, peer.version);
        described(&title, &peer.machine)
    });
    std::iter::once(own).chain(peer).collect()
}

fn described(title: &str, machine: &Machine) -> Value {
    let sections = facts_of(machine).into_iter().map(|(title, facts)| {
        let facts = facts.into_iter().map(|[name, value, source]| context! { name, value, source });
        context! { title, facts => facts.collect::<Vec<_>>() }
    });
    let alike = |one: &Unknown, next: &Unknown| one.why == next.why && one.consequence == next.consequence;
    let unknown = machine.unknown.chunk_by(alike).map(|group| {
        let facts = group.iter().map(|unknown| unknown.fact.as_str()).collect::<Vec<_>>().join(", ");
        context! { facts, why => group[0].why, consequence => group[0].consequence }
    });
    context! { title, sections => sections.collect::<Vec<_>>(), unknown => unknown.collect::<Vec<_>>() }
}

pub(super) fn state(document: &Document) -> Vec<(&'static str, String)> {
    let conditions = &document.conditions;
    let both = |of: fn(&MachineState) -> Option<String>| match (of(&conditions.before), of(&conditions.after)) {
        (Some(before), Some(after)) => Some(format!("{before} before, {after} after")),
        (before, after) => before.or(after),
    };
    let timer = Some(&conditions.timer).filter(|timer| !timer.source.is_empty());
    let cost =
        timer.map(|timer| format!("{}, {} ns per time stamp", timer.source, digits(timer.overhead_seconds * 1e9)));
    let drift = timer.and_then(|timer| timer.drift).map(|drift| format!("{} ppm", digits(drift * 1e6)));
    let facts = [
        ("load (1 min)", both(|state| state.load_average.map(|[load, ..]| format!("{load:.2}")))),
        ("memory available", both(|state| state.memory_available_bytes.map(size))),
        ("waited for a quiet machine", conditions.waited_seconds.map(duration)),
        ("timer", cost),
        ("timer drift", drift),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}
