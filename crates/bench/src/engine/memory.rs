//! The memory engine: streams over a working set far beyond the caches, and a chase through every line of one.
//!
//! Each thread maps, fills and owns its part after it has been pinned, so pages lie on its own node; filling is never
//! timed. The data is different in every line, never zero, and checked: reads by their checksum, writes and copies word
//! by word in a random selection of what was covered since the last check.

use kernels::chase::Cycle;
use kernels::features::Features;
use kernels::lines::{Block, Line};
use kernels::memory::{self, BoundMemory};
use kernels::pattern::Pattern;
use model::experiment::{Area, Experiment, MemoryChoices, MemoryParams, Params, memory_id};
use model::isa::{Isa, MemoryOp, MemoryPattern, Pages};
use model::machine::Machine;
use model::unit::{Unit, format_size};
use model::warning::{Warning, WarningCode};
use model::wire::Task;
use stats::random::Random;
use sys::memory::{PageSize, Region};

use super::{Engine, Measure, Opened, Profile, Trial, Trouble};
use crate::plan::{PlanError, Planned, Request, place, thread_counts};
use crate::suite::{IsaChoice, MemoryStanza};

/// Measures memory.
pub(super) struct MemoryEngine;

/// What one iteration covers, in bytes of each array: some microseconds of work, so that a chunk is a few dozen.
const GRANULE_BYTES: usize = 64 << 10;
const GRANULE_BLOCKS: usize = GRANULE_BYTES / size_of::<Block>();
const GRANULE_LINES: usize = GRANULE_BYTES / Line::BYTES;

/// Granules compared word by word at each check.
const CHECKED_GRANULES: u64 = 32;

/// How far the second array is shifted against the first: equal offsets in a page would make loads wait for unrelated
/// stores (4 KiB aliasing), so by half a page and a line.
const STAGGER_LINES: usize = 33;

/// A working set is at least this many times the last-level caches that serve it.
const CACHES_PER_WORKING_SET: u64 = 4;

/// The widest vectors that a stream uses unless others are named. Memory is slower than any vector, and on cores that
/// lower their clock for 512-bit units (Skylake-SP, Cascade Lake) those are the slower ones: `assay memory --isa
/// avx2,avx512` shows it.
const USUAL_VECTOR_BYTES: usize = 32;

/// The share of the available memory that a working set of our own choice takes at most.
const AVAILABLE_SHARE: u64 = 2;

/// Filling speed for the expected cost, in bytes per second: between memory that was just freed and memory that a
/// hypervisor has to find first. A guess for `--list` and the time left; nothing that is measured rests on it.
const FILL_BYTES_PER_SECOND: f64 = 3e9;
/// Cost of linking one node of a cycle, in seconds, for the expected cost.
const LINK_SECONDS: f64 = 60e-9;

impl Engine for MemoryEngine {
    fn area(&self) -> Area {
        Area::Memory
    }

    fn expand(&self, request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError> {
        let mut rows = Vec::new();
        for stanza in &request.suite.memory {
            for &op in &stanza.op {
                for &pages in &stanza.pages {
                    for &choice in &stanza.isa {
                        for isa in instruction_sets(request, op, choice)? {
                            for threads in thread_counts(request, &stanza.threads, machine) {
                                rows.push(row(request, machine, stanza, (op, pages, isa.clone(), threads))?);
                            }
                        }
                    }
                }
            }
        }
        Ok(rows)
    }

    fn open(&self, task: &Task, thread: usize) -> Result<Opened, Trouble> {
        let Params::Memory(params) = &task.experiment.params else {
            return Err(Trouble::Failed(format!("'{}' is no memory experiment", task.experiment.id)));
        };
        let seed = task.seed ^ (thread as u64) << 32;
        if params.pattern == MemoryPattern::Chase {
            return Ok(Opened::Paced(Box::new(ChaseTrial::open(params, seed)?)));
        }
        Ok(Opened::Paced(Box::new(StreamTrial::open(params, seed)?)))
    }
}

/// Arrays of the working set that an operation goes over.
fn arrays(op: MemoryOp) -> u64 {
    if matches!(op, MemoryOp::Copy | MemoryOp::CopyNt) { 2 } else { 1 }
}

/// The row of one combination.
fn row(
    request: &Request,
    machine: &Machine,
    stanza: &MemoryStanza,
    (op, pages, (isa, obstacle), threads): (MemoryOp, Pages, (Isa, Option<String>), u32),
) -> Result<Planned, PlanError> {
    let chase = stanza.pattern == MemoryPattern::Chase;
    if chase != (op == MemoryOp::Load) || !matches!(stanza.pattern, MemoryPattern::Sequential | MemoryPattern::Chase) {
        return Err(PlanError(format!("there is no kernel for {op} in the pattern {}", stanza.pattern)));
    }
    let (cpus, oversubscribed) = place(threads, machine);
    let cache_bytes = caches_behind(&cpus, machine);
    let working_set = working_set(request, machine, stanza.working_set, cache_bytes)?;
    let params = MemoryParams {
        pattern: stanza.pattern,
        op,
        block: None,
        working_set,
        pages,
        isa,
        chains: chase.then_some(1),
        threads,
        level: None,
        nodes: None,
    };
    let chosen = MemoryChoices {
        working_set: request.chosen.working_set,
        pages: request.chosen.pages,
        isa: request.chosen.isa && !chase,
    };
    let cached = cache_bytes.and_then(|bytes| {
        Warning::when(WarningCode::PossiblyCached, bytes as f64 / working_set as f64, || {
            format!(
                "The working set of {} is not {CACHES_PER_WORKING_SET} times the last-level cache of {}.",
                format_size(working_set),
                format_size(bytes)
            )
        })
    });
    let nodes = if chase { working_set as f64 / Line::BYTES as f64 / f64::from(threads) } else { 0.0 };
    Ok(Planned {
        experiment: Experiment {
            id: memory_id(&params, chosen),
            area: Area::Memory,
            method: method(&params).to_owned(),
            classic: None,
            kernel: None,
            params: Params::Memory(params),
        },
        cpus,
        other_cpus: Vec::new(),
        beside: Vec::new(),
        sampling: request.suite.sampling(Area::Memory),
        exact_work: None,
        setup_seconds: working_set as f64 / FILL_BYTES_PER_SECOND + nodes * LINK_SECONDS,
        obstacle,
        warnings: oversubscribed.into_iter().chain(cached).collect(),
    })
}

/// Kernel and counting rule. Revisions change whenever a figure would mean something else.
fn method(params: &MemoryParams) -> &'static str {
    match params.op {
        MemoryOp::Read => "memory-read/1",
        MemoryOp::Write => "memory-write/1",
        MemoryOp::WriteNt => "memory-write-nt/1",
        MemoryOp::Copy => "memory-copy/1",
        MemoryOp::CopyNt => "memory-copy-nt/1",
        MemoryOp::Load => "memory-chase/1",
    }
}

/// The instruction sets that a choice comes to for an operation, each with why it cannot be had.
fn instruction_sets(
    request: &Request,
    op: MemoryOp,
    choice: IsaChoice,
) -> Result<Vec<(Isa, Option<String>)>, PlanError> {
    if op == MemoryOp::Load {
        return Ok(vec![(Isa::Scalar, None)]);
    }
    let features = Features::detect();
    let none = || PlanError(format!("there is no kernel for {op}"));
    match choice {
        IsaChoice::Vector => {
            let usual = memory::usable(op, &features).find(|kernel| kernel.vector_bytes <= USUAL_VECTOR_BYTES);
            Ok(vec![usual.map(|kernel| (kernel.isa, None)).ok_or_else(none)?])
        }
        IsaChoice::All => {
            let all: Vec<_> = memory::usable(op, &features).map(|kernel| (kernel.isa, None)).collect();
            if all.is_empty() { Err(none()) } else { Ok(all) }
        }
        IsaChoice::Named(isa) => {
            if !memory::MEMORY_KERNELS.iter().any(|kernel| kernel.op == op && kernel.isa == isa) {
                let known: Vec<_> = memory::MEMORY_KERNELS.iter().map(|kernel| kernel.name).collect();
                return Err(PlanError(format!("there is no kernel for {op} with {isa}; known: {}", known.join(", "))));
            }
            let missing = memory::find(op, isa, &features).is_none();
            let sentence = || format!("this CPU, or its operating system, lacks {isa}");
            if missing && request.chosen.isa {
                return Err(PlanError(format!("{}; leave --isa out for the best that it has", sentence())));
            }
            Ok(vec![(isa, missing.then(sentence))])
        }
    }
}

/// Bytes of the distinct last-level caches that serve these CPUs; `None` where no cache is known.
fn caches_behind(cpus: &[u32], machine: &Machine) -> Option<u64> {
    let level = machine.caches.iter().filter(|cache| cache.kind != "instruction").map(|cache| cache.level).max()?;
    let serving =
        |cache: &&model::machine::Cache| cache.level == level && cpus.iter().any(|cpu| cache.cpus.contains(cpu));
    let bytes: u64 = machine.caches.iter().filter(serving).filter_map(|cache| cache.bytes).sum();
    (bytes > 0).then_some(bytes)
}

/// Memory that can be had: what is available, or what the control group still allows.
fn obtainable_bytes(machine: &Machine) -> Option<u64> {
    let memory = &machine.memory;
    let in_group = memory.limit_bytes.map(|limit| limit.saturating_sub(memory.limit_used_bytes.unwrap_or(0)));
    memory.available_bytes.into_iter().chain(in_group).min()
}

/// The working set: as chosen, if it fits; else the suite's or four times the caches, whichever is more, within half of
/// what is there.
fn working_set(request: &Request, machine: &Machine, least: u64, cache_bytes: Option<u64>) -> Result<u64, PlanError> {
    let obtainable = obtainable_bytes(machine);
    if request.chosen.working_set {
        if let Some(obtainable) = obtainable.filter(|obtainable| least > *obtainable) {
            return Err(PlanError(format!(
                "a working set of {} does not fit: {:.1} GiB of memory can be had here",
                format_size(least),
                obtainable as f64 / f64::from(1 << 30)
            )));
        }
        return Ok(least);
    }
    let wanted = least.max(cache_bytes.unwrap_or(0).saturating_mul(CACHES_PER_WORKING_SET));
    let bounded = obtainable.map_or(wanted, |obtainable| wanted.min(obtainable / AVAILABLE_SHARE));
    Ok((bounded >> 20 << 20).max(1 << 20))
}

fn page_size(pages: Pages) -> PageSize {
    match pages {
        Pages::Base4K => PageSize::Base,
        Pages::Huge2M => PageSize::Huge,
    }
}

/// Share of a region in pages of the size asked for.
fn obtained(region: &Region, pages: Pages) -> Option<f64> {
    let huge = region.huge_share()?;
    Some(if pages == Pages::Huge2M { huge } else { 1.0 - huge })
}

fn map(bytes: usize, pages: Pages) -> Result<Region, Trouble> {
    Region::map(bytes, page_size(pages)).map_err(|error| {
        Trouble::Unavailable(format!("no memory for a buffer of {}: {error}", format_size(bytes as u64)))
    })
}

/// One thread's bytes of each array, a whole number of granules.
fn share_bytes(params: &MemoryParams) -> usize {
    let share = params.working_set / u64::from(params.threads.max(1)) / arrays(params.op);
    usize::try_from(share).unwrap_or(usize::MAX / 4) / GRANULE_BYTES * GRANULE_BYTES
}

/// One thread's part of a stream.
struct StreamTrial {
    kernel: BoundMemory,
    work_per_granule: f64,
    source: Option<Array>,
    target: Option<Array>,
    pattern: Pattern,
    /// Of each granule of the source.
    checksums: Vec<u64>,
    granules: usize,
    position: usize,
    /// Granules covered since the last check, of which the first began at `checked_until`.
    covered: u64,
    checked_until: usize,
    sum: u64,
    random: Random,
    pages: Pages,
}

/// A region, and where in it the array begins.
struct Array {
    region: Region,
    first_line: usize,
    lines: usize,
}

impl Array {
    fn filled(bytes: usize, pages: Pages, first_line: usize, pattern: &Pattern) -> Result<Self, Trouble> {
        let region = map(bytes + first_line * Line::BYTES, pages)?;
        let mut array = Self { region, first_line, lines: bytes / Line::BYTES };
        pattern.fill(array.lines_mut());
        Ok(array)
    }

    fn lines(&self) -> &[Line] {
        &Line::of(self.region.as_slice())[self.first_line..self.first_line + self.lines]
    }

    fn lines_mut(&mut self) -> &mut [Line] {
        &mut Line::of_mut(self.region.as_mut_slice())[self.first_line..self.first_line + self.lines]
    }

    fn granule_mut(&mut self, granule: usize) -> &mut [Line] {
        &mut self.lines_mut()[granule * GRANULE_LINES..(granule + 1) * GRANULE_LINES]
    }
}

impl StreamTrial {
    fn open(params: &MemoryParams, seed: u64) -> Result<Self, Trouble> {
        let kernel = memory::find(params.op, params.isa, &Features::detect())
            .ok_or_else(|| Trouble::Unavailable(format!("this CPU lacks {} for {}", params.isa, params.op)))?;
        let bytes = share_bytes(params);
        let granules = bytes / GRANULE_BYTES;
        if granules == 0 {
            let least = format_size(GRANULE_BYTES as u64 * arrays(params.op) * u64::from(params.threads));
            return Err(Trouble::Unavailable(format!(
                "the working set is below {least}, one granule per thread and array"
            )));
        }
        let pattern = Pattern::seeded(seed);
        let reads = !matches!(kernel, BoundMemory::Write(_));
        let writes = !matches!(kernel, BoundMemory::Read(_));
        let source = reads.then(|| Array::filled(bytes, params.pages, 0, &pattern)).transpose()?;
        let target =
            writes.then(|| Array::filled(bytes, params.pages, STAGGER_LINES, &poison(&pattern))).transpose()?;
        let checksum = |granule| pattern.after(granule * GRANULE_LINES).checksum(GRANULE_LINES);
        let checksums = if writes { Vec::new() } else { (0..granules).map(checksum).collect() };
        Ok(Self {
            kernel,
            work_per_granule: (GRANULE_BYTES * (usize::from(reads) + usize::from(writes))) as f64,
            source,
            target,
            pattern,
            checksums,
            granules,
            position: 0,
            covered: 0,
            checked_until: 0,
            sum: 0,
            random: Random::new(seed),
            pages: params.pages,
        })
    }

    /// One call of the kernel over granules that lie together.
    fn span(&mut self, first: usize, count: usize) {
        let blocks = first * GRANULE_BLOCKS..(first + count) * GRANULE_BLOCKS;
        match (&self.kernel, &self.source, &mut self.target) {
            (BoundMemory::Read(kernel), Some(source), _) => {
                self.sum ^= kernel.run(&Line::blocks(source.lines())[blocks]);
            }
            (BoundMemory::Write(kernel), _, Some(target)) => {
                let pattern = self.pattern.after(first * GRANULE_LINES);
                kernel.run(&mut Line::blocks_mut(target.lines_mut())[blocks], &pattern);
            }
            (BoundMemory::Copy(kernel), Some(source), Some(target)) => {
                let from = &Line::blocks(source.lines())[blocks.clone()];
                kernel.run(&mut Line::blocks_mut(target.lines_mut())[blocks], from);
            }
            _ => {}
        }
    }

    fn check_sum(&mut self) -> Result<(), String> {
        // Whole passes cancel in pairs; what is left is at most one pass and the granules at the end.
        let passes = self.covered / self.granules as u64;
        let rest = self.covered % self.granules as u64;
        let pass = if passes % 2 == 1 { self.checksums.iter().fold(0, |sum, granule| sum ^ granule) } else { 0 };
        let partial = (0..rest).fold(0, |sum, offset| sum ^ self.checksums[self.granule_at(offset)]);
        let found = std::mem::take(&mut self.sum);
        if found == pass ^ partial {
            return Ok(());
        }
        Err(format!("what was read is not what is there: checksum {found:#x} instead of {:#x}", pass ^ partial))
    }

    /// The granule that was covered so many after the last check.
    fn granule_at(&self, offset: u64) -> usize {
        usize::try_from((self.checked_until as u64 + offset) % self.granules as u64).unwrap_or(0)
    }

    fn check_writes(&mut self) -> Result<(), String> {
        let covered = self.covered.min(self.granules as u64);
        let mut chosen: Vec<usize> = (0..CHECKED_GRANULES.min(covered))
            .map(|_| {
                let offset = self.covered - covered + self.random.below(covered);
                self.granule_at(offset)
            })
            .collect();
        chosen.sort_unstable();
        chosen.dedup();
        let Some(target) = &mut self.target else { return Ok(()) };
        for granule in chosen {
            let expected = self.pattern.after(granule * GRANULE_LINES);
            let lines = target.granule_mut(granule);
            expected.verify(lines).map_err(|wrong| format!("granule {granule} of what was written: {wrong}"))?;
            // So that the next check finds out whether it was written again.
            poison(&expected).fill(lines);
        }
        Ok(())
    }
}

/// A pattern that differs from this one in every word.
fn poison(pattern: &Pattern) -> Pattern {
    pattern.after(1)
}

impl Trial for StreamTrial {
    fn profile(&self) -> Profile {
        Profile {
            measure: Measure::Rate(Unit::BytePerSecond),
            work_per_iteration: self.work_per_granule,
            most_iterations: u64::MAX / 4,
            clock_between_bursts: false,
        }
    }

    fn run(&mut self, iterations: u64) {
        let mut left = usize::try_from(iterations).unwrap_or(usize::MAX);
        while left > 0 {
            let count = left.min(self.granules - self.position);
            self.span(self.position, count);
            self.position = (self.position + count) % self.granules;
            left -= count;
        }
        self.covered += iterations;
    }

    fn verify(&mut self) -> Result<(), String> {
        if self.target.is_some() {
            self.check_writes()?;
        } else {
            self.check_sum()?;
        }
        self.covered = 0;
        self.checked_until = self.position;
        Ok(())
    }

    fn pages_obtained(&self) -> Option<f64> {
        let arrays = self.source.iter().chain(&self.target);
        arrays.filter_map(|array| obtained(&array.region, self.pages)).reduce(f64::min)
    }
}

/// One thread's chase.
struct ChaseTrial {
    cycle: Cycle<'static>,
    pages_obtained: Option<f64>,
}

impl ChaseTrial {
    fn open(params: &MemoryParams, seed: u64) -> Result<Self, Trouble> {
        let bytes = share_bytes(params);
        let mut region = map(bytes.max(Line::BYTES), params.pages)?;
        Pattern::seeded(seed).fill(Line::of_mut(region.as_mut_slice()));
        let pages_obtained = obtained(&region, params.pages);
        // The buffer lives as long as the worker, which ends with the launch.
        let region = Box::leak(Box::new(region));
        let nodes = &mut Line::of_mut(region.as_mut_slice())[..bytes / Line::BYTES];
        let mut links = vec![0; nodes.len()];
        let cycle = Cycle::build(nodes, &mut links, seed)
            .ok_or_else(|| Trouble::Unavailable("the working set is below one line per thread".to_owned()))?;
        Ok(Self { cycle, pages_obtained })
    }
}

impl Trial for ChaseTrial {
    fn profile(&self) -> Profile {
        Profile {
            measure: Measure::Latency,
            work_per_iteration: Cycle::LOADS_PER_ROUND as f64,
            most_iterations: u64::MAX / 1024,
            clock_between_bursts: false,
        }
    }

    fn run(&mut self, iterations: u64) {
        self.cycle.chase(iterations);
    }

    fn verify(&mut self) -> Result<(), String> {
        self.cycle.verify_position().map_err(|wrong| format!("the chase went astray: {wrong}"))
    }

    fn pages_obtained(&self) -> Option<f64> {
        self.pages_obtained
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Suite;
    use crate::tests::machine_with_cpus;

    fn params(op: MemoryOp, working_set: u64) -> MemoryParams {
        let pattern = if op == MemoryOp::Load { MemoryPattern::Chase } else { MemoryPattern::Sequential };
        let isa = memory::usable(op, &Features::detect()).next().map_or(Isa::Scalar, |kernel| kernel.isa);
        let (block, chains, level, nodes) = (None, None, None, None);
        MemoryParams { pattern, op, block, working_set, pages: Pages::Huge2M, isa, chains, threads: 1, level, nodes }
    }

    #[test]
    fn every_stream_verifies_over_part_of_a_pass_and_several() {
        for op in [MemoryOp::Read, MemoryOp::Write, MemoryOp::WriteNt, MemoryOp::Copy, MemoryOp::CopyNt] {
            let mut trial = StreamTrial::open(&params(op, 4 << 20), 3).unwrap();
            for granules in [1, 5, 31, 64, 200, 1] {
                trial.run(granules);
                trial.verify().unwrap_or_else(|wrong| panic!("{op}, {granules} granules: {wrong}"));
            }
        }
    }

    #[test]
    fn work_that_was_claimed_but_not_done_is_found() {
        for op in [MemoryOp::Read, MemoryOp::WriteNt, MemoryOp::Copy] {
            let mut trial = StreamTrial::open(&params(op, 4 << 20), 3).unwrap();
            trial.run(8);
            trial.covered += 4;
            assert!(trial.verify().is_err(), "{op}: four granules too many were believed");
        }
    }

    #[test]
    fn a_chase_verifies_where_it_stands() {
        let mut trial = ChaseTrial::open(&params(MemoryOp::Load, 1 << 20), 3).unwrap();
        for rounds in [1, 7, 1000] {
            trial.run(rounds);
            trial.verify().unwrap();
        }
    }

    #[test]
    fn a_working_set_is_four_caches_or_what_memory_allows() {
        let suite = Suite::find("quick").unwrap();
        let request = |chosen| Request {
            exact_workload: false,
            suite: suite.clone(),
            areas: Vec::new(),
            filter: None,
            threads: Vec::new(),
            repeat: None,
            seed: 1,
            chosen: crate::plan::Chosen { working_set: chosen, ..Default::default() },
            disk: None,
            references: Vec::new(),
        };
        let machine = machine_with_cpus(2);
        let gib = 1_u64 << 30;
        assert_eq!(working_set(&request(false), &machine, gib, Some(32 << 20)), Ok(gib));
        assert_eq!(working_set(&request(false), &machine, gib, Some(gib)), Ok(4 * gib));
        assert_eq!(working_set(&request(false), &machine, gib, Some(64 * gib)), Ok(8 * gib), "half of 16 GiB");
        assert_eq!(working_set(&request(true), &machine, 8 << 20, Some(gib)), Ok(8 << 20));
        assert!(working_set(&request(true), &machine, 17 * gib, None).unwrap_err().0.contains("does not fit"));
    }
}
