//! What the launches of a LINPACK row saw together, and where its rate was lost.

use model::document::Row;
use model::experiment::Params;
use model::linpack::LinpackConditions;
use model::wire::Observations;

use super::values::median;

/// The conditions of all launches: what they were worked with is the same in each, what they saw is its median.
pub(super) fn conditions(seen: &[&Observations]) -> Option<LinpackConditions> {
    let all: Vec<&LinpackConditions> = seen.iter().filter_map(|one| one.linpack.as_ref()).collect();
    let of =
        |of: fn(&LinpackConditions) -> Option<f64>| median(&all.iter().filter_map(|one| of(one)).collect::<Vec<_>>());
    let first = (*all.first()?).clone();
    Some(LinpackConditions {
        fill_seconds: of(|one| one.fill_seconds),
        check_seconds: of(|one| one.check_seconds),
        fma_flop_per_second: of(|one| one.fma_flop_per_second),
        fma_clock_hz: of(|one| one.fma_clock_hz),
        refinements: of(|one| one.refinements),
        ..first
    })
}

/// Says of a row whose efficiency is known what share of its rate the clock took and what share the algorithm left.
pub fn set_losses(row: &mut Row) {
    if !matches!(row.params, Params::Linpack(_)) {
        return;
    }
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
    use super::*;

    fn launch(rate: f64, clock_hz: f64) -> Observations {
        let linpack = LinpackConditions {
            kernel: Some("avx512/24x8".into()),
            fma_flop_per_second: Some(rate),
            fma_clock_hz: Some(clock_hz),
            ..LinpackConditions::default()
        };
        Observations { linpack: Some(linpack), ..Observations::default() }
    }

    #[test]
    fn launches_are_summed_up_by_their_medians() {
        let launches = [launch(90e9, 2.8e9), launch(70e9, 2.2e9), launch(88e9, 2.75e9)];
        let seen = conditions(&launches.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!((seen.fma_flop_per_second, seen.fma_clock_hz), (Some(88e9), Some(2.75e9)));
        assert_eq!(seen.kernel.as_deref(), Some("avx512/24x8"));
        assert_eq!(conditions(&[&Observations::default()]), None);
    }
}
