//! `cargo xtask packages`: the files of a release, installed and used where nothing else is.

use std::process::Stdio;

use xtask::set_up;
use xtask::shell::Shell;
use xtask::tally::Tally;

/// The status of a trial that cannot take place here; its last line says why.
const SKIPPED: i32 = 77;
pub(super) const TRIALS: [&str; 5] = ["pip", "static", "rpm", "lintian", "debian"];

pub(super) const TOOLS: &[set_up::Tool] = &[
    set_up::tool("debootstrap", "debootstrap", "--version", "packages in other distributions"),
    set_up::tool("rpm", "rpm", "--version", "the rpm"),
    set_up::tool("busybox", "busybox-static", "--help", "the static program with busybox"),
    set_up::tool("lintian", "lintian", "--version", "the deb by Debian's rules"),
];

/// Runs the script of a trial.
pub(super) fn attempt(shell: &Shell, trial: &str) -> Tally {
    let [dist, work] = [shell.root().join("dist"), shell.target().join("trials")];
    if let Err(error) = std::fs::create_dir_all(&work) {
        return Tally::failure(format!("{trial}: {error}"));
    }
    let script = format!("packaging/trials/{trial}.sh");
    let [dist, work] = [&dist, &work].map(|folder| folder.display().to_string());
    let ended = shell.command("sh", &[script, dist, work]).stderr(Stdio::inherit()).output();
    let Ok(ended) = ended else { return Tally::failure(format!("{trial}: sh cannot be started")) };
    let said = String::from_utf8_lossy(&ended.stdout);
    print!("{said}");
    let last = said.lines().last().unwrap_or(trial).to_owned();
    match ended.status.code() {
        Some(0) => Tally::check(true),
        Some(SKIPPED) => Tally::skip(last),
        _ => Tally::failure(format!("packages: the trial {trial} failed: {last}")),
    }
}
