//! Identifies a tool and its version from its answer or its file.

use crate::output::Output;
use crate::tool::{ToolDescription, VersionSource};

const LONGEST_VERSION: usize = 32;

/// The version in a tool's answer; `None` if it prints its help instead. The exit status is ignored: some tools exit with 1.
pub fn version_in_answer(tool: &ToolDescription, output: &Output) -> Result<Option<String>, String> {
    let mut lines = [output.stdout.as_str(), output.stderr.as_str()].into_iter().flat_map(str::lines);
    let unknown = |argument: &str, what: &str| {
        let (program, complaint) = (tool.program, output.complaint());
        Err(match another_program(output) {
            Some(line) => {
                let origin = tool.how_to_get.split_whitespace().find(|word| word.starts_with("https://"));
                let origin = origin.unwrap_or_default().trim_end_matches([';', ',']);
                format!("this program is not {} of {origin}: '{program} {argument}' prints '{line}'", tool.id)
            }
            None => format!("'{program} {argument}' does not {what}: {complaint}"),
        })
    };
    match tool.version {
        VersionSource::Asked { argument, prefix, oldest } => match lines.find_map(|line| behind(line, prefix)) {
            Some(word) if major_minor(word).is_some() => known(tool, word, oldest).map(Some),
            _ => unknown(argument, "print a version"),
        },
        VersionSource::Unsaid { help, .. } if lines.any(|line| line.contains(help)) => Ok(None),
        VersionSource::Unsaid { argument, .. } => unknown(argument, &format!("print the help of {}", tool.id)),
        VersionSource::Written { .. } | VersionSource::Marked(_) => Err(format!("{} has no answer", tool.id)),
    }
}

/// The line in which another program reports its own version, such as `BusyBox v1.36.1`; an error is no such line.
fn another_program(output: &Output) -> Option<String> {
    let has_version = |line: &&str| {
        let digit = |c: char| c.is_ascii_digit();
        let parts: Vec<&str> = line.split('.').collect();
        parts.windows(2).any(|pair| pair[0].ends_with(digit) && pair[1].starts_with(digit))
    };
    let lines = [output.stdout.as_str(), output.stderr.as_str()].into_iter().flat_map(str::lines).map(str::trim);
    let line = lines.filter(|line| !line.to_lowercase().contains("error")).find(has_version)?;
    Some(line.chars().take(100).collect())
}

/// The version in a program's file; `None` if the file has only the tool's words.
pub fn version_in_file(tool: &ToolDescription, program: &str, bytes: &[u8]) -> Result<Option<String>, String> {
    let unknown = |what: String| Err(format!("'{program}' {what}"));
    match tool.version {
        VersionSource::Written { prefix, oldest } => match written(prefix, bytes) {
            Some(version) => known(tool, &version, oldest).map(Some),
            None => unknown(format!("has no version after '{}'", prefix.trim_end())),
        },
        VersionSource::Marked(words) if places(bytes, words).next().is_some() => Ok(None),
        VersionSource::Marked(words) => unknown(format!("is not {}: it does not contain '{words}'", tool.id)),
        VersionSource::Asked { .. } | VersionSource::Unsaid { .. } => unknown("does not report its version".to_owned()),
    }
}

fn places<'a>(bytes: &'a [u8], words: &'static str) -> impl Iterator<Item = usize> + 'a {
    let windows = bytes.windows(words.len()).enumerate();
    windows.filter(|(_, window)| *window == words.as_bytes()).map(|(place, _)| place)
}

fn written(prefix: &'static str, bytes: &[u8]) -> Option<String> {
    places(bytes, prefix).find_map(|place| {
        let rest = &bytes[place..bytes.len().min(place + prefix.len() + LONGEST_VERSION)];
        let word = behind(&String::from_utf8_lossy(rest), prefix)?.to_owned();
        major_minor(&word).is_some().then_some(word)
    })
}

fn behind<'a>(line: &'a str, prefix: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(prefix)?;
    rest.trim_start().split([' ', ',', '(']).next()
}

fn known(tool: &ToolDescription, version: &str, oldest: (u32, u32)) -> Result<String, String> {
    if major_minor(version).is_some_and(|numbers| numbers >= oldest) {
        return Ok(version.to_owned());
    }
    let (id, (major, minor)) = (tool.id, oldest);
    Err(format!("{id} {version} is older than {major}.{minor}, the oldest whose output is known"))
}

/// Major and minor: `3.7-no.git` is (3, 7).
pub(crate) fn major_minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    });
    Some((parts.next()??, parts.next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TOOLS;
    use crate::tests::fixtures::{recorded, said, tool};

    #[test]
    fn every_tool_prints_its_version_in_its_own_way() {
        let version = |name: &str, text: &str| {
            version_in_answer(tool(name).description(), &said(text)).map(Option::unwrap_or_default)
        };
        assert_eq!(version("fio", "fio-3.33\n"), Ok("3.33".into()));
        assert_eq!(version("fio", "fio-3.42-135-gf5344"), Ok("3.42-135-gf5344".into()));
        assert_eq!(version("iperf3", "iperf 3.12 (cJSON 1.7.15)\nLinux vm 6.18"), Ok("3.12".into()));
        assert_eq!(version("sockperf", "sockperf, version 3.7-no.git\n   compiled 2021"), Ok("3.7-no.git".into()));
        assert_eq!(version("likwid-bench", "likwid-bench -- Version 5.2.2\n"), Ok("5.2.2".into()));
        let old = version("fio", "fio-2.21").unwrap_err();
        assert!(old.contains("older than 3.0"), "{old}");
        for garbage in ["", "\n", "fio-", "fio-x.y", "segmentation fault", "\u{fffd}\u{fffd}"] {
            for description in TOOLS.iter().map(|tool| tool.description()) {
                let says = match description.version {
                    VersionSource::Asked { .. } => "does not print a version",
                    VersionSource::Unsaid { .. } => "does not print the help",
                    VersionSource::Written { .. } | VersionSource::Marked(_) => "has no answer",
                };
                let reason = version_in_answer(description, &said(garbage)).unwrap_err();
                assert!(reason.contains(says), "{reason}");
            }
        }
    }

    #[test]
    fn a_tool_without_a_version_is_known_by_its_help() {
        for (name, other, recording) in
            [("pmbw", "multichase", "pmbw-0.6.3-help.txt"), ("multichase", "pmbw", "multichase-a1ffd89-help.txt")]
        {
            let answer = said(&recorded(recording));
            assert_eq!(version_in_answer(tool(name).description(), &answer), Ok(None), "{name}");
            assert!(version_in_answer(tool(other).description(), &answer).is_err(), "{name} is taken for {other}");
        }
    }

    #[test]
    fn a_program_may_have_its_version_in_its_file_alone() {
        let version = |text: &str| {
            let bytes = [b"#!/bin/sh\nexit 1\n\0\xff", text.as_bytes(), b"\n\0\xff"].concat();
            version_in_file(tool("stream").description(), "stream", &bytes).map(Option::unwrap_or_default)
        };
        assert_eq!(version("STREAM version $Revision: 5.10 $"), Ok("5.10".into()));
        assert_eq!(version("STREAM version $Revision: x STREAM version $Revision: 5.11 $"), Ok("5.11".into()));
        for (text, why) in [
            ("STREAM version $Revision: 5.9 $", "older than 5.10"),
            ("STREAM version", "has no version"),
            ("", "has no version"),
        ] {
            let reason = version(text).unwrap_err();
            assert!(reason.contains(why), "{text}: {reason:?}");
        }
        let marked = |bytes: &[u8]| version_in_file(tool("xlinpack").description(), "xlinpack", bytes);
        assert_eq!(marked(b"\xff Timing linear equation system solver"), Ok(None));
        assert!(marked(b"something else").unwrap_err().contains("does not contain"));
    }

    #[test]
    fn versions_are_compared_by_number() {
        assert_eq!(major_minor("3.7-no.git"), Some((3, 7)));
        assert_eq!(major_minor("3.16"), Some((3, 16)));
        assert_eq!(major_minor("4"), Some((4, 0)));
        for garbage in ["", "x", "-1.2", ".5"] {
            assert_eq!(major_minor(garbage), None, "{garbage}");
        }
    }
}
