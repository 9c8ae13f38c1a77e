//! RFC 4180, with the line ends of Unix.

/// The records of a file; every one has as many fields as the first.
pub(crate) fn records(text: &str) -> Result<Vec<Vec<String>>, String> {
    let mut records: Vec<Vec<String>> = vec![vec![String::new()]];
    let mut chars = text.chars().peekable();
    let (mut quoted, mut begun) = (false, false);
    while let Some(c) = chars.next() {
        let Some(field) = records.last_mut().and_then(|record| record.last_mut()) else { unreachable!() };
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' if quoted => {
                quoted = false;
                if !matches!(chars.peek(), None | Some(',' | '\n')) {
                    return Err(format!("something follows the quotes of field {field:?}"));
                }
            }
            '"' if !begun => (quoted, begun) = (true, true),
            ',' | '\n' if !quoted => {
                begun = false;
                if c == '\n' {
                    records.push(Vec::new());
                }
                records.last_mut().into_iter().for_each(|record| record.push(String::new()));
            }
            '"' | '\r' if !quoted => return Err(format!("a bare {c:?} in field {field:?}")),
            c => {
                begun = true;
                field.push(c);
            }
        }
    }
    if quoted || records.pop() != Some(vec![String::new()]) {
        return Err("the last line has no end".into());
    }
    let width = records.first().map_or(0, Vec::len);
    match records.iter().find(|record| record.len() != width) {
        Some(record) => Err(format!("{} fields instead of {width}: {record:?}", record.len())),
        None => Ok(records),
    }
}

#[test]
fn faults_are_found() {
    assert_eq!(records("a,b\n\"x\"\"\n,\",y\n").unwrap()[1], ["x\"\n,", "y"]);
    for fault in ["a,b\nx\n", "a\n\"x\n", "a\nx\"y\n", "a\n\"x\"y\n", "a\nx"] {
        assert!(records(fault).is_err(), "{fault:?}");
    }
}
