//! Conditions of LINPACK: what its process runs saw, and where its rate was lost.

use model::document::{Conditions, Row};
use model::linpack::LinpackConditions;
use model::plan::Planned;
use verdict::judge::{ProcessRun, median};

/// Adds the conditions of all process runs: what they were worked with is the same in each, what they saw is its median.
pub(super) fn conditions(_: &Planned, runs: &[&ProcessRun], conditions: &mut Conditions) {
    let all: Vec<&LinpackConditions> = runs.iter().filter_map(|run| run.seen.linpack.as_ref()).collect();
    let of =
        |of: fn(&LinpackConditions) -> Option<f64>| median(&all.iter().filter_map(|one| of(one)).collect::<Vec<_>>());
    conditions.linpack = all.first().map(|first| LinpackConditions {
        fill_seconds: of(|one| one.fill_seconds),
        check_seconds: of(|one| one.check_seconds),
        fma_flop_per_second: of(|one| one.fma_flop_per_second),
        fma_clock_hz: of(|one| one.fma_clock_hz),
        refinements: of(|one| one.refinements),
        ..(*first).clone()
    });
}

/// Sets what share of the rate the clock took and what share the algorithm left, once the efficiency is known.
pub(super) fn set_losses(row: &mut Row) {
    let efficiency = row.metrics.first().and_then(|headline| headline.efficiency).map(|found| found.value);
    let clock_hz = row.conditions.clock_hz;
    if let Some(seen) = &mut row.conditions.linpack {
        let under_fma = seen.fma_clock_hz.filter(|hz| *hz > 0.0);
        seen.lost_to_clock = clock_hz.zip(under_fma).map(|(here, fma)| 1.0 - here / fma);
        seen.lost_to_algorithm = efficiency.map(|efficiency| 1.0 - efficiency);
    }
}

#[cfg(test)]
mod tests {
    use model::wire::Observations;

    use super::*;
    use crate::tests::planned;

    fn run(rate: f64, clock_hz: f64) -> ProcessRun {
        let linpack = LinpackConditions {
            kernel: Some("avx512/24x8".into()),
            fma_flop_per_second: Some(rate),
            fma_clock_hz: Some(clock_hz),
            ..LinpackConditions::default()
        };
        let seen = Observations { linpack: Some(linpack), ..Observations::default() };
        ProcessRun { seen, ..ProcessRun::default() }
    }

    #[test]
    fn process_runs_are_summed_up_by_their_medians() {
        let of = |runs: &[ProcessRun]| {
            let mut found = Conditions::default();
            conditions(&planned(), &runs.iter().collect::<Vec<_>>(), &mut found);
            found.linpack
        };
        let seen = of(&[run(90e9, 2.8e9), run(70e9, 2.2e9), run(88e9, 2.75e9)]).unwrap();
        assert_eq!((seen.fma_flop_per_second, seen.fma_clock_hz), (Some(88e9), Some(2.75e9)));
        assert_eq!(seen.kernel.as_deref(), Some("avx512/24x8"));
        assert_eq!(of(&[ProcessRun::default()]), None);
    }
}
