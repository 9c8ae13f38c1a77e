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

use super::run::run;
use super::{About, Invocation, Output, Version, bare_environment, complaint, major_minor};

/// Seconds after which a tool that does not say its version is ended. They answer in milliseconds.
const VERSION_TIMEOUT_SECONDS: f64 = 5.0;

/// Bytes of a program's file that are searched for its version: statically linked tools have a few MiB.
const SEARCHED_BYTES: u64 = 64 << 20;
/// The longest version.
const LONGEST_VERSION: usize = 32;

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
pub fn detect(about: &About, places: &Places) -> Result<Found, NotFound> {
    detect_within(about, places, VERSION_TIMEOUT_SECONDS)
}

/// The same where there is only so much time for its answer, in seconds.
///
/// # Errors
/// It is missing, or cannot be used.
pub fn detect_within(about: &About, places: &Places, timeout_seconds: f64) -> Result<Found, NotFound> {
    let path = program(about, places).map_err(NotFound::Missing)?;
    let launcher = about.launcher.map(|name| {
        let missing = || format!("{} is started by '{name}', which is not on the search path", about.tool);
        on_the_path(name, places).ok_or_else(missing)
    });
    let launcher = launcher.transpose().map_err(NotFound::Missing)?;
    match ask_version(about, &path, timeout_seconds) {
        Ok(version) => Ok(Found { path, version, launcher }),
        Err(reason) => Err(NotFound::Unusable { path, reason }),
    }
}

/// The program's path.
fn program(about: &About, places: &Places) -> Result<PathBuf, String> {
    if let Some(named) = places.overrides.get(about.tool) {
        return if is_program(named) {
            // It is started in a folder of its own, where a relative path would lead elsewhere.
            std::path::absolute(named).map_err(|error| format!("where '{}' is is not known: {error}", named.display()))
        } else {
            Err(format!("'{}', named for {}, is no program that can be run", named.display(), about.tool))
        };
    }
    on_the_path(about.program, places)
        .ok_or_else(|| format!("{} is not installed: there is no '{}' on the search path", about.tool, about.program))
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

fn ask_version(about: &About, path: &Path, timeout_seconds: f64) -> Result<Option<String>, String> {
    let argument = match about.version {
        Version::Written { prefix, oldest } => return written_version(about, path, prefix, oldest).map(Some),
        Version::Marked { words } => return is_marked(about, path, words).map(|()| None),
        Version::Asked { argument, .. } | Version::Unsaid { argument, .. } => argument,
    };
    let invocation = Invocation {
        argv: vec![path.to_string_lossy().into_owned(), argument.to_owned()],
        env: bare_environment(),
        timeout_seconds,
        ..Invocation::default()
    };
    let ran = run(&invocation, &mut |_| {})?;
    version_in(about, &ran.output)
}

/// The version in a tool's answer; `None` of a tool that prints its help instead. The status is not asked: some leave
/// with 1 after they have answered.
fn version_in(about: &About, output: &Output) -> Result<Option<String>, String> {
    let mut lines = [output.stdout.as_str(), output.stderr.as_str()].into_iter().flat_map(str::lines);
    let said = |argument: &str, what: &str| {
        Err(format!("'{} {argument}' does not {what}: {}", about.program, complaint(output)))
    };
    match about.version {
        Version::Asked { argument, prefix, oldest } => match lines.find_map(|line| behind(line, prefix)) {
            Some(word) if major_minor(word).is_some() => known(about, word, oldest).map(Some),
            _ => said(argument, "name a version"),
        },
        Version::Unsaid { help, .. } if lines.any(|line| line.contains(help)) => Ok(None),
        Version::Unsaid { argument, .. } => said(argument, &format!("print the help of {}", about.tool)),
        Version::Written { .. } | Version::Marked { .. } => Err(format!("{} has no answer", about.tool)),
    }
}

/// The word behind a prefix.
fn behind<'a>(line: &'a str, prefix: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(prefix)?;
    rest.trim_start().split([' ', ',', '(']).next()
}

/// What is searched of a program's file.
fn beginning(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(SEARCHED_BYTES).read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(|error| format!("'{}' cannot be read: {error}", path.display()))
}

/// Whether a program's file has these words.
fn is_marked(about: &About, path: &Path, words: &str) -> Result<(), String> {
    if beginning(path)?.windows(words.len()).any(|window| window == words.as_bytes()) {
        return Ok(());
    }
    Err(format!("'{}' is not {}: it does not have the words '{words}'", path.display(), about.tool))
}

/// The version in a program's file.
fn written_version(about: &About, path: &Path, prefix: &str, oldest: (u32, u32)) -> Result<String, String> {
    let bytes = beginning(path)?;
    let places = bytes.windows(prefix.len()).enumerate().filter(|(_, window)| *window == prefix.as_bytes());
    let versions = places.filter_map(|(place, _)| {
        let rest = &bytes[place..bytes.len().min(place + prefix.len() + LONGEST_VERSION)];
        let word = behind(&String::from_utf8_lossy(rest), prefix)?.to_owned();
        major_minor(&word).is_some().then_some(word)
    });
    match versions.into_iter().next() {
        Some(version) => known(about, &version, oldest),
        None => Err(format!("'{}' does not name a version behind '{}'", path.display(), prefix.trim_end())),
    }
}

/// A version, if it is one whose output is known.
fn known(about: &About, version: &str, oldest: (u32, u32)) -> Result<String, String> {
    let (major, minor) = oldest;
    if major_minor(version).is_none_or(|numbers| numbers < oldest) {
        return Err(format!(
            "{} {version} is older than {major}.{minor}, the oldest whose output is known",
            about.tool
        ));
    }
    Ok(version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::tests::{program_in, recorded, said};
    use crate::reference::{REFERENCES, find};
    use crate::tests::{Scratch, scratch};

    #[test]
    fn every_tool_says_its_version_in_its_own_way() {
        let said_version = |tool: &str, text: &str| version_in(find(tool).unwrap().about(), &said(text));
        let version = |tool: &str, text: &str| said_version(tool, text).map(Option::unwrap_or_default);
        assert_eq!(version("fio", "fio-3.33\n"), Ok("3.33".into()));
        assert_eq!(version("fio", "fio-3.42-135-gf5344"), Ok("3.42-135-gf5344".into()));
        assert_eq!(version("iperf3", "iperf 3.12 (cJSON 1.7.15)\nLinux vm 6.18"), Ok("3.12".into()));
        assert_eq!(version("sockperf", "sockperf, version 3.7-no.git\n   compiled 2021"), Ok("3.7-no.git".into()));
        assert_eq!(version("likwid-bench", "likwid-bench -- Version 5.2.2\n"), Ok("5.2.2".into()));
        let old = version("fio", "fio-2.21").unwrap_err();
        assert!(old.contains("older than 3.0"), "{old}");
        for garbage in ["", "\n", "fio-", "fio-x.y", "segmentation fault", "\u{fffd}\u{fffd}"] {
            for about in REFERENCES.iter().map(|reference| reference.about()) {
                let says = match about.version {
                    Version::Asked { .. } => "does not name a version",
                    Version::Unsaid { .. } => "does not print the help",
                    Version::Written { .. } | Version::Marked { .. } => "has no answer",
                };
                let reason = version_in(about, &said(garbage)).unwrap_err();
                assert!(reason.contains(says), "{reason}");
            }
        }
    }

    #[test]
    fn a_tool_without_a_version_is_known_by_its_help() {
        for (tool, recording) in [("pmbw", "pmbw-0.6.3-help.txt"), ("multichase", "multichase-a1ffd89-help.txt")] {
            let about = find(tool).unwrap().about();
            assert_eq!(version_in(about, &said(&recorded(recording))), Ok(None), "{tool}");
            let others = ["pmbw", "multichase"].into_iter().filter(|other| *other != tool);
            for other in others.map(|other| find(other).unwrap().about()) {
                assert!(version_in(other, &said(&recorded(recording))).is_err(), "{tool} is taken for {}", other.tool);
            }
        }
    }

    #[test]
    fn a_version_may_stand_in_the_programs_file_alone() {
        let scratch = scratch();
        let version = |contents: &[u8]| {
            let path = scratch.path().join("stream");
            std::fs::write(&path, contents).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            let places = Places { search_path: vec![scratch.path().to_owned()], ..Places::default() };
            detect(find("stream").unwrap().about(), &places).map(|found| found.version.unwrap())
        };
        // It is never run: `exit 1` would be its answer.
        let program = |text: &str| [b"#!/bin/sh\nexit 1\n\0\xff", text.as_bytes(), b"\n\0\xff"].concat();
        assert_eq!(version(&program("STREAM version $Revision: 5.10 $")), Ok("5.10".into()));
        assert_eq!(
            version(&program("STREAM version $Revision: x STREAM version $Revision: 5.11 $")),
            Ok("5.11".into())
        );
        for (text, why) in [
            ("STREAM version $Revision: 5.9 $", "older than 5.10"),
            ("STREAM version", "does not name a version"),
            ("", "does not name a version"),
        ] {
            let reason = version(&program(text)).unwrap_err();
            assert!(reason.reason().contains(why), "{text}: {reason:?}");
        }
    }

    #[test]
    fn a_tool_without_a_version_may_be_known_by_words_in_its_file() {
        let scratch = scratch();
        let places = Places { search_path: vec![scratch.path().to_owned()], ..Places::default() };
        let found = |contents: &str| {
            program_in(scratch.path(), "xlinpack_xeon64", contents);
            detect(find("xlinpack").unwrap().about(), &places)
        };
        assert_eq!(found("exit 1 # Timing linear equation system solver").map(|found| found.version), Ok(None));
        let reason = found("echo something else").unwrap_err();
        assert!(reason.reason().contains("does not have the words"), "{reason:?}");
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
        assert_eq!(found, Ok(Found { path: scratch.path().join("fio"), version: Some("3.36".into()), launcher: None }));
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
