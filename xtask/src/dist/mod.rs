//! `cargo xtask dist`: everything that a release consists of, into `dist/`.
//!
//! Two builds of a commit are byte-equal: paths of this machine are left out, and every time is that of the commit. What is
//! made goes to a folder in `target/` first, so an interrupted build leaves no half file in `dist/`.

mod archives;
mod programs;
mod release;
mod sbom;
mod staging;
mod trials;

use std::fs;
use std::path::{Path, PathBuf};

use xtask::set_up;
use xtask::shell::Shell;
use xtask::tally::Tally;

use release::{Release, tools};

/// Makes all files of a release.
pub(crate) fn run(shell: &Shell) -> Tally {
    match make(shell) {
        Ok(folder) => {
            print_sizes(&folder);
            Tally::check(true)
        }
        Err(why) => Tally::failure(format!("dist: {why}")),
    }
}

/// Makes them, and tries each where nothing else is installed.
pub(crate) fn packages(shell: &Shell) -> Tally {
    if let Err(why) = tools(shell) {
        return Tally::skip(format!("the packages: what builds them cannot be installed here: {why}"));
    }
    let mut tally = set_up::get(shell, trials::TOOLS);
    let made = run(shell);
    let is_made = made.failed == 0;
    tally.add(made);
    if is_made {
        trials::TRIALS.iter().for_each(|trial| tally.add(trials::attempt(shell, trial)));
    }
    tally
}

fn make(shell: &Shell) -> Result<PathBuf, String> {
    let release = Release::new(shell)?;
    let portable = programs::portable(&release)?;
    let static_program = programs::without_libc(&release)?;
    staging::stage(&release, &portable)?;
    archives::tarball(&release, &portable, "linux-gnu")?;
    archives::tarball(&release, &static_program, "linux-musl")?;
    archives::wheel(&release, &portable, "manylinux2014_x86_64.manylinux_2_17_x86_64")?;
    archives::wheel(&release, &static_program, "musllinux_1_1_x86_64")?;
    archives::packages(&release)?;
    sbom::write(&release)?;
    release.sums()?;
    let folder = shell.root().join("dist");
    let _ = fs::remove_dir_all(&folder);
    fs::rename(&release.made, &folder).map_err(|error| format!("cannot write {}: {error}", folder.display()))?;
    Ok(folder)
}

fn print_sizes(folder: &Path) {
    let mut files: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    files.sort_by_key(fs::DirEntry::file_name);
    for file in files {
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        #[expect(clippy::cast_precision_loss, reason = "a size for reading")]
        let megabytes = bytes as f64 / 1e6;
        println!("{megabytes:>8.2} MB  dist/{}", file.file_name().display());
    }
}
