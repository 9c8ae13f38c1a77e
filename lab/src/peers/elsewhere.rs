//! `cargo lab peers from RUN`: the comparisons of a document that another machine made.
//!
//! On a machine without Rust the program alone can be run (`assay run suites/peers.toml --references all --area AREA
//! --repeat 20`). Its document says all that a line of `lab/data/peers.jsonl` holds, so nothing is measured here; only whether
//! the document is one, and whether it is here already, is looked at.

use std::path::PathBuf;

use model::document::SCHEMA;
use serde_json::Value;

use super::attempt::{self, Attempt};
use super::shared::{ATTEMPTS, DISK};

/// What the rows of a document were on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ground {
    /// The machine as it is.
    Itself,
    /// A loop device: disk rows that are no comparisons of the disk.
    LoopDevice,
}

/// What was asked for: a run, and what its rows were on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    run: PathBuf,
    ground: Ground,
}

impl Wanted {
    /// From the words behind `from`.
    ///
    /// # Errors
    /// One sentence: there is no run among them, or something else.
    pub(super) fn read(arguments: &[String]) -> Result<Self, String> {
        let mut run = None;
        let mut ground = Ground::Itself;
        for word in arguments {
            match word.as_str() {
                "--loop" => ground = Ground::LoopDevice,
                path if !path.starts_with('-') && run.is_none() => run = Some(PathBuf::from(path)),
                other => return Err(format!("'{other}' is not understood; from takes one run, and --loop")),
            }
        }
        let run = run.ok_or("from needs a run: its folder, or the run.json in it")?;
        Ok(Self { run, ground })
    }

    /// The comparisons of the run, where `kept` are those of which there are lines.
    ///
    /// # Errors
    /// One sentence: there is no document, it is none of a run, it compares nothing, it was on something else, or its
    /// lines are kept already.
    pub(super) fn attempts(&self, kept: &[Attempt]) -> Result<Vec<Attempt>, String> {
        let path = if self.run.is_dir() { self.run.join("run.json") } else { self.run.clone() };
        let text =
            std::fs::read_to_string(&path).map_err(|error| format!("'{}' cannot be read: {error}", path.display()))?;
        of_text(&text, self.ground, kept).map_err(|reason| format!("'{}' {reason}", path.display()))
    }
}

/// The comparisons of a document, or the rest of a sentence that begins with its path.
fn of_text(text: &str, ground: Ground, kept: &[Attempt]) -> Result<Vec<Attempt>, String> {
    let document: Value = serde_json::from_str(text).map_err(|error| format!("is no JSON: {error}"))?;
    match document["schema"].as_str() {
        Some(SCHEMA) => {}
        Some(other) => return Err(format!("is no run: its schema is '{other}', and not '{SCHEMA}'")),
        None => return Err(format!("is no run: it does not say that its schema is '{SCHEMA}'")),
    }
    let found = attempt::read(&document);
    if found.is_empty() {
        return Err("compares nothing with a tool: 'assay run' does with --references".to_owned());
    }
    check_ground(&document, &found, ground)?;
    let found: Vec<Attempt> = found
        .into_iter()
        .map(Attempt::made_elsewhere)
        .map(|attempt| if ground == Ground::LoopDevice { attempt.made_on_a_loop() } else { attempt })
        .collect();
    // A line that is kept twice would be told as two attempts.
    if found.iter().any(|new| kept.iter().any(|old| old.is_the_same_as(new))) {
        return Err(format!("is not new: its comparisons are in {ATTEMPTS}"));
    }
    Ok(found)
}

/// Whether the rows were on what was said of them: rows that failed do not say it.
fn check_ground(document: &Value, found: &[Attempt], said: Ground) -> Result<(), String> {
    let rows = document["experiments"].as_array().into_iter().flatten();
    let layers = rows.filter_map(|row| row["conditions"]["disk"]["layers"].as_array());
    let is_loop = |layer: &Value| layer.as_str().is_some_and(|name| name.starts_with("loop"));
    let on_a_loop: Vec<bool> = layers.map(|layers| layers.iter().any(is_loop)).collect();
    match said {
        Ground::Itself if on_a_loop.contains(&true) => Err("has rows on a loop device: say --loop".to_owned()),
        Ground::LoopDevice if on_a_loop.contains(&false) || found.iter().any(|attempt| attempt.area() != DISK) => {
            Err("has rows that are not on a loop device, for which --loop is".to_owned())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn document(id: &str, layers: &[&str]) -> Value {
        json!({
            "schema": SCHEMA,
            "run": {"started": "2026-11-26T02:30:14Z"},
            "machine": {"cpu": {"model_name": "Some CPU", "cores": 16}},
            "experiments": [{"id": id, "conditions": {"disk": {"layers": layers}}, "metrics": [
                {"name": "iops", "references": [
                    {"tool": "fio", "status": "ok", "ratio": 1.1, "verdict": "at_least"},
                    {"tool": "iozone", "status": "skipped", "reason": "iozone is not installed: there is no 'iozone'"}]}]}],
        })
    }

    fn read(document: &Value, ground: Ground, kept: &[Attempt]) -> Result<Vec<Attempt>, String> {
        of_text(&document.to_string(), ground, kept)
    }

    #[test]
    fn the_words_behind_from_are_understood_or_refused() {
        let wanted = |run: &str, ground| Ok(Wanted { run: run.into(), ground });
        assert_eq!(Wanted::read(&words("/a/run.json")), wanted("/a/run.json", Ground::Itself));
        assert_eq!(Wanted::read(&words("--loop /a")), wanted("/a", Ground::LoopDevice));
        for bad in ["", "--loop", "/a /b", "/a --awake", "/a --pairs 2"] {
            assert!(Wanted::read(&words(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_folder_and_the_document_in_it_are_the_same_run() {
        let folder = std::env::temp_dir().join(format!("peers-from-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("run.json");
        std::fs::write(&file, document("disk/a", &[]).to_string()).unwrap();
        let attempts = |run: &Path| Wanted { run: run.to_owned(), ground: Ground::Itself }.attempts(&[]);
        assert_eq!(attempts(&folder), attempts(&file));
        assert_eq!(attempts(&folder).unwrap().len(), 1, "a tool that is not there was not tried");
        std::fs::remove_dir_all(&folder).unwrap();
        let reason = attempts(&folder).unwrap_err();
        assert!(reason.contains("peers-from-") && reason.contains("cannot be read"), "{reason}");
    }

    #[test]
    fn what_it_was_on_is_kept_with_each_comparison_and_must_be_so() {
        let (itself, on_a_loop) = (document("disk/a", &[]), document("disk/a", &["loop0"]));
        let lines = read(&itself, Ground::Itself, &[]).unwrap();
        assert!(lines[0].is_from_elsewhere() && !lines[0].is_on_a_loop());
        let lines = read(&on_a_loop, Ground::LoopDevice, &[]).unwrap();
        assert!(lines[0].is_from_elsewhere() && lines[0].is_on_a_loop());
        assert_eq!(lines[0].text("id"), "disk/a on a loop device");
        assert!(read(&on_a_loop, Ground::Itself, &[]).unwrap_err().contains("say --loop"));
        for other in [itself, document("net/a", &["loop0"])] {
            assert!(read(&other, Ground::LoopDevice, &[]).unwrap_err().contains("not on a loop device"));
        }
    }

    #[test]
    fn a_run_is_taken_once() {
        let once = document("disk/a", &[]);
        let kept = read(&once, Ground::Itself, &[]).unwrap();
        assert!(read(&once, Ground::Itself, &kept).unwrap_err().contains("is not new"));
        let mut later = once;
        later["run"]["started"] = json!("2026-11-27T02:30:14Z");
        assert_eq!(read(&later, Ground::Itself, &kept).unwrap().len(), 1);
    }

    #[test]
    fn what_is_no_run_with_comparisons_is_refused_in_a_sentence() {
        let mut alone = document("disk/a", &[]);
        alone["experiments"][0]["metrics"][0]["references"] = json!([]);
        for (text, reason) in [
            ("", "is no JSON"),
            ("garbage", "is no JSON"),
            ("null", "does not say that its schema is 'assay.run/1'"),
            ("[1]", "does not say"),
            (r#"{"schema": 7}"#, "does not say"),
            (r#"{"schema": "assay.compare/1"}"#, "its schema is 'assay.compare/1'"),
            (r#"{"schema": "assay.run/1"}"#, "compares nothing"),
            (r#"{"schema": "assay.run/1", "experiments": [{"metrics": [null, 3]}, "x"]}"#, "compares nothing"),
            (&alone.to_string(), "compares nothing"),
        ] {
            let said = of_text(text, Ground::Itself, &[]).unwrap_err();
            assert!(said.contains(reason) && !said.contains('\n'), "{text}: {said}");
        }
    }
}
