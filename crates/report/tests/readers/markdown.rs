//! What must hold of Markdown with GitHub's tables so that text from elsewhere stays text: tables whose lines have as many
//! cells as their heading, and no tag but our own.

/// Our own tags.
const TAGS: [&str; 6] = ["<details>", "</details>", "<summary>", "</summary>", "<sub>", "</sub>"];

/// The first thing that is wrong.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let mut width = None;
    for line in text.lines() {
        if line.starts_with('|') {
            let cells = bars(line);
            if *width.get_or_insert(cells) != cells {
                return Err(format!("{cells} bars in a table of {width:?}: {line:?}"));
            }
        } else {
            width = None;
        }
        let mut plain = without_code(line)?;
        for tag in TAGS {
            plain = plain.replace(tag, "");
        }
        if plain.contains('<') || plain.contains('>') {
            return Err(format!("a tag: {line:?}"));
        }
        if line.chars().any(char::is_control) {
            return Err(format!("a control character: {line:?}"));
        }
    }
    Ok(())
}

/// The bars that divide cells.
fn bars(line: &str) -> usize {
    let mut escaped = false;
    let is_bar = |c: char| {
        let is_bar = c == '|' && !escaped;
        escaped = c == '\\' && !escaped;
        is_bar
    };
    line.chars().map(is_bar).filter(|is_bar| *is_bar).count()
}

/// The line without what stands between backticks.
fn without_code(line: &str) -> Result<String, String> {
    let mut plain = String::new();
    let (mut escaped, mut code) = (false, false);
    for c in line.chars() {
        if c == '`' && (code || !escaped) {
            code = !code;
        } else if !code {
            plain.push(c);
        }
        escaped = c == '\\' && !escaped && !code;
    }
    if code { Err(format!("code without an end: {line:?}")) } else { Ok(plain) }
}

#[test]
fn faults_are_found() {
    check("| a | b |\n|---|---|\n| x\\|y | `<b>` |\n\n<sub>z</sub>").unwrap();
    for fault in ["| a |\n|---|\n| x|y |", "a <b>", "`a", "a\u{7}b", "| a |\n|---|\n| x\\\\|y |"] {
        assert!(check(fault).is_err(), "{fault:?}");
    }
}
