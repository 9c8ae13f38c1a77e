//! The last lines in the logs of jobs.

use crate::folder::{Folder, tail};

/// Prefix of srun's own lines.
const BY_SRUN: &str = "srun: ";

/// The last line that a job printed, which usually has the reason for its end; with `node`, the last with its name, since
/// several nodes print into one file. A line of srun's only if there is no other: what a worker printed says more.
pub(crate) fn last_line(plan: &Folder, id: &str, node: Option<&str>) -> Option<String> {
    let text = tail(&plan.log().join(format!("{id}.out"))).ok()?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let names = |line: &str| node.is_none_or(|node| line.split(|c| !is_part(c)).any(|word| word == node));
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && names(line));
    let (by_srun, by_worker): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with(BY_SRUN));
    let last = by_worker.last().or(by_srun.last())?;
    Some(last.chars().filter(|c| !c.is_control()).take(400).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::support::scratch;

    #[test]
    fn a_line_of_srun_is_less_than_the_workers_own() {
        let scratch = scratch();
        let folder = Folder::at(scratch.path());
        std::fs::create_dir_all(folder.log()).unwrap();
        assert_eq!(last_line(&folder, "other", None), None);
        let log =
            "assay: n1: 3 tasks\nassay: n11: bad\nsrun: error: n1: task 0: Exited\nsrun: error: n2: task 1: Exited\n";
        std::fs::write(folder.log().join("7.out"), log).unwrap();
        let of = |node| last_line(&folder, "7", Some(node));
        assert_eq!(of("n1").as_deref(), Some("assay: n1: 3 tasks"), "not what srun says, nor another node's");
        assert_eq!((of("n2").as_deref(), of("n3")), (Some("srun: error: n2: task 1: Exited"), None));
    }
}
