//! Words for shells, and which paths and lines can be said to one at all.

use std::path::Path;

/// A word as a POSIX shell reads it back: as it is where nothing in it is special, else in single quotes.
#[must_use]
pub(super) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A path that can stand in a script: absolute, UTF-8, and without control characters, which no quoting brings through
/// every program on the way.
///
/// # Errors
/// A sentence that names the path and what is wrong with it.
pub fn checked_path(path: &Path) -> Result<&str, String> {
    let Some(text) = path.to_str() else {
        return Err(format!("'{}' is not UTF-8: jobs' scripts are text; use another folder", path.display()));
    };
    if text.chars().any(char::is_control) {
        return Err(format!("{text:?} has a line's end or another control character in it: use another folder"));
    }
    if path.is_absolute() { Ok(text) } else { Err(format!("'{text}' does not begin with '/'")) }
}

/// The user's own lines for scripts, without `#SBATCH` in front: each one line, and an option.
///
/// # Errors
/// A sentence that names the line.
pub fn checked_lines(lines: &[String]) -> Result<Vec<String>, String> {
    lines.iter().map(|line| checked_line(line)).collect()
}

fn checked_line(line: &str) -> Result<String, String> {
    let text = line.trim();
    let text = text.strip_prefix("#SBATCH").unwrap_or(text).trim();
    if text.chars().any(char::is_control) {
        return Err(format!("{line:?} is not one line: give --sbatch once for each"));
    }
    if !text.starts_with('-') {
        return Err(format!("'{line}' is no option of sbatch: it must begin with '-', as --sbatch=--account=a does"));
    }
    let name = text.trim_start_matches('-').split(['=', ' ']).next().unwrap_or_default();
    match TAKEN.iter().find(|(taken, _)| *taken == name) {
        Some((_, why)) => Err(format!("'{line}' cannot be said to sbatch: {why}")),
        None => Ok(text.to_owned()),
    }
}

/// Options that are ours to say, and why.
const TAKEN: &[(&str, &str)] = &[
    ("nodelist", "which nodes a job has is the plan's matter"),
    ("w", "which nodes a job has is the plan's matter"),
    ("nodes", "which nodes a job has is the plan's matter"),
    ("N", "which nodes a job has is the plan's matter"),
    ("array", "each task of an array counts as a job, and a worker drains any number of tasks"),
    ("a", "each task of an array counts as a job, and a worker drains any number of tasks"),
    ("time", "use --time"),
    ("t", "use --time"),
    ("output", "what jobs print is looked for in the plan's folder"),
    ("o", "what jobs print is looked for in the plan's folder"),
    ("chdir", "what jobs print is looked for in the plan's folder"),
    ("D", "what jobs print is looked for in the plan's folder"),
    ("signal", "workers are told two minutes before their time is over"),
    ("ntasks-per-node", "there is one worker a node"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        for word in
            ["plain/path-1.json", "", "two words", "it's", r#"a "b" $HOME `id` \ !x"#, "*?[a]~#&;|<>(){}", "ä%j"]
        {
            let output = Command::new("sh").args(["-c", &format!("printf %s {}", quoted(word))]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
    }

    #[test]
    fn paths_that_no_script_can_say_are_refused() {
        use std::os::unix::ffi::OsStrExt;
        assert_eq!(checked_path(Path::new("/a b/it's")).unwrap(), "/a b/it's");
        for bad in ["relative", "/a\nb", "/a\tb", "/a\u{7f}"] {
            assert!(checked_path(Path::new(bad)).is_err(), "{bad:?}");
        }
        assert!(checked_path(Path::new(std::ffi::OsStr::from_bytes(b"/\xff"))).unwrap_err().contains("UTF-8"));
    }

    #[test]
    fn a_users_line_is_one_line_and_none_of_ours() {
        let good = ["--account=a", "#SBATCH --qos=low", " -A b ", "--constraint=\"a&b\""].map(str::to_owned);
        assert_eq!(checked_lines(&good).unwrap(), ["--account=a", "--qos=low", "-A b", "--constraint=\"a&b\""]);
        for bad in ["", "account=a", "--account=a\nrm -rf /", "--nodelist=n1", "-w n1", "--time=5", "--array=1-9", "#"]
        {
            let sentence = checked_lines(&[bad.to_owned()]).unwrap_err();
            assert!(sentence.len() > 20, "{bad:?}: {sentence}");
        }
    }
}
