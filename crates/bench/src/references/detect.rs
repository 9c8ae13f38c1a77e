//! Finds tools on a search path and identifies their versions. Anything wrong with a program is a reason.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use tools::{Invocation, TOOLS, ToolDescription, bare_environment, version_in_answer, version_in_file};

use super::run::run;

/// Timeout for a version; answers take milliseconds.
pub const VERSION_SECONDS: f64 = 5.0;
/// Maximum bytes of a program's file that are searched for its version.
const SEARCHED_BYTES: u64 = 64 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Folders, in search order.
    pub search_path: Vec<PathBuf>,
    /// Programs by tool id; these tools are not searched.
    pub overrides: BTreeMap<String, PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    pub path: PathBuf,
    /// Its version; `None` if it is unknown.
    pub version: Option<String>,
    /// The program that starts its processes, if it needs one.
    pub launcher: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotFound {
    Missing(String),
    Unusable { path: PathBuf, reason: String },
}

impl NotFound {
    pub fn reason(&self) -> &str {
        match self {
            Self::Missing(reason) | Self::Unusable { reason, .. } => reason,
        }
    }
}

pub fn detect(tool: &ToolDescription, places: &Places) -> Result<Found, NotFound> {
    detect_within(tool, places, VERSION_SECONDS)
}

/// The same with a timeout for the version, in seconds.
pub fn detect_within(tool: &ToolDescription, places: &Places, timeout_seconds: f64) -> Result<Found, NotFound> {
    let path = program(tool, places).map_err(NotFound::Missing)?;
    let launcher = tool.launcher.map(|name| {
        let missing = || format!("{} is started by '{name}', which is not on the search path", tool.id);
        on_the_path(name, places).ok_or_else(|| NotFound::Missing(missing()))
    });
    let launcher = launcher.transpose()?;
    match ask_version(tool, &path, timeout_seconds) {
        Ok(version) => Ok(Found { path, version, launcher }),
        Err(reason) => Err(NotFound::Unusable { path, reason }),
    }
}

pub(crate) type Detected = BTreeMap<String, Result<Found, NotFound>>;

pub fn usable(places: &Places) -> Vec<&'static str> {
    let descriptions = TOOLS.iter().map(|tool| tool.description());
    descriptions.filter(|tool| detect(tool, places).is_ok()).map(|tool| tool.id).collect()
}

fn program(tool: &ToolDescription, places: &Places) -> Result<PathBuf, String> {
    if let Some(named) = places.overrides.get(tool.id) {
        // It starts in another folder, where a relative path would be wrong.
        let absolute = std::path::absolute(named).ok().filter(|path| is_program(path));
        return absolute
            .ok_or_else(|| format!("'{}', given for {}, is not an executable program", named.display(), tool.id));
    }
    on_the_path(tool.program, places)
        .ok_or_else(|| format!("{} is not installed: '{}' is not on the search path", tool.id, tool.program))
}

fn on_the_path(name: &str, places: &Places) -> Option<PathBuf> {
    // An empty entry means the current folder, which is never searched.
    let folders = places.search_path.iter().filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn ask_version(tool: &ToolDescription, path: &Path, timeout_seconds: f64) -> Result<Option<String>, String> {
    let program = path.display().to_string();
    let Some(argument) = tool.version.argument() else {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(SEARCHED_BYTES).read_to_end(&mut bytes));
        read.map_err(|error| format!("'{program}' cannot be read: {error}"))?;
        return version_in_file(tool, &program, &bytes);
    };
    let (argv, env) = (vec![program, argument.to_owned()], bare_environment());
    let ran = run(&Invocation { argv, env, timeout_seconds, ..Invocation::default() }, &mut |_| {})?;
    version_in_answer(tool, &ran.output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::tests::{description, program_in};
    use crate::tests::{Scratch, scratch};

    fn played(tool: &str, script: &str) -> (Scratch, Result<Found, NotFound>) {
        let scratch = scratch();
        program_in(scratch.path(), tool, script);
        let places = Places { search_path: vec![scratch.path().to_owned()], ..Places::default() };
        let found = detect(description(tool), &places);
        (scratch, found)
    }

    #[test]
    fn a_tool_on_the_search_path_is_found_and_not_run_if_its_version_is_in_its_file() {
        for (tool, script, version) in
            [("fio", "echo fio-3.36", "3.36"), ("stream", "exit 1 # STREAM version $Revision: 5.10 $", "5.10")]
        {
            let (scratch, found) = played(tool, script);
            let path = scratch.path().join(tool);
            assert_eq!(found, Ok(Found { path, version: Some(version.into()), launcher: None }));
        }
    }

    #[test]
    fn what_is_wrong_with_a_program_is_a_reason() {
        let (_scratch, unmarked) = played("stream", "exit 1 # STREAM version");
        assert!(unmarked.unwrap_err().reason().contains("has no version"));
        let (scratch, found) = played("fio", "echo hello; exit 3");
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
