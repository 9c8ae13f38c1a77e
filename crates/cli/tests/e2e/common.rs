//! The program under test, scratch folders, documents and their independent check.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use crate::schema::defects;

/// The program: the one that cargo has built, or the one that `ASSAY_TEST_BINARY` names.
#[expect(clippy::disallowed_methods, reason = "the tests' own switch")]
pub(crate) fn program() -> PathBuf {
    std::env::var_os("ASSAY_TEST_BINARY").map_or_else(|| env!("CARGO_BIN_EXE_assay").into(), PathBuf::from)
}

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Says, loudly, that a test cannot be made here.
#[expect(clippy::disallowed_methods, reason = "the tests' own switch")]
pub(crate) fn skip(what: &str, why: &str) {
    eprintln!("SKIPPED: {what}: {why}");
    if let Some(path) = std::env::var_os("ASSAY_TEST_SKIPS") {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let _ = file.and_then(|mut file| writeln!(file, "{what}: {why}"));
    }
}

/// A folder that goes when it is dropped.
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

/// The program with these arguments and a store in `scratch`, told nothing else by its environment.
pub(crate) fn command<A: AsRef<OsStr>>(scratch: &Scratch, arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).env_clear().env("ASSAY_STORE", scratch.join("store")).env("LANG", "C.UTF-8");
    command.stdin(Stdio::null());
    command
}

/// The arguments of a run of scalar rows, of these element types, whose samples all come from one launch: a worker that
/// lives for a second after its first sample.
pub(crate) fn one_launch(scratch: &Scratch, elements: &str, samples: u32) -> String {
    let path = scratch.join("one-launch.toml");
    let text = format!(
        "name = \"one-launch\"\n[sampling.cpu]\nsamples = {samples}\nper_launch = {samples}\nsample = \"300ms\"\n\
         [[cpu]]\nop = \"fma\"\ntype = [{elements}]\nisa = [\"scalar\"]\nthreads = [\"1\"]\n"
    );
    std::fs::write(&path, text).unwrap();
    format!("run {}", path.display())
}

/// What came of a run.
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

/// Runs the program to its end; the arguments are separated by spaces.
pub(crate) fn assay(scratch: &Scratch, arguments: &str) -> Ran {
    command(scratch, arguments.split_whitespace()).output().unwrap().into()
}

/// The planned ids of a command.
pub(crate) fn listed(arguments: &str) -> Vec<String> {
    let ran = assay(&Scratch::new(), &format!("{arguments} --list"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    ran.stdout.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect()
}

/// The document that a finished run left in a folder.
pub(crate) fn document(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("run.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The document that a run printed with `--json -`.
pub(crate) fn printed(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

/// The folders of the runs in the store of `scratch`.
pub(crate) fn stored_runs(scratch: &Scratch) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(scratch.join("store/runs"));
    entries.map(|entries| entries.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default()
}

/// The folder of the only run in the store of `scratch`.
pub(crate) fn only_run(scratch: &Scratch) -> PathBuf {
    let mut runs = stored_runs(scratch);
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs.remove(0)
}

/// The names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// The names in a run's folder but the page, sorted.
pub(crate) fn left_in(folder: &Path) -> Vec<String> {
    names(folder).into_iter().filter(|name| name != "report.html").collect()
}

/// The rows of a document.
pub(crate) fn rows(document: &Value) -> &[Value] {
    document["experiments"].as_array().unwrap()
}

/// The text of a field that must be one.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("'{key}' is no text in {value:#}"))
}

/// The number of a field that must be one.
pub(crate) fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("'{key}' is no number in {value:#}"))
}

/// The items of a field that must be a list.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("'{key}' is no list in {value:#}"))
}

/// The ids of a document, in its order.
pub(crate) fn ids(document: &Value) -> Vec<&str> {
    rows(document).iter().map(|row| text(row, "id")).collect()
}

/// The samples of a row's headline metric; none where it has none.
pub(crate) fn samples(row: &Value) -> &[Value] {
    list(row, "metrics").first().map_or(&[], |metric| list(metric, "samples"))
}

/// The codes of a row's warnings.
pub(crate) fn codes(row: &Value) -> Vec<&str> {
    list(row, "warnings").iter().map(|warning| text(warning, "code")).collect()
}

/// Whether a row was measured and its results were checked.
pub(crate) fn is_verified(row: &Value) -> bool {
    row["status"] == "ok" && row["verified"] == true
}

/// Checks a document against the contract, independently of the program: by `tests/check_document.py`, and by the
/// committed schema.
pub(crate) fn check(document: &Value) {
    let schema = std::fs::read_to_string(root().join("schema/run-v1.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let defects = defects(&schema, document);
    assert!(defects.is_empty(), "against the schema: {defects:#?}");
    let mut python = Command::new("python3");
    python.arg(root().join("tests/check_document.py")).arg("-").stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = python.spawn() else { return skip("check_document.py", "python3 is missing") };
    child.stdin.take().unwrap().write_all(document.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "against the contract: {}", String::from_utf8_lossy(&output.stdout));
}

/// Whether this is the superuser.
pub(crate) fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout == b"0\n")
}

/// The one sentence of a refusal: its status is 2, nothing is on standard output, and the sentence is not a backtrace.
pub(crate) fn refusal(ran: &Ran) -> &str {
    assert_eq!(ran.status, Some(2), "{ran:?}");
    assert!(ran.stdout.is_empty(), "{ran:?}");
    assert!(!ran.stderr.contains("panicked") && !ran.stderr.contains("RUST_BACKTRACE"), "{ran:?}");
    ran.stderr.trim()
}
