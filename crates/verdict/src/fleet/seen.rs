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

#[derive(Clone, Copy, Debug)]
enum Counts {
    Median,
    Most,
    Least,
}

struct Column {
    seen: Seen,
    counts: Counts,
    read: fn(&Conditions) -> Option<f64>,
}

const fn column(seen: Seen, counts: Counts, read: fn(&Conditions) -> Option<f64>) -> Column {
    Column { seen, counts, read }
}

const COLUMNS: [Column; 15] = [
    column(Seen::Clock, Counts::Median, |seen| seen.clock_hz),
    column(Seen::Throttled, Counts::Most, |seen| seen.throttled),
    column(Seen::Quota, Counts::Least, |seen| seen.quota_cpus),
    column(Seen::Steal, Counts::Median, |seen| seen.steal),
    column(Seen::OtherLoad, Counts::Median, |seen| seen.other_load),
    column(Seen::Swapped, Counts::Most, |seen| seen.swapped_bytes_per_second),
    column(Seen::Thermal, Counts::Most, |seen| seen.thermal_events.map(|count| count as f64)),
    column(Seen::Power, Counts::Most, |seen| seen.power_events.map(|count| count as f64)),
    column(Seen::HugePages, Counts::Least, |seen| seen.pages_obtained),
    column(Seen::RemotePages, Counts::Most, |seen| seen.remote_pages),
    column(Seen::CpusWithheld, Counts::Most, |seen| seen.cpus_withheld),
    column(Seen::DiskHeadroom, Counts::Least, |seen| {
        let disk = seen.disk.as_ref()?;
        Some(disk.device_limit_celsius? - disk.device_celsius?)
    }),
    column(Seen::DiskLink, Counts::Least, |seen| seen.disk.as_ref()?.link_share),
    column(Seen::DiskOthers, Counts::Median, |seen| seen.disk.as_ref()?.other_share),
    column(Seen::NetOthers, Counts::Median, |seen| seen.net.as_ref()?.other_share),
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
        let values = Observations::new(&self.rows[place]).ok()?;
        Some(match COLUMNS[place].counts {
            Counts::Median => values.median(),
            Counts::Most => values.max(),
            Counts::Least => values.min(),
        })
    }
}

pub(super) fn usual(nodes: &[&AreaConditions], seen: Seen) -> Option<f64> {
    let values: Vec<f64> = nodes.iter().filter_map(|node| node.of(seen)).collect();
    Observations::new(&values).ok().map(|values| values.median())
}
