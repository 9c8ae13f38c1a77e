//! What the program reads from its environment: variables, the command line, and what the terminal can show.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::OnceLock;

use bench::store::Store;
use report::Style;

const LEAST_COLUMNS: usize = 40;
const MOST_COLUMNS: usize = 120;

/// One variable; an empty one counts as absent.
#[expect(clippy::disallowed_methods, reason = "this is the place where the environment is read")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

pub(crate) fn text(name: &str) -> Option<String> {
    variable(name)?.into_string().ok()
}

#[expect(clippy::disallowed_methods, reason = "this is the place where the environment is read")]
pub(crate) fn everything() -> BTreeMap<String, String> {
    let text = |text: OsString| text.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}

pub(crate) fn search_path() -> Vec<PathBuf> {
    variable("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// The command line to which the answers of `assay guide` amount.
static CALLED_AS: OnceLock<Vec<String>> = OnceLock::new();

/// Records this command line in place of the given one.
pub(crate) fn called_as(words: Vec<String>) {
    let _ = CALLED_AS.set(words);
}

/// Whether to colour output, as `--color` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

static COLOR: OnceLock<Color> = OnceLock::new();

pub(crate) fn set_color(color: Color) {
    let _ = COLOR.set(color);
}

#[expect(clippy::disallowed_methods, reason = "only cli reads argv; clap has parsed it already")]
pub(crate) fn command_line() -> Vec<String> {
    let given = || std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    CALLED_AS.get().cloned().unwrap_or_else(given)
}

/// The store: `$ASSAY_STORE`, else `$XDG_DATA_HOME/assay`, else `~/.local/share/assay`.
pub(crate) fn store() -> Result<Store, String> {
    let root = variable("ASSAY_STORE")
        .map(PathBuf::from)
        .or_else(|| variable("XDG_DATA_HOME").map(|data| PathBuf::from(data).join("assay")))
        .or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".local/share/assay")));
    root.map(Store::at).ok_or_else(|| {
        "no folder for the store: ASSAY_STORE, XDG_DATA_HOME and HOME are not set. Use --out to choose a folder"
            .to_owned()
    })
}

/// Whether a person can answer on standard input.
pub(crate) fn asks() -> bool {
    std::io::stdin().is_terminal()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Standard output, for results.
    Output,
    /// Standard error, for progress.
    Error,
}

impl Stream {
    pub(crate) fn is_terminal(self) -> bool {
        match self {
            Self::Output => std::io::stdout().is_terminal(),
            Self::Error => std::io::stderr().is_terminal(),
        }
    }

    /// What it can show: colour only on a terminal without `NO_COLOR`, Unicode only in a UTF-8 locale.
    pub(crate) fn style(self) -> Style {
        let terminal = self.is_terminal();
        let dumb = variable("TERM").is_none_or(|term| term == "dumb");
        let term = if self == Self::Output { console::Term::stdout() } else { console::Term::stderr() };
        let columns = if terminal { usize::from(term.size().1) } else { MOST_COLUMNS };
        // The variables of the locale in their order of precedence.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
        let locale = locale.to_string_lossy().to_lowercase();
        Style {
            width: columns.clamp(LEAST_COLUMNS, MOST_COLUMNS),
            unicode: locale.contains("utf-8") || locale.contains("utf8"),
            color: match COLOR.get() {
                Some(Color::Always) => true,
                Some(Color::Never) => false,
                Some(Color::Auto) | None => terminal && !dumb && variable("NO_COLOR").is_none(),
            },
        }
    }
}
