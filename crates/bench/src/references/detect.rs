//! Finding a tool: its program on a search path, and the version that it says it is, or that its file says.
//!
//! The search path is a value: only the command line's crate reads the environment. Whatever is wrong with a program
//! (it hangs, it prints something else, it is too old) is a reason.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use tools::{Invocation, TOOLS, ToolDescription, bare_environment, version_in_answer, version_in_file};

use super::run::run;

/// Seconds after which a tool that does not say its version is ended. They answer in milliseconds.
const VERSION_TIMEOUT_SECONDS: f64 = 5.0;

/// Bytes of a program's file that are searched for its version: statically linked tools have a few MiB.
const SEARCHED_BYTES: u64 = 64 << 20;

/// Where tools are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Folders, in the order in which they are searched.
    pub search_path: Vec<PathBuf>,
    /// Programs that were named, by the tool's id: these and no others.
    pub overrides: BTreeMap<String, PathBuf>,
}

/// A tool that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Its program.
    pub path: PathBuf,
    /// Its version, as it or its file says; `None` of a tool that says none.
    pub version: Option<String>,
    /// The program that starts its processes, where it needs one.
    pub launcher: Option<PathBuf>,
}

/// Why a tool cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotFound {
    /// There is no such program.
    Missing(String),
    /// There is one, and something is wrong with it.
    Unusable {
        /// The program.
        path: PathBuf,
        /// One sentence.
        reason: String,
    },
}

impl NotFound {
    /// The sentence.
    pub fn reason(&self) -> &str {
        match self {
            Self::Missing(reason) | Self::Unusable { reason, .. } => reason,
        }
    }
}

/// Looks for a tool and asks for its version.
///
/// # Errors
/// It is missing, or cannot be used.
pub fn detect(tool: &ToolDescription, places: &Places) -> Result<Found, NotFound> {
    detect_within(tool, places, VERSION_TIMEOUT_SECONDS)
}

/// The same where there is only so much time for its answer, in seconds.
///
/// # Errors
/// It is missing, or cannot be used.
pub fn detect_within(tool: &ToolDescription, places: &Places, timeout_seconds: f64) -> Result<Found, NotFound> {
    let path = program(tool, places).map_err(NotFound::Missing)?;
    let launcher = tool.launcher.map(|name| {
        let missing = || format!("{} is started by '{name}', which is not on the search path", tool.id);
        on_the_path(name, places).ok_or_else(missing)
    });
    let launcher = launcher.transpose().map_err(NotFound::Missing)?;
    match ask_version(tool, &path, timeout_seconds) {
        Ok(version) => Ok(Found { path, version, launcher }),
        Err(reason) => Err(NotFound::Unusable { path, reason }),
    }
}

/// What was found of tools, by their ids.
pub(crate) type Detected = BTreeMap<String, Result<Found, NotFound>>;

/// Looks for the tools of these ids.
pub(crate) fn detect_all<'a>(ids: impl Iterator<Item = &'a str>, places: &Places) -> Detected {
    let descriptions = ids.filter_map(|id| Some(tools::find(id)?.description()));
    descriptions.map(|tool| (tool.id.to_owned(), detect(tool, places))).collect()
}

/// The ids of the tools that are here and can be used.
pub fn usable(places: &Places) -> Vec<&'static str> {
    let descriptions = TOOLS.iter().map(|tool| tool.description());
    descriptions.filter(|tool| detect(tool, places).is_ok()).map(|tool| tool.id).collect()
}

/// The program's path.
fn program(tool: &ToolDescription, places: &Places) -> Result<PathBuf, String> {
    if let Some(named) = places.overrides.get(tool.id) {
        return if is_program(named) {
            // It is started in a folder of its own, where a relative path would lead elsewhere.
            std::path::absolute(named).map_err(|error| format!("where '{}' is is not known: {error}", named.display()))
        } else {
            Err(format!("'{}', named for {}, is no program that can be run", named.display(), tool.id))
        };
    }
    on_the_path(tool.program, places)
        .ok_or_else(|| format!("{} is not installed: there is no '{}' on the search path", tool.id, tool.program))
}

/// The first program of this name.
fn on_the_path(name: &str, places: &Places) -> Option<PathBuf> {
    // An empty entry of a search path means the current folder, from which nothing is ever run unasked.
    let folders = places.search_path.iter().filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn ask_version(tool: &ToolDescription, path: &Path, timeout_seconds: f64) -> Result<Option<String>, String> {
    let program = path.display().to_string();
    let Some(argument) = tool.version.argument() else {
        let bytes = beginning(path).map_err(|error| format!("'{program}' cannot be read: {error}"))?;
        return Ok(version_in_file(tool, &program, &bytes)?);
    };
    let invocation = Invocation {
        argv: vec![program, argument.to_owned()],
        env: bare_environment(),
        timeout_seconds,
        ..Invocation::default()
    };
    let ran = run(&invocation, &mut |_| {})?;
    Ok(version_in_answer(tool, &ran.output)?)
}

/// What is searched of a program's file.
fn beginning(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(SEARCHED_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::tests::{description, program_in};
    use crate::tests::{Scratch, scratch};

    #[test]
    fn a_program_whose_version_is_in_its_file_is_not_run() {
        let scratch = scratch();
        let places = Places { search_path: vec![scratch.path().to_owned()], ..Places::default() };
        let found = |contents: &str| {
            program_in(scratch.path(), "stream", contents);
            detect(description("stream"), &places).map(|found| found.version.unwrap())
        };
        assert_eq!(found("exit 1 # STREAM version $Revision: 5.10 $"), Ok("5.10".into()));
        let reason = found("exit 1 # STREAM version").unwrap_err();
        assert!(reason.reason().contains("does not name a version"), "{reason:?}");
    }

    /// A tool played by a script.
    fn played(script: &str) -> (Scratch, Result<Found, NotFound>) {
        let scratch = scratch();
        program_in(scratch.path(), "fio", script);
        let places = Places { search_path: vec![scratch.path().to_owned()], ..Places::default() };
        let found = detect(description("fio"), &places);
        (scratch, found)
    }

    #[test]
    fn a_tool_on_the_search_path_is_found() {
        let (scratch, found) = played("echo fio-3.36");
        assert_eq!(found, Ok(Found { path: scratch.path().join("fio"), version: Some("3.36".into()), launcher: None }));
    }

    #[test]
    fn what_is_wrong_with_a_program_is_a_reason() {
        let (scratch, found) = played("echo hello; exit 3");
        let path = scratch.path().join("fio");
        assert!(matches!(&found, Err(NotFound::Unusable { path: its, .. }) if *its == path), "{found:?}");
        assert!(found.unwrap_err().reason().contains("hello"));
        let missing = detect(description("fio"), &Places::default()).unwrap_err();
        assert!(missing.reason().contains("not installed"), "{missing:?}");
        let overrides = BTreeMap::from([("fio".to_owned(), scratch.path().join("no-such-file"))]);
        let named = detect(description("fio"), &Places { search_path: vec![scratch.path().to_owned()], overrides });
        assert!(named.unwrap_err().reason().contains("no-such-file"), "a named program is not looked for elsewhere");
    }

    #[test]
    fn a_program_that_hangs_is_a_reason() {
        let scratch = scratch();
        program_in(scratch.path(), "fio", "echo fio-3.33; while :; do sleep 9; done");
        let reason = ask_version(description("fio"), &scratch.path().join("fio"), 0.2).unwrap_err();
        assert!(reason.contains("took longer"), "{reason}");
    }

    #[test]
    fn the_current_folder_is_never_searched() {
        for relative in ["", ".", "bin"] {
            let places = Places { search_path: vec![PathBuf::from(relative)], ..Places::default() };
            assert!(program(description("fio"), &places).is_err());
        }
    }
}
