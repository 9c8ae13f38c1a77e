//! The modules of a crate: which file defines which name, and which names each file takes from which other.
//!
//! A reading of tokens, not of types: `use` declarations, with nested groups, globs and re-exports, and paths in the code.
//! Methods are not followed, and neither is code that only tests compile.

use std::collections::{BTreeMap, BTreeSet};

use super::repository::{File, Repository, Token};

/// Words before the name of an item.
const ITEMS: &[&str] = &["fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod"];

/// Which names a file takes from another: `arrows[file][other]`.
pub(super) type Arrows<'a> = BTreeMap<&'a str, BTreeMap<&'a str, BTreeSet<String>>>;

/// The modules of one crate, by their path: `engine::disk`, and nothing for the root.
#[derive(Default)]
pub(super) struct Modules<'a> {
    modules: BTreeMap<String, Module<'a>>,
}

#[derive(Default)]
struct Module<'a> {
    file: &'a str,
    items: BTreeSet<String>,
    imports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    /// Paths in the code, of one name or more.
    paths: BTreeSet<Vec<String>>,
    /// Imports once more, those inside functions too.
    used: Vec<Vec<String>>,
}

/// What a path leads to.
enum Meaning<'m> {
    Module(String),
    Item { file: &'m str, name: String },
}

impl<'a> Modules<'a> {
    /// Of the crate whose sources are below this folder, such as `crates/bench/src/`.
    pub(super) fn read(repository: &'a Repository, folder: &str) -> Self {
        let mut modules = Self::default();
        for file in &repository.files {
            let Some(inner) = file.path.strip_prefix(folder).and_then(|inner| inner.strip_suffix(".rs")) else {
                continue;
            };
            if file.is_of_tests {
                continue;
            }
            let path = inner.strip_suffix("/mod").unwrap_or(inner).replace('/', "::");
            modules.read_file(file, if matches!(path.as_str(), "lib" | "main") { String::new() } else { path });
        }
        modules
    }

    fn read_file(&mut self, file: &'a File, path: String) {
        let tokens: Vec<&Token> = file.tokens.iter().filter(|token| !token.in_test).collect();
        let word = |index: usize| tokens.get(index).filter(|token| !token.is_literal).map_or("", |token| &token.text);
        // The inline modules that a token is in, each with the depth of its body.
        let mut inside = vec![(path, 0)];
        let (mut depth, mut index) = (0, 0);
        while index < tokens.len() {
            let (module, at) = inside.last().cloned().unwrap_or_default();
            let entry = self.modules.entry(module.clone()).or_default();
            entry.file = &file.path;
            match word(index) {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    if inside.len() > 1 && depth == inside[inside.len() - 1].1 - 1 {
                        inside.pop();
                    }
                }
                "use" if word(index + 1) != "<" => {
                    let mut leaves = Vec::new();
                    index = read_use(&tokens, index + 1, &[], &mut leaves);
                    for leaf in leaves {
                        entry.import(leaf, depth == at);
                    }
                    continue;
                }
                "macro_rules" => drop(entry.items.insert(word(index + 2).to_owned())),
                item if depth == at && ITEMS.contains(&item) && is_name(word(index + 1)) => {
                    entry.items.insert(word(index + 1).to_owned());
                    if item == "mod" && word(index + 2) == "{" {
                        inside.push((join(&module, word(index + 1)), depth + 1));
                    }
                    index += 1;
                }
                name if is_name(name) && word(index.wrapping_sub(1)) != "." => {
                    let (path, next) = read_path(&tokens, index);
                    entry.paths.insert(path);
                    index = next;
                    continue;
                }
                _ => {}
            }
            index += 1;
        }
    }

    pub(super) fn arrows(&self) -> Arrows<'a> {
        let mut arrows = Arrows::new();
        for (path, module) in &self.modules {
            let globbed = module.paths.iter().filter(|words| !module.knows(&words[0]));
            let longer = module.paths.iter().filter(|words| words.len() > 1 && module.knows(&words[0]));
            for words in module.used.iter().chain(longer).chain(globbed) {
                if let Some(Meaning::Item { file, name }) = self.resolve(path, words, 0)
                    && file != module.file
                {
                    arrows.entry(module.file).or_default().entry(file).or_default().insert(name);
                }
            }
        }
        arrows
    }

    /// What a path means in a module; `None` for what is of another crate, or local.
    fn resolve(&self, module: &str, words: &[String], hops: usize) -> Option<Meaning<'a>> {
        if hops > 20 {
            return None;
        }
        let (mut at, mut rest, mut is_ours) = (module.to_owned(), words, false);
        while let [first, more @ ..] = rest {
            match first.as_str() {
                "crate" => at = String::new(),
                "self" => {}
                "super" => at = at.rsplit_once("::").map_or(String::new(), |(parent, _)| parent.to_owned()),
                name => match self.look_up(&at, name, more.is_empty(), hops) {
                    Some(Meaning::Module(path)) => at = path,
                    Some(item) => return Some(item),
                    // Made by a macro, since it is there.
                    None if is_ours => {
                        let file = self.modules.get(&at)?.file;
                        return Some(Meaning::Item { file, name: name.to_owned() });
                    }
                    None => return None,
                },
            }
            (rest, is_ours) = (more, true);
        }
        Some(Meaning::Module(at))
    }

    /// What a name means in a module: `last` of its path it is an item rather than a module.
    fn look_up(&self, at: &str, name: &str, last: bool, hops: usize) -> Option<Meaning<'a>> {
        let module = self.modules.get(at)?;
        let child = join(at, name);
        let child = self.modules.contains_key(&child).then_some(Meaning::Module(child));
        if child.is_some() && !last {
            return child;
        }
        if let Some(path) = module.imports.get(name).filter(|path| path[..] != [name]) {
            return self.resolve(at, path, hops + 1);
        }
        if child.is_none() && module.items.contains(name) {
            return Some(Meaning::Item { file: module.file, name: name.to_owned() });
        }
        child.or_else(|| {
            module.globs.iter().filter(|_| hops < 5).find_map(|glob| match self.resolve(at, glob, hops + 1)? {
                Meaning::Module(path) if path != at => self.look_up(&path, name, last, hops + 1),
                _ => None,
            })
        })
    }
}

impl Module<'_> {
    fn knows(&self, name: &str) -> bool {
        matches!(name, "crate" | "self" | "super") || self.items.contains(name) || self.imports.contains_key(name)
    }

    fn import(&mut self, leaf: Leaf, of_module: bool) {
        if leaf.name == "*" {
            self.globs.push(leaf.path);
        } else {
            self.used.push(leaf.path.clone());
            // What a function imports for itself is known in the whole module here: close enough.
            if of_module {
                self.imports.insert(leaf.name, leaf.path);
            } else {
                self.imports.entry(leaf.name).or_insert(leaf.path);
            }
        }
    }
}

/// One name that a `use` declaration brings in, `*` for all of a module.
struct Leaf {
    name: String,
    path: Vec<String>,
}

/// Reads the tree of a `use` declaration from a token on; the index behind it.
fn read_use(tokens: &[&Token], mut index: usize, before: &[String], leaves: &mut Vec<Leaf>) -> usize {
    let mut path = before.to_vec();
    let mut name = None;
    while let Some(token) = tokens.get(index) {
        match token.text.as_str() {
            ":" => {}
            "{" => {
                index += 1;
                while tokens.get(index).is_some_and(|token| token.text != "}") {
                    index = read_use(tokens, index, &path, leaves);
                    index += usize::from(tokens.get(index).is_some_and(|token| token.text == ","));
                }
                return index + 1;
            }
            "*" => name = Some("*".to_owned()),
            "self" if !path.is_empty() => {}
            "as" => {
                index += 1;
                name = tokens.get(index).map(|token| token.text.clone());
            }
            "," | "}" | ";" => break,
            word => path.push(word.to_owned()),
        }
        index += 1;
    }
    if let Some(name) = name.or_else(|| path.last().cloned()) {
        leaves.push(Leaf { name, path });
    }
    index
}

/// Reads a path from its first name on; the index behind it.
fn read_path(tokens: &[&Token], mut index: usize) -> (Vec<String>, usize) {
    let mut path = vec![tokens[index].text.clone()];
    let is = |index: usize, text: &str| tokens.get(index).is_some_and(|token| token.text == text);
    while is(index + 1, ":") && is(index + 2, ":") && tokens.get(index + 3).is_some_and(|token| is_name(&token.text)) {
        index += 3;
        path.push(tokens[index].text.clone());
    }
    (path, index + 1)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn join(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}
