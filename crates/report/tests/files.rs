//! The forms that programs read, and the text of `assay info`.

mod fixture;

use fixture::snapshot;
use model::document::Document;
use model::machine::{Storage, StorageDevice};
use report::info::{info, info_json, storage};
use report::{RENDERERS, Style, csv, json, terminal};

const RICH: Style = Style { width: 120, unicode: true, color: false };

#[test]
fn csv_has_a_line_per_metric_and_one_for_a_row_without() {
    snapshot("csv_troubled", &csv::render(&fixture::troubled()));
    snapshot("csv_references", &csv::render(&fixture::references()));
    let mut arithmetic = fixture::many_counts();
    arithmetic.experiments.truncate(8);
    snapshot("csv_cpu", &csv::render(&arithmetic));
    let mut memory = fixture::memory_area();
    memory
        .experiments
        .retain(|row| row.id.contains("chase") && !row.id.contains("KiB/2MiB") && !row.id.contains("MiB/2MiB"));
    snapshot("csv_memory", &csv::render(&memory));
    let mut disk = fixture::disk_area();
    disk.experiments.retain(|row| ["load50", "mixed", "warm"].iter().any(|part| row.id.contains(part)));
    snapshot("csv_disk", &csv::render(&disk));
    let mut network = fixture::net_area();
    network.experiments.retain(|row| ["no_drop", "load", "both/t2"].iter().any(|part| row.id.contains(part)));
    snapshot("csv_net", &csv::render(&network));
    snapshot("csv_later_version", &csv::render(&fixture::later_version()));
    let document = fixture::good();
    let lines = csv::render(&document).lines().count();
    assert_eq!(lines, 1 + document.experiments.iter().map(|row| row.metrics.len().max(1)).sum::<usize>());
}

#[test]
fn csv_has_the_same_columns_whatever_the_document() {
    let heading = |document: &Document| csv::render(document).lines().next().unwrap().to_owned();
    assert_eq!(heading(&fixture::empty()), heading(&fixture::later_version()));
}

#[test]
fn json_loads_again_as_it_was() {
    let written = [fixture::good(), fixture::troubled(), fixture::later_version(), fixture::empty()];
    for document in written.into_iter().chain([fixture::references(), fixture::disk_varied()]) {
        let text = json::render(&document).unwrap();
        assert!(text.ends_with("}\n"));
        let loaded: Document = serde_json::from_str(&text).unwrap();
        // Values may differ in their last bit, depending on how serde_json was built; nothing else may.
        assert_eq!(terminal::render(&loaded, &RICH), terminal::render(&document, &RICH));
        assert_eq!(loaded.experiments.len(), document.experiments.len());
    }
    snapshot("json_empty", &json::render(&fixture::empty()).unwrap());
}

#[test]
fn json_refuses_values_that_are_not_finite() {
    let mut document = fixture::good();
    document.experiments[0].metrics[0].summary.median = f64::NAN;
    let error = json::render(&document).unwrap_err();
    assert!(error.starts_with("the document cannot be written as JSON"), "{error}");
}

#[test]
fn every_renderer_copes_with_every_document() {
    for renderer in RENDERERS {
        let documents = [fixture::good(), fixture::troubled(), fixture::interrupted(), fixture::empty()];
        for document in documents.into_iter().chain([fixture::references(), fixture::io_unavailable()]) {
            let text = (renderer.render)(&document).unwrap();
            assert!(text.ends_with('\n'), "{}", renderer.name);
            assert_eq!(text, (renderer.render)(&document).unwrap(), "{}", renderer.name);
        }
    }
}

#[test]
fn a_machine_for_people() {
    snapshot("info_vm_120_unicode", &info(&fixture::vm(), &fixture::peaks(), &RICH));
    snapshot("info_vm_80_ascii", &info(&fixture::vm(), &fixture::peaks(), &Style::PLAIN));
    let colored = info(&fixture::vm(), &[], &Style { color: true, ..RICH });
    snapshot("info_vm_120_color", &colored.replace('\x1b', "␛"));
    let narrow = info(&fixture::hybrid_laptop(), &[], &Style { width: 20, ..Style::PLAIN });
    let longest = |line: &str| line.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
    assert!(narrow.lines().all(|line| line.chars().count() <= 20.max(longest(line) + 4)), "{narrow}");
    snapshot("info_laptop_100_unicode", &info(&fixture::hybrid_laptop(), &[], &Style { width: 100, ..RICH }));
    let (machine, peaks) = (fixture::emerald_rapids(), fixture::emerald_rapids_peaks());
    snapshot("info_emerald_rapids_120_unicode", &info(&machine, &peaks, &RICH));
    snapshot("info_emerald_rapids_80_ascii", &info(&machine, &peaks, &Style::PLAIN));
    snapshot("info_nothing_known", &info(&model::machine::Machine::default(), &[], &Style::PLAIN));
}

#[test]
fn a_directory_is_shown_down_to_the_hardware() {
    let device = |name: &str, depth, kind: &str, disk: &str| StorageDevice {
        name: name.into(),
        depth,
        kind: kind.into(),
        disk: Some(disk.into()),
        ..StorageDevice::default()
    };
    let found = Storage {
        directory: "/data".into(),
        mount_point: Some("/data".into()),
        filesystem: Some("xfs".into()),
        source: Some("/dev/mapper/vg-data".into()),
        options: Vec::new(),
        chain: vec![device("dm-0", 0, "mapper", "dm-0"), device("nvme0n1p2", 1, "partition", "nvme0n1")],
        ..Storage::default()
    };
    let text = storage(&found, "/proc/self/mountinfo", &RICH);
    assert!(text.contains("dm-0 (mapper), on nvme0n1p2 of nvme0n1 (partition)"), "{text}");
    let bare = storage(&Storage { chain: Vec::new(), ..found }, "", &Style::PLAIN);
    assert!(bare.contains("unknown to the kernel"), "{bare}");
}

#[test]
fn a_machine_for_programs() {
    let value = info_json(&fixture::vm(), &fixture::peaks());
    assert_eq!(value["schema"], "assay.info/1");
    assert_eq!(value["machine"]["cpu"]["cores"], 2);
    assert_eq!(value["peaks"][0]["what"], "cpu/fma/fp64/avx512");
}
