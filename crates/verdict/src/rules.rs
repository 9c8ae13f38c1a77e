//! What judging the results of an area depends on, as a table: the crate `areas` fills it, this crate reads it.

use model::document::{Conditions, Row};
use model::experiment::{Area, Params};
use model::machine::{ExpectedQuantity, Machine};
use model::plan::Planned;
use model::sample::MetricName;
use model::surroundings::Change;
use model::warning::Warning;
use model::wire::Observations;

use crate::findings::rules::FindingRules;
use crate::headline::AnswerRules;

/// What one process run saw, and what happened on the machine meanwhile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessRun {
    /// Its number, which its samples bear.
    pub number: u32,
    /// What its worker reports.
    pub seen: Observations,
    /// What the kernel counted all over the machine meanwhile.
    pub surroundings: Change,
    /// Samples that it gave.
    pub samples: u32,
    /// Whether it was made because others had disturbed an earlier one.
    pub repeat: bool,
}

/// A part of the machine that limits benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Resource {
    Cores,
    Memory,
    Disk,
    Network,
}

/// How the results of one area are judged.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct AreaRules {
    pub area: Area,
    /// The parts of the machine that its benchmarks depend on.
    pub uses: &'static [Resource],
    pub judge: JudgeRules,
    pub limit: LimitRules,
    /// How much its results differ from run to run [docs/evidence/trust.md: separate sessions].
    pub noise: Noise,
    /// Whether the rate of a benchmark may grow with its threads.
    pub scales: fn(&Params) -> bool,
    pub findings: FindingRules,
    /// Its lines on the first screen.
    pub answer: AnswerRules,
}

/// The conditions and warnings of one area.
#[derive(Clone, Copy, Debug)]
pub struct JudgeRules {
    /// Whether samples have the work of each thread; else a loop next to the work shows what the cores can do.
    pub work_per_thread: bool,
    /// Adds the area's own conditions to those of these process runs, and corrects those that mean something else here.
    pub conditions: fn(&Planned, &[&ProcessRun], &mut Conditions),
    /// Warnings of this area alone, of a result with metrics and conditions.
    pub warnings: fn(&Row, &[ProcessRun]) -> Vec<Warning>,
    /// Sets the conditions that follow from the efficiency.
    pub losses: fn(&mut Row),
    /// Sets what the results of a run show only together.
    pub together: fn(&mut [Row], &Machine),
}

/// What the values of one area are compared with.
#[derive(Clone, Copy, Debug)]
pub struct LimitRules {
    /// Whether a benchmark has a limit that could be known, given its CPUs.
    pub applies: fn(&Params, &[u32], &Machine) -> bool,
    /// Whether the rate of another measurement is the limit where no physical one is known.
    pub measured_ceiling: bool,
    /// Whether hardware may exceed its data sheet by some per cent.
    pub exceeds_datasheet: bool,
    /// The sentence for an unknown limit.
    pub unknown: &'static str,
    /// The shares of a physical limit between which well-written code is on a healthy machine; `None` where they vary with
    /// the machine, so that the limit is no expectation.
    pub reach: fn(&Row) -> Option<[f64; 2]>,
    /// What published values of the machine a metric of a result is held against.
    pub published: fn(&Row, MetricName, &Machine) -> Option<ExpectedQuantity>,
}

/// Relative standard deviation between runs of an unchanged machine.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    /// On virtual machines that share their host.
    pub shared: f64,
    /// On machines that nobody shares.
    pub dedicated: f64,
}

/// The quantity of a result's clock: that of all cores, where it keeps all of them busy.
pub fn clock_quantity(row: &Row, name: MetricName, machine: &Machine) -> Option<ExpectedQuantity> {
    let busy = machine.cpu.cores.is_some_and(|cores| row.params.threads() >= cores);
    let of_busy = if busy { ExpectedQuantity::Clock } else { ExpectedQuantity::OneCoreClock };
    (name == MetricName::Clock).then_some(of_busy)
}

impl JudgeRules {
    /// No conditions and no warnings of its own.
    pub const DEFAULT: Self = Self {
        work_per_thread: true,
        conditions: |_, _, _| {},
        warnings: |_, _| Vec::new(),
        losses: |_| {},
        together: |_, _| {},
    };
}

impl LimitRules {
    /// A physical limit for every benchmark.
    pub const DEFAULT: Self = Self {
        applies: |_, _, _| true,
        measured_ceiling: true,
        exceeds_datasheet: false,
        unknown: "No limit is known.",
        reach: |_| None,
        published: clock_quantity,
    };
}

impl AreaRules {
    /// Rules for an area about which nothing is known: the ones to start from.
    pub const fn new(area: Area) -> Self {
        Self {
            area,
            uses: &[],
            judge: JudgeRules::DEFAULT,
            limit: LimitRules::DEFAULT,
            noise: Noise { shared: 0.05, dedicated: 0.01 },
            scales: |_| true,
            findings: FindingRules::new(area.name()),
            answer: AnswerRules::DEFAULT,
        }
    }

    /// The rules for an area in a table.
    pub fn of(table: &[Self], area: Area) -> Self {
        table.iter().find(|rules| rules.area == area).copied().unwrap_or(Self::new(area))
    }

    /// Whether the benchmarks compute on cores, rather than wait for a device.
    pub fn computes(&self) -> bool {
        self.uses.contains(&Resource::Cores)
    }
}
