//! Whether a job's nodes see the plan's folder. Each job has a probe file in it; every node of the job finds that file
//! and answers it with one beside it before its worker begins (`scheduler::script`). What is told of a job that came to
//! nothing follows from who has answered, from what the job printed, and from what the scheduler says of its end.

use std::fs;
use std::path::{Path, PathBuf};

use model::cluster::Claim;

use super::history::EndedJob;
use crate::error::Result;
use crate::folder::{Folder, write};
use crate::scheduler::job::JobEnd;
use crate::scheduler::log::{last_line, last_line_of};

/// How long a job runs until it is told that a node of it has not answered, in seconds: longer than a node looks for the
/// probe file, and than Slurm takes to start a step.
const SILENT_SECONDS: f64 = 90.0;

pub(super) fn ask(folder: &Folder, probe: &str, us: &Claim) -> Result<()> {
    write(&file(folder, probe), us)
}

/// Takes back the probe file of a job that was refused.
pub(super) fn withdraw(folder: &Folder, probe: &str) {
    // One that stays does no harm: nobody looks for it.
    let _ = fs::remove_file(file(folder, probe));
}

fn file(folder: &Folder, probe: &str) -> PathBuf {
    folder.probes().join(format!("{probe}.json"))
}

pub(super) fn is_answered(folder: &Folder, probe: &str, node: &str) -> bool {
    folder.probes().join(format!("{probe}@{node}")).exists()
}

/// Nodes of a job that runs for so long that they should have answered, and have not; with why that matters.
pub(super) fn silent(folder: &Folder, (id, probe): (&str, &str), nodes: &[String], seconds: f64) -> Option<String> {
    if seconds < SILENT_SECONDS {
        return None;
    }
    let silent: Vec<&str> = nodes.iter().map(String::as_str).filter(|node| !is_answered(folder, probe, node)).collect();
    let first = silent.first()?;
    let others = others(silent.len());
    Some(format!(
        "the job {id} runs for {seconds:.0} s, and '{first}'{others} has not answered its probe file '{}': {}",
        file(folder, probe).display(),
        not_seen(folder)
    ))
}

fn not_seen(folder: &Folder) -> String {
    format!(
        "the node does not see the plan's folder, or waits for its file system; that must be one that all nodes share \
         (here it is {})",
        file_system(folder.path())
    )
}

/// What kind of file system a folder is on.
fn file_system(path: &Path) -> String {
    let kind = rustix::fs::statfs(path).ok().and_then(|found| u64::try_from(found.f_type).ok());
    kind.and_then(machine::filesystem_kind)
        .map_or_else(|| "of a kind that is not known".to_owned(), |kind| kind.name.to_owned())
}

/// ` and N more`.
pub(super) fn others(nodes: usize) -> String {
    if nodes > 1 { format!(" and {} more", nodes - 1) } else { String::new() }
}

/// Why a job came to nothing on a node, as far as it can be told.
pub(super) fn why_nothing(folder: &Folder, job: &EndedJob, node: &str, end: Option<&JobEnd>) -> String {
    // What several nodes printed is in one file.
    let line = if job.nodes.len() > 1 { last_line_of(folder, &job.id, node) } else { last_line(folder, &job.id) };
    let says = end.map(|end| format!("the scheduler says {end}"));
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

/// The nodes that are to go alone from now on, since they may be why a job came to nothing for others too: those that
/// have not answered. Where none has, the job did not begin, and that is the matter of the node that its script runs on,
/// the first.
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
    use crate::claims::claim::claimer;

    struct Scratch(Folder);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("assay-probe-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.join("log")).unwrap();
            ask(&Folder::at(&path), "p-1", &claimer(None).unwrap()).unwrap();
            Self(Folder::at(&path))
        }

        fn answers(&self, node: &str) {
            fs::write(self.0.probes().join(format!("p-1@{node}")), "host\n").unwrap();
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(self.0.path());
        }
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
        let plan = Scratch::new("nothing");
        let why = why_nothing(&plan.0, &job(&["n3"]), "n3", Some(&end("FAILED")));
        for part in ["has not answered the probe file", "p-1.json", "does not see", "FAILED, exit status 0:53"] {
            assert!(why.contains(part), "{part}: {why}");
        }
        plan.answers("n3");
        let why = why_nothing(&plan.0, &job(&["n3"]), "n3", None);
        assert!(why.starts_with("it printed nothing into '") && why.ends_with("log/7.out'"), "{why}");
    }

    #[test]
    fn what_was_printed_is_the_nodes_own() {
        let plan = Scratch::new("printed");
        fs::write(plan.0.log().join("7.out"), "assay: n3: it is broken\nassay: n1: 3 tasks\n").unwrap();
        let why = |nodes: &[&str], node| why_nothing(&plan.0, &job(nodes), node, None);
        assert_eq!(why(&["n1", "n3"], "n3"), "assay: n3: it is broken");
        assert!(why(&["n1", "n2"], "n2").contains("does not see"), "{}", why(&["n1", "n2"], "n2"));
        assert_eq!(why(&["n2"], "n2"), "assay: n1: 3 tasks", "whatever a job of one node prints is that node's");
    }

    #[test]
    fn a_job_that_somebody_ended_is_not_the_nodes_fault() {
        let plan = Scratch::new("cancelled");
        let jobs = job(&["n1", "n2"]);
        assert_eq!(why_nothing(&plan.0, &jobs, "n1", Some(&end("PREEMPTED"))), "the scheduler says PREEMPTED");
        assert_eq!(suspects(&plan.0, &jobs, Some(&end("PREEMPTED"))), Vec::<&str>::new());
        assert_eq!(suspects(&plan.0, &jobs, Some(&end("FAILED"))), ["n1"], "the script did not begin");
        plan.answers("n1");
        assert_eq!(suspects(&plan.0, &jobs, None), ["n2"]);
        plan.answers("n2");
        assert_eq!(suspects(&plan.0, &jobs, None), Vec::<&str>::new());
    }

    #[test]
    fn a_running_job_has_its_time_to_be_seen() {
        let plan = Scratch::new("silent");
        let nodes = ["n1", "n2", "n3"].map(str::to_owned);
        let told = |seconds| silent(&plan.0, ("7", "p-1"), &nodes, seconds);
        assert_eq!(told(30.0), None);
        plan.answers("n1");
        let text = told(95.0).unwrap();
        assert!(text.starts_with("the job 7 runs for 95 s, and 'n2' and 1 more has not answered"), "{text}");
        plan.answers("n2");
        plan.answers("n3");
        assert_eq!(told(95.0), None);
    }
}
