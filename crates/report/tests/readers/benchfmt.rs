//! The Go benchmark format (<https://go.dev/design/14313-benchmark-format>, and `golang.org/x/perf/benchfmt` for units).

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Benchmark {
    pub(crate) name: String,
    pub(crate) pkg: String,
    pub(crate) values: Vec<(f64, String)>,
}

/// The results; whatever else a line is, it must be configuration, a unit, or a comment.
pub(crate) fn benchmarks(text: &str) -> Result<Vec<Benchmark>, String> {
    let (mut found, mut pkg) = (Vec::new(), String::new());
    if !text.ends_with('\n') {
        return Err("the last line has no end".into());
    }
    for line in text.split_terminator('\n') {
        if line.contains('\r') {
            return Err(format!("a carriage return: {line:?}"));
        }
        if line.starts_with("Benchmark") {
            found.push(result(line, &pkg)?);
        } else if let Some(unit) = line.strip_prefix("Unit ") {
            let fields: Vec<&str> = unit.split_whitespace().collect();
            let [_, setting] = fields.as_slice() else { return Err(format!("no unit: {line:?}")) };
            if !["better=higher", "better=lower"].contains(setting) {
                return Err(format!("no setting of a unit: {line:?}"));
            }
        } else if !line.starts_with("# ") {
            let (key, value) = line.split_once(": ").ok_or_else(|| format!("no configuration: {line:?}"))?;
            let is_key =
                key.starts_with(char::is_lowercase) && !key.contains(|c: char| c.is_whitespace() || c.is_uppercase());
            if !is_key {
                return Err(format!("no key: {line:?}"));
            }
            if key == "pkg" {
                value.clone_into(&mut pkg);
            }
        }
    }
    Ok(found)
}

fn result(line: &str, pkg: &str) -> Result<Benchmark, String> {
    let mut fields = line.split_whitespace();
    let name = fields.next().and_then(|name| name.strip_prefix("Benchmark")).unwrap_or_default();
    if name.is_empty() || name.starts_with(char::is_lowercase) {
        return Err(format!("no name: {line:?}"));
    }
    if fields.next().and_then(|count| count.parse::<u64>().ok()).is_none_or(|count| count == 0) {
        return Err(format!("no number of iterations: {line:?}"));
    }
    let rest: Vec<&str> = fields.collect();
    let values: Result<Vec<(f64, String)>, String> = rest
        .chunks(2)
        .map(|pair| match pair {
            [value, unit] => Ok((value.parse().map_err(|_| format!("no value: {line:?}"))?, (*unit).to_owned())),
            _ => Err(format!("a value without a unit: {line:?}")),
        })
        .collect();
    let values = values?;
    let is_twice = |(index, (_, unit)): (usize, &(f64, String))| values[..index].iter().any(|(_, other)| other == unit);
    if values.is_empty() || values.iter().enumerate().any(is_twice) {
        return Err(format!("no value, or two of one unit: {line:?}"));
    }
    Ok(Benchmark { name: name.to_owned(), pkg: pkg.to_owned(), values })
}

#[test]
fn faults_are_found() {
    let read = benchmarks("pkg: assay/cpu\nUnit B/s better=higher\nBenchmarkA/b-2 1 1e3 B/s 2.5 ns/op\n# x\n").unwrap();
    assert_eq!((read[0].name.as_str(), read[0].pkg.as_str(), read[0].values.len()), ("A/b-2", "assay/cpu", 2));
    for fault in [
        "BenchmarkA 1 2\n",
        "Benchmarka 1 2 s\n",
        "BenchmarkA 0 2 s\n",
        "BenchmarkA 1 x s\n",
        "BenchmarkA 1 1 s 2 s\n",
        "Two words: x\n",
        "nothing\n",
        "BenchmarkA 1 2 s",
    ] {
        assert!(benchmarks(fault).is_err(), "{fault:?}");
    }
}
