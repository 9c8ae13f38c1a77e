//! A comparison for a pull request: the verdict, a table of changed and inconclusive results, and the rest folded.

use std::fmt::Write;

use model::comparison::{Change, Compared, Comparison, Side};
use model::number::{change, counted};

use super::parts::{
    Notes, chance, interval, legend, limit_words, means, name, reasons, rows_of, summary, values, verdict_words,
};
use crate::formats::markdown::{code, escaped, folded};

/// The comparison as Markdown (GitHub's tables), ending in a newline.
pub fn markdown(comparison: &Comparison) -> String {
    let notes = Notes::of(comparison);
    let mut parts = vec![format!("**{}**", escaped(&summary(comparison, "…")))];
    parts.push(format!("{}\n{}", side("BASE", &comparison.base), side("NEW", &comparison.new)));
    let warnings: Vec<String> = comparison.warnings.iter().map(|warning| format!("> {}", escaped(warning))).collect();
    parts.push(warnings.join("\n>\n"));
    let shown = [Change::Changed, Change::Inconclusive].map(|verdict| rows_of(comparison, verdict)).concat();
    parts.push(table(comparison, &shown, &notes));
    let numbered = notes.texts.iter().enumerate();
    let numbered: Vec<String> = numbered.map(|(index, text)| format!("{}. {}", index + 1, escaped(text))).collect();
    parts.push(numbered.join("\n"));
    let same = rows_of(comparison, Change::Same);
    if !same.is_empty() {
        let are = if same.len() == 1 { "is" } else { "are" };
        let title = format!("{} {are} unchanged", counted(same.len() as u64, "result"));
        parts.push(folded(&title, &table(comparison, &same, &notes)));
    }
    if !comparison.not_compared.is_empty() {
        let title = format!("{} not compared", counted(comparison.not_compared.len() as u64, "result"));
        parts.push(folded(&title, &left_out(comparison)));
    }
    let foot: Vec<String> = means(&comparison.geometric_means).into_iter().chain([legend(comparison)]).collect();
    parts.push(format!("<sub>{}</sub>", escaped(&foot.join(" "))));
    parts.retain(|part| !part.is_empty());
    format!("{}\n", parts.join("\n\n"))
}

fn side(word: &str, side: &Side) -> String {
    let words = [side.name.clone(), side.started.clone(), side.machine.clone(), format!("Assay {}", side.program)];
    let words: Vec<String> = words.iter().filter(|part| !part.is_empty()).map(|part| escaped(part)).collect();
    let switch = side.switch.as_ref().map_or_else(String::new, |command| format!(", switched by {}", code(command)));
    format!("- {word}: {}{switch}", words.join(", "))
}

fn table(comparison: &Comparison, rows: &[&Compared], notes: &Notes<'_>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "| benchmark | base | new | change | 95 % interval | limit | chance | verdict |\n\
         |---|--:|--:|--:|:-:|--:|--:|---|\n",
    );
    for row in rows {
        let [base, new, unit] = values(row);
        let mark = notes.number(row).map_or_else(String::new, |number| format!(" ({number})"));
        let verdict = match row.verdict {
            Change::Changed => format!("**{}**{mark}", verdict_words(row)),
            Change::Inconclusive | Change::Same => format!("{}{mark}", verdict_words(row)),
        };
        let _ = writeln!(
            text,
            "| {} | {base} {unit} | {new} {unit} | {} % | {} | {} | {} | {verdict} |",
            code(&name(row, comparison)),
            change(row.ratio),
            interval(row, "…"),
            limit_words(row),
            chance(row),
        );
    }
    text.trim_end().to_owned()
}

fn left_out(comparison: &Comparison) -> String {
    let lines = reasons(&comparison.not_compared).into_iter().map(|(reason, ids)| {
        let ids: Vec<String> = ids.into_iter().map(|row| code(&row.id)).collect();
        format!("- {}: {}", ids.join(", "), escaped(reason))
    });
    lines.collect::<Vec<_>>().join("\n")
}
