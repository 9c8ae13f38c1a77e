//! Suites in TOML: which benchmarks, and how each area is sampled. A suite is independent of the machine: "vector" and "all"
//! are resolved by the plan.

use std::collections::BTreeMap;

use model::experiment::Area;
use model::plan::{PlanError, Planned, Sampling};
use model::reference::TOOLS;
use model::warning::WarningCode;
use serde::Deserialize;

use crate::cpu::choice::CpuChoice;
use crate::disk::choice::DiskChoice;
use crate::fields::{sampling_of_areas, seconds, some_seconds, some_size};
use crate::linpack::choice::LinpackChoice;
use crate::memory::choice::MemoryChoice;
use crate::net::choice::NetChoice;

const EMBEDDED: &[(&str, &str)] = &[
    ("quick", include_str!("../../../suites/quick.toml")),
    ("standard", include_str!("../../../suites/standard.toml")),
    ("rigorous", include_str!("../../../suites/rigorous.toml")),
    ("classic", include_str!("../../../suites/classic.toml")),
    ("steady", include_str!("../../../suites/steady.toml")),
];

/// The most combinations of the lists of a suite.
const MOST_COMBINATIONS: usize = 10_000;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    pub name: String,
    /// Its purpose in one line.
    #[serde(default)]
    pub about: String,
    /// Passes over all benchmarks that the samples are spread over.
    #[serde(default = "one_session")]
    pub sessions: u32,
    /// Seconds between two sessions.
    #[serde(default, deserialize_with = "seconds")]
    pub pause: f64,
    /// Share of the expected time for repeating disturbed process runs, without a time budget of the user.
    #[serde(default)]
    pub repeat_share: f64,
    /// Seconds for all of it, unless the user says otherwise; the remaining benchmarks are skipped.
    #[serde(default, deserialize_with = "some_seconds")]
    pub time_budget: Option<f64>,
    /// Bytes to write to disks at most, unless the user says otherwise: test files, warm-ups and samples.
    #[serde(default, deserialize_with = "some_size")]
    pub write_budget: Option<u64>,
    /// Which benchmarks run installed reference tools alongside; `None` for none.
    pub references: Option<SuiteReferences>,
    #[serde(default, deserialize_with = "sampling_of_areas")]
    pub sampling: BTreeMap<Area, Sampling>,
    #[serde(default)]
    pub cpu: Vec<CpuChoice>,
    #[serde(default)]
    pub linpack: Vec<LinpackChoice>,
    #[serde(default)]
    pub memory: Vec<MemoryChoice>,
    #[serde(default)]
    pub disk: Vec<DiskChoice>,
    #[serde(default)]
    pub net: Vec<NetChoice>,
}

/// Which benchmarks of a suite run installed reference tools alongside, so that it keeps to its time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteReferences {
    /// The most pairs of a benchmark.
    pub pairs: u32,
    /// The longest sample of a benchmark with reference tools, in seconds.
    #[serde(rename = "longest", deserialize_with = "seconds")]
    pub longest_seconds: f64,
    /// The tools by name; empty for all that are installed.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Benchmarks without reference tools: globs of ids.
    #[serde(default, alias = "not_beside")]
    pub without_tools: Vec<String>,
}

impl SuiteReferences {
    /// Whether tools run alongside a benchmark: its threads have a CPU each, its samples are short enough, and it is not excepted.
    pub(crate) fn apply_to(&self, row: &Planned) -> bool {
        let oversubscribed = row.warnings.iter().any(|warning| warning.code == WarningCode::Oversubscribed);
        let excepted = || self.without_tools.iter().any(|glob| matches_id(glob, &row.experiment.id).unwrap_or(false));
        !oversubscribed && row.sampling.sample_seconds <= self.longest_seconds && !excepted()
    }

    pub(crate) fn has(&self, tool: &str) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|wanted| wanted == tool)
    }

    fn check(&self) -> Result<(), String> {
        if self.pairs == 0 {
            return Err("pairs must be at least 1".to_owned());
        }
        if let Some(unknown) = self.tools.iter().find(|tool| !TOOLS.contains(&tool.as_str())) {
            return Err(format!("'{unknown}' is not a known reference tool; see assay references"));
        }
        self.without_tools.iter().try_for_each(|glob| matches_id(glob, "").map(|_| ()))
    }
}

const fn one_session() -> u32 {
    1
}

impl Suite {
    pub fn names() -> impl Iterator<Item = &'static str> {
        EMBEDDED.iter().map(|(name, _)| *name)
    }

    pub fn embedded(name: &str) -> Result<Self, PlanError> {
        if let Some((_, text)) = EMBEDDED.iter().find(|(embedded, _)| *embedded == name) {
            return Self::parse(text, name);
        }
        let known: Vec<_> = Self::names().collect();
        Err(PlanError(format!("unknown suite '{name}'; known: {}, or a file that ends in .toml", known.join(", "))))
    }

    /// Reads a suite; `origin` names it in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Self, PlanError> {
        let suite: Self = toml::from_str(text).map_err(|error| PlanError(describe(&error, text, origin)))?;
        let combinations = combinations(text);
        if combinations > MOST_COMBINATIONS {
            return Err(PlanError(format!(
                "the lists of the suite '{origin}' combine to {combinations} benchmarks; the limit is {MOST_COMBINATIONS}. \
                 Shorten the lists, or split the suite"
            )));
        }
        suite.check().map_err(|problem| PlanError(format!("suite '{origin}'{problem}")))?;
        Ok(suite)
    }

    fn check(&self) -> Result<(), String> {
        let Self { sessions, repeat_share, references, cpu, linpack, memory, disk, net, .. } = self;
        if *sessions == 0 || !(0.0..=1.0).contains(repeat_share) {
            return Err(": sessions must be at least 1, and repeat_share between 0 and 1".to_owned());
        }
        if let Some(references) = references {
            references.check().map_err(|problem| format!(", [references]: {problem}"))?;
        }
        disk.iter().try_for_each(DiskChoice::check).map_err(|problem| format!(", [[disk]] steady: {problem}"))?;
        if cpu.is_empty() && linpack.is_empty() && memory.is_empty() && disk.is_empty() && net.is_empty() {
            let add = "add a [[cpu]], [[linpack]], [[memory]], [[disk]] or [[net]] block";
            return Err(format!(" has no benchmarks; {add}"));
        }
        Ok(())
    }

    pub fn sampling(&self, area: Area) -> Sampling {
        self.sampling.get(&area).cloned().unwrap_or_default()
    }
}

/// The number of combinations of the lists of all blocks in the text of a suite.
fn combinations(text: &str) -> usize {
    let suite: toml::Table = toml::from_str(text).unwrap_or_default();
    let length = |list: &toml::Value| list.as_array().map_or(1, |list| list.len().max(1));
    let of_block = |block: &toml::Value| {
        let lists = block.as_table().into_iter().flat_map(toml::Table::values);
        lists.map(length).fold(1, usize::saturating_mul)
    };
    suite.values().filter_map(toml::Value::as_array).flatten().map(of_block).fold(0, usize::saturating_add)
}

fn describe(error: &toml::de::Error, text: &str, origin: &str) -> String {
    let message = error.message().trim().replace('\n', " ");
    let Some(span) = error.span() else { return format!("suite '{origin}': {message}") };
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |tail| tail.chars().count()) + 1;
    format!("suite '{origin}', line {line}, column {column}: {message}")
}

/// Whether an id matches one of several globs, separated by commas.
pub(crate) fn matches_any(globs: &str, id: &str) -> Result<bool, String> {
    globs.split(',').try_fold(false, |found, glob| Ok(matches_id(glob, id)? || found))
}

/// Whether an id matches a glob, in which `*` does not cross `/` and `**` does.
fn matches_id(glob: &str, id: &str) -> Result<bool, String> {
    let pattern = glob::Pattern::new(glob)
        .map_err(|error| format!("'{glob}' is not a valid filter: {} at position {}", error.msg, error.pos))?;
    let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::default() };
    Ok(pattern.matches_with(id, options))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_suite_parses_under_its_own_name() {
        for name in Suite::names() {
            let suite = Suite::embedded(name).unwrap();
            assert_eq!(suite.name, name);
            assert!(!suite.about.is_empty());
            assert!(suite.sampling(Area::Cpu).samples >= 7, "{name}: at least 7 samples a row");
            assert!(suite.sampling(Area::Memory).samples >= 7, "{name}: at least 7 samples a row");
            let steady = suite.disk.iter().any(|stanza| stanza.steady.is_some());
            assert_eq!(steady, name == "steady", "{name}: minutes of writes only where they are asked for");
        }
    }

    #[test]
    fn lists_that_combine_to_too_many_benchmarks_are_refused_at_once() {
        let list = |item: &str| format!("[{}]", vec![item; 3000].join(", "));
        let [elements, isa, threads] = ["\"fp64\"", "\"scalar\"", "\"1\""].map(list);
        let text =
            format!("name = \"x\"\n[[cpu]]\nop = \"fma\"\ntype = {elements}\nisa = {isa}\nthreads = {threads}\n");
        let error = Suite::parse(&text, "x.toml").unwrap_err().0;
        assert!(error.contains("27000000000 benchmarks; the limit is 10000. Shorten"), "{error}");
    }

    #[test]
    fn what_makes_no_sense_in_a_suite_is_located() {
        let text = "name = \"x\"\n[[cpu]]\nop = \"fma\"\ntype = [\"fp65\"]\nisa = [\"vector\"]\nthreads = [\"1\"]\n";
        let error = Suite::parse(text, "x.toml").unwrap_err().0;
        assert!(error.contains("line 4, column 9: unknown variant `fp65`"), "{error}");
        let error = Suite::parse("name = \"x\"\nwhat = 1\n", "x.toml").unwrap_err().0;
        assert!(error.contains("line 2, column 1"), "{error}");
        let error = Suite::parse("name = ", "x.toml").unwrap_err().0;
        assert!(error.contains("line 1"), "{error}");
        assert!(Suite::parse("name = \"x\"\n", "x.toml").unwrap_err().0.contains("no benchmarks"));
        let stanza = "[[cpu]]\nop = \"fma\"\ntype = [\"fp64\"]\nisa = [\"vector\"]\nthreads = [\"1\"]\n";
        let lengths = ["sample = \"1ms\"", "warm_up = [\"2s\", \"1s\"]", "sample = \"x\""];
        for bad in ["samples = 0", "most = 5", "target = 2.0"].into_iter().chain(lengths) {
            let text = format!("name = \"x\"\n[sampling.cpu]\n{bad}\n{stanza}");
            let error = Suite::parse(&text, "x").unwrap_err().0;
            assert!(error.contains("line "), "{bad}: {error}");
        }
    }
}
