//! The program under test, scratch folders, and documents with their independent check.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use crate::schema::defects;

/// The program that cargo has built, or the one that `ASSAY_TEST_BINARY` names.
#[expect(clippy::disallowed_methods, reason = "the tests' own switch")]
pub(crate) fn program() -> PathBuf {
    std::env::var_os("ASSAY_TEST_BINARY").map_or_else(|| env!("CARGO_BIN_EXE_assay").into(), PathBuf::from)
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reports that a test cannot run here.
#[expect(clippy::disallowed_methods, reason = "the tests' own switch")]
pub(crate) fn skip(what: &str, why: &str) {
    eprintln!("SKIPPED: {what}: {why}");
    if let Some(path) = std::env::var_os("ASSAY_TEST_SKIPS") {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let _ = file.and_then(|mut file| writeln!(file, "{what}: {why}"));
    }
}

/// Skips the rest of a test that lacks something.
pub(crate) fn skipped<T>(what: &str, why: &str) -> Option<T> {
    skip(what, why);
    None
}

/// A folder that is removed when it is dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("assay-e2e-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn command<A: AsRef<OsStr>>(scratch: &Scratch, arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).env_clear().env("ASSAY_STORE", scratch.join("store")).env("LANG", "C.UTF-8");
    command.stdin(Stdio::null());
    command
}

/// The arguments that run this suite.
pub(crate) fn suite(scratch: &Scratch, text: &str) -> String {
    let path = scratch.join("suite.toml");
    std::fs::write(&path, text).unwrap();
    format!("run {}", path.display())
}

/// The arguments of a run of scalar rows of these element types, whose samples are all from one process run.
pub(crate) fn one_launch(scratch: &Scratch, elements: &str, samples: u32) -> String {
    let text = format!(
        "name = \"one-launch\"\nsampling.cpu = {{ samples = {samples}, per_launch = {samples}, sample = \"300ms\" }}\n\
         cpu = [{{ op = \"fma\", type = [{elements}], isa = [\"scalar\"], threads = [\"1\"] }}]\n"
    );
    suite(scratch, &text)
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { status: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }
}

pub(crate) fn ran(mut command: Command) -> Ran {
    command.output().unwrap().into()
}

pub(crate) fn assay(scratch: &Scratch, arguments: &str) -> Ran {
    ran(command(scratch, arguments.split_whitespace()))
}

#[track_caller]
pub(crate) fn succeed(scratch: &Scratch, arguments: &str) -> Ran {
    let ran = assay(scratch, arguments);
    assert_eq!(ran.status, Some(0), "'{arguments}': {ran:?}");
    ran
}

/// The checked document of a run that succeeds and prints it.
#[track_caller]
pub(crate) fn measured(scratch: &Scratch, arguments: &str) -> Value {
    let document = printed(&succeed(scratch, &format!("{arguments} --json -")));
    check(&document);
    document
}

/// The checked document of a run in which every row is measured and verified.
#[track_caller]
pub(crate) fn verified(arguments: &str) -> Value {
    let document = measured(&Scratch::new(), arguments);
    for row in rows(&document) {
        assert!(is_verified(row), "{row:#}");
    }
    document
}

/// The only row of a run that must succeed.
#[track_caller]
pub(crate) fn only_row(ran: &Ran) -> Value {
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = printed(ran);
    check(&document);
    let [row] = rows(&document) else { panic!("{:?}", ids(&document)) };
    row.clone()
}

/// The planned ids of a command.
pub(crate) fn listed(arguments: &str) -> Vec<String> {
    let ran = succeed(&Scratch::new(), &format!("{arguments} --list"));
    ran.stdout.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect()
}

pub(crate) struct Kept {
    pub(crate) document: Value,
    /// Names and contents of its histograms.
    pub(crate) histograms: Vec<(String, String)>,
}

impl Kept {
    /// A run that succeeds and prints these words.
    #[track_caller]
    pub(crate) fn measure(scratch: &Scratch, arguments: &str, words: [&str; 2]) -> Self {
        let ran = succeed(scratch, &format!("{arguments} --details"));
        assert!(words.iter().all(|word| ran.stdout.contains(word)), "{ran:?}");
        let folder = only_run(scratch);
        assert_eq!(left_in(&folder), ["histograms", "run.json"]);
        let histograms = folder.join("histograms");
        let read = |name: String| (name.clone(), std::fs::read_to_string(histograms.join(name)).unwrap());
        Self { document: stored(scratch), histograms: names(&histograms).into_iter().map(read).collect() }
    }
}

pub(crate) fn document(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("run.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub(crate) fn printed(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

pub(crate) fn stored_runs(scratch: &Scratch) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(scratch.join("store/runs"));
    entries.map(|entries| entries.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default()
}

#[track_caller]
pub(crate) fn stored(scratch: &Scratch) -> Value {
    let document = document(&only_run(scratch));
    check(&document);
    document
}

pub(crate) fn only_run(scratch: &Scratch) -> PathBuf {
    let mut runs = stored_runs(scratch);
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs.remove(0)
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// The names in a run's folder, sorted, without those that are made from the document.
pub(crate) fn left_in(folder: &Path) -> Vec<String> {
    names(folder).into_iter().filter(|name| !["report.html", "summary.json"].contains(&name.as_str())).collect()
}

pub(crate) fn rows(document: &Value) -> &[Value] {
    document["experiments"].as_array().unwrap()
}

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("'{key}' is no text in {value:#}"))
}

pub(crate) fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("'{key}' is no number in {value:#}"))
}

pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("'{key}' is no list in {value:#}"))
}

pub(crate) fn ids(document: &Value) -> Vec<&str> {
    rows(document).iter().map(|row| text(row, "id")).collect()
}

#[track_caller]
pub(crate) fn metric<'a>(row: &'a Value, name: &str) -> &'a Value {
    list(row, "metrics").iter().find(|metric| metric["name"] == name).unwrap_or_else(|| panic!("no {name}: {row:#}"))
}

#[track_caller]
pub(crate) fn median(row: &Value, name: &str) -> f64 {
    number(&metric(row, name)["summary"], "median")
}

/// Asserts that two numbers are equal but for rounding.
#[track_caller]
pub(crate) fn same(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * a.abs().max(b.abs()), "{a} is not {b}");
}

pub(crate) fn samples(row: &Value) -> &[Value] {
    list(row, "metrics").first().map_or(&[], |metric| list(metric, "samples"))
}

pub(crate) fn codes(row: &Value) -> Vec<&str> {
    list(row, "warnings").iter().map(|warning| text(warning, "code")).collect()
}

/// Whether a row was measured and verified.
pub(crate) fn is_verified(row: &Value) -> bool {
    row["status"] == "ok" && row["verified"] == true
}

/// Checks a document against the committed schema and, independently of the program, by `tests/check_document.py`; and that
/// the work of a sample is that of its threads.
pub(crate) fn check(document: &Value) {
    let schema = std::fs::read_to_string(root().join("schema/run-v2.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let defects = defects(&schema, document);
    assert!(defects.is_empty(), "against the schema: {defects:#?}");
    let mut python = Command::new("python3");
    python.arg(root().join("tests/check_document.py")).arg("-").stdin(Stdio::piped()).stdout(Stdio::piped());
    let samples = rows(document).iter().flat_map(|row| list(row, "metrics")).flat_map(|metric| list(metric, "samples"));
    for sample in samples.filter(|sample| sample["work"].is_number() && !list(sample, "per_thread").is_empty()) {
        same(list(sample, "per_thread").iter().map(|share| number(share, "work")).sum(), number(sample, "work"));
    }
    let Ok(mut child) = python.spawn() else { return skip("check_document.py", "python3 is missing") };
    child.stdin.take().unwrap().write_all(document.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "against the contract: {}", String::from_utf8_lossy(&output.stdout));
}

pub(crate) fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout == b"0\n")
}

/// The sentence of a refusal: exit status 2, nothing on standard output, no backtrace.
pub(crate) fn refusal(ran: &Ran) -> &str {
    assert_eq!(ran.status, Some(2), "{ran:?}");
    assert!(ran.stdout.is_empty(), "{ran:?}");
    assert!(!ran.stderr.contains("panicked") && !ran.stderr.contains("RUST_BACKTRACE"), "{ran:?}");
    ran.stderr.trim()
}

/// Asserts that a command line is refused with these parts of a sentence, and stores nothing.
#[track_caller]
pub(crate) fn refused(arguments: &str, says: &[&str]) {
    let scratch = Scratch::new();
    let ran = assay(&scratch, arguments);
    let sentence = refusal(&ran);
    for part in says {
        assert!(sentence.contains(part), "'{arguments}': {sentence}");
    }
    assert!(!scratch.join("store").exists(), "'{arguments}' left a store behind");
}
