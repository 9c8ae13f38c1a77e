//! What a core can finish in a cycle, kernel by kernel: the table's instruction counts times the work of one
//! instruction.
//!
//! One operation is one multiply or one add, so a multiply-add counts two. Where parts of one model have one or two
//! 512-bit units and nothing readable tells which, both figures are candidates, and a measurement decides
//! ([`resolve`]).

use model::isa::{CpuOp, Element, Isa};
use model::machine::OpsPerCycle;

use crate::uarch::{Count, Uarch, Wide};
use crate::units::{Part, Units};

/// A CPU experiment as far as peaks care: what is computed on what, with which instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuKernel {
    /// The operation.
    pub op: CpuOp,
    /// The type of the operands.
    pub element: Element,
    /// The instruction set.
    pub isa: Isa,
}

/// Which count of the table a kernel lives on.
#[derive(Clone, Copy)]
enum Pipe {
    FmaScalar,
    Fma256,
    Pairs,
    /// 512-bit units.
    Wide,
    Bf16,
    Vnni256,
    Maddubs128,
    Maddubs256,
    Maddubs512,
    Imul,
    /// The tile unit, by element.
    Amx(usize),
}

/// What a kernel does per step of its pipe.
struct Step {
    kernel: CpuKernel,
    pipe: Pipe,
    /// Operations of one instruction or sequence.
    ops: f64,
    /// What that instruction or sequence is called in a source.
    name: &'static str,
}

const fn step(kernel: (CpuOp, Element, Isa), pipe: Pipe, ops: f64, name: &'static str) -> Step {
    let (op, element, isa) = kernel;
    Step { kernel: CpuKernel { op, element, isa }, pipe, ops, name }
}

use CpuOp::{Dot, Fma, Matrix};
use Element::{Bf16, Fp16, Fp32, Fp64, Int8, Int16};

/// Every kernel with a peak. Tiles are counted in operations already.
const STEPS: &[Step] = &[
    step((Fma, Fp64, Isa::Scalar), Pipe::FmaScalar, 2.0, "scalar FMA"),
    step((Fma, Fp64, Isa::Sse2), Pipe::Pairs, 4.0, "128-bit multiply + add"),
    step((Fma, Fp64, Isa::Avx2), Pipe::Fma256, 8.0, "256-bit FMA"),
    step((Fma, Fp64, Isa::Avx512Vl), Pipe::Fma256, 8.0, "256-bit FMA"),
    step((Fma, Fp64, Isa::Avx512), Pipe::Wide, 16.0, "512-bit FMA"),
    step((Fma, Fp32, Isa::Scalar), Pipe::FmaScalar, 2.0, "scalar FMA"),
    step((Fma, Fp32, Isa::Sse2), Pipe::Pairs, 8.0, "128-bit multiply + add"),
    step((Fma, Fp32, Isa::Avx2), Pipe::Fma256, 16.0, "256-bit FMA"),
    step((Fma, Fp32, Isa::Avx512Vl), Pipe::Fma256, 16.0, "256-bit FMA"),
    step((Fma, Fp32, Isa::Avx512), Pipe::Wide, 32.0, "512-bit FMA"),
    step((Fma, Fp16, Isa::Avx512Fp16), Pipe::Wide, 64.0, "512-bit FMA"),
    step((Dot, Int8, Isa::Scalar), Pipe::Imul, 2.0, "IMUL + ADD"),
    step((Dot, Int8, Isa::Ssse3), Pipe::Maddubs128, 32.0, "128-bit PMADDUBSW + PMADDWD + PADDD"),
    step((Dot, Int8, Isa::Avx2), Pipe::Maddubs256, 64.0, "256-bit VPMADDUBSW + VPMADDWD + VPADDD"),
    step((Dot, Int8, Isa::Avx512), Pipe::Maddubs512, 128.0, "512-bit VPMADDUBSW + VPMADDWD + VPADDD"),
    step((Dot, Int8, Isa::AvxVnni), Pipe::Vnni256, 64.0, "256-bit VPDPBUSD"),
    step((Dot, Int8, Isa::Avx512Vnni), Pipe::Wide, 128.0, "512-bit VPDPBUSD"),
    step((Dot, Int16, Isa::AvxVnni), Pipe::Vnni256, 32.0, "256-bit VPDPWSSD"),
    step((Dot, Int16, Isa::Avx512Vnni), Pipe::Wide, 64.0, "512-bit VPDPWSSD"),
    step((Dot, Bf16, Isa::Avx512Bf16), Pipe::Bf16, 64.0, "512-bit VDPBF16PS"),
    step((Matrix, Int8, Isa::Amx), Pipe::Amx(0), 1.0, "operation of TDPBUSD"),
    step((Matrix, Bf16, Isa::Amx), Pipe::Amx(1), 1.0, "operation of TDPBF16PS"),
    step((Matrix, Fp16, Isa::Amx), Pipe::Amx(2), 1.0, "operation of TDPFP16PS"),
];

impl CpuKernel {
    /// The experiment's id without its threads: `cpu/fma/fp64/avx512`.
    pub fn what(self) -> String {
        format!("cpu/{}/{}/{}", self.op, self.element, self.isa)
    }

    /// `flop/cycle` for floating-point operands, `op/cycle` for integers.
    pub fn unit(self) -> &'static str {
        match self.element {
            Fp64 | Fp32 | Fp16 | Bf16 => "flop/cycle",
            Int8 | Int16 | Element::Int32 | Element::Int64 => "op/cycle",
        }
    }

    /// Operations of one instruction: twice the lanes for a fused multiply-add. `None` for a kernel without a peak.
    pub(crate) fn ops_per_instruction(self) -> Option<f64> {
        self.step().map(|step| step.ops)
    }

    fn step(self) -> Option<&'static Step> {
        STEPS.iter().find(|step| step.kernel == self)
    }
}

/// The kernels with a peak that these instruction sets allow.
pub fn kernels(isa: &[Isa]) -> impl Iterator<Item = CpuKernel> {
    STEPS.iter().map(|step| step.kernel).filter(|kernel| isa.contains(&kernel.isa))
}

/// What one core does per cycle in every kernel that its instruction sets allow.
pub(crate) fn ops_per_cycle(uarch: Option<&Uarch>, isa: &[Isa], part: &Part) -> Vec<OpsPerCycle> {
    let units = uarch.map(|uarch| Units::of(uarch, part));
    let has_fma = isa.contains(&Isa::Avx2);
    let usable = STEPS.iter().filter(|step| isa.contains(&step.kernel.isa));
    usable.map(|step| rate(step, uarch.zip(units.as_ref()), has_fma)).collect()
}

fn rate(step: &Step, known: Option<(&Uarch, &Units)>, has_fma: bool) -> OpsPerCycle {
    let empty = OpsPerCycle { what: step.kernel.what(), unit: step.kernel.unit().to_owned(), ..OpsPerCycle::default() };
    let Some((uarch, units)) = known else {
        return OpsPerCycle { source: "microarchitecture not in the table".to_owned(), ..empty };
    };
    match step.pipe {
        Pipe::Wide => wide(step, uarch, units, 1.0, empty),
        Pipe::Bf16 => match uarch.bf16_per_unit {
            Some(bf16) => wide(step, uarch, units, bf16.per_cycle, empty),
            None => unknown(uarch, empty),
        },
        Pipe::Maddubs512 => by_units(step, uarch, units, empty),
        _ => match narrow(step.pipe, uarch, has_fma) {
            Some((count, name)) => OpsPerCycle {
                value: Some(count.per_cycle * step.ops),
                source: format!(
                    "table: {}, {} x {} ({})",
                    uarch.name,
                    count.per_cycle,
                    name.unwrap_or(step.name),
                    count.source
                ),
                ..empty
            },
            None => unknown(uarch, empty),
        },
    }
}

fn unknown(uarch: &Uarch, empty: OpsPerCycle) -> OpsPerCycle {
    OpsPerCycle { source: format!("table: {}: no source for this count", uarch.name), ..empty }
}

/// A count that does not depend on the 512-bit units, and what it counts if that is not the step's own instruction.
fn narrow(pipe: Pipe, uarch: &Uarch, has_fma: bool) -> Option<(Count, Option<&'static str>)> {
    let count = match pipe {
        Pipe::FmaScalar if !has_fma => return uarch.pairs.map(|pairs| (pairs, Some("scalar multiply + add"))),
        Pipe::FmaScalar => uarch.fma_scalar,
        Pipe::Fma256 => uarch.fma_256,
        Pipe::Pairs => uarch.pairs,
        Pipe::Vnni256 => uarch.vnni_256,
        Pipe::Maddubs128 => uarch.maddubs_128,
        Pipe::Maddubs256 => uarch.maddubs_256,
        Pipe::Imul => uarch.imul,
        Pipe::Amx(element) => uarch.amx[element],
        Pipe::Wide | Pipe::Bf16 | Pipe::Maddubs512 => None,
    };
    count.map(|count| (count, None))
}

/// A count that scales with the 512-bit units.
fn wide(step: &Step, uarch: &Uarch, units: &Units, per_unit: f64, empty: OpsPerCycle) -> OpsPerCycle {
    if uarch.wide == Wide::No {
        return unknown(uarch, empty);
    }
    let ops = |units: f64| units * per_unit * step.ops;
    let counted = units.value.map_or_else(|| "1 or 2".to_owned(), |units| (units * per_unit).to_string());
    OpsPerCycle {
        value: units.value.map(ops),
        candidates: units.candidates.iter().map(|units| ops(*units)).collect(),
        source: format!("table: {}, {counted} x {}, {} ({})", uarch.name, step.name, units.why, uarch.wide_source),
        ..empty
    }
}

/// A count listed for one 512-bit unit and for two.
fn by_units(step: &Step, uarch: &Uarch, units: &Units, empty: OpsPerCycle) -> OpsPerCycle {
    let [one, two] = uarch.maddubs_512;
    let listed = |units: f64| if units > 1.0 { two } else { one };
    let ops = |count: Count| count.per_cycle * step.ops;
    let candidates: Vec<f64> = units.candidates.iter().filter_map(|units| listed(*units).map(ops)).collect();
    // A choice of which one side is missing is no choice.
    let complete = candidates.len() == units.candidates.len();
    let known = units.value.and_then(listed);
    let Some(source) = known.or(two).or(one).filter(|_| complete && (known.is_some() || units.value.is_none())) else {
        return unknown(uarch, empty);
    };
    OpsPerCycle {
        value: known.map(ops),
        candidates,
        source: format!("table: {}, {}, {} ({})", uarch.name, step.name, units.why, source.source),
        ..empty
    }
}

/// Work per cycle as a peak may use it.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// Operations per cycle and core.
    pub value: f64,
    /// Where it comes from.
    pub source: String,
    /// Rounded from the measurement alone: a peak from it is circular.
    pub inferred: bool,
}

/// Settles a figure of the table with the help of a measurement on one core, if there is one.
///
/// `measured` is the 90th percentile of operations per cycle over bursts, per core. Of candidates the least that allows
/// for it stands; a known figure stands; without either the measurement is rounded to whole instructions per cycle.
pub fn resolve(kernel: CpuKernel, table: &OpsPerCycle, measured: Option<f64>) -> Option<Resolved> {
    let measured = measured.filter(|ops| ops.is_finite() && *ops > 0.0);
    let ops = kernel.ops_per_instruction();
    let seen = |measured: f64| match ops.zip(kernel.step()) {
        Some((ops, step)) => format!("{:.2} x {} per cycle", measured / ops, step.name),
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
    let (measured, ops) = (measured?, ops?);
    let value = (measured / ops).round() * ops;
    let source = format!("{}; inferred from a measurement: {}", table.source, seen(measured));
    (value > 0.0).then_some(Resolved { value, source, inferred: true })
}

/// A measurement above a candidate by more than this share rules it out.
const CLOCK_ERROR: f64 = 0.02;

/// The least candidate that a measurement does not rule out: a disturbed core shows less than it can do, never more.
/// The greatest, where all are ruled out.
fn least_that_allows(candidates: &[f64], measured: f64) -> Option<f64> {
    let possible = candidates.iter().copied().filter(|candidate| measured <= candidate * (1.0 + CLOCK_ERROR));
    possible.min_by(f64::total_cmp).or_else(|| candidates.iter().copied().max_by(f64::total_cmp))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DP: CpuKernel = CpuKernel { op: Fma, element: Fp64, isa: Isa::Avx512 };

    fn table(value: Option<f64>, candidates: &[f64]) -> OpsPerCycle {
        OpsPerCycle { value, candidates: candidates.to_vec(), source: "table".into(), ..OpsPerCycle::default() }
    }

    #[test]
    fn a_probe_decides_between_candidates() {
        let open = table(None, &[16.0, 32.0]);
        let resolved = resolve(DP, &open, Some(31.9)).unwrap();
        assert_eq!((resolved.value, resolved.inferred), (32.0, false));
        assert_eq!(resolved.source, "table; decided by a probe: 1.99 x 512-bit FMA per cycle");
        assert_eq!(resolve(DP, &open, Some(15.2)).map(|one| one.value), Some(16.0));
        assert_eq!(resolve(DP, &open, Some(20.0)).map(|one| one.value), Some(32.0), "more than 16 cannot be 16");
        assert_eq!(resolve(DP, &open, None), None);
    }

    #[test]
    fn a_known_figure_stands_whatever_is_measured() {
        assert_eq!(resolve(DP, &table(Some(32.0), &[]), Some(12.0)).map(|one| one.value), Some(32.0));
    }

    #[test]
    fn without_a_table_the_measurement_is_rounded_and_marked() {
        let inferred = resolve(DP, &table(None, &[]), Some(30.1)).unwrap();
        assert_eq!((inferred.value, inferred.inferred), (32.0, true));
        assert_eq!(resolve(DP, &table(None, &[]), Some(3.0)), None);
        assert_eq!(resolve(DP, &table(None, &[]), Some(f64::NAN)), None);
    }
}
