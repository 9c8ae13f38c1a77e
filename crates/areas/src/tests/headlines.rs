//! The lines of the first screen, found in the plans of suites and areas.

use model::document::Row;
use model::experiment::{Area, Params};
use model::isa::MemoryPattern;

use super::{machine_with_cpus, request, request_of};
use crate::memory::choice::MemoryChoice;
use crate::request::Request;
use crate::{RULES, plan};

/// Each line's text with the id of its benchmark in a suite on a machine with two CPUs.
fn lines(request: &Request) -> Vec<(String, Option<String>)> {
    let plan = plan(request, &machine_with_cpus(2)).unwrap();
    let rows: Vec<Row> = plan.rows.iter().map(|row| Row::planned(&row.experiment, "")).collect();
    let line = |(area, headline): (Area, &verdict::headline::Headline)| {
        let of_area: Vec<&Row> = rows.iter().filter(|row| row.area == area).collect();
        let row = headline.row(&of_area);
        (headline.words(row), row.map(|row| row.id.clone()))
    };
    RULES.iter().flat_map(|rules| rules.answer.headlines.iter().map(|one| line((rules.area, one)))).collect()
}

#[test]
fn every_suite_of_all_areas_has_every_line() {
    for suite in ["quick", "standard"] {
        let missing: Vec<_> = lines(&request(suite)).into_iter().filter(|(_, row)| row.is_none()).collect();
        assert!(missing.is_empty(), "{suite}: {missing:?}");
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
