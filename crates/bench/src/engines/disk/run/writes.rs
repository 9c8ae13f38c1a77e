//! How much a disk benchmark has written, and will write next: bytes of our own requests and layouts, warm-ups included.

use std::collections::BTreeSet;

use model::experiment::DiskParams;
use model::io::DiskEngine;
use model::sample::MetricName;
use model::unit::whole_part;
use model::wire::TestFile;

use crate::engines::resources::{NextRun, WriteForecast};

/// Times the bytes in flight for a process run of unknown size: a slice of warm-up, a sample, and requests in flight.
const LEAST_ROUNDS: u64 = 4;

/// Times the bytes in flight that show a rate beyond the queue's first filling.
const WEIGHT_ROUNDS: u64 = 8;
/// Small requests are limited by the length of a sample, not by bytes.
const LEAST_WEIGHT_BYTES: u64 = 16 << 20;

/// What a benchmark has written and writes next, if it has a file on a disk. `missing_bytes` are those of its missing files.
pub(super) fn forecast(next: NextRun<'_>, params: &DiskParams, missing_bytes: u64) -> Option<WriteForecast> {
    if params.engine == DiskEngine::Null {
        return None;
    }
    let all = || TestFile::of_benchmark(params).iter().map(|file| file.bytes).sum::<u64>();
    let unknown = || LEAST_ROUNDS.saturating_mul(params.bytes_in_flight());
    Some(WriteForecast {
        written_bytes: written(next, params),
        // Before rounds until the drive is steady, the file is overwritten once more.
        file_bytes: missing_bytes + if next.planned.sampling.until_steady { all() } else { 0 },
        request_bytes: if params.op.writes() { next_run_bytes(next, params).unwrap_or_else(unknown) } else { 0 },
        can_stop: params.op.writes() && next.planned.exact_work.is_none(),
        weight_bytes: (WEIGHT_ROUNDS.saturating_mul(params.bytes_in_flight()) / one_write_in(params))
            .max(LEAST_WEIGHT_BYTES),
    })
}

fn next_run_bytes(next: NextRun<'_>, params: &DiskParams) -> Option<u64> {
    if let Some(requests) = next.planned.exact_work {
        let bytes = f64::from(next.samples_next) * requests * params.block as f64 * write_share(params);
        return Some(whole_part(bytes));
    }
    next.runs.last().and_then(|launch| launch.seen.disk.as_ref()?.written_bytes)
}

fn written(next: NextRun<'_>, params: &DiskParams) -> u64 {
    let seen = next.runs.iter().filter_map(|launch| Some((launch.number, launch.seen.disk.as_ref()?)));
    let (mut counted, mut bytes) = (BTreeSet::new(), 0_u64);
    for (number, disk) in seen {
        counted.insert(number);
        bytes += disk.laid_out_bytes.unwrap_or(0) + disk.written_bytes.unwrap_or(0);
    }
    let rest = next.samples.iter().filter(|sample| params.op.writes() && !counted.contains(&sample.launch()));
    let moved = rest.flat_map(|sample| &sample.metrics).filter(|metric| metric.name == MetricName::Throughput);
    let moved: f64 = moved.filter_map(|metric| metric.sample.work).sum();
    bytes + whole_part(moved * write_share(params))
}

fn write_share(params: &DiskParams) -> f64 {
    1.0 / one_write_in(params) as f64
}

/// The number of requests of which one is a write, for an operation that writes: mixed ones alternate.
pub(crate) fn one_write_in(params: &DiskParams) -> u64 {
    if params.op.reads() { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use model::document::DiskConditions;
    use model::experiment::{Area, Params};
    use model::io::DiskOp;
    use model::wire::Observations;

    use super::*;
    use crate::evidence::Repetition;
    use crate::tests::{disk_params, planned, repetition};
    use model::plan::Planned;
    use verdict::judge::ProcessRun;

    const MIB: u64 = 1 << 20;

    fn row(params: DiskParams, exact_work: Option<f64>) -> Planned {
        let mut row = Planned { exact_work, ..planned() };
        (row.experiment.area, row.experiment.params) = (Area::Disk, Params::Disk(params));
        row
    }

    fn write_params() -> DiskParams {
        DiskParams { op: DiskOp::Write, ..disk_params(1) }
    }

    fn moved(launch: u32, bytes: f64) -> Repetition {
        let mut moved = repetition(bytes);
        let metric = &mut moved.metrics[0];
        metric.name = MetricName::Throughput;
        (metric.sample.work, metric.sample.launch) = (Some(bytes), launch);
        moved
    }

    fn launched(number: u32, laid_out: u64, written: u64) -> ProcessRun {
        let disk = DiskConditions {
            laid_out_bytes: Some(laid_out),
            written_bytes: Some(written),
            ..DiskConditions::default()
        };
        let seen = Observations { disk: Some(disk), ..Observations::default() };
        ProcessRun { number, seen, ..ProcessRun::default() }
    }

    fn forecast_of(params: &DiskParams, samples: &[Repetition], runs: &[ProcessRun]) -> WriteForecast {
        let planned = row(params.clone(), None);
        forecast(NextRun { planned: &planned, samples, runs, samples_next: 3 }, params, MIB).unwrap()
    }

    #[test]
    fn launches_count_what_they_wrote_and_samples_of_those_that_were_cut_off_do() {
        let unknown = forecast_of(&write_params(), &[], &[]);
        let wanted = WriteForecast {
            written_bytes: 0,
            file_bytes: MIB,
            request_bytes: LEAST_ROUNDS * write_params().bytes_in_flight(),
            can_stop: true,
            weight_bytes: LEAST_WEIGHT_BYTES,
        };
        assert_eq!(unknown, wanted);
        let runs = [launched(1, 64 * MIB, 5 * MIB), launched(2, 0, 3 * MIB)];
        let mut samples = vec![moved(1, MIB as f64), moved(2, MIB as f64)];
        let known = forecast_of(&write_params(), &samples, &runs);
        assert_eq!((known.written_bytes, known.request_bytes), (72 * MIB, 3 * MIB), "warm-ups are in it");
        samples.push(moved(3, 2.0 * MIB as f64));
        assert_eq!(forecast_of(&write_params(), &samples, &runs).written_bytes, 74 * MIB);
        let mixed = DiskParams { op: DiskOp::Mixed, ..disk_params(1) };
        assert_eq!(forecast_of(&mixed, &samples, &runs).written_bytes, 73 * MIB, "half of what it moved");
        let read = forecast_of(&disk_params(1), &samples, &runs);
        assert_eq!((read.written_bytes, read.request_bytes), (72 * MIB, 0), "reads only lay files out");
        let null = DiskParams { engine: DiskEngine::Null, ..write_params() };
        let planned = row(null.clone(), None);
        let next = NextRun { planned: &planned, samples: &samples, runs: &runs, samples_next: 1 };
        assert_eq!(forecast(next, &null, MIB), None, "there is no device");
    }

    #[test]
    fn a_total_that_is_done_in_full_is_known_beforehand() {
        for (op, requests) in [(DiskOp::Write, 1000), (DiskOp::Mixed, 500)] {
            let params = DiskParams { op, ..write_params() };
            let planned = row(params.clone(), Some(1000.0));
            let next = NextRun { planned: &planned, samples: &[], runs: &[], samples_next: 1 };
            let found = forecast(next, &params, 0).unwrap();
            assert_eq!((found.request_bytes, found.can_stop), (requests * params.block, false));
        }
    }
}
