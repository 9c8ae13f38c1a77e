//! Commands of a user who may start few processes and threads (`ulimit -u`).

use std::process::Command;

use crate::common::{Scratch, is_root, program, ran, skip};
use crate::system::process::{has, wrapped};

/// A user without processes, whose limit therefore counts only ours.
const USER: &str = "61234";

#[test]
fn a_user_who_may_start_few_threads_gets_results_or_reasons() {
    let scratch = Scratch::new();
    let of_user = |most: u32, words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", USER, "--regid", USER, "--clear-groups", "prlimit", &format!("--nproc={most}")]);
        wrapped(&scratch, {
            command.args(words);
            command
        })
    };
    let program = program().display().to_string();
    if !is_root() || !has("setpriv") || !has("prlimit") || ran(of_user(100, &[&program, "--version"])).status != Some(0)
    {
        return skip("few threads", "it needs the superuser, setpriv, prlimit and a program that other users may run");
    }
    let ran_alone = ran(of_user(1, &["prlimit", "--stack=65536", &program, "info"]));
    assert_eq!(ran_alone.status, Some(2), "{ran_alone:?}");
    assert!(ran_alone.stderr.contains("64 KiB") && ran_alone.stderr.contains("ulimit -s"), "{ran_alone:?}");
    let store = scratch.join("store");
    std::fs::create_dir(&store).unwrap();
    std::os::unix::fs::chown(&store, Some(61234), Some(61234)).unwrap();
    for most in [1, 2, 4] {
        for arguments in [
            "cpu --repeat 1 --isa scalar --threads 1",
            "net --protocol tcp --mode pingpong --threads 1 --block 1 --repeat 1",
            "net serve --listen 127.0.0.1:0 --once --max-time 1s",
            "references",
        ] {
            let words: Vec<&str> = ["timeout", "1", &program].into_iter().chain(arguments.split(' ')).collect();
            let ran = ran(of_user(most + 1, &words));
            assert!(!ran.stderr.contains("panicked"), "{arguments} with {most}: {ran:?}");
            assert!(
                ran.status.is_some_and(|status| [0, 1, 2, 124].contains(&status)),
                "{arguments} with {most}: {ran:?}"
            );
        }
    }
}
