//! Quick runs one after the other and `assay compare` of consecutive ones: nothing changed, so every "changed" is false.

use super::program::Program;
use super::verdicts::collect;
use crate::record::Keeper;

/// Stop after this number of runs, in case comparisons fail.
const MOST_RUNS: u32 = 14;
pub(super) const RUN: &[&str] = &["run", "quick", "--quiet"];
/// The name of these comparisons, as in the recorded data.
pub(super) const NAME: &str = "neighbouring sessions";

pub(super) fn run(keeper: &mut Keeper) -> Result<(), String> {
    let program = Program::build(keeper)?;
    let mut last: Option<String> = None;
    collect(keeper, ("sessions", NAME), MOST_RUNS, |number| {
        // In the store, so that later comparisons find the run as history.
        let name = format!("session-{number:02}");
        let folder = program.store.join("runs").join(&name).display().to_string();
        let output = program.call(&[RUN, &["--out", &folder, "--json", "-"]].concat());
        let Some(document) = output.json else {
            println!("{name}: {}", output.error);
            return None;
        };
        println!("{name}: measured in {} s", document["run"]["seconds"]);
        let previous = last.replace(folder.clone())?;
        let output = program.call(&["compare", &previous, &folder, "--json"]);
        if output.json.is_none() {
            println!("compare: {}", output.error);
        }
        Some((output.json?, ""))
    })
}
