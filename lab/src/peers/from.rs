//! `cargo lab peers from RUN`: keeps the comparisons of a document that another machine measured with
//! `assay run suites/peers.toml --references all --area AREA --repeat 20`.

use std::path::PathBuf;

use model::document::SCHEMA;
use serde_json::Value;

use super::attempt::{self, ATTEMPTS, Attempt, DISK, Mark};

/// The comparisons of the run that the words after `from` name, unless `kept` has them already.
pub(super) fn attempts(words: &[String], kept: &[Attempt]) -> Result<Vec<Attempt>, String> {
    let (run, on_loop) = arguments(words)?;
    let path = if run.is_dir() { run.join("run.json") } else { run };
    let text = std::fs::read_to_string(&path).map_err(|error| format!("cannot read '{}': {error}", path.display()))?;
    read(&text, on_loop, kept).map_err(|reason| format!("'{}' {reason}", path.display()))
}

/// The run, and whether its benchmarks ran on a loop device.
fn arguments(words: &[String]) -> Result<(PathBuf, bool), String> {
    let (options, runs): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.starts_with('-'));
    if let Some(unknown) = options.iter().find(|option| **option != "--loop") {
        return Err(format!("unknown option '{unknown}' of from: use --loop"));
    }
    match runs[..] {
        [run] => Ok((run.into(), !options.is_empty())),
        _ => Err("from needs one run: its folder or the run.json in it".to_owned()),
    }
}

/// The comparisons of a document, or the rest of a sentence that begins with its path.
fn read(text: &str, on_loop: bool, kept: &[Attempt]) -> Result<Vec<Attempt>, String> {
    let document: Value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
    let schema = &document["schema"];
    if schema != SCHEMA {
        return Err(format!("is not a run: its schema is {schema}, not \"{SCHEMA}\""));
    }
    let mut found = attempt::read(&document);
    if found.is_empty() {
        return Err("has no comparison: run 'assay run' with --references".to_owned());
    }
    check_device(&document, &found, on_loop)?;
    found = found.into_iter().map(|attempt| attempt.marked(Mark::Elsewhere)).collect();
    if on_loop {
        found = found.into_iter().map(|attempt| attempt.marked(Mark::OnLoop)).collect();
    }
    // A line kept twice would count as two attempts.
    let is_kept = |new: &Attempt| {
        kept.iter().any(|old| old.comparison() == new.comparison() && old.text("when") == new.text("when"))
    };
    if found.iter().any(is_kept) {
        return Err(format!("is not new: its comparisons are in {ATTEMPTS}"));
    }
    Ok(found)
}

/// Whether `--loop` agrees with the devices of the benchmarks. Failed benchmarks have no device.
fn check_device(document: &Value, found: &[Attempt], on_loop: bool) -> Result<(), String> {
    let rows = document["experiments"].as_array().into_iter().flatten();
    let layers = rows.filter_map(|row| row["conditions"]["disk"]["layers"].as_array());
    let is_loop = |layer: &Value| layer.as_str().is_some_and(|name| name.starts_with("loop"));
    let loops: Vec<bool> = layers.map(|layers| layers.iter().any(is_loop)).collect();
    if !on_loop && loops.contains(&true) {
        return Err("has benchmarks on a loop device: add --loop".to_owned());
    }
    if on_loop && (loops.contains(&false) || found.iter().any(|attempt| attempt.area() != DISK)) {
        return Err("has benchmarks that are not on a loop device: remove --loop".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(id: &str, layers: &[&str]) -> Value {
        json!({
            "schema": SCHEMA,
            "run": {"started": "2026-11-26T02:30:14Z"},
            "experiments": [{"id": id, "conditions": {"disk": {"layers": layers}}, "metrics": [
                {"name": "iops", "references": [{"tool": "fio", "status": "ok", "ratio": 1.1, "verdict": "at_least"}]}]}],
        })
    }

    #[test]
    fn a_run_is_its_folder_or_the_document_in_it() {
        let folder = std::env::temp_dir().join(format!("peers-from-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("run.json");
        std::fs::write(&file, document("disk/a", &["loop0"]).to_string()).unwrap();
        let of = |words: &[&str]| attempts(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>(), &[]);
        let [folder_name, file_name] = [&folder, &file].map(|path| path.to_str().unwrap());
        assert_eq!(of(&["--loop", folder_name]).unwrap(), of(&[file_name, "--loop"]).unwrap());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(of(&[file_name]).unwrap_err().starts_with("cannot read '"));
        for bad in [&[][..], &["--loop"], &["/a", "/b"], &["/a", "--awake"]] {
            assert!(of(bad).unwrap_err().contains("from"), "{bad:?}");
        }
    }

    #[test]
    fn the_device_is_kept_with_each_comparison_and_must_agree_with_loop() {
        let (disk, on_loop) = (document("disk/a", &[]).to_string(), document("disk/a", &["loop0"]).to_string());
        let lines = read(&disk, false, &[]).unwrap();
        assert!(lines[0].has(Mark::Elsewhere) && !lines[0].has(Mark::OnLoop));
        let lines = read(&on_loop, true, &[]).unwrap();
        assert!(lines[0].has(Mark::Elsewhere) && lines[0].has(Mark::OnLoop));
        assert_eq!(lines[0].text("id"), "disk/a on a loop device");
        assert!(read(&on_loop, false, &[]).unwrap_err().contains("add --loop"));
        for other in [disk, document("net/a", &["loop0"]).to_string()] {
            assert!(read(&other, true, &[]).unwrap_err().contains("remove --loop"));
        }
    }

    #[test]
    fn a_run_is_taken_once() {
        let once = document("disk/a", &[]);
        let kept = read(&once.to_string(), false, &[]).unwrap();
        assert!(read(&once.to_string(), false, &kept).unwrap_err().contains("is not new"));
        let mut later = once;
        later["run"]["started"] = json!("2026-11-27T02:30:14Z");
        assert_eq!(read(&later.to_string(), false, &kept).unwrap().len(), 1);
    }

    #[test]
    fn a_document_without_comparisons_is_refused() {
        let mut alone = document("disk/a", &[]);
        alone["experiments"][0]["metrics"][0]["references"] = json!([]);
        let odd = json!({"schema": SCHEMA, "experiments": [{"metrics": [null, 3]}, "x"]});
        for (text, reason) in [
            ("garbage", "is not JSON"),
            ("null", "its schema is null"),
            ("[1]", "its schema is null"),
            (r#"{"schema": "assay.compare/1"}"#, "its schema is \"assay.compare/1\""),
            (&odd.to_string(), "has no comparison"),
            (&alone.to_string(), "has no comparison"),
        ] {
            let refusal = read(text, false, &[]).unwrap_err();
            assert!(refusal.contains(reason) && !refusal.contains('\n'), "{text}: {refusal}");
        }
    }
}
