//! The LINPACK engine: systems solved and matrices multiplied by threads, each taking its part, and every result checked.

use std::sync::{Arc, Mutex};

use model::experiment::{Area, Experiment};
use model::linpack::{LinpackConditions, LinpackEngine as Whose, LinpackOp, LinpackParams};
use model::unit::Unit;
use model::wire::{Observations, Task};

use super::cpu;
use super::{BackgroundJob, Engine, Job, JobProfile, Opened, Preparing, Residuals, Trouble, params_of};
use crate::locks::lock;

#[cfg(feature = "faer")]
mod faer;
mod library;
mod mixed;
mod operands;
mod own;
mod parts;
mod system;
#[cfg(test)]
pub(crate) mod tests;

use parts::Team;

pub(super) struct LinpackEngine;

impl Engine for LinpackEngine {
    fn area(&self) -> Area {
        Area::Linpack
    }

    fn prepare(&self, task: &Task, _launch: &mut dyn Preparing) -> Result<(), Trouble> {
        let params = params_of(task, Experiment::linpack)?;
        let team = match params.engine {
            Whose::Own => own::team(task, params)?,
            Whose::System => system::team(task, params)?,
            #[cfg(feature = "faer")]
            Whose::Faer => faer::team(task, params)?,
            #[cfg(not(feature = "faer"))]
            other @ Whose::Faer => {
                return Err(Trouble::Unavailable(areas::linpack::solver::refused(other).unwrap_or_default()));
            }
        };
        let open = Open { id: task.experiment.id.clone(), run: task.launch, left: task.cpus.len(), team };
        lock(&PREPARED).push(open);
        Ok(())
    }

    fn open(&self, task: &Task, thread: usize) -> Result<Opened, Trouble> {
        let params = params_of(task, Experiment::linpack)?;
        let team = take(task)
            .ok_or_else(|| Trouble::Failed(format!("'{}' was not prepared before its threads", task.experiment.id)))?;
        let bound = cpu::trial(params.bound(), params.element, params.isa, task.seed ^ thread as u64)
            .ok_or_else(|| Trouble::Unavailable(format!("this CPU has no multiply-add for {}", params.element)))?;
        let job = TeamJob { team, thread, params: params.clone() };
        Ok(Opened::Job { job: Box::new(job), bound })
    }
}

struct Open {
    id: String,
    run: u32,
    left: usize,
    team: Arc<dyn Team>,
}

static PREPARED: Mutex<Vec<Open>> = Mutex::new(Vec::new());

fn take(task: &Task) -> Option<Arc<dyn Team>> {
    let mut all = lock(&PREPARED);
    let index = all.iter().position(|open| (&open.id, open.run) == (&task.experiment.id, task.launch))?;
    let open = &mut all[index];
    open.left = open.left.saturating_sub(1);
    if open.left == 0 { Some(all.swap_remove(index).team) } else { Some(Arc::clone(&open.team)) }
}

struct TeamJob {
    team: Arc<dyn Team>,
    thread: usize,
    params: LinpackParams,
}

impl Drop for TeamJob {
    fn drop(&mut self) {
        // Before the last sample the other threads must not wait for this one.
        self.team.abandon();
    }
}

impl Job for TeamJob {
    fn profile(&self) -> JobProfile {
        let (unit, work) = (Unit::FlopPerSecond, self.params.op.operations(self.params.n));
        JobProfile { unit, work, works_elsewhere: self.team.works_elsewhere() }
    }

    fn prepare(&mut self) -> Result<(), String> {
        self.team.fill(self.thread)
    }

    fn run(&mut self, look: &mut dyn FnMut()) -> Result<(), String> {
        self.team.work(self.thread, look)
    }

    fn verify(&mut self) -> Result<Residuals, String> {
        self.team.check(self.thread)
    }

    fn conclude(&mut self, background: &[BackgroundJob], seen: &mut Observations) {
        let median = |of: fn(&BackgroundJob) -> f64| {
            let values: Vec<f64> =
                background.iter().map(of).filter(|value| value.is_finite() && *value > 0.0).collect();
            stats::summarise(&values).map(|summary| summary.median)
        };
        let factors = self.params.op != LinpackOp::Gemm;
        // One thread reports for all, because they share the buffers.
        let (huge_share, described) = self.team.describe();
        seen.pages_obtained = huge_share;
        seen.linpack = Some(LinpackConditions {
            matrix: self.params.matrix(),
            nb: self.params.nb.filter(|_| factors),
            lda: Some(self.params.lda),
            fill_seconds: median(|one| one.prepare_seconds),
            check_seconds: median(|one| one.verify_seconds),
            fma_flop_per_second: median(|one| one.bound_rate),
            fma_clock_hz: median(|one| one.bound_clock_hz),
            ..described
        });
    }
}
