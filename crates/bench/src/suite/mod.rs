//! Suites: which experiments, and how each area is sampled, as TOML. `quick`, `standard`, `rigorous`, `classic`
//! and `steady` are part of the program; any other is a file of the same form.
//!
//! A suite names no machine: "vector" and "all" become an instruction set and a number of threads only in the plan.

use std::collections::BTreeMap;
use std::path::Path;

use kernels::table::KERNELS;
use model::experiment::Area;
use model::isa::{CpuOp, Element, Isa};
use model::plan::{Planned, Sampling};
use model::unit::{parse_seconds, parse_size};
use model::warning::WarningCode;
use serde::{Deserialize, Deserializer, de::Error as _};

use crate::plan::matches_id;

mod disk;
mod linpack;
mod memory;
mod net;
pub use disk::{DiskChoice, DiskStanza, Steady};
pub(crate) use linpack::MOST_N;
pub use linpack::{Leading, LinpackChoice, LinpackStanza, Order, Role, parse_alignment};
pub use memory::{MemoryChoice, MemoryStanza, NodePair, WorkingSets};
pub(crate) use net::{LOSS_GOAL_PER_MILLION, MOST_BLOCK_BYTES, Traits, block_range, known_modes, traits};
pub use net::{NetChoice, NetStanza};

/// The most threads that can be asked for.
pub const MOST_THREADS: u32 = 1024;

/// The suites inside the program: name and text.
const EMBEDDED: &[(&str, &str)] = &[
    ("quick", include_str!("../../../../suites/quick.toml")),
    ("standard", include_str!("../../../../suites/standard.toml")),
    ("rigorous", include_str!("../../../../suites/rigorous.toml")),
    ("classic", include_str!("../../../../suites/classic.toml")),
    ("steady", include_str!("../../../../suites/steady.toml")),
];

/// The suite of `assay linpack`, of which the command line chooses.
const LINPACK: &str = include_str!("../../../../suites/linpack.toml");

/// The suite of `assay memory`, of which the command line chooses.
const MEMORY: &str = include_str!("../../../../suites/memory.toml");

/// The suite of `assay disk`, likewise.
const DISK: &str = include_str!("../../../../suites/disk.toml");

/// The suite of `assay net`, likewise.
const NET: &str = include_str!("../../../../suites/net.toml");

/// A suite.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// What it is for, in a line.
    #[serde(default)]
    pub about: String,
    /// Sessions that the samples of every row are spread over: passes over all rows, each some time after the one before.
    #[serde(default = "one_session")]
    pub sessions: u32,
    /// Seconds between two sessions.
    #[serde(default, deserialize_with = "seconds")]
    pub pause: f64,
    /// Share of the expected time that may be spent on repeating what others have disturbed, where nobody names a
    /// time budget.
    #[serde(default)]
    pub repeat_share: f64,
    /// Seconds that all of it may take where nothing else is asked for; rows for which none are left are skipped.
    #[serde(default, deserialize_with = "some_seconds")]
    pub time_budget: Option<f64>,
    /// Bytes that may be written to disks where nothing else is asked for: test files, warm-ups and samples together.
    #[serde(default, deserialize_with = "some_size")]
    pub write_budget: Option<u64>,
    /// Where trusted tools stand that are found, unless others are asked for; `None` where none do.
    #[serde(default)]
    pub references: Option<SuiteReferences>,
    /// How each area is sampled.
    #[serde(default, deserialize_with = "sampling_of_areas")]
    pub sampling: BTreeMap<Area, Sampling>,
    /// Rows of the cpu area.
    #[serde(default)]
    pub cpu: Vec<CpuStanza>,
    /// Rows of the LINPACK area.
    #[serde(default)]
    pub linpack: Vec<LinpackStanza>,
    /// Rows of the memory area.
    #[serde(default)]
    pub memory: Vec<MemoryStanza>,
    /// Rows of the disk area.
    #[serde(default)]
    pub disk: Vec<DiskStanza>,
    /// Rows of the network area.
    #[serde(default)]
    pub net: Vec<NetStanza>,
}

/// Where a suite has trusted tools that are found, so that all of it keeps within its time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteReferences {
    /// The most pairs of a row.
    pub pairs: u32,
    /// The longest sample of ours that they stand beside, in seconds.
    #[serde(rename = "longest", deserialize_with = "seconds")]
    pub longest_seconds: f64,
    /// The tools, by name; empty for all that are found.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Rows that they do not stand beside: globs of ids, as `--filter` takes them.
    #[serde(default)]
    pub not_beside: Vec<String>,
}

impl SuiteReferences {
    /// Whether tools stand beside a row: one whose threads have a CPU each, whose samples are not too long, and which is
    /// not excepted.
    pub(crate) fn stand_beside(&self, row: &Planned) -> bool {
        let oversubscribed = row.warnings.iter().any(|warning| warning.code == WarningCode::Oversubscribed);
        let excepted = || self.not_beside.iter().any(|glob| matches_id(glob, &row.experiment.id).unwrap_or(false));
        !oversubscribed && row.sampling.sample_seconds <= self.longest_seconds && !excepted()
    }

    /// Whether this tool is one of them.
    pub(crate) fn has(&self, tool: &str) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|wanted| wanted == tool)
    }

    fn check(&self) -> Result<(), String> {
        if self.pairs == 0 {
            return Err("pairs must be at least 1".to_owned());
        }
        if let Some(unknown) = self.tools.iter().find(|tool| tools::find(tool).is_none()) {
            return Err(format!("'{unknown}' is no tool that is known; see assay references"));
        }
        self.not_beside.iter().try_for_each(|glob| matches_id(glob, "").map(|_| ()))
    }
}

/// A block of cpu experiments: every combination of its lists.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuStanza {
    /// What is computed; of several, the first that this CPU has a kernel for.
    #[serde(deserialize_with = "one_or_more")]
    pub op: Vec<CpuOp>,
    /// Element types.
    #[serde(rename = "type")]
    pub elements: Vec<Element>,
    /// Instruction sets.
    pub isa: Vec<IsaChoice>,
    /// Thread counts.
    pub threads: Vec<Threads>,
    /// Operations that each experiment comes to, over all threads: stated, and done in full where exact workloads are
    /// asked for.
    pub total: Option<f64>,
}

const fn one_session() -> u32 {
    1
}

/// An instruction set as a suite names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsaChoice {
    /// The widest vectors that this CPU has for the kernel; for streams through memory, up to 256 bits.
    Vector,
    /// Every one that this CPU has for the kernel.
    All,
    /// This one.
    Named(Isa),
}

/// A number of threads as a suite names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One per available physical core.
    All,
    /// 1, 2, 4 and so on, up to one per available physical core.
    Doubling,
    /// One per available hardware thread, where cores have several; nothing elsewhere.
    Smt,
    /// So many.
    Count(u32),
}

impl std::str::FromStr for IsaChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "vector" => Ok(Self::Vector),
            "all" => Ok(Self::All),
            name => name.parse().map(Self::Named).map_err(|error| format!("{error}; vector (the widest here), all")),
        }
    }
}

impl std::str::FromStr for Threads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse::<u32>()) {
            ("all", _) => Ok(Self::All),
            ("doubling", _) => Ok(Self::Doubling),
            ("smt", _) => Ok(Self::Smt),
            (_, Ok(count)) if (1..=MOST_THREADS).contains(&count) => Ok(Self::Count(count)),
            _ => Err(format!(
                "'{text}' is no number of threads; write 1 to {MOST_THREADS}, all (one per core), doubling (1, 2, 4 … all) or smt"
            )),
        }
    }
}

/// Deserialises by `FromStr`, so that a suite file and an option are read by the same rule.
macro_rules! from_text {
    ($($type:ty),+) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    )+};
}
use from_text;
from_text!(IsaChoice, Threads);

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    parse_seconds(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn some_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    seconds(deserializer).map(Some)
}

fn two_durations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[f64; 2], D::Error> {
    let [least, most] = <[String; 2]>::deserialize(deserializer)?;
    let pair = [parse_seconds(&least).map_err(D::Error::custom)?, parse_seconds(&most).map_err(D::Error::custom)?];
    if pair[0] > pair[1] { Err(D::Error::custom("the least warm-up is longer than the most")) } else { Ok(pair) }
}

/// [`Sampling`] as a suite has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SamplingTable {
    samples: u32,
    most: Option<u32>,
    per_launch: u32,
    #[serde(rename = "sample", deserialize_with = "seconds")]
    sample_seconds: f64,
    #[serde(rename = "warm_up", deserialize_with = "two_durations")]
    warm_up_seconds: [f64; 2],
    target: f64,
}

impl Default for SamplingTable {
    fn default() -> Self {
        let Sampling { samples, most, per_launch, sample_seconds, warm_up_seconds, target, .. } = Sampling::default();
        Self { samples, most, per_launch, sample_seconds, warm_up_seconds, target }
    }
}

impl From<SamplingTable> for Sampling {
    fn from(table: SamplingTable) -> Self {
        let SamplingTable { samples, most, per_launch, sample_seconds, warm_up_seconds, target } = table;
        Self { samples, most, per_launch, sample_seconds, warm_up_seconds, target, until_steady: false }
    }
}

fn sampling_of_areas<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<Area, Sampling>, D::Error> {
    let tables = BTreeMap::<Area, SamplingTable>::deserialize(deserializer)?;
    Ok(tables.into_iter().map(|(area, table)| (area, table.into())).collect())
}

/// The sampling of a stanza that has its own.
fn some_sampling<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Sampling>, D::Error> {
    SamplingTable::deserialize(deserializer).map(|table| Some(table.into()))
}

/// A word, or a list of them.
fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<CpuOp>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        One(String),
        More(Vec<String>),
    }
    let words = match Given::deserialize(deserializer)? {
        Given::One(word) => vec![word],
        Given::More(words) => words,
    };
    if words.is_empty() {
        return Err(D::Error::custom("op must name an operation"));
    }
    words.iter().map(|word| word.parse().map_err(D::Error::custom)).collect()
}

fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    parse_size(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn some_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    size(deserializer).map(Some)
}

fn sizes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    let read = |text: &String| parse_size(text).map_err(D::Error::custom);
    Vec::<String>::deserialize(deserializer)?.iter().map(read).collect()
}

impl Suite {
    /// The names of the suites inside the program.
    pub fn names() -> impl Iterator<Item = &'static str> {
        EMBEDDED.iter().map(|(name, _)| *name)
    }

    /// The suite of this name, or in this file if the name ends in `.toml`.
    ///
    /// # Errors
    /// One sentence: no such suite, an unreadable file, or what is wrong in it, with line and column.
    pub fn find(name: &str) -> Result<Self, String> {
        if let Some((_, text)) = EMBEDDED.iter().find(|(embedded, _)| *embedded == name) {
            return Self::parse(text, name);
        }
        if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
            let text = std::fs::read_to_string(name)
                .map_err(|error| format!("cannot read the suite file '{name}': {error}"))?;
            return Self::parse(&text, name);
        }
        let known: Vec<_> = Self::names().collect();
        Err(format!("there is no suite '{name}'; known: {}, or a file that ends in .toml", known.join(", ")))
    }

    /// Reads a suite; `origin` names it in errors.
    ///
    /// # Errors
    /// What is wrong, with line and column.
    pub fn parse(text: &str, origin: &str) -> Result<Self, String> {
        let suite: Self = toml::from_str(text).map_err(|error| describe(&error, text, origin))?;
        if suite.sessions == 0 || !(0.0..=1.0).contains(&suite.repeat_share) {
            return Err(format!("suite '{origin}': sessions must be at least 1, and repeat_share between 0 and 1"));
        }
        let references = suite.references.as_ref().map_or(Ok(()), SuiteReferences::check);
        references.map_err(|problem| format!("suite '{origin}', [references]: {problem}"))?;
        for (area, sampling) in &suite.sampling {
            check_sampling(sampling).map_err(|problem| format!("suite '{origin}', [sampling.{area}]: {problem}"))?;
        }
        let linpack = suite.linpack.iter().map(|stanza| (Area::Linpack, &stanza.sampling));
        let memory = suite.memory.iter().map(|stanza| (Area::Memory, &stanza.sampling));
        let disk = suite.disk.iter().map(|stanza| (Area::Disk, &stanza.sampling));
        let net = suite.net.iter().map(|stanza| (Area::Net, &stanza.sampling));
        for (area, sampling) in
            linpack.chain(memory).chain(disk).chain(net).filter_map(|(area, sampling)| Some((area, sampling.as_ref()?)))
        {
            check_sampling(sampling).map_err(|problem| format!("suite '{origin}', [[{area}]] sampling: {problem}"))?;
        }
        for stanza in &suite.disk {
            stanza.check().map_err(|problem| format!("suite '{origin}', [[disk]] steady: {problem}"))?;
        }
        if suite.is_empty() {
            return Err(format!(
                "suite '{origin}' has no experiments; add a [[cpu]], [[linpack]], [[memory]], [[disk]] or [[net]] block"
            ));
        }
        Ok(suite)
    }

    /// Whether it has no rows.
    fn is_empty(&self) -> bool {
        let Self { cpu, linpack, memory, disk, net, .. } = self;
        cpu.is_empty() && linpack.is_empty() && memory.is_empty() && disk.is_empty() && net.is_empty()
    }

    /// How an area is sampled.
    pub fn sampling(&self, area: Area) -> Sampling {
        self.sampling.get(&area).cloned().unwrap_or_default()
    }
}

/// Whether a sampling makes sense.
fn check_sampling(sampling: &Sampling) -> Result<(), String> {
    if sampling.samples == 0 || sampling.per_launch == 0 {
        return Err("samples and per_launch must be at least 1".into());
    }
    if sampling.most.is_some_and(|most| most < sampling.samples.max(6)) {
        return Err("most must be at least samples, and 6".into());
    }
    if !(sampling.target > 0.0 && sampling.target < 1.0) {
        return Err("target must lie between 0 and 1".into());
    }
    if sampling.sample_seconds < 0.02 {
        return Err("a sample must be at least 20ms long".into());
    }
    Ok(())
}

/// What an area's own command chooses of the cpu area; an empty list chooses everything there is a kernel for.
#[derive(Clone, Debug, Default)]
pub struct CpuChoice {
    /// What is computed.
    pub ops: Vec<CpuOp>,
    /// Element types.
    pub elements: Vec<Element>,
    /// Instruction sets; empty: all of them.
    pub isa: Vec<IsaChoice>,
}

/// One thread, all cores, and all hardware threads.
const FEW_RUNGS: [Threads; 3] = [Threads::Count(1), Threads::All, Threads::Smt];

/// From one thread to all hardware threads.
const ALL_RUNGS: [Threads; 2] = [Threads::Doubling, Threads::Smt];

/// How `assay cpu` samples its eighty rows: as few and as short samples as an interval needs, no launch twice, and warm-ups
/// that end before a busy host has settled, so that all of it takes less than a minute on two cores.
fn survey() -> Sampling {
    let (warm_up_seconds, target) = ([0.02, 0.08], 0.01);
    Sampling { samples: 6, per_launch: 1, sample_seconds: 0.04, warm_up_seconds, target, ..Sampling::default() }
}

/// The stanzas of one operation on one element type.
fn rungs(op: CpuOp, element: Element, choice: &CpuChoice) -> Vec<CpuStanza> {
    let stanza = |isa: Vec<IsaChoice>, threads: &[Threads]| CpuStanza {
        op: vec![op],
        elements: vec![element],
        isa,
        threads: threads.to_vec(),
        total: None,
    };
    if !choice.isa.is_empty() {
        // A set that was named is meant for the operations that have it.
        let exists = |choice: &IsaChoice| match choice {
            IsaChoice::Named(isa) => {
                KERNELS.iter().any(|kernel| (kernel.op, kernel.element, kernel.isa) == (op, element, *isa))
            }
            IsaChoice::Vector | IsaChoice::All => true,
        };
        let isa: Vec<IsaChoice> = choice.isa.iter().copied().filter(exists).collect();
        return if isa.is_empty() { Vec::new() } else { vec![stanza(isa, &ALL_RUNGS)] };
    }
    let widest = stanza(vec![IsaChoice::Vector], &ALL_RUNGS);
    // What is no headline is shown in full to whom asks for it.
    let in_passing = matches!(op, CpuOp::MulAdd | CpuOp::Add | CpuOp::AllPipes) && choice.ops.is_empty();
    if in_passing { vec![widest] } else { vec![widest, stanza(vec![IsaChoice::All], &FEW_RUNGS)] }
}

/// What was chosen, as a sentence has it: `plain with sse2`.
fn chosen_words(choice: &CpuChoice) -> String {
    fn joined<T>(items: &[T], word: impl Fn(&T) -> &'static str) -> Option<String> {
        (!items.is_empty()).then(|| items.iter().map(word).collect::<Vec<_>>().join(" or "))
    }
    let isa = |choice: &IsaChoice| match choice {
        IsaChoice::Vector => "vectors",
        IsaChoice::All => "any instruction set",
        IsaChoice::Named(isa) => isa.name(),
    };
    let ops = joined(&choice.ops, |op| op.name()).unwrap_or_else(|| "any operation".to_owned());
    let elements = joined(&choice.elements, |element| element.name()).map(|words| format!(" of {words}"));
    let sets = joined(&choice.isa, isa).map(|words| format!(" with {words}"));
    format!("{ops}{}{}", elements.unwrap_or_default(), sets.unwrap_or_default())
}

/// The names of all kernels, for messages.
pub(crate) fn known_kernels() -> String {
    KERNELS.iter().map(|kernel| kernel.name).collect::<Vec<_>>().join(", ")
}

/// `chosen`, or `otherwise` where nothing was chosen.
fn or<T: Clone>(chosen: &[T], otherwise: &[T]) -> Vec<T> {
    if chosen.is_empty() { otherwise.to_vec() } else { chosen.to_vec() }
}

impl Suite {
    /// The suite of `assay cpu`: by element type, the widest kernel of each operation at every rung of the thread counts,
    /// its other instruction sets on one thread and on all cores.
    ///
    /// # Errors
    /// There is no kernel for any combination of what was chosen.
    pub fn of_cpu(choice: &CpuChoice) -> Result<Self, String> {
        let mut cpu: Vec<CpuStanza> = Vec::new();
        for &element in Element::ALL.iter().filter(|one| choice.elements.is_empty() || choice.elements.contains(one)) {
            for &op in CpuOp::ALL.iter().filter(|op| choice.ops.is_empty() || choice.ops.contains(op)) {
                if KERNELS.iter().any(|kernel| (kernel.op, kernel.element) == (op, element)) {
                    cpu.extend(rungs(op, element, choice));
                }
            }
        }
        if cpu.is_empty() {
            return Err(format!("there is no kernel for {}; known: {}", chosen_words(choice), known_kernels()));
        }
        let mut suite = Self { name: Area::Cpu.to_string(), cpu, ..Self::find("quick")?.without_rows() };
        if choice.ops.is_empty() && choice.elements.is_empty() && choice.isa.is_empty() {
            suite.sampling.insert(Area::Cpu, survey());
            suite.repeat_share = 0.0;
        }
        Ok(suite)
    }

    /// Its sampling alone.
    fn without_rows(self) -> Self {
        Self { cpu: Vec::new(), linpack: Vec::new(), memory: Vec::new(), disk: Vec::new(), net: Vec::new(), ..self }
    }
}

/// A TOML error as one sentence with line and column.
fn describe(error: &toml::de::Error, text: &str, origin: &str) -> String {
    let message = error.message().trim().replace('\n', " ");
    let Some(span) = error.span() else { return format!("suite '{origin}': {message}") };
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |tail| tail.chars().count()) + 1;
    format!("suite '{origin}', line {line}, column {column}: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_suite_parses_under_its_own_name() {
        for name in Suite::names() {
            let suite = Suite::find(name).unwrap();
            assert_eq!(suite.name, name);
            assert!(!suite.about.is_empty());
            assert!(suite.sampling(Area::Cpu).samples >= 7, "{name}: at least 7 samples a row");
            assert!(suite.sampling(Area::Memory).samples >= 7, "{name}: at least 7 samples a row");
            let steady = suite.disk.iter().any(|stanza| stanza.steady.is_some());
            assert_eq!(steady, name == "steady", "{name}: minutes of writes only where they are asked for");
        }
    }

    #[test]
    fn a_broken_suite_is_located() {
        let text = "name = \"x\"\n[[cpu]]\nop = \"fma\"\ntype = [\"fp65\"]\nisa = [\"vector\"]\nthreads = [\"1\"]\n";
        let error = Suite::parse(text, "x.toml").unwrap_err();
        assert!(error.contains("line 4") && error.contains("'fp65'") || error.contains("fp65"), "{error}");
        let error = Suite::parse("name = \"x\"\nwhat = 1\n", "x.toml").unwrap_err();
        assert!(error.contains("line 2, column 1"), "{error}");
        let error = Suite::parse("name = ", "x.toml").unwrap_err();
        assert!(error.contains("line 1"), "{error}");
        assert!(Suite::parse("name = \"x\"\n", "x.toml").unwrap_err().contains("no experiments"));
    }

    #[test]
    fn sampling_that_makes_no_sense_is_refused() {
        let stanza = "[[cpu]]\nop = \"fma\"\ntype = [\"fp64\"]\nisa = [\"vector\"]\nthreads = [\"1\"]\n";
        for bad in [
            "samples = 0",
            "most = 5",
            "target = 2.0",
            "sample = \"1ms\"",
            "warm_up = [\"2s\", \"1s\"]",
            "sample = \"x\"",
        ] {
            let text = format!("name = \"x\"\n[sampling.cpu]\n{bad}\n{stanza}");
            assert!(Suite::parse(&text, "x").is_err(), "{bad} was accepted");
        }
    }

    #[test]
    fn thread_counts_have_bounds() {
        assert_eq!("all".parse(), Ok(Threads::All));
        assert_eq!("8".parse(), Ok(Threads::Count(8)));
        for bad in ["0", "10000", "-1", "x", ""] {
            assert!(bad.parse::<Threads>().is_err(), "{bad}");
        }
    }
}
