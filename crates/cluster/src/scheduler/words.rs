//! Words of shell scripts, and which paths and lines can be in one.

use std::path::Path;

use super::error::SchedulerError;

/// A word as a POSIX shell reads it back.
pub(super) fn quoted(word: &str) -> String {
    // The crate also quotes `=`, `,` and `%`, which every option of sbatch and srun has.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    // An argument of a program has no NUL, the only byte that cannot be quoted.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Into::into)
}

/// Words as one line of a shell script.
pub(super) fn command_line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A path that can be in a script: absolute, UTF-8, and without control characters, which some programs do not accept even
/// when quoted.
pub fn checked_path(path: &Path) -> Result<&str, SchedulerError> {
    let text = path.to_str().ok_or_else(|| SchedulerError::NotUtf8(path.to_owned()))?;
    if text.chars().any(char::is_control) {
        return Err(SchedulerError::ControlCharacter(text.to_owned()));
    }
    if path.is_absolute() { Ok(text) } else { Err(SchedulerError::NotAbsolute(text.to_owned())) }
}

/// The user's own lines for scripts, without `#SBATCH` in front: each one line, and an option.
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
    match RESERVED.iter().find(|(reserved, _)| *reserved == name) {
        Some((_, why)) => Err(SchedulerError::ReservedOption(line.to_owned(), why)),
        None => Ok(text.to_owned()),
    }
}

/// Options that the program sets, and why.
const RESERVED: &[(&str, &str)] = &[
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
