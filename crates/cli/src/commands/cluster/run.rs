//! `assay cluster run`: starts workers on the nodes of a plan until every task is finished.

use std::path::Path;

use bench::host;
use cluster::campaign::decide::Options;
use cluster::campaign::forecast::{self, Forecast};
use cluster::campaign::retry::retry;
use cluster::campaign::run::{CampaignContext, CampaignEnd, CampaignEvent, SystemClock, run as run_campaign};
use cluster::evaluate::{evaluate, second_pass};
use cluster::folder::Folder;
use cluster::scheduler::command::{Environment, find_program};
use cluster::scheduler::direct::{self, Direct};
use cluster::scheduler::job::{JobSettings, Scheduler};
use cluster::scheduler::slurm::{self, Slurm};
use cluster::scheduler::words::{checked_lines, checked_path};
use indicatif::ProgressBar;
use model::cluster::{Plan, PlanLauncher, Task};
use model::number::{counted, rough_duration};

use crate::args::cluster::{Launcher, RunArgs};
use crate::commands::program::program;
use crate::environment;
use crate::exit::{Outcome, Result, complain, print};
use crate::progress;

/// The default of `--max-jobs`: any number of jobs does all tasks.
const JOBS: u32 = 4;

struct Chosen {
    scheduler: Box<dyn Scheduler>,
    /// The most jobs in the queue by default.
    jobs: u32,
    /// Whether jobs for busy nodes can wait in its queue.
    queues: bool,
}

pub(crate) fn run(arguments: &RunArgs) -> Result {
    let path = std::fs::canonicalize(&arguments.folder)
        .map_err(|error| format!("cannot open the plan in '{}': {error}", arguments.folder.display()))?;
    let folder = Folder::at(&path);
    let plan = folder.own_plan()?;
    let settings = JobSettings {
        plan: checked_path(&path)?.into(),
        name: plan.name.clone(),
        program: checked_path(&folder.program(&plan))?.into(),
        lines: checked_lines(&arguments.sbatch)?,
        shared: plan.shared,
    };
    let at_once = arguments.max_concurrent.unwrap_or(arguments.nodes_per_job);
    let launcher = launcher(arguments.launcher, &plan);
    let Chosen { mut scheduler, jobs, queues } =
        choose(launcher, arguments.ssh_config.as_deref(), at_once, settings, &plan)?;
    if let Some(seconds) = arguments.time.filter(|_| queues) {
        check_time(seconds, &plan, scheduler.as_mut())?;
    }
    let exclude = arguments.exclude.as_deref().map(node_list).transpose()?.unwrap_or_default();
    if let Some(unknown) = exclude.iter().find(|name| plan.nodes.iter().all(|node| node.name != **name)) {
        return Err(format!("the plan has no node '{unknown}', so it cannot be excluded"));
    }
    let options = Options {
        max_jobs: arguments.max_jobs.unwrap_or(jobs),
        nodes_per_job: arguments.nodes_per_job,
        at_once: arguments.max_concurrent,
        job_seconds: arguments.time,
        exclude,
        confirm: !arguments.no_confirm,
        patience_seconds: arguments.unreachable_timeout,
        poll_seconds: arguments.poll,
    };
    if arguments.dry_run {
        let scripts = forecast::scripts(&folder, &options, scheduler.as_mut())?;
        print(scripts.join("\n").as_bytes())?;
        return Ok(Outcome::Done);
    }
    host::note_stop_signals();
    if arguments.retry {
        let tasks = retry(&folder, &plan)?;
        complain(&format!("{} run again", counted(tasks, "task")));
    }
    let mut watch = Watch::new();
    let mut means = CampaignContext {
        scheduler: scheduler.as_mut(),
        queues,
        second_pass: &mut confirm,
        clock: &mut SystemClock,
        report: &mut |event| watch.show(event),
    };
    let finished = run_campaign(&folder, &options, &mut means);
    drop(watch);
    match finished {
        Ok(finished) => Ok(outcome(&finished, &arguments.folder, queues)),
        // What happens after the start is no bad input.
        Err(error) => {
            complain(&error.to_string());
            Ok(Outcome::Failed)
        }
    }
}

/// The launcher to use: the one of the plan unless another is requested.
fn launcher(requested: Launcher, plan: &Plan) -> Launcher {
    match (requested, plan.launcher) {
        (Launcher::Auto, Some(PlanLauncher::Ssh)) => Launcher::Ssh,
        (requested, _) => requested,
    }
}

/// Refuses a time limit that no job of the plan can have. A scheduler that does not answer is waited for later.
fn check_time(seconds: f64, plan: &Plan, scheduler: &mut dyn Scheduler) -> Result<()> {
    let Ok(state) = scheduler.poll() else { return Ok(()) };
    for node in &plan.nodes {
        let limit = state.bounds(node.partition.as_deref()).seconds.map(|limit| limit as f64);
        if let Some(limit) = limit.filter(|limit| seconds > *limit) {
            let partition =
                node.partition.as_deref().map_or("the default partition".into(), |name| format!("'{name}'"));
            return Err(format!(
                "--time {} is above the time limit of jobs in {partition}: {}",
                rough_duration(seconds),
                rough_duration(limit)
            ));
        }
    }
    Ok(())
}

/// Nodes by name, or by an expression where Slurm is installed.
pub(super) fn node_list(list: &str) -> Result<Vec<String>> {
    let environment = Environment::of(&environment::everything());
    if find_program("scontrol", &environment).is_some() {
        return Ok(slurm::expand(list, &environment)?);
    }
    Ok(list.split(',').map(|name| name.trim().to_owned()).collect())
}

/// What `assay cluster run` would submit for a plan, which need not have been written, and the scheduler's name: Slurm if
/// installed, else ssh, else this host.
pub(super) fn forecast(folder: &Path, plan: &Plan, tasks: &[Task]) -> Result<(&'static str, Forecast)> {
    let path = std::path::absolute(folder)
        .map_err(|error| format!("cannot resolve the path '{}': {error}", folder.display()))?;
    let program = path.join(&plan.program_path);
    let settings = JobSettings {
        plan: checked_path(&path)?.into(),
        name: plan.name.clone(),
        program: checked_path(&program)?.into(),
        lines: Vec::new(),
        shared: plan.shared,
    };
    let environment = Environment::of(&environment::everything());
    let has = |name: &str| find_program(name, &environment).is_some();
    let (launcher, name) = match () {
        () if plan.launcher == Some(PlanLauncher::Ssh) => (Launcher::Ssh, "ssh"),
        () if has("sbatch") => (Launcher::Auto, "Slurm"),
        () if has("ssh") => (Launcher::Ssh, "ssh (no Slurm here)"),
        () => (Launcher::Here, "this host (no Slurm and no ssh here)"),
    };
    let options = Options::default();
    let Chosen { mut scheduler, jobs, .. } = choose(launcher, None, options.nodes_per_job, settings, plan)?;
    let options = Options { max_jobs: jobs, ..options };
    Ok((name, forecast::forecast(plan, tasks, &options, scheduler.as_mut())?))
}

fn confirm(folder: &Folder) -> cluster::error::Result<Vec<Task>> {
    Ok(second_pass(folder, &evaluate(folder, program())?))
}

/// The scheduler to use; over ssh, with this configuration, as many nodes run at once.
fn choose(
    launcher: Launcher,
    ssh_config: Option<&Path>,
    at_once: u32,
    settings: JobSettings,
    plan: &Plan,
) -> Result<Chosen> {
    let environment = Environment::of(&environment::everything());
    let has = |program: &str| find_program(program, &environment).is_some();
    let allocation = environment::text("SLURM_JOB_ID").zip(environment::text("SLURM_JOB_NODELIST"));
    let (direct, jobs) = match (launcher, allocation) {
        (Launcher::Here, _) => (direct::Launcher::Here, 1),
        (Launcher::Ssh, _) => {
            if !has("ssh") {
                return Err("ssh is not in PATH".to_owned());
            }
            let config = ssh_config.map(std::fs::canonicalize).transpose();
            let config = config.map_err(|error| format!("cannot read the ssh configuration: {error}"))?;
            (direct::Launcher::Ssh(config), at_once)
        }
        (Launcher::Auto, Some((job, nodes))) if has("srun") => {
            let nodes = slurm::expand(&nodes, &environment)?.into_iter().collect();
            (direct::Launcher::Allocation(job, nodes), JOBS)
        }
        (Launcher::Auto | Launcher::Slurm, _) => {
            if let Some(missing) = ["sbatch", "squeue", "sinfo", "scontrol"].into_iter().find(|name| !has(name)) {
                return Err(format!(
                    "Slurm is not installed here ('{missing}' is not in PATH). Run it on a submit host, or use \
                     --launcher ssh, or --launcher here to try the plan on this host"
                ));
            }
            let slurm = Slurm::new(settings, environment, &plan.nodes)?;
            return Ok(Chosen { scheduler: Box::new(slurm), jobs: JOBS, queues: true });
        }
    };
    let direct = Direct::new(settings, environment, plan, direct)?;
    Ok(Chosen { scheduler: Box::new(direct), jobs, queues: false })
}

/// Reports how the campaign ended.
fn outcome(finished: &CampaignEnd, folder: &Path, queues: bool) -> Outcome {
    let folder = folder.display();
    let (next, outcome) = match finished {
        CampaignEnd::AllFinished { without_result: 0 } => {
            (format!("next: assay cluster report {folder}"), Outcome::Done)
        }
        CampaignEnd::AllFinished { .. } => (
            format!("next: assay cluster report {folder}; to run these again: assay cluster run --retry {folder}"),
            Outcome::Failed,
        ),
        CampaignEnd::Stopped { .. } => (format!("to continue: assay cluster run {folder}"), Outcome::Failed),
        CampaignEnd::Interrupted { signal, jobs } if queues && !jobs.is_empty() => {
            let progress = format!("the jobs continue; progress: assay cluster status {folder}");
            (format!("{progress}; to end them: assay cluster cancel {folder}"), Outcome::Interrupted(*signal))
        }
        CampaignEnd::Interrupted { signal, .. } => {
            (format!("to continue: assay cluster run {folder}"), Outcome::Interrupted(*signal))
        }
    };
    complain(&format!("{} {finished}; {next}", host::utc_now()));
    outcome
}

/// The progress on standard error: lines that stay, and on a terminal a live line.
struct Watch {
    live: Option<ProgressBar>,
    /// The last progress in a log.
    last: String,
}

impl Watch {
    fn new() -> Self {
        let live = progress::bar("{spinner} {pos}/{len} tasks {wide_msg} {elapsed}");
        if let Some(bar) = &live {
            bar.set_length(0);
        }
        Self { live, last: String::new() }
    }

    fn show(&mut self, event: CampaignEvent) {
        match event {
            CampaignEvent::Submitted { id, nodes } => {
                let first = nodes.first().map_or("", String::as_str);
                let others = if nodes.len() > 1 { format!(" and {} more", nodes.len() - 1) } else { String::new() };
                self.line(&format!("job {id} for {first}{others}"));
            }
            CampaignEvent::Remark(text) => self.line(&text),
            CampaignEvent::Progress { over, left, why } => {
                if let Some(bar) = &self.live {
                    bar.set_length(over + left);
                    bar.set_position(over);
                    bar.set_message(why);
                    bar.tick();
                    return;
                }
                let line = format!("{over} of {} tasks have ended: {why}", over + left);
                if line != self.last {
                    self.line(&line);
                    self.last = line;
                }
            }
        }
    }

    fn line(&self, text: &str) {
        let text = &format!("{} {text}", host::utc_now());
        match &self.live {
            Some(bar) => bar.println(text),
            None => complain(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_of_hosts_runs_over_ssh_even_where_slurm_is() {
        let of_hosts = Plan { launcher: Some(PlanLauncher::Ssh), ..Plan::default() };
        assert_eq!(launcher(Launcher::Auto, &of_hosts), Launcher::Ssh);
        assert_eq!(launcher(Launcher::Here, &of_hosts), Launcher::Here);
        assert_eq!(launcher(Launcher::Auto, &Plan::default()), Launcher::Auto);
    }

    #[test]
    fn how_it_ended_is_its_status() {
        let of = |finished: CampaignEnd| {
            let ended = outcome(&finished, Path::new("/p"), true);
            // `status` takes it from the plan's folder.
            assert_eq!(format!("{:?}", crate::exit::status_of(&ended)), finished.status().to_string());
            ended
        };
        assert_eq!(of(CampaignEnd::AllFinished { without_result: 0 }), Outcome::Done);
        assert_eq!(of(CampaignEnd::AllFinished { without_result: 1 }), Outcome::Failed);
        assert_eq!(of(CampaignEnd::Stopped { left: 1, why: "it is".into() }), Outcome::Failed);
        assert_eq!(of(CampaignEnd::Interrupted { signal: 2, jobs: vec!["7".into()] }), Outcome::Interrupted(2));
    }
}
