//! What may be written only in certain crates, and what the root of each must have.

use super::repository::{File, Repository, Token};
use super::violation::Violation;

/// Tokens, and where they may stand.
struct Ban {
    /// Any of these, each a run of tokens separated by spaces.
    words: &'static [&'static str],
    only_in: &'static [&'static str],
    /// Whether tests are bound too.
    tests_too: bool,
    rule: &'static str,
}

const BANS: &[Ban] = &[
    Ban {
        words: &["unsafe", "asm !", "global_asm !", "naked_asm !"],
        only_in: &["sys", "kernels"],
        tests_too: true,
        rule: "only sys and kernels have unsafe code",
    },
    Ban {
        words: &["Instant : : now", "SystemTime : : now", "clock_gettime", "gettimeofday", "_rdtsc", "__rdtscp"],
        only_in: &["lab", "sys", "xtask"],
        tests_too: false,
        rule: "only sys reads time",
    },
    Ban {
        words: &["env : : args", "env : : args_os", "env : : var", "env : : var_os", "env : : vars", "env : : vars_os"],
        only_in: &["cli", "lab", "xtask"],
        tests_too: false,
        rule: "only cli reads argv and the environment",
    },
    Ban {
        words: &["print !", "println !", "eprint !", "eprintln !", "io : : stdin", "io : : stdout", "io : : stderr"],
        only_in: &["cli", "lab", "xtask"],
        tests_too: false,
        rule: "only cli uses the standard streams",
    },
    Ban {
        words: &["std : : fs", "std : : net", "std : : process", "std : : os", "std : : thread"],
        only_in: &["bench", "cli", "cluster", "fuzz", "lab", "machine", "sys", "xtask"],
        tests_too: false,
        rule: "areas, kernels, model, report, stats, tools and verdict compute and do nothing else",
    },
    Ban {
        words: &["process : : exit", "process : : abort"],
        only_in: &["cli"],
        tests_too: false,
        rule: "only cli ends the program",
    },
    Ban {
        words: &["todo !", "unimplemented !", "dbg !"],
        only_in: &[],
        tests_too: true,
        rule: "what is not done is not there",
    },
];

/// Every place where something stands that may not stand there.
pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    // A build script is a program of cargo's, which speaks to it by the environment and its output.
    for file in repository.files.iter().filter(|file| !file.path.ends_with("/build.rs")) {
        for ban in BANS.iter().filter(|ban| !ban.only_in.contains(&file.owner())) {
            for words in ban.words {
                let bound = file.occurrences(words).filter(|token| ban.tests_too || !token.in_test);
                let text = format!("{} ({})", words.replace(' ', ""), ban.rule);
                violations.extend(bound.map(|token| Violation::at_line(&file.path, token.line, text.clone())));
            }
        }
    }
    violations.sort();
    violations
}

/// Where an area is at home.
const HOMES: &[&str] = &["crates/areas/", "crates/bench/src/engines/", "crates/model/"];

/// The files outside that name an area or its parameters, tests not counted.
pub(super) fn areas(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in repository.files.iter().filter(|file| !HOMES.iter().any(|home| file.path.starts_with(home))) {
        let names = ["Cpu", "Linpack", "Memory", "Disk", "Net"]
            .map(|area| ["Area", "Params"].map(|of| format!("{of} : : {area}")));
        let found = names.iter().flatten().flat_map(|path| file.occurrences(path)).filter(|token| !token.in_test);
        let lines: Vec<usize> = found.map(|token| token.line).collect();
        let first = lines.iter().min();
        violations.extend(first.map(|line| Violation::at_line(&file.path, *line, format!("{} times", lines.len()))));
    }
    violations
}

/// The roots of crates that lack the line by which the compiler holds a rule, so that no `allow` below can lift it.
pub(super) fn roots(repository: &Repository) -> Vec<Violation> {
    let is_root = |file: &&File| ["/src/lib.rs", "/src/main.rs"].iter().any(|root| file.path.ends_with(root));
    let lacking = repository.files.iter().filter(is_root).flat_map(|file| {
        let forbids = (!["kernels", "sys"].contains(&file.owner())).then_some("# ! [ forbid ( unsafe_code ) ]");
        // Without the standard library there is no file, no socket, no clock and no allocation in a timed loop.
        let bare = (file.owner() == "kernels").then_some("# ! [ no_std ]");
        let lines = [forbids, bare].into_iter().flatten().filter(|line| file.occurrences(line).next().is_none());
        lines.map(|line| Violation::of_file(&file.path, format!("lacks {}", line.replace(' ', ""))))
    });
    lacking.collect()
}

/// Where an absolute path starts on Linux. Units start with a slash too.
const TOP: &[&str] = &["boot", "dev", "etc", "home", "lib", "mnt", "proc", "root", "run", "sys", "tmp", "usr", "var"];
/// Before a literal: what it is compared with is a path, but none that is opened.
const COMPARISONS: &[&str] = &["strip_prefix", "starts_with"];

/// The absolute paths in `machine`: it reads through a `Sysroot`, so that a folder can represent any machine.
pub(super) fn paths(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in repository.files.iter().filter(|file| file.owner() == "machine") {
        let paths = file.tokens.iter().enumerate().filter(|(_, token)| !token.in_test && is_absolute(token));
        let opened = paths.filter(|(index, _)| {
            let before = &file.tokens[..*index];
            !matches!(before, [.., name, open] if open.text == "(" && COMPARISONS.contains(&name.text.as_str()))
        });
        violations.extend(opened.map(|(_, token)| Violation::at_line(&file.path, token.line, token.text.clone())));
    }
    violations
}

/// Whether a token is a string that starts with `/` and a folder of the root.
fn is_absolute(token: &Token) -> bool {
    let Some((_, text)) = token.text.split_once('"').filter(|_| token.is_literal) else { return false };
    let first = text.strip_prefix('/').and_then(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric()).next());
    first.is_some_and(|first| TOP.contains(&first))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of one file that break a rule, as `line: what`.
    fn found(path: &str, text: &str) -> Vec<String> {
        let violations = check(&Repository::of(&[(path, text)]));
        violations.iter().map(|v| format!("{}: {}", v.line.unwrap(), v.what)).collect()
    }

    #[test]
    fn unsafe_code_where_it_may_not_be() {
        let text = "fn f() {\n    unsafe { g() }\n}";
        assert_eq!(found("crates/bench/src/a.rs", text), ["2: unsafe (only sys and kernels have unsafe code)"]);
        assert_eq!(found("crates/bench/tests/a.rs", text).len(), 1, "tests too");
        assert_eq!(found("crates/sys/src/a.rs", text).len(), 0);
        assert_eq!(found("crates/machine/src/a.rs", "core::arch::asm!(\"nop\");").len(), 1);
        assert_eq!(found("crates/machine/src/a.rs", "#![forbid(unsafe_code)]").len(), 0);
    }

    #[test]
    fn a_second_clock() {
        let text = "use std::time::Instant;\nfn f() { let start = Instant::now(); }";
        assert_eq!(found("crates/bench/src/a.rs", text), ["2: Instant::now (only sys reads time)"]);
        assert_eq!(found("crates/sys/src/clock/mod.rs", text).len(), 0);
        assert_eq!(found("crates/bench/src/a.rs", &format!("#[cfg(test)]\nmod tests {{ {text} }}")).len(), 0);
        assert_eq!(found("crates/kernels/src/a.rs", "fn f() { core::arch::x86_64::_rdtsc(); }").len(), 1);
    }

    #[test]
    fn the_environment_and_argv() {
        let text = "fn f() { std::env::var(\"HOME\"); std::env::args(); }";
        assert_eq!(found("crates/machine/src/a.rs", text).len(), 2);
        assert_eq!(found("crates/cli/src/a.rs", text).len(), 0);
        assert_eq!(found("crates/machine/src/a.rs", "const V: &str = env!(\"CARGO_PKG_VERSION\");").len(), 0);
    }

    #[test]
    fn output_and_exits() {
        assert_eq!(found("crates/bench/src/a.rs", "fn f() { println!(\"x\"); }").len(), 1);
        assert_eq!(found("crates/report/src/a.rs", "fn f() { std::io::stdout(); }").len(), 1);
        assert_eq!(found("crates/bench/src/a.rs", "fn f() { std::process::exit(1) }").len(), 1);
        assert_eq!(found("crates/bench/src/a.rs", "fn f(c: &mut Command) { c.stdout(Stdio::piped()); }").len(), 0);
    }

    #[test]
    fn a_report_that_touches_the_disk() {
        assert_eq!(found("crates/report/src/a.rs", "fn f() { std::fs::write(\"x\", b\"y\"); }").len(), 1);
        assert_eq!(found("crates/machine/src/a.rs", "fn f() { std::fs::read(\"x\"); }").len(), 0);
    }

    #[test]
    fn what_is_not_done() {
        assert_eq!(found("crates/sys/src/a.rs", "fn f() { todo!() }").len(), 1);
    }

    #[test]
    fn a_file_that_knows_an_area() {
        let wrong = |path, text| areas(&Repository::of(&[(path, text)])).len();
        let text = "fn f(p: &Params) { matches!(p, Params::Disk(_)) || g(model::Area::Net) }";
        assert_eq!(wrong("crates/report/src/a.rs", text), 1);
        assert_eq!(wrong("crates/bench/src/engines/disk/mod.rs", text), 0);
        assert_eq!(wrong("crates/report/src/a.rs", "#[test]\nfn f() { Area::Net }"), 0);
        assert_eq!(wrong("crates/report/src/a.rs", "fn f() { DiskParams::Disk; Area::Other }"), 0);
    }

    #[test]
    fn a_path_that_leaves_the_sysroot() {
        let wrong = |path, text| paths(&Repository::of(&[(path, text)])).len();
        assert_eq!(wrong("crates/machine/src/cpu.rs", "fn f() { open(\"/proc/cpuinfo\") }"), 1);
        assert_eq!(wrong("crates/machine/src/cpu.rs", "const A: &[u8] = br#\"/sys\"#;"), 1);
        assert_eq!(
            wrong("crates/machine/src/cpu.rs", "/// Reads /proc.\nfn f() { open(\"proc/cpuinfo\", '/', \"/\") }"),
            0
        );
        assert_eq!(wrong("crates/machine/src/cpu.rs", "#[cfg(test)] mod tests { const A: &str = \"/proc\"; }"), 0);
        assert_eq!(wrong("crates/machine/src/a.rs", "fn f(s: &str) { s.strip_prefix(\"/dev/\"); }"), 0);
        assert_eq!(wrong("crates/machine/src/a.rs", "const UNIT: &str = \"/cycle\";"), 0);
        assert_eq!(wrong("crates/sys/src/lib.rs", "const A: &str = \"/proc/self\";"), 0);
    }

    #[test]
    fn a_root_without_its_attributes() {
        let wrong = |path, text| roots(&Repository::of(&[(path, text)])).len();
        assert_eq!(wrong("crates/model/src/lib.rs", "//! Words.\n#![forbid(unsafe_code)]\npub mod a;"), 0);
        assert_eq!(wrong("crates/model/src/lib.rs", "//! Words, #![forbid(unsafe_code)]\npub mod a;"), 1);
        assert_eq!(wrong("crates/cli/src/main.rs", "#![deny(unsafe_code)] fn main() {}"), 1);
        assert_eq!(wrong("crates/sys/src/lib.rs", "pub mod clock;"), 0);
        assert_eq!(wrong("crates/kernels/src/lib.rs", "#![no_std]\npub mod chain;"), 0);
        assert_eq!(wrong("crates/kernels/src/lib.rs", "pub mod chain;"), 1);
    }
}
