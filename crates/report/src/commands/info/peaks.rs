//! Limits, one line each with its arithmetic, and below them the sources of its inputs. Of many kernels only the fastest on
//! each type are shown; the JSON format has them all.

use model::isa::CpuOp;
use model::machine::Machine;
use model::number::{clock, plain, quantity, size};
use model::peak::{InfoPeak, PeakInput};
use model::unit::Unit;

use super::section::{Fact, Section};
use areas::cpu::label::{of_stem, order_of, stem_words};
use areas::label::threads;

pub(super) const OTHERS: &str =
    "the fastest of FMA, dot, matrix and plain loop on each type; assay info --json has every kernel";

const SHOWN: [CpuOp; 4] = [CpuOp::Fma, CpuOp::Dot, CpuOp::Matrix, CpuOp::Plain];

/// Of `items`, each about a benchmark without its threads: those of the fastest kernel of each shown operation and type, in
/// the order of the CPU's table, then those that are not about this version's arithmetic.
pub(super) fn fastest<T>(items: &[T], stem: impl Fn(&T) -> &str, value: impl Fn(&T) -> f64) -> Vec<&T> {
    let best = |item: &T| {
        let Some(own) = of_stem(stem(item)) else { return true };
        let alike =
            |other: &&T| of_stem(stem(other)).is_some_and(|other| (other.op, other.element) == (own.op, own.element));
        let fastest =
            items.iter().filter(alike).reduce(|best, other| if value(other) > value(best) { other } else { best });
        SHOWN.contains(&own.op) && fastest.is_some_and(|fastest| stem(fastest) == stem(item))
    };
    let mut shown: Vec<&T> = items.iter().filter(|item| best(item)).collect();
    shown.sort_by_key(|item| order_of(of_stem(stem(item)).as_ref()));
    shown
}

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
    // Values may differ in digits that are not shown.
    let mut once: Vec<Fact> = Vec::new();
    for fact in inputs.into_iter().map(input) {
        if !once.contains(&fact) {
            once.push(fact);
        }
    }
    for index in (1..facts.len()).rev() {
        if facts[index].name == facts[index - 1].name {
            facts[index].name.clear();
        }
    }
    [
        Section { title: "Peaks", facts, aside: (shown.len() < peaks.len()).then_some(OTHERS) },
        Section { title: "Inputs of the peaks (work per cycle: see Cores)", facts: once, aside: None },
    ]
}

fn peak(peak: &InfoPeak) -> Fact {
    let unknown = |_| format!("{} {}", plain(peak.value), peak.unit);
    let value = peak.unit.parse().map_or_else(unknown, |unit: Unit| quantity(peak.value, unit));
    let name = format!("{}, {}", stem_words(&peak.what), threads(peak.threads));
    let value = format!("{value} ({})", peak.kind.name().replace('_', " "));
    Fact::new(name, value, format!("= {}", peak.formula))
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
    Fact::new(input.name.replace("_hz", ""), value, input.source.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_of_each_type_stands_for_the_others() {
        let items = [
            ("cpu/fma/fp64/avx512", 32.0),
            ("cpu/fma/fp64/avx2", 16.0),
            ("cpu/fma/fp64/avx512", 64.0),
            ("cpu/dot/int8/avx512_vnni", 256.0),
            ("cpu/matrix/int8/amx", 2048.0),
            ("cpu/muladd/int8/avx512", 40.0),
            ("cpu/plain/int8/scalar", 3.0),
            ("memory/sequential-read", 1.0),
        ];
        let shown = fastest(&items, |item| item.0, |item| item.1);
        let stems: Vec<&str> = shown.iter().map(|item| item.0).collect();
        // Both thread counts of a kernel are shown, and what is no arithmetic is left alone.
        assert_eq!(
            stems,
            [
                "cpu/fma/fp64/avx512",
                "cpu/fma/fp64/avx512",
                "cpu/matrix/int8/amx",
                "cpu/dot/int8/avx512_vnni",
                "cpu/plain/int8/scalar",
                "memory/sequential-read"
            ]
        );
    }
}
