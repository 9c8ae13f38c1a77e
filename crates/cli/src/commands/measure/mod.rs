//! The measuring commands: from options to a request, then a plan, then a stored document.

mod output;
mod request;
mod resume;
mod server;

use areas::{Choices, Request, Suite, plan};
use bench::host;
use bench::runner::{self, Finished, Setting};
use bench::store::RunFolder;
use machine::{Declared, Sysroot};
use model::machine::Machine;
use model::plan::{Plan, PlanError};

use super::net_serve;
use super::program::{program, worker_command};
use super::references::places;
use crate::args::measure::{Measure, Run};
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
    // A resumed run does not need its suite's file.
    if let Some(run) = &options.resume {
        return resume::resume(run, arguments.suite.as_deref(), None, options, began);
    }
    let suite = host::suite(arguments.suite.as_deref().unwrap_or("quick"))?;
    measure(suite, Choices::default(), None, options, began)
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
    // Most of all known tools fit no benchmark; only those that were named are reported.
    let named = |tool: &&String| options.references.contains(*tool);
    for tool in request.references.tools.iter().filter(named) {
        if !plan.rows.iter().any(|row| row.reference_tools.contains(tool)) {
            complain(&format!("{tool} compares with no benchmark of this plan"));
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
    // The server is free for other clients while our output is read.
    drop(server);
    end(&finished.0, finished.1.as_ref(), options)
}

/// The user's time budget, else the suite's if it is measured unchanged.
fn time_budget(suite: &Suite, options: &Measure) -> Option<f64> {
    let as_it_is = options.repeat.is_none() && !options.exact_workload && options.references.is_empty();
    options.time_budget.or(suite.time_budget.filter(|_| as_it_is))
}

/// The run's folder; none for `--verify`, unless one was named.
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

/// Measures; returns the finished run and its folder.
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
