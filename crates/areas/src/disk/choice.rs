//! The disk benchmarks that a suite or the user chooses.

use clap::Args;
use model::io::{DiskCache, DiskEngine, DiskLayout, DiskOp, DiskPattern, DiskSync};
use model::plan::Sampling;
use model::unit::parse_size;
use serde::Deserialize;

use crate::fields::{Threads, kept, one_or_more, or, seconds, sizes, some_sampling, usual};

/// The deepest queue.
pub(super) const MOST_DEPTH: u32 = 1024;
/// Rounds of which five in a row must be steady: up to four times those of the specification.
const ROUNDS: std::ops::RangeInclusive<u32> = 5..=100;
/// The shortest round in seconds: shorter ones show noise, not the state of the device.
const LEAST_ROUND_SECONDS: f64 = 0.1;

/// Rounds of writes until a drive is steady.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steady {
    /// The most rounds: 5 to 100.
    pub rounds: u32,
    /// Length of a round in seconds.
    #[serde(rename = "round", deserialize_with = "seconds")]
    pub round_seconds: f64,
}

/// Disk benchmarks, as options of `assay disk` or a `[[disk]]` block of a suite: every combination of the lists.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskChoice {
    /// Access patterns: sequential, random, backward, strided.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(deserialize_with = "one_or_more")]
    pub pattern: Vec<DiskPattern>,
    /// Operations: read, write, mixed, rewrite, reread.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub op: Vec<DiskOp>,
    /// Request sizes [default: 1MiB sequential, 4KiB random].
    ///
    /// Direct I/O needs multiples of the device's block size. The page cache takes any size.
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = parse_size)]
    #[serde(deserialize_with = "sizes")]
    pub block: Vec<u64>,
    /// Queue depths per thread, 1 to 1024 [default: 1,32].
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_DEPTH)))]
    pub depth: Vec<u32>,
    /// Size of each test file [default: 1GiB, or what fits].
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = parse_size)]
    #[serde(deserialize_with = "sizes")]
    pub size: Vec<u64>,
    /// I/O engines.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(help = "I/O engines: io_uring, libaio, sync, null (no device) [default: the first available]")]
    #[serde(default, deserialize_with = "one_or_more")]
    pub engine: Vec<DiskEngine>,
    /// Direct I/O: true, or false for --cache cold,warm [default: true].
    #[arg(long, hide_short_help = true, value_name = "LIST", num_args = 0..=1, default_missing_value = "true", value_delimiter = ',', conflicts_with = "cache")]
    #[serde(skip)]
    pub direct: Vec<bool>,
    /// Synchronous writes: none, dsync (data), sync (data and metadata) [default: none].
    #[arg(long, hide_short_help = true, value_name = "LIST", value_delimiter = ',')]
    #[serde(default = "usual")]
    pub sync: Vec<DiskSync>,
    /// Page cache: bypassed (direct I/O), cold, warm [default: bypassed].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(default = "usual")]
    pub cache: Vec<DiskCache>,
    /// Layouts of test files.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(help = "Test files: shared (one for all threads), per_thread [default: shared]")]
    #[serde(default = "usual")]
    pub layout: Vec<DiskLayout>,
    /// Offered load as a percentage of the peak rate (Poisson arrivals), 1 to 100.
    ///
    /// Latency is measured from the time at which each request was due.
    #[arg(long, hide_short_help = true, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=100))]
    #[serde(default)]
    pub load_percent: Vec<u32>,
    /// Thread counts.
    #[arg(skip)]
    pub threads: Vec<Threads>,
    /// Their own sampling.
    #[arg(skip)]
    #[serde(default, deserialize_with = "some_sampling")]
    pub sampling: Option<Sampling>,
    /// Rounds until the drive is steady, after the file was overwritten once; only for direct writes at full load.
    #[arg(skip)]
    #[serde(default)]
    pub steady: Option<Steady>,
    /// The workload label in the classic tables: `RS`, `WS`, `RR`, `WR` …
    #[arg(skip)]
    #[serde(default)]
    pub classic: Option<String>,
    /// Bytes, or operations of a latency, of each benchmark over all threads.
    #[arg(skip)]
    #[serde(default)]
    pub total: Option<f64>,
    /// Left out of `assay disk` unless its pattern or operation is chosen.
    #[arg(skip)]
    #[serde(default)]
    pub on_request: bool,
    /// Whether chosen parameters apply to it; other blocks compare caches, loads or known profiles.
    #[arg(skip)]
    #[serde(default)]
    pub base: bool,
}

impl DiskChoice {
    /// Checks the steady state; an error says what is wrong and what is possible.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Some(Steady { rounds, round_seconds }) = self.steady else { return Ok(()) };
        if !ROUNDS.contains(&rounds) {
            return Err(format!("{rounds} rounds are not possible: write {} to {}", ROUNDS.start(), ROUNDS.end()));
        }
        if round_seconds < LEAST_ROUND_SECONDS {
            return Err(format!("a round of {round_seconds} s is too short: write {LEAST_ROUND_SECONDS} s or more"));
        }
        if let Some(op) = self.op.iter().find(|op| !op.writes()) {
            let choose = "choose write, mixed or rewrite";
            return Err(format!("{op} writes nothing, so the drive cannot reach steady state: {choose}"));
        }
        let cached = self.cache.iter().any(|cache| *cache != DiskCache::Bypassed);
        let sampled = !self.load_percent.is_empty() || self.total.is_some() || self.sampling.is_some();
        let problems = [
            (cached, "the page cache hides the state of the drive: leave cache out"),
            (self.engine.contains(&DiskEngine::Null), "the engine null has no device: leave it out"),
            (sampled, "rounds define the sampling: leave load_percent, total and sampling out"),
        ];
        problems.iter().find(|(holds, _)| *holds).map_or(Ok(()), |(_, problem)| Err((*problem).to_owned()))
    }

    /// Whether nothing was chosen that narrows the benchmarks down, which a size does not.
    pub fn is_open(&self) -> bool {
        let Self { pattern, op, block, depth, engine, sync, layout, load_percent, .. } = self;
        let of_requests = pattern.is_empty() && op.is_empty() && block.is_empty() && depth.is_empty();
        let of_files = engine.is_empty() && sync.is_empty() && self.caches().is_empty() && layout.is_empty();
        of_requests && of_files && load_percent.is_empty()
    }

    /// The states of the page cache by `--cache` or `--direct`.
    fn caches(&self) -> Vec<DiskCache> {
        let of_direct =
            |direct: &bool| if *direct { vec![DiskCache::Bypassed] } else { vec![DiskCache::Cold, DiskCache::Warm] };
        self.cache.iter().copied().chain(self.direct.iter().flat_map(of_direct)).collect()
    }

    /// A block narrowed to these options; `None` if nothing is left.
    pub(super) fn narrowed(&self, block: &Self) -> Option<Self> {
        let (mut op, pattern) = (kept(&self.op, &block.op), kept(&self.pattern, &block.pattern));
        let named = !self.pattern.is_empty() && !pattern.is_empty() || !self.op.is_empty() && !op.is_empty();
        // A kind of write selects writes.
        if self.sync.iter().any(|sync| *sync != DiskSync::None) && self.op.is_empty() {
            op.retain(|op| op.writes());
        }
        let meant = if self.is_open() { !block.on_request } else { block.base && (named || !block.on_request) };
        (!op.is_empty() && !pattern.is_empty() && meant).then(|| Self {
            pattern,
            op,
            block: or(&self.block, &block.block),
            depth: or(&self.depth, &block.depth),
            size: or(&self.size, &block.size),
            engine: or(&self.engine, &block.engine),
            sync: or(&self.sync, &block.sync),
            cache: or(&self.caches(), &block.cache),
            layout: or(&self.layout, &block.layout),
            load_percent: or(&self.load_percent, &block.load_percent),
            ..block.clone()
        })
    }
}
