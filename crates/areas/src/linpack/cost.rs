//! Expected bytes and seconds of a LINPACK benchmark, and the order that memory and time allow.
//!
//! Seconds are guesses for `--list`, the remaining time and the choice of an order; no measurement depends on them.

use model::isa::{CpuOp, Element, Isa};
use model::linpack::{LinpackOp, LinpackParams};
use model::machine::Machine;
use model::peak::PeakKind;

use super::choice::MOST_N;

/// An order of our own choice takes at most half of the obtainable memory.
const AVAILABLE_SHARE: u64 = 2;
/// Orders of our own choice are multiples of the first up to the second, and of the second above it.
const STEPS: [u64; 2] = [100, 1000];
/// How much longer fewer threads may take before they get a smaller order: one system for up to four cores.
const LONGER_WITH_FEWER: f64 = 4.0;
/// The share of the rate of multiply-adds that today's solvers reach.
const REACHED: f64 = 0.8;
/// A trial that reaches less of the expected rate than this share replaces it. Above, interference and a small product may be
/// the reason.
const SLOW_SHARE: f64 = 0.25;
/// The clock in Hz if the machine's is unknown.
const USUAL_HZ: f64 = 2.5e9;
/// Bytes per second at which a hypervisor provides fresh memory to a guest, a cautious guess.
const TOUCH_BYTES_PER_SECOND: f64 = 0.4e9;
/// Seconds in which a thread generates an entry, or generates it again to check it.
const ENTRY_SECONDS: f64 = 1.5e-9;

/// Bytes of an element in memory, 0 if no solver has the type; factors with bf16 products are stored as fp32.
pub(super) const fn element_bytes(element: Element) -> u64 {
    match element {
        Element::Fp64 => 8,
        Element::Fp32 | Element::Bf16 => 4,
        _ => 0,
    }
}

const fn matrices(op: LinpackOp) -> u64 {
    match op {
        LinpackOp::Lu | LinpackOp::LuMixed => 1,
        LinpackOp::Gemm => 3,
    }
}

/// Bytes of an entry of each matrix: with factors of lower precision the system is kept in fp64 as well.
const fn entry_bytes(op: LinpackOp, element: Element) -> u64 {
    match op {
        LinpackOp::Lu | LinpackOp::Gemm => element_bytes(element),
        LinpackOp::LuMixed => element_bytes(element) + element_bytes(Element::Fp64),
    }
}

/// The most bytes that a solver takes: its matrices, and the larger of 5 % and 64 MiB.
pub(super) fn most_bytes(op: LinpackOp, element: Element, n: u64, lda: u64) -> u64 {
    let matrices = matrices(op).saturating_mul(n).saturating_mul(lda).saturating_mul(entry_bytes(op, element));
    matrices.saturating_add((matrices / 20).max(64 << 20))
}

/// The largest order that fits into this many bytes, with the leading dimension `lda_of`; 0 if none fits.
pub(super) fn largest_order(op: LinpackOp, element: Element, bytes: u64, lda_of: impl Fn(u64) -> u64) -> u64 {
    let fits = |n: u64| most_bytes(op, element, n, lda_of(n)) <= bytes;
    let (mut fitting, mut beyond) = (0, MOST_N + 1);
    while beyond - fitting > 1 {
        let middle = fitting.midpoint(beyond);
        if fits(middle) { fitting = middle } else { beyond = middle }
    }
    fitting
}

/// Operations per cycle of a core that the machine's table lacks: two vector units, or one scalar unit.
fn usual_flop_per_cycle(isa: Option<Isa>, element: Element) -> f64 {
    let vector_bytes = match isa {
        // bf16: two products instead of one, in one unit.
        Some(Isa::Avx512 | Isa::Avx512Bf16) => 64,
        None | Some(Isa::Avx2 | Isa::Sve) => 32,
        Some(Isa::Sse2 | Isa::Neon | Isa::NeonBf16) => 16,
        Some(_) => element_bytes(element).max(1) / 2,
    };
    4.0 * vector_bytes as f64 / element_bytes(element).max(1) as f64
}

pub(super) fn expected_rate(machine: &Machine, isa: Option<Isa>, element: Element, cpus: &[u32]) -> f64 {
    let cores = machine.cpu.one_per_core(cpus).len().max(1) as f64;
    let known = isa.and_then(|isa| {
        let op = if element == Element::Bf16 { CpuOp::Dot } else { CpuOp::Fma };
        let kernel = machine::CpuKernel { op, element, isa };
        let peaks = machine::cpu_peaks(machine, kernel, cpus, None, None);
        let of = |kind: PeakKind| peaks.iter().find(|peak| peak.kind == kind).map(|peak| peak.value);
        of(PeakKind::Base).or_else(|| of(PeakKind::Boost))
    });
    REACHED * known.unwrap_or_else(|| cores * USUAL_HZ * usual_flop_per_cycle(isa, element))
}

/// The rate of a small product of matrices in fp64, measured on one CPU of the machine before the plan.
#[derive(Clone, Copy, Debug)]
pub struct ProductRate {
    /// The CPU.
    pub cpu: u32,
    /// The instruction set of the product.
    pub isa: Isa,
    /// Floating-point operations per second.
    pub flop_per_second: f64,
}

/// What a machine reaches of its expected rates if a trial shows it to be slow (emulated, throttled, unknown to the tables), else 1.
pub(super) fn reached_share(machine: &Machine, trial: Option<ProductRate>) -> f64 {
    let expected = |trial: &ProductRate| expected_rate(machine, Some(trial.isa), Element::Fp64, &[trial.cpu]);
    let share = trial.map(|trial| trial.flop_per_second / expected(&trial));
    share.filter(|share| *share < SLOW_SHARE).unwrap_or(1.0)
}

/// Expected seconds of a sample, with generating and checking its data.
pub(super) fn sample_seconds(params: &LinpackParams, rate: f64) -> f64 {
    let entries = (matrices(params.op) * params.n) as f64 * params.n as f64;
    params.op.operations(params.n) / rate + 2.0 * entries * ENTRY_SECONDS / f64::from(params.threads)
}

/// Expected seconds to touch the pages of the buffers, per process run.
pub(super) fn setup_seconds(params: &LinpackParams) -> f64 {
    most_bytes(params.op, params.element, params.n, params.lda) as f64 / TOUCH_BYTES_PER_SECOND
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) op: LinpackOp,
    pub(super) element: Element,
    pub(super) obtainable_bytes: Option<u64>,
    pub(super) aim_seconds: f64,
}

impl Bounds {
    /// The largest order that fits half of the memory and the most threads solve in time; smaller for slow threads.
    pub(super) fn order(&self, rate: f64, most_rate: f64) -> u64 {
        let seconds = self.aim_seconds;
        let of_all = self.largest(most_rate * seconds);
        let least_rate = self.op.operations(of_all) / (LONGER_WITH_FEWER * seconds);
        if rate >= least_rate { of_all } else { self.largest(LONGER_WITH_FEWER * rate * seconds).min(of_all) }
    }

    fn largest(&self, operations: f64) -> u64 {
        let bytes = self.obtainable_bytes.map_or(u64::MAX, |bytes| bytes / AVAILABLE_SHARE);
        let fits = |n: &u64| {
            self.op.operations(*n) <= operations
                && most_bytes(self.op, self.element, *n, n.next_multiple_of(16)) <= bytes
        };
        let [small, large] = STEPS;
        let orders = (1..large / small).map(|steps| steps * small).chain((1..).map(|steps| steps * large));
        orders.take_while(|n| *n <= MOST_N).take_while(fits).last().unwrap_or(small)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::machine_with_cpus;

    const LU: LinpackOp = LinpackOp::Lu;

    #[test]
    fn orders_fit_memory_and_time_and_are_one_for_a_few_cores() {
        for bytes in [100 << 20, 1 << 30, 23 << 30_u64] {
            let n = largest_order(LU, Element::Fp64, bytes, |n| n);
            assert!(most_bytes(LU, Element::Fp64, n, n) <= bytes);
            assert!(most_bytes(LU, Element::Fp64, n + 1, n + 1) > bytes);
        }
        assert_eq!(largest_order(LU, Element::Fp64, 64 << 20, |n| n), 0, "no room for anything but the matrix");
        for element in [Element::Fp32, Element::Bf16] {
            let mixed = most_bytes(LinpackOp::LuMixed, element, 20_000, 20_000);
            assert_eq!(mixed, 20_000 * 20_000 * 12 / 20 * 21, "the matrix in fp64 and its factors in fp32, and 5 %");
        }
        assert!(most_bytes(LinpackOp::Gemm, Element::Fp64, u64::MAX / 2, u64::MAX / 2) == u64::MAX);
        let bounds = Bounds { op: LU, element: Element::Fp64, obtainable_bytes: Some(16 << 30), aim_seconds: 4.0 };
        assert_eq!(bounds.order(130e9, 130e9), 9_000, "2/3 729e9 are 486e9 of 520e9");
        assert_eq!(bounds.order(65e9, 130e9), 9_000, "twice as long");
        let many = bounds.order(4e12, 4e12);
        assert_eq!(many, 28_000);
        assert!(bounds.order(65e9, 4e12) < many, "half an hour is too long");
        assert_eq!(bounds.order(100e6, 100e6), 800, "2/3 512e6 are 341e6 of 400e6");
        assert_eq!(bounds.order(1e3, 1e3), 100, "there is always one");
        let little = Bounds { obtainable_bytes: Some(1 << 30), ..bounds };
        assert_eq!(little.order(4e12, 4e12), 7_000, "half of a GiB");
    }

    #[test]
    fn a_trial_replaces_the_expected_rate_of_a_slow_machine_only() {
        let machine = machine_with_cpus(4);
        let (cpu, isa) = (0, Isa::Scalar);
        let expected = expected_rate(&machine, Some(isa), Element::Fp64, &[cpu]);
        let reached = |share: f64| {
            let flop_per_second = share * expected;
            reached_share(&machine, Some(ProductRate { cpu, isa, flop_per_second }))
        };
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}");
        near(reached(0.01), 0.01);
        [reached(0.3), reached(2.0), reached_share(&machine, None)].into_iter().for_each(|share| near(share, 1.0));
    }

    #[test]
    fn rates_are_expected_of_every_set_and_grow_with_the_cores() {
        let machine = machine_with_cpus(4);
        for isa in [None, Some(Isa::Avx512), Some(Isa::Avx2), Some(Isa::Scalar)] {
            let one = expected_rate(&machine, isa, Element::Fp64, &[0]);
            let four = expected_rate(&machine, isa, Element::Fp64, &[0, 1, 2, 3]);
            assert!(one > 1e9 && (four / one - 4.0).abs() < 1e-9, "{isa:?}: {one} {four}");
            assert!(expected_rate(&machine, isa, Element::Fp32, &[0]) >= one);
            let shared = expected_rate(&machine, isa, Element::Fp64, &[0, 0]);
            assert!((shared / one - 1.0).abs() < 1e-9, "two threads on one core are no faster");
        }
    }
}
