//! The measuring commands: from options to a request, from the request to a plan, from the plan to a stored document.

mod output;
mod request;
mod resume;
mod server;

use areas::{Choices, Request, Suite, plan};
use bench::host;
use bench::runner::{self, Finished, Setting};
use bench::store::RunFolder;
use bench::suite_file;
use machine::{Declared, Sysroot};
use model::machine::Machine;
use model::plan::Plan;

use super::net_serve;
use super::program::{program, worker_command};
use super::tools::places;
use crate::args::cpu::Cpu;
use crate::args::disk::Disk;
use crate::args::linpack::Linpack;
use crate::args::measure::{Measure, Run};
use crate::args::memory::Memory;
use crate::args::net::Net;
use crate::environment;
use crate::exit::{Outcome, Result, complain, print};
use crate::progress::Progress;
use output::{check_json, end};
use request::request;
use server::{There, no_session};

/// `assay` without a command.
pub(crate) fn quick(options: &Measure, began: f64) -> Result {
    match &options.resume {
        Some(run) => resume::resume(run, None, None, options, began),
        None => measure(Suite::embedded("quick")?, Choices::default(), None, options, began),
    }
}

/// `assay run`.
pub(crate) fn suite(arguments: &Run, began: f64) -> Result {
    let options = &arguments.measure;
    // One that goes on needs its suite's file no more.
    if let Some(run) = &options.resume {
        return resume::resume(run, arguments.suite.as_deref(), None, options, began);
    }
    let suite = suite_file::find(arguments.suite.as_deref().unwrap_or("quick"))?;
    measure(suite, Choices::default(), None, options, began)
}

/// `assay cpu`.
pub(crate) fn cpu(arguments: &Cpu, began: f64) -> Result {
    let choices = Choices { cpu: arguments.choice.clone(), ..Choices::default() };
    measure(areas::cpu::suite(&choices.cpu)?, choices, None, &arguments.measure, began)
}

/// `assay linpack`.
pub(crate) fn linpack(arguments: &Linpack, began: f64) -> Result {
    let choices = Choices { linpack: arguments.choice.clone(), ..Choices::default() };
    measure(areas::linpack::suite(&choices.linpack)?, choices, None, &arguments.measure, began)
}

/// `assay memory`.
pub(crate) fn memory(arguments: &Memory, began: f64) -> Result {
    let choices = Choices { memory: arguments.choice.clone(), ..Choices::default() };
    measure(areas::memory::suite(&choices.memory)?, choices, None, &arguments.measure, began)
}

/// `assay disk`.
pub(crate) fn disk(arguments: &Disk, began: f64) -> Result {
    let choices = Choices { disk: arguments.choice.clone(), ..Choices::default() };
    measure(areas::disk::suite(&choices.disk)?, choices, None, &arguments.measure, began)
}

/// `assay net`.
pub(crate) fn net(arguments: &Net, began: f64) -> Result {
    let key = net_serve::key(arguments.key_file.as_deref())?;
    if let Some(run) = &arguments.measure.resume {
        return resume::resume(run, Some("net"), key, &arguments.measure, began);
    }
    let there = arguments.to.as_ref().map(|target| There { target, key });
    let choices = Choices { net: arguments.choice.clone(), ..Choices::default() };
    measure(areas::net::suite(&choices.net)?, choices, there.as_ref(), &arguments.measure, began)
}

fn measure(suite: Suite, choices: Choices, there: Option<&There<'_>>, options: &Measure, began: f64) -> Result {
    if let Some(run) = &options.resume {
        return resume::resume(run, Some(&suite.name), None, options, began);
    }
    let declared = Declared::parse(&options.declare)?;
    let machine = machine::discover(&Sysroot::host());
    let time_budget = time_budget(&suite, options);
    let peer = there.map(|there| there.target.host().to_owned());
    let request = Request { peer, ..request(suite, choices, options, &machine)? };
    let places = places(&options.tool)?;
    let plan = plan(&request, &machine).map_err(|error| error.to_string())?;
    // Of all that are known most have no row to stand beside: only what was named is missed.
    let named = |tool: &&String| options.references.contains(*tool);
    for tool in request.references.tools.iter().filter(named) {
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
    if let Some(why) = areas::disk::impossible(&plan, &request) {
        return Err(why.to_owned());
    }
    check_json(options)?;
    host::note_stop_signals();
    let server = match there.map(|there| there.connect(options.quiet)).transpose() {
        Ok(server) => server,
        Err(why) => return no_session(why),
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
        server: server.as_ref(),
    };
    let finished = carry_out(&plan, &setting, folder, options.quiet)?;
    // Others wait for the server; whoever reads our output may take its time.
    drop(server);
    end(&finished.0, finished.1.as_ref(), options)
}

/// The seconds that were asked for, else the suite's, where it is measured as it is.
fn time_budget(suite: &Suite, options: &Measure) -> Option<f64> {
    let as_it_is = options.repeat.is_none() && !options.exact_workload && options.references.is_empty();
    options.time_budget.or(suite.time_budget.filter(|_| as_it_is))
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
