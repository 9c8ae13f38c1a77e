//! Every arithmetic kernel that this machine can run, against a naive oracle that takes one step at a time.

use std::collections::HashSet;

use kernels::features::Features;
use kernels::portable;
use kernels::state::ArithmeticState;
use kernels::table::{Bound, KERNELS, Kernel};
use model::isa::Element;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn bound() -> impl Iterator<Item = Bound> {
    KERNELS.iter().chain(portable::KERNELS).filter_map(|kernel| kernel.bind(&Features::detect()))
}

/// The accumulators after `iterations` iterations, packed as the kernel packs them.
fn oracle(state: &ArithmeticState, iterations: u64) -> Vec<u8> {
    match state.kernel().element {
        Element::Fp64 => floats::<8>(state, iterations, |acc, a, b| {
            f64::from_ne_bytes(a).mul_add(f64::from_ne_bytes(b), f64::from_ne_bytes(acc)).to_ne_bytes()
        }),
        Element::Fp32 => floats::<4>(state, iterations, |acc, a, b| {
            f32::from_ne_bytes(a).mul_add(f32::from_ne_bytes(b), f32::from_ne_bytes(acc)).to_ne_bytes()
        }),
        _ => bytes(state, iterations),
    }
}

fn floats<const N: usize>(
    state: &ArithmeticState,
    iterations: u64,
    step: impl Fn([u8; N], [u8; N], [u8; N]) -> [u8; N],
) -> Vec<u8> {
    let operands = [0, 1, 2, 3].map(|index| state.operand(index).as_chunks::<N>().0);
    let mut lanes = state.seeds().as_chunks::<N>().0.to_vec();
    for (index, value) in lanes.iter_mut().enumerate() {
        let [a, b, c, d] = operands.map(|operand| operand[index % state.kernel().lanes]);
        for _ in 0..iterations * Kernel::STEPS / 2 {
            *value = step(*value, a, b);
            *value = step(*value, c, d);
        }
    }
    lanes.into_flattened()
}

fn bytes(state: &ArithmeticState, iterations: u64) -> Vec<u8> {
    let group = usize::try_from(state.kernel().operations_per_lane).unwrap_or(0) / 2;
    let mut lanes = state.seeds().as_chunks::<4>().0.to_vec();
    for (index, value) in lanes.iter_mut().enumerate() {
        let first = index % state.kernel().lanes * group;
        let mut sum = i32::from_ne_bytes(*value);
        for step in 0..iterations * Kernel::STEPS {
            let pair = if step % 2 == 0 { (0, 1) } else { (2, 3) };
            for byte in first..first + group {
                let signed = state.operand(pair.1)[byte].cast_signed();
                sum = sum.wrapping_add(i32::from(state.operand(pair.0)[byte]) * i32::from(signed));
            }
        }
        *value = sum.to_ne_bytes();
    }
    lanes.into_flattened()
}

#[test]
fn every_kernel_computes_what_the_oracle_computes() {
    for kernel in bound() {
        let mut state = kernel.seeded(11);
        let mut done = 0;
        for iterations in [0, 1, 2, 3, 17, 1000] {
            kernel.run(&mut state, iterations);
            done += iterations;
            assert_eq!(state.results(), oracle(&state, done), "{} x {done}", kernel.kernel().name);
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
    for kernel in bound() {
        let mut state = kernel.seeded(12);
        kernel.run(&mut state, 100);
        let mismatch = state.verify(101).unwrap_err();
        assert_eq!((mismatch.kernel, mismatch.accumulator, mismatch.lane), (kernel.kernel().name, 0, 0));
        let size = kernel.kernel().vector_bytes() / kernel.kernel().lanes;
        let other = oracle(&state, 99);
        let lanes = state.results().chunks_exact(size).zip(other.chunks_exact(size));
        assert!(lanes.into_iter().all(|(found, less)| found != less), "{}", kernel.kernel().name);
    }
}

#[test]
fn results_are_exact_up_to_the_last_iteration_that_is_promised() {
    for kernel in bound().filter(|bound| bound.kernel().max_iterations() <= 1 << 20) {
        let iterations = kernel.kernel().max_iterations();
        let mut state = kernel.seeded(13);
        kernel.run(&mut state, iterations);
        assert_eq!(state.verify(iterations), Ok(()));
    }
}

#[test]
fn operands_are_bounded_with_many_significant_bits_and_differ_by_lane() {
    for kernel in bound() {
        let state = kernel.seeded(14);
        let lanes = kernel.kernel().lanes;
        for operand in (0..4).map(|index| state.operand(index)) {
            let fractions: Vec<f64> = match kernel.kernel().element {
                Element::Fp64 => operand.as_chunks().0[..lanes].iter().map(|lane| f64::from_ne_bytes(*lane)).collect(),
                Element::Fp32 => {
                    operand.as_chunks().0[..lanes].iter().map(|lane| f32::from_ne_bytes(*lane).into()).collect()
                }
                _ => {
                    assert!(operand[..lanes].iter().all(|byte| *byte != 0), "{}", kernel.kernel().name);
                    continue;
                }
            };
            let name = kernel.kernel().name;
            assert!(fractions.iter().all(|value| (1.0..2.0).contains(&value.abs())), "{name}: {fractions:?}");
            assert!(fractions.iter().all(|value| value.fract() * 64.0 % 1.0 != 0.0), "{name}: {fractions:?}");
            let distinct: HashSet<_> = fractions.iter().map(|value| value.to_bits()).collect();
            assert!(distinct.len() == lanes, "{name}: {fractions:?}");
        }
    }
}

#[test]
#[should_panic(expected = "are not predictable")]
fn more_iterations_than_are_predictable_are_refused() {
    let kernel = bound().find(|bound| bound.kernel().element == Element::Fp32).unwrap();
    kernel.run(&mut kernel.seeded(0), kernel.kernel().max_iterations() + 1);
}

/// The same cases at every run.
fn config() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(2), failure_persistence: None, cases: 64, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_wrong_count_never_passes(seed: u64, done in 0_u64..2000, claimed in 0_u64..2000) {
        for kernel in bound() {
            let mut state = kernel.seeded(seed);
            kernel.run(&mut state, done);
            prop_assert_eq!(state.verify(claimed).is_ok(), done == claimed, "{}", kernel.kernel().name);
        }
    }
}
