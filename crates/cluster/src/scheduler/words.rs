//! Quoting words for shell scripts, and checking paths and lines for them.

use std::path::Path;

use super::error::SchedulerError;

/// A word as a POSIX shell reads it back.
pub(super) fn quoted(word: &str) -> String {
    // shlex also quotes `=`, `,` and `%`, which most options of sbatch and srun contain.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    // Only a NUL cannot be quoted, and no argument contains one.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Into::into)
}

pub(super) fn command_line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A path for scripts: absolute, UTF-8, without control characters, which some programs reject even when quoted.
pub fn checked_path(path: &Path) -> Result<&str, SchedulerError> {
    let text = path.to_str().ok_or_else(|| SchedulerError::NotUtf8(path.to_owned()))?;
    if text.chars().any(char::is_control) {
        return Err(SchedulerError::ControlCharacter(text.to_owned()));
    }
    if path.is_absolute() { Ok(text) } else { Err(SchedulerError::NotAbsolute(text.to_owned())) }
}

/// The user's options for scripts without `#SBATCH`, each checked to be one line and one option.
pub fn checked_lines(lines: &[String]) -> Result<Vec<String>, SchedulerError> {
    lines.iter().map(|line| checked_line(line)).collect()
}

fn checked_line(line: &str) -> Result<String, SchedulerError> {
    let text = line.trim();
    let text = text.strip_prefix("#SBATCH").unwrap_or(text).trim();
    if text.chars().any(char::is_control) {
        return Err(SchedulerError::NotOneLine(line.to_owned()));
    }
    if !text.starts_with('-') {
        return Err(SchedulerError::NotAnOption(line.to_owned()));
    }
    let name = text.trim_start_matches('-').split(['=', ' ']).next().unwrap_or_default();
    match RESERVED.iter().find(|(reserved, _)| reserved.contains(&name)) {
        Some((_, why)) => Err(SchedulerError::ReservedOption(line.to_owned(), why)),
        None => Ok(text.to_owned()),
    }
}

/// Options that the program sets, and why.
const RESERVED: &[(&[&str], &str)] = &[
    (&["nodelist", "w", "nodes", "N"], "the plan chooses the nodes"),
    (&["array", "a"], "array jobs are not needed: one worker runs all tasks of its node"),
    (&["time", "t"], "use --time"),
    (&["output", "o", "chdir", "D"], "the jobs' output must be in the plan's folder"),
    (&["signal"], "workers need the signal two minutes before the time limit"),
    (&["exclusive", "oversubscribe", "s"], "use assay cluster plan, with or without --shared"),
    (&["ntasks-per-node"], "each node has one worker"),
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
        assert!(
            checked_path(Path::new(std::ffi::OsStr::from_bytes(b"/\xff"))).unwrap_err().to_string().contains("UTF-8")
        );
    }

    #[test]
    fn a_users_line_is_one_line_and_none_of_ours() {
        let good = ["--account=a", "#SBATCH --qos=low", " -A b ", "--constraint=\"a&b\""].map(str::to_owned);
        assert_eq!(checked_lines(&good).unwrap(), ["--account=a", "--qos=low", "-A b", "--constraint=\"a&b\""]);
        for bad in ["", "account=a", "--account=a\nrm -rf /", "--nodelist=n1", "-w n1", "--time=5", "--array=1-9", "#"]
        {
            let sentence = checked_lines(&[bad.to_owned()]).unwrap_err().to_string();
            assert!(sentence.len() > 20, "{bad:?}: {sentence}");
        }
    }
}
