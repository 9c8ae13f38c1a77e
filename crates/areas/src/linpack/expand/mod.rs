//! The LINPACK benchmarks of a request on a machine.
//!
//! A benchmark that cannot run here is planned with the reason, unless the user named what is missing: that is an error.

use std::collections::HashSet;

use kernels::features::Features;
use model::experiment::{Area, Experiment};
use model::isa::{Element, Isa};
use model::linpack::{LinpackChoices, LinpackEngine, LinpackOp, LinpackParams, linpack_id};
use model::machine::Machine;
use model::plan::{PlanError, Planned, Sampling};
use model::unit::format_size;
use model::warning::Warning;

use super::choice::{Leading, LinpackChoice, Order, Role};
use super::cost::{self, Bounds};
use super::solver;
use crate::fields::{IsaChoice, each};
use crate::request::{LEAST_SAMPLES, Request, in_table, is_asked};
use crate::threads::{place, thread_counts};

/// The default alignment: that of mapped memory.
const USUAL_ALIGN: u64 = 2 << 20;
/// Seconds beyond which a sample is repeated [`LEAST_SAMPLES`] times.
const LONG_SECONDS: f64 = 5.0;

/// Order, leading dimension, trials and alignment in KiB, as `lininput_xeon64` has them (Intel Distribution for LINPACK
/// Benchmark, oneMKL `benchmarks/linpack`).
const SERIES: &[(u64, u64, u32, u64)] = &[
    (1_000, 1_000, 4, 4),
    (2_000, 2_000, 2, 4),
    (5_000, 5_008, 2, 4),
    (10_000, 10_000, 2, 4),
    (15_000, 15_000, 2, 4),
    (18_000, 18_008, 2, 4),
    (20_000, 20_016, 2, 4),
    (22_000, 22_008, 2, 4),
    (25_000, 25_000, 2, 4),
    (26_000, 26_000, 2, 4),
    (27_000, 27_000, 1, 4),
    (30_000, 30_000, 1, 1),
    (35_000, 35_000, 1, 1),
    (40_000, 40_000, 1, 1),
    (45_000, 45_000, 1, 1),
];

type Seats = (Vec<u32>, Option<Warning>);

#[derive(Clone)]
struct Means {
    op: LinpackOp,
    engine: LinpackEngine,
    element: Element,
    isa: Option<Isa>,
    isa_named: bool,
    /// The instruction set of solutions in fp64 in the same plan.
    isa_of_fp64: Option<Isa>,
    obstacle: Option<String>,
}

#[derive(Clone, Copy)]
struct Shape {
    n: Order,
    lda: Option<Leading>,
    align: Option<u64>,
    nb: Option<u32>,
    trials: Option<u32>,
}

/// All benchmarks of a request; an error if the user chose something impossible.
pub(super) fn expand(
    request: &Request,
    machine: &Machine,
    features_of: &dyn Fn(&[u32]) -> Features,
) -> Result<Vec<Planned>, PlanError> {
    let (mut rows, mut ids) = (Vec::new(), HashSet::new());
    for stanza in &request.suite.linpack {
        let counts = thread_counts(request, &stanza.threads, machine);
        let seats: Vec<Seats> = counts.into_iter().map(|threads| place(threads, machine)).collect();
        let Some((most, _)) = seats.last() else { continue };
        for means in means(request, machine, stanza, features_of(most))? {
            for shape in shapes(stanza, means.op) {
                for seats in &seats {
                    let (cpus, oversubscribed) = seats;
                    let row = Row { request, machine, stanza, means: &means, shape, cpus, most };
                    let warnings = oversubscribed.clone().into_iter().collect();
                    let row = Planned { warnings, ..row.planned()? };
                    // Some orders need no padding, so padded and unpadded are the same.
                    if ids.insert(row.experiment.id.clone()) {
                        rows.push(row);
                    }
                }
            }
        }
    }
    Ok(rows)
}

fn means(
    request: &Request,
    machine: &Machine,
    stanza: &LinpackChoice,
    features: Features,
) -> Result<Vec<Means>, PlanError> {
    let mut all = Vec::new();
    for &op in &stanza.op {
        let elements = if stanza.elements.is_empty() { vec![op.usual_element()] } else { stanza.elements.clone() };
        for &engine in &stanza.engine {
            for &element in &elements {
                if let Some(sentence) = solver::refused_factors(element).filter(|_| op == LinpackOp::LuMixed) {
                    return Err(PlanError(sentence.to_owned()));
                }
                if !solver::has(engine, op, element) {
                    let known = solver::known(engine);
                    return Err(PlanError(format!("the engine {engine} has no {op} of {element}; known: {known}")));
                }
                let means =
                    Means { op, engine, element, isa: None, isa_named: false, isa_of_fp64: None, obstacle: None };
                if let Some(sentence) = solver::refused(engine) {
                    return Err(PlanError(sentence));
                }
                match engine {
                    LinpackEngine::Own => all.extend(of_sets(request, machine, &stanza.isa, features, &means)?),
                    LinpackEngine::Faer | LinpackEngine::System => all.push(means),
                }
            }
        }
    }
    Ok(all)
}

fn of_sets(
    request: &Request,
    machine: &Machine,
    choices: &[IsaChoice],
    features: Features,
    means: &Means,
) -> Result<Vec<Means>, PlanError> {
    let sets = solver::sets(means.element);
    let usable = || sets.iter().filter(|set| features.has_all(set.requires)).map(|set| set.isa);
    let widest = solver::sets(Element::Fp64).into_iter().find(|set| features.has_all(set.requires));
    let with = |isa: Isa, isa_named: bool| {
        let isa_of_fp64 = widest.map(|set| set.isa).filter(|_| !isa_named).unwrap_or_else(|| solver::with_factors(isa));
        Means { isa: Some(isa), isa_named, isa_of_fp64: Some(isa_of_fp64), ..means.clone() }
    };
    let needs = |isa: Isa| format!("{} of {} needs {isa}: {}", means.op, means.element, machine::missing(machine, isa));
    let mut all: Vec<Means> = Vec::new();
    for choice in choices {
        match *choice {
            IsaChoice::Vector => all.extend(usable().next().map(|isa| with(isa, false))),
            IsaChoice::All => all.extend(usable().map(|isa| with(isa, true))),
            IsaChoice::Named(isa) => {
                if !sets.iter().any(|set| set.isa == isa) {
                    let known: Vec<&str> = sets.iter().map(|set| set.isa.name()).collect();
                    let what = format!("{} of {} with {isa}", means.op, means.element);
                    return Err(PlanError(format!("there is no kernel for {what}; known: {}", known.join(", "))));
                }
                let obstacle = (!usable().any(|one| one == isa)).then(|| needs(isa));
                if let Some(sentence) = obstacle.as_ref().filter(|_| !request.choices.linpack.isa.is_empty()) {
                    return Err(PlanError(format!("{sentence}; leave --isa out for the widest that it has")));
                }
                all.push(Means { obstacle, ..with(isa, true) });
            }
        }
    }
    if all.is_empty() && !choices.is_empty() {
        // The type needs an instruction set that this machine lacks.
        let isa = sets.first().map_or(Isa::Avx512Bf16, |set| set.isa);
        if !request.choices.linpack.elements.is_empty() {
            return Err(PlanError(format!("{}; leave --type out for factors in fp32", needs(isa))));
        }
        all.push(Means { obstacle: Some(needs(isa)), ..with(isa, false) });
    }
    Ok(all)
}

fn shapes(stanza: &LinpackChoice, op: LinpackOp) -> Vec<Shape> {
    if stanza.series {
        let shape = |&(n, lda, trials, align_kib): &(u64, u64, u32, u64)| {
            let (lda, align) = (Some(Leading::Count(lda)), Some(align_kib << 10));
            Shape { n: Order::Count(n), lda, align, nb: None, trials: Some(trials) }
        };
        return SERIES.iter().map(shape).collect();
    }
    // Products have no panels.
    let nbs = if op == LinpackOp::Gemm { vec![None] } else { each(&stanza.nb) };
    let mut all = Vec::new();
    for &n in &stanza.n {
        for lda in each(&stanza.lda) {
            for align in each(&stanza.align) {
                all.extend(nbs.iter().map(|&nb| Shape { n, lda, align, nb, trials: None }));
            }
        }
    }
    all
}

struct Row<'a> {
    request: &'a Request,
    machine: &'a Machine,
    stanza: &'a LinpackChoice,
    means: &'a Means,
    shape: Shape,
    cpus: &'a [u32],
    /// The CPUs of the block's most threads.
    most: &'a [u32],
}

impl Row<'_> {
    fn planned(&self) -> Result<Planned, PlanError> {
        let params = self.params()?;
        let rate = self.rate(self.means.element, self.cpus);
        let sample_seconds = cost::sample_seconds(&params, rate);
        let missing = self.means.obstacle.clone();
        let too_large = self.too_large(&params).filter(|_| missing.is_none());
        let is_chosen = !self.request.choices.linpack.n.is_empty() && self.stanza.role == Role::Subject;
        let refusal = too_large.clone().filter(|_| is_chosen);
        let obstacle = missing.or(too_large).or_else(|| self.too_long(sample_seconds));
        let chosen = LinpackChoices {
            n: self.shape.n != Order::Auto,
            nb: self.shape.nb.is_some(),
            lda: self.shape.lda.is_some(),
            align: self.shape.align.is_some(),
            isa: self.means.isa_named,
        };
        let operations = params.op.operations(params.n);
        let setup_seconds = cost::setup_seconds(&params);
        let method = solver::method(params.engine, params.op, params.element);
        let classic = self.stanza.classic.then(|| in_table(Area::Linpack, "LINPACK", Some(operations)));
        let experiment = Experiment { classic, ..Experiment::new(linpack_id(&params, chosen), params, method) };
        if let Some(sentence) = refusal.filter(|_| is_asked(self.request, &experiment.id)) {
            return Err(PlanError(sentence));
        }
        Ok(Planned {
            exact_work: Some(operations).filter(|_| self.request.exact_workload && self.stanza.classic),
            setup_seconds,
            obstacle,
            ..Planned::new(experiment, self.cpus.to_vec(), self.sampling(sample_seconds))
        })
    }

    fn params(&self) -> Result<LinpackParams, PlanError> {
        let Means { op, engine, element, isa, .. } = *self.means;
        let n = match self.shape.n {
            Order::Count(n) => n,
            Order::Auto => self.order(),
        };
        let lda = match self.shape.lda {
            None | Some(Leading::Padded) => solver::padded(element, n),
            Some(Leading::Order) => n,
            Some(Leading::Count(lda)) if lda < n => {
                return Err(PlanError(format!(
                    "a leading dimension of {lda} is less than the {n} elements of a column; write {n} or more, n or padded"
                )));
            }
            Some(Leading::Count(lda)) => lda,
        };
        let mut params = LinpackParams {
            op,
            engine,
            n,
            nb: self.shape.nb,
            lda,
            align: self.shape.align.unwrap_or(USUAL_ALIGN),
            threads: u32::try_from(self.cpus.len()).unwrap_or(u32::MAX),
            element,
            isa,
        };
        params.nb = params.nb.or_else(|| solver::panel(&params, self.machine, self.cpus));
        Ok(params)
    }

    fn rate(&self, element: Element, cpus: &[u32]) -> f64 {
        let isa = if element == self.means.element { self.means.isa } else { self.means.isa_of_fp64 };
        cost::expected_rate(self.machine, isa, element, cpus)
            * cost::reached_share(self.machine, self.request.product_rate)
    }

    /// The order that memory and time allow; in mixed precision that of fp64 if memory allows, so that both solve one system.
    fn order(&self) -> u64 {
        let Means { op, element, .. } = *self.means;
        let timed = if op == LinpackOp::LuMixed { LinpackOp::Lu.usual_element() } else { element };
        let (obtainable_bytes, aim_seconds) = (self.machine.memory.obtainable_bytes(), self.stanza.aim_seconds);
        let bounds = Bounds { op, element, obtainable_bytes, aim_seconds };
        bounds.order(self.rate(timed, self.cpus), self.rate(timed, self.most))
    }

    fn too_large(&self, params: &LinpackParams) -> Option<String> {
        let obtainable = self.machine.memory.obtainable_bytes()?;
        let bytes = cost::most_bytes(params.op, params.element, params.n, params.lda);
        let (excess, padded) = (params.lda - params.n, self.shape.lda.is_none_or(|lda| lda == Leading::Padded));
        let lda_of = |n: u64| if padded { solver::padded(params.element, n) } else { n + excess };
        let largest = || cost::largest_order(params.op, params.element, obtainable, lda_of);
        (bytes > obtainable).then(|| {
            let [needed, available] = [bytes, obtainable].map(|bytes| format_size(bytes >> 20 << 20));
            let needs = format!("N = {} needs {needed}, but only {available} of memory is available", params.n);
            match largest() {
                0 => format!("{needs}; no N fits, because the buffers of the solver alone need more"),
                n => format!("{needs}; the largest N that fits is {n}"),
            }
        })
    }

    fn too_long(&self, seconds: f64) -> Option<String> {
        let longest = self.stanza.longest.filter(|_| !self.request.exact_workload && self.request.repeat.is_none())?;
        (seconds > longest).then(|| {
            format!(
                "a solution is expected to take {seconds:.0} s, more than the limit of {longest:.0} s; use \
                 --exact-workload to run it"
            )
        })
    }

    fn sampling(&self, sample_seconds: f64) -> Sampling {
        let sampling = self.request.sampling(Area::Linpack, self.stanza.sampling.as_ref());
        let sampling = Sampling { sample_seconds, ..sampling };
        match self.shape.trials {
            // One process run: allocating the matrix takes longer than a trial.
            Some(trials) => Sampling { samples: trials, most: None, per_launch: trials, ..sampling },
            None if sample_seconds > LONG_SECONDS => {
                Sampling { samples: sampling.samples.min(LEAST_SAMPLES), most: None, ..sampling }
            }
            None => sampling,
        }
    }
}

#[cfg(test)]
mod tests;
