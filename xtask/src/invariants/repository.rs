//! The repository's own text, read once: what the rules look at.
//!
//! Rust is looked at as tokens, so that comments, documentation and the inside of strings cannot break a rule about
//! code, and no spelling of white space can hide from one.

use std::io;
use std::path::Path;

use proc_macro2::{Delimiter, LineColumn, TokenStream, TokenTree};

/// What we write by hand ends in one of these; the rest is generated, recorded or locked.
const EXTENSIONS: &[&str] = &["rs", "toml", "md", "sh", "py", "html", "css", "js", "mjs"];
/// Hidden folders that hold files of ours.
const HIDDEN: &[&str] = &[".cargo", ".ci", ".config"];
/// Folders that hold none: what is built, shared, recorded, or written by the program (`docs/example`).
const FOREIGN: &[&str] = &["target", "shared", "fixtures", "example"];

#[derive(Debug, Default)]
pub(crate) struct Repository {
    pub(crate) files: Vec<File>,
}

#[derive(Debug)]
pub(crate) struct File {
    /// Relative to the root, with slashes.
    pub(crate) path: String,
    pub(crate) text: String,
    /// Its tokens, where it is Rust; empty where it cannot be read as Rust.
    pub(crate) tokens: Vec<Token>,
    /// Why it could not be read as Rust.
    pub(crate) unreadable: Option<String>,
    /// Whether only tests and examples are made of it.
    pub(crate) is_of_tests: bool,
}

/// One token of Rust; delimiters are tokens of their own, attributes that only document are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
    /// A string, byte string, C string, character or number.
    pub(crate) is_literal: bool,
    /// Whether it is compiled for tests only.
    pub(crate) in_test: bool,
}

impl Repository {
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut paths = Vec::new();
        collect(root, "", &mut paths)?;
        paths.sort();
        let file = |path: &String| Ok(File::new(path, std::fs::read_to_string(root.join(path))?));
        Ok(Self::new(paths.iter().map(file).collect::<io::Result<_>>()?))
    }

    /// Marks the files of modules that are declared for tests only.
    fn new(mut files: Vec<File>) -> Self {
        let modules: Vec<String> = files.iter().flat_map(File::test_modules).collect();
        for file in &mut files {
            let is_of = |module: &String| {
                let rest = file.path.strip_prefix(module);
                rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            };
            if modules.iter().any(is_of) {
                file.is_of_tests = true;
                file.tokens.iter_mut().for_each(|token| token.in_test = true);
            }
        }
        Self { files }
    }

    /// A repository of these files, for the rules' own tests.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self::new(files.iter().map(|(path, text)| File::new(path, (*text).to_owned())).collect())
    }
}

/// Gathers the paths of our files under `root/folder`.
fn collect(root: &Path, folder: &str, paths: &mut Vec<String>) -> io::Result<()> {
    for entry in std::fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type()?;
        let foreign = FOREIGN.contains(&name.as_str()) || (name.starts_with('.') && !HIDDEN.contains(&name.as_str()));
        if kind.is_dir() && !foreign {
            collect(root, &path, paths)?;
        } else if kind.is_file() && is_ours(&path) {
            paths.push(path);
        }
    }
    Ok(())
}

fn is_ours(path: &str) -> bool {
    path.starts_with(".ci/") || EXTENSIONS.contains(&extension(path))
}

/// What stands behind a path's last dot, or nothing.
fn extension(path: &str) -> &str {
    Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

impl File {
    fn new(path: &str, text: String) -> Self {
        let is_of_tests = is_of_tests(path);
        let mut file = Self { path: path.to_owned(), text, tokens: Vec::new(), unreadable: None, is_of_tests };
        if file.extension() == "rs" {
            match file.text.parse::<TokenStream>() {
                Ok(stream) => flatten(stream, is_of_tests, &mut file.tokens),
                Err(error) => file.unreadable = Some(error.to_string()),
            }
        }
        file
    }

    /// The modules that it declares for tests only, as paths without an extension.
    fn test_modules(&self) -> Vec<String> {
        let stem = self.path.strip_suffix(".rs").unwrap_or(&self.path);
        let folder = ["/mod", "/lib", "/main"].iter().find_map(|root| stem.strip_suffix(root)).unwrap_or(stem);
        let declared = self
            .tokens
            .windows(3)
            .filter(|three| !self.is_of_tests && three[0].in_test && three[0].text == "mod" && three[2].text == ";");
        declared.map(|three| format!("{folder}/{}", three[1].text)).collect()
    }

    /// What stands behind the last dot of its name.
    pub(crate) fn extension(&self) -> &str {
        extension(&self.path)
    }

    /// The folder of the crate that the file belongs to: `sys` for `crates/sys/…`, `xtask` for `xtask/…`.
    pub(crate) fn owner(&self) -> &str {
        let path = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        path.split('/').next().unwrap_or_default()
    }

    /// Where these tokens stand one after another; `words` are separated by spaces.
    pub(crate) fn occurrences(&self, words: &str) -> impl Iterator<Item = &Token> {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        self.tokens.windows(words.len()).filter_map(move |window| {
            let same = window.iter().zip(&words).all(|(token, word)| token.text == *word && !token.is_literal);
            same.then(|| &window[0])
        })
    }
}

/// Whether a file holds nothing but tests, or simulations that developers run: by convention those in a folder `tests` or
/// `examples`, and modules called `tests`.
fn is_of_tests(path: &str) -> bool {
    path.contains("/tests/") || path.contains("/examples/") || path.ends_with("/tests.rs")
}

/// Appends the tokens of a stream in order, those of test-only items marked.
fn flatten(stream: TokenStream, in_test: bool, tokens: &mut Vec<Token>) {
    let mut trees = stream.into_iter().peekable();
    // True from an attribute that makes the next item a test's, to the end of that item.
    let mut item_in_test = false;
    while let Some(tree) = trees.next() {
        let attribute = match (&tree, trees.peek()) {
            (TokenTree::Punct(hash), Some(TokenTree::Group(group)))
                if hash.as_char() == '#' && group.delimiter() == Delimiter::Bracket =>
            {
                group.stream().to_string().replace(' ', "")
            }
            _ => String::new(),
        };
        if attribute.starts_with("doc=") {
            trees.next();
            continue;
        }
        item_in_test |= ["test", "cfg(test)"].contains(&attribute.as_str()) || attribute.starts_with("cfg(all(test,");
        let ends_item = ends_item(&tree);
        push(tree, in_test || item_in_test, tokens);
        item_in_test &= !ends_item;
    }
}

/// Whether a tree is the last of an item, a field or an arm: a body in braces, a semicolon or a comma.
fn ends_item(tree: &TokenTree) -> bool {
    match tree {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => matches!(punct.as_char(), ';' | ','),
        _ => false,
    }
}

fn push(tree: TokenTree, in_test: bool, tokens: &mut Vec<Token>) {
    let mut add = |text: String, start: LineColumn, is_literal: bool| {
        tokens.push(Token { text, line: start.line, is_literal, in_test });
    };
    match tree {
        TokenTree::Group(group) => {
            let (open, close) = match group.delimiter() {
                Delimiter::Parenthesis => ("(", ")"),
                Delimiter::Brace => ("{", "}"),
                Delimiter::Bracket => ("[", "]"),
                Delimiter::None => ("", ""),
            };
            add(open.to_owned(), group.span_open().start(), false);
            flatten(group.stream(), in_test, tokens);
            let line = group.span_close().start().line;
            tokens.push(Token { text: close.to_owned(), line, is_literal: false, in_test });
        }
        TokenTree::Literal(literal) => add(literal.to_string(), literal.span().start(), true),
        other => add(other.to_string(), other.span().start(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> File {
        File::new("crates/model/src/lib.rs", text.to_owned())
    }

    #[test]
    fn comments_documentation_and_strings_are_no_code() {
        let file = parse("//! unsafe\n/// unsafe\n// unsafe\n/* unsafe */ fn f() { g(\"unsafe\", 'u') }");
        assert_eq!(file.occurrences("unsafe").count(), 0);
    }

    #[test]
    fn white_space_hides_nothing_and_lines_are_known() {
        let file = parse("fn f() {\n    Instant\n        ::now ();\n}");
        let lines: Vec<usize> = file.occurrences("Instant : : now").map(|token| token.line).collect();
        assert_eq!(lines, [2]);
    }

    #[test]
    fn test_items_are_marked_and_what_follows_is_not() {
        let file = parse("#[cfg(test)]\nmod tests { fn inner() {} }\nfn outer() {}\n#[test]\nfn checks() {}");
        let marked = |name: &str| file.tokens.iter().find(|token| token.text == name).unwrap().in_test;
        assert!(marked("inner") && marked("checks"));
        assert!(!marked("outer"));
    }

    #[test]
    fn conditions_that_are_not_tests_are_not_marked() {
        let file =
            parse("#[cfg(not(test))] fn a() {}\n#[cfg_attr(test, allow(x))] fn b() {}\n#[cfg(test)] use x; fn c() {}");
        assert!(["a", "b", "c"].iter().all(|name| file.tokens.iter().any(|t| t.text == *name && !t.in_test)));
    }

    #[test]
    fn integration_tests_are_tests() {
        for path in ["crates/cli/tests/run.rs", "crates/sys/src/file/tests.rs"] {
            assert!(File::new(path, "fn f() {}".into()).tokens.iter().all(|token| token.in_test), "{path}");
        }
    }

    #[test]
    fn owners() {
        let owner = |path: &str| File::new(path, String::new()).owner().to_owned();
        assert_eq!(owner("crates/sys/src/clock/mod.rs"), "sys");
        assert_eq!(owner("xtask/src/main.rs"), "xtask");
    }

    #[test]
    fn what_is_no_rust_says_so() {
        assert!(parse("fn f( {").unreadable.is_some());
    }
}
