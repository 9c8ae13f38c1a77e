//! The lines of the first screen, found in the plans of suites and areas.

use model::document::Row;
use model::experiment::{Area, CpuParams, Params};
use model::isa::{CpuOp, Element, Isa, MemoryPattern};
use model::machine::{ExpectedQuantity, MachineExpectation};
use model::sample::Expectation;
use model::unit::Unit;
use verdict::answer::headline_rows;
use verdict::rules::AreaRules;

use super::{machine_with_cpus, metric, request, request_of, row};
use crate::memory::choice::MemoryChoice;
use crate::request::Request;
use crate::{RULES, plan};

/// Each line's text with the id of its benchmark in a suite on a machine with two CPUs.
fn lines(request: &Request) -> Vec<(String, Option<String>)> {
    let plan = plan(request, &machine_with_cpus(2)).unwrap();
    let rows: Vec<Row> = plan.rows.iter().map(|row| Row::planned(&row.experiment, "")).collect();
    let (lines, unplanned) = headline_rows(&rows, 2, RULES);
    let planned = lines.into_iter().map(|line| (line.words, Some(line.row.id.clone())));
    planned.chain(unplanned.into_iter().map(|title| (title.to_owned(), None))).collect()
}

#[test]
fn every_suite_of_all_areas_has_every_line() {
    for suite in ["quick", "standard", "classic"] {
        let missing: Vec<_> = lines(&request(suite)).into_iter().filter(|(_, row)| row.is_none()).collect();
        assert!(missing.is_empty(), "{suite}: {missing:?}");
    }
}

/// Its thread counts go beyond the CPUs, and its largest systems beyond the time for each.
#[test]
fn the_classic_lines_have_a_cpu_for_each_thread() {
    let lines = lines(&request("classic"));
    let ids: Vec<&str> = lines.iter().filter_map(|(_, id)| id.as_deref()).collect();
    assert!(ids.iter().all(|id| id.ends_with("/t1") || id.ends_with("/t2")), "{ids:?}");
    for id in ["memory/sequential-read/t2", "memory/sequential-write/t2", "disk/random-read/1KiB/d1/t2"] {
        assert!(ids.contains(&id), "{id}: {ids:?}");
    }
}

#[test]
fn the_clock_of_wide_vectors_is_held_against_their_own() {
    let mut machine = machine_with_cpus(2);
    (machine.cpu.cores, machine.cpu.base_hz) = (Some(2), Some(2.4e9));
    machine.expected = [ExpectedQuantity::Clock, ExpectedQuantity::Avx2Clock, ExpectedQuantity::Avx512Clock]
        .map(|quantity| {
            let range = Expectation {
                source: "published".into(),
                low: 1e9,
                high: 2e9,
                text: quantity.to_string(),
                origin: None,
                date: None,
                n: None,
            };
            MachineExpectation { quantity: quantity.into(), benchmark: None, metric: None, range }
        })
        .into();
    let mut texts = |vendor: &str, (op, isa, threads): (CpuOp, Isa, u32)| -> Vec<String> {
        machine.cpu.vendor = Some(vendor.to_owned());
        let mut row = Row { params: Params::Cpu(CpuParams { op, element: Element::Fp64, isa, threads }), ..row() };
        row.metrics = vec![metric("clock", Unit::Hertz, &[1.5e9])];
        verdict::expectation::set(&AreaRules::of(RULES, Area::Cpu), &mut row, &machine);
        row.metrics.remove(0).expectations.into_iter().map(|range| range.text).collect()
    };
    let (intel, base) = ("GenuineIntel", "2.40 GHz (base) or more");
    for (vendor, of, expected) in [
        (intel, (CpuOp::Fma, Isa::Avx512, 2), &["avx512_clock"][..]),
        (intel, (CpuOp::Fma, Isa::Avx2, 2), &["avx2_clock"]),
        (intel, (CpuOp::Fma, Isa::Avx512, 1), &[]),
        (intel, (CpuOp::Add, Isa::Avx512, 2), &[]),
        (intel, (CpuOp::Fma, Isa::Scalar, 2), &["clock", base]),
        ("AuthenticAMD", (CpuOp::Fma, Isa::Avx512, 2), &["clock", base]),
    ] {
        assert_eq!(texts(vendor, of), expected, "{of:?}");
    }
}

#[test]
fn the_latency_is_that_of_one_chain_also_where_several_are_measured() {
    let of_area = request_of(crate::memory::suite(&MemoryChoice::default()).unwrap());
    for request in [request("quick"), of_area] {
        let plan = plan(&request, &machine_with_cpus(2)).unwrap();
        let (_, id) = lines(&request).into_iter().find(|(words, _)| words.starts_with("latency")).unwrap();
        let chosen = plan.rows.iter().find(|row| Some(&row.experiment.id) == id.as_ref()).unwrap();
        let Params::Memory(own) = &chosen.experiment.params else { panic!("{id:?}") };
        assert_eq!((own.pattern, own.chains.unwrap_or(1), own.group), (MemoryPattern::Chase, 1, None), "{id:?}");
    }
}
