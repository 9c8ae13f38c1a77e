//! Adds a run's results to those that the program ships as results of similar machines.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use model::document::{Document, Row, Status};
use model::warning::Confidence;
use xtask::shell::Shell;

const TABLE: &str = "crates/machine/data/similar.tsv";
/// Their results depend on what the key of a machine contains; those of disks and networks do not.
const AREAS: [&str; 3] = ["cpu", "linpack", "memory"];

/// `cargo xtask similar add RUN`: a run's folder or its `run.json`, one run of each machine.
pub(crate) fn run(shell: &Shell, arguments: &[String]) -> ExitCode {
    let [command, run] = arguments else { return usage() };
    if command != "add" {
        return usage();
    }
    match add(&shell.root().join(TABLE), Path::new(run)) {
        Ok(added) => {
            println!("{added} results added to {TABLE}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("{why}");
            ExitCode::from(1)
        }
    }
}

fn usage() -> ExitCode {
    println!("Usage: cargo xtask similar add RUN");
    ExitCode::from(2)
}

fn add(table: &Path, run: &Path) -> Result<usize, String> {
    let file = if run.is_dir() { run.join("run.json") } else { run.to_owned() };
    let text = fs::read_to_string(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let document: Document =
        serde_json::from_str(&text).map_err(|error| format!("{} is no run: {error}", file.display()))?;
    let old = fs::read_to_string(table).map_err(|error| format!("cannot read {}: {error}", table.display()))?;
    let new = rows(&document)?;
    let text = merged(&old, &new);
    fs::write(table, text).map_err(|error| format!("cannot write {}: {error}", table.display()))?;
    Ok(new.len())
}

/// The table with more rows, sorted, each once.
fn merged(old: &str, new: &[String]) -> String {
    let (mut head, mut rows): (Vec<&str>, Vec<&str>) =
        old.lines().partition(|line| line.starts_with('#') || line.starts_with("machine\t"));
    rows.extend(new.iter().map(String::as_str));
    rows.sort_unstable();
    rows.dedup();
    head.extend(rows);
    head.join("\n") + "\n"
}

fn rows(document: &Document) -> Result<Vec<String>, String> {
    let key = machine::similarity_key(&document.machine).ok_or("the run does not say what its machine is")?;
    let date = document.run.started.get(..10).ok_or("the run has no date")?;
    let of_row = |row: &Row| {
        let metric = row.metrics.first().filter(|_| row.status == Status::Ok && AREAS.contains(&row.area.name()))?;
        let undisturbed = metric.summary.undisturbed.as_ref().map(|found| found.value);
        let value = undisturbed.or((row.confidence != Some(Confidence::Low)).then_some(metric.summary.median))?;
        Some(format!("{key}\t{}\t{}\t{value:.4e}\t{}\t{date}", row.id, metric.name, metric.unit))
    };
    Ok(document.experiments.iter().filter_map(of_row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_each_is_there_once() {
        let old = "# format\nmachine\tbenchmark\nb\t1\nd\t1\n";
        let new = ["c\t1".to_owned(), "a\t1".to_owned(), "d\t1".to_owned()];
        assert_eq!(merged(old, &new), "# format\nmachine\tbenchmark\na\t1\nb\t1\nc\t1\nd\t1\n");
    }
}
