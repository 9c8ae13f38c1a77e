//! The output of commands that measure nothing.

pub mod doctor;
pub mod info;
pub mod plan;
pub mod references;

use crate::layout::wrap;
use crate::style::{Style, Tone};

const INDENT: &str = "  ";

/// Lines of the head, then each section that has lines below its title; ends in a newline.
fn with_sections<const N: usize>(
    mut lines: Vec<String>,
    sections: [(&str, Tone, Vec<String>); N],
    style: &Style,
) -> String {
    for (title, tone, body) in sections.into_iter().filter(|(.., body)| !body.is_empty()) {
        lines.extend([String::new(), style.paint(title, tone)]);
        lines.extend(body);
    }
    format!("{}\n", lines.join("\n"))
}

fn named(name: &str, text: &str, widest: usize, style: &Style) -> Vec<String> {
    wrap(&style.clean(text), &format!("{INDENT}{:<widest$}  ", style.clean(name)), style.width)
}
