//! `cargo xtask release VERSION`: checks, builds and tags a release. It publishes nothing.

use std::fs;
use std::process::ExitCode;

use xtask::process::{output, succeeds};
use xtask::shell::Shell;

use crate::dist;
use crate::steps::finish;

pub(crate) fn run(shell: &Shell, arguments: &[String]) -> ExitCode {
    let [version] = arguments else {
        println!("Usage: cargo xtask release VERSION");
        return ExitCode::from(2);
    };
    let changelog = fs::read_to_string(shell.root().join("CHANGELOG.md")).unwrap_or_default();
    let git = |arguments: &[&str]| output(&mut shell.command("git", arguments)).unwrap_or_default();
    let tag = format!("v{version}");
    let checked = check_version(version, env!("CARGO_PKG_VERSION"), &changelog)
        .and_then(|()| check_empty(&git(&["status", "--porcelain"]), "the working tree has changes: commit them"))
        .and_then(|()| check_empty(&git(&["tag", "--list", &tag]), "the tag exists: choose another version"));
    if let Err(why) = checked {
        println!("{version} cannot be released: {why}");
        return ExitCode::FAILURE;
    }
    let built = dist::run(shell);
    if built.failed > 0 {
        return finish(&built);
    }
    if !succeeds(&mut shell.command("git", &["tag", "--annotate", &tag, "--message", &format!("Assay {version}")])) {
        return ExitCode::FAILURE;
    }
    println!("Tagged {tag}. To publish: push the tag, and upload the files of dist/.");
    ExitCode::SUCCESS
}

fn check_version(version: &str, of_cargo: &str, changelog: &str) -> Result<(), String> {
    if version != of_cargo {
        return Err(format!("Cargo.toml has the version {of_cargo}: change one of them"));
    }
    let begin = format!("## [{version}] - ");
    let date = changelog.lines().find_map(|line| line.strip_prefix(&begin));
    match date {
        None => Err(format!("CHANGELOG.md has no section '{begin}YYYY-MM-DD': write it")),
        Some(date) if is_date(date) => Ok(()),
        Some(other) => Err(format!("CHANGELOG.md has '{other}' for a date: write the day of the release, YYYY-MM-DD")),
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    parts.iter().map(|part| part.len()).eq([4, 2, 2]) && parts.iter().all(is_number)
}

fn check_empty(found: &str, why: &str) -> Result<(), String> {
    if found.trim().is_empty() { Ok(()) } else { Err(why.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_needs_its_version_in_cargo_and_a_dated_section_in_the_changelog() {
        let changelog = "# Changelog\n\n## [0.3.0] - unreleased\n\n## [0.2.0] - 2026-11-28\n";
        assert_eq!(check_version("0.2.0", "0.2.0", changelog), Ok(()));
        for (version, of_cargo, why) in
            [("0.2.0", "0.1.0", "Cargo.toml"), ("0.3.0", "0.3.0", "unreleased"), ("0.4.0", "0.4.0", "no section")]
        {
            let error = check_version(version, of_cargo, changelog).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
