//! The disk benchmarks that a suite or the user chooses, and the suite of `assay disk`.

use clap::Args;
use model::io::{DiskCache, DiskEngine, DiskLayout, DiskOp, DiskPattern, DiskSync};
use model::plan::Sampling;
use model::unit::parse_size;
use serde::Deserialize;

use crate::fields::{Threads, kept, one_or_more, or, seconds, sizes, some_sampling, usual};

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
    pub steady: Option<Steady>,
    /// The workload label in the classic tables: `RS`, `WS`, `RR`, `WR` …
    #[arg(skip)]
    pub classic: Option<String>,
    /// Bytes, or operations of a latency, of each benchmark over all threads.
    #[arg(skip)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::suite;
    use crate::suite::Suite;
    use model::plan::PlanError;

    fn rows(choice: &DiskChoice) -> Vec<DiskChoice> {
        suite(choice).unwrap().disk
    }

    #[test]
    fn what_is_chosen_narrows_the_stanzas() {
        let all = rows(&DiskChoice::default());
        assert!(all.iter().all(|stanza| !stanza.on_request) && all.iter().any(|stanza| !stanza.base));
        assert!(suite(&DiskChoice::default()).unwrap().time_budget.is_some());
        let sized = rows(&DiskChoice { size: vec![1 << 20], ..DiskChoice::default() });
        assert_eq!(sized.len(), all.len(), "a size narrows nothing");
        assert!(sized.iter().all(|stanza| stanza.size == [1 << 20]));
        let blocks = rows(&DiskChoice { block: vec![4096], ..DiskChoice::default() });
        assert!(blocks.iter().all(|stanza| stanza.base && !stanza.on_request && stanza.block == [4096]));
        let backward = rows(&DiskChoice { pattern: vec![DiskPattern::Backward], ..DiskChoice::default() });
        let of_engine = DiskChoice { engine: vec![DiskEngine::Sync], ..DiskChoice::default() };
        assert_eq!(suite(&of_engine).unwrap().time_budget, None, "what is asked for is measured in full");
        let sizes_and_engines = DiskChoice {
            size: vec![1 << 20, 2 << 20],
            engine: vec![DiskEngine::Sync, DiskEngine::Libaio],
            pattern: vec![DiskPattern::Backward],
            ..DiskChoice::default()
        };
        let each = rows(&sizes_and_engines);
        let (sizes, engines) = ([1 << 20, 2 << 20], [DiskEngine::Sync, DiskEngine::Libaio]);
        assert!(each.iter().all(|stanza| stanza.size == sizes && stanza.engine == engines), "{each:?}");
        assert!(!backward.is_empty() && backward.iter().all(|stanza| stanza.pattern == [DiskPattern::Backward]));
        let mixed = rows(&DiskChoice { op: vec![DiskOp::Mixed], ..DiskChoice::default() });
        assert!(!mixed.is_empty() && mixed.iter().all(|stanza| stanza.op == [DiskOp::Mixed] && stanza.base));
        let durable = rows(&DiskChoice { sync: vec![DiskSync::Dsync], ..DiskChoice::default() });
        assert!(!durable.is_empty() && durable.iter().flat_map(|stanza| &stanza.op).all(|op| op.writes()));
    }

    #[test]
    fn rounds_until_a_drive_is_steady_are_read_and_what_makes_no_sense_is_refused() {
        let parse = |op: &str, steady: &str, more: &str| {
            let rows = "pattern = \"random\"\nblock = [\"4KiB\"]\ndepth = [1]\nsize = \"1GiB\"\nthreads = [\"1\"]";
            let text = format!("name = \"x\"\n[[disk]]\n{rows}\nop = [\"{op}\"]\nsteady = {{ {steady} }}\n{more}");
            Suite::parse(&text, "x.toml")
        };
        for op in ["write", "mixed", "rewrite"] {
            let suite = parse(op, "rounds = 5, round = \"100ms\"", "").unwrap();
            assert_eq!(suite.disk[0].steady, Some(Steady { rounds: 5, round_seconds: 0.1 }));
        }
        let good = "rounds = 25, round = \"10s\"";
        for (op, steady, more, says) in [
            ("write", "rounds = 4, round = \"10s\"", "", "4 rounds are not possible: write 5 to 100"),
            ("write", "rounds = 101, round = \"10s\"", "", "101 rounds are not possible"),
            ("write", "rounds = 5, round = \"99ms\"", "", "too short"),
            ("write", "rounds = 5, round = \"x\"", "", "'x'"),
            ("write", "rounds = 5", "", "missing field `round`"),
            ("write", "rounds = 5, round = \"1s\", more = 1", "", "unknown field"),
            ("read", good, "", "read writes nothing"),
            ("reread", good, "", "reread writes nothing"),
            ("write", good, "cache = [\"warm\"]", "page cache"),
            ("write", good, "engine = \"null\"", "no device"),
            ("write", good, "load_percent = [50]", "leave load_percent"),
            ("write", good, "total = 1e6", "leave load_percent"),
            ("write", good, "[disk.sampling]\nsamples = 3", "leave load_percent"),
        ] {
            let error = parse(op, steady, more).unwrap_err().0;
            assert!(error.contains(says) && error.contains("x.toml"), "{op} {steady} {more}: {error}");
        }
    }

    #[test]
    fn every_operation_in_every_order_can_be_asked_for_or_is_refused_with_what_can() {
        for &pattern in DiskPattern::ALL {
            for &op in DiskOp::ALL {
                let choice = DiskChoice { pattern: vec![pattern], op: vec![op], ..DiskChoice::default() };
                match suite(&choice) {
                    Ok(suite) => assert!(suite.disk.len() == 1 && suite.disk[0].op == [op], "{pattern} {op}"),
                    Err(PlanError(error)) => {
                        assert!(error.contains("random with") && error.contains("backward with"), "{error}");
                    }
                }
            }
        }
    }
}
