//! Quick runs one after the other and `assay compare` of consecutive ones: nothing changed, so every "changed" is false.

use super::program::{Keeper, Program};
use super::verdicts::{Verdicts, by_area};

const VERDICTS: u64 = 200;
/// Stop after this number of runs, in case comparisons fail.
const MOST_RUNS: u32 = 14;
pub(super) const RUN: &[&str] = &["run", "quick", "--quiet"];

/// The name of these comparisons, as in the recorded data.
pub(super) const NAME: &str = "neighbouring sessions";

pub(super) fn run(keeper: &mut Keeper) -> Result<(), String> {
    let program = Program::build(keeper)?;
    let mut runs: Vec<String> = Vec::new();
    let mut total = Verdicts::default();
    for number in 1..=MOST_RUNS {
        if total.all() >= VERDICTS {
            break;
        }
        // In the store, so that later comparisons find the run as history.
        let name = format!("session-{number:02}");
        let folder = program.store.join("runs").join(&name).display().to_string();
        let output = program.call(&[RUN, &["--out", &folder, "--json", "-"]].concat());
        let Some(document) = output.json else {
            println!("{name}: {}", output.error);
            continue;
        };
        println!("{name}: measured in {} s", document["run"]["seconds"]);
        if let Some(previous) = runs.last() {
            let output = program.call(&["compare", previous, &folder, "--json"]);
            if output.json.is_none() {
                println!("compare: {}", output.error);
            }
            let (results, verdicts) = by_area("sessions", NAME, "", &output.json.unwrap_or_default());
            results.iter().try_for_each(|result| keeper.keep(result))?;
            total.add(verdicts);
            println!("{} verdicts", total.all());
        }
        runs.push(folder);
    }
    if total.all() < VERDICTS {
        return Err(format!("{} runs gave {} verdicts instead of {VERDICTS}", runs.len(), total.all()));
    }
    Ok(())
}
