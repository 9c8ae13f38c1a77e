//! What the program takes from its environment: where the store is, and what the terminal can show.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::OnceLock;

use bench::store::Store;
use report::Style;

/// The widest that a table is made, in columns.
const MOST_COLUMNS: usize = 120;

/// Reads one variable; an empty one counts as absent.
#[expect(clippy::disallowed_methods, reason = "this is the place where the environment is read")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// One variable as text; one that is absent or no text is `None`.
pub(crate) fn text(name: &str) -> Option<String> {
    variable(name)?.into_string().ok()
}

/// All of it, for programs that measure as if they had been called by hand.
#[expect(clippy::disallowed_methods, reason = "this is the place where the environment is read")]
pub(crate) fn everything() -> BTreeMap<String, String> {
    let text = |text: OsString| text.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}

/// The folders in which programs are looked for.
pub(crate) fn search_path() -> Vec<PathBuf> {
    variable("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// The command line that the answers to questions came to.
static CALLED_AS: OnceLock<Vec<String>> = OnceLock::new();

/// From here on it is as if the program had been called with these words.
pub(crate) fn called_as(words: Vec<String>) {
    let _ = CALLED_AS.set(words);
}

/// The folders in which fonts are kept: the user's, then the system's.
#[cfg(feature = "png")]
pub(crate) fn font_folders() -> Vec<PathBuf> {
    let home = variable("HOME").map(PathBuf::from);
    let data = variable("XDG_DATA_HOME").map(PathBuf::from).or_else(|| Some(home.as_ref()?.join(".local/share")));
    let own = data.map(|data| data.join("fonts")).into_iter().chain(home.map(|home| home.join(".fonts")));
    own.chain(["/usr/local/share/fonts", "/usr/share/fonts"].map(PathBuf::from)).collect()
}

/// The command line as it was given, for the record.
#[expect(clippy::disallowed_methods, reason = "only cli reads argv; clap has parsed it already")]
pub(crate) fn command_line() -> Vec<String> {
    let given = || std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    CALLED_AS.get().cloned().unwrap_or_else(given)
}

/// The store: `$ASSAY_STORE`, else `$XDG_DATA_HOME/assay`, else `~/.local/share/assay`.
///
/// # Errors
/// None of these variables is set.
pub(crate) fn store() -> Result<Store, String> {
    let root = variable("ASSAY_STORE")
        .map(PathBuf::from)
        .or_else(|| variable("XDG_DATA_HOME").map(|data| PathBuf::from(data).join("assay")))
        .or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".local/share/assay")));
    root.map(Store::at).ok_or_else(|| {
        "there is no place for the store: neither ASSAY_STORE nor XDG_DATA_HOME nor HOME is set; name a folder with --out"
            .to_owned()
    })
}

/// Whether there is a person at standard input who can be asked.
pub(crate) fn asks() -> bool {
    std::io::stdin().is_terminal()
}

/// A stream that text goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Standard output: results.
    Output,
    /// Standard error: progress.
    Error,
}

impl Stream {
    /// Whether a person watches it.
    pub(crate) fn is_terminal(self) -> bool {
        match self {
            Self::Output => std::io::stdout().is_terminal(),
            Self::Error => std::io::stderr().is_terminal(),
        }
    }

    /// What can be shown on it: colour only on a terminal that has not been told otherwise, Unicode only in a UTF-8
    /// locale.
    pub(crate) fn style(self) -> Style {
        let terminal = self.is_terminal();
        let dumb = variable("TERM").is_none_or(|term| term == "dumb");
        let term = if self == Self::Output { console::Term::stdout() } else { console::Term::stderr() };
        let columns = if terminal { usize::from(term.size().1) } else { MOST_COLUMNS };
        Style {
            width: columns.clamp(40, MOST_COLUMNS),
            unicode: is_utf8(),
            color: terminal && !dumb && variable("NO_COLOR").is_none(),
        }
    }
}

/// Whether the locale is a UTF-8 one, by the variables in their order of precedence.
fn is_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
    let locale = locale.to_string_lossy().to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}
