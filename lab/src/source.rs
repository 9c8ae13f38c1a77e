//! Where published values and recorded machines are read: git directories, and the files transcribed by hand.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) folder: PathBuf,
    pub(crate) transcribed: PathBuf,
}

#[derive(Debug)]
pub(crate) struct Source {
    git: PathBuf,
    name: &'static str,
    licence: &'static str,
    commit: String,
    date: String,
}

impl Sources {
    pub(crate) fn open(&self, name: &'static str, licence: &'static str, revision: &str) -> Result<Source, String> {
        let git = self.folder.join(name.replace('/', "+")).join("repo");
        let source = Source { git, name, licence, commit: String::new(), date: String::new() };
        let known = source.git(&["log", "-1", "--format=%h %cs", "--abbrev=12", revision])?;
        let (commit, date) = known.trim().split_once(' ').ok_or_else(|| format!("{name}: no commit {revision}"))?;
        Ok(Source { commit: commit.to_owned(), date: date.to_owned(), ..source })
    }

    /// The lines of a transcribed file, as cells.
    pub(crate) fn transcribed(&self, file: &str) -> Result<Vec<Vec<String>>, String> {
        let path = self.transcribed.join(file);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Ok(lines.map(|line| line.split('\t').map(str::to_owned).collect()).collect())
    }
}

impl Source {
    fn git(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new("git");
        command.arg("--git-dir").arg(&self.git).args(arguments).stdin(Stdio::null());
        let output = command.output().map_err(|error| format!("cannot start git: {error}"))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(format!("{}: {why}", self.git.display()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub(crate) fn read(&self, path: &str) -> Result<String, String> {
        self.git(&["show", &format!("{}:{path}", self.commit)])
    }

    /// The lines under a folder that match a pattern of `git grep -E`, as `PATH:LINE`.
    pub(crate) fn lines(&self, pattern: &str, under: &str) -> Result<Vec<String>, String> {
        let found = self.git(&["grep", "-E", pattern, &self.commit, "--", under])?;
        let start = format!("{}:", self.commit);
        Ok(found.lines().map(|line| line.strip_prefix(start.as_str()).unwrap_or(line).to_owned()).collect())
    }

    pub(crate) fn files(&self, under: &str) -> Result<Vec<String>, String> {
        Ok(self.git(&["ls-tree", "-r", "--name-only", &self.commit, under])?.lines().map(str::to_owned).collect())
    }

    /// Writes the files under a folder into another, with their paths.
    pub(crate) fn write_files(&self, under: &str, into: &Path) -> Result<(), String> {
        let archive = into.join("files.tar");
        self.git(&["archive", "--output", &archive.to_string_lossy(), &self.commit, under])?;
        unpack(&archive, into)
    }

    /// The name and the commit.
    pub(crate) fn label(&self) -> String {
        format!("{} at {} ({})", self.name, self.commit, self.date)
    }

    /// The date of the commit.
    pub(crate) fn date(&self) -> &str {
        &self.date
    }

    /// The line of a table's header for the columns that come from here.
    pub(crate) fn header(&self, columns: &str) -> String {
        header(self.name, &self.commit, &self.date, self.licence, columns)
    }
}

/// The line of a table's header for columns of one source; `-` where each row has its own commit and date.
pub(crate) fn header(name: &str, commit: &str, date: &str, licence: &str, columns: &str) -> String {
    format!("# source\t{name}\t{commit}\t{date}\t{licence}\t{columns}")
}

pub(crate) const AZURE_PAGES: &str = "MicrosoftDocs/azure-compute-docs";
pub(crate) const CC_BY: &str = "CC-BY-4.0";

/// Unpacks an archive of any compression with the system's `tar`.
pub(crate) fn unpack(archive: &Path, into: &Path) -> Result<(), String> {
    std::fs::create_dir_all(into).map_err(|error| format!("{}: {error}", into.display()))?;
    let mut tar = Command::new("tar");
    tar.args(["--no-same-owner", "--extract", "--file"]).arg(archive).arg("--directory").arg(into);
    let output = tar.output().map_err(|error| format!("cannot start tar: {error}"))?;
    let why = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{}: {}", archive.display(), why.trim())) }
}
