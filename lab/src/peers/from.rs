//! `cargo lab peers from RUN`: keeps the comparisons of a document that another machine measured with
//! `assay run suites/peers.toml --references all --area AREA --repeat 20`.

use std::path::PathBuf;

use model::document::SCHEMA;
use serde_json::Value;

use super::attempt::{self, ATTEMPTS, Mark};
use crate::record::Record;

/// The comparisons of a run, given as its folder or its `run.json`, unless `kept` has them already.
pub(super) fn attempts(run: &str, kept: &[Record]) -> Result<Vec<Record>, String> {
    let run = PathBuf::from(run);
    let path = if run.is_dir() { run.join("run.json") } else { run };
    let text = std::fs::read_to_string(&path).map_err(|error| format!("cannot read '{}': {error}", path.display()))?;
    read(&text, kept).map_err(|reason| format!("'{}' {reason}", path.display()))
}

/// The comparisons of a document, or the rest of a sentence that begins with its path.
fn read(text: &str, kept: &[Record]) -> Result<Vec<Record>, String> {
    let document: Value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
    let schema = &document["schema"];
    if schema != SCHEMA {
        return Err(format!("is not a run: its schema is {schema}, not \"{SCHEMA}\""));
    }
    // Failed benchmarks have no device.
    let rows = document["experiments"].as_array().into_iter().flatten();
    let mut layers = rows.filter_map(|row| row["conditions"]["disk"]["layers"].as_array()).flatten();
    let on_loop = layers.any(|layer| layer.as_str().is_some_and(|name| name.starts_with("loop")));
    let found = attempt::read(&document).into_iter().map(|attempt| attempt.marked(Mark::Elsewhere));
    let found: Vec<Record> =
        found.map(|attempt| if on_loop { attempt.marked(Mark::OnLoop) } else { attempt }).collect();
    if found.is_empty() {
        return Err("has no comparison: run 'assay run' with --references".to_owned());
    }
    // A line kept twice would count as two attempts.
    let is_kept = |new: &Record| {
        kept.iter().any(|old| old.comparison() == new.comparison() && old.text("when") == new.text("when"))
    };
    if found.iter().any(is_kept) {
        return Err(format!("is not new: its comparisons are in {ATTEMPTS}"));
    }
    Ok(found)
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
    fn a_run_is_its_folder_or_the_document_in_it_and_its_device_is_kept() {
        let folder = std::env::temp_dir().join(format!("peers-from-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("run.json");
        std::fs::write(&file, document("disk/a", &["loop0"]).to_string()).unwrap();
        let [folder_name, file_name] = [&folder, &file].map(|path| path.to_str().unwrap());
        let lines = attempts(folder_name, &[]).unwrap();
        assert_eq!(lines, attempts(file_name, &[]).unwrap());
        assert!(lines[0].has(Mark::Elsewhere) && lines[0].has(Mark::OnLoop));
        assert_eq!(lines[0].text("id"), "disk/a on a loop device");
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(attempts(file_name, &[]).unwrap_err().starts_with("cannot read '"));
        assert!(!read(&document("disk/a", &[]).to_string(), &[]).unwrap()[0].has(Mark::OnLoop));
    }

    #[test]
    fn a_run_is_taken_once() {
        let once = document("disk/a", &[]);
        let kept = read(&once.to_string(), &[]).unwrap();
        assert!(read(&once.to_string(), &kept).unwrap_err().contains("is not new"));
        let mut later = once;
        later["run"]["started"] = json!("2026-11-27T02:30:14Z");
        assert_eq!(read(&later.to_string(), &kept).unwrap().len(), 1);
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
            let refusal = read(text, &[]).unwrap_err();
            assert!(refusal.contains(reason) && !refusal.contains('\n'), "{text}: {refusal}");
        }
    }
}
