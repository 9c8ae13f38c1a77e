use std::collections::BTreeSet;

use kernels::features::Feature;

use model::linpack::LinpackMatrix;

use super::*;
use crate::fields::Threads;
use crate::linpack::suite;
use crate::request::Choices;
use crate::suite::Suite;
use crate::tests::{machine_with_cpus, request_of};

fn sizes(orders: &[u64]) -> LinpackChoice {
    LinpackChoice { n: orders.iter().map(|n| Order::Count(*n)).collect(), ..LinpackChoice::default() }
}

fn request(choice: &LinpackChoice) -> Request {
    let choices = Choices { linpack: choice.clone(), ..Choices::default() };
    Request { choices, ..request_of(suite(choice).unwrap()) }
}

fn rows(choice: &LinpackChoice, cpus: u32) -> Vec<Planned> {
    expand(&request(choice), &machine_with_cpus(cpus), &everything).unwrap()
}

fn everything(_: &[u32]) -> Features {
    Features::having(Feature::ALL)
}

fn params(row: &Planned) -> &LinpackParams {
    row.experiment.linpack().unwrap_or_else(|| panic!("{row:?}"))
}

fn refused(choice: &LinpackChoice) -> String {
    expand(&request(choice), &machine_with_cpus(2), &everything).unwrap_err().0
}

#[test]
fn the_plan_has_a_solution_and_its_ceilings_on_one_thread_and_on_all() {
    let found = rows(&LinpackChoice::default(), 2);
    let ids: BTreeSet<&str> = found.iter().map(|row| row.experiment.id.as_str()).collect();
    assert_eq!(ids.len(), found.len());
    for wanted in ["linpack/lu/t1", "linpack/lu/t2", "linpack/gemm/n5000/t1", "linpack/gemm/n5000/t2/fp32"] {
        assert!(ids.contains(wanted), "{ids:?}");
    }
    for row in &found {
        assert!(row.obstacle.is_none() && row.setup_seconds > 0.0 && row.sampling.sample_seconds > 0.0, "{row:?}");
        assert_eq!(row.cpus.len(), params(row).threads as usize);
        assert!(params(row).lda >= params(row).n && row.sampling.samples >= LEAST_SAMPLES);
        assert_eq!(params(row).nb.is_none(), params(row).op == LinpackOp::Gemm);
    }
}

#[test]
fn orders_are_as_named_in_ids_and_repeated_as_their_length_allows() {
    let found = rows(&sizes(&[1, 2, 2000, 30_000]), 2);
    let of = |id: &str| found.iter().find(|row| row.experiment.id == id).unwrap_or_else(|| panic!("{id}"));
    assert_eq!((params(of("linpack/lu/n1/t1")).n, params(of("linpack/lu/n2/t2")).n), (1, 2));
    assert_eq!(of("linpack/lu/n2000/t2").sampling.samples, 6);
    let long = of("linpack/lu/n30000/t1");
    assert_eq!((long.sampling.samples, long.sampling.most), (LEAST_SAMPLES, None));
    assert!(long.sampling.sample_seconds > LONG_SECONDS);
    assert!(of("linpack/lu/n30000/t2").sampling.sample_seconds < long.sampling.sample_seconds);
}

#[test]
fn columns_are_padded_unless_the_user_chooses_otherwise() {
    let all = LinpackChoice {
        lda: vec![Leading::Order, Leading::Padded, Leading::Count(2050)],
        align: vec![64, 4096],
        nb: vec![64],
        ..sizes(&[2000])
    };
    let found = rows(&all, 1);
    let ids: Vec<&str> = found.iter().map(|row| row.experiment.id.as_str()).collect();
    // In fp32 columns of 2000 are an odd number of cache lines: there is nothing to pad.
    assert_eq!(found.len(), 6 + 4, "{ids:?}");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    assert!(ids.contains(&"linpack/lu/n2000/nb64/lda2050/align4KiB/t1"), "{ids:?}");
    assert!(found.iter().all(|row| params(row).nb == Some(64)));
    let usual = rows(&sizes(&[2000]), 1);
    let usual = params(&usual[0]);
    assert!(usual.lda > 2000 && usual.lda < 2064, "{usual:?}");
    let short = LinpackChoice { lda: vec![Leading::Count(1999)], ..sizes(&[2000]) };
    assert!(refused(&short).contains("1999") && refused(&short).contains("2000 elements"), "{}", refused(&short));
}

#[test]
fn what_does_not_fit_is_refused_with_the_largest_that_does() {
    // 16 GiB can be had on this machine.
    let sentence = refused(&sizes(&[60_000]));
    let largest: u64 = sentence.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((44_000..46_000).contains(&largest), "{sentence}");
    let fitting = rows(&sizes(&[largest]), 2);
    assert!(params(&fitting[0]).op == LinpackOp::Lu && fitting[0].obstacle.is_none(), "{fitting:?}");
    assert!(refused(&sizes(&[largest + 1])).contains(&format!("the largest N that fits is {largest}")));
    let mut limited = machine_with_cpus(2);
    limited.memory.limit_bytes = Some(1 << 30);
    limited.memory.limit_used_bytes = Some(100 << 20);
    let sentence = expand(&request(&sizes(&[20_000])), &limited, &everything).unwrap_err().0;
    assert!(sentence.contains("924MiB"), "{sentence}");
    let auto = expand(&request(&LinpackChoice::default()), &limited, &everything).unwrap();
    assert!(params(&auto[0]).n <= 8000, "what is chosen here fits: {:?}", params(&auto[0]));
    // Mixed precision was not chosen, so it is left out where its factors do not fit next to the matrix.
    let mixed = fitting.iter().find(|row| params(row).op == LinpackOp::LuMixed).unwrap();
    let sentence = mixed.obstacle.clone().unwrap();
    let mixed = LinpackChoice { op: vec![LinpackOp::LuMixed], ..sizes(&[largest]) };
    assert_eq!(refused(&mixed), sentence);
    let largest: u64 = sentence.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((36_000..38_000).contains(&largest), "{sentence}");
    let fitting = rows(&LinpackChoice { op: vec![LinpackOp::LuMixed], ..sizes(&[largest]) }, 2);
    assert!(fitting.iter().all(|row| row.obstacle.is_none()), "{fitting:?}");
    // 61 MiB are less than the buffers of the solver.
    (limited.memory.limit_bytes, limited.memory.limit_used_bytes) = (Some(61 << 20), None);
    let sentence = expand(&request(&sizes(&[1000])), &limited, &everything).unwrap_err().0;
    assert!(sentence.contains("only 61MiB of memory") && !sentence.contains("fits is 0"), "{sentence}");
    // The filter excludes the size that does not fit.
    let mut filtered = request(&sizes(&[2000, 60_000]));
    filtered.filter = Some("linpack/lu/n2000/t1".to_owned());
    let rows = expand(&filtered, &machine_with_cpus(2), &everything).unwrap();
    assert!(rows.iter().any(|row| params(row).n == 2000 && row.obstacle.is_none()), "{rows:?}");
    // Of a suite such a row is skipped.
    let mut suite = request(&sizes(&[60_000]));
    suite.choices = Choices::default();
    let skipped = expand(&suite, &machine_with_cpus(2), &everything).unwrap();
    assert!(skipped[0].obstacle.as_ref().is_some_and(|reason| reason.contains("the largest N that fits")));
}

#[test]
fn the_classic_series_has_its_sizes_trials_and_limits() {
    let classic = request_of(Suite::embedded("classic").unwrap());
    let found = expand(&classic, &machine_with_cpus(2), &everything).unwrap();
    assert_eq!(found.len(), 15 * 4);
    let padded: Vec<u64> = SERIES.iter().filter(|(n, lda, ..)| lda != n).map(|(_, lda, ..)| *lda).collect();
    assert_eq!(padded, [5_008, 18_008, 20_016, 22_008]);
    assert!(SERIES.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].2 >= pair[1].2));
    let of = |id: &str| found.iter().find(|row| row.experiment.id == id).unwrap_or_else(|| panic!("{id}"));
    let first = of("linpack/lu/n1000/lda1000/align4KiB/t1");
    assert_eq!((first.sampling.samples, first.sampling.per_launch), (4, 4));
    assert!(first.experiment.classic.as_ref().is_some_and(|classic| classic.table == "linpack"));
    assert_eq!(of("linpack/lu/n5000/lda5008/align4KiB/t2").sampling.samples, 2);
    let large = of("linpack/lu/n45000/lda45000/align1KiB/t2");
    assert!(large.obstacle.is_some() && large.sampling.samples == 1, "{large:?}");
    let long = of("linpack/lu/n40000/lda40000/align1KiB/t1");
    assert!(long.obstacle.as_ref().is_some_and(|reason| reason.contains("--exact-workload")), "{long:?}");
    let exact = Request { exact_workload: true, ..classic };
    let found = expand(&exact, &machine_with_cpus(2), &everything).unwrap();
    let long = found.iter().find(|row| row.experiment.id == long.experiment.id).unwrap();
    assert!(long.obstacle.is_none() && long.exact_work.is_some(), "{long:?}");
    let crowded = found.iter().find(|row| params(row).threads == 8).unwrap();
    assert!(crowded.warnings.iter().any(|warning| warning.code.as_str() == "oversubscribed"), "{crowded:?}");
}

#[test]
fn instruction_sets_are_the_widest_the_named_or_refused() {
    let isa = |row: &Planned| params(row).isa.unwrap();
    let found = rows(&sizes(&[2000]), 1);
    let widest = solver::sets(Element::Fp64)[0].isa;
    assert_eq!(isa(&found[0]), widest);
    let all = rows(&LinpackChoice { isa: vec![IsaChoice::All], ..sizes(&[2000]) }, 1);
    let solutions = all.iter().filter(|row| params(row).op == LinpackOp::Lu);
    let names: BTreeSet<&str> = solver::sets(Element::Fp64).iter().map(|set| set.isa.name()).collect();
    assert_eq!(solutions.count(), names.len());
    assert!(all.iter().all(|row| row.experiment.id.contains(&format!("/{}/", isa(row)))));
    let named = LinpackChoice { isa: vec![IsaChoice::Named(widest)], ..sizes(&[2000]) };
    let none = |_: &[u32]| Features::having(&[]);
    let sentence = expand(&request(&named), &machine_with_cpus(1), &none).unwrap_err().0;
    assert!(sentence.contains("leave --isa out"), "{sentence}");
    let unknown = LinpackChoice { isa: vec![IsaChoice::Named(Isa::Neon)], ..sizes(&[2000]) };
    if !solver::sets(Element::Fp64).iter().any(|set| set.isa == Isa::Neon) {
        assert!(refused(&unknown).contains("no kernel for lu of fp64 with neon"), "{}", refused(&unknown));
    }
    // On a machine without any of the wide sets there is always a kernel.
    let plain = expand(&request(&sizes(&[100])), &machine_with_cpus(1), &none).unwrap();
    assert!(plain[0].obstacle.is_none());
    let integers = LinpackChoice { elements: vec![Element::Int8], op: vec![LinpackOp::Lu], ..sizes(&[100]) };
    let sentence = refused(&integers);
    assert!(sentence.contains("no lu of int8") && sentence.contains("lu of fp64"), "{sentence}");
}

#[test]
fn mixed_precision_solves_the_system_of_fp64_where_memory_allows_it() {
    let orders = |bytes: u64| {
        let mut machine = machine_with_cpus(16);
        machine.memory.limit_bytes = Some(bytes);
        machine.memory.limit_used_bytes = Some(0);
        let found = expand(&request(&LinpackChoice::default()), &machine, &everything).unwrap();
        let of = |op| found.iter().map(params).find(|own| own.op == op && own.threads == 16).unwrap().clone();
        let (lu, mixed) = (of(LinpackOp::Lu), of(LinpackOp::LuMixed));
        assert_eq!((mixed.element, mixed.engine, mixed.isa), (Element::Fp32, LinpackEngine::Own, lu.isa));
        assert!(mixed.nb.is_some(), "{mixed:?}");
        (lu.n, mixed.n)
    };
    let (lu, mixed) = orders(1 << 40);
    assert_eq!(lu, mixed);
    let (lu, mixed) = orders(2 << 30);
    assert!(mixed < lu && mixed * mixed * 12 > lu * lu * 6, "{mixed} {lu}");
    let asked = LinpackChoice { op: vec![LinpackOp::LuMixed], engine: vec![LinpackEngine::System], ..sizes(&[100]) };
    assert!(refused(&asked).contains("the engine system has no lu_mixed of fp32"), "{}", refused(&asked));
}

#[test]
fn factors_in_bf16_are_of_their_own_matrix_and_only_where_they_are_asked_for() {
    let is_brain = |row: &Planned| params(row).element == Element::Bf16;
    assert!(!rows(&sizes(&[2000]), 2).iter().any(is_brain));
    let mixed = LinpackChoice { op: vec![LinpackOp::LuMixed], ..sizes(&[2000]) };
    assert!(!rows(&mixed, 2).iter().any(is_brain));
    let brain = LinpackChoice { elements: vec![Element::Fp32, Element::Bf16], ..mixed.clone() };
    let found = rows(&brain, 2);
    let ids: Vec<&str> = found.iter().map(|row| row.experiment.id.as_str()).collect();
    let of_type = |threads: u32| {
        [format!("linpack/lu_mixed/n2000/t{threads}"), format!("linpack/lu_mixed/n2000/t{threads}/bf16")]
    };
    assert!([1, 2].iter().flat_map(|threads| of_type(*threads)).all(|id| ids.contains(&id.as_str())), "{ids:?}");
    for row in found.iter().filter(|row| is_brain(row)) {
        assert_eq!((params(row).isa, params(row).matrix()), (Some(BRAIN.0), Some(LinpackMatrix::DiagonallyDominant)));
        assert_eq!(row.experiment.method, "linpack-lu-mixed-dominant/1");
        assert!(row.obstacle.is_none() && params(row).nb.is_some() && row.sampling.sample_seconds > 0.0);
    }
    let free = LinpackChoice { n: Vec::new(), ..brain };
    let orders: BTreeSet<u64> = rows(&free, 2).iter().map(|row| params(row).n).collect();
    assert_eq!(orders.len(), 1, "the order of the solution in fp64, for both types: {orders:?}");
}

/// The instruction set that multiplies bf16, and its feature.
const BRAIN: (Isa, Feature) =
    if cfg!(target_arch = "aarch64") { (Isa::NeonBf16, Feature::Bf16) } else { (Isa::Avx512Bf16, Feature::Avx512Bf16) };

#[test]
fn types_that_a_machine_lacks_are_skipped_in_a_suite_and_refused_on_request() {
    let others: Vec<Feature> = Feature::ALL.iter().copied().filter(|one| *one != BRAIN.1).collect();
    let lacking = |_: &[u32]| Features::having(&others);
    for isa in [vec![], vec![IsaChoice::All], vec![IsaChoice::Named(BRAIN.0)]] {
        let (op, elements) = (vec![LinpackOp::LuMixed], vec![Element::Bf16]);
        let choice = LinpackChoice { op, elements, isa, ..sizes(&[2000]) };
        let machine = machine_with_cpus(2);
        let asked = expand(&request(&choice), &machine, &lacking).unwrap_err().0;
        let needs = format!("lu_mixed of bf16 needs {}: ", BRAIN.0);
        assert!(asked.contains(&needs), "{asked}");
        let of_a_suite = Request { choices: Choices::default(), ..request(&choice) };
        let found = expand(&of_a_suite, &machine, &lacking).unwrap();
        assert_eq!(found.len(), 2);
        for row in &found {
            let obstacle = row.obstacle.as_deref().unwrap();
            assert!(obstacle.contains(&needs), "{obstacle}");
        }
    }
    let choice = LinpackChoice { elements: vec![Element::Fp16], op: vec![LinpackOp::LuMixed], ..sizes(&[2000]) };
    let of_the_command = suite(&choice).unwrap_err().0;
    let mut of_a_file = request(&LinpackChoice { op: vec![LinpackOp::LuMixed], ..sizes(&[2000]) });
    of_a_file.suite.linpack.iter_mut().for_each(|stanza| stanza.elements = vec![Element::Fp16]);
    let of_a_file = expand(&of_a_file, &machine_with_cpus(2), &everything).unwrap_err().0;
    assert_eq!(of_the_command, of_a_file);
    assert!(of_a_file.contains("AMX-FP16"), "{of_a_file}");
}

#[test]
fn threads_that_were_asked_for_are_taken() {
    let choice = sizes(&[100]);
    let threads = [1, 2, 3].map(Threads::Count).to_vec();
    let request = Request { threads, ..request(&choice) };
    let found = expand(&request, &machine_with_cpus(2), &everything).unwrap();
    let solutions: Vec<u32> =
        found.iter().map(params).filter(|own| own.op == LinpackOp::Lu).map(|own| own.threads).collect();
    assert_eq!(solutions, [1, 2, 3]);
    let three = found.iter().find(|row| params(row).threads == 3).unwrap();
    assert_eq!(three.cpus, [0, 1, 0]);
}
