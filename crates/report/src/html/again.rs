//! How to do it again: the command that made the run, and those that look at it, compare with it and draw it anew.

use model::document::Document;
use serde::Serialize;

use super::text;

/// A command with what it does.
#[derive(Debug, Serialize)]
pub(super) struct Command {
    about: &'static str,
    command: String,
}

/// The commands of this run.
pub(super) fn commands(document: &Document) -> Vec<Command> {
    let run = &document.run;
    let name = text::command(std::slice::from_ref(&run.id));
    let mut commands = vec![Command { about: "This run was made by", command: text::command(&document.assay.argv) }];
    if let Some(command) = again(document) {
        commands.push(Command { about: "The same again, in the same order and with the same data", command });
    }
    let of_run = [
        ("Compare a later run with this one", format!("assay compare {name} NEW")),
        ("Every figure as a table for other programs", format!("assay report {name} --format csv -o run.csv")),
        ("What this machine is, and its peaks", "assay info".to_owned()),
        ("Whether numbers taken now can be trusted", "assay doctor".to_owned()),
    ];
    commands.extend(of_run.map(|(about, command)| Command { about, command }));
    commands.retain(|command| !command.command.is_empty());
    commands
}

/// The command line of the run for somebody else: the program by its name, the seed named, and no place of its own.
fn again(document: &Document) -> Option<String> {
    /// Options that say where the result goes, which are not repeated, with a value after them.
    const PLACES: [&str; 3] = ["--out", "--json", "--resume"];
    let mut arguments = vec!["assay".to_owned()];
    let mut given = document.assay.argv.iter().skip(1);
    document.assay.argv.first()?;
    while let Some(argument) = given.next() {
        if PLACES.contains(&argument.as_str()) {
            given.next();
        } else if !PLACES.iter().any(|place| argument.strip_prefix(place).is_some_and(|rest| rest.starts_with('='))) {
            arguments.push(argument.clone());
        }
    }
    if !arguments.iter().any(|argument| argument == "--seed" || argument.starts_with("--seed=")) {
        arguments.extend(["--seed".to_owned(), document.run.seed.to_string()]);
    }
    Some(text::command(&arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_made_again_elsewhere_with_its_seed() {
        let argv = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let again = |words: &[&str]| {
            let mut document: Document = serde_json::from_str(EMPTY).unwrap();
            document.assay.argv = argv(words);
            again(&document)
        };
        let made = again(&["/opt/assay", "disk", "--out", "/tmp/a", "--dir", "/my data", "--json=x"]);
        assert_eq!(made.as_deref(), Some("assay disk --dir '/my data' --seed 7"));
        assert_eq!(again(&["assay", "--seed=3"]).as_deref(), Some("assay --seed=3"));
        assert_eq!(again(&[]), None);
    }

    const EMPTY: &str = r#"{"schema": "assay.run/1", "conditions": {"before": {}, "after": {}}, "experiments": [],
        "findings": [], "machine": {}, "assay": {"version": "0.1.0", "git": null, "profile": "release", "argv": []},
        "run": {"id": "r", "suite": "quick", "started": "", "seconds": 1, "seed": 7, "complete": true,
        "grade": null}}"#;
}
