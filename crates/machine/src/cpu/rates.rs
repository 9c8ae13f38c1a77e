//! Operations per cycle of each kernel on a core: the listed count of a step, else the bound of the core's ports, times
//! its operations (a multiply-add is two). With an unknown number of 512-bit units a measurement decides ([`resolve`]).

use model::isa::Isa;
use model::machine::OpsPerCycle;
use model::number::trimmed;

use crate::cpu::ports::Bound;
use crate::cpu::steps::{CpuKernel, Listed, Step, usable};
use crate::cpu::uarch::{Count, Uarch, Wide};
use crate::cpu::units::{Part, Units};

pub(crate) fn ops_per_cycle(uarch: Option<&Uarch>, isa: &[Isa], features: &[String], part: &Part) -> Vec<OpsPerCycle> {
    let known = uarch.map(|uarch| (uarch, Units::of_part(uarch, part)));
    usable(isa, features).into_iter().map(|step| rate(step, known.as_ref())).collect()
}

fn rate(step: &Step, known: Option<&(&Uarch, Units)>) -> OpsPerCycle {
    let empty = OpsPerCycle { what: step.kernel.what(), unit: step.kernel.unit().to_owned(), ..OpsPerCycle::default() };
    let Some((uarch, units)) = known else {
        return OpsPerCycle { source: "microarchitecture not in the table".to_owned(), ..empty };
    };
    let found = listed(step, uarch, units).or_else(|| by_ports(step, uarch, units));
    let Some((value, candidates, source)) = found else {
        return OpsPerCycle { source: format!("table: {}: no source for this count", uarch.name), ..empty };
    };
    OpsPerCycle { value, candidates, source: format!("table: {}, {source}", uarch.name), ..empty }
}

/// Operations per cycle, the candidates if a measurement decides, and the source.
type Throughput = (Option<f64>, Vec<f64>, String);

fn listed(step: &Step, uarch: &Uarch, units: &Units) -> Option<Throughput> {
    match step.listed? {
        Listed::Wide => wide(step, uarch, units, 1.0),
        Listed::Bf16 => wide(step, uarch, units, uarch.bf16_per_unit?.per_cycle),
        Listed::Maddubs512 => by_units(step, uarch, units),
        Listed::Vector => vectors(step, uarch, units.vector_bits),
        listed => {
            let count = narrow(listed, uarch)?;
            let source = format!("{} ({})", pace(1.0 / count.per_cycle, &step.name()), count.source);
            Some((Some(count.per_cycle * step.operations), Vec::new(), source))
        }
    }
}

fn narrow(listed: Listed, uarch: &Uarch) -> Option<Count> {
    match listed {
        Listed::FmaScalar => uarch.fma[0],
        Listed::Fma256 => uarch.fma[1],
        Listed::Pairs => uarch.pairs,
        Listed::Vnni256 => uarch.vnni_256,
        Listed::Maddubs => uarch.maddubs,
        Listed::Imul => uarch.imul,
        Listed::Amx(element) => uarch.amx[element],
        Listed::Wide | Listed::Bf16 | Listed::Maddubs512 | Listed::Vector => None,
    }
}

/// Arm's vector instructions. A scalable vector of another length than the core's may use its pipes otherwise.
fn vectors(step: &Step, uarch: &Uarch, vector_bits: Option<u32>) -> Option<Throughput> {
    let (vectors, [mnemonic]) = (uarch.vectors?, step.instructions) else { return None };
    let is_scalable = matches!(step.kernel.isa, Isa::Sve | Isa::Sme);
    let counts = vectors.per_cycle(mnemonic, step.kernel.element.name(), is_scalable);
    let own_bits = vectors.sve_bits;
    if is_scalable && vector_bits.is_some_and(|bits| bits != own_bits) || counts.is_empty() {
        return None;
    }
    let (bits, of_128) = if is_scalable { (own_bits, f64::from(own_bits) / 128.0) } else { (step.bits(), 1.0) };
    let paces: Vec<String> = counts.iter().map(|count| pace(1.0 / count, &step.name_at(bits))).collect();
    let source = format!("{} ({})", paces.join(" or "), vectors.source);
    let ops: Vec<f64> = counts.iter().map(|count| count * step.operations * of_128).collect();
    Some(if let [known] = ops[..] { (Some(known), Vec::new(), source) } else { (None, ops, source) })
}

fn wide(step: &Step, uarch: &Uarch, units: &Units, per_unit: f64) -> Option<Throughput> {
    if uarch.wide.0 == Wide::No {
        return None;
    }
    let ops = |units: f64| units * per_unit * step.operations;
    let counted = match units.value {
        Some(units) => pace(1.0 / (units * per_unit), &step.name()),
        None => format!("1 or 2 x {}", step.name()),
    };
    let candidates = units.candidates.iter().map(|units| ops(*units)).collect();
    Some((units.value.map(ops), candidates, format!("{counted}, {} ({})", units.why, uarch.wide.1)))
}

fn by_units(step: &Step, uarch: &Uarch, units: &Units) -> Option<Throughput> {
    let [one, two] = uarch.maddubs_512;
    let listed = |units: f64| if units > 1.0 { two } else { one };
    let ops = |count: Count| count.per_cycle * step.operations;
    let candidates: Vec<f64> = units.candidates.iter().filter_map(|units| listed(*units).map(ops)).collect();
    let complete = candidates.len() == units.candidates.len();
    let known = units.value.and_then(listed);
    let source = known.or(two).or(one).filter(|_| complete && (known.is_some() || units.value.is_none()))?;
    Some((known.map(ops), candidates, format!("{}, {} ({})", step.name(), units.why, source.source)))
}

fn by_ports(step: &Step, uarch: &Uarch, units: &Units) -> Option<Throughput> {
    let ports = uarch.ports?;
    let bound = |units: f64| ports.bound(step.instructions, step.bits(), units);
    let known = |bound: &Bound, candidates: Vec<f64>, and: &str| {
        let source = format!("{}: {}{and} ({})", pace(bound.cycles, &step.name()), bound.why, ports.source);
        (Some(step.operations / bound.cycles), candidates, source)
    };
    if step.bits() < 512 {
        return bound(0.0).map(|bound| known(&bound, Vec::new(), ""));
    }
    if uarch.wide.0 == Wide::No {
        return None;
    }
    let open = units.candidates.iter().map(|units| bound(*units)).collect::<Option<Vec<Bound>>>()?;
    let candidates: Vec<f64> = open.iter().map(|bound| step.operations / bound.cycles).collect();
    let differ = open.windows(2).any(|pair| pair[0].cycles.total_cmp(&pair[1].cycles).is_ne());
    if let Some(value) = units.value {
        let candidates = if differ { candidates } else { Vec::new() };
        return Some(known(&bound(value)?, candidates, &format!(", {}", units.why)));
    }
    if !differ {
        return open.first().map(|bound| known(bound, Vec::new(), ", with one 512-bit unit or two"));
    }
    let paces: Vec<String> = open.iter().map(|bound| pace(bound.cycles, &step.name())).collect();
    let source = format!("{}, {} ({})", paces.join(" or "), units.why, ports.source);
    Some((None, candidates, source))
}

/// `2 x 512-bit VFMADD231PD`, or `TDPBUSD once in 16 cycles`.
fn pace(cycles: f64, name: &str) -> String {
    const ROUNDING: f64 = 1e-9;
    if cycles > 1.0 + ROUNDING {
        format!("{name} once in {} cycles", trimmed(cycles, 2))
    } else {
        format!("{} x {name}", trimmed(1.0 / cycles, 2))
    }
}

/// Operations per cycle, resolved for a peak.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// Operations per cycle and core.
    pub value: f64,
    /// Where the value was found.
    pub source: String,
    /// Rounded from the measurement alone: a peak from it is circular.
    pub inferred: bool,
}

/// Decides a rate with `measured`, the 90th percentile of operations per cycle over bursts on one core: the smallest
/// possible candidate, else a known rate, else the measurement rounded up to a pace that ports can have.
/// `features` are the machine's.
pub fn resolve(kernel: CpuKernel, features: &[String], table: &OpsPerCycle, measured: Option<f64>) -> Option<Resolved> {
    let measured = measured.filter(|ops| ops.is_finite() && *ops > 0.0);
    let step = kernel.step(features);
    let seen = |measured: f64| match step {
        Some(step) => pace(step.operations / measured, &step.name()),
        None => format!("{measured:.2} {}", kernel.unit()),
    };
    if let Some(measured) = measured
        && let Some(value) = least_that_allows(&table.candidates, measured)
    {
        let source = format!("{}; decided by a probe: {}", table.source, seen(measured));
        return Some(Resolved { value, source, inferred: false });
    }
    if let Some(value) = table.value {
        return Some(Resolved { value, source: table.source.clone(), inferred: false });
    }
    let (measured, step) = (measured?, step?);
    let value = step.operations / whole_cycles(step.operations / measured);
    let source = format!("{}; inferred from a measurement: {}", table.source, seen(measured));
    Some(Resolved { value, source, inferred: true })
}

/// A measurement rules out a candidate that it exceeds by more than this share.
const CLOCK_ERROR: f64 = 0.02;

/// The smallest candidate that the measurement does not exceed, as interference only slows a core, or the largest.
fn least_that_allows(candidates: &[f64], measured: f64) -> Option<f64> {
    let possible = candidates.iter().copied().filter(|candidate| measured <= candidate * (1.0 + CLOCK_ERROR));
    possible.min_by(f64::total_cmp).or_else(|| candidates.iter().copied().max_by(f64::total_cmp))
}

/// The first pace equal to the measurement within its error; otherwise the slowest possible one.
fn whole_cycles(measured: f64) -> f64 {
    let least = measured * (1.0 + CLOCK_ERROR);
    let steps_per_cycle = 1.0 / (1.0 / least).ceil();
    let paces = [1.0, 2.0, 3.0].map(|parts| (least * parts).floor() / parts);
    let paces = || std::iter::once(steps_per_cycle).chain(paces);
    let fits = |cycles: &f64| *cycles >= measured * (1.0 - CLOCK_ERROR);
    paces().find(fits).unwrap_or_else(|| paces().fold(steps_per_cycle, f64::max))
}

#[cfg(test)]
mod tests {
    use model::isa::{CpuOp, Element};

    use super::*;
    use crate::cpu::uarch::tests::every_core;

    const DP: CpuKernel = CpuKernel { op: CpuOp::Fma, element: Element::Fp64, isa: Isa::Avx512 };

    fn table(value: Option<f64>, candidates: &[f64]) -> OpsPerCycle {
        OpsPerCycle { value, candidates: candidates.to_vec(), source: "table".into(), ..OpsPerCycle::default() }
    }

    fn every_step() -> Vec<&'static Step> {
        let features = ["fma", "avx512bw", "avx512dq", "amx_int8", "amx_bf16", "amx_fp16"].map(str::to_owned);
        [&features[..], &[]].into_iter().flat_map(|features| usable(Isa::ALL, features)).collect()
    }

    #[test]
    fn ports_agree_with_every_count_that_the_table_lists() {
        let mut compared = 0;
        for uarch in every_core() {
            for step in every_step() {
                for value in [1.0, 2.0] {
                    let units = Units { value: Some(value), ..Units::default() };
                    let of_part = matches!(uarch.wide.0, Wide::BySku | Wide::ByDatapath);
                    if step.bits() == 512 && !of_part && uarch.wide.0 != Wide::Units(value) {
                        continue;
                    }
                    let pair = (listed(step, uarch, &units), by_ports(step, uarch, &units));
                    let (Some(listed), Some(bound)) = pair else { continue };
                    let (listed, bound) = (listed.0.unwrap(), bound.0.unwrap());
                    assert!((bound / listed - 1.0).abs() < 1e-9, "{} {}: {listed} {bound}", uarch.name, step.name());
                    compared += 1;
                }
            }
        }
        assert!(compared > 300, "{compared} rates");
    }

    #[test]
    fn a_rate_independent_of_the_units_is_known() {
        let cascade_lake = every_core().into_iter().find(|uarch| uarch.name == "Cascade Lake").unwrap();
        let open = Units { value: None, candidates: vec![1.0, 2.0], why: "who knows".into(), ..Units::default() };
        let rate = |op, element| {
            let kernel = CpuKernel { op, element, isa: Isa::Avx512 };
            rate(kernel.step(&[]).unwrap(), Some(&(cascade_lake, open.clone())))
        };
        let int32 = rate(CpuOp::MulAdd, Element::Int32);
        assert_eq!((int32.value, int32.candidates.as_slice()), (None, &[16.0, 64.0 / 3.0][..]));
        assert!(int32.source.contains("once in 2 cycles or 512-bit (VPMULLD + VPADDD) once in 1.5 cycles, who knows"));
        let add = rate(CpuOp::Add, Element::Fp32);
        assert_eq!(add.candidates, [16.0, 32.0]);
        let known = Units { value: Some(2.0), ..open };
        let both = super::rate(DP.step(&[]).unwrap(), Some(&(cascade_lake, known)));
        assert_eq!((both.value, both.candidates), (Some(32.0), vec![16.0, 32.0]));
    }

    /// Parts with an unknown number of 512-bit units: a Skylake-SP without its name, a desktop Zen 5.
    fn open_parts() -> [(&'static Uarch, Part); 2] {
        let core = |name| every_core().into_iter().find(|uarch| uarch.name == name).unwrap();
        let desktop = Part { signature: (0x1a, 0x44), ..Part::default() };
        [(core("Cascade Lake"), Part::default()), (core("Zen 5"), desktop)]
    }

    #[test]
    fn every_512_bit_kernel_waits_for_the_probe_or_does_not_depend_on_it() {
        for (uarch, part) in open_parts() {
            let units = Units::of_part(uarch, &part);
            assert_eq!(units.candidates, [1.0, 2.0]);
            let features = ["avx512bw", "avx512dq"].map(str::to_owned);
            let (mut open, mut settled) = (0, 0);
            for step in usable(uarch.sets.0, &features).into_iter().filter(|step| step.bits() == 512) {
                let known = rate(step, Some(&(uarch, units.clone())));
                let of_units = [1.0, 2.0].map(|value| Units { value: Some(value), ..Units::default() });
                let of_units = of_units.map(|units| rate(step, Some(&(uarch, units))).value.unwrap());
                if known.candidates.is_empty() {
                    assert_eq!(of_units.map(Some), [known.value; 2], "{}: {}", uarch.name, known.what);
                    settled += 1;
                    continue;
                }
                assert_eq!(known.candidates, of_units, "{}: {}", uarch.name, known.what);
                let decided =
                    |share: f64| of_units.map(|ops| resolve(step.kernel, &[], &known, Some(ops * share)).unwrap());
                assert_eq!(
                    decided(0.995).map(|one| Some(one.value)),
                    of_units.map(Some),
                    "{}: {}",
                    uarch.name,
                    known.what
                );
                assert!(decided(0.995).iter().all(|one| one.source.contains("decided by a probe")));
                open += 1;
            }
            // Skylake's second unit does not help if the addition uses its port.
            let expected = if uarch.name == "Zen 5" { (15, 0) } else { (11, 3) };
            assert_eq!((open, settled), expected, "{}", uarch.name);
        }
    }

    #[test]
    fn a_probe_decides_between_candidates() {
        let open = table(None, &[16.0, 32.0]);
        let resolved = resolve(DP, &[], &open, Some(31.9)).unwrap();
        assert_eq!((resolved.value, resolved.inferred), (32.0, false));
        assert_eq!(resolved.source, "table; decided by a probe: 1.99 x 512-bit VFMADD231PD");
        assert_eq!(resolve(DP, &[], &open, Some(15.2)).map(|one| one.value), Some(16.0));
        assert_eq!(resolve(DP, &[], &open, Some(20.0)).map(|one| one.value), Some(32.0), "more than 16 cannot be 16");
        assert_eq!(resolve(DP, &[], &open, None), None);
    }

    #[test]
    fn a_known_rate_overrides_the_measurement() {
        assert_eq!(resolve(DP, &[], &table(Some(32.0), &[]), Some(12.0)).map(|one| one.value), Some(32.0));
    }

    #[test]
    fn without_a_table_the_measurement_is_rounded_and_marked() {
        let inferred =
            |measured| resolve(DP, &[], &table(None, &[]), Some(measured)).map(|one| (one.value, one.inferred));
        assert_eq!(inferred(30.1), Some((32.0, true)), "two steps per cycle");
        assert_eq!(inferred(15.9), Some((16.0, true)), "one");
        assert_eq!(inferred(10.6), Some((32.0 / 3.0, true)), "one in one and a half cycles");
        assert_eq!(inferred(4.75), Some((4.8, true)), "three in ten cycles");
        assert_eq!(inferred(1.0), Some((1.0, true)), "one in sixteen cycles");
        assert_eq!(inferred(f64::NAN), None);
    }

    #[test]
    fn an_inferred_rate_is_never_below_the_measurement_but_for_rounding() {
        for hundredths in 1..4_000 {
            let measured = f64::from(hundredths) / 100.0;
            let value = resolve(DP, &[], &table(None, &[]), Some(measured)).unwrap().value;
            assert!(value >= measured / (1.0 + CLOCK_ERROR) - 1e-12, "{measured}: {value}");
            assert!(value <= measured * 2.0, "{measured}: {value}");
        }
    }
}
