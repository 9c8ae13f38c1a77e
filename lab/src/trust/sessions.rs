//! Quick runs one after the other and `assay compare` of consecutive ones: nothing changed, so every "changed" is false.

use serde_json::{Value, json};

use super::keeper::Keeper;
use super::line::{Verdicts, area, areas, rows};
use super::program::Program;

const VERDICTS: u64 = 200;
const MOST_RUNS: u32 = 14;
pub(super) const RUN: &[&str] = &["run", "quick", "--quiet"];

pub(super) const NAME: &str = "neighbouring sessions";

pub(super) fn run(keeper: &mut Keeper) -> Result<(), String> {
    let program = Program::build(keeper)?;
    let mut runs: Vec<String> = Vec::new();
    let mut total = Verdicts::default();
    for number in 1..=MOST_RUNS {
        if total.all() >= VERDICTS {
            break;
        }
        // A folder in the store's own place, so that later comparisons find the run as history.
        let name = format!("session-{number:02}");
        let folder = program.store.join("runs").join(&name).display().to_string();
        let mut arguments = RUN.to_vec();
        arguments.extend(["--out", &folder, "--json", "-"]);
        let said = program.call(&arguments);
        let Some(document) = said.json else {
            println!("{name}: {}", said.complaint);
            continue;
        };
        println!("{name}: confidence {} after {} s", document["run"]["confidence"], document["run"]["seconds"]);
        if let Some(before) = runs.last() {
            total.add(compare(keeper, &program, before, &folder)?);
            println!("{} verdicts so far", total.all());
        }
        runs.push(folder);
    }
    if total.all() < VERDICTS {
        return Err(format!("{} verdicts of {} runs instead of {VERDICTS}", total.all(), runs.len()));
    }
    Ok(())
}

fn compare(keeper: &mut Keeper, program: &Program, base: &str, new: &str) -> Result<Verdicts, String> {
    let said = program.call(&["compare", base, new, "--json"]);
    let Some(comparison) = said.json else {
        println!("compare: {}", said.complaint);
        return Ok(Verdicts::default());
    };
    let rows = rows(&comparison);
    for area in areas(&rows) {
        keeper.keep(&of_area(&rows, &area))?;
    }
    Ok(Verdicts::of(&rows))
}

fn of_area(all: &[Value], of: &str) -> Value {
    let rows: Vec<Value> = all.iter().filter(|row| area(row) == of).cloned().collect();
    let verdicts = Verdicts::of(&rows);
    let cycles: Vec<Value> = rows.iter().map(|row| row["per_cycle"].clone()).filter(|row| !row.is_null()).collect();
    let per_cycle = Verdicts::of(&cycles);
    let changed = rows.iter().filter(|row| row["verdict"] == "changed");
    json!({
        "part": "sessions", "what": NAME, "area": of,
        "changed": verdicts.changed, "same": verdicts.same, "inconclusive": verdicts.inconclusive,
        "per_cycle_changed": per_cycle.changed, "per_cycle_all": per_cycle.all(),
        "changed_rows": changed.map(|row| json!([row["id"], row["ratio"], row["ratio_ci95"], row["threshold"],
                                                 row["noise_source"]])).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_per_cycle_are_counted_beside_the_rate() {
        let rows = [
            json!({"id": "cpu/a", "verdict": "changed", "per_cycle": {"verdict": "same"}}),
            json!({"id": "cpu/b", "verdict": "same", "per_cycle": null}),
        ];
        let line = of_area(&rows, "cpu");
        assert_eq!(
            (&line["changed"], &line["per_cycle_changed"], &line["per_cycle_all"]),
            (&json!(1), &json!(0), &json!(1))
        );
    }
}
