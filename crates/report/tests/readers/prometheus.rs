//! The text exposition format, version 0.0.4 (<https://prometheus.io/docs/instrumenting/exposition_formats/>).

use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) value: f64,
}

impl Series {
    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

fn is_name(name: &str, colon: bool) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_' || (colon && c == ':');
    name.chars().next().is_some_and(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}

/// Every series: each name's in one group, after its HELP and TYPE, and none twice.
pub(crate) fn series(text: &str) -> Result<Vec<Series>, String> {
    if !text.is_empty() && !text.ends_with('\n') {
        return Err("the last line has no end".into());
    }
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let (mut typed, mut current) = (BTreeSet::new(), String::new());
    for line in text.split_terminator('\n') {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').ok_or_else(|| format!("no type: {line:?}"))?;
            if kind != "gauge" || !is_name(name, true) || !typed.insert(name.to_owned()) {
                return Err(format!("no type, or a second one: {line:?}"));
            }
            name.clone_into(&mut current);
        } else if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').ok_or_else(|| format!("no help: {line:?}"))?;
            unescaped(help, false)?;
            if !is_name(name, true) || typed.contains(name) {
                return Err(format!("help of no name, or after its type: {line:?}"));
            }
        } else {
            let one = sample(line)?;
            if one.name != current {
                return Err(format!("{} stands outside its group", one.name));
            }
            let mut labels = one.labels.clone();
            labels.sort();
            if !seen.insert((one.name.clone(), labels)) {
                return Err(format!("{line:?} is there twice"));
            }
            found.push(one);
        }
    }
    Ok(found)
}

/// The text behind backslashes; where it is quoted, a quote must be behind one.
fn unescaped(text: &str, quoted: bool) -> Result<String, String> {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('\\') => '\\',
                Some('"') if quoted => '"',
                other => return Err(format!("a backslash before {other:?} in {text:?}")),
            },
            '"' if quoted => return Err(format!("a bare quote in {text:?}")),
            '\n' | '\r' => return Err(format!("a line's end in {text:?}")),
            c => c,
        });
    }
    Ok(plain)
}

fn sample(line: &str) -> Result<Series, String> {
    let wrong = |what: &str| format!("{what}: {line:?}");
    let end = line.find(['{', ' ']).ok_or_else(|| wrong("no value"))?;
    let (name, mut rest) = line.split_at(end);
    if !is_name(name, true) {
        return Err(wrong("no name"));
    }
    let mut labels: Vec<(String, String)> = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, after) = rest.split_once("=\"").ok_or_else(|| wrong("no label"))?;
            let close = closing(after).ok_or_else(|| wrong("no closing quote"))?;
            if !is_name(label, false) || labels.iter().any(|(other, _)| other == label) {
                return Err(wrong("a label of no name, or there twice"));
            }
            labels.push((label.to_owned(), unescaped(&after[..close], true)?));
            rest = &after[close + 1..];
            match rest.chars().next() {
                Some(',') => rest = &rest[1..],
                Some('}') => break,
                _ => return Err(wrong("labels do not end")),
            }
        }
        rest = &rest[1..];
    }
    let value = rest.strip_prefix(' ').ok_or_else(|| wrong("no blank before the value"))?;
    let value = value.parse().map_err(|_| wrong("no value"))?;
    Ok(Series { name: name.to_owned(), labels, value })
}

/// Where a quoted text ends.
fn closing(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(index, c)| {
        let is_end = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        is_end.then_some(index)
    })
}

#[test]
fn faults_are_found() {
    let head = "# HELP a Some.\n# TYPE a gauge\n";
    let read = series(&format!("{head}a{{x=\"1\\\\\\\"}},\"}} 1.5\na 2e-9\n")).unwrap();
    assert_eq!((read[0].label("x"), read[1].value), (Some("1\\\"},"), 2e-9));
    for fault in
        ["a 1", "b 1\n", "a{x=\"\"\"} 1\n", "a{x=\"1\"} one\n", "a{1=\"\"} 1\n", "a 1\na 1\n", "a{x=\"\\d\"} 1\n"]
    {
        assert!(series(&format!("{head}{fault}")).is_err(), "{fault:?}");
    }
    assert!(series("a 1\n").is_err(), "without a type");
}
