//! Which of the program's tests run when: several at a time, one at a time, and once more as a user without rights.

/// Modules of the program's tests that run several at a time: they check what is computed, written, refused and left
/// behind, which neighbours do not change. They disturb nobody on purpose and assert nothing of how quiet it was. A
/// module that is not named here has the machine for itself.
const TOGETHER: &[&str] = &[
    "bad_input::",
    "cluster::forms::",
    "cluster::pairs::",
    "cluster::plans::",
    "cluster::run::",
    "cpu::emulation::",
    "cpu::rows::",
    "disk::cache::",
    "disk::device::",
    "disk::engines::",
    "disk::failures::",
    "disk::filesystems::",
    "disk::operations::",
    "disk::room::",
    "disk::steady::",
    "documents::charts::",
    "documents::formats::",
    "documents::machines::",
    "documents::report::",
    "guide::",
    "interruptions::cut_off::",
    "interruptions::resume::",
    "interruptions::storage::",
    "linpack::",
    "memory::",
    "net::faults::",
    "net::server::",
    "net::streams::",
    "references::fakes::",
    "references::pairs::",
    "references::trouble::",
];

/// How many at a time: two CPUs are the fewest that tests are run on, and most tests wait most of the time.
const AT_A_TIME: u32 = 5;

/// Tests of those modules that run alone all the same. Two threads hand a line to each other, and neither gets on while the
/// other waits for a CPU; locked memory is counted for each user, and what others lock counts with it.
const ALONE_AMONG_THEM: &[&str] = &[
    "disk::engines::little_locked_memory_costs_registered_buffers_and_is_said_to",
    "memory::cores_hand_a_line_to_each_other",
];

/// Tests that a user without rights need not repeat, whole modules of them among them: they check what kernels compute,
/// and a kernel asks the operating system for nothing; how a guide asks and charts are drawn; when sampling stops.
/// How memory was obtained and where documents go is checked by others, as every user.
const SAME_FOR_EVERYBODY: &[&str] = &[
    "cpu::emulation::",
    "cpu::rows::",
    "documents::charts::",
    "guide::",
    "interference::sampling::",
    "memory::blocks_are_visited_in_order_and_at_random",
    "memory::every_stream_with_every_instruction_set_verifies",
    "memory::working_sets_of_every_cache_verify",
];

/// Who runs the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// Whoever runs us.
    Ours,
    /// One without rights, after one who has them.
    Nobody,
}

/// The options of the harness for each pass over the program's tests. Every test but those that need no repetition is in
/// one of them.
pub(crate) fn passes(user: User) -> [Vec<String>; 3] {
    let skipped: &[&str] = if user == User::Nobody { SAME_FOR_EVERYBODY } else { &[] };
    let pass = |at_a_time: u32, names: &[&str], skips: &[&str]| -> Vec<String> {
        let names = names.iter().map(|name| (*name).to_owned());
        let skips = skips.iter().chain(skipped).map(|name| format!("--skip={name}"));
        [format!("--test-threads={at_a_time}")].into_iter().chain(names).chain(skips).collect()
    };
    [pass(AT_A_TIME, TOGETHER, ALONE_AMONG_THEM), pass(1, ALONE_AMONG_THEM, &[]), pass(1, &[], TOGETHER)]
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::shell::Shell;

    /// What changes the machine for others, or asks whether others did.
    const NOT_TOGETHER: [&str; 6] =
        ["Cgroup::make(\"cpu\")", "put_first", "do :; done", "cpu_shared", "clock_unsteady", "SwitchedOff"];

    /// What needs rights, or is about where something is put.
    const RIGHTS: [&str; 8] = ["is_root", "Cgroup", "Tmpfs", "LoopDisk", "Locked", "ReadOnly", "Overlay", "--dir"];

    fn folder() -> PathBuf {
        crate::builds::program_folder(&Shell::at_root()).join("tests/e2e")
    }

    /// The source of a module of the program's tests.
    fn source(module: &str) -> String {
        let path = folder().join(format!("{}.rs", module.replace("::", "/")));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    #[test]
    fn what_runs_together_disturbs_nobody() {
        for module in TOGETHER {
            let source = source(module.strip_suffix("::").unwrap());
            let found: Vec<_> = NOT_TOGETHER.iter().filter(|word| source.contains(**word)).collect();
            assert!(found.is_empty(), "{module} {found:?}");
        }
        // The rule finds what it is for.
        assert!(["sampling", "surroundings", "live"].iter().all(|module| {
            let source = source(&format!("interference::{module}"));
            NOT_TOGETHER.iter().any(|word| source.contains(word))
        }));
    }

    #[test]
    fn no_module_is_taken_for_another() {
        // The harness looks for these words anywhere in a test's name.
        let files = |folder: &Path| -> Vec<PathBuf> {
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
        };
        let all = files(&folder()).into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] });
        let modules: Vec<String> = all
            .map(|path| path.strip_prefix(folder()).unwrap().with_extension("").to_str().unwrap().replace('/', "::"))
            .collect();
        assert!(modules.len() > TOGETHER.len());
        for known in TOGETHER {
            let meant: Vec<_> = modules.iter().filter(|module| format!("{module}::").contains(known)).collect();
            assert_eq!(meant.len(), 1, "{known} {meant:?}");
        }
    }

    #[test]
    fn what_is_the_same_for_everybody_asks_for_no_right() {
        for name in SAME_FOR_EVERYBODY {
            let (module, function) = name.rsplit_once("::").unwrap();
            let source = source(module);
            let body = if function.is_empty() {
                &source
            } else {
                let (_, rest) = source.split_once(&format!("#[test]\nfn {function}() {{")).expect(name);
                rest.split_once("\n}\n").unwrap().0
            };
            let found: Vec<_> = RIGHTS.iter().filter(|word| body.contains(**word)).collect();
            assert!(found.is_empty(), "{name}: {found:?}");
        }
    }

    #[test]
    fn every_test_is_in_one_pass() {
        let takes = |pass: &[String], test: &str| {
            let (skips, names): (Vec<_>, Vec<_>) = pass.iter().skip(1).partition(|word| word.starts_with("--skip="));
            let named = names.is_empty() || names.iter().any(|name| test.contains(name.as_str()));
            named && !skips.iter().any(|word| test.contains(word.strip_prefix("--skip=").unwrap()))
        };
        let count = |user, test: &str| passes(user).iter().filter(|pass| takes(pass, test)).count();
        let invented =
            ["new_module::new_test", "interference::live::x", "disk::room::x", "memory::x", "args::tests::x"];
        for test in invented.iter().chain(ALONE_AMONG_THEM) {
            assert_eq!((count(User::Ours, test), count(User::Nobody, test)), (1, 1), "{test}");
        }
        for test in SAME_FOR_EVERYBODY {
            assert_eq!((count(User::Ours, test), count(User::Nobody, test)), (1, 0), "{test}");
        }
        assert!(!takes(&passes(User::Ours)[0], ALONE_AMONG_THEM[0]));
    }

    #[test]
    fn tests_that_are_named_are_there() {
        for name in ALONE_AMONG_THEM.iter().chain(SAME_FOR_EVERYBODY) {
            let (module, function) = name.rsplit_once("::").unwrap();
            if !function.is_empty() {
                assert!(TOGETHER.contains(&format!("{module}::").as_str()), "{name}");
                assert!(source(module).contains(&format!("#[test]\nfn {function}() {{")), "{name}");
            }
        }
    }
}
