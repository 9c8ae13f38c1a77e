//! The measuring commands: from options to a request, then a plan, then a stored document.

mod output;
mod request;
mod resume;

use areas::{Choices, Request, Suite, plan};
use bench::host;
use bench::net::{Key, Target};
use bench::runner::{self, Setting};
use bench::store::RunFolder;
use machine::{Declared, Sysroot};
use model::disk_target::DiskTarget;
use model::machine::Machine;
use model::number::size;
use model::plan::{Plan, PlanError};

use super::net_serve;
use super::program::{program, worker_command};
use super::references::places;
use crate::args::measure::Measure;
use crate::args::net::Net;
use crate::args::{Arguments, Command};
use crate::environment;
use crate::exit::{Outcome, Result, complain, print};
use crate::progress::Progress;
use output::{check_json, end};
use request::request;

/// `assay run`, and `assay` without a command.
pub(crate) fn suite(name: Option<&str>, options: &Measure, began: f64) -> Result {
    // A resumed run does not need its suite's file.
    if let Some(run) = &options.resume {
        return resume::resume(run, name, None, options, began);
    }
    measure(host::suite(name.unwrap_or("quick"))?, Choices::default(), None, options, began)
}

/// The command of one area; `choices` are its own options.
pub(crate) fn area(
    suite: std::result::Result<Suite, PlanError>,
    choices: Choices,
    options: &Measure,
    began: f64,
) -> Result {
    measure(suite?, choices, None, options, began)
}

pub(crate) fn net(arguments: &Net, began: f64) -> Result {
    let key = net_serve::key(arguments.key_file.as_deref())?;
    if let Some(run) = &arguments.measure.resume {
        return resume::resume(run, Some("net"), key.as_ref(), &arguments.measure, began);
    }
    let choices = Choices { net: arguments.choice.clone(), ..Choices::default() };
    let server = arguments.to.as_ref().map(|target| (target, key.as_ref()));
    measure(areas::net::suite(&choices.net)?, choices, server, &arguments.measure, began)
}

/// The ids of the benchmarks that a command line plans, measuring nothing.
pub(crate) fn ids(words: &[&str]) -> Result<Vec<String>> {
    let mut arguments = Arguments::read(words.iter().copied())?;
    let suite = match &arguments.command {
        Some(Command::Cpu(area)) => areas::cpu::suite(&area.choice)?,
        Some(Command::Linpack(area)) => areas::linpack::suite(&area.choice)?,
        Some(Command::Memory(area)) => areas::memory::suite(&area.choice)?,
        Some(Command::Disk(area)) => areas::disk::suite(&area.choice)?,
        Some(Command::Net(net)) => areas::net::suite(&net.choice)?,
        Some(Command::Run(run)) => host::suite(run.suite.as_deref().unwrap_or("quick"))?,
        _ => host::suite("quick")?,
    };
    let Some(options) = arguments.measure_mut() else { return Ok(Vec::new()) };
    let machine = machine::discover(&Sysroot::host());
    let request = request(suite, Choices::default(), options, &machine)?;
    let plan = plan(&request, &machine).map_err(|error| error.to_string())?;
    Ok(plan.list().into_iter().map(|(id, _)| id).collect())
}

/// Measures a suite; `server` is that of its network benchmarks, with its key.
fn measure(
    suite: Suite,
    choices: Choices,
    server: Option<(&Target, Option<&Key>)>,
    options: &Measure,
    began: f64,
) -> Result {
    if let Some(run) = &options.resume {
        return resume::resume(run, Some(&suite.name), None, options, began);
    }
    let declared = Declared::parse(&options.declare)?;
    let mut machine = machine::discover(&Sysroot::host());
    machine::declare_type(&mut machine, &declared);
    let time_budget = time_budget(&suite, options);
    let peer = server.map(|(target, _)| target.host.clone());
    let request = Request { peer, ..request(suite, choices, options, &machine)? };
    let places = places(&options.tool)?;
    let mut plan = plan(&request, &machine).map_err(|error| error.to_string())?;
    let not_compared = bench::references::not_compared(&plan, &request.references.tools);
    // Most of all known tools fit no benchmark; only those that were named are reported.
    for found in not_compared.iter().filter(|found| options.references.contains(&found.tool)) {
        complain(&format!("{} compares with no benchmark of this plan: {}", found.tool, found.reason));
    }
    // Those of a suite were found.
    plan.not_compared = if request.references.of_suite { not_compared } else { Vec::new() };
    if options.list {
        return list(&plan, options.brief);
    }
    if let Some(why) = areas::disk::impossible(&plan, &request).or_else(|| areas::net::impossible(&plan)) {
        return Err(why.to_owned());
    }
    check_json(options)?;
    if let Some(writes) = plan.writes().filter(|_| !options.quiet) {
        complain(&will_write(writes.budget, request.disk.as_ref()));
    }
    host::note_stop_signals();
    let server = match server.map(|(target, key)| net_serve::connect(target, key, options.quiet)).transpose() {
        Ok(server) => server,
        Err(outcome) => return outcome,
    };
    let id = run_id(&machine, &plan.suite);
    let folder = folder(options, &id)?;
    let setting = Setting {
        id,
        label: options.label.clone(),
        time_budget,
        repeats_fill_budget: options.time_budget.is_some(),
        wait_quiet: options.wait_quiet,
        verify_only: options.verify,
        disk: request.disk.clone(),
        places,
        stored: folder.is_some(),
        server: server.as_ref(),
        store: environment::store().ok().map(|store| store.root().to_owned()),
        ..Setting::new(worker_command()?, program(), &machine, &declared, began)
    };
    let mut progress = Progress::new(options.quiet, &plan, &machine);
    let finished = runner::run(&plan, &setting, folder.as_ref(), &mut |event| progress.event(event));
    progress.end();
    // The server is free for other clients while our output is read.
    drop(server);
    match finished {
        Ok(finished) => end(&finished, folder.as_ref(), options),
        Err(sentence) => {
            if let Some(folder) = folder {
                folder.abandon();
            }
            Err(sentence)
        }
    }
}

/// Prints a plan; `brief` prints only the number of its benchmarks and their time.
fn list(plan: &Plan, brief: bool) -> Result {
    let list = plan.list();
    let writes = plan.writes();
    let writes = writes.map(|it| report::plan::writes(it.file_bytes, it.total_bytes, it.seconds, it.budget, it.tools));
    let total = format!("{}{}", report::plan::total(&list), writes.unwrap_or_default());
    if brief {
        complain(&total);
        return Ok(Outcome::Done);
    }
    print(report::plan::render(&list).as_bytes())?;
    complain(&total);
    report::plan::skipped(&plan.obstacles()).iter().for_each(|line| complain(line));
    Ok(Outcome::Done)
}

/// What a run says before it writes to a disk.
fn will_write(budget: Option<u64>, disk: Option<&DiskTarget>) -> String {
    let most = budget.filter(|bytes| *bytes < u64::MAX).map(|bytes| format!("at most {} ", size(bytes)));
    let place = disk.map(|disk| format!(" in {}", disk.directory.display())).unwrap_or_default();
    let advice = if most.is_some() { "" } else { ", as much as the disk takes; limit it with --write-budget" };
    format!("disk benchmarks write {}to a test file{place}{advice}", most.unwrap_or_default())
}

/// The user's time budget, else the suite's if it is measured unchanged.
fn time_budget(suite: &Suite, options: &Measure) -> Option<f64> {
    let as_it_is = options.repeat.is_none() && !options.exact_workload && options.references.is_empty();
    options.time_budget.or(suite.time_budget.filter(|_| as_it_is))
}

/// The run's folder; none for `--verify`, unless one was named.
fn folder(options: &Measure, id: &str) -> Result<Option<RunFolder>> {
    match &options.out {
        Some(path) => {
            bench::store::sweep(path);
            RunFolder::at(path).map(Some)
        }
        None if options.verify => Ok(None),
        None => {
            let store = environment::store()?;
            store.sweep();
            store.create(id).map(Some)
        }
    }
}

/// `2026-11-20T12-00-00Z-host-suite`, valid as a folder's name.
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
