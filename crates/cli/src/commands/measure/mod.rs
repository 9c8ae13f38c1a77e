//! The measuring commands: from options to a request, from the request to a plan, from the plan to a stored document.

use std::path::{Path, PathBuf};

use bench::host;
use bench::net::{Key, NoVisit, Target, Visit};
use bench::plan::{Chosen, Plan, Request, plan};
use bench::reference::detect::{Places, detect};
use bench::reference::{REFERENCES, find};
use bench::runner::{self, Ending, Finished, Setting, WorkerCommand};
use bench::store::{RunFolder, check_writable, write_whole};
use bench::suite::{CpuChoice, DiskChoice, LinpackChoice, MemoryChoice, NetChoice, Suite};
use bench::target::DiskTarget;
use machine::{Declared, Sysroot};
use model::document::{Document, Program, Status};
use model::experiment::Area;
use model::io::DiskCache;
use model::machine::Machine;
use report::Render;

use super::{net_serve, resume};
use crate::args::{Cpu, Disk, Linpack, Measure, Memory, Net, Run};
use crate::environment::{self, Stream};
use crate::exit::{Outcome, Result, complain, print};
use crate::progress::Progress;

/// The renderer of the page that every stored run is given.
const PAGE_FORMAT: &str = "html";

/// `assay` without a command.
pub(crate) fn quick(options: &Measure, began: f64) -> Result {
    match &options.resume {
        Some(run) => resume::resume(run, None, None, options, began),
        None => measure(Suite::find("quick")?, Chosen::default(), None, options, began),
    }
}

/// `assay run`.
pub(crate) fn suite(arguments: &Run, began: f64) -> Result {
    let options = &arguments.measure;
    // One that goes on needs its suite's file no more.
    if let Some(run) = &options.resume {
        return resume::resume(run, arguments.suite.as_deref(), None, options, began);
    }
    measure(Suite::find(arguments.suite.as_deref().unwrap_or("quick"))?, Chosen::default(), None, options, began)
}

/// `assay cpu`.
pub(crate) fn cpu(arguments: &Cpu, began: f64) -> Result {
    let choice =
        CpuChoice { ops: arguments.op.clone(), elements: arguments.elements.clone(), isa: arguments.isa.clone() };
    let chosen = Chosen { isa: !choice.isa.is_empty(), ..Chosen::default() };
    measure(Suite::of_cpu(&choice)?, chosen, None, &arguments.measure, began)
}

/// `assay linpack`.
pub(crate) fn linpack(arguments: &Linpack, began: f64) -> Result {
    let choice = LinpackChoice {
        ops: arguments.op.clone(),
        engines: arguments.engine.clone(),
        orders: arguments.n.clone(),
        nbs: arguments.nb.clone(),
        ldas: arguments.lda.clone(),
        aligns: arguments.align.clone(),
        elements: arguments.elements.clone(),
        isa: arguments.isa.clone(),
    };
    let chosen = Chosen {
        isa: !choice.isa.is_empty(),
        order: !choice.orders.is_empty(),
        element: !choice.elements.is_empty(),
        ..Chosen::default()
    };
    measure(Suite::of_linpack(&choice)?, chosen, None, &arguments.measure, began)
}

/// `assay memory`.
pub(crate) fn memory(arguments: &Memory, began: f64) -> Result {
    let choice = MemoryChoice {
        patterns: arguments.pattern.clone(),
        ops: arguments.op.clone(),
        pages: arguments.pages.clone(),
        isa: arguments.isa.clone(),
        blocks: arguments.block.clone(),
        working_sets: arguments.working_set.clone(),
        chains: arguments.chains.clone(),
        placement: arguments.placement.clone(),
        nodes: arguments.nodes.clone(),
    };
    let chosen = Chosen {
        isa: !choice.isa.is_empty(),
        working_set: !choice.working_sets.is_empty(),
        pages: !choice.pages.is_empty(),
        block: !choice.blocks.is_empty(),
        placement: !choice.placement.is_empty(),
        ..Chosen::default()
    };
    measure(Suite::of_memory(&choice)?, chosen, None, &arguments.measure, began)
}

/// `assay disk`.
pub(crate) fn disk(arguments: &Disk, began: f64) -> Result {
    let of_direct =
        |direct: &bool| if *direct { vec![DiskCache::Bypassed] } else { vec![DiskCache::Cold, DiskCache::Warm] };
    let caches = arguments.cache.iter().copied().chain(arguments.direct.iter().flat_map(of_direct)).collect();
    let choice = DiskChoice {
        patterns: arguments.pattern.clone(),
        ops: arguments.op.clone(),
        blocks: arguments.block.clone(),
        depths: arguments.depth.clone(),
        sizes: arguments.size.clone(),
        engines: arguments.engine.clone(),
        syncs: arguments.sync.clone(),
        caches,
        layouts: arguments.layout.clone(),
        loads: arguments.load_percent.clone(),
    };
    let chosen = Chosen {
        size: !choice.sizes.is_empty(),
        engine: !choice.engines.is_empty(),
        requests: !choice.is_open(),
        ..Chosen::default()
    };
    measure(Suite::of_disk(&choice)?, chosen, None, &arguments.measure, began)
}

/// `assay net`.
pub(crate) fn net(arguments: &Net, began: f64) -> Result {
    let choice = NetChoice {
        protocols: arguments.protocol.clone(),
        modes: arguments.mode.clone(),
        blocks: arguments.block.clone(),
        directions: arguments.direction.clone(),
        zero_copies: arguments.zero_copy.clone(),
        segmentations: arguments.segmentation.clone(),
        waits: arguments.wait.clone(),
        loss_goals: arguments.loss_goal.clone(),
    };
    let key = net_serve::key(arguments.key_file.as_deref())?;
    if let Some(run) = &arguments.measure.resume {
        return resume::resume(run, Some("net"), key, &arguments.measure, began);
    }
    let there = arguments.to.as_ref().map(|target| There { target, key });
    measure(Suite::of_net(&choice)?, Chosen::default(), there.as_ref(), &arguments.measure, began)
}

/// The directory that disks are measured in: the one that was named, else the store's, else the run's.
fn disk_target(suite: &Suite, options: &Measure) -> Option<DiskTarget> {
    let wanted = !suite.disk.is_empty() && (options.area.is_empty() || options.area.contains(&Area::Disk));
    let own = || environment::store().ok().map(|store| store.root().to_owned()).or_else(|| options.out.clone());
    let directory = options.dir.clone().or_else(own).filter(|_| wanted)?;
    let directory = std::path::absolute(&directory).unwrap_or(directory);
    Some(DiskTarget::look(directory, options.dir.is_some()))
}

/// The server at the other end.
pub(super) struct There<'a> {
    pub(super) target: &'a Target,
    pub(super) key: Option<Key>,
}

impl There<'_> {
    /// Visits it, once it has the time.
    pub(super) fn visit(&self, quiet: bool) -> std::result::Result<Visit, NoVisit> {
        let mut told = None;
        Visit::begin(self.target, self.key.as_ref(), env!("CARGO_PKG_VERSION"), &mut |ahead| {
            if !quiet && told.replace(ahead) != Some(ahead) {
                complain(&format!("{} is busy; visitors before us: {ahead}", self.target));
            }
        })
    }
}

fn measure(suite: Suite, chosen: Chosen, there: Option<&There<'_>>, options: &Measure, began: f64) -> Result {
    if let Some(run) = &options.resume {
        return resume::resume(run, Some(&suite.name), None, options, began);
    }
    let declared = Declared::parse(&options.declare)?;
    let machine = machine::discover(&Sysroot::host());
    let time_budget = time_budget(&suite, options);
    let peer = there.map(|there| there.target.host().to_owned());
    let request = Request { peer, ..request(suite, chosen, options)? };
    let places = places(&options.tool)?;
    let plan = plan(&request, &machine).map_err(|error| error.to_string())?;
    // Of all that are known most have no row to stand beside: only what was named is missed.
    let named = |tool: &&&str| options.references.iter().any(|name| name == **tool);
    for tool in request.references.iter().filter(named) {
        if !plan.rows.iter().any(|row| row.beside.contains(tool)) {
            complain(&format!("{tool} stands beside no row of this plan"));
        }
    }
    if options.list {
        let list = plan.list();
        let writes = plan.writes();
        let writes =
            writes.map(|it| report::plan::writes(it.file_bytes, it.total_bytes, it.seconds, it.budget, it.tools));
        let total = format!("{}{}", report::plan::total(&list), writes.unwrap_or_default());
        if options.brief {
            complain(&total);
            return Ok(Outcome::Done);
        }
        print(report::plan::render(&list).as_bytes())?;
        complain(&total);
        for line in report::plan::skipped(&plan.obstacles()) {
            complain(&line);
        }
        return Ok(Outcome::Done);
    }
    if let Some(why) = no_disk(&plan, &request) {
        return Err(why.to_owned());
    }
    check_json(options)?;
    host::note_stop_signals();
    let visit = match there.map(|there| there.visit(options.quiet)).transpose() {
        Ok(visit) => visit,
        Err(why) => return no_visit(why),
    };
    let id = run_id(&machine, &plan.suite);
    let folder = folder(options, &id)?;
    let setting = Setting {
        worker: worker_command()?,
        machine: &machine,
        declared: &declared,
        program: program(),
        id,
        time_budget,
        write_budget: None,
        repeats_fill_budget: options.time_budget.is_some(),
        wait_quiet: options.wait_quiet,
        began,
        verify_only: options.verify,
        disk: request.disk.clone(),
        places,
        stored: folder.is_some(),
        visit: visit.as_ref(),
    };
    let finished = carry_out(&plan, &setting, folder, options.quiet)?;
    // Others wait for the server; whoever reads our output may take its time.
    drop(visit);
    end(&finished.0, finished.1.as_ref(), options)
}

/// Why nothing can be measured of what was named of disks, a directory or requests. Where nothing was, rows are skipped, and
/// other areas go on.
fn no_disk<'p>(plan: &'p Plan, request: &Request) -> Option<&'p str> {
    let named = request.chosen.requests || request.disk.as_ref().is_some_and(|target| target.named);
    plan.impossible(Area::Disk).filter(|_| named)
}

/// Shows the result of a run, and says how the command ends.
pub(super) fn end(finished: &Finished, folder: Option<&RunFolder>, options: &Measure) -> Result {
    show(finished, folder, options)?;
    Ok(outcome(finished))
}

/// How a command ends whose server could not be visited.
pub(super) fn no_visit(why: NoVisit) -> Result {
    match why {
        NoVisit::Named(sentence) => Err(sentence),
        NoVisit::Failed(sentence) => {
            complain(&sentence);
            Ok(Outcome::SomeFailed)
        }
        NoVisit::Interrupted(signal) => Ok(Outcome::Interrupted(signal)),
    }
}

/// The seconds that were asked for, else the suite's, where it is measured as it is.
fn time_budget(suite: &Suite, options: &Measure) -> Option<f64> {
    let as_it_is = options.repeat.is_none() && !options.exact_workload && options.references.is_empty();
    options.time_budget.or(suite.time_budget.filter(|_| as_it_is))
}

/// Where the document is to go besides, if a file was named.
fn json_file(options: &Measure) -> Option<&Path> {
    options.json.as_deref().filter(|path| *path != Path::new("-"))
}

/// Makes sure, before anything is measured, that the document can go where it is wanted.
pub(super) fn check_json(options: &Measure) -> Result<()> {
    let Some(path) = json_file(options) else { return Ok(()) };
    check_writable(path).map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write '{}': {error}", path.display())
}

fn request(suite: Suite, chosen: Chosen, options: &Measure) -> Result<Request> {
    let disk = disk_target(&suite, options);
    let references_of_suite = has_its_references(&suite, options);
    let references = if references_of_suite { found(options)? } else { references(&options.references)? };
    Ok(Request {
        suite,
        areas: options.area.clone(),
        filter: options.filter.clone(),
        threads: options.threads.clone(),
        repeat: options.repeat,
        exact_workload: options.exact_workload,
        write_budget: options.write_budget,
        seed: options.seed,
        chosen,
        disk,
        peer: None,
        references,
        references_of_suite,
    })
}

/// Whether a suite is measured beside the trusted tools that it wants.
fn has_its_references(suite: &Suite, options: &Measure) -> bool {
    suite.references.is_some() && options.references.is_empty() && !options.exact_workload && !options.verify
}

/// The trusted tools that are here and can be used.
fn found(options: &Measure) -> Result<Vec<&'static str>> {
    let places = places(&options.tool)?;
    let abouts = REFERENCES.iter().map(|reference| reference.about());
    Ok(abouts.filter(|about| detect(about, &places).is_ok()).map(|about| about.tool).collect())
}

/// The trusted tools of these names; `all` are those that are known, `none` is none.
fn references(names: &[String]) -> Result<Vec<&'static str>> {
    if names.len() > 1 && names.iter().any(|name| name == "none") {
        return Err(format!("'none' stands alone, not in '{}': name the tools, all, or none", names.join(",")));
    }
    let mut tools: Vec<&'static str> = Vec::new();
    for name in names {
        let named = match name.as_str() {
            "all" => REFERENCES.iter().map(|reference| reference.about().tool).collect(),
            "none" => Vec::new(),
            name => vec![known_tool(name).ok_or_else(|| unknown_tool(name))?],
        };
        for tool in named {
            if !tools.contains(&tool) {
                tools.push(tool);
            }
        }
    }
    Ok(tools)
}

/// The id of a known tool of this name.
fn known_tool(name: &str) -> Option<&'static str> {
    find(name).map(|reference| reference.about().tool)
}

fn unknown_tool(name: &str) -> String {
    let known: Vec<_> = REFERENCES.iter().map(|reference| reference.about().tool).collect();
    format!("'{name}' is no reference tool of this version; known: {}, all, none", known.join(", "))
}

/// Where trusted tools are looked for.
pub(super) fn places(named: &[String]) -> Result<Places> {
    let mut places = Places { search_path: environment::search_path(), ..Places::default() };
    for item in named {
        let (name, path) =
            item.split_once('=').ok_or_else(|| format!("'{item}' is no NAME=PATH, such as fio=/opt/fio/bin/fio"))?;
        let tool = known_tool(name).ok_or_else(|| unknown_tool(name))?;
        places.overrides.insert(tool.to_owned(), path.into());
    }
    Ok(places)
}

/// Where the run is stored: nowhere for a mere check of results, unless a folder was named.
fn folder(options: &Measure, id: &str) -> Result<Option<RunFolder>> {
    match &options.out {
        Some(path) => RunFolder::at(path).map(Some),
        None if options.verify => Ok(None),
        None => {
            let store = environment::store()?;
            store.sweep();
            store.create(id).map(Some)
        }
    }
}

/// Measures; the finished run, and where it is stored.
fn carry_out(
    plan: &Plan,
    setting: &Setting<'_>,
    folder: Option<RunFolder>,
    quiet: bool,
) -> Result<(Finished, Option<RunFolder>)> {
    let mut progress = Progress::new(quiet);
    let finished = runner::run(plan, setting, folder.as_ref(), &mut progress);
    progress.end();
    match finished {
        Ok(finished) => Ok((finished, folder)),
        Err(sentence) => {
            if let Some(folder) = folder {
                folder.abandon();
            }
            Err(sentence)
        }
    }
}

/// Shows the result, and writes the page and the document where they are wanted.
fn show(finished: &Finished, folder: Option<&RunFolder>, options: &Measure) -> Result<()> {
    // That it could not be stored has been said when it happened.
    let folder = folder.filter(|_| finished.not_stored.is_none());
    let page = folder.and_then(|folder| write_page(&finished.document, folder));
    if options.json.as_deref() == Some(Path::new("-")) {
        return print(json(finished)?.as_bytes());
    }
    let style = Stream::Output.style();
    let table = report::terminal::Terminal { style };
    print(&table.render(&finished.document).map_err(|error| error.to_string())?)?;
    if let Some(folder) = folder {
        print(where_it_is(folder.path(), page.as_deref(), style.width).as_bytes())?;
    }
    if let Some(path) = json_file(options) {
        write_whole(path, json(finished)?.as_bytes()).map_err(|error| cannot_write(path, &error))?;
    }
    Ok(())
}

/// Writes the page of a stored run into its folder; where it is. A page that cannot be made or written is complained of:
/// the run is stored all the same, and `assay report` makes its page at any time.
fn write_page(document: &Document, folder: &RunFolder) -> Option<PathBuf> {
    let renderer = report::renderer(PAGE_FORMAT)?;
    let page = renderer.render.render(document).map_err(|error| error.to_string());
    match page.and_then(|page| folder.write_page(&page)) {
        Ok(path) => Some(path),
        Err(reason) => {
            let again = folder.path().display();
            complain(&format!("there is no page of this run: {reason}; to try again: assay report '{again}'"));
            None
        }
    }
}

/// The last words of a run: where it is, and what can be done with it. One line where it fits into so many columns.
fn where_it_is(folder: &Path, page: Option<&Path>, columns: usize) -> String {
    let stored = match page {
        Some(page) => format!("Report: {}", page.display()),
        None => format!("Stored: {}", folder.display()),
    };
    let in_store = environment::store().is_ok_and(|store| store.holds(folder));
    let name = folder.file_name().filter(|_| in_store).map_or(folder.as_os_str(), |name| name);
    let compare = format!("Compare later: assay compare {} NAME", name.display());
    let line = format!("{stored}      {compare}");
    if line.chars().count() <= columns { format!("\n{line}\n") } else { format!("\n{compare}\n{stored}\n") }
}

fn json(finished: &Finished) -> Result<String> {
    report::json::render(&finished.document).map_err(|error| error.to_string())
}

fn outcome(finished: &Finished) -> Outcome {
    let failed = |document: &Document| document.experiments.iter().any(|row| row.status == Status::Failed);
    match finished.ending {
        Ending::Interrupted(signal) => Outcome::Interrupted(signal),
        Ending::Complete if failed(&finished.document) || finished.not_stored.is_some() => Outcome::SomeFailed,
        Ending::Complete => Outcome::Done,
    }
}

/// This very program as a worker.
///
/// # Errors
/// The program's own file cannot be found.
pub(super) fn worker_command() -> Result<WorkerCommand> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program's own file: {error}"))?;
    Ok(WorkerCommand { program, arguments: vec!["worker".into()] })
}

/// Which program this is, for the record.
pub(crate) fn program() -> Program {
    Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        git: option_env!("ASSAY_GIT").map(str::to_owned),
        profile: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        argv: environment::command_line(),
    }
}

/// `2026-11-20T12-00-00Z-host-suite`, fit for a folder's name.
fn run_id(machine: &Machine, suite: &str) -> String {
    let host = machine.host.as_deref().unwrap_or("host");
    let fit = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' }).take(64).collect()
    };
    format!("{}-{}-{}", host::utc_now().replace(':', "-"), fit(host), fit(suite))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_a_name_that_any_file_system_takes() {
        let machine = Machine { host: Some("a host/with:odd\nname".into()), ..Machine::default() };
        let id = run_id(&machine, "../x.toml");
        assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)), "{id}");
    }
}
