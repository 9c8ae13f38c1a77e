//! The table as a whole.

mod broken;
mod explained;
pub(crate) mod fixtures;
mod impossible;
mod sizes;

use std::path::Path;

use model::wire::HeldFile;

use crate::tests::fixtures::{failed, target};
use crate::{FOLDER, PORT, TOOLS, Target, find, ids};

#[test]
fn the_table_is_sound() {
    let mut names: Vec<_> = ids().collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), TOOLS.len(), "ids are unique");
    let example = |id: &str| (find(id).unwrap().description().example)();
    for tool in TOOLS {
        let description = tool.description();
        let (id, how) = (description.id, description.how_to_get);
        assert!(how.contains("https://") && !how.ends_with('.') && !description.compared_with.is_empty(), "{id}");
        assert_eq!(tool.supports(&example(id)), Ok(()));
        let of_other_areas = ids().map(example).filter(|experiment| experiment.area != example(id).area);
        for experiment in of_other_areas {
            let reason = tool.supports(&experiment).unwrap_err();
            assert!(reason.contains("measures"), "{id}: {reason}");
        }
    }
    assert!(find("hyperfine").is_none());
}

#[test]
fn invocations_hold_no_environment_and_end_in_time() {
    for tool in TOOLS {
        let experiment = (tool.description().example)();
        let file = HeldFile { path: "/proc/1/fd/9".to_owned(), bytes: 1 << 20, ..HeldFile::default() };
        let target = Target {
            cpus: &[1, 1, 0],
            other_cpus: &[2],
            file: Some(&file),
            our_rate: Some(1e9),
            launcher: Some(Path::new("/opt/launcher")),
            ..target(&experiment)
        };
        let invocation = tool.invocation(&target).unwrap();
        let by = if tool.description().launcher.is_some() { "/opt/launcher" } else { "/opt/tool" };
        assert!(invocation.argv[0] == by && invocation.argv.iter().any(|word| word == "/opt/tool"));
        assert!(invocation.argv.iter().all(|word| !word.is_empty()), "{:?}", invocation.argv);
        let is_its_own =
            |name: &&String| !["LC_ALL", "HOME", "TMPDIR"].contains(&name.as_str()) && !name.starts_with("OMP_");
        assert_eq!((invocation.env["HOME"].as_str(), invocation.env["TMPDIR"].as_str()), (FOLDER, FOLDER));
        let has_own = ["hpl", "hpcc", "xlinpack"].contains(&tool.description().id);
        assert!(
            has_own || !invocation.env.keys().any(|name| is_its_own(&name)),
            "only the locale, its folder, and threads"
        );
        assert!(invocation.expected_seconds < invocation.timeout_seconds);
        let ports = |argv: &[String]| argv.iter().filter(|word| word.contains(PORT)).count();
        assert_eq!(ports(&invocation.argv), usize::from(invocation.server.is_some()));
        let all: Vec<_> = invocation.server.iter().flat_map(|server| &server.cpus).chain(&invocation.cpus).collect();
        assert!(all == [&0, &1] || all == [&0, &1, &2] || all == [&2, &0, &1], "{all:?}");
    }
}

#[test]
fn a_failure_quotes_the_last_line_of_the_tool() {
    for tool in TOOLS {
        let words = "open: Invalid argument";
        for status in [1, 2, 255] {
            let output = failed(status, &format!("warning\n{words}\n"));
            let reason = tool.parse(&output, &(tool.description().example)()).unwrap_err();
            assert!(reason.contains(words), "{}: {reason}", tool.description().id);
        }
    }
}

#[test]
fn the_first_error_of_a_launcher_is_reported() {
    // Printed by Slurm 22.05 on nodes whose PMIx could not create its folder.
    let srun = "srun: launch/slurm: launch_p_step_launch: StepId=2.2 aborted before step completely launched.\n\
                srun: error: task 2 launch failed: Unspecified error\nsrun: error: n2: task 1: Killed\n\
                srun: launch/slurm: _step_signal: Terminating StepId=2.2\n";
    let mpirun = "-----------\nThere are not enough slots available in the system\n-----------\n";
    for (said, words) in [(srun, "srun: error: task 2 launch failed"), (mpirun, "There are not enough slots")] {
        let hpl = find("hpl").unwrap();
        let reason = hpl.parse(&failed(137, said), &(hpl.description().example)()).unwrap_err();
        assert!(reason.contains(words), "{reason}");
    }
}
