//! Whether a job's nodes see the plan's folder. Each job has a probe file there, which each of its nodes answers with
//! another file before its worker begins (`scheduler::script`).

use std::fs;
use std::path::{Path, PathBuf};

use model::cluster::Claim;

use super::history::EndedJob;
use crate::error::Result;
use crate::folder::{Folder, write};
use crate::scheduler::job::JobEnd;
use crate::scheduler::log::last_line;

/// Seconds after which a running job's unanswered probe is reported: longer than a node looks for the file, and than Slurm
/// takes to start a step.
const SILENT_SECONDS: f64 = 90.0;

pub(super) fn ask(folder: &Folder, probe: &str, us: &Claim) -> Result<()> {
    write(&file(folder, probe), us)
}

pub(super) fn withdraw(folder: &Folder, probe: &str) {
    // A leftover is harmless: no node looks for it.
    let _ = fs::remove_file(file(folder, probe));
}

fn file(folder: &Folder, probe: &str) -> PathBuf {
    folder.probes().join(format!("{probe}.json"))
}

pub(super) fn is_answered(folder: &Folder, probe: &str, node: &str) -> bool {
    folder.probes().join(format!("{probe}@{node}")).exists()
}

/// Reports the nodes of a job that should have answered by now, and have not.
pub(super) fn silent(folder: &Folder, (id, probe): (&str, &str), nodes: &[String], seconds: f64) -> Option<String> {
    if seconds < SILENT_SECONDS {
        return None;
    }
    let silent: Vec<&str> = nodes.iter().map(String::as_str).filter(|node| !is_answered(folder, probe, node)).collect();
    let first = silent.first()?;
    let others = others(silent.len());
    Some(format!(
        "the job {id} has run for {seconds:.0} s, but '{first}'{others} has not answered the probe file '{}': {}",
        file(folder, probe).display(),
        not_seen(folder)
    ))
}

fn not_seen(folder: &Folder) -> String {
    format!(
        "the node cannot read the plan's folder, or its file system hangs. The folder must be on a file system that \
         all nodes share (here it is {})",
        file_system(folder.path())
    )
}

fn file_system(path: &Path) -> String {
    let kind = rustix::fs::statfs(path).ok().and_then(|found| u64::try_from(found.f_type).ok());
    kind.and_then(machine::filesystem_kind).map_or_else(|| "of unknown type".to_owned(), |kind| kind.name.to_owned())
}

/// ` and N more`.
pub(super) fn others(nodes: usize) -> String {
    if nodes > 1 { format!(" and {} more", nodes - 1) } else { String::new() }
}

/// Why a job finished nothing on a node, as far as it is known.
pub(super) fn why_nothing(folder: &Folder, job: &EndedJob, node: &str, end: Option<&JobEnd>) -> String {
    let line = last_line(folder, &job.id, (job.nodes.len() > 1).then_some(node));
    let says = end.map(|end| format!("the scheduler reports {end}"));
    if end.is_some_and(JobEnd::is_from_outside) {
        return [says, line].into_iter().flatten().collect::<Vec<_>>().join("; ");
    }
    if let Some(line) = line {
        return line;
    }
    let log = folder.log().join(format!("{}.out", job.id));
    let nothing = match &job.probe {
        Some(probe) if !is_answered(folder, probe, node) => format!(
            "the node has not answered the probe file '{}' and printed nothing: {}",
            file(folder, probe).display(),
            not_seen(folder)
        ),
        _ => format!("it printed nothing into '{}'", log.display()),
    };
    [Some(nothing), says].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The nodes that get jobs of their own from now on, since they may have stopped the whole job: those that have not
/// answered. If none has, the job's script did not begin on its first node.
pub(super) fn suspects<'j>(folder: &Folder, job: &'j EndedJob, end: Option<&JobEnd>) -> Vec<&'j str> {
    let Some(probe) = job.probe.as_ref().filter(|_| !end.is_some_and(JobEnd::is_from_outside)) else {
        return Vec::new();
    };
    let silent: Vec<&str> =
        job.nodes.iter().map(String::as_str).filter(|node| !is_answered(folder, probe, node)).collect();
    if silent.len() == job.nodes.len() { silent.into_iter().take(1).collect() } else { silent }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::support::{Scratch, claim, plan_folder};

    /// A plan's folder with the probe file `p-1`.
    fn probed() -> (Scratch, Folder) {
        let scratch = plan_folder();
        let folder = Folder::at(scratch.path());
        fs::create_dir_all(folder.log()).unwrap();
        ask(&folder, "p-1", &claim("a")).unwrap();
        (scratch, folder)
    }

    fn answer(folder: &Folder, node: &str) {
        fs::write(folder.probes().join(format!("p-1@{node}")), "host\n").unwrap();
    }

    fn job(nodes: &[&str]) -> EndedJob {
        let nodes: Vec<String> = nodes.iter().map(|node| (*node).to_owned()).collect();
        EndedJob { id: "7".into(), fruitless: nodes.clone(), nodes, probe: Some("p-1".into()), together: false }
    }

    fn end(state: &str) -> JobEnd {
        JobEnd { state: state.into(), exit: "0:53".into() }
    }

    #[test]
    fn a_node_that_has_not_answered_does_not_see_the_folder() {
        let (_scratch, folder) = probed();
        let why = why_nothing(&folder, &job(&["n3"]), "n3", Some(&end("FAILED")));
        for part in ["has not answered the probe file", "p-1.json", "cannot read the plan", "FAILED, exit status 0:53"]
        {
            assert!(why.contains(part), "{part}: {why}");
        }
        answer(&folder, "n3");
        let why = why_nothing(&folder, &job(&["n3"]), "n3", None);
        assert!(why.starts_with("it printed nothing into '") && why.ends_with("log/7.out'"), "{why}");
    }

    #[test]
    fn what_was_printed_is_the_nodes_own() {
        let (_scratch, folder) = probed();
        fs::write(folder.log().join("7.out"), "assay: n3: it is broken\nassay: n1: 3 tasks\n").unwrap();
        let why = |nodes: &[&str], node| why_nothing(&folder, &job(nodes), node, None);
        assert_eq!(why(&["n1", "n3"], "n3"), "assay: n3: it is broken");
        assert!(why(&["n1", "n2"], "n2").contains("cannot read the plan"), "{}", why(&["n1", "n2"], "n2"));
        assert_eq!(why(&["n2"], "n2"), "assay: n1: 3 tasks", "whatever a job of one node prints is that node's");
    }

    #[test]
    fn a_cancelled_job_is_not_the_nodes_fault() {
        let (_scratch, folder) = probed();
        let jobs = job(&["n1", "n2"]);
        assert_eq!(why_nothing(&folder, &jobs, "n1", Some(&end("CANCELLED"))), "the scheduler reports CANCELLED");
        assert_eq!(suspects(&folder, &jobs, Some(&end("PREEMPTED"))), Vec::<&str>::new());
        assert_eq!(suspects(&folder, &jobs, Some(&end("FAILED"))), ["n1"], "the script did not begin");
        answer(&folder, "n1");
        assert_eq!(suspects(&folder, &jobs, None), ["n2"]);
        answer(&folder, "n2");
        assert_eq!(suspects(&folder, &jobs, None), Vec::<&str>::new());
    }

    #[test]
    fn a_running_job_has_its_time_to_be_seen() {
        let (_scratch, folder) = probed();
        let nodes = ["n1", "n2", "n3"].map(str::to_owned);
        let report = |seconds| silent(&folder, ("7", "p-1"), &nodes, seconds);
        assert_eq!(report(30.0), None);
        answer(&folder, "n1");
        let text = report(95.0).unwrap();
        assert!(text.starts_with("the job 7 has run for 95 s, but 'n2' and 1 more has not answered"), "{text}");
        answer(&folder, "n2");
        answer(&folder, "n3");
        assert_eq!(report(95.0), None);
    }
}
