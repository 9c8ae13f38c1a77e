//! One line of a file in `lab/data`, and what the commands share: paths, the program, how a machine is described.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use xtask::process::succeeds;
use xtask::shell::Shell;

/// One line, kept as JSON so that lines of all versions stay readable.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record(pub(crate) Map<String, Value>);

impl Record {
    pub(crate) fn new(fields: &Value) -> Self {
        Self(fields.as_object().cloned().unwrap_or_default())
    }

    /// From a line; `None` if it is not a JSON object.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok().map(Self)
    }

    pub(crate) fn to_line(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.0.get(key).and_then(Value::as_f64)
    }

    /// A count, 0 if the field is missing.
    pub(crate) fn count(&self, key: &str) -> u64 {
        self.0.get(key).and_then(Value::as_u64).unwrap_or(0)
    }

    pub(crate) fn is(&self, key: &str) -> bool {
        self.0.get(key) == Some(&Value::Bool(true))
    }

    pub(crate) fn list(&self, key: &str) -> &[Value] {
        self.0.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn words(&self, key: &str) -> Vec<&str> {
        self.list(key).iter().filter_map(Value::as_str).collect()
    }

    pub(crate) fn confidence(&self) -> &'static str {
        confidence(&Value::Object(self.0.clone()))
    }
}

/// The confidence of a result or a warning; older documents and lines have A, B or C. Empty if it has neither.
pub(crate) fn confidence(value: &Value) -> &'static str {
    match value["confidence"].as_str().or(value["grade"].as_str()) {
        Some("A" | "high") => "high",
        Some("B" | "fair") => "fair",
        Some("C" | "low") => "low",
        _ => "",
    }
}

pub(crate) fn records(root: &Path, file: &str) -> Vec<Record> {
    let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
    text.lines().filter_map(Record::parse).collect()
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// A page with this section between its marks, or at its end.
pub(crate) fn with_section([begin, end]: [&str; 2], page: &str, section: &str) -> String {
    let section = format!("{begin}\n{section}{end}");
    let marked = page.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    match marked {
        Some((before, after)) => format!("{before}{section}{after}"),
        None => format!("{}\n\n{section}\n", page.trim_end()),
    }
}

/// The items, each once, in the order in which they first occur.
pub(crate) fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut order = Vec::new();
    for item in items {
        if !order.contains(&item) {
            order.push(item);
        }
    }
    order
}

/// A machine in one line: processor, cores, memory, hypervisor.
pub(crate) fn machine_line(machine: &Value) -> String {
    let cpu = &machine["cpu"];
    let name: Vec<&str> = cpu["model_name"].as_str().unwrap_or("unknown processor").split_whitespace().collect();
    let architecture = cpu["microarchitecture"].as_str().map(|name| format!(" ({name})"));
    let cores = cpu["cores"].as_u64().map(|cores| format!(", {cores} cores"));
    let memory = machine["memory"]["total_bytes"].as_f64();
    let memory = memory.map(|bytes| format!(", {:.0} GiB", bytes / f64::from(1 << 30)));
    let hypervisor = machine["virtualization"]["hypervisor"].as_str().map(|name| format!(", {name} guest"));
    [Some(name.join(" ")), architecture, cores, memory, hypervisor].into_iter().flatten().collect()
}

/// The first of `parent`/1, `parent`/2 … that does not exist.
pub(crate) fn fresh_folder(parent: &Path) -> PathBuf {
    let folders = (1..=u32::MAX).map(|number| parent.join(number.to_string()));
    folders.into_iter().find(|path| !path.exists()).unwrap_or_else(|| parent.to_owned())
}

pub(crate) fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

pub(crate) fn words_of(process: u32, file: &str) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{process}/{file}")).unwrap_or_default();
    bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// What follows the name in a process's `stat`: state, parent …
pub(crate) fn stat(process: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

/// Builds the program as users do; its path.
pub(crate) fn build(shell: &Shell) -> Result<PathBuf, String> {
    if !succeeds(&mut shell.cargo(&["build", "--release", "--quiet", "--package", "assay"])) {
        return Err("the program does not build".to_owned());
    }
    Ok(shell.root().join(shell.target()).join("release/assay"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_reads_back() {
        let record = Record::new(&json!({"git": "abc", "changed": 2, "found": true, "codes": ["a", 1], "grade": "B"}));
        assert_eq!(Record::parse(&record.to_line()).as_ref(), Some(&record));
        assert_eq!((record.text("git"), record.count("changed"), record.is("found")), ("abc", 2, true));
        assert_eq!((record.number("none"), record.words("codes"), record.confidence()), (None, vec!["a"], "fair"));
        assert_eq!(Record::parse("garbage"), None);
    }

    #[test]
    fn a_machine_is_one_line() {
        let machine = json!({"cpu": {"model_name": "Some  CPU", "microarchitecture": "Zen 5", "cores": 2},
            "memory": {"total_bytes": 4_294_967_296_u64}, "virtualization": {"hypervisor": "KVM"}});
        assert_eq!(machine_line(&machine), "Some CPU (Zen 5), 2 cores, 4 GiB, KVM guest");
        assert_eq!(machine_line(&json!({})), "unknown processor");
    }

    #[test]
    fn a_process_has_its_parent_and_its_words() {
        let own = std::process::id();
        assert!(processes().any(|process| process == own) && !words_of(own, "cmdline")[0].is_empty());
        assert_eq!(stat(own).unwrap()[1], std::os::unix::process::parent_id().to_string());
    }
}
