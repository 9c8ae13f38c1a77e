//! `assay compare --live`: an unchanged program must not be reported as changed, a real slowdown must.

use serde_json::{Value, json};

use super::held::Group;
use super::keeper::Keeper;
use super::line::{Verdicts, area, areas, rows};
use super::program::{Program, Said, said};

const VERDICTS: u64 = 200;
const MOST_ROUNDS: u32 = 60;
pub(super) const TRIALS: u32 = 20;
pub(super) const SAME_OPTIONS: [&str; 2] = ["--pairs", "8"];
pub(super) const SLOWDOWN_OPTIONS: [&str; 2] = ["--time-budget", "30s"];

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
    let mut ended: Vec<_> = SLOWDOWNS.iter().map(|slowdown| slow_down(keeper, &program, slowdown)).collect();
    ended.push(compare_same(keeper, &program));
    ended.into_iter().collect()
}

pub(super) fn run_same(keeper: &mut Keeper) -> Result<(), String> {
    let program = Program::build(keeper)?;
    compare_same(keeper, &program)
}

fn arguments<'a>(side: &'a str, options: [&'a str; 2], seed: &'a str) -> Vec<&'a str> {
    [&["compare", "--live", side, side], &options[..], &["--seed", seed, "--json", "--quiet"]].concat()
}

fn compare_same(keeper: &mut Keeper, program: &Program) -> Result<(), String> {
    let mut total = Verdicts::default();
    let mut failed = Vec::new();
    for round in 0..MOST_ROUNDS {
        if total.all() >= VERDICTS {
            break;
        }
        let side = turn(round);
        let said = program.call(&arguments(side, SAME_OPTIONS, &(round + 1).to_string()));
        let Some(comparison) = &said.json else {
            println!("{side}: {}", said.complaint);
            failed.push(side);
            continue;
        };
        let rows = rows(comparison);
        for area in areas(&rows) {
            keeper.keep(&of_area(&rows, &area, side))?;
        }
        total.add(Verdicts::of(&rows));
        println!("{side}: {:?}; {} verdicts so far", Verdicts::of(&rows), total.all());
    }
    if total.all() < VERDICTS {
        return Err(format!("{} verdicts instead of {VERDICTS}; failed: {}", total.all(), failed.join(", ")));
    }
    Ok(())
}

fn turn(round: u32) -> &'static str {
    SAME[usize::from(round % 8 == 7)]
}

fn of_area(all: &[Value], of: &str, command: &str) -> Value {
    let rows: Vec<Value> = all.iter().filter(|row| area(row) == of).cloned().collect();
    let verdicts = Verdicts::of(&rows);
    let changed = rows.iter().filter(|row| row["verdict"] == "changed");
    json!({
        "part": "live", "what": SAME_NAME, "area": of, "command": command,
        "changed": verdicts.changed, "same": verdicts.same, "inconclusive": verdicts.inconclusive,
        "changed_rows": changed.map(|row| json!([row["id"], row["ratio"], row["ratio_ci95"]])).collect::<Vec<_>>(),
    })
}

fn slow_down(keeper: &mut Keeper, program: &Program, slowdown: &Slowdown) -> Result<(), String> {
    let group = Group::make("cpu")?;
    let [set, lift] = group.quota_commands(slowdown.percent);
    for trial in 1..=TRIALS {
        let seed = trial.to_string();
        let mut arguments = arguments(slowdown.side, SLOWDOWN_OPTIONS, &seed);
        let switches = [format!("sh -c \"{set}\""), format!("sh -c \"{lift}\"")];
        arguments.extend(["--switch-b", &switches[0], "--switch-a", &switches[1]]);
        let said = said(&mut program.through(&group.words(), &arguments));
        let result = of_slowdown(slowdown, &said);
        println!("{} ({trial} of {TRIALS}): {}", slowdown.name, result["rows"]);
        keeper.keep(&result)?;
    }
    Ok(())
}

fn of_slowdown(slowdown: &Slowdown, said: &Said) -> Value {
    let rows = said.json.as_ref().map(rows).unwrap_or_default();
    let found = !rows.is_empty() && rows.iter().all(|row| row["verdict"] == "changed" && row["direction"] == "worse");
    let told = |row: &Value| {
        json!([row["id"], row["verdict"], row["ratio"], row["ratio_ci95"], row["p"], row["threshold"], row["n_base"]])
    };
    json!({
        "part": "live", "what": slowdown.name, "command": slowdown.side, "found": found,
        "rows": rows.iter().map(told).collect::<Vec<_>>(),
        "trouble": said.json.is_none().then_some(&said.complaint),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(rows: &Value) -> Said {
        Said { json: Some(json!({"experiments": rows})), complaint: String::new() }
    }

    #[test]
    fn a_slowdown_is_found_only_where_every_row_says_so() {
        let found = |rows: Value| of_slowdown(&SLOWDOWNS[0], &said(&rows))["found"] == true;
        assert!(found(json!([{"verdict": "changed", "direction": "worse"}])));
        assert!(!found(json!([{"verdict": "changed", "direction": "better"}])));
        assert!(!found(json!([{"verdict": "inconclusive", "direction": null}])));
        assert!(!found(json!([])));
        let failed = of_slowdown(&SLOWDOWNS[0], &Said { json: None, complaint: "no room".to_owned() });
        assert_eq!((&failed["found"], &failed["trouble"]), (&json!(false), &json!("no room")));
    }

    #[test]
    fn all_take_their_turns() {
        let first: Vec<&str> = (0..16).map(turn).collect();
        assert!(SAME.iter().all(|side| first.contains(side)));
        assert_eq!(first.iter().filter(|side| **side == SAME[1]).count(), 2);
    }

    #[test]
    fn verdicts_of_an_area_name_what_changed() {
        let rows = [
            json!({"id": "cpu/a", "verdict": "changed", "ratio": 1.1, "ratio_ci95": [1.05, 1.2]}),
            json!({"id": "cpu/b", "verdict": "same"}),
            json!({"id": "net/c", "verdict": "changed"}),
        ];
        let line = of_area(&rows, "cpu", "cpu --threads 1");
        assert_eq!((&line["changed"], &line["same"]), (&json!(1), &json!(1)));
        assert_eq!(line["changed_rows"], json!([["cpu/a", 1.1, [1.05, 1.2]]]));
    }
}
