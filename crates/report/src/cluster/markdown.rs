//! The summary in Markdown for GitHub: the verdict, slow nodes, differences, failed attempts and problems.

use model::cluster::{ClusterDocument, Problem};
use model::number::counted;

use super::html::tables;
use super::labels::{measured_from, with_nodes};
use super::verdict::Verdict;
use crate::formats::markdown::{code, escaped};

const MOST_LINES: usize = 50;
const MOST_NAMES: usize = 6;

pub(super) fn render(document: &ClusterDocument) -> String {
    let nodes = counted(document.nodes.len() as u64, "node");
    let verdict = Verdict::of(document);
    let next = verdict.next.iter().map(|command| code(command));
    let parts = [
        format!("# Assay: {}", escaped(&document.plan.name)),
        format!("**{nodes}** \u{b7} {}", escaped(&measured_from(document))),
    ];
    let said = verdict.sentences.iter().map(|sentence| escaped(sentence)).chain(next);
    let tables = [tables::slow, tables::groups, tables::differences, tables::failed_attempts];
    let tables = tables.into_iter().filter_map(|table| table(document).markdown(MOST_LINES));
    let parts: Vec<String> = parts.into_iter().chain(said).chain(tables).chain(problems(document)).collect();
    format!("{}\n", parts.join("\n\n"))
}

fn problems(document: &ClusterDocument) -> Option<String> {
    let line = |of: &Problem| format!("- {}", escaped(&with_nodes(of, MOST_NAMES)));
    let lines: Vec<String> = document.problems.iter().take(MOST_LINES).map(line).collect();
    (!lines.is_empty()).then(|| format!("## Problems\n\n{}", lines.join("\n")))
}
