//! The sentences of the repository: in strings, comments and Markdown.

use super::repository::{File, Token};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A string of the program, tests not counted.
    Message,
    /// The documentation of a command-line option.
    Help,
    /// The first paragraph of other documentation in code.
    Summary,
    /// A comment, or a string that only contributors see: in tests, `xtask` and `lab`.
    Inside,
    Document,
}

/// Where the documentation of a field is the help of an option.
const HELP: &[&str] = &["crates/cli/src/args", "/choice.rs"];

impl Source {
    /// Whether the program prints it.
    pub(crate) const fn is_printed(self) -> bool {
        matches!(self, Self::Message | Self::Help)
    }
}

#[derive(Debug)]
pub(crate) struct Passage {
    pub(crate) text: String,
    /// Its first line, counted from 1.
    pub(crate) line: usize,
    pub(crate) source: Source,
}

impl Passage {
    /// Its sentences; a line of a list or a cell of a table is one at least.
    pub(crate) fn sentences(&self) -> impl Iterator<Item = &str> {
        let ends = |text: &str| text.ends_with(['.', '!', '?', ':']);
        let mut rest = self.text.as_str();
        std::iter::from_fn(move || {
            while !rest.is_empty() {
                let breaks = rest.char_indices().filter(|(_, char)| char.is_whitespace());
                let end = breaks.map(|(at, _)| at).find(|at| ends(&rest[..*at])).unwrap_or(rest.len());
                let sentence = rest[..end].trim();
                rest = rest[end..].trim_start();
                if words(sentence).next().is_some() {
                    return Some(sentence);
                }
            }
            None
        })
    }
}

/// The words of a text: what is between spaces and has a letter or a digit, without the punctuation around it.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
        .map(|word| word.trim_matches(|char: char| !char.is_alphanumeric()))
        .filter(|word| !word.is_empty())
}

pub(crate) fn passages(file: &File) -> Vec<Passage> {
    let mut passages = match file.extension() {
        "rs" => strings(file).chain(comments(file)).collect(),
        "md" => paragraphs(&file.text),
        _ => Vec::new(),
    };
    for passage in &mut passages {
        passage.text = passage.text.split('`').step_by(2).collect::<Vec<_>>().join("_");
    }
    passages
}

/// Strings of several words.
fn strings(file: &File) -> impl Iterator<Item = Passage> {
    let by_contributors = !file.path.starts_with("crates/") || file.owner() == "kernels";
    let text = |token: &Token| {
        let (open, close) = (token.text.find('"')?, token.text.rfind('"')?);
        let inner = token.text.get(open + 1..close)?;
        // A backslash at the end of a line continues the string.
        let joined: Vec<&str> = inner.split("\\\n").map(str::trim_start).collect();
        Some(joined.concat().replace('\n', " .\n").replace("\\n", " .\n").replace("\\\"", "\""))
    };
    let literals = file.tokens.iter().filter(|token| token.is_literal);
    literals.filter_map(move |token| {
        let text = text(token).filter(|text| words(text).count() > 1)?;
        let source = if by_contributors || token.in_test { Source::Inside } else { Source::Message };
        Some(Passage { text, line: token.line, source })
    })
}

/// Comments of whole lines, consecutive ones joined, and those at the end of a line.
fn comments(file: &File) -> Vec<Passage> {
    let is_help = HELP.iter().any(|place| file.path.contains(place));
    let summary = if is_help { Source::Help } else { Source::Summary };
    let mut passages: Vec<Passage> = Vec::new();
    // What the line before was: the mark of its comment, and whether it had text.
    let mut before: Option<(&str, bool)> = None;
    for (index, line) in file.text.lines().enumerate() {
        let trimmed = line.trim_start();
        let marked = ["///", "//!", "//"].iter().find_map(|mark| Some((*mark, trimmed.strip_prefix(mark)?.trim())));
        let Some((mark, comment)) = marked else {
            before = None;
            let ends = ["; // ", ", // ", "} // ", "{ // "];
            if let Some((_, comment)) = ends.iter().find_map(|end| line.split_once(end)) {
                passages.push(Passage { text: comment.to_owned(), line: index + 1, source: Source::Inside });
            }
            continue;
        };
        match (before.filter(|(same, _)| *same == mark), passages.last_mut()) {
            (Some((_, true)), Some(last)) if !comment.is_empty() => last.text = format!("{}\n{comment}", last.text),
            (continued, _) if !comment.is_empty() => {
                let source = match (mark, continued) {
                    ("//", _) => Source::Inside,
                    (_, None) => summary,
                    (_, Some(_)) if is_help => Source::Help,
                    (_, Some(_)) => Source::Inside,
                };
                passages.push(Passage { text: comment.to_owned(), line: index + 1, source });
            }
            _ => {}
        }
        before = Some((mark, !comment.is_empty()));
    }
    passages
}

/// Paragraphs, list items and cells of Markdown, without code and addresses.
fn paragraphs(text: &str) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let (mut in_code, mut open) = (false, false);
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            (in_code, open) = (!in_code, false);
            continue;
        }
        if in_code || trimmed.is_empty() {
            open = false;
            continue;
        }
        let mut push = |text: &str| {
            passages.push(Passage { text: text.to_owned(), line: index + 1, source: Source::Document });
        };
        if trimmed.starts_with('|') {
            trimmed.split('|').map(str::trim).filter(|cell| words(cell).next().is_some()).for_each(&mut push);
            open = false;
        } else if open && !begins_block(trimmed) {
            if let Some(last) = passages.last_mut() {
                last.text = format!("{}\n{trimmed}", last.text);
            }
        } else {
            push(trimmed);
            open = !trimmed.starts_with('#');
        }
    }
    passages
}

/// Whether a line begins a list item or a heading.
fn begins_block(line: &str) -> bool {
    let number = line.split_once(". ").is_some_and(|(number, _)| number.chars().all(|char| char.is_ascii_digit()));
    number || ["- ", "* ", "#", "> "].iter().any(|mark| line.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariants::repository::Repository;

    fn of(path: &str, text: &str) -> Vec<(String, Source)> {
        let repository = Repository::of(&[(path, text)]);
        passages(&repository.files[0]).into_iter().map(|passage| (passage.text, passage.source)).collect()
    }

    #[test]
    fn strings_are_read_as_they_are_printed() {
        let text = "fn f() { g(\"one \\\n    two\"); }\n#[test]\nfn t() { h(\"three four\"); }";
        let expected = [("one two".to_owned(), Source::Message), ("three four".to_owned(), Source::Inside)];
        assert_eq!(of("crates/cli/src/a.rs", text), expected);
    }

    #[test]
    fn consecutive_comments_are_joined() {
        let text =
            "//! Module\n//! text.\n//!\n//! More.\n\n/// An item.\nfn f() {} \n// Why\n// so.\nlet a = 1; // one";
        let found: Vec<String> = of("crates/cli/src/a.rs", text).into_iter().map(|(text, _)| text).collect();
        assert_eq!(found, ["Module\ntext.", "More.", "An item.", "Why\nso.", "one"]);
    }

    #[test]
    fn markdown_without_its_code() {
        let text = "# Title\n\nOne\ntwo.\n\n- item\n  more\n- other\n\n```\ncode\n```\n| a | b |\n|---|---|\n";
        let found: Vec<String> = of("docs/a.md", text).into_iter().map(|(text, _)| text).collect();
        assert_eq!(found, ["# Title", "One\ntwo.", "- item\nmore", "- other", "a", "b"]);
    }

    #[test]
    fn sentences_end_at_a_full_stop_and_not_inside_a_number() {
        let passage = Passage { text: "It is 1.5 GHz. Then: what?\nYes".into(), line: 1, source: Source::Message };
        assert_eq!(passage.sentences().collect::<Vec<_>>(), ["It is 1.5 GHz.", "Then:", "what?", "Yes"]);
    }
}
