//! The command that starts HPL's processes: `srun` in the nodes' common allocation, else `mpirun`. Pure.

use std::collections::{BTreeMap, BTreeSet};

use model::cluster::Claim;
use model::linpack::LinpackParams;
use tools::hpl;

use super::size::Size;
use crate::claims::claim::boot_of;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Job(String),
    Hosts,
    OneMachine,
}

pub(super) fn reach(workers: &[(&str, &Claim)]) -> Result<Reach, String> {
    let jobs: BTreeSet<Option<&str>> = workers.iter().map(|(_, claim)| claim.job.as_deref()).collect();
    let machines: BTreeSet<(&str, Option<&str>)> = workers.iter().map(|(_, claim)| machine(claim)).collect();
    match (jobs.first().copied().flatten(), jobs.len()) {
        (Some(job), 1) => Ok(Reach::Job(job.to_owned())),
        (None, 1) if machines.len() == 1 => Ok(Reach::OneMachine),
        (None, 0 | 1) => Ok(Reach::Hosts),
        _ => {
            let place = |(node, claim): &(&str, &Claim)| match &claim.job {
                Some(job) => format!("{node} in job {job}"),
                None => format!("{node} in no job"),
            };
            // One node of each job as an example.
            let mut seen = BTreeSet::new();
            let first = workers.iter().filter(|(_, claim)| seen.insert(claim.job.as_deref())).take(4);
            Err(format!(
                "its nodes are not in one allocation ({}). Raise --nodes-per-job, or run the plan in an allocation \
                 of all of them",
                first.map(place).collect::<Vec<_>>().join(", ")
            ))
        }
    }
}

/// The machine that a worker is on: its name, and its boot without the process namespace.
pub(super) fn machine(claim: &Claim) -> (&str, Option<&str>) {
    (&claim.host, boot_of(claim))
}

/// The whole command: the launcher's words, its options, and the program with its variables. These go through `env`,
/// because launchers differ in what they pass on.
pub(super) fn command(launcher: &[String], reach: &Reach, nodes: &[String], size: &Size, program: &str) -> Vec<String> {
    let (count, processes, per_node) = (nodes.len(), size.params.threads, size.per_node);
    let is_srun = launcher.first().is_some_and(|word| word.rsplit('/').next() == Some("srun"));
    let options: Vec<String> = match reach {
        Reach::Job(job) if is_srun => vec![
            // The workers' own step has all resources of the nodes.
            "--overlap".to_owned(),
            format!("--jobid={job}"),
            format!("--nodes={count}"),
            format!("--nodelist={}", nodes.join(",")),
            format!("--ntasks={processes}"),
            format!("--ntasks-per-node={per_node}"),
            "--mem=0".to_owned(),
            "--cpu-bind=cores".to_owned(),
            "--kill-on-bad-exit=1".to_owned(),
            "--input=none".to_owned(),
        ],
        Reach::OneMachine => vec!["-np".to_owned(), processes.to_string()],
        Reach::Job(_) | Reach::Hosts => {
            let slots: Vec<String> = nodes.iter().map(|node| format!("{node}:{per_node}")).collect();
            vec!["--host".to_owned(), slots.join(","), "-np".to_owned(), processes.to_string()]
        }
    };
    // Those for the program and its library rather than for the launcher.
    let is_wanted = |name: &str| ["OMP_", "OPENBLAS_", "LC_ALL"].iter().any(|start| name.starts_with(start));
    let variables = hpl::environment(&size.params).into_iter().filter(|(name, _)| is_wanted(name));
    let words = launcher.iter().cloned().chain(options).chain(["/usr/bin/env".to_owned()]);
    words.chain(variables.map(|(name, value)| format!("{name}={value}"))).chain([program.to_owned()]).collect()
}

/// The launcher's variables: what Open MPI needs for HPL on one machine, except for the setting that keeps it from
/// reaching other hosts.
pub(super) fn environment(params: &LinpackParams, reach: &Reach) -> BTreeMap<String, String> {
    let mut environment = hpl::environment(params);
    environment.retain(|name, _| name.starts_with("OMPI_") || name == "LC_ALL");
    if *reach != Reach::OneMachine {
        environment.remove("OMPI_MCA_plm_rsh_agent");
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::super::size::{size, tests::member};
    use super::*;

    fn worker(host: &str, job: Option<&str>) -> Claim {
        Claim {
            host: host.into(),
            boot: Some(format!("{host} pid:[1]")),
            job: job.map(str::to_owned),
            ..Claim::default()
        }
    }

    fn words(launcher: &str, reach: &Reach) -> String {
        let launcher: Vec<String> = launcher.split(' ').map(str::to_owned).collect();
        let members = [member("n1", "a", 2, 1), member("n2", "b", 2, 1)];
        let size = size(&members, None).unwrap();
        command(&launcher, reach, &["n1".to_owned(), "n2".to_owned()], &size, "/opt/xhpl").join(" ")
    }

    #[test]
    fn nodes_of_one_job_are_reached_in_it_and_of_several_not_at_all() {
        let of = |list: &[(&str, Option<&str>)]| {
            let claims: Vec<Claim> = list.iter().map(|(host, job)| worker(host, *job)).collect();
            let workers: Vec<(&str, &Claim)> = list.iter().map(|(host, _)| *host).zip(&claims).collect();
            reach(&workers)
        };
        assert_eq!(of(&[("n1", Some("7")), ("n2", Some("7"))]), Ok(Reach::Job("7".into())));
        assert_eq!(of(&[("n1", None), ("n2", None)]), Ok(Reach::Hosts));
        assert_eq!(of(&[("n1", None), ("n1", None)]), Ok(Reach::OneMachine));
        for apart in [&[("n1", Some("7")), ("n2", Some("8"))][..], &[("n1", Some("7")), ("n2", None)]] {
            let error = of(apart).unwrap_err();
            assert!(error.contains("n1 in job 7") && error.contains("--nodes-per-job"), "{error}");
        }
    }

    #[test]
    fn a_step_overlaps_the_workers_own() {
        let words = words("srun --mpi=pmix", &Reach::Job("7".into()));
        let begin = "srun --mpi=pmix --overlap --jobid=7 --nodes=2 --nodelist=n1,n2 --ntasks=4 --ntasks-per-node=2";
        assert!(words.starts_with(begin), "{words}");
        assert!(words.contains(" OMP_NUM_THREADS=1 ") && words.ends_with(" /opt/xhpl"), "{words}");
        assert!(!words.contains("OMPI_") && !words.contains("HOME="), "{words}");
    }

    #[test]
    fn without_a_job_the_launcher_gets_hosts_or_none() {
        let hosts = words("mpirun", &Reach::Hosts);
        assert!(hosts.starts_with("mpirun --host n1:2,n2:2 -np 4 /usr/bin/env "), "{hosts}");
        let here = words("mpirun --bind-to core", &Reach::OneMachine);
        assert!(here.starts_with("mpirun --bind-to core -np 4 /usr/bin/env "), "{here}");
        assert!(words("/opt/mpirun", &Reach::Job("7".into())).starts_with("/opt/mpirun --host n1:2"));
        let size = size(&[member("n1", "a", 2, 1)], None).unwrap();
        let remote = environment(&size.params, &Reach::Hosts);
        let local = environment(&size.params, &Reach::OneMachine);
        let agent = "OMPI_MCA_plm_rsh_agent";
        assert!(
            !remote.contains_key(agent) && local[agent].is_empty(),
            "Open MPI reaches other hosts by its own means"
        );
        assert!(remote.contains_key("OMPI_ALLOW_RUN_AS_ROOT") && !remote.contains_key("HOME"));
    }
}
