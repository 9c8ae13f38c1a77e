//! What must agree with the code: the schema, the API documentation, the commands in the documents.

use std::path::{Path, PathBuf};

use xtask::process::succeeds;
use xtask::shell::Shell;
use xtask::tally::Tally;

use crate::test_runs::build;

/// The first line of a block of commands that is run here.
const RUNNABLE: &str = "```console run";

const RELEASE: &str = "cargo run --release --quiet -- ";

pub(crate) fn write_schema(shell: &Shell) -> Tally {
    let test = ["test", "--quiet", "--package", "report", "--test", "schema", "--", "--ignored"];
    Tally::check(succeeds(&mut shell.cargo(&test)))
}

/// Whether the API documentation builds without a warning, that of private items too.
pub(crate) fn api(shell: &Shell) -> Tally {
    let mut command = shell.cargo(&["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"]);
    Tally::check(succeeds(command.env("RUSTDOCFLAGS", "-D warnings")))
}

/// Runs the commands that README.md and `docs/` mark as runnable; each must end with the status its line states.
pub(crate) fn commands(shell: &Shell) -> Tally {
    let mut tally = Tally::check(build(shell));
    let scratch = std::env::temp_dir().join(format!("assay-documents-{}", std::process::id()));
    for document in documents(shell.root()) {
        let text = std::fs::read_to_string(&document).unwrap_or_default();
        for command in runnable(&text) {
            tally.add(Tally::check(ends_as_documented(shell, &document, &command, &scratch)));
        }
    }
    // Nothing is lost if it stays.
    let _ = std::fs::remove_dir_all(&scratch);
    tally
}

fn documents(root: &Path) -> Vec<PathBuf> {
    let files = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let docs = root.join("docs");
    let in_folders: Vec<PathBuf> = files(&docs).filter(|path| path.is_dir()).flat_map(|path| files(&path)).collect();
    let is_document = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let mut all: Vec<PathBuf> = files(&docs).chain(in_folders).chain([root.join("README.md")]).collect();
    all.retain(is_document);
    all.sort();
    all
}

#[derive(Debug, PartialEq, Eq)]
struct Documented {
    line: usize,
    text: String,
    status: i32,
}

/// The commands of a document's runnable blocks: the lines that start with `$ `, whose status is 0 unless the line ends
/// in `# status N`.
fn runnable(document: &str) -> Vec<Documented> {
    let mut inside = false;
    let mut found = Vec::new();
    for (index, line) in document.lines().enumerate() {
        if line.starts_with("```") {
            inside = line.trim_end() == RUNNABLE;
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            let (text, status) = command.split_once("# status ").unwrap_or((command, "0"));
            // A status that is no number equals none, so the command fails and is looked at.
            let status = status.trim().parse().unwrap_or(i32::MAX);
            found.push(Documented { line: index + 1, text: text.trim().to_owned(), status });
        }
    }
    found
}

/// Runs a command as a reader would, with the program on the path and a store of its own.
///
/// What is to be built is there already, though not optimised.
fn ends_as_documented(shell: &Shell, document: &Path, documented: &Documented, scratch: &Path) -> bool {
    let mut path: Vec<PathBuf> = shell.program().parent().map(Path::to_path_buf).into_iter().collect();
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut command = shell.command("sh", &["-c", &documented.text.replace(RELEASE, "assay ")]);
    command.env("ASSAY_STORE", scratch.join("store"));
    if let Ok(path) = std::env::join_paths(path) {
        command.env("PATH", path);
    }
    println!("$ {}", documented.text);
    let status = command.status().ok().and_then(|status| status.code());
    if status != Some(documented.status) {
        println!("{}:{}: ended with {status:?}, not with {}", document.display(), documented.line, documented.status);
    }
    status == Some(documented.status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marked_blocks_are_run() {
        let document = "```console\n$ rm -r everything\n```\n\n```console run\n$ assay --version\nassay 0.1.0\n\
                        $ assay cpu --threads 0   # status 2\n```\n$ not in a block\n";
        let expected = [(6, "assay --version", 0), (8, "assay cpu --threads 0", 2)];
        let expected = expected.map(|(line, text, status)| Documented { line, text: text.into(), status });
        assert_eq!(runnable(document), expected);
    }

    #[test]
    fn a_status_that_is_no_number_is_never_met() {
        assert_eq!(runnable("```console run\n$ true # status zero\n")[0].status, i32::MAX);
    }
}
