//! The statistics against scipy, and the simulated coverage of every published interval.

use serde_json::{Value, json};

use xtask::process::{Ending, LONGEST, read_lines, succeeds};

use super::program::Keeper;

const FIXTURE: [&str; 2] = ["crates/stats/tests/scipy_fixture.py", "crates/stats/tests/scipy.json"];
const COMPARISON: &str = "cargo test -p stats --lib agrees_with_scipy -- --nocapture";
const SIMULATION: &str = "cargo run --release -p stats --example coverage";

pub(super) fn run(keeper: &mut Keeper) -> Result<(), String> {
    let fixture = write_fixture(keeper);
    compare(keeper)?;
    cover(keeper)?;
    fixture
}

/// Asks scipy again. If it is not available, the committed results remain.
fn write_fixture(keeper: &Keeper) -> Result<(), String> {
    let shell = keeper.shell;
    let folder = shell.target().join("scipy");
    let python = folder.join("bin/python");
    if !python.exists() {
        let environment = shell.root().join(&folder).display().to_string();
        let made = succeeds(&mut shell.command("python3", &["-m", "venv", &environment]));
        let install = ["-m", "pip", "install", "--quiet", "scipy", "numpy"];
        if !made || !succeeds(&mut shell.command(&python, &install)) {
            let _ = std::fs::remove_dir_all(&folder);
            return Err("cannot install scipy: compared with its committed results".to_owned());
        }
    }
    let written = succeeds(&mut shell.command(&python, &FIXTURE));
    if written { Ok(()) } else { Err(format!("{} failed", FIXTURE[0])) }
}

fn words(command: &str) -> Vec<&str> {
    command.split_whitespace().skip(1).collect()
}

fn parse_comparison(line: &str) -> Option<Value> {
    // The test harness may print the name of the test before it.
    serde_json::from_str(&format!("{{{}", line.split_once("scipy {")?.1)).ok()
}

fn compare(keeper: &mut Keeper) -> Result<(), String> {
    let mut found = Vec::new();
    let mut command = keeper.shell.cargo(&words(COMPARISON));
    let agreed = read_lines(&mut command, LONGEST, |line| found.extend(parse_comparison(line))) == Ending::Success;
    for mut method in found {
        method["part"] = json!("statistics");
        method["what"] = json!("scipy");
        keeper.keep(&method)?;
    }
    if agreed { Ok(()) } else { Err("not every value agrees with scipy".to_owned()) }
}

fn cover(keeper: &mut Keeper) -> Result<(), String> {
    let mut cases: Vec<Value> = Vec::new();
    let mut command = keeper.shell.cargo(&words(SIMULATION));
    let read = |line: &str| cases.extend(serde_json::from_str::<Value>(line));
    let ran = read_lines(&mut command, LONGEST, read) == Ending::Success;
    for case in &mut cases {
        case["part"] = json!("statistics");
        case["what"] = json!("coverage");
        keeper.keep(case)?;
    }
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
