//! The disk rows of a suite: how they are written, and what `assay disk` makes of `suites/disk.toml`.

use model::experiment::Area;
use model::io::{DiskCache, DiskEngine, DiskLayout, DiskOp, DiskPattern, DiskSync};
use model::plan::Sampling;
use serde::Deserialize;

use super::{DISK, Suite, Threads, or, seconds, size, sizes, some_sampling};

/// Rounds of which five in a row are to be steady: the fewest that can be, and four times those of the specification.
const ROUNDS: std::ops::RangeInclusive<u32> = 5..=100;

/// The shortest round, in seconds: shorter ones tell the noise of a device, not its state.
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

/// A block of disk experiments: every combination of its lists. What a write waits for applies to operations that write
/// only; of the others there is one row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskStanza {
    /// Order of the visits.
    pub pattern: DiskPattern,
    /// What is done at each.
    pub op: Vec<DiskOp>,
    /// Bytes per request.
    #[serde(deserialize_with = "sizes")]
    pub block: Vec<u64>,
    /// Requests in flight per thread.
    pub depth: Vec<u32>,
    /// Bytes of each file, where there is room for them.
    #[serde(deserialize_with = "size")]
    pub size: u64,
    /// How requests reach the kernel; absent: the fastest that works here.
    #[serde(default)]
    pub engine: Option<DiskEngine>,
    /// What a write waits for.
    #[serde(default = "nothing_more")]
    pub sync: Vec<DiskSync>,
    /// What the page cache is allowed to do.
    #[serde(default = "bypassed")]
    pub cache: Vec<DiskCache>,
    /// How threads share files.
    #[serde(default = "one_file")]
    pub layout: Vec<DiskLayout>,
    /// Requests at random moments instead of one as soon as another is over: so many per cent of the rate that the same
    /// row reaches without pause, 1 to 100. Empty: as fast as they can.
    #[serde(default)]
    pub load_percent: Vec<u32>,
    /// Thread counts.
    pub threads: Vec<Threads>,
    /// How these rows are sampled, where not as the area.
    #[serde(default, deserialize_with = "some_sampling")]
    pub sampling: Option<Sampling>,
    /// Go on in rounds until the drive is steady, after the file has been written over once more; only of what writes,
    /// past the page cache and as fast as it can.
    #[serde(default)]
    pub steady: Option<Steady>,
    /// The workload label in the classic tables: `RS`, `WS`, `RR`, `WR` …
    #[serde(default)]
    pub classic: Option<String>,
    /// Bytes, or operations of a latency, that each experiment comes to over all threads.
    #[serde(default)]
    pub total: Option<f64>,
    /// Not part of `assay disk` unless its pattern or its operation is asked for.
    #[serde(default)]
    pub on_request: bool,
    /// What an operation in an order is by itself: rows that are asked for by their parameters are made of these alone,
    /// and not of those that compare caches, loads or familiar combinations.
    #[serde(default)]
    pub base: bool,
}

impl DiskStanza {
    /// Whether what it says of a steady state makes sense.
    ///
    /// # Errors
    /// Why it does not, and what would.
    pub(super) fn check(&self) -> Result<(), String> {
        let Some(Steady { rounds, round_seconds }) = self.steady else { return Ok(()) };
        if !ROUNDS.contains(&rounds) {
            return Err(format!("{rounds} rounds cannot be: write {} to {}", ROUNDS.start(), ROUNDS.end()));
        }
        if round_seconds < LEAST_ROUND_SECONDS {
            return Err(format!("a round of {round_seconds} s is too short: write {LEAST_ROUND_SECONDS} s or more"));
        }
        if let Some(op) = self.op.iter().find(|op| !op.writes()) {
            return Err(format!("{op} writes nothing, so no drive becomes steady by it: name write, mixed or rewrite"));
        }
        if self.cache.iter().any(|cache| *cache != DiskCache::Bypassed) {
            return Err("what goes through the page cache says nothing of the drive: leave cache out".into());
        }
        if self.engine == Some(DiskEngine::Null) {
            return Err("the engine null has no device that could become steady: leave it out".into());
        }
        if !self.load_percent.is_empty() || self.total.is_some() || self.sampling.is_some() {
            return Err(
                "rounds are all there is to say of its sampling: leave load_percent, total and sampling out".into()
            );
        }
        Ok(())
    }
}

/// What an area's own command chooses of the disk area; what is empty or absent is as in `suites/disk.toml`.
#[derive(Clone, Debug, Default)]
pub struct DiskChoice {
    /// Orders of the visits.
    pub patterns: Vec<DiskPattern>,
    /// What is done at each.
    pub ops: Vec<DiskOp>,
    /// Bytes per request.
    pub blocks: Vec<u64>,
    /// Requests in flight per thread.
    pub depths: Vec<u32>,
    /// Bytes of the file.
    pub sizes: Vec<u64>,
    /// How requests reach the kernel.
    pub engines: Vec<DiskEngine>,
    /// What a write waits for.
    pub syncs: Vec<DiskSync>,
    /// What the page cache is allowed to do.
    pub caches: Vec<DiskCache>,
    /// How threads share files.
    pub layouts: Vec<DiskLayout>,
    /// Shares of the highest rate, in per cent.
    pub loads: Vec<u32>,
}

impl DiskChoice {
    /// Whether nothing was chosen that narrows the rows down.
    pub fn is_open(&self) -> bool {
        let Self { patterns, ops, blocks, depths, sizes: _, engines, syncs, caches, layouts, loads } = self;
        let lists = [patterns.is_empty(), ops.is_empty(), blocks.is_empty(), depths.is_empty(), syncs.is_empty()];
        lists
            .into_iter()
            .chain([caches.is_empty(), layouts.is_empty(), loads.is_empty(), engines.is_empty()])
            .all(|open| open)
    }

    /// What is left of a stanza, once for each size and each engine; nothing where it is not meant.
    fn each_of(&self, stanza: &DiskStanza) -> Vec<DiskStanza> {
        let engines: Vec<Option<DiskEngine>> = match self.engines.as_slice() {
            [] => vec![stanza.engine],
            engines => engines.iter().copied().map(Some).collect(),
        };
        let mut all = Vec::new();
        if let Some(left) = self.of(stanza) {
            for size in or(&self.sizes, &[stanza.size]) {
                for &engine in &engines {
                    all.push(DiskStanza { size, engine, ..left.clone() });
                }
            }
        }
        all
    }

    /// What is left of a stanza but for its size and its engine; `None` where it is not meant.
    fn of(&self, stanza: &DiskStanza) -> Option<DiskStanza> {
        let wanted = |op: &&DiskOp| self.ops.is_empty() || self.ops.contains(op);
        let op: Vec<DiskOp> = stanza.op.iter().filter(wanted).copied().collect();
        let of_pattern = self.patterns.is_empty() || self.patterns.contains(&stanza.pattern);
        let named = !self.patterns.is_empty() && of_pattern || !self.ops.is_empty() && !op.is_empty();
        // Those who ask for a kind of write mean what writes.
        let op = if self.syncs.iter().any(|sync| *sync != DiskSync::None) && self.ops.is_empty() {
            op.into_iter().filter(|op| op.writes()).collect()
        } else {
            op
        };
        let meant = if self.is_open() { !stanza.on_request } else { stanza.base && (named || !stanza.on_request) };
        (!op.is_empty() && of_pattern && meant).then(|| DiskStanza {
            op,
            block: or(&self.blocks, &stanza.block),
            depth: or(&self.depths, &stanza.depth),
            sync: or(&self.syncs, &stanza.sync),
            cache: or(&self.caches, &stanza.cache),
            layout: or(&self.layouts, &stanza.layout),
            load_percent: or(&self.loads, &stanza.load_percent),
            ..stanza.clone()
        })
    }
}

impl Suite {
    /// The suite of `assay disk`.
    ///
    /// # Errors
    /// Nothing fits what was chosen.
    pub fn of_disk(choice: &DiskChoice) -> Result<Self, String> {
        let suite = Self::parse(DISK, "disk")?;
        let disk: Vec<DiskStanza> = suite.disk.iter().flat_map(|stanza| choice.each_of(stanza)).collect();
        if disk.is_empty() {
            let bases = suite.disk.iter().filter(|stanza| stanza.base);
            let words = |stanza: &DiskStanza| {
                let ops: Vec<&str> = stanza.op.iter().map(|op| op.name()).collect();
                format!("{} with {}", stanza.pattern, ops.join(", "))
            };
            let known: Vec<String> = bases.map(words).collect();
            return Err(format!("there is no disk experiment of that combination; known: {}", known.join("; ")));
        }
        let time_budget = suite.time_budget.filter(|_| choice.is_open());
        Ok(Self { name: Area::Disk.to_string(), disk, time_budget, ..suite })
    }
}

fn nothing_more() -> Vec<DiskSync> {
    vec![DiskSync::None]
}

fn bypassed() -> Vec<DiskCache> {
    vec![DiskCache::Bypassed]
}

fn one_file() -> Vec<DiskLayout> {
    vec![DiskLayout::Shared]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(choice: &DiskChoice) -> Vec<DiskStanza> {
        Suite::of_disk(choice).unwrap().disk
    }

    #[test]
    fn what_is_chosen_narrows_the_stanzas() {
        let all = rows(&DiskChoice::default());
        assert!(all.iter().all(|stanza| !stanza.on_request) && all.iter().any(|stanza| !stanza.base));
        assert!(Suite::of_disk(&DiskChoice::default()).unwrap().time_budget.is_some());
        let sized = rows(&DiskChoice { sizes: vec![1 << 20], ..DiskChoice::default() });
        assert_eq!(sized.len(), all.len(), "a size narrows nothing");
        assert!(sized.iter().all(|stanza| stanza.size == 1 << 20));
        let blocks = rows(&DiskChoice { blocks: vec![4096], ..DiskChoice::default() });
        assert!(blocks.iter().all(|stanza| stanza.base && !stanza.on_request && stanza.block == [4096]));
        let backward = rows(&DiskChoice { patterns: vec![DiskPattern::Backward], ..DiskChoice::default() });
        let of_engine = DiskChoice { engines: vec![DiskEngine::Sync], ..DiskChoice::default() };
        assert_eq!(Suite::of_disk(&of_engine).unwrap().time_budget, None, "what is asked for is measured in full");
        let sizes_and_engines = DiskChoice {
            sizes: vec![1 << 20, 2 << 20],
            engines: vec![DiskEngine::Sync, DiskEngine::Libaio],
            patterns: vec![DiskPattern::Backward],
            ..DiskChoice::default()
        };
        let each = rows(&sizes_and_engines).iter().map(|stanza| (stanza.size, stanza.engine)).collect::<Vec<_>>();
        let (sync, libaio) = (Some(DiskEngine::Sync), Some(DiskEngine::Libaio));
        assert_eq!(
            each,
            [(1 << 20, sync), (1 << 20, libaio), (2 << 20, sync), (2 << 20, libaio)].repeat(backward.len())
        );
        assert!(!backward.is_empty() && backward.iter().all(|stanza| stanza.pattern == DiskPattern::Backward));
        let mixed = rows(&DiskChoice { ops: vec![DiskOp::Mixed], ..DiskChoice::default() });
        assert!(!mixed.is_empty() && mixed.iter().all(|stanza| stanza.op == [DiskOp::Mixed] && stanza.base));
        let durable = rows(&DiskChoice { syncs: vec![DiskSync::Dsync], ..DiskChoice::default() });
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
            ("write", "rounds = 4, round = \"10s\"", "", "4 rounds cannot be: write 5 to 100"),
            ("write", "rounds = 101, round = \"10s\"", "", "101 rounds cannot be"),
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
            let error = parse(op, steady, more).unwrap_err();
            assert!(error.contains(says) && error.contains("x.toml"), "{op} {steady} {more}: {error}");
        }
    }

    #[test]
    fn every_operation_in_every_order_can_be_asked_for_or_is_refused_with_what_can() {
        for &pattern in DiskPattern::ALL {
            for &op in DiskOp::ALL {
                let choice = DiskChoice { patterns: vec![pattern], ops: vec![op], ..DiskChoice::default() };
                match Suite::of_disk(&choice) {
                    Ok(suite) => assert!(suite.disk.len() == 1 && suite.disk[0].op == [op], "{pattern} {op}"),
                    Err(error) => assert!(error.contains("random with") && error.contains("backward with"), "{error}"),
                }
            }
        }
    }
}
