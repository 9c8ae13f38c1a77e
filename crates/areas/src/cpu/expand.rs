//! The CPU benchmarks of a request on a machine.
//!
//! A benchmark that cannot run here is planned with the reason; only "all instruction sets" leaves out missing ones.

use kernels::features::Features;
use kernels::table::{KERNELS, Kernel};
use model::experiment::{Area, Classic, CpuParams, Experiment, Loop, cpu_id};
use model::isa::{CpuOp, Element, Isa};
use model::machine::Machine;
use model::plan::{PlanError, Planned};
use model::warning::Warning;
use verdict::grouping::by_key;

use super::choice::CpuChoice;
use crate::fields::IsaChoice;
use crate::request::{Request, exact, in_table};
use crate::threads::{place, thread_counts};

/// Expected seconds to calibrate timer, chains and chunks, per process run.
const SETUP_SECONDS: f64 = 0.03;
/// Operations per second and thread of a scalar loop on a slow core of today, for the expected length of a total.
const PLAIN_RATE: f64 = 3e9;
/// The same of a vector loop.
const VECTOR_RATE: f64 = 2e10;

/// The operations with an element type's fastest instructions, the fastest first: the `vector` rows of the classic table.
const fn fastest(element: Element) -> &'static [CpuOp] {
    match element {
        Element::Int8 | Element::Bf16 => &[CpuOp::Matrix, CpuOp::Dot],
        Element::Fp16 => &[CpuOp::Matrix, CpuOp::Fma],
        Element::Int16 => &[CpuOp::Dot],
        Element::Int32 | Element::Int64 => &[CpuOp::MulAdd],
        Element::Fp32 | Element::Fp64 => &[CpuOp::Fma],
    }
}

pub(super) fn known_kernels() -> String {
    KERNELS.iter().map(|kernel| kernel.name).collect::<Vec<_>>().join(", ")
}

struct Cell<'a> {
    stanza: &'a CpuChoice,
    element: Element,
    choice: IsaChoice,
    threads: u32,
}

struct Wanted {
    op: CpuOp,
    isa: Isa,
    kernel: Result<&'static Kernel, String>,
}

/// All benchmarks of a request; an error if a named kernel or instruction set is missing.
pub(super) fn expand(
    request: &Request,
    machine: &Machine,
    features_of: &dyn Fn(&[u32]) -> Features,
) -> Result<Vec<Planned>, PlanError> {
    let mut rows = Vec::new();
    for stanza in &request.suite.cpu {
        for &element in &stanza.elements {
            for &choice in &stanza.isa {
                for threads in thread_counts(request, &stanza.threads, machine) {
                    let cell = Cell { stanza, element, choice, threads };
                    rows.extend(cell.rows(request, machine, features_of)?);
                }
            }
        }
    }
    Ok(rows)
}

impl Cell<'_> {
    fn rows(
        &self,
        request: &Request,
        machine: &Machine,
        features_of: &dyn Fn(&[u32]) -> Features,
    ) -> Result<Vec<Planned>, PlanError> {
        let (cpus, warning) = place(self.threads, machine);
        let features = features_of(&cpus);
        let wanted = self.wanted(features, machine)?;
        let refused = wanted.iter().find_map(|one| one.kernel.as_ref().err());
        if let Some(reason) = refused.filter(|_| !request.choices.cpu.isa.is_empty()) {
            return Err(PlanError(format!("{reason}; leave --isa out for all available ones")));
        }
        let row = |wanted: &Wanted| self.row(request, wanted, features, cpus.clone(), warning.clone());
        Ok(wanted.iter().map(row).collect())
    }

    fn wanted(&self, features: Features, machine: &Machine) -> Result<Vec<Wanted>, PlanError> {
        let runs = |kernel: &&'static Kernel| features.has_all(kernel.requires);
        let wanted = |kernel: &'static Kernel| Wanted { op: kernel.op, isa: kernel.isa, kernel: Ok(kernel) };
        // If none can run here, one of them names what is missing.
        let refused =
            |kernel: &'static Kernel| Wanted { op: kernel.op, isa: kernel.isa, kernel: Err(missing(kernel, machine)) };
        let found = match self.choice {
            IsaChoice::Vector => self.kernels().find(runs).map(wanted).or_else(|| self.kernels().last().map(refused)),
            IsaChoice::Named(isa) => {
                let mut named = self.kernels().filter(|kernel| kernel.isa == isa);
                let found = named.clone().find(runs).map(wanted).or_else(|| named.next().map(refused));
                found.or_else(|| self.of_another_architecture(isa, machine))
            }
            IsaChoice::All => {
                let all = by_key(self.kernels().filter(runs), |kernel| Some((kernel.op, kernel.isa)));
                let all = all.iter().map(|(_, kernels)| wanted(kernels[0])).collect();
                return self.kernels().next().map(|_| all).ok_or_else(|| self.unknown());
            }
        };
        found.map(|one| vec![one]).ok_or_else(|| self.unknown())
    }

    /// What cannot run here because no kernel of this architecture is for its instruction set: suites name those of all.
    fn of_another_architecture(&self, isa: Isa, machine: &Machine) -> Option<Wanted> {
        let op = self.kernels().next().filter(|_| KERNELS.iter().all(|kernel| kernel.isa != isa))?.op;
        let why = format!("{op} of {} needs {isa}: {}", self.element, machine::missing(machine, isa));
        Some(Wanted { op, isa, kernel: Err(why) })
    }

    /// The kernels for the block's operations on the element type, in the block's order.
    fn kernels(&self) -> impl Iterator<Item = &'static Kernel> + Clone {
        let of = |op: CpuOp| {
            let element = self.element;
            KERNELS.iter().filter(move |kernel| (kernel.op, kernel.element) == (op, element))
        };
        self.stanza.op.iter().copied().flat_map(of)
    }

    fn unknown(&self) -> PlanError {
        let ops: Vec<&str> = self.stanza.op.iter().map(|op| op.name()).collect();
        let with = if let IsaChoice::Named(isa) = self.choice { format!(" with {isa}") } else { String::new() };
        let (ops, element) = (ops.join(" or "), self.element);
        PlanError(format!("there is no kernel for {ops} of {element}{with}; known: {}", known_kernels()))
    }

    fn row(
        &self,
        request: &Request,
        wanted: &Wanted,
        features: Features,
        cpus: Vec<u32>,
        warning: Option<Warning>,
    ) -> Planned {
        let kernel = wanted.kernel.as_ref().ok().copied();
        let params = CpuParams { op: wanted.op, element: self.element, isa: wanted.isa, threads: self.threads };
        let exact_work = self.stanza.total.filter(|_| request.exact_workload);
        let mut sampling = request.sampling(Area::Cpu, None);
        if let Some(total) = exact_work {
            let rate = if params.isa == Isa::Scalar { PLAIN_RATE } else { VECTOR_RATE };
            sampling = exact(&sampling, total / (rate * f64::from(self.threads)));
        }
        let method = kernel.map_or("cpu/1", |kernel| kernel.method);
        let experiment = Experiment {
            classic: kernel.and_then(|kernel| classic(kernel, features, self.stanza.total)),
            kernel: kernel.map(|kernel| facts(kernel, features)),
            ..Experiment::new(cpu_id(&params), params, method)
        };
        Planned {
            first: self.stanza.first,
            exact_work,
            setup_seconds: SETUP_SECONDS,
            obstacle: wanted.kernel.as_ref().err().cloned(),
            warnings: warning.into_iter().collect(),
            ..Planned::new(experiment, cpus, sampling)
        }
    }
}

/// Why a kernel cannot run here: CPU, operating system or hypervisor.
fn missing(kernel: &Kernel, machine: &Machine) -> String {
    let Kernel { op, element, isa, .. } = *kernel;
    let why = machine::lacking(machine, machine::CpuKernel { op, element, isa })
        .unwrap_or_else(|| machine::missing(machine, isa));
    format!("{op} of {element} needs {isa}: {why}")
}

/// The classic label of plain loops, and of the fastest kernel of these CPUs for the element type.
fn classic(kernel: &Kernel, features: Features, total: Option<f64>) -> Option<Classic> {
    let workload = match kernel.element {
        Element::Int8 => "QP",
        Element::Int16 | Element::Fp16 | Element::Bf16 => "HP",
        Element::Int32 | Element::Fp32 => "SP",
        Element::Int64 | Element::Fp64 => "DP",
    };
    let of = |op: CpuOp| KERNELS.iter().filter(move |row| (row.op, row.element) == (op, kernel.element));
    let mut all = fastest(kernel.element).iter().copied().flat_map(of);
    let first = all.find(|row| features.has_all(row.requires));
    let class = match kernel.op {
        CpuOp::Plain => "plain",
        _ if kernel.isa != Isa::Scalar && first.is_some_and(|row| row.name == kernel.name) => "vector",
        _ => return None,
    };
    Some(Classic { class: Some(class.into()), ..in_table(Area::Cpu, workload, total) })
}

/// An instruction of a step that only separates others.
pub const NOP: &str = "nop";

fn facts(kernel: &'static Kernel, features: Features) -> Loop {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let nops = std::iter::repeat_n(NOP, kernel.nops_per_step(&features));
    Loop {
        accumulator: kernel.accumulator_type.to_owned(),
        instructions: kernel.step.iter().copied().chain(nops).map(str::to_owned).collect(),
        accumulator_bits: count(8 * kernel.vector_bytes()),
        accumulators: count(kernel.accumulators),
        operations: kernel.operations(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::Threads;
    use crate::suite::Suite;
    use crate::tests::{machine_with_cpus, request_of};
    use kernels::features::Feature;

    const AVX2: &[Feature] = &[Feature::Sse2, Feature::Ssse3, Feature::Sse41, Feature::Avx2, Feature::Fma];

    fn stanza(op: &[CpuOp], element: Element, choice: IsaChoice) -> CpuChoice {
        let (op, elements, isa) = (op.to_vec(), vec![element], vec![choice]);
        CpuChoice { op, elements, isa, threads: vec![Threads::Count(1)], ..CpuChoice::default() }
    }

    fn rows_on(features: Features, machine: &Machine, stanzas: Vec<CpuChoice>) -> Result<Vec<Planned>, PlanError> {
        let suite = Suite { cpu: stanzas, ..Suite::embedded("quick").unwrap() };
        expand(&request_of(suite), machine, &|_| features)
    }

    #[cfg(target_arch = "x86_64")]
    fn ids(rows: &[Planned]) -> Vec<&str> {
        rows.iter().map(|row| row.experiment.id.as_str()).collect()
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_first_operation_that_the_cpu_has_is_taken_and_the_fastest_is_classic() {
        let wanted = stanza(&[CpuOp::Matrix, CpuOp::Dot], Element::Int8, IsaChoice::Vector);
        let on = |features: &[Feature]| {
            let rows = rows_on(Features::having(features), &machine_with_cpus(1), vec![wanted.clone()]).unwrap();
            (rows[0].experiment.id.clone(), rows[0].experiment.classic.clone().map(|one| one.workload))
        };
        assert_eq!(on(Feature::ALL), ("cpu/matrix/int8/amx/t1".into(), Some("QP".into())));
        assert_eq!(on(AVX2), ("cpu/dot/int8/avx2/t1".into(), Some("QP".into())));
        assert_eq!(on(&[]), ("cpu/dot/int8/scalar/t1".into(), None), "a scalar loop is no vector row");
        let all = stanza(&[CpuOp::Fma], Element::Fp64, IsaChoice::All);
        let rows = rows_on(Features::having(AVX2), &machine_with_cpus(1), vec![all]).unwrap();
        let labelled: Vec<_> = rows.iter().filter(|row| row.experiment.classic.is_some()).collect();
        assert_eq!(ids(&rows), ["cpu/fma/fp64/avx2/t1", "cpu/fma/fp64/sse2/t1", "cpu/fma/fp64/scalar/t1"]);
        assert_eq!(labelled.len(), 1);
        assert_eq!(labelled[0].experiment.id, "cpu/fma/fp64/avx2/t1");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn what_is_missing_is_a_row_that_says_who_is_in_the_way() {
        use model::machine::{Withheld, WithheldBy};
        let amx = || vec![stanza(&[CpuOp::Matrix], Element::Int8, IsaChoice::Vector)];
        let mut machine = machine_with_cpus(1);
        let reason =
            |machine: &Machine| rows_on(Features::having(AVX2), machine, amx()).unwrap()[0].obstacle.clone().unwrap();
        assert_eq!(reason(&machine), "matrix of int8 needs amx: this CPU has no AMX");
        for (by, words) in [
            (WithheldBy::Hypervisor, "the hypervisor hides AMX"),
            (WithheldBy::OperatingSystem, "the operating system does not enable AMX"),
        ] {
            machine.cpu.withheld = vec![Withheld { isa: Isa::Amx, by, why: "x".into() }];
            assert!(reason(&machine).contains(words), "{}", reason(&machine));
        }
    }

    #[test]
    fn peaks_assume_the_steps_that_the_kernels_take() {
        for kernel in KERNELS {
            let Kernel { op, element, isa, .. } = *kernel;
            let this = machine::CpuKernel { op, element, isa };
            let mut assumed = machine::steps().filter(|(of, _)| *of == this).map(|(_, step)| step);
            assert!(assumed.any(|step| step == kernel.step), "{}: {:?}", kernel.name, kernel.step);
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_row_says_whether_nops_keep_its_instructions_apart() {
        let step = |binds: bool, op, isa| {
            let features = Features::having(AVX2).on_binding_core(binds);
            let wanted = stanza(&[op], Element::Int16, IsaChoice::Named(isa));
            let rows = rows_on(features, &machine_with_cpus(1), vec![wanted]).unwrap();
            rows[0].experiment.kernel.clone().unwrap().instructions
        };
        assert_eq!(step(false, CpuOp::Dot, Isa::Avx2), ["vpmaddwd", "vpaddd"]);
        assert_eq!(step(true, CpuOp::Dot, Isa::Avx2), ["vpmaddwd", "vpaddd", NOP, NOP]);
        assert_eq!(step(true, CpuOp::Dot, Isa::Sse2), ["movdqa", "pmaddwd", "paddd", NOP]);
        assert_eq!(step(true, CpuOp::Dot, Isa::Scalar), ["movsx", "imul", "add"]);
    }

    #[test]
    fn everything_that_a_cpu_has_leaves_out_what_it_lacks() {
        let rows = |op, element| {
            let stanzas = vec![stanza(&[op], element, IsaChoice::All)];
            rows_on(Features::having(AVX2), &machine_with_cpus(1), stanzas)
        };
        assert_eq!(rows(CpuOp::Matrix, Element::Int8), Ok(Vec::new()));
        assert!(rows(CpuOp::Matrix, Element::Int64).unwrap_err().0.contains("no kernel for matrix of int64"));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn on_a_hybrid_each_row_gets_what_all_of_its_cpus_have() {
        let threads = vec![Threads::Count(1), Threads::Count(2)];
        let fma = CpuChoice { threads, ..stanza(&[CpuOp::Fma], Element::Fp64, IsaChoice::Vector) };
        let suite = Suite { cpu: vec![fma], ..Suite::embedded("quick").unwrap() };
        let features = |cpus: &[u32]| Features::having(if cpus.contains(&1) { AVX2 } else { Feature::ALL });
        let rows = expand(&request_of(suite), &machine_with_cpus(2), &features).unwrap();
        assert_eq!(ids(&rows), ["cpu/fma/fp64/avx512/t1", "cpu/fma/fp64/avx2/t2"]);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_total_is_stated_and_done_in_full_where_that_is_asked_for() {
        let with_total = CpuChoice { total: Some(1e12), ..stanza(&[CpuOp::Fma], Element::Fp64, IsaChoice::Vector) };
        let suite = Suite { cpu: vec![with_total], ..Suite::embedded("quick").unwrap() };
        for exact_workload in [false, true] {
            let request = Request { exact_workload, ..request_of(suite.clone()) };
            let rows = expand(&request, &machine_with_cpus(1), &|_| Features::having(AVX2)).unwrap();
            assert_eq!(rows[0].experiment.classic.as_ref().and_then(|classic| classic.total), Some(1e12));
            assert_eq!(rows[0].exact_work, exact_workload.then_some(1e12));
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_survey_has_every_precision_and_the_widest_kernels_at_every_rung() {
        let suite = crate::cpu::suite(&CpuChoice::default()).unwrap();
        let rows = expand(&request_of(suite), &machine_with_cpus(8), &|_| Features::having(AVX2)).unwrap();
        let ids = ids(&rows);
        for element in Element::ALL {
            assert!(ids.iter().any(|id| id.split('/').nth(2) == Some(element.name())), "{element}");
        }
        for rung in [1, 2, 4, 8] {
            assert!(ids.contains(&format!("cpu/fma/fp64/avx2/t{rung}").as_str()));
        }
        assert!(ids.contains(&"cpu/fma/fp64/sse2/t8") && !ids.contains(&"cpu/fma/fp64/sse2/t4"));
    }
}
