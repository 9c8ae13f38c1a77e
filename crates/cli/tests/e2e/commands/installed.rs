//! The program as packages install it: old kernels, completions, its version.

use serde_json::Value;

use crate::common::{
    Ran, Scratch, assay, check, command, is_verified, list, printed, program, ran, rows, skip, succeed, text,
};
use crate::system::mounts::ReadOnly;
use crate::system::process::{unshared, without_calls};

/// The numbers of `io_uring_setup`, `statx`, `pidfd_open`, `pidfd_send_signal`, `close_range`, `openat2`, `clone3`, `faccessat2`.
const NEWER_CALLS: &str = "425,332,434,424,436,437,435,439";

#[test]
fn a_kernel_without_the_newer_calls_measures_every_area_and_says_what_is_missing() {
    let scratch = Scratch::new();
    let Some(ran) = without_calls(&scratch, NEWER_CALLS, 38, "run quick --verify --quiet --json -") else {
        return skip("an older kernel", "no python3, or no seccomp filter can be set");
    };
    let document = printed(&ran);
    check(&document);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let failed: Vec<&Value> = rows(&document).iter().filter(|row| row["status"] == "ok" && !is_verified(row)).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let areas: Vec<&str> = rows(&document).iter().filter(|row| is_verified(row)).map(|row| text(row, "area")).collect();
    for area in ["cpu", "linpack", "memory", "disk", "net"] {
        assert!(areas.contains(&area), "{area} was not measured: {areas:?}");
    }
    let warned = |row: &Value| list(row, "warnings").iter().any(|warning| warning["code"] == "engine_stepped_down");
    assert!(rows(&document).iter().any(warned), "no row says that io_uring is missing");
}

/// What a shell gets that completes these words.
fn completed(scratch: &Scratch, words: &str) -> Vec<String> {
    let mut command = command(scratch, ["--", "assay"].into_iter().chain(words.split(' ')));
    let last = words.split(' ').count();
    command.env("ASSAY_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", last.to_string());
    command.env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_COMPLETE_SPACE", "true");
    let ran = ran(command);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn shells_complete_commands_runs_suites_and_ids() {
    let scratch = Scratch::new();
    let run = scratch.join("store/runs/2026-11-20T12-00-00Z-host-quick");
    std::fs::create_dir_all(&run).unwrap();
    std::fs::write(run.join("run.json"), "{}").unwrap();
    assert!(completed(&scratch, "comp").iter().any(|word| word == "compare"));
    assert_eq!(completed(&scratch, "show 2026"), ["2026-11-20T12-00-00Z-host-quick"]);
    assert_eq!(completed(&scratch, "report lat"), ["latest"]);
    assert_eq!(completed(&scratch, "run cl"), ["classic"]);
    let ids = completed(&scratch, "run quick --filter memory/");
    assert!(!ids.is_empty() && ids.iter().all(|id| id.starts_with("memory/")), "{ids:?}");
    for shell in ["bash", "zsh", "fish"] {
        let script = succeed(&scratch, &format!("completions {shell}")).stdout;
        assert!(script.contains("ASSAY_COMPLETE") && script.contains("assay"), "{script}");
    }
    assert_eq!(assay(&scratch, "completions csh").status, Some(2));
}

#[test]
fn the_version_names_commit_date_target_and_libc() {
    let scratch = Scratch::new();
    let version = succeed(&scratch, "--version").stdout;
    let lines: Vec<&str> = version.lines().collect();
    let [program, commit, target, libc] = lines[..] else { panic!("{version}") };
    assert!(program.starts_with("assay ") && commit.starts_with("commit: "), "{version}");
    assert!(target.contains("linux") && libc.starts_with("libc: "), "{version}");
    assert_eq!(succeed(&scratch, "-V").stdout, format!("{program}\n"));
}

#[test]
fn manual_pages_go_to_a_folder_and_a_file_in_its_place_is_named() {
    let scratch = Scratch::new();
    let folder = scratch.join("man");
    succeed(&scratch, &format!("man {}", folder.display()));
    assert!(std::fs::read_to_string(folder.join("assay-compare.1")).unwrap().contains(".SH EXAMPLES"));
    let file = scratch.join("file");
    std::fs::write(&file, "").unwrap();
    let refused = assay(&scratch, &format!("man {}", file.display()));
    assert!(refused.status == Some(2) && refused.stderr.contains("file"), "{refused:?}");
}

/// A benchmark measured in a moment, verified, into a folder of the scratch.
const BRIEF: &str = "cpu --op fma --type fp64 --isa scalar --threads 1 --repeat 1";

#[test]
fn without_a_home_the_message_says_how_to_choose_a_folder_and_that_works() {
    let scratch = Scratch::new();
    let bare = |arguments: &str| {
        let mut command = command(&scratch, arguments.split_whitespace());
        command.env_clear();
        Ran::from(command.output().unwrap())
    };
    let refused = bare(BRIEF);
    assert!(refused.status == Some(2) && refused.stderr.contains("--out"), "{refused:?}");
    let ran = bare(&format!("{BRIEF} --out {}", scratch.join("out").display()));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(scratch.join("out/report.html").exists());
    assert_eq!(bare("info").status, Some(0));
}

#[test]
fn a_read_only_home_is_reported_before_anything_is_measured() {
    let scratch = Scratch::new();
    let (home, out) = (scratch.join("home"), scratch.join("out"));
    std::fs::create_dir(&home).unwrap();
    let Some(_mounted) = ReadOnly::mount("a read-only home", &home) else { return };
    let at_home = |arguments: &str| {
        let mut command = command(&scratch, arguments.split_whitespace());
        command.env_remove("ASSAY_STORE").env("HOME", &home);
        Ran::from(command.output().unwrap())
    };
    let refused = at_home(BRIEF);
    let says = ["Read-only file system", "--out"].iter().all(|part| refused.stderr.contains(part));
    assert!(refused.status == Some(2) && says, "{refused:?}");
    let ran = at_home(&format!("{BRIEF} --out {}", out.display()));
    assert_eq!(ran.status, Some(0), "{ran:?}");
}

#[test]
fn a_folder_for_temporary_files_without_programs_is_enough() {
    if program().starts_with("/tmp") {
        return skip("/tmp without programs", "the program under test is in it");
    }
    let scratch = Scratch::new();
    let mount = "mount -t tmpfs -o noexec,nosuid assay-e2e /tmp";
    let Some(command) = unshared(&scratch, "--mount", mount, "run quick --verify --quiet --out /tmp/out") else {
        return skip("/tmp without programs", "mounting is not allowed");
    };
    let ran = ran(command);
    assert_eq!(ran.status, Some(0), "{ran:?}");
}
