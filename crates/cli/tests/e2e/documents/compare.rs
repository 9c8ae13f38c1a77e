//! `assay compare` on a real document with other samples, so that the verdict is known.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::common::{
    Ran, Scratch, assay, codes, command, document, list, number, only_run, printed, refusal, rows, skip, stored_runs,
    succeed, text,
};
use crate::system::cgroup::Cgroup;

/// One kernel on one thread, in two instruction sets.
const ROWS: &str = "cpu --op fma --type fp64 --isa vector,scalar --threads 1 --repeat 6";

/// A short run.
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

/// Puts a document into the store of `scratch` under its own name.
fn put(scratch: &Scratch, document: &Value) {
    let folder = scratch.join("store/runs").join(text(&document["run"], "id"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("run.json"), document.to_string()).unwrap();
}

/// Compares two documents of a store of their own.
fn compared(base: &Value, new: &Value, options: &str) -> Ran {
    let scratch = Scratch::new();
    put(&scratch, base);
    put(&scratch, new);
    let names = [base, new].map(|document| text(&document["run"], "id"));
    assay(&scratch, &format!("compare {} {} {options}", names[0], names[1]))
}

#[test]
fn the_exit_status_says_worse_unknown_or_neither() {
    let base = made_up(1, 100.0, 0.002);
    for (new, status, verdict, sentence) in [
        (made_up(2, 100.0, 0.002), 0, "same", "None of 2 results changed; 2 are unchanged within 10 %."),
        (made_up(2, 50.0, 0.002), 1, "changed", "2 of 2 results changed, both for the worse."),
        (made_up(2, 200.0, 0.002), 0, "changed", "2 of 2 results changed, both for the better."),
        (made_up(2, 100.0, 0.9), 3, "inconclusive", "None of 2 results changed; 2 are inconclusive."),
    ] {
        // On a virtual machine the threshold is another.
        let virtual_machine = |document: &Value| {
            let mut document = document.clone();
            document["machine"]["virtualization"] = json!({"hypervisor": "KVM", "signature": "KVMKVMKVM"});
            document
        };
        let (base, new) = (virtual_machine(&base), virtual_machine(&new));
        let ran = compared(&base, &new, "--json");
        assert_eq!(ran.status, Some(status), "{verdict}: {ran:?}");
        assert_eq!(printed(&ran)["verdict"], verdict);
        let ran = compared(&base, &new, "");
        assert_eq!(ran.status, Some(status), "{verdict}: {ran:?}");
        assert!(ran.stdout.starts_with(sentence), "{}", ran.stdout);
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
    let ran: Ran = command.env_remove("ASSAY_STORE").output().unwrap().into();
    assert_eq!(ran.status, Some(1), "{ran:?}");
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_sentence() {
    let scratch = Scratch::new();
    put(&scratch, &made_up(1, 100.0, 0.002));
    let spoiled = |day: u32, spoil: &dyn Fn(&mut Value)| {
        let mut document = made_up(day, 100.0, 0.002);
        spoil(&mut document);
        put(&scratch, &document);
    };
    let each = |document: &mut Value, change: &dyn Fn(&mut Value)| {
        document["experiments"].as_array_mut().unwrap().iter_mut().for_each(change);
    };
    spoiled(2, &|document| document["schema"] = "assay.run/9".into());
    spoiled(3, &|document| document["experiments"] = json!([]));
    spoiled(4, &|document| each(document, &|row| row["method"] = "cpu-fma/99".into()));
    spoiled(5, &|document| each(document, &|row| row["metrics"][0]["unit"] = "op/s".into()));
    spoiled(6, &|document| each(document, &|row| row["id"] = format!("{}0", text(row, "id")).into()));
    spoiled(7, &|document| {
        each(document, &|row| (row["status"], row["reason"]) = ("skipped".into(), "time_budget".into()));
    });
    std::fs::create_dir_all(scratch.join("store/runs/broken")).unwrap();
    std::fs::write(scratch.join("store/runs/broken/run.json"), "{\"schema\": \"assay.run/1\", ").unwrap();
    for (new, says) in [
        ("day-1", "a run cannot be compared with itself"),
        ("day-2", "assay.run/9"),
        ("day-3", "no measured result"),
        ("day-4", "cpu-fma/99"),
        ("day-5", "op/s"),
        ("day-6", "is in BASE only"),
        ("day-7", "no measured result"),
        ("broken", "is not a run"),
        ("nothing", "no run 'nothing'"),
    ] {
        let arguments = format!("compare day-1 {new}");
        let ran = assay(&scratch, &arguments);
        let sentence = refusal(&ran);
        assert!(sentence.contains(says) && sentence.lines().count() == 1, "{arguments}: {sentence}");
    }
    let ran = assay(&scratch, "compare day-1 day-4 --format papyrus");
    assert!(refusal(&ran).contains("papyrus"));
    assert_eq!(stored_runs(&scratch).len(), 8, "a comparison stores nothing");
}

#[test]
fn one_sample_each_and_an_unknown_order_of_time_are_reported() {
    let single = |day: u32| {
        let mut document = made_up(day, 100.0, 0.002);
        for row in document["experiments"].as_array_mut().unwrap() {
            for metric in row["metrics"].as_array_mut().unwrap() {
                metric["samples"].as_array_mut().unwrap().truncate(1);
            }
        }
        document
    };
    let ran = compared(&single(2), &single(1), "");
    assert_eq!(ran.status, Some(3), "{ran:?}");
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("1 sample of each side is too few"), "{words}");
    assert!(words.contains("NEW (2025-11-01T12:00:00Z) began before BASE (2025-11-02T12:00:00Z)"), "{words}");
}

/// Whether interference gave a row low confidence, by the document's own warnings.
fn disturbed(document: &Value) -> bool {
    let others =
        ["cpu_shared", "steal", "vcpu_shared", "time_lost", "other_load", "clock_moved", "clock_chains_disagree"];
    let grave = |row: &Value| {
        list(row, "warnings")
            .iter()
            .any(|warning| warning["confidence"] == "low" && others.contains(&text(warning, "code")))
    };
    rows(document).iter().any(grave) || rows(document).iter().any(|row| codes(row).contains(&"involuntary_switches"))
}

#[test]
fn a_run_under_a_quota_is_worse_and_the_quota_is_named() {
    let Some(group) = Cgroup::make("cpu") else {
        return skip(
            "a comparison with a run under a quota",
            "making a control group with a CPU controller is not allowed",
        );
    };
    // Under interference the answer may rightly be inconclusive.
    for _ in 0..3 {
        let scratch = Scratch::new();
        let measured = |name: &str| {
            let out = scratch.join(name);
            let ran: Ran = group.assay(&scratch, &format!("{ROWS} --out {}", out.display())).output().unwrap().into();
            assert_eq!(ran.status, Some(0), "{ran:?}");
            (document(&out), out)
        };
        group.put_first();
        let (base, base_folder) = measured("free");
        group.allow_half_a_cpu();
        let (new, new_folder) = measured("throttled");
        group.lift_quota();
        let arguments = format!("compare {} {} --json", base_folder.display(), new_folder.display());
        let ran = assay(&scratch, &arguments);
        let comparison = printed(&ran);
        assert!(
            list(&comparison, "warnings").iter().any(|warning| warning.as_str().unwrap().contains("quota")),
            "{ran:?}"
        );
        if ran.status == Some(3) && (disturbed(&base) || disturbed(&new)) {
            continue;
        }
        assert_eq!(ran.status, Some(1), "{ran:?}");
        let worse: Vec<&Value> =
            list(&comparison, "experiments").iter().filter(|row| row["direction"] == "worse").collect();
        assert!(!worse.is_empty());
        for row in worse {
            assert!(number(row, "ratio") < 0.85, "{row:#}");
            assert!(text(row, "explanation").starts_with("A CPU quota throttled the threads of NEW for "), "{row:#}");
        }
        return;
    }
    skip("a comparison with a run under a quota", "interference in each of three trials was too large for a verdict");
}
