//! The commands that repeat the run, compare with it, and render it again.

use model::document::Document;
use serde::Serialize;

use super::text;

#[derive(Debug, Serialize)]
pub(crate) struct Command {
    about: &'static str,
    command: String,
}

pub(crate) fn listed(all: impl IntoIterator<Item = (&'static str, String)>) -> Vec<Command> {
    let all = all.into_iter().map(|(about, command)| Command { about, command });
    all.filter(|command| !command.command.is_empty()).collect()
}

pub(super) fn commands(document: &Document) -> Vec<Command> {
    let name = text::command(std::slice::from_ref(&document.run.id));
    listed([
        ("Make this run", text::command(&document.assay.argv)),
        ("Repeat it in the same order with the same data", again(document).unwrap_or_default()),
        ("Compare a later run with this one", format!("assay compare {name} NEW")),
        ("Export every value as a table", format!("assay report {name} --format csv -o run.csv")),
        ("Show this machine and its limits", "assay info".to_owned()),
        ("Check whether results taken now can be trusted", "assay doctor".to_owned()),
    ])
}

/// The command line on another machine: the program by its name, with the seed, without output paths.
fn again(document: &Document) -> Option<String> {
    /// Options with an output path as value.
    const OUTPUTS: [&str; 3] = ["--out", "--json", "--resume"];
    let mut arguments = vec!["assay".to_owned()];
    let mut given = document.assay.argv.iter().skip(1);
    document.assay.argv.first()?;
    while let Some(argument) = given.next() {
        if OUTPUTS.contains(&argument.as_str()) {
            given.next();
        } else if !OUTPUTS.iter().any(|option| argument.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')))
        {
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
    fn the_repeated_command_has_the_seed_and_no_output_paths() {
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
        "confidence": null}}"#;
}
