//! The statistics against the results of scipy (`crates/stats/tests/scipy_fixture.py`), and the simulated coverage of every published interval.

use serde_json::{Value, json};

use xtask::process::{Ending, LONGEST, read_lines};

use crate::record::Keeper;

const COMPARISON: &str = "cargo test -p stats --lib agrees_with_scipy -- --nocapture";
const SIMULATION: &str = "cargo run --release -p stats --example coverage";

pub(super) fn run(keeper: &mut Keeper) -> Result<(), String> {
    compare(keeper)?;
    cover(keeper)
}

fn words(command: &str) -> Vec<&str> {
    command.split_whitespace().skip(1).collect()
}

fn parse_comparison(line: &str) -> Option<Value> {
    // The test harness may print the name of the test before it.
    serde_json::from_str(&format!("{{{}", line.split_once("scipy {")?.1)).ok()
}

/// Runs a command and keeps what it printed as results of this kind; the results, and whether it succeeded.
fn kept(
    keeper: &mut Keeper,
    command: &str,
    what: &str,
    parse: impl Fn(&str) -> Option<Value>,
) -> Result<(Vec<Value>, bool), String> {
    let mut found: Vec<Value> = Vec::new();
    let mut cargo = keeper.shell.cargo(&words(command));
    let succeeded = read_lines(&mut cargo, LONGEST, |line| found.extend(parse(line))) == Ending::Success;
    for one in &mut found {
        (one["part"], one["what"]) = (json!("statistics"), json!(what));
        keeper.keep(one)?;
    }
    Ok((found, succeeded))
}

fn compare(keeper: &mut Keeper) -> Result<(), String> {
    let (_, agreed) = kept(keeper, COMPARISON, "scipy", parse_comparison)?;
    if agreed { Ok(()) } else { Err("not every value agrees with scipy".to_owned()) }
}

fn cover(keeper: &mut Keeper) -> Result<(), String> {
    let (cases, ran) = kept(keeper, SIMULATION, "coverage", |line| serde_json::from_str(line).ok())?;
    let missed = cases.iter().filter(|case| case["claimed"] == true && case["holds"] != true).count();
    match (ran, missed) {
        (true, 0) => Ok(()),
        (true, missed) => Err(format!("{missed} intervals have a lower coverage than they report")),
        (false, _) => Err("the simulation failed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_comparison_are_read() {
        let line = r#"test scipy::agrees ... scipy {"method": "holm", "largest_difference": 0.0}"#;
        assert_eq!(parse_comparison(line).unwrap()["method"], "holm");
        assert_eq!(parse_comparison("running 1 test"), None);
        assert_eq!(words(SIMULATION)[0], "run");
    }
}
