//! The last lines that jobs printed.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use crate::folder::Folder;

/// The end of a log in which the last line is looked for: some hundred lines, as many nodes may have printed into it.
const TAIL_BYTES: i64 = 32_768;

/// What srun's own lines begin with.
const BY_SRUN: &str = "srun: ";

/// The last line that a job printed, which tells why it ended; `None` where it printed nothing.
pub(crate) fn last_line(plan: &Folder, id: &str) -> Option<String> {
    let text = tail(plan, id)?;
    let mut lines = lines(&text);
    // What srun says of the end of a worker's process is less than what the worker said itself.
    if !lines.iter().all(|line| line.starts_with(BY_SRUN)) {
        lines.retain(|line| !line.starts_with(BY_SRUN));
    }
    lines.last().map(|line| shown(line))
}

/// The last line of what a job of several nodes printed that names this one; srun's own where no other does.
pub(crate) fn last_line_of(plan: &Folder, id: &str, node: &str) -> Option<String> {
    let text = tail(plan, id)?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let names = |line: &&str| line.split(|c| !is_part(c)).any(|word| word == node);
    let (by_srun, by_worker): (Vec<&str>, Vec<&str>) =
        lines(&text).into_iter().filter(names).partition(|line| line.starts_with(BY_SRUN));
    by_worker.last().or(by_srun.last()).map(|line| shown(line))
}

fn tail(plan: &Folder, id: &str) -> Option<String> {
    let mut file = File::open(plan.log().join(format!("{id}.out"))).ok()?;
    let length = file.metadata().ok()?.len();
    if i64::try_from(length).is_ok_and(|length| length > TAIL_BYTES) {
        file.seek(SeekFrom::End(-TAIL_BYTES)).ok()?;
    }
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES.unsigned_abs()).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

fn shown(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).take(400).collect()
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
        assert_eq!(last_line(&folder, "other"), None);
        let log =
            "assay: n1: 3 tasks\nassay: n11: bad\nsrun: error: n1: task 0: Exited\nsrun: error: n2: task 1: Exited\n";
        std::fs::write(folder.log().join("7.out"), log).unwrap();
        let of = |node| last_line_of(&folder, "7", node);
        assert_eq!(of("n1").as_deref(), Some("assay: n1: 3 tasks"), "not what srun says, nor another node's");
        assert_eq!((of("n2").as_deref(), of("n3")), (Some("srun: error: n2: task 1: Exited"), None));
    }
}
