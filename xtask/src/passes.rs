//! Which of the program's tests run when: several at a time, one at a time, and once more as a user without rights.

/// Modules of the program's tests that run several at a time: they check what is computed, written, refused and left
/// behind, which neighbours do not change. They disturb nobody on purpose and assert nothing of how quiet it was. A
/// module that is not named here has the machine for itself.
const TOGETHER: &[&str] = &[
    "bad_input::",
    "cpu::",
    "disk::",
    "disk_cache::",
    "documents::",
    "emulation::",
    "machines::",
    "memory::",
    "references::",
    "storage::",
];

/// How many at a time: two CPUs are the fewest that tests are run on, and most tests wait most of the time.
const AT_A_TIME: u32 = 3;

/// Tests that a user without rights need not repeat: they check what kernels compute, and a kernel asks the operating
/// system for nothing. How its memory was obtained and where documents go is checked by others, as every user.
const SAME_FOR_EVERYBODY: &[&str] = &[
    "cpu::every_kernel_of_this_machine_verifies",
    "cpu::low_precisions_on_any_number_of_threads",
    "emulation::emulated_kernels_compute_what_they_should",
    "emulation::every_row_of_an_older_processor_is_verified",
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
pub(crate) fn passes(user: User) -> [Vec<String>; 2] {
    let skipped: &[&str] = if user == User::Nobody { SAME_FOR_EVERYBODY } else { &[] };
    let skips = |names: &[&str]| -> Vec<String> { names.iter().map(|name| format!("--skip={name}")).collect() };
    let together = TOGETHER.iter().map(|module| (*module).to_owned());
    let together = [format!("--test-threads={AT_A_TIME}")].into_iter().chain(together).chain(skips(skipped));
    let alone = ["--test-threads=1".to_owned()].into_iter().chain(skips(TOGETHER)).chain(skips(skipped));
    [together.collect(), alone.collect()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::Shell;

    /// What changes the machine for others, or asks whether others did.
    const NOT_TOGETHER: [&str; 6] =
        ["Cgroup::make(\"cpu\")", "put_first", "do :; done", "cpu_shared", "clock_unsteady", "{cpu}/online"];

    /// What needs rights, or is about where something is put.
    const RIGHTS: [&str; 8] = ["is_root", "Cgroup", "Tmpfs", "LoopDisk", "Locked", "ReadOnly", "Overlay", "--dir"];

    /// The source of a module of the program's tests.
    fn source(module: &str) -> String {
        let path = crate::builds::program_folder(&Shell::at_root()).join("tests/e2e").join(format!("{module}.rs"));
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
            let source = source(module);
            NOT_TOGETHER.iter().any(|word| source.contains(word))
        }));
    }

    #[test]
    fn no_module_is_taken_for_another() {
        // The harness looks for these words anywhere in a test's name.
        let main = source("main");
        let modules: Vec<&str> = main.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')).collect();
        assert!(modules.len() > TOGETHER.len());
        for known in TOGETHER {
            let meant: Vec<_> = modules.iter().filter(|module| format!("{module}::").contains(known)).collect();
            assert_eq!(meant.len(), 1, "{known} {meant:?}");
        }
    }

    #[test]
    fn what_is_the_same_for_everybody_asks_for_no_right() {
        for name in SAME_FOR_EVERYBODY {
            let (module, function) = name.split_once("::").unwrap();
            let source = source(module);
            let (_, rest) = source.split_once(&format!("#[test]\nfn {function}() {{")).expect(name);
            let (body, _) = rest.split_once("\n}\n").unwrap();
            let found: Vec<_> = RIGHTS.iter().filter(|word| body.contains(**word)).collect();
            assert!(found.is_empty(), "{name}: {found:?}");
        }
    }

    #[test]
    fn every_module_is_in_one_pass() {
        let [together, alone] = passes(User::Ours);
        for module in TOGETHER {
            assert!(together.iter().any(|word| word == module));
            assert!(alone.iter().any(|word| *word == format!("--skip={module}")));
        }
        assert!(alone.contains(&"--test-threads=1".to_owned()));
        assert_eq!(alone.len(), 1 + TOGETHER.len(), "nothing else is left out");
        let of_nobody = passes(User::Nobody);
        assert!(
            of_nobody.iter().all(|pass| SAME_FOR_EVERYBODY.iter().all(|name| pass.contains(&format!("--skip={name}"))))
        );
    }
}
