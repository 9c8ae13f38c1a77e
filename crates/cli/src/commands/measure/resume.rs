//! `--resume`: continues a run that was cut off, with its original settings.

use bench::host;
use bench::net::{Key, Target};
use bench::runner::{self, CutOff, Setting};
use bench::target::look;
use machine::{Declared, Sysroot};

use super::output::{check_json, end};
use crate::args::measure::Measure;
use crate::commands::net_serve::connect;
use crate::commands::program::{program, worker_command};
use crate::commands::references::places;
use crate::environment;
use crate::exit::{Result, complain};
use crate::progress::Progress;

/// Continues the run `run`, which must be of this suite if one is named. `key` is for its server.
pub(super) fn resume(run: &str, suite: Option<&str>, key: Option<&Key>, options: &Measure, began: f64) -> Result {
    let cut_off = CutOff::open(&environment::store()?, run, options.retry_failed)?;
    let of = &cut_off.asked.plan.suite;
    if let Some(suite) = suite.filter(|suite| suite != of) {
        return Err(format!("the run '{run}' is of the suite '{of}', not '{suite}'. Omit the suite"));
    }
    cut_off.check_same(&machine::discover(&Sysroot::host()))?;
    let disk = cut_off.asked.disk.clone().map(|(directory, named)| look(directory, named));
    if let Some(obstacle) = disk.as_ref().and_then(|target| target.obstacle.as_ref()) {
        return Err(format!("the run '{run}' cannot be resumed: {obstacle}"));
    }
    check_json(options)?;
    host::note_stop_signals();
    let target = cut_off.asked.server.as_deref().map(Target::parse).transpose()?;
    let server = match target.as_ref().map(|target| connect(target, key, options.quiet)).transpose() {
        Ok(server) => server,
        Err(outcome) => return outcome,
    };
    let document = cut_off.document.clone();
    let declared = document.run.declared.iter().map(|(key, value)| format!("{key}={value}"));
    let declared = Declared::parse(&declared.collect::<Vec<_>>())?;
    let before = cut_off.seconds();
    let setting = Setting {
        id: document.run.id.clone(),
        label: document.run.label.clone(),
        time_budget: options.time_budget.map(|budget| before + budget),
        write_budget: options.write_budget,
        repeats_fill_budget: options.time_budget.is_some(),
        wait_quiet: options.wait_quiet,
        verify_only: cut_off.asked.verify_only,
        disk,
        places: places(&options.tool)?,
        stored: true,
        server: server.as_ref(),
        store: environment::store().ok().map(|store| store.root().to_owned()),
        ..Setting::new(worker_command()?, program(), &document.machine, &declared, began - before)
    };
    if !options.quiet {
        let (left, rows) = (cut_off.left().len(), cut_off.asked.plan.rows.len());
        complain(&format!("resuming {}: {left} of {rows} benchmarks are left", document.run.id));
    }
    let mut progress = Progress::new(options.quiet, &cut_off.asked.plan, &document.machine);
    let finished = runner::go_on(cut_off, &setting, &mut |event| progress.event(event));
    progress.end();
    let (finished, folder) = finished?;
    // The server is free for other clients while our output is read.
    drop(server);
    end(&finished, Some(&folder), options)
}
