//! `assay compare --live`: an unchanged program must not be reported as changed, a real slowdown must.

use serde_json::{Value, json};

use super::program::{Output, Program, output};
use super::verdicts::collect;
use crate::held::Group;
use crate::record::Keeper;

/// Stop after this number of rounds, in case comparisons fail.
const MOST_ROUNDS: u32 = 60;
pub(super) const TRIALS: u32 = 20;
/// The fewest pairs after which six benchmarks together can be called changed: with fewer, no verdict could be false.
pub(super) const SAME_OPTIONS: [&str; 2] = ["--pairs", "8"];
/// The program chooses the number of pairs of a slowdown.
pub(super) const SLOWDOWN_OPTIONS: [&str; 2] = ["--time-budget", "30s"];
/// What is compared with itself: short benchmarks, so that hundreds of verdicts take minutes.
pub(super) const SAME: &[&str] = &["run suites/same.toml --area cpu", "run suites/same.toml --area net"];

pub(super) struct Slowdown {
    pub(super) name: &'static str,
    pub(super) side: &'static str,
    percent: u32,
}

pub(super) const SLOWDOWNS: &[Slowdown] = &[
    Slowdown { name: "CPU slowed by 5 %", side: "cpu --op fma --type fp64 --isa vector --threads 1", percent: 95 },
    Slowdown { name: "memory slowed by 10 %", side: "memory --pattern sequential --op read --threads 1", percent: 90 },
];

pub(super) const SAME_NAME: &str = "A against A";

pub(super) fn run(keeper: &mut Keeper) -> Result<(), String> {
    let program = Program::build(keeper)?;
    let mut results: Vec<_> = SLOWDOWNS.iter().map(|slowdown| slow_down(keeper, &program, slowdown)).collect();
    results.push(compare_same(keeper, &program));
    results.into_iter().collect()
}

fn arguments<'a>(side: &'a str, options: [&'a str; 2], seed: &'a str) -> Vec<&'a str> {
    [&["compare", "--live", side, side], &options[..], &["--seed", seed, "--json", "--quiet"]].concat()
}

fn compare_same(keeper: &mut Keeper, program: &Program) -> Result<(), String> {
    collect(keeper, ("live", SAME_NAME), MOST_ROUNDS, |round| {
        let side = side_of(round);
        let output = program.call(&arguments(side, SAME_OPTIONS, &round.to_string()));
        if output.json.is_none() {
            println!("{side}: {}", output.error);
        }
        Some((output.json?, side))
    })
}

/// The side of a round: cpu has the most benchmarks, net is every eighth.
fn side_of(round: u32) -> &'static str {
    SAME[usize::from(round.is_multiple_of(8))]
}

fn slow_down(keeper: &mut Keeper, program: &Program, slowdown: &Slowdown) -> Result<(), String> {
    let group = Group::make("cpu", "trust")?;
    let [set, lift] = group.quota_commands(slowdown.percent);
    for trial in 1..=TRIALS {
        let seed = trial.to_string();
        let mut arguments = arguments(slowdown.side, SLOWDOWN_OPTIONS, &seed);
        let switches = [format!("sh -c \"{set}\""), format!("sh -c \"{lift}\"")];
        arguments.extend(["--switch-b", &switches[0], "--switch-a", &switches[1]]);
        let output = output(&mut program.through(&group.words(), &arguments));
        let result = slowdown_result(slowdown, &output);
        println!("{} ({trial} of {TRIALS}): {}", slowdown.name, result["rows"]);
        keeper.keep(&result)?;
    }
    Ok(())
}

/// A slowdown is found if every compared benchmark changed for the worse.
fn slowdown_result(slowdown: &Slowdown, output: &Output) -> Value {
    let rows = output.json.as_ref().and_then(|json| json["experiments"].as_array()).map_or(&[][..], Vec::as_slice);
    let found = !rows.is_empty() && rows.iter().all(|row| row["verdict"] == "changed" && row["direction"] == "worse");
    let fields = |row: &Value| {
        json!([row["id"], row["verdict"], row["ratio"], row["ratio_ci95"], row["p"], row["threshold"], row["n_base"]])
    };
    json!({
        "part": "live", "what": slowdown.name, "command": slowdown.side, "found": found,
        "rows": rows.iter().map(fields).collect::<Vec<_>>(),
        "trouble": output.json.is_none().then_some(&output.error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slowdown_is_found_only_if_every_row_is_worse() {
        let found = |rows: Value| {
            let output = Output { json: Some(json!({"experiments": rows})), error: String::new() };
            slowdown_result(&SLOWDOWNS[0], &output)["found"] == true
        };
        assert!(found(json!([{"verdict": "changed", "direction": "worse"}])));
        assert!(!found(json!([{"verdict": "changed", "direction": "better"}])));
        assert!(!found(json!([{"verdict": "inconclusive", "direction": null}])));
        assert!(!found(json!([])));
        let failed = slowdown_result(&SLOWDOWNS[0], &Output { json: None, error: "no room".to_owned() });
        assert_eq!((&failed["found"], &failed["trouble"]), (&json!(false), &json!("no room")));
    }
}
