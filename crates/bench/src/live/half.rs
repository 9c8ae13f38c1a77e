//! One side of a live comparison, and a run of it as half of a pair.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use model::document::Document;
use sys::process;
use tools::Invocation;

use crate::references::run::run;
use crate::store;

/// Timeout of the first half, about which nothing is known.
const FIRST_SECONDS: f64 = 3600.0;
/// Timeout of later halves: a factor of the longest so far, plus seconds.
const PATIENCE: (f64, f64) = (10.0, 60.0);
const PREFIX: &str = "live-";

#[derive(Clone, Debug)]
pub struct LiveSide {
    pub name: String,
    pub program: PathBuf,
    /// Its options, without those for output.
    pub options: Vec<String>,
    /// The command that switches the machine to this side.
    pub switch: Option<String>,
}

/// A temporary folder for documents; those of killed processes are removed by the next.
#[derive(Debug)]
pub(super) struct Workplace {
    path: PathBuf,
}

impl Workplace {
    pub(super) fn make(root: &Path) -> Result<Self, String> {
        sweep(root);
        let path = root.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|error| {
            format!("cannot create the folder '{}': {error}; use ASSAY_STORE to choose another store", path.display())
        })?;
        Ok(Self { path })
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn sweep(root: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let owner = entry.file_name().to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if owner.is_some_and(|owner| !process::exists(owner)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

pub(super) struct Half<'a> {
    pub(super) side: &'a LiveSide,
    pub(super) seed: u64,
    pub(super) longest: Option<f64>,
}

impl Half<'_> {
    pub(super) fn measure(
        &self,
        workplace: &Workplace,
        environment: &BTreeMap<String, String>,
    ) -> Result<Document, String> {
        let out = workplace.path.join("half");
        let _ = fs::remove_dir_all(&out);
        let timeout_seconds = self.longest.map_or(FIRST_SECONDS, |seconds| PATIENCE.0 * seconds + PATIENCE.1);
        let (argv, env) = (self.argv(&out), environment.clone());
        let invocation = Invocation { argv, env, timeout_seconds, ..Invocation::default() };
        let called = &self.side.name;
        let ran = run(&invocation, &mut |_| {}).map_err(|reason| format!("'{called}': {reason}"))?;
        let said = || ran.output.stderr.lines().next().unwrap_or("it printed nothing").trim().to_owned();
        // A failed benchmark (1) leaves a document, a usage error (2) none.
        if !matches!(ran.output.status, Some(0 | 1)) {
            return Err(format!("'{called}' failed: {}", said()));
        }
        store::load_file(&out.join(store::DOCUMENT))
            .map_err(|reason| format!("'{called}' stored no run: {reason}; {}", said()))
    }

    fn argv(&self, out: &Path) -> Vec<String> {
        let mut argv = vec![self.side.program.display().to_string()];
        argv.extend(self.side.options.iter().cloned());
        if !self.side.options.iter().any(|option| option.starts_with("--repeat")) {
            argv.extend(["--repeat".to_owned(), "1".to_owned()]);
        }
        let (seed, out) = (self.seed.to_string(), out.display().to_string());
        argv.extend(["--seed", &seed, "--quiet", "--out", &out].map(str::to_owned));
        argv
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::scratch;

    #[test]
    fn a_workplace_is_gone_afterwards_and_those_of_the_dead_are_swept() {
        let scratch = scratch();
        let dead = scratch.path().join(format!("{PREFIX}{}", u32::MAX));
        fs::create_dir_all(dead.join("half")).unwrap();
        fs::create_dir_all(scratch.path().join("runs")).unwrap();
        let workplace = Workplace::make(scratch.path()).unwrap();
        assert!(!dead.exists() && workplace.path.is_dir());
        drop(workplace);
        let left: Vec<_> = fs::read_dir(scratch.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["runs"]);
    }

    #[test]
    fn one_repetition_unless_asked_for_more() {
        let side = |options: &[&str]| LiveSide {
            name: "x".into(),
            program: "/bin/assay".into(),
            options: options.iter().map(|&option| option.to_owned()).collect(),
            switch: None,
        };
        let argv = |side: &LiveSide| Half { side, seed: 7, longest: None }.argv(Path::new("/o")).join(" ");
        assert_eq!(argv(&side(&["cpu"])), "/bin/assay cpu --repeat 1 --seed 7 --quiet --out /o");
        assert_eq!(argv(&side(&["cpu", "--repeat=3"])), "/bin/assay cpu --repeat=3 --seed 7 --quiet --out /o");
    }
}
