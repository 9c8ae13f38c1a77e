//! What a campaign would submit, by the same decisions, if every node were idle.

use std::collections::BTreeMap;

use model::cluster::{Plan, Task};

use super::decide::{Action, Options, decide};
use super::history::History;
use super::remaining::{self, Remaining};
use crate::error::Result;
use crate::folder::Folder;
use crate::scheduler::error::SchedulerError;
use crate::scheduler::job::{Availability, Job, JobLimits, Scheduler, SchedulerState};

/// What would be submitted for a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The script of each job.
    pub scripts: Vec<String>,
    /// How many jobs could be in the queue, by the user's limits and other jobs.
    pub at_a_time: u32,
    /// The makespan in seconds of the tasks of single nodes, then of those that need several.
    pub seconds: Vec<f64>,
}

/// The forecast for a plan, which need not have been written.
pub fn forecast(
    plan: &Plan,
    tasks: &[Task],
    options: &Options,
    scheduler: &mut dyn Scheduler,
) -> std::result::Result<Forecast, SchedulerError> {
    let state = scheduler.poll()?;
    let left = Remaining::of(plan, tasks);
    let at_a_time = state.room.map_or(options.max_jobs, |room| room.min(options.max_jobs));
    let stages = stages(plan, left.clone(), options, state.bounds);
    let seconds = stages.iter().map(|jobs| {
        let seconds = jobs.iter().map(|job| left.seconds(&job.nodes, job.tasks));
        in_turn(&seconds.collect::<Vec<_>>(), at_a_time)
    });
    Ok(Forecast {
        seconds: seconds.collect(),
        scripts: stages.iter().flatten().map(|job| scheduler.script(job).text()).collect(),
        at_a_time,
    })
}

/// The scripts of all jobs that would be submitted if the queue had room for them.
pub fn scripts(folder: &Folder, options: &Options, scheduler: &mut dyn Scheduler) -> Result<Vec<String>> {
    let plan = folder.plan()?;
    let mut left = remaining::look(folder, &plan, &mut remaining::NeedsCache::default())?;
    left.exclude(&options.exclude);
    // Without the scheduler's answer its limits are unknown.
    let bounds = scheduler.poll().map(|state| state.bounds).unwrap_or_default();
    let stages = stages(&plan, left, options, bounds);
    Ok(stages.iter().flatten().map(|job| scheduler.script(job).text()).collect())
}

/// The jobs for tasks of single nodes, then those for tasks of several.
fn stages(plan: &Plan, mut left: Remaining, options: &Options, bounds: BTreeMap<String, JobLimits>) -> Vec<Vec<Job>> {
    let nodes = plan.nodes.iter().map(|node| (node.name.clone(), Availability::Idle));
    let state = SchedulerState { nodes: nodes.collect(), bounds, ..SchedulerState::default() };
    let options = Options { max_jobs: u32::MAX, at_once: None, ..options.clone() };
    let mut history = History::new(&plan.nodes, true);
    history.may_meet = true;
    let mut stages = Vec::new();
    for _ in 0..2 {
        let actions = decide(&state, &left, &options, &history, 0.0).into_iter();
        stages.push(
            actions.filter_map(|action| if let Action::Submit(job) = action { Some(job) } else { None }).collect(),
        );
        if left.alone() == 0 {
            break;
        }
        left.nodes.values_mut().for_each(|node| node.alone = 0);
    }
    stages
}

/// The makespan of jobs of these seconds, at most `at_a_time` of them concurrently; where there is no room now, one by one.
fn in_turn(jobs: &[f64], at_a_time: u32) -> f64 {
    let places = usize::try_from(at_a_time).unwrap_or(usize::MAX).clamp(1, jobs.len().max(1));
    let mut free_at = vec![0.0; places];
    for seconds in jobs {
        free_at.sort_by(f64::total_cmp);
        free_at[0] += seconds;
    }
    free_at.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::job::{Refusal, Script, Submitted};
    use crate::tests::plan_of;

    /// A scheduler that only knows its limits.
    struct Limited(Option<u32>);

    impl Scheduler for Limited {
        fn script(&self, job: &Job) -> Script {
            Script { command: vec![format!("{:?}", job.tasks), job.nodes.join(",")], input: None }
        }

        fn submit(&mut self, _: &Job) -> std::result::Result<Submitted, Refusal> {
            panic!("nothing is submitted")
        }

        fn poll(&mut self) -> std::result::Result<SchedulerState, SchedulerError> {
            Ok(SchedulerState { room: self.0, ..SchedulerState::default() })
        }

        fn cancel(&mut self, id: &str) -> std::result::Result<(), SchedulerError> {
            panic!("nothing is cancelled, not {id} either")
        }
    }

    #[test]
    fn a_forecast_has_the_scripts_and_the_makespan() {
        // 30 s a node, and 60 + 30 s of HPL across all.
        let (plan, tasks) = plan_of(&["n1", "n2", "n3"], Some(60.0));
        let options = Options { nodes_per_job: 1, ..Options::default() };
        let of = |room| forecast(&plan, &tasks, &options, &mut Limited(room)).unwrap();
        let free = of(None);
        assert_eq!((free.scripts.len(), free.at_a_time, free.seconds), (4, 4, vec![30.0, 90.0]));
        assert!(free.scripts[0].contains("Alone") && free.scripts[3].contains("Together"), "{:?}", free.scripts);
        assert!(free.scripts[3].contains("n1,n2,n3"), "{:?}", free.scripts);
        assert_eq!((of(Some(1)).at_a_time, of(Some(1)).seconds), (1, vec![90.0, 90.0]));
        assert_eq!((of(Some(2)).seconds, of(Some(0)).seconds), (vec![60.0, 90.0], vec![90.0, 90.0]));
        let together = forecast(&plan, &tasks, &Options::default(), &mut Limited(None)).unwrap();
        assert_eq!((together.scripts.len(), together.seconds), (2, vec![30.0, 90.0]), "one job of all, twice");
    }
}
