//! `assay compare` on a real document with other samples, so that the verdict is known.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::common::{
    Scratch, assay, command, document, list, number, only_run, printed, ran, refusal, refused, stored_runs, succeed,
    text,
};

/// One kernel on one thread, in two instruction sets.
const ROWS: &str = "cpu --op fma --type fp64 --isa vector,scalar --threads 1 --repeat 6";

static RUN: LazyLock<Value> = LazyLock::new(|| {
    let scratch = Scratch::new();
    succeed(&scratch, ROWS);
    document(&only_run(&scratch))
});

/// The run as if undisturbed on this day of November, with samples around `centre` times 1e9, evenly spread by this part.
fn made_up(day: u32, centre: f64, spread: f64) -> Value {
    let mut document = RUN.clone();
    document["run"]["id"] = format!("day-{day}").into();
    document["run"]["started"] = format!("2025-11-{day:02}T12:00:00Z").into();
    document["run"]["confidence"] = "high".into();
    for row in document["experiments"].as_array_mut().unwrap() {
        row["warnings"] = json!([]);
        row["confidence"] = "high".into();
        for metric in row["metrics"].as_array_mut().unwrap() {
            if metric["name"] != "throughput" {
                continue;
            }
            let samples = metric["samples"].as_array_mut().unwrap();
            let count = samples.len();
            for (index, sample) in samples.iter_mut().enumerate() {
                // In no order, so that process runs do not differ and there is no trend.
                let place = (index * 5 + day as usize) % count;
                let part = 2.0 * place as f64 / (count - 1) as f64 - 1.0;
                sample["value"] = (centre * 1e9 * (1.0 + spread * part)).into();
            }
        }
    }
    document
}

fn put(scratch: &Scratch, document: &Value) {
    let folder = scratch.join("store/runs").join(text(&document["run"], "id"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("run.json"), document.to_string()).unwrap();
}

#[test]
fn the_exit_status_says_worse_unknown_or_neither() {
    let base = made_up(1, 100.0, 0.002);
    for (new, status, verdict, sentence) in [
        (made_up(2, 100.0, 0.002), 0, "same", "No result changed; 2 are unchanged within 10 %."),
        (made_up(2, 50.0, 0.002), 1, "changed", "2 of 2 results changed, both for the worse."),
        (made_up(2, 200.0, 0.002), 0, "changed", "2 of 2 results changed, both for the better."),
        (made_up(2, 100.0, 0.9), 3, "inconclusive", "No result changed; 2 are inconclusive."),
    ] {
        let scratch = Scratch::new();
        for mut document in [base.clone(), new] {
            // On a virtual machine the threshold is another.
            document["machine"]["virtualization"] = json!({"hypervisor": "KVM", "signature": "KVMKVMKVM"});
            put(&scratch, &document);
        }
        let ran = assay(&scratch, "compare day-1 day-2 --json");
        assert_eq!((ran.status, &printed(&ran)["verdict"]), (Some(status), &verdict.into()), "{ran:?}");
        let ran = assay(&scratch, "compare day-1 day-2");
        assert!(ran.status == Some(status) && ran.stdout.starts_with(sentence), "{ran:?}");
    }
}

#[test]
fn every_form_can_be_written_to_a_file() {
    let scratch = Scratch::new();
    put(&scratch, &made_up(1, 100.0, 0.002));
    put(&scratch, &made_up(2, 50.0, 0.002));
    for (format, begins) in [("text", "2 of 2 results"), ("json", "{\n"), ("markdown", "**2 of 2 results")] {
        let shown = assay(&scratch, &format!("compare day-1 day-2 --format {format}"));
        assert!(shown.status == Some(1) && shown.stdout.starts_with(begins), "{shown:?}");
        let path = scratch.join(format);
        let ran = assay(&scratch, &format!("compare day-1 day-2 --format {format} -o {}", path.display()));
        assert!(ran.status == Some(1) && ran.stdout.is_empty(), "{ran:?}");
        let written = std::fs::read_to_string(&path).unwrap();
        assert!(written.starts_with(begins) && (format != "text" || written.is_ascii()), "{written}");
        if format != "text" {
            assert_eq!(written, shown.stdout);
        }
    }
    let nowhere = scratch.join("no/such/folder/x");
    let ran = assay(&scratch, &format!("compare day-1 day-2 -o {}", nowhere.display()));
    assert!(refusal(&ran).contains("no/such/folder/x"));
}

#[test]
fn earlier_runs_of_the_store_show_the_noise_of_the_machine() {
    let scratch = Scratch::new();
    for (day, centre) in [(1, 100.0), (2, 80.0), (3, 110.0), (4, 90.0), (5, 105.0), (20, 100.0), (21, 88.0)] {
        put(&scratch, &made_up(day, centre, 0.002));
    }
    let ran = succeed(&scratch, "compare day-20 day-21 --json");
    for row in list(&printed(&ran), "experiments") {
        assert_eq!(text(row, "noise_source"), "5 earlier runs of this machine");
        assert!(number(row, "noise") > 0.08 && number(row, "threshold") > 0.16, "{row:#}");
        assert_eq!(text(row, "verdict"), "same");
    }
}

#[test]
fn runs_are_named_by_folder_by_file_and_in_a_place_without_a_store() {
    let scratch = Scratch::new();
    put(&scratch, &made_up(1, 100.0, 0.002));
    put(&scratch, &made_up(2, 50.0, 0.002));
    let runs = scratch.join("store/runs");
    let (base, new) = (runs.join("day-1"), runs.join("day-2/run.json"));
    let mut command = command(&scratch, ["compare".as_ref(), base.as_os_str(), new.as_os_str()]);
    command.env_remove("ASSAY_STORE");
    assert_eq!(ran(command).status, Some(1));
}

#[test]
fn a_run_is_named_by_latest_previous_its_label_or_the_beginning_of_its_name() {
    let scratch = Scratch::new();
    let says = |arguments: &str, part: &str| {
        let ran = assay(&scratch, arguments);
        let sentence = refusal(&ran);
        assert!(sentence.contains(part) && sentence.lines().count() == 1, "{arguments}: {sentence}");
    };
    for run in ["", "latest", "previous"] {
        says(&format!("show {run}"), "has no run. Measure one: assay");
    }
    let (mut labelled, mut foreign) = (made_up(2, 100.0, 0.002), made_up(3, 100.0, 0.002));
    labelled["run"]["label"] = "before".into();
    // A run of another machine of the same name, in a copied store.
    foreign["machine"]["cpu"]["model_name"] = "Another processor".into();
    put(&scratch, &made_up(1, 100.0, 0.002));
    says("show previous", "has no earlier run of this machine with the latest suite. List all: assay runs");
    for document in [&labelled, &foreign, &made_up(4, 50.0, 0.002)] {
        put(&scratch, document);
    }
    std::fs::create_dir_all(scratch.join("store/runs/not-a-run")).unwrap();
    for (base, new) in [("previous", "latest"), ("before", "day-4"), ("day-2", "latest")] {
        let ran = assay(&scratch, &format!("compare {base} {new} --json"));
        let found = printed(&ran);
        let names = [text(&found["base"], "name"), text(&found["new"], "name")];
        assert_eq!((names, ran.status), (["day-2", "day-4"], Some(1)), "{base} {new}");
    }
    says("show day", "4 runs begin with 'day', from day-1 to day-4. Give more of the name");
    says("show nothing", "List all: assay runs");
    for (text, part) in [
        ("{", "is not a run: EOF"),
        ("{\"schema\": \"assay.run/9\"}", "Use the version that wrote it"),
        ("{\"schema\": \"assay.run/2\", \"run\": 5}", "is a damaged run: "),
    ] {
        std::fs::write(scratch.join("store/runs/day-2/run.json"), text).unwrap();
        says("show day-2", part);
        assert_eq!(succeed(&scratch, "show latest").stderr, "");
        assert!(succeed(&scratch, "runs").stdout.contains(part));
    }
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_sentence() {
    let scratch = Scratch::new();
    put(&scratch, &made_up(1, 100.0, 0.002));
    let mut other = made_up(4, 100.0, 0.002);
    for row in other["experiments"].as_array_mut().unwrap() {
        row["method"] = "cpu-fma/99".into();
    }
    put(&scratch, &other);
    std::fs::create_dir_all(scratch.join("store/runs/broken")).unwrap();
    std::fs::write(scratch.join("store/runs/broken/run.json"), "{\"schema\": \"assay.run/1\", ").unwrap();
    for (new, says) in [
        ("day-1", "a run cannot be compared with itself"),
        ("day-4", "cpu-fma/99"),
        ("broken", "is not a run"),
        ("nothing", "no run 'nothing'"),
    ] {
        let arguments = format!("compare day-1 {new}");
        let ran = assay(&scratch, &arguments);
        let sentence = refusal(&ran);
        assert!(sentence.contains(says) && sentence.lines().count() == 1, "{arguments}: {sentence}");
    }
    refused("compare day-1 day-4 --format papyrus", &["papyrus"]);
    assert_eq!(stored_runs(&scratch).len(), 3, "a comparison stores nothing");
}
