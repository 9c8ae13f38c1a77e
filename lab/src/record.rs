//! One line of a file in `lab/data`, and what the commands share: paths, the program, how a machine is described.

use std::fs::OpenOptions;
use std::io::Write as _;
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

/// Appends lines to a file in `lab/data`; those of one call have the same time and commit.
pub(crate) struct Keeper<'a> {
    pub(crate) shell: &'a Shell,
    file: &'static str,
    /// Fields of every line of this call.
    common: Map<String, Value>,
    pub(crate) kept: u32,
}

impl<'a> Keeper<'a> {
    pub(crate) fn new(shell: &'a Shell, file: &'static str) -> Result<Self, String> {
        let output = |program: &str, arguments: &[&str]| {
            let output = shell.command(program, arguments).output().ok().filter(|output| output.status.success());
            output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let when = output("date", &["-u", "+%Y-%m-%dT%H:%M:%SZ"]).ok_or("cannot read the time: date failed")?;
        let changes = output("git", &["status", "--porcelain", "--untracked-files=no"]);
        let commit = output("git", &["rev-parse", "--short", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
        let git = if changes.as_deref() == Some("") { commit } else { format!("{commit}, changed") };
        let common = [("batch".to_owned(), when.into()), ("git".to_owned(), git.into())];
        Ok(Self { shell, file, common: common.into_iter().collect(), kept: 0 })
    }

    /// A field that every line has from now on.
    pub(crate) fn add(&mut self, name: &str, value: Value) {
        self.common.insert(name.to_owned(), value);
    }

    pub(crate) fn keep(&mut self, result: &Value) -> Result<(), String> {
        let mut line = Record(self.common.clone());
        line.0.extend(Record::new(result).0);
        let path = self.shell.root().join(self.file);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(format!("{}\n", line.to_line()).as_bytes()));
        written.map_err(|error| format!("cannot add a line to {}: {error}", path.display()))?;
        self.kept += 1;
        Ok(())
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
