//! The vocabulary: phrases that `xtask/data/phrases.toml` lists occur in no string, comment, document or name, and
//! sentences are short enough to read once.

use serde::Deserialize;

use super::prose::{Source, passages, words};
use super::repository::{File, Repository};
use super::violation::Violation;
use xtask::shell::Shell;
use xtask::tally::Tally;

const PHRASES: &str = include_str!("../../data/phrases.toml");

/// The page about the vocabulary and the tests here quote forbidden phrases; the changelog is history.
const QUOTING: &[&str] = &["docs/contributing/style.md", "CHANGELOG.md", "xtask/src/invariants/words.rs"];

/// Words in a sentence that a user reads, at most.
const MOST_WORDS: usize = 30;

/// Lines in which the first sentence of a doc comment ends, at most.
const MOST_LINES: usize = 2;

#[derive(Debug, Deserialize)]
struct List {
    phrase: Vec<Phrase>,
}

#[derive(Debug, Deserialize)]
struct Phrase {
    find: Vec<String>,
    #[serde(rename = "use")]
    replacement: String,
    #[serde(default)]
    names: bool,
    /// Longer phrases that are accepted.
    #[serde(default)]
    except: Vec<String>,
}

pub(super) fn phrases(repository: &Repository) -> Vec<Violation> {
    let list: List = match toml::from_str(PHRASES) {
        Ok(list) => list,
        Err(error) => return vec![Violation::of_file("xtask/data/phrases.toml", error.to_string())],
    };
    let files = repository.files.iter().filter(|file| !QUOTING.contains(&file.path.as_str()));
    files.flat_map(|file| phrases_of_file(file, &list)).collect()
}

fn phrases_of_file(file: &File, list: &List) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut refuse = |line, found: &str, phrase: &Phrase| {
        violations.push(Violation::at_line(&file.path, line, format!("\"{found}\": write {}", phrase.replacement)));
    };
    for passage in passages(file) {
        let text = format!(" {} ", words(&passage.text).collect::<Vec<_>>().join(" ").to_lowercase());
        for phrase in &list.phrase {
            let text = phrase.except.iter().fold(text.clone(), |text, accepted| text.replace(accepted.as_str(), ""));
            for found in phrase.find.iter().filter(|words| text.contains(&format!(" {words} "))) {
                refuse(passage.line, found, phrase);
            }
        }
    }
    for token in file.tokens.iter().filter(|token| !token.is_literal) {
        let is_accepted = |phrase: &&Phrase| phrase.except.contains(&token.text);
        for phrase in list.phrase.iter().filter(|phrase| phrase.names && !is_accepted(phrase)) {
            let name = token.text.to_lowercase();
            if let Some(found) = phrase.find.iter().find(|word| name.split('_').any(|part| part == **word)) {
                refuse(token.line, found, phrase);
            }
        }
    }
    violations.sort();
    violations.dedup();
    violations
}

/// Sentences in a string of the program that are too long to be read once.
pub(super) fn long_sentences(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in &repository.files {
        for passage in passages(file).iter().filter(|passage| passage.source.is_printed()) {
            for sentence in passage.sentences().filter(|sentence| words(sentence).count() > MOST_WORDS) {
                let text = format!("{} words: {sentence}", words(sentence).count());
                violations.push(Violation::at_line(&file.path, passage.line, text));
            }
        }
    }
    violations
}

/// Doc comments whose first sentence does not end on their first lines.
pub(super) fn long_summaries(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in &repository.files {
        for passage in passages(file).iter().filter(|passage| passage.source == Source::Summary) {
            let first: Vec<&str> = passage.text.lines().take(MOST_LINES).collect();
            let ends = |line: &&str| line.ends_with(['.', ':', '!', '?']) || line.contains(". ") || line.contains(": ");
            if passage.text.lines().count() > MOST_LINES && !first.iter().any(ends) {
                let text = "the first sentence takes more than two lines";
                violations.push(Violation::at_line(&file.path, passage.line, text));
            }
        }
    }
    violations
}

/// Prints how long the sentences are that users read, and the longest.
pub(crate) fn measure(shell: &Shell) -> Tally {
    let repository = match Repository::read(shell.root()) {
        Ok(repository) => repository,
        Err(error) => return Tally::failure(format!("cannot read the repository: {error}")),
    };
    for (what, sources) in [
        ("what the program prints", &[Source::Message, Source::Help][..]),
        ("documents", &[Source::Document]),
        ("both", &[Source::Message, Source::Help, Source::Document]),
    ] {
        let mut lengths = Vec::new();
        for file in repository.files.iter().filter(|file| !QUOTING.contains(&file.path.as_str())) {
            let read = passages(file).into_iter().filter(|passage| sources.contains(&passage.source));
            lengths.extend(read.flat_map(|passage| {
                // A title or a cell of a table is no sentence.
                passage
                    .sentences()
                    .map(|sentence| words(sentence).count())
                    .filter(|count| *count > 3)
                    .collect::<Vec<_>>()
            }));
        }
        lengths.sort_unstable();
        let at = |percent: usize| lengths.get((lengths.len() * percent / 100).min(lengths.len().saturating_sub(1)));
        let [median, most] = [50, 95].map(|percent| at(percent).copied().unwrap_or(0));
        println!("{what:<24} {:>6} sentences: median {median} words, 95 % at most {most}", lengths.len());
    }
    Tally::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, text: &str) -> Repository {
        Repository::of(&[(path, text)])
    }

    #[test]
    fn phrases_in_strings_comments_documents_and_names() {
        let found = |path, text| phrases(&of(path, text)).len();
        assert_eq!(found("crates/cli/src/a.rs", "const A: &str = \"there is somebody\";"), 1);
        assert_eq!(found("crates/cli/src/a.rs", "/// Put it beside\n/// the table.\nfn f() {}"), 1);
        assert_eq!(found("crates/cli/src/a.rs", "fn f() {} // the sign of life"), 1);
        assert_eq!(found("crates/cli/src/a.rs", "fn tell_user() {}"), 1);
        assert_eq!(found("docs/a.md", "For so\nmany rows"), 1, "also over the end of a line");
        assert_eq!(found("docs/a.md", "A stellar result, besieged"), 0, "whole words only");
        assert_eq!(found("docs/contributing/style.md", "beside"), 0);
    }

    #[test]
    fn sentences_that_are_too_long() {
        let long = |words: usize| format!("const A: &str = \"{}.\";", vec!["word"; words].join(" "));
        assert_eq!(long_sentences(&of("crates/cli/src/a.rs", &long(31))).len(), 1);
        assert_eq!(long_sentences(&of("crates/cli/src/a.rs", &long(30))).len(), 0);
        assert_eq!(long_sentences(&of("xtask/src/a.rs", &long(31))).len(), 0, "contributors read that");
    }

    #[test]
    fn a_summary_that_goes_over_two_lines() {
        let doc = |text: &str| long_summaries(&of("crates/sys/src/a.rs", text)).len();
        assert_eq!(doc("/// One\n/// two\n/// three.\nfn f() {}"), 1);
        assert_eq!(doc("/// One\n/// two.\n/// Three.\nfn f() {}"), 0);
    }
}
