//! `assay report RUN --charts DIR`: whole files of every chart, or none.

use std::fs;

use crate::common::{Scratch, assay, names, only_run, refusal};

/// The folder of a short run in the store of a scratch folder.
fn run(scratch: &Scratch) -> String {
    let ran = assay(scratch, "cpu --op fma --type fp64 --isa scalar --threads 1 --repeat 3");
    assert_eq!(ran.status, Some(0), "{ran:?}");
    only_run(scratch).display().to_string()
}

#[test]
fn each_chart_is_an_svg_file_and_with_the_feature_a_png_file() {
    let scratch = Scratch::new();
    let run = run(&scratch);
    let folder = scratch.join("pictures/of the run");
    fs::create_dir_all(scratch.join("pictures")).unwrap();
    let folder_text = folder.display().to_string();
    let arguments = ["report", &run, "--charts", &folder_text];
    let output = crate::common::command(&scratch, arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let files = names(&folder);
    let of = |extension: &str| files.iter().filter(|name| name.ends_with(extension)).count();
    assert!(of(".svg") > 0 && of(".svg") + of(".png") == files.len(), "{files:?}");
    for name in &files {
        let bytes = fs::read(folder.join(name)).unwrap();
        let start: &[u8] = if name.strip_suffix(".svg").is_some() { b"<?xml" } else { b"\x89PNG\r\n\x1a\n" };
        assert!(bytes.starts_with(start), "{name}");
    }
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let without = if cfg!(feature = "png") { "no known sans serif font" } else { "PNG files need" };
    let has_png = cfg!(feature = "png") && of(".png") == of(".svg");
    assert!(has_png || of(".png") == 0 && told.contains(without), "{files:?} {told}");
}

#[test]
fn a_folder_that_holds_something_is_left_alone() {
    let scratch = Scratch::new();
    let run = run(&scratch);
    let folder = scratch.join("mine");
    fs::create_dir(&folder).unwrap();
    let into = format!("report {run} --charts {}", folder.display());
    let file = folder.join("thesis.txt");
    fs::write(&file, "years").unwrap();
    let refused = assay(&scratch, &into);
    assert!(refusal(&refused).contains("is not empty; name a new one"), "{refused:?}");
    assert_eq!(names(&folder), ["thesis.txt"]);
    let refused = assay(&scratch, &format!("report {run} --charts {}", file.display()));
    assert!(refusal(&refused).contains("is a file; name a folder"), "{refused:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "years");
    let refused = assay(&scratch, &format!("report {run} --charts /proc/assay-charts"));
    assert!(refusal(&refused).contains("cannot make the folder '/proc/assay-charts'"), "{refused:?}");
}

#[test]
fn charts_are_no_form_of_a_report() {
    let scratch = Scratch::new();
    let refused = assay(&scratch, "report any --charts x --format csv");
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(!scratch.join("x").exists());
}
