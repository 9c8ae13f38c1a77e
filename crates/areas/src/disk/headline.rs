//! The disk's lines on the first screen.

use model::document::Row;
use model::experiment::DiskParams;
use model::io::{DiskOp, DiskPattern, DiskSync};
use model::sample::MetricName;
use verdict::headline::{AnswerRules, Headline};

use super::label::params;

pub(super) const ANSWER: AnswerRules = AnswerRules {
    title: "Disk",
    headlines: &[
        Headline { title: "4K random read", metric: MetricName::Iops, rank: random_read_one, detail },
        Headline { title: "4K random read", metric: MetricName::Iops, rank: random_read_many, detail },
        Headline { title: "4K random write", metric: MetricName::Iops, rank: random_write, detail },
        Headline { title: "sequential read", metric: MetricName::Throughput, rank: sequential_read, detail },
    ],
    unknown: "no expectation known; give one with --declare disk.read_bps=… disk.read_iops=…",
    ..AnswerRules::DEFAULT
};

/// A drive is not expected to fill its link; links of disks that are reached over a network carry what they say.
pub(super) fn reach(_: &Row) -> Option<[f64; 2]> {
    None
}

fn random_read_one(row: &Row) -> Option<i64> {
    rank(row, DiskOp::Read, |own| is_random(own) && own.depth == 1)
}

fn random_read_many(row: &Row) -> Option<i64> {
    rank(row, DiskOp::Read, |own| is_random(own) && own.depth > 1)
}

fn random_write(row: &Row) -> Option<i64> {
    rank(row, DiskOp::Write, |own| is_random(own) && own.depth == 1)
}

fn sequential_read(row: &Row) -> Option<i64> {
    rank(row, DiskOp::Read, |own| own.pattern == DiskPattern::Sequential && own.block == 1 << 20)
}

fn is_random(own: &DiskParams) -> bool {
    own.pattern == DiskPattern::Random && own.block == 4096
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
