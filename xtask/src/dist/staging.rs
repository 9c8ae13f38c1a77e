//! What packages install with the program: manual pages, completions, licences.

use std::path::Path;

use xtask::process::output;

use super::release::{Release, must};

/// Files of the repository that every package has.
pub(super) const TEXTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];
/// Shells, and where packages put their completions.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/assay"),
    ("zsh", "zsh/site-functions/_assay"),
    ("fish", "fish/vendor_completions.d/assay.fish"),
];

/// Fills `stage/usr` as packages install it, all but the program, which writes some of it and runs here.
pub(super) fn stage(release: &Release, program: &Path) -> Result<(), String> {
    let usr = release.stage.join("usr");
    let share = usr.join("share");
    let pages = share.join("man/man1");
    must(&mut release.command(program, &["man", &pages.display().to_string()]))?;
    let all = format!("gzip -n -9 {}/*.1", pages.display());
    must(&mut release.command("sh", &["-c", &all]))?;
    for (shell, place) in SHELLS {
        let script = output(&mut release.command(program, &["completions", shell]));
        let script = script.ok_or_else(|| format!("assay completions {shell} failed"))?;
        release.write(&share.join(place), script)?;
    }
    let doc = share.join("doc/assay");
    for name in &TEXTS[..2] {
        release.copy(&release.shell.root().join(name), &doc.join(name))?;
    }
    release.write(&doc.join("copyright"), copyright(release)?)?;
    // In the format that Debian's tools read.
    let changes = format!(
        "assay ({}) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- The Assay authors \
         <assay@users.noreply.github.com>  {}\n",
        release.version,
        time(release, "--rfc-email")?
    );
    release.write(&doc.join("changelog"), changes)?;
    must(&mut release.command("gzip", &["-n", "-9", &doc.join("changelog").display().to_string()]))
}

/// The time of the commit in a format of `date`.
pub(super) fn time(release: &Release, format: &str) -> Result<String, String> {
    let date = output(&mut release.command("date", &["-u", "-d", &format!("@{}", release.epoch), format]));
    date.map(|date| date.trim().to_owned()).ok_or_else(|| "date failed".to_owned())
}

fn copyright(release: &Release) -> Result<String, String> {
    let mit = release.shell.root().join("LICENSE-MIT");
    let mit = std::fs::read_to_string(&mit).map_err(|error| format!("{}: {error}", mit.display()))?;
    Ok(format!(
        "Assay is distributed under the MIT licence, or under the Apache License 2.0, which is on\n\
         Debian in /usr/share/common-licenses/Apache-2.0; choose one.\n\n{mit}"
    ))
}
