//! `assay info` of this machine, of its capture, and of a directory.

use std::path::Path;

use serde_json::Value;

use crate::common::{Ran, Scratch, assay, list, names, printed, refusal, refused, skip, succeed, text};
use crate::disk::support::is_memory;
use crate::system::mounts::LoopDisk;

fn info(arguments: &str) -> Ran {
    succeed(&Scratch::new(), &format!("info {arguments}"))
}

fn recorded(folder: &Path) -> Value {
    let info = printed(&info(&format!("--json --sysroot {}", folder.display())));
    assert_eq!(info["schema"], "assay.info/1");
    info
}

fn kinds(info: &Value) -> Vec<&str> {
    list(info, "peaks").iter().map(|peak| text(peak, "kind")).collect()
}

#[test]
fn info_shows_a_directory_without_writing_a_file() {
    let scratch = Scratch::new();
    let directory = scratch.join("place");
    std::fs::create_dir(&directory).unwrap();
    let changed = || std::fs::metadata(&directory).unwrap().modified().unwrap();
    let before = changed();
    let asked = printed(&info(&format!("--json --dir {}", directory.display())));
    let probe = &asked["probe"];
    let bytes = |name: &str| probe[name].as_u64().unwrap_or_else(|| panic!("no '{name}' in {probe:#}"));
    assert!(bytes("available_bytes") <= bytes("total_bytes"), "{probe:#}");
    let engines: Vec<&str> = list(probe, "engines").iter().map(|engine| text(engine, "engine")).collect();
    assert_eq!(engines, ["io_uring", "libaio", "sync"]);
    assert_eq!(
        (probe["obstacle"].is_string(), probe["no_direct"].is_string()),
        (is_memory(&directory), false),
        "{probe:#}"
    );
    assert!(probe["watched_seconds"].as_f64().is_none_or(|seconds| seconds >= 1.0), "{probe:#}");
    assert_eq!((names(&directory), changed()), (Vec::new(), before), "not even for a moment");
    let storage = &asked["storage"];
    let resolved = directory.canonicalize().unwrap();
    assert_eq!(storage["directory"].as_str(), resolved.to_str());
    assert!(resolved.starts_with(text(storage, "mount_point")) && !text(storage, "filesystem").is_empty(), "{storage}");
    let known: Vec<&str> = list(&asked["machine"], "disks").iter().map(|disk| text(disk, "name")).collect();
    for device in list(storage, "chain").iter().filter_map(|device| device["disk"].as_str()) {
        assert!(known.contains(&device), "{device} is none of {known:?}");
    }
    refused("info --dir /no/such/folder", &["/no/such/folder"]);
    if probe["offset_align_bytes"].is_null() {
        return skip(
            "a file system without direct I/O",
            "the kernel (before 6.1), an emulator or a file system does not report it",
        );
    }
    let Some(disk) = LoopDisk::make("a file system without direct I/O", &scratch, "ext4", 100, "data=journal") else {
        return;
    };
    let shown = info(&format!("--dir {}", disk.path().display()));
    for part in ["Storage behind this", "Measuring in this", "none: the file system does not support it"] {
        assert!(shown.stdout.contains(part), "no '{part}' in {shown:?}");
    }
}

#[test]
fn this_machine_has_measured_peaks_with_every_input_sourced() {
    let info = printed(&info("--json"));
    assert_eq!((&info["schema"], &info["probe"]), (&"assay.info/1".into(), &Value::Null));
    let measured = |kind: &&str| ["sustained", "inferred"].contains(kind);
    assert!(kinds(&info).iter().any(measured), "{:?}", kinds(&info));
    for peak in list(&info, "peaks") {
        assert!(peak["value"].as_f64().unwrap() > 0.0, "{peak:#}");
        assert!(!text(peak, "formula").is_empty() && !list(peak, "inputs").is_empty(), "{peak:#}");
        assert!(list(peak, "inputs").iter().all(|input| !text(input, "source").is_empty()), "{peak:#}");
    }
    let ids = assay(&Scratch::new(), "cpu --list").stdout;
    for peak in list(&info, "peaks").iter().filter(|peak| measured(&text(peak, "kind"))) {
        let id = format!("{}/t{}\t", text(peak, "what"), peak["threads"]);
        assert!(ids.contains(&id), "'{id}' is no experiment: {ids}");
    }
}

/// The machine without values that change all the time.
fn lasting(info: &Value) -> Value {
    let mut machine = info["machine"].clone();
    let memory = machine["memory"].as_object_mut().unwrap();
    memory.remove("available_bytes");
    memory.remove("limit_used_bytes");
    machine
}

#[test]
fn a_capture_is_the_same_machine() {
    let scratch = Scratch::new();
    let capture = scratch.join("capture");
    let captured = info(&format!("--json --capture {}", capture.display()));
    let replayed = recorded(&capture);
    assert!(lasting(&printed(&captured)) == lasting(&replayed), "the capture is another machine");
    assert!(!kinds(&replayed).contains(&"sustained"));
    let again = assay(&scratch, &format!("info --capture {}", capture.display()));
    assert!(refusal(&again).contains("capture"), "a capture is not overwritten: {again:?}");
}
