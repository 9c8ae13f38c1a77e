//! `assay runs` on a store with 10 000 runs.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const RUNS: u32 = 10_000;
const GOAL_SECONDS: f64 = 0.5;
const GOAL_MB: f64 = 50.0;

struct Call {
    seconds: f64,
    peak_mb: f64,
}

/// The first call, which writes summaries, and the second one, which reads them.
pub(super) struct Listing {
    document_bytes: u64,
    calls: [Call; 2],
}

impl Listing {
    pub(super) fn measure(program: &Path, run: &Path) -> Result<Self, String> {
        let store = program.with_file_name("large-store");
        let source = run.join("run.json");
        let cannot = |error: std::io::Error| format!("cannot fill {}: {error}", store.display());
        let (first, runs) = (store.join("run.json"), store.join("runs"));
        fs::create_dir_all(&runs).map_err(cannot)?;
        let document_bytes = fs::copy(&source, &first).map_err(cannot)?;
        for number in 0..RUNS {
            let folder = runs.join(format!("2026-11-28T12-00-00Z-{number:05}"));
            fs::create_dir(&folder).and_then(|()| fs::hard_link(&first, folder.join("run.json"))).map_err(cannot)?;
        }
        let calls = [call(program, &store)?, call(program, &store)?];
        fs::remove_dir_all(&store).map_err(cannot)?;
        Ok(Self { document_bytes, calls })
    }

    pub(super) fn text(&self) -> String {
        let rows = ["first: writes the summaries", "second"].into_iter().zip(&self.calls);
        let row =
            |(what, call): (&str, &Call)| format!("| {what} | {:.2} s | {:.1} MB |\n", call.seconds, call.peak_mb);
        let rows: String = rows.map(row).collect();
        format!(
            "\n`assay runs` with {RUNS} runs, each with a document of {:.0} kB. The goal of the second call is\n\
             {GOAL_SECONDS} s and {GOAL_MB} MB.\n\n\
             | call | time | peak memory |\n| --- | ---: | ---: |\n{rows}",
            self.document_bytes as f64 / 1e3
        )
    }
}

fn call(program: &Path, store: &Path) -> Result<Call, String> {
    let mut command = Command::new("/usr/bin/time");
    command.args(["-f", "%M"]).arg(program).arg("runs").env("ASSAY_STORE", store).stdin(Stdio::null());
    let began = Instant::now();
    let output = command.output().map_err(|error| format!("cannot start /usr/bin/time: {error}"))?;
    let seconds = began.elapsed().as_secs_f64();
    let lines = String::from_utf8_lossy(&output.stdout).lines().count();
    if !output.status.success() || lines != RUNS as usize {
        return Err(format!("assay runs listed {lines} runs of {RUNS}"));
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let kibibytes: f64 = said.trim().parse().map_err(|_| format!("/usr/bin/time printed '{said}'"))?;
    Ok(Call { seconds, peak_mb: kibibytes * 1.024e-3 })
}
