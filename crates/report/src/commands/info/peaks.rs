//! Peaks in a reader's words: one line each with its arithmetic, and below them where the figures in it come from. Of
//! many kernels only the fastest are shown.

use model::machine::Machine;
use model::number::plain;
use model::peak::{InfoPeak, PeakInput};
use model::unit::Unit;

use super::chosen::{OTHERS, fastest};
use super::section::{Fact, Section};
use areas::cpu::label::stem_words;
use areas::label::threads;
use model::number::{clock, quantity, size};

/// The peaks, and their inputs once each; work per cycle is left to the cores, where it stands with the same source.
pub(super) fn sections(peaks: &[InfoPeak], machine: &Machine) -> [Section; 2] {
    let cores = || machine.cpu.core_types.iter().flat_map(|core_type| &core_type.ops_per_cycle);
    let shown = fastest(peaks, |peak| &peak.what, |peak| peak.value);
    let mut inputs: Vec<&PeakInput> = Vec::new();
    for input in shown.iter().flat_map(|peak| &peak.inputs) {
        if !inputs.contains(&input) && !cores().any(|ops| ops.source == input.source) {
            inputs.push(input);
        }
    }
    inputs.sort_by(|one, other| one.name.cmp(&other.name).then(one.value.total_cmp(&other.value)));
    let mut facts: Vec<Fact> = shown.iter().map(|shown| peak(shown)).collect();
    for index in (1..facts.len()).rev() {
        if facts[index].name == facts[index - 1].name {
            facts[index].name.clear();
        }
    }
    [
        Section { title: "Peaks", facts, aside: (shown.len() < peaks.len()).then_some(OTHERS) },
        Section {
            title: "Figures behind the peaks (work per cycle: see the cores)",
            facts: distinct(inputs.into_iter().map(input)),
            aside: None,
        },
    ]
}

/// Facts that print alike, once: figures that differ only in digits that are not shown.
fn distinct(facts: impl Iterator<Item = Fact>) -> Vec<Fact> {
    let mut kept: Vec<Fact> = Vec::new();
    for fact in facts {
        if !kept.iter().any(|one| (&one.name, &one.value, &one.source) == (&fact.name, &fact.value, &fact.source)) {
            kept.push(fact);
        }
    }
    kept
}

fn peak(peak: &InfoPeak) -> Fact {
    let value = peak
        .unit
        .parse()
        .map_or_else(|_| format!("{} {}", plain(peak.value), peak.unit), |unit: Unit| quantity(peak.value, unit));
    Fact {
        name: format!("{}, {}", stem_words(&peak.what), threads(peak.threads)),
        value: format!("{value} ({})", peak.kind.name().replace('_', " ")),
        source: format!("= {}", peak.formula),
    }
}

pub(super) fn input(input: &PeakInput) -> Fact {
    let value = if input.name.contains("_hz") {
        clock(input.value)
    } else if input.name.contains("_bytes") && input.value >= 0.0 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size in bytes, not negative")]
        let bytes = input.value as u64;
        size(bytes)
    } else {
        plain(input.value)
    };
    Fact { name: input.name.replace("_hz", ""), value, source: input.source.clone() }
}
