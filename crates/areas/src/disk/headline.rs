//! The disk's lines on the first screen.

use model::document::Row;
use model::experiment::DiskParams;
use model::io::{DiskOp, DiskPattern, DiskSync};
use model::machine::{Disk, ExpectedQuantity, Machine};
use model::sample::MetricName;
use verdict::headline::{AnswerRules, Headline};

use super::label::params;
use crate::label::parts::threads;

pub(super) const ANSWER: AnswerRules = AnswerRules {
    title: "Disk",
    headlines: &[
        &[
            requests("4K random read", |row| one(row, DiskOp::Read, 4096)),
            requests("1K random read", |row| one(row, DiskOp::Read, 1024)),
        ],
        &[
            requests("4K random read", |row| rank(row, DiskOp::Read, |own| is_random(own, 4096) && own.depth > 1)),
            Headline { detail: |row| threads(row.params.threads()), ..requests("1K random read", random_read_threads) },
        ],
        &[
            requests("4K random write", |row| one(row, DiskOp::Write, 4096)),
            requests("1K random write", |row| one(row, DiskOp::Write, 1024)),
        ],
        &[Headline { metric: MetricName::Throughput, ..requests("sequential read", sequential_read) }],
    ],
    unknown: "--declare disk.read_bps=… disk.read_iops=… gives one",
    ..AnswerRules::DEFAULT
};

const fn requests(title: &'static str, rank: fn(&Row) -> Option<i64>) -> Headline {
    Headline { title, metric: MetricName::Iops, rank, detail }
}

/// The model that volumes of EC2 state.
const EBS: &str = "Amazon Elastic Block Store";

/// A drive is not expected to fill its link; links of disks that are reached over a network carry what they say.
pub(super) fn reach(_: &Row) -> Option<[f64; 2]> {
    None
}

/// A network volume of EC2, with enough requests in flight to reach what it is sold for.
pub(super) fn published(row: &Row, name: MetricName, machine: &Machine) -> Option<ExpectedQuantity> {
    /// A request takes about 1 ms, so 16 of 4 KiB reach 16 000 a second, and 16 of 1 MiB 16 GB/s.
    const ENOUGH_REQUESTS: u32 = 16;
    let own = params(row).filter(|own| own.bypasses_cache() && own.load_percent.is_none())?;
    let devices = &row.conditions.disk.as_ref()?.devices;
    let is_volume = |disk: &Disk| disk.model.as_deref() == Some(EBS) && devices.contains(&disk.name);
    let is_its = own.depth * own.threads >= ENOUGH_REQUESTS && machine.disks.iter().any(is_volume);
    match name {
        MetricName::Iops if is_its && is_random(own, 4096) => Some(ExpectedQuantity::VolumeRequests),
        MetricName::Throughput if is_its && own.block >= 1 << 20 => Some(ExpectedQuantity::VolumeBytes),
        _ => None,
    }
}

fn one(row: &Row, op: DiskOp, block: u64) -> Option<i64> {
    rank(row, op, |own| is_random(own, block) && own.depth == 1)
}

/// The most threads, at least two: as many requests in flight.
fn random_read_threads(row: &Row) -> Option<i64> {
    one(row, DiskOp::Read, 1024).filter(|_| row.params.threads() > 1).map(|least| -least)
}

fn sequential_read(row: &Row) -> Option<i64> {
    rank(row, DiskOp::Read, |own| own.pattern == DiskPattern::Sequential && own.block == 1 << 20)
}

fn is_random(own: &DiskParams, block: u64) -> bool {
    own.pattern == DiskPattern::Random && own.block == block
}

/// The least threads, of these the deepest queue, past the page cache and without a load or synchronous writes.
fn rank(row: &Row, op: DiskOp, is: impl Fn(&DiskParams) -> bool) -> Option<i64> {
    let plain = |own: &&DiskParams| own.bypasses_cache() && own.load_percent.is_none() && own.sync == DiskSync::None;
    let own = params(row).filter(plain).filter(|own| own.op == op && is(own))?;
    Some(i64::from(own.depth) - (i64::from(own.threads) << 32))
}

fn detail(row: &Row) -> String {
    params(row).map_or_else(String::new, |own| format!("QD{}", own.depth))
}
