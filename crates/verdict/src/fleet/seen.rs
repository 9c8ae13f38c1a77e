//! Conditions of a node while an area was measured: which there are, and which of many results counts.

use model::document::Conditions;
use stats::Observations;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Clock,
    Throttled,
    Quota,
    Steal,
    OtherLoad,
    Swapped,
    Thermal,
    Power,
    HugePages,
    RemotePages,
    CpusWithheld,
    DiskHeadroom,
    DiskLink,
    DiskOthers,
    NetOthers,
}

struct Column {
    seen: Seen,
    /// Which of many results counts.
    counts: fn(&Observations) -> f64,
    read: fn(&Conditions) -> Option<f64>,
}

const fn column(seen: Seen, counts: fn(&Observations) -> f64, read: fn(&Conditions) -> Option<f64>) -> Column {
    Column { seen, counts, read }
}

const COLUMNS: [Column; 15] = [
    column(Seen::Clock, Observations::median, |seen| seen.clock_hz),
    column(Seen::Throttled, Observations::max, |seen| seen.throttled),
    column(Seen::Quota, Observations::min, |seen| seen.quota_cpus),
    column(Seen::Steal, Observations::median, |seen| seen.steal),
    column(Seen::OtherLoad, Observations::median, |seen| seen.other_load),
    column(Seen::Swapped, Observations::max, |seen| seen.swapped_bytes_per_second),
    column(Seen::Thermal, Observations::max, |seen| seen.thermal_events.map(|count| count as f64)),
    column(Seen::Power, Observations::max, |seen| seen.power_events.map(|count| count as f64)),
    column(Seen::HugePages, Observations::min, |seen| seen.pages_obtained),
    column(Seen::RemotePages, Observations::max, |seen| seen.remote_pages),
    column(Seen::CpusWithheld, Observations::max, |seen| seen.cpus_withheld),
    column(Seen::DiskHeadroom, Observations::min, |seen| {
        let disk = seen.disk.as_ref()?;
        Some(disk.device_limit_celsius? - disk.device_celsius?)
    }),
    column(Seen::DiskLink, Observations::min, |seen| seen.disk.as_ref()?.link_share),
    column(Seen::DiskOthers, Observations::median, |seen| seen.disk.as_ref()?.other_share),
    column(Seen::NetOthers, Observations::median, |seen| seen.net.as_ref()?.other_share),
];

#[derive(Clone, Debug, Default)]
pub(super) struct AreaConditions {
    rows: [Vec<f64>; COLUMNS.len()],
}

impl AreaConditions {
    pub(super) fn add(&mut self, conditions: &Conditions) {
        for (column, values) in COLUMNS.iter().zip(&mut self.rows) {
            values.extend((column.read)(conditions).filter(|value| value.is_finite()));
        }
    }

    pub(super) fn of(&self, seen: Seen) -> Option<f64> {
        let place = COLUMNS.iter().position(|column| column.seen == seen)?;
        Observations::new(&self.rows[place]).map(|values| (COLUMNS[place].counts)(&values))
    }
}

/// The conditions of all nodes of a group in an area, ascending.
#[derive(Debug, Default)]
pub(super) struct Usual {
    columns: [Vec<f64>; COLUMNS.len()],
}

impl Usual {
    pub(super) fn new(nodes: &[&AreaConditions]) -> Self {
        let values = |column: &Column| {
            let mut values: Vec<f64> = nodes.iter().filter_map(|node| node.of(column.seen)).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        Self { columns: COLUMNS.each_ref().map(values) }
    }

    /// The median over the other nodes.
    pub(super) fn of(&self, seen: Seen, own: &AreaConditions) -> Option<f64> {
        let place = COLUMNS.iter().position(|column| column.seen == seen)?;
        let all = &self.columns[place];
        let own = own.of(seen).and_then(|own| all.binary_search_by(|value| value.total_cmp(&own)).ok());
        let other = |rank: usize| all[rank + usize::from(own.is_some_and(|own| own <= rank))];
        let others = all.len() - usize::from(own.is_some());
        (others > 0).then(|| f64::midpoint(other((others - 1) / 2), other(others / 2)))
    }
}
