//! What may be written only in certain crates: unsafe code, clocks, argv, the environment, output, exits.

use super::repository::Repository;
use super::violation::Violation;

/// Tokens, and where they may stand.
struct Ban {
    /// Any of these, each a run of tokens separated by spaces.
    words: &'static [&'static str],
    /// The crates, by folder, that may.
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
        only_in: &["bench", "cli", "cluster", "lab", "machine", "sys", "xtask"],
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
    for file in &repository.files {
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
}
