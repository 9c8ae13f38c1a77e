//! Tests of plans with the engines and the reference tools of this program.

use areas::{Request, plan};
use model::experiment::{DiskParams, Experiment};
use model::io::{DiskEngine, DiskLayout, DiskOp};
use model::machine::Cache;
use model::plan::{Plan, Planned, Writes};

use crate::tests::{asked, disk_params, machine_with_cpus, planned};

#[test]
#[cfg(target_arch = "x86_64")]
fn the_classic_suite_keeps_within_its_time_with_every_tool() {
    use areas::{References, Suite};
    let bytes = 1 << 40;
    let roomy = || model::disk_target::DiskTarget {
        directory: "/data".into(),
        total_bytes: bytes,
        available_bytes: bytes,
        ..Default::default()
    };
    let machine = machine_with_cpus(2);
    let tools: Vec<String> = tools::ids().map(str::to_owned).collect();
    let with = |of_suite| {
        let request = crate::host::request(Suite::embedded("classic").unwrap(), &machine);
        let references = References { tools: tools.clone(), of_suite, ..request.references.clone() };
        plan(&Request { references, disk: Some(roomy()), ..request }, &machine).unwrap()
    };
    let (of_suite, in_full) = (with(true), with(false));
    let with_tools = |plan: &Plan| plan.rows.iter().filter(|row| !row.reference_tools.is_empty()).count();
    assert!(with_tools(&of_suite) > 40 && with_tools(&of_suite) < with_tools(&in_full));
    for row in of_suite.rows.iter().filter(|row| !row.reference_tools.is_empty()) {
        let (id, samples) = (&row.experiment.id, row.sampling.samples);
        // Of systems of equations the series says how many trials each order has.
        let least = if row.experiment.linpack().is_some() { 1 } else { 3 };
        assert!(row.experiment.params.threads() <= 2 && (least..=6).contains(&samples), "{id}: {samples}");
        assert!(!id.contains("/8MiB/") || !id.starts_with("disk/"), "{id} is excepted");
    }
    assert!(of_suite.rows.iter().any(|row| row.experiment.id.starts_with("disk/sequential-read/8MiB/")));
    let budget = Suite::embedded("classic").unwrap().time_budget.unwrap();
    assert!(of_suite.expected_seconds() < budget, "{} s of {budget} s", of_suite.expected_seconds());
}

fn row(params: DiskParams, exact_work: Option<f64>) -> Planned {
    let experiment = Experiment::new(String::new(), params, "");
    let mut row = Planned { exact_work, experiment, ..planned() };
    row.sampling.samples = 4;
    (row.sampling.per_launch, row.sampling.sample_seconds, row.sampling.warm_up_seconds) = (2, 0.5, [0.0, 0.25]);
    row
}

#[test]
fn files_count_once_and_writes_by_their_time_or_total() {
    let of_rows = |rows: Vec<Planned>| Plan { rows, repeat: None, ..asked().plan }.writes();
    let read = || disk_params(1);
    let write = || DiskParams { op: DiskOp::Write, ..disk_params(1) };
    let size = read().size;
    assert_eq!(of_rows(vec![planned()]), None, "no row of a disk");
    let skipped = Planned { obstacle: Some("no room".into()), ..row(write(), None) };
    assert_eq!(of_rows(vec![skipped]), None);
    let files_alone = Writes { file_bytes: size, ..Writes::default() };
    assert_eq!(of_rows(vec![row(read(), None), row(read(), None)]), Some(files_alone), "one file for both");
    let each = DiskParams { layout: DiskLayout::PerThread, threads: 3, ..read() };
    assert_eq!(of_rows(vec![row(read(), None), row(each, None)]).unwrap().file_bytes, 3 * size);
    let timed = of_rows(vec![row(read(), None), row(write(), None)]);
    assert_eq!(timed, Some(Writes { seconds: 4.0 * 0.5 + 2.0 * 0.25, ..files_alone }));
    let mixed = DiskParams { op: DiskOp::Mixed, ..write() };
    let whole = of_rows(vec![row(write(), Some(10.0)), row(mixed, Some(10.0))]).unwrap();
    assert_eq!((whole.total_bytes, whole.seconds), (4.0 * 10.0 * 4096.0 * 1.5, 1.0));
    let mut steady = row(write(), None);
    steady.sampling.until_steady = true;
    assert_eq!(of_rows(vec![steady]).unwrap().file_bytes, 2 * size);
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "no tool reads with the vectors of other machines")]
fn tools_run_for_the_step_of_each_cache_level_and_all_that_a_filter_chose() {
    let mut machine = machine_with_cpus(2);
    let cache = |level, kind: &str, bytes| Cache {
        level,
        kind: kind.to_owned(),
        bytes: Some(bytes),
        cpus: vec![0],
        ..Cache::default()
    };
    machine.caches = vec![
        cache(1, "data", 48 << 10),
        cache(1, "instruction", 8 << 10),
        cache(2, "unified", 2 << 20),
        cache(3, "unified", 100 << 20),
        cache(3, "unified", 64 << 20),
    ];
    let suite = areas::memory::suite(&areas::memory::MemoryChoice::default()).unwrap();
    let mut references = crate::host::request(suite, &machine);
    references.references.tools = ["likwid-bench", "stream", "pmbw"].map(str::to_owned).to_vec();
    let with_tools = |request: &Request| -> Vec<String> {
        let rows = plan(request, &machine).unwrap().rows;
        let steps = rows.into_iter().filter(|row| row.experiment.id.starts_with("memory/sequential-read/"));
        let steps = steps.filter(|row| row.experiment.params.threads() == 1 && !row.reference_tools.is_empty());
        steps.map(|row| row.experiment.id).collect()
    };
    let levels = ["", "/24KiB", "/1MiB", "/32MiB"].map(|size| format!("memory/sequential-read{size}/t1"));
    assert_eq!(with_tools(&references), levels);
    let expected = plan(&references, &machine).unwrap().expected_seconds();
    assert!(expected < 900.0, "{expected} s");
    references.filter = Some("memory/sequential-read/*/t1".into());
    assert!(with_tools(&references).len() > 30, "a filter chose them");
}

#[test]
fn suites_may_name_the_tools_that_there_are() {
    assert!(model::reference::TOOLS.iter().copied().eq(tools::ids()));
}

#[test]
fn arenas_take_what_the_plan_expects() {
    use sys::queue::{Engine, Options};
    let engines = [
        (DiskEngine::IoUring, Engine::IoUring),
        (DiskEngine::Libaio, Engine::Libaio),
        (DiskEngine::Sync, Engine::Sync),
        (DiskEngine::Null, Engine::Null),
    ];
    let page_bytes = sys::memory::base_page_bytes() as u64;
    for (planned, engine) in engines {
        for arena_bytes in [0, 1, 4096, 4097, 256 << 10, (256 << 10) + 1, 2 << 20, (64 << 20) + 7] {
            let takes = Options { engine, depth: 1, arena_bytes }.arena_takes() as u64;
            let expected = areas::disk::footprint::arena_takes(planned, arena_bytes, page_bytes);
            assert_eq!(expected, takes, "{planned}: {arena_bytes}");
        }
    }
}
