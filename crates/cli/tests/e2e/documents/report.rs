//! `assay report`: where each format goes, targets that cannot be written, and other programs that read the formats.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{RUN, with_run};
use crate::common::{Ran, assay, command, is_root, names, ran, refusal, rows, skip, succeed};
use crate::system::mounts::{Locked, Tmpfs};
use crate::system::process::has;

/// The formats that are text, in the order of the help.
const FORMS: [&str; 9] = ["text", "markdown", "csv", "csv-samples", "json", "latex", "prometheus", "junit", "benchfmt"];

/// The run with text that some format could interpret, wherever a document has foreign text.
fn hostile() -> Value {
    let mut document = RUN.clone();
    let texts = [
        "<script>alert(\"1\")</script>",
        "=cmd|' /C calc'!A0",
        "a,b;\"c\"\nd | e\\f {g} % $ & # _ ^ ~ `h`",
        "Größe 数据 \u{202e}gpj\u{0}\u{1b}[31m",
        "{x=\"\\\"} 1\nBenchmarkX 1 1 s",
    ];
    let mut texts = texts.map(str::to_owned).into_iter().chain(["ü\"<_%\\".repeat(84)]).cycle();
    let mut next = || json!(texts.next().unwrap());
    document["run"]["id"] = next();
    document["machine"]["host"] = next();
    document["machine"]["cpu"]["model_name"] = next();
    document["findings"] = json!([{"code": next(), "area": "cpu", "text": next(), "evidence": [next()]}]);
    for (index, row) in document["experiments"].as_array_mut().unwrap().iter_mut().enumerate() {
        row["id"] = json!(format!("{}{index}", next().as_str().unwrap()));
        row["warnings"] = json!([{"code": next(), "text": next(), "advice": next(), "confidence": "fair"}]);
        row["metrics"][0]["peaks"] = json!([{"kind": "sustained", "value": 1e10, "formula": next(), "inputs": [{"name": next(), "value": 1.0, "source": next()}]}]);
    }
    document
}

fn is_page(text: &str) -> bool {
    text.to_ascii_lowercase().starts_with("<!doctype html>") && text.trim_end().ends_with("</html>")
}

#[test]
fn html_goes_next_to_the_document_and_other_formats_to_standard_output() {
    let scratch = with_run(&RUN);
    let folder = scratch.join("store/runs/a-run");
    let (page, file) = (folder.join("report.html"), folder.join("run.json"));
    for run in ["a-run", folder.to_str().unwrap(), file.to_str().unwrap()] {
        let ran = succeed(&scratch, &format!("report {run}"));
        assert_eq!(ran.stdout, format!("{}\n", page.display()), "its path is printed");
        let html = std::fs::read_to_string(&page).unwrap();
        assert!(is_page(&html), "{run}");
        std::fs::remove_file(&page).unwrap();
    }
    let shown = succeed(&scratch, "report a-run -o -").stdout;
    assert!(is_page(&shown), "a dash is standard output");
    for form in ["text", "csv", "junit"] {
        let shown = succeed(&scratch, &format!("report a-run --format {form}")).stdout;
        assert!(shown.ends_with('\n') && shown.len() > 100, "{form}: {shown}");
        let written = scratch.join("written");
        let printed = succeed(&scratch, &format!("report a-run --format {form} -o {}", written.display())).stdout;
        assert!(printed.is_empty(), "{form}: {printed}");
        // Text is styled for its stream.
        let same = std::fs::read_to_string(&written).unwrap() == shown;
        assert!(same || form == "text", "{form}: {shown}");
    }
    assert_eq!(names(&folder), ["run.json"], "nothing else is left in the folder");
    let help = succeed(&scratch, "report --help").stdout;
    assert!(FORMS.iter().chain(&["html"]).all(|form| help.contains(&format!("- {form}:"))), "{help}");
}

#[test]
fn a_document_alone_has_no_folder_for_a_page() {
    let scratch = with_run(&RUN);
    let (alone, page) = (scratch.join("other.json"), scratch.join("page.html"));
    std::fs::copy(scratch.join("store/runs/a-run/run.json"), &alone).unwrap();
    let ran = assay(&scratch, &format!("report {}", alone.display()));
    assert!(refusal(&ran).contains("-o FILE"), "{ran:?}");
    succeed(&scratch, &format!("report {} -o {}", alone.display(), page.display()));
    assert!(page.exists());
}

#[test]
fn a_single_table_is_had_by_its_name() {
    let scratch = with_run(&RUN);
    let csv = succeed(&scratch, "report a-run --table cpu-measured").stdout;
    assert!(csv.starts_with("What,How,") && csv.lines().count() == 1 + rows(&RUN).len(), "{csv}");
    assert_eq!(succeed(&scratch, "report a-run --table cpu-measured --format csv").stdout, csv);
    let markdown = succeed(&scratch, "report a-run --table cpu-peaks --format markdown").stdout;
    assert!(markdown.starts_with("### CPU"), "{markdown}");
    assert!(succeed(&scratch, "report a-run --table cpu-peaks --format latex").stdout.contains("\\toprule"));
    let ran = assay(&scratch, "report a-run --table classic-cpu");
    assert!(refusal(&ran).contains("it has cpu-measured, "), "it lists the names: {ran:?}");
    let ran = assay(&scratch, "report a-run --table cpu-measured --format junit");
    assert!(refusal(&ran).contains("csv, markdown, latex"), "{ran:?}");
}

#[test]
fn what_cannot_be_written_is_said_and_nothing_is_left_half_written() {
    let scratch = with_run(&RUN);
    let (folder, file) = (scratch.join("folder"), scratch.join("file"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(&file, "precious").unwrap();
    let inside = file.join("x");
    let absent = scratch.join("no/such/folder/x");
    for form in ["html", "csv"] {
        for target in [folder.as_path(), &absent, &inside, Path::new("/dev/full")] {
            let ran = assay(&scratch, &format!("report a-run --format {form} -o {}", target.display()));
            assert!(refusal(&ran).contains(target.to_str().unwrap()), "{form}: {ran:?}");
        }
    }
    assert!(names(&folder).is_empty() && std::fs::read_to_string(&file).unwrap() == "precious");
    assert_eq!(names(scratch.path()), ["file", "folder", "store"], "nothing unfinished is left");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = command(&scratch, ["report", "a-run", "--format", "junit"]);
    command.stdout(Stdio::from(full));
    let ran = ran(command);
    assert!(ran.status == Some(2) && ran.stderr.contains("standard output"), "{ran:?}");
}

#[test]
fn a_run_s_folder_that_cannot_be_written_to_names_the_way_out() {
    let scratch = with_run(&RUN);
    let folder = scratch.join("store/runs/a-run");
    if is_root() {
        skip("a page in a folder that is locked", "root may write everywhere");
    } else {
        let _locked = Locked::new(&folder);
        let ran = assay(&scratch, "report a-run");
        assert!(refusal(&ran).contains("Choose another file with -o"), "{ran:?}");
    }
    let Some(full) = Tmpfs::mount("a page on a full file system", scratch.join("full"), "size=256k") else { return };
    std::fs::copy(folder.join("run.json"), full.path().join("run.json")).unwrap();
    full.fill();
    let before = names(full.path());
    let ran = assay(&scratch, &format!("report {}", full.path().display()));
    assert!(refusal(&ran).contains("Free some space"), "{ran:?}");
    assert_eq!(names(full.path()), before, "nothing half-written is left");
}

/// Runs a program on a format of a document; `None` if the program is missing.
fn read_by(program: &str, arguments: &[&str], form: &str, extension: &str, document: &Value) -> Option<Ran> {
    if !has(program) {
        skip(&format!("{form} read by {program}"), &format!("{program} is missing"));
        return None;
    }
    let scratch = with_run(document);
    let file = scratch.join(&format!("report.{extension}"));
    succeed(&scratch, &format!("report a-run --format {form} -o {}", file.display()));
    let mut read = Command::new(program);
    read.args(arguments).arg(&file).current_dir(scratch.path());
    Some(ran(read))
}

#[test]
fn other_programs_read_what_is_for_them() {
    const XML: &str = "import sys, xml.etree.ElementTree as e; t = e.parse(sys.argv[1]).getroot(); \
        sys.exit(0 if len(t.findall('.//testcase')) == int(t.get('tests')) > 0 else 1)";
    const CSV: &str = "import sys, csv; r = list(csv.reader(open(sys.argv[1], newline=''))); \
        sys.exit(0 if len({len(l) for l in r}) == 1 and len(r) > 2 else 1)";
    let latex = ["-interaction=nonstopmode", "-halt-on-error"];
    let promtool = ["-c", "! command -v promtool || promtool check metrics < \"$0\""];
    for (program, arguments, form, extension) in [
        ("python3", &["-c", XML][..], "junit", "xml"),
        ("python3", &["-c", CSV][..], "csv", "csv"),
        ("pdflatex", &latex[..], "latex", "tex"),
        ("benchstat", &["-format", "csv"][..], "benchfmt", "bench"),
        ("sh", &promtool[..], "prometheus", "prom"),
    ] {
        for document in [&*RUN, &hostile()] {
            let Some(ran) = read_by(program, arguments, form, extension, document) else { continue };
            assert_eq!(ran.status, Some(0), "{form}: {ran:?}");
        }
    }
}
