//! Results of machines like this one, which this project measured and ships.

use model::machine::{ExpectedQuantity, Machine, MachineExpectation};
use model::number::{Notation, counted, quantity};
use model::sample::{Expectation, MetricName};
use model::unit::Unit;

use crate::published::table::Table;

pub(crate) const TABLE: Table = Table::new(include_str!("../../data/similar.tsv"));
/// The source of ranges from other machines.
const SIMILAR: &str = "similar";
/// How far beyond the results of other machines a value may be: they differ by memory modules, firmware and host.
const MARGIN: f64 = 0.15;

/// What machines must share to be alike: microarchitecture, cores, logical CPUs and hypervisor.
pub fn similarity_key(machine: &Machine) -> Option<String> {
    let hypervisor = match &machine.virtualization {
        Some(found) => found.hypervisor.as_deref().unwrap_or("unknown hypervisor"),
        None if machine.cpu.hypervisor_bit == Some(true) => "unknown hypervisor",
        None => "bare metal",
    };
    let cpu = &machine.cpu;
    Some(format!("{}, {} cores, {} CPUs, {hypervisor}", cpu.microarchitecture.as_ref()?, cpu.cores?, cpu.threads?))
}

pub(super) fn of(machine: &Machine) -> Vec<MachineExpectation> {
    let Some(key) = similarity_key(machine) else { return Vec::new() };
    let mut found: Vec<(&str, MetricName, Unit, Vec<(f64, &str)>)> = Vec::new();
    for row in TABLE.find(&key) {
        let parsed = || {
            let metric = row.cell("metric")?.parse().ok()?;
            let unit = row.cell("unit")?.parse().ok()?;
            Some((row.cell("benchmark")?, metric, unit, row.cell("value")?.parse().ok()?, row.cell("date")?))
        };
        let Some((id, metric, unit, value, date)) = parsed() else { continue };
        match found.iter_mut().find(|one| (one.0, one.1) == (id, metric)) {
            Some(one) => one.3.push((value, date)),
            None => found.push((id, metric, unit, vec![(value, date)])),
        }
    }
    found.into_iter().filter_map(|(id, metric, unit, values)| range(id, metric, unit, &values)).collect()
}

fn range(id: &str, metric: MetricName, unit: Unit, values: &[(f64, &str)]) -> Option<MachineExpectation> {
    let least = values.iter().map(|(value, _)| *value).reduce(f64::min)?;
    let most = values.iter().map(|(value, _)| *value).fold(least, f64::max);
    let n = u32::try_from(values.len()).ok()?;
    let machines = counted(n.into(), "machine");
    let [from, to] = [least, most].map(|value| quantity(value, Notation::Plain(unit)));
    let text = format!("within 15 % of {machines} like it: {from} to {to}");
    let range = Expectation {
        source: SIMILAR.to_owned(),
        low: least * (1.0 - MARGIN),
        high: most * (1.0 + MARGIN),
        text,
        origin: Some("results of this project, shipped with the program".to_owned()),
        date: values.iter().map(|(_, date)| (*date).to_owned()).max(),
        n: Some(n),
    };
    let quantity = ExpectedQuantity::Benchmark.into();
    Some(MachineExpectation { quantity, benchmark: Some(id.to_owned()), metric: Some(metric.into()), range })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::table::check;

    #[test]
    fn every_shipped_result_is_read() {
        assert_eq!(check(TABLE.text()), Ok(()));
        for row in TABLE.rows() {
            let cell = |column| row.cell(column).unwrap_or_default();
            assert!(cell("metric").parse::<MetricName>().is_ok() && cell("unit").parse::<Unit>().is_ok(), "{row:?}");
            assert!(cell("value").parse::<f64>().is_ok_and(|value| value > 0.0), "{row:?}");
        }
    }

    #[test]
    fn a_range_contains_the_results_of_all_machines() {
        let found =
            range("cpu/add", MetricName::Throughput, Unit::FlopPerSecond, &[(90.0, "1"), (110.0, "2")]).unwrap();
        assert_eq!((found.range.n, found.range.date.as_deref()), (Some(2), Some("2")));
        assert_eq!((found.range.low, found.range.high), (0.85 * 90.0, 1.15 * 110.0));
    }
}
