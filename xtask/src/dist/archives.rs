//! The files of a release: tar.gz, wheel, deb, rpm.

use std::fs;
use std::path::Path;

use super::release::{Architecture, Release, must};
use super::staging::TEXTS;

/// Program, manual pages, completions, licences.
pub(super) fn tarball(release: &Release, program: &Path, system: &str) -> Result<(), String> {
    let name = format!("assay-{}-{system}", release.version);
    let folder = release.stage.join(&name);
    release.copy(program, &folder.join("assay"))?;
    for text in TEXTS.into_iter().filter(|text| *text != "CHANGELOG.md") {
        release.copy(&release.shell.root().join(text), &folder.join(text))?;
    }
    let share = release.stage.join("usr/share");
    let copy = format!(
        "mkdir -p completions man/man1 && cp {0}/bash-completion/completions/assay completions/assay.bash && \
         cp {0}/zsh/site-functions/_assay {0}/fish/vendor_completions.d/assay.fish completions && cp {0}/man/man1/* man/man1 && gunzip man/man1/*",
        share.display()
    );
    must(release.command("sh", &["-c", &copy]).current_dir(&folder))?;
    let file = release.made.join(format!("{name}.tar.gz"));
    let pack = format!(
        "tar --sort=name --mtime=@{} --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w -cf - {name} | python3 {} gzip > {}",
        release.epoch,
        compress(release),
        file.display()
    );
    must(release.command("sh", &["-c", &pack]).current_dir(&release.stage))
}

/// A wheel that puts the program into the environment's `bin`.
pub(super) fn wheel(release: &Release, program: &Path, platform: &str) -> Result<(), String> {
    let base = format!("assay_bench-{}", release.version);
    let folder = release.stage.join(format!("wheel-{platform}"));
    let [data, info] = ["data", "dist-info"].map(|kind| folder.join(format!("{base}.{kind}")));
    release.copy(program, &data.join("scripts/assay"))?;
    for licence in &TEXTS[2..] {
        release.copy(&release.shell.root().join(licence), &info.join("licenses").join(licence))?;
    }
    let read =
        |name: &str| fs::read_to_string(release.shell.root().join(name)).map_err(|error| format!("{name}: {error}"));
    let metadata = read("packaging/METADATA")?.replace("VERSION", &release.version) + &read("README.md")?;
    release.write(&info.join("METADATA"), metadata)?;
    let tags = platform.split('.').map(|platform| format!("Tag: py3-none-{platform}\n"));
    let wheel = "Wheel-Version: 1.0\nGenerator: cargo xtask dist\nRoot-Is-Purelib: false\n".to_owned();
    release.write(&info.join("WHEEL"), wheel + &tags.collect::<String>())?;
    let [folder, made] = [&folder, &release.made].map(|path| path.display().to_string());
    must(&mut release.command("wheel", &["pack", &folder, "--dest-dir", &made]))?;
    let file = format!("{made}/{base}-py3-none-{platform}.whl");
    must(&mut release.command("python3", &[&compress(release), "zip", &file]))
}

/// The program that compresses further than gzip and zip do.
fn compress(release: &Release) -> String {
    release.shell.root().join("packaging/compress.py").display().to_string()
}

/// The deb and the rpm of a program.
pub(super) fn packages(release: &Release, program: &Path, architecture: &Architecture) -> Result<(), String> {
    release.copy(program, &release.stage.join("usr/bin/assay"))?;
    let [made, recipe] =
        [&release.made, &release.shell.root().join("packaging/nfpm.yaml")].map(|path| path.display().to_string());
    let made = format!("{made}/");
    // Packages keep the times of the files, which are those of this build.
    let date = format!("@{}", release.epoch);
    let touch = ["usr", "-exec", "touch", "--no-dereference", "--date", &date, "{}", "+"];
    must(release.command("find", &touch).current_dir(&release.stage))?;
    for packager in ["deb", "rpm"] {
        let mut command = release.command("nfpm", &["package", "-f", &recipe, "-p", packager, "-t", &made]);
        must(command.env("VERSION", &release.version).env("ARCH", architecture.deb).current_dir(&release.stage))?;
    }
    Ok(())
}
