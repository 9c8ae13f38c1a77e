//! Finding a tool: its program on a search path, and the version that it says it is.
//!
//! The search path is a value: only the command line's crate reads the environment. Whatever is wrong with a program
//! (it hangs, it prints something else, it is too old) is a reason.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::run::run;
use super::{About, Invocation, Output, bare_environment, complaint, major_minor};

/// Seconds after which a tool that does not say its version is ended. They answer in milliseconds.
const VERSION_TIMEOUT_SECONDS: f64 = 5.0;

/// Where tools are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Folders, in the order in which they are searched.
    pub search_path: Vec<PathBuf>,
    /// Programs that were named, by the tool's id: these and no others.
    pub overrides: BTreeMap<String, PathBuf>,
}

/// A tool that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its program.
    pub path: PathBuf,
    /// Its version, as it says.
    pub version: String,
}

/// Why a tool cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
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
pub fn detect(about: &About, places: &Places) -> Result<Found, NotFound> {
    detect_within(about, places, VERSION_TIMEOUT_SECONDS)
}

/// The same where there is only so much time for its answer, in seconds.
///
/// # Errors
/// It is missing, or cannot be used.
pub fn detect_within(about: &About, places: &Places, timeout_seconds: f64) -> Result<Found, NotFound> {
    let path = program(about, places).map_err(NotFound::Missing)?;
    match ask_version(about, &path, timeout_seconds) {
        Ok(version) => Ok(Found { path, version }),
        Err(reason) => Err(NotFound::Unusable { path, reason }),
    }
}

/// The program's path.
fn program(about: &About, places: &Places) -> Result<PathBuf, String> {
    if let Some(named) = places.overrides.get(about.tool) {
        return if is_program(named) {
            Ok(named.clone())
        } else {
            Err(format!("'{}', named for {}, is no program that can be run", named.display(), about.tool))
        };
    }
    // An empty entry of a search path means the current folder, from which nothing is ever run unasked.
    let folders = places.search_path.iter().filter(|folder| folder.is_absolute());
    folders
        .map(|folder| folder.join(about.program))
        .find(|path| is_program(path))
        .ok_or_else(|| format!("{} is not installed: there is no '{}' on the search path", about.tool, about.program))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn ask_version(about: &About, path: &Path, timeout_seconds: f64) -> Result<String, String> {
    let invocation = Invocation {
        argv: vec![path.to_string_lossy().into_owned(), about.version_argument.to_owned()],
        env: bare_environment(),
        timeout_seconds,
        ..Invocation::default()
    };
    let ran = run(&invocation, &mut |_| {})?;
    version_in(about, &ran.output)
}

/// The version in a tool's answer. The status is not asked: some versions leave with 1 after they have answered.
fn version_in(about: &About, output: &Output) -> Result<String, String> {
    let answer = [output.stdout.as_str(), output.stderr.as_str()];
    let after = |line: &str| line.split_once(about.version_prefix).map(|(_, rest)| rest.trim_start().to_owned());
    let version = answer.iter().flat_map(|text| text.lines()).find_map(after).and_then(|rest| {
        let word = rest.split([' ', ',', '(']).next().unwrap_or_default().to_owned();
        major_minor(&word).map(|numbers| (word, numbers))
    });
    let (oldest_major, oldest_minor) = about.oldest;
    match version {
        None => Err(format!(
            "'{} {}' does not name a version: {}",
            about.program,
            about.version_argument,
            complaint(output)
        )),
        Some((version, numbers)) if numbers < about.oldest => Err(format!(
            "{} {version} is older than {oldest_major}.{oldest_minor}, the oldest whose output is known",
            about.tool
        )),
        Some((version, _)) => Ok(version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::tests::{program_in, said};
    use crate::reference::{REFERENCES, find};
    use crate::tests::{Scratch, scratch};

    #[test]
    fn every_tool_says_its_version_in_its_own_way() {
        let version = |tool: &str, text: &str| version_in(find(tool).unwrap().about(), &said(text));
        assert_eq!(version("fio", "fio-3.33\n"), Ok("3.33".into()));
        assert_eq!(version("fio", "fio-3.42-135-gf5344"), Ok("3.42-135-gf5344".into()));
        assert_eq!(version("iperf3", "iperf 3.12 (cJSON 1.7.15)\nLinux vm 6.18"), Ok("3.12".into()));
        assert_eq!(version("sockperf", "sockperf, version 3.7-no.git\n   compiled 2021"), Ok("3.7-no.git".into()));
        assert_eq!(version("likwid-bench", "likwid-bench -- Version 5.2.2\n"), Ok("5.2.2".into()));
        let old = version("fio", "fio-2.21").unwrap_err();
        assert!(old.contains("older than 3.0"), "{old}");
        for garbage in ["", "\n", "fio-", "fio-x.y", "segmentation fault", "\u{fffd}\u{fffd}"] {
            for reference in REFERENCES {
                let reason = version_in(reference.about(), &said(garbage)).unwrap_err();
                assert!(reason.contains("does not name a version"), "{reason}");
            }
        }
    }

    /// A tool played by a script.
    fn played(script: &str) -> (Scratch, Result<Found, NotFound>) {
        let scratch = scratch();
        program_in(scratch.path(), "fio", script);
        let places = Places { search_path: vec![scratch.path().to_owned()], ..Places::default() };
        let found = detect(find("fio").unwrap().about(), &places);
        (scratch, found)
    }

    #[test]
    fn a_tool_on_the_search_path_is_found() {
        let (scratch, found) = played("echo fio-3.36");
        assert_eq!(found, Ok(Found { path: scratch.path().join("fio"), version: "3.36".into() }));
    }

    #[test]
    fn what_is_wrong_with_a_program_is_a_reason() {
        let (scratch, found) = played("echo hello; exit 3");
        let path = scratch.path().join("fio");
        assert!(matches!(&found, Err(NotFound::Unusable { path: its, .. }) if *its == path), "{found:?}");
        assert!(found.unwrap_err().reason().contains("hello"));
        let missing = detect(find("fio").unwrap().about(), &Places::default()).unwrap_err();
        assert!(missing.reason().contains("not installed"), "{missing:?}");
        let overrides = BTreeMap::from([("fio".to_owned(), scratch.path().join("no-such-file"))]);
        let named =
            detect(find("fio").unwrap().about(), &Places { search_path: vec![scratch.path().to_owned()], overrides });
        assert!(named.unwrap_err().reason().contains("no-such-file"), "a named program is not looked for elsewhere");
    }

    #[test]
    fn a_program_that_hangs_is_a_reason() {
        let scratch = scratch();
        program_in(scratch.path(), "fio", "echo fio-3.33; while :; do sleep 9; done");
        let reason = ask_version(find("fio").unwrap().about(), &scratch.path().join("fio"), 0.2).unwrap_err();
        assert!(reason.contains("took longer"), "{reason}");
    }

    #[test]
    fn the_current_folder_is_never_searched() {
        for relative in ["", ".", "bin"] {
            let places = Places { search_path: vec![PathBuf::from(relative)], ..Places::default() };
            assert!(program(find("fio").unwrap().about(), &places).is_err());
        }
    }
}
