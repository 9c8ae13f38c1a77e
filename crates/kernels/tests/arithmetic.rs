//! Every arithmetic kernel that this machine can run, against a naive oracle that takes one step at a time.

#[path = "support/oracle.rs"]
mod oracle;
#[path = "support/tiles.rs"]
mod tiles;

use std::collections::HashSet;
use std::sync::LazyLock;

use kernels::features::Features;
use kernels::portable;
use kernels::state::{ArithmeticState, Mismatch};
use kernels::table::{Bound, KERNELS, Kernel};
use model::isa::{CpuOp, Element, Isa};
use oracle::{bfloat, half, oracle, products};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Bound once: under a hypervisor every CPUID takes its time.
static BOUND: LazyLock<Vec<Bound>> = LazyLock::new(|| {
    let rows = KERNELS.iter().chain(portable::KERNELS);
    let may_run = |kernel: &&Kernel| kernel.isa != Isa::Amx || tiles::permitted();
    let here = Features::detect();
    // With NOPs and without, where this CPU has both.
    let bodies = |kernel: &'static Kernel| {
        let plain = kernel.bind(&here.on_binding_core(false));
        plain.into_iter().chain(kernel.bind(&here).filter(Bound::is_spaced))
    };
    rows.filter(may_run).flat_map(bodies).collect()
});

#[test]
fn every_kernel_computes_what_the_oracle_computes() {
    for kernel in &*BOUND {
        let mut state = kernel.seeded(11);
        let mut done = 0;
        for iterations in [0, 1, 2, 3, 17, 60] {
            kernel.run(&mut state, iterations);
            done += iterations;
            assert!(state.results() == oracle(&state, done), "{} x {done}", kernel.kernel().name);
            assert_eq!(state.verify(done), Ok(()));
        }
        assert_eq!(state.verify_and_reset(), Ok(()));
        assert_eq!(state.results(), state.seeds(), "{}", kernel.kernel().name);
        kernel.run(&mut state, 5);
        assert_eq!(state.verify_and_reset(), Ok(()));
    }
}

#[test]
fn work_that_was_not_done_is_caught_in_every_lane() {
    for kernel in &*BOUND {
        let mut state = kernel.seeded(12);
        kernel.run(&mut state, 30);
        let Err(Mismatch::Lane { kernel: name, accumulator, lane, .. }) = state.verify(31) else {
            panic!("{}: not caught", kernel.kernel().name);
        };
        assert_eq!((name, accumulator, lane), (kernel.kernel().name, 0, 0));
        let size = kernel.kernel().vector_bytes() / kernel.kernel().lanes;
        let other = oracle(&state, 29);
        let mut lanes = state.results().chunks_exact(size).zip(other.chunks_exact(size));
        assert!(lanes.all(|(found, less)| found != less), "{}", kernel.kernel().name);
    }
}

/// The kernels whose laps are short enough for a test; of 64-bit Arm, for a test that is emulated.
fn with_laps() -> impl Iterator<Item = &'static Bound> {
    let is_short = |kernel: &Kernel| {
        cfg!(not(target_arch = "aarch64")) || kernel.lap().saturating_mul(kernel.lanes as u64) <= 1 << 20
    };
    BOUND.iter().filter(move |bound| bound.kernel().lap() <= 1 << 22 && is_short(bound.kernel()))
}

#[test]
fn laps_are_exact_to_their_end_and_are_counted() {
    let mut elements = HashSet::new();
    for kernel in with_laps() {
        elements.insert(kernel.kernel().element);
        let lap = kernel.kernel().lap();
        let mut state = kernel.seeded(13);
        kernel.run(&mut state, lap - 1);
        assert_eq!(state.verify(lap - 1), Ok(()));
        kernel.run(&mut state, 4);
        assert_eq!(state.verify(lap + 3), Ok(()));
        assert!(state.results() == oracle(&state, 3), "{}", kernel.kernel().name);
        assert!(matches!(state.verify(3), Err(Mismatch::Count { expected: 0, found: 1, .. })));
        kernel.run(&mut state, 2 * lap);
        assert_eq!(state.verify_and_reset(), Ok(()));
    }
    assert!(elements.contains(&Element::Fp32), "{elements:?}");
}

/// Bytes at the end of a register file that hold results.
const MOST_RESULT_BYTES: usize = 4096;

#[test]
fn an_error_in_one_lap_is_remembered_in_the_next() {
    for kernel in with_laps() {
        let mut state = kernel.seeded(14);
        kernel.run(&mut state, 10);
        let results = state.register_file().len() - MOST_RESULT_BYTES;
        // The second byte: a bit that no rounding restores.
        state.register_file()[results + 1] ^= 1;
        kernel.run(&mut state, 2 * kernel.kernel().lap());
        let name = kernel.kernel().name;
        let wrong = state.verify_and_reset();
        assert!(matches!(wrong, Err(Mismatch::Lane { accumulator: 0, lane: 0, .. })), "{name}: {wrong:?}");
        kernel.run(&mut state, 10);
        assert_eq!(state.verify_and_reset(), Ok(()));
    }
}

/// The values of one floating-point operand, by lane and element.
fn values(state: &ArithmeticState, operand: usize) -> Option<Vec<f64>> {
    let kernel = state.kernel();
    let bytes = state.operand(operand);
    let values: Vec<f64> = match kernel.element {
        Element::Fp64 => bytes.as_chunks().0.iter().map(|lane| f64::from_ne_bytes(*lane)).collect(),
        Element::Fp32 => bytes.as_chunks().0.iter().map(|lane| f32::from_ne_bytes(*lane).into()).collect(),
        Element::Fp16 => bytes.as_chunks().0.iter().map(|lane| half(*lane)).collect(),
        Element::Bf16 => bytes.as_chunks().0.iter().map(|lane| bfloat(*lane)).collect(),
        _ => return None,
    };
    Some(values.into_iter().take(elements(kernel)).collect())
}

/// Elements of an operand that the kernel uses.
fn elements(kernel: &Kernel) -> usize {
    let products = products(kernel);
    match (kernel.op, kernel.isa) {
        // A row of a tile has as many factors as a sum; of columns there are as many.
        (CpuOp::Matrix, Isa::Amx) => 16 * products,
        (CpuOp::Matrix, Isa::Sme) => kernel.lanes.isqrt() * products,
        // 2 x 2 lanes have two rows.
        (CpuOp::Matrix, _) => kernel.lanes / 2 * products,
        (CpuOp::Dot, _) => kernel.lanes * products,
        _ => kernel.lanes,
    }
}

/// The operands of a floating-point kernel, except the plain loop's two multipliers.
fn float_operands(kernel: &Kernel) -> std::ops::Range<usize> {
    match (kernel.op, kernel.element) {
        (CpuOp::Fma, Element::Fp16) => 0..6,
        (CpuOp::Add, _) => 0..2,
        (CpuOp::AllPipes, _) => 0..5,
        (CpuOp::Plain, _) => 2..4,
        _ => 0..4,
    }
}

#[test]
fn float_operands_are_between_one_and_two_with_many_bits_and_differ_by_lane() {
    for kernel in KERNELS.iter().chain(portable::KERNELS) {
        let state = kernel.state(15);
        for operand in float_operands(kernel) {
            let Some(values) = values(&state, operand) else { break };
            let name = kernel.name;
            assert!(values.iter().all(|value| (1.0..2.0).contains(&value.abs())), "{name}: {values:?}");
            let distinct: HashSet<_> = values.iter().map(|value| value.to_bits()).collect();
            if matches!(kernel.element, Element::Fp64 | Element::Fp32) {
                assert!(values.iter().all(|value| value.fract() * 64.0 % 1.0 != 0.0), "{name}: {values:?}");
                assert_eq!(distinct.len(), values.len(), "{name}: {values:?}");
            } else {
                // 5 or 8 bits are too few for every lane.
                assert!(distinct.len() > 3, "{name}: {values:?}");
            }
        }
    }
}

#[test]
fn whole_operands_are_never_zero_and_use_every_bit() {
    for kernel in KERNELS.iter().filter(|kernel| matches!(kernel.op, CpuOp::Dot | CpuOp::Matrix | CpuOp::MulAdd)) {
        let size = match kernel.element {
            Element::Int8 => 1,
            Element::Int16 => 2,
            Element::Int32 => 4,
            Element::Int64 => 8,
            _ => continue,
        };
        let state = kernel.state(16);
        let used = elements(kernel) * size;
        let name = kernel.name;
        for operand in (0..4).map(|index| &state.operand(index)[..used]) {
            assert!(operand.chunks_exact(size).all(|element| element.iter().any(|byte| *byte != 0)), "{name}");
        }
        if kernel.lanes > 2 {
            let bits = (0..4)
                .flat_map(|index| &state.operand(index)[..used])
                .fold((0, 0xff), |(ones, zeros), byte| (ones | byte, zeros & byte));
            assert_eq!(bits, (0xff, 0), "{name}");
        }
    }
}

fn config() -> ProptestConfig {
    let cases = if cfg!(target_arch = "aarch64") { 8 } else { 64 };
    ProptestConfig { rng_seed: RngSeed::Fixed(2), failure_persistence: None, cases, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_wrong_count_never_passes(seed: u64, done in 0_u64..2000, claimed in 0_u64..2000) {
        for kernel in &*BOUND {
            let mut state = kernel.seeded(seed);
            kernel.run(&mut state, done);
            prop_assert_eq!(state.verify(claimed).is_ok(), done == claimed, "{}", kernel.kernel().name);
            prop_assert!(state.verify(done).is_ok(), "{}", kernel.kernel().name);
        }
    }
}

#[test]
fn paced_loops_and_plain_ones_work_on_the_same_state() {
    for kernel in BOUND.iter().filter(|bound| bound.kernel().paced_code().is_some()) {
        let mut state = kernel.seeded(31);
        kernel.run(&mut state, 5);
        kernel.run_paced(&mut state, 7);
        kernel.run(&mut state, 1);
        assert_eq!(state.verify(13), Ok(()));
        let mut plain = kernel.seeded(31);
        kernel.run(&mut plain, 13);
        assert!(plain.results() == state.results(), "{}", kernel.kernel().name);
    }
}
