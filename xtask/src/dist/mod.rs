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

use std::path::{Path, PathBuf};
use std::{fs, io};

use xtask::set_up;
use xtask::shell::Shell;
use xtask::tally::Tally;

use crate::arm::Toolchain;

use release::{Architecture, Release, tools};

/// Makes all files of a release, and tries those for 64-bit Arm under emulation.
pub(crate) fn run(shell: &Shell) -> Tally {
    let toolchain = Toolchain::get(shell);
    let mut tally = build(shell, toolchain.as_ref().ok());
    match toolchain {
        Ok(_) if tally.failed == 0 => tally.add(trials::attempt(shell, "arm")),
        Ok(_) => {}
        Err(why) => tally.add(Tally::skip(format!("the files of a release for 64-bit Arm: {why}"))),
    }
    tally
}

fn build(shell: &Shell, of_arm: Option<&Toolchain>) -> Tally {
    match make(shell, of_arm) {
        Ok(folder) => {
            print_sizes(&folder);
            Tally::check(true)
        }
        Err(why) => Tally::failure(format!("dist: {why}")),
    }
}

/// Makes those for x86-64, and tries each where nothing else is installed.
pub(crate) fn packages(shell: &Shell) -> Tally {
    if let Err(why) = tools(shell) {
        return Tally::skip(format!("the packages: what builds them cannot be installed here: {why}"));
    }
    let mut tally = set_up::get(shell, trials::TOOLS);
    let made = build(shell, None);
    let is_made = made.failed == 0;
    tally.add(made);
    if is_made {
        trials::TRIALS.iter().for_each(|trial| tally.add(trials::attempt(shell, trial)));
    }
    tally
}

fn make(shell: &Shell, of_arm: Option<&Toolchain>) -> Result<PathBuf, String> {
    let release = Release::new(shell)?;
    let own = Architecture { name: "x86_64", deb: "amd64", toolchain: None };
    let arm = of_arm.map(|_| Architecture { name: "aarch64", deb: "arm64", toolchain: of_arm });
    for architecture in std::iter::once(own).chain(arm) {
        let portable = programs::portable(&release, &architecture)?;
        if architecture.toolchain.is_none() {
            staging::stage(&release, &portable)?;
        }
        let name = architecture.name;
        archives::tarball(&release, &portable, &format!("{name}-linux-gnu"))?;
        archives::wheel(&release, &portable, &format!("manylinux2014_{name}.manylinux_2_17_{name}"))?;
        if let Some(static_program) = programs::without_libc(&release, &architecture)? {
            archives::tarball(&release, &static_program, &format!("{name}-linux-musl"))?;
            archives::wheel(&release, &static_program, &format!("musllinux_1_1_{name}"))?;
        }
        archives::packages(&release, &portable, &architecture)?;
    }
    sbom::write(&release)?;
    release.sums()?;
    let folder = shell.root().join("dist");
    publish(&release.made, &folder).map_err(|error| format!("cannot write {}: {error}", folder.display()))?;
    Ok(folder)
}

/// Replaces a folder by a complete one. It is renamed before its files are deleted, so that it never has only some of them.
fn publish(made: &Path, folder: &Path) -> io::Result<()> {
    let before = made.with_extension("before");
    let _ = fs::remove_dir_all(&before);
    match fs::rename(folder, &before) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::rename(made, folder)?,
    }
    let _ = fs::remove_dir_all(&before);
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of a folder with their text, in order; nothing for a folder that does not exist.
    fn files(folder: &Path) -> Vec<(String, String)> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let file =
            |entry: fs::DirEntry| (entry.file_name().display().to_string(), fs::read_to_string(entry.path()).unwrap());
        let mut found: Vec<_> = entries.map(file).collect();
        found.sort();
        found
    }

    fn fill(folder: &Path, all: &[(&str, &str)]) -> Vec<(String, String)> {
        fs::create_dir_all(folder).unwrap();
        all.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
        all.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn an_interrupted_release_leaves_the_files_of_the_one_before() {
        let root = std::env::temp_dir().join(format!("assay-publish-{}", std::process::id()));
        let [dist, made, before] = ["dist", "made", "made.before"].map(|name| root.join(name));
        let first = fill(&made, &[("SHA256SUMS", "1"), ("a.deb", "one")]);
        publish(&made, &dist).unwrap();
        assert_eq!((files(&dist), made.exists(), before.exists()), (first.clone(), false, false));
        // Interrupted while it is made, or once the folder of the release before was renamed but not deleted.
        fill(&made, &[("a.deb", "tw")]);
        fill(&before, &[("a.deb", "zero")]);
        assert_eq!(files(&dist), first);
        fs::remove_dir_all(&made).unwrap();
        let second = fill(&made, &[("SHA256SUMS", "2"), ("b.deb", "two")]);
        publish(&made, &dist).unwrap();
        assert_eq!((files(&dist), before.exists()), (second.clone(), false), "no file of the release before");
        // A file where the folder would be is kept too, where it cannot be renamed.
        assert!(publish(&made, &dist.join("b.deb/dist")).is_err());
        assert_eq!(files(&dist), second);
        fs::remove_dir_all(root).unwrap();
    }
}
