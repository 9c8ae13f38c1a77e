//! `assay cluster plan`: which benchmarks to run on which nodes, in a folder that all nodes see.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bench::host::utc_now;
use bench::target::look;
use cluster::campaign::forecast::Forecast;
use cluster::folder::Folder;
use cluster::plan::request::{Request, check_time_limits, expected, make};
use cluster::plan::write::{check_empty, write};
use cluster::scheduler::accounting::TimeLimit;
use cluster::scheduler::command::{Environment, find_program};
use cluster::scheduler::script::usable_seconds;
use cluster::scheduler::slurm::{NodeGroup, NodeSelection, choose};
use machine::Sysroot;
use model::cluster::{HplPlan, Plan, PlanLauncher, PlanNode, Task, Work};
use model::experiment::Area;
use model::number::rough_duration as span;

use super::run::{forecast, node_list};
use crate::args::cluster::PlanArgs;
use crate::args::{Arguments, Command};
use crate::commands::program::{own_file, program};
use crate::environment;
use crate::exit::{Outcome, Result, print};

pub(crate) fn plan(arguments: &PlanArgs) -> Result {
    let folder = Folder::at(&arguments.folder);
    check_empty(&folder)?;
    let (request, groups) = request(arguments)?;
    let directory = arguments.dir.clone().or_else(|| environment::store().ok().map(|store| store.root().to_owned()));
    // A directory of the nodes need not exist here.
    let named = arguments.dir.as_ref().is_some_and(|directory| directory.is_dir());
    let disk = look(directory.unwrap_or_else(|| ".".into()), named);
    let seconds = expected(&request, &machine::discover(&Sysroot::host()), disk)?;
    let (plan, tasks) = make(&request, &seconds)?;
    check_time_limits(&plan, &tasks, &groups)?;
    if !arguments.dry_run {
        write(&folder, &plan, &tasks, &own_file()?)?;
    }
    let mut text = summary(&plan, &tasks, &seconds, &groups, folder.path(), arguments.dry_run);
    if arguments.dry_run {
        // The plan is shown even if the scheduler does not respond.
        match forecast(folder.path(), &plan, &tasks) {
            Ok((by, jobs)) => text.push_str(&ahead(by, &jobs)),
            Err(why) => text.extend(["jobs   unknown: ", &why, "\n"]),
        }
    }
    print(text.as_bytes())?;
    Ok(Outcome::Done)
}

fn request(arguments: &PlanArgs) -> Result<(Request, Vec<NodeGroup>)> {
    let Selected { nodes, mut groups, launcher } = nodes(arguments)?;
    groups.iter_mut().for_each(|group| group.shared |= arguments.shared);
    check_options(&arguments.options)?;
    // The text of a suite's file becomes part of the plan: the nodes may not have the file.
    let is_file = Path::new(&arguments.suite).extension().is_some_and(|extension| extension == "toml");
    let suite = if is_file {
        std::fs::read_to_string(&arguments.suite)
            .map_err(|error| format!("cannot read the suite file '{}': {error}", arguments.suite))?
    } else {
        areas::Suite::embedded(&arguments.suite)?;
        arguments.suite.clone()
    };
    let absolute = |path: &PathBuf| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        path.to_str().map(str::to_owned).ok_or_else(|| format!("the path '{}' is not UTF-8", path.display()))
    };
    let name = arguments.folder.file_name().map_or_else(|| "plan".into(), |name| name.to_string_lossy().into_owned());
    let plan = Plan {
        name,
        created: utc_now(),
        program: program(),
        program_path: arguments.program.as_ref().map(absolute).transpose()?.unwrap_or_default(),
        suite,
        options: arguments.options.clone(),
        directory: arguments.dir.as_ref().map(absolute).transpose()?,
        launcher,
        exclusive: (launcher == Some(PlanLauncher::Slurm)).then(|| !groups.iter().any(|group| group.shared)),
        shared: arguments.shared,
        nodes,
        pairing: arguments.pairs.0,
        network: arguments.network.clone(),
        hpl: hpl(arguments)?,
        lease_seconds: arguments.lease,
        attempts: arguments.attempts,
        seed: arguments.seed,
        ..Plan::default()
    };
    let filter = (!arguments.filter.is_empty()).then(|| arguments.filter.join(","));
    Ok((Request { plan, areas: arguments.area.clone(), filter, repeat: arguments.repeat }, groups))
}

fn hpl(arguments: &PlanArgs) -> Result<Option<HplPlan>> {
    let Some(program) = &arguments.hpl else { return Ok(None) };
    // A bare name is searched on the nodes, which may have other programs than this host.
    if program.is_empty() || program.contains('/') && !program.starts_with('/') {
        return Err(format!("'{program}' is neither an absolute path nor the name of a program in PATH"));
    }
    let launcher = arguments.hpl_launcher.iter().flat_map(|words| words.split_whitespace()).map(str::to_owned);
    Ok(Some(HplPlan { program: program.clone(), launcher: launcher.collect(), most_seconds: Some(arguments.hpl_time) }))
}

/// The nodes of a plan, and how they are reached.
struct Selected {
    nodes: Vec<PlanNode>,
    groups: Vec<NodeGroup>,
    launcher: Option<PlanLauncher>,
}

fn nodes(arguments: &PlanArgs) -> Result<Selected> {
    let exclude = arguments.exclude.as_deref().map(node_list).transpose()?.unwrap_or_default();
    let named = |names: Vec<String>, launcher| {
        let names = names.into_iter().filter(|name| !exclude.contains(name));
        let nodes = names.map(|name| PlanNode { name, partition: None }).collect();
        Selected { nodes, groups: Vec::new(), launcher }
    };
    let Some(path) = &arguments.hosts else {
        return match of_slurm(arguments)? {
            Wanted::Names(names) => Ok(named(names, None)),
            Wanted::OfSlurm(wanted, environment) => {
                let (nodes, groups) = choose(&wanted, &exclude, &environment)?;
                Ok(Selected { nodes, groups, launcher: Some(PlanLauncher::Slurm) })
            }
        };
    };
    let cannot_read = |error: std::io::Error| format!("cannot read the file of hosts '{}': {error}", path.display());
    let text = if path == Path::new("-") {
        std::io::read_to_string(std::io::stdin()).map_err(cannot_read)?
    } else {
        std::fs::read_to_string(path).map_err(cannot_read)?
    };
    Ok(named(hosts(&text), Some(PlanLauncher::Ssh)))
}

enum Wanted {
    Names(Vec<String>),
    OfSlurm(NodeSelection, Environment),
}

/// The nodes by Slurm's names; without Slurm those of `--nodes`.
fn of_slurm(arguments: &PlanArgs) -> Result<Wanted> {
    let environment = Environment::of(&environment::everything());
    let has_slurm = find_program("scontrol", &environment).is_some();
    let wanted = match &arguments.nodes {
        Some(names) if !has_slurm => {
            return Ok(Wanted::Names(names.split(',').map(|name| name.trim().to_owned()).collect()));
        }
        Some(expression) => NodeSelection::Expression(expression.clone()),
        None if !arguments.partition.is_empty() => NodeSelection::Partitions(arguments.partition.clone()),
        None if arguments.idle => NodeSelection::Idle,
        None => NodeSelection::All,
    };
    if !has_slurm {
        return Err(
            "Slurm is not installed here (no scontrol in PATH). List the nodes with --nodes or --hosts".to_owned()
        );
    }
    Ok(Wanted::OfSlurm(wanted, environment))
}

fn hosts(text: &str) -> Vec<String> {
    let name = |line: &str| line.split('#').next().unwrap_or_default().trim().to_owned();
    text.lines().map(name).filter(|name| !name.is_empty()).collect()
}

/// Checks that `assay run` accepts these options.
fn check_options(options: &[String]) -> Result<()> {
    let words = ["assay", "run"].into_iter().chain(options.iter().map(String::as_str));
    let shown = options.join(" ");
    let read =
        Arguments::read(words).map_err(|why| format!("'{shown}' is not a valid option list of assay run: {why}"))?;
    let Some(Command::Run(run)) = read.command else { return Ok(()) };
    let measure = &run.measure;
    let in_plan =
        run.suite.is_some() || !measure.filter.is_empty() || !measure.area.is_empty() || measure.dir.is_some();
    let ours = measure.out.is_some() || measure.json.is_some() || measure.resume.is_some();
    if in_plan || ours || measure.list || measure.verify {
        return Err(format!(
            "'{shown}': suite, areas, filter and directory are options of assay cluster plan; options for output, \
             --list and --verify are not allowed"
        ));
    }
    Ok(())
}

fn summary(
    plan: &Plan,
    tasks: &[Task],
    seconds: &BTreeMap<Area, f64>,
    groups: &[NodeGroup],
    folder: &Path,
    dry: bool,
) -> String {
    let nodes = plan.nodes.len();
    let alone: f64 = seconds.values().sum();
    let areas: Vec<String> = seconds.iter().map(|(area, seconds)| format!("{area} {}", span(*seconds))).collect();
    let pairs = tasks.iter().filter(|task| matches!(task.work, Work::Pair(_))).count();
    let hpl = tasks.iter().find(|task| matches!(task.work, Work::Hpl(_)));
    let written = if dry { " (not written)" } else { "" };
    let mut lines = vec![
        format!("plan   {}{written}", folder.display()),
        format!("nodes  {nodes}"),
        format!("tasks  {}, per node: {}", tasks.len(), areas.join(", ")),
    ];
    lines.splice(2..2, groups.iter().map(|group| of_group(group, alone)));
    lines.extend((pairs > 0).then(|| format!("pairs  {pairs} tasks of the network between nodes")));
    lines.extend(hpl.map(|task| format!("HPL    across all nodes, up to about {}", span(task.seconds))));
    // HPL uses all nodes at once; other tasks one node each.
    let together = hpl.map_or(0.0, |task| task.seconds);
    let total = tasks.iter().map(|task| task.seconds).sum::<f64>() - together;
    lines.push(format!(
        "time   {} per node, {:.1} node-hours; {} as one job of all nodes, {} as one job per node in turn",
        span(alone),
        (total + together * nodes as f64) / 3600.0,
        span(total / nodes as f64 + together),
        span(total + together)
    ));
    lines.push("       (estimated on this machine; other nodes may take longer)".to_owned());
    let launcher = plan.launcher.filter(|launcher| *launcher == PlanLauncher::Ssh).map_or("", |_| "   (over ssh)");
    lines.extend((!dry).then(|| format!("next   assay cluster run {}{launcher}", folder.display())));
    lines.join("\n") + "\n"
}

/// The most names of a group that are listed.
const MOST_NAMES: usize = 4;

/// A group of nodes, and what limits its jobs.
fn of_group(group: &NodeGroup, seconds: f64) -> String {
    let NodeGroup { partition, hardware, nodes, longest, shared, .. } = group;
    let names =
        if nodes.len() > MOST_NAMES { format!("{} …", nodes[..MOST_NAMES].join(" ")) } else { nodes.join(" ") };
    let mut parts = vec![format!("       {} in {partition}: {names}", nodes.len())];
    parts.extend((!hardware.is_empty()).then(|| hardware.clone()));
    if let Some(TimeLimit { seconds: longest, by }) = longest {
        let longest = *longest as f64;
        let jobs = (seconds / usable_seconds(longest)).ceil().max(1.0);
        let several = if jobs > 1.0 { format!(", at least {jobs:.0} per node") } else { String::new() };
        parts.push(format!("jobs of at most {} by {by}{several}", span(longest)));
    }
    parts.extend(shared.then(|| "not exclusive: other jobs can run on the nodes and slow the benchmarks".to_owned()));
    parts.join("; ")
}

/// What would be submitted, with the scripts.
fn ahead(by: &str, forecast: &Forecast) -> String {
    let Forecast { scripts, at_a_time, seconds } = forecast;
    let jobs = scripts.len();
    let room = match at_a_time {
        0 => "none of which your limits allow now".to_owned(),
        room => format!("at most {room} at a time by your limits and --max-jobs"),
    };
    let stages = match seconds.as_slice() {
        [alone, together] if *together > 0.0 => {
            format!(" ({} for tasks of single nodes, then {} across nodes)", span(*alone), span(*together))
        }
        _ => String::new(),
    };
    let end = span(seconds.iter().sum()) + &stages;
    format!(
        "jobs   {jobs} through {by}, {room}\nend    after {end}, if every node were idle and each job started at once\n\n{}\n",
        scripts.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::cluster::ClusterCommand;

    #[test]
    fn what_would_be_submitted() {
        let forecast =
            Forecast { scripts: vec!["#!/bin/sh".into(), "true".into()], at_a_time: 2, seconds: vec![3600.0, 3600.0] };
        let text = ahead("Slurm", &forecast);
        assert!(text.starts_with("jobs   2 through Slurm, at most 2 at a time"), "{text}");
        assert!(
            text.contains("after 2.0 h (60 min for tasks of single nodes, then 60 min across nodes), if")
                && text.ends_with("#!/bin/sh\ntrue\n"),
            "{text}"
        );
        assert!(ahead("Slurm", &Forecast { at_a_time: 0, ..forecast }).contains("none of which"));
    }

    #[test]
    fn hpl_is_a_path_or_a_name() {
        let of = |words: &str| {
            let words = format!("assay cluster plan --nodes n1,n2 {words} PLAN");
            let read = Arguments::read(words.split_whitespace());
            let Some(Command::Cluster(crate::args::cluster::Cluster { command: ClusterCommand::Plan(plan) })) =
                read.ok().and_then(|read| read.command)
            else {
                return None;
            };
            Some(hpl(&plan))
        };
        assert_eq!(of(""), Some(Ok(None)));
        let named = of("--hpl --hpl-time 1m").unwrap().unwrap().unwrap();
        assert_eq!((named.program.as_str(), named.launcher.len(), named.most_seconds), ("xhpl", 0, Some(60.0)));
        let path = of("--hpl=/opt/xhpl --hpl-launcher=mpirun").unwrap().unwrap().unwrap();
        assert_eq!((path.program.as_str(), path.launcher.join(" ")), ("/opt/xhpl", "mpirun".to_owned()));
        assert!(of("--hpl=bin/xhpl").unwrap().unwrap_err().contains("neither an absolute path"));
        assert_eq!(of("--hpl --hpl-time 1s"), None, "too short");
        assert_eq!(of("--hpl-time 1m"), None, "of what");
    }

    #[test]
    fn a_file_of_hosts_is_a_name_a_line() {
        assert_eq!(hosts("n1\n# all\n\n  n2 # slow\n"), ["n1", "n2"]);
        assert!(hosts("#\n").is_empty());
    }

    #[test]
    fn options_that_no_node_would_take_are_refused_here() {
        let check = |words: &[&str]| check_options(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&["--threads", "1,2", "--time-budget", "1m"]), Ok(()));
        for words in
            [&["--nothing"][..], &["--threads", "0"], &["--out", "x"], &["classic"], &["--area", "cpu"], &["--list"]]
        {
            assert!(check(words).is_err(), "{words:?}");
        }
    }
}
