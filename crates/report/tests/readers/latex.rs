//! What must hold of a LaTeX document so that text from elsewhere stays text: braces and environments that end, tables
//! whose lines have as many cells as columns, and none of the characters that mean something but in our own commands.

/// The commands that the body of a report uses. Everything else is text that has become a command.
const COMMANDS: &str = "\
    section subsection textbf texttt textbackslash textasciicircum textasciitilde textless textgreater
    textbar textquotedbl textquotesingle textasciigrave textpm texttimes textmu textleftarrow
    textrightarrow ldots textperiodcentered ensuremath le ge texttwosuperior textdegree assaychar
    allowbreak begin end scriptsize toprule midrule bottomrule endhead endfoot item raggedright
    arraybackslash bigskip";

/// The first thing that is wrong.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let (_, body) = text.split_once("\\begin{document}\n").ok_or("no body")?;
    let body = body.strip_suffix("\\end{document}\n").ok_or("no end")?;
    if let Some(c) =
        text.chars().find(|c| !(c.is_ascii() && (*c == '\n' || !c.is_control()) || ('À'..='ÿ').contains(c)))
    {
        return Err(format!("{c:?} is no character that pdfLaTeX knows"));
    }
    let (mut open, mut environments) = (0_i32, Vec::new());
    for line in body.lines() {
        let mut cells = 0;
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '\\' => rest = command(rest, line, &mut environments)?,
                '{' => open += 1,
                '}' => open -= 1,
                '&' => cells += 1,
                '%' | '$' | '#' | '_' | '^' | '~' | '"' => return Err(format!("a bare {c:?}: {line:?}")),
                _ => {}
            }
            if open < 0 {
                return Err(format!("a brace too many: {line:?}"));
            }
        }
        if let (Some((_, columns)), true) = (environments.last(), line.ends_with("\\\\"))
            && cells + 1 != *columns
        {
            return Err(format!("{} cells in a table of {columns}: {line:?}", cells + 1));
        }
    }
    if open != 0 || !environments.is_empty() {
        return Err(format!("{open} braces and {environments:?} are open at the end"));
    }
    Ok(())
}

/// What follows a command; environments are entered and left.
fn command<'a>(rest: &'a str, line: &str, environments: &mut Vec<(String, usize)>) -> Result<&'a str, String> {
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    if end == 0 {
        // One character that is set as it is, or the end of a line.
        let c = rest.chars().next().ok_or_else(|| format!("a backslash at the end: {line:?}"))?;
        let known = "{}$&#%_\\".contains(c);
        return if known { Ok(&rest[c.len_utf8()..]) } else { Err(format!("\\{c}: {line:?}")) };
    }
    let (name, after) = rest.split_at(end);
    if !COMMANDS.split_whitespace().any(|known| known == name) {
        return Err(format!("\\{name}: {line:?}"));
    }
    if name == "begin" || name == "end" {
        let environment = after.strip_prefix('{').and_then(|after| after.split_once('}')).map(|(name, _)| name);
        let environment = environment.ok_or_else(|| format!("no environment: {line:?}"))?;
        if name == "end" {
            let ended = environments.pop().is_some_and(|(open, _)| open == environment);
            return if ended { Ok(after) } else { Err(format!("{environment} was not open: {line:?}")) };
        }
        environments.push((environment.to_owned(), columns(after)));
    }
    Ok(after)
}

/// The columns of a table's specification: `l`, `r`, and `p` with a width.
fn columns(after: &str) -> usize {
    let Some((_, specification)) = after.split_once("{@{}") else { return 0 };
    let mut depth = 0_u32;
    let mut count = 0;
    for c in specification.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            'l' | 'r' | 'p' if depth == 0 => count += 1,
            _ => {}
        }
    }
    count
}

#[test]
fn faults_are_found() {
    let document = |body: &str| format!("\\begin{{document}}\n{body}\n\\end{{document}}\n");
    let table = |line: &str| {
        format!("\\begin{{longtable}}{{@{{}}lr>{{\\raggedright}}p{{3mm}}@{{}}}}\n{line}\\end{{longtable}}")
    };
    check(&document(&table("a & 50 \\% & {[}c{]} \\\\\n"))).unwrap();
    for fault in
        ["50 %", "$x", "a_b", "{", "}", "\\input{x}", "\\begin{longtable}", "\\end{itemize}", "数", "a\u{7}", "\\'e"]
    {
        assert!(check(&document(fault)).is_err(), "{fault:?}");
    }
    assert!(check(&document(&table("a & b \\\\\n"))).is_err(), "a cell too few");
}
