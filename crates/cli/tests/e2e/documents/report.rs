//! `assay report`: where each form goes, what the programs that it is for make of it, and targets that cannot be written.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::common::{
    Ran, Scratch, assay, command, document, is_root, list, names, only_run, refusal, rows, skip, text,
};
use crate::system::mounts::{Locked, Tmpfs};
use crate::system::process::has;

/// The forms that are text for people or programs, in the order of the help.
const FORMS: [&str; 9] = ["text", "markdown", "csv", "csv-samples", "json", "latex", "prometheus", "junit", "benchfmt"];

/// A short run: two rows of six samples.
static RUN: LazyLock<Value> = LazyLock::new(|| {
    let scratch = Scratch::new();
    let ran = assay(&scratch, "cpu --op fma --type fp64 --isa scalar --threads 1,2 --repeat 6");
    assert_eq!(ran.status, Some(0), "{ran:?}");
    document(&only_run(&scratch))
});

/// A scratch folder with this document as `a-run` in its store.
fn with_run(document: &Value) -> Scratch {
    let scratch = Scratch::new();
    let folder = scratch.join("store/runs/a-run");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("run.json"), document.to_string()).unwrap();
    scratch
}

fn succeed(scratch: &Scratch, arguments: &str) -> Ran {
    let ran = assay(scratch, arguments);
    assert_eq!(ran.status, Some(0), "'{arguments}': {ran:?}");
    ran
}

/// The run with text that wants to be more than text wherever a document has text from elsewhere.
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
        row["warnings"] = json!([{"code": next(), "text": next(), "advice": next(), "grade": "B"}]);
        row["metrics"][0]["peaks"] = json!([{"kind": "sustained", "value": 1e10, "formula": next(), "inputs": [{"name": next(), "value": 1.0, "source": next()}]}]);
    }
    document
}

/// The run with a row that failed and one that was skipped.
fn troubled() -> Value {
    let mut document = RUN.clone();
    for (index, status) in [(0, "failed"), (1, "skipped")] {
        let row = &mut document["experiments"][index];
        (row["status"], row["reason"]) = (json!(status), json!("time_budget"));
        (row["metrics"], row["grade"], row["verified"]) = (json!([]), Value::Null, Value::Null);
    }
    document
}

/// Whether a text is a whole page.
fn is_page(text: &str) -> bool {
    text.to_ascii_lowercase().starts_with("<!doctype html>") && text.trim_end().ends_with("</html>")
}

#[test]
fn the_page_goes_beside_the_document_and_everything_else_to_standard_output() {
    let scratch = with_run(&RUN);
    let folder = scratch.join("store/runs/a-run");
    let (page, file) = (folder.join("report.html"), folder.join("run.json"));
    for run in ["a-run", folder.to_str().unwrap(), file.to_str().unwrap()] {
        let ran = succeed(&scratch, &format!("report {run}"));
        assert_eq!(ran.stdout, format!("{}\n", page.display()), "where it is is told");
        let html = std::fs::read_to_string(&page).unwrap();
        assert!(is_page(&html), "{run}");
        std::fs::remove_file(&page).unwrap();
    }
    let shown = succeed(&scratch, "report a-run -o -").stdout;
    assert!(is_page(&shown), "a dash is standard output");
    for form in FORMS {
        let shown = succeed(&scratch, &format!("report a-run --format {form}")).stdout;
        assert!(shown.ends_with('\n') && shown.len() > 100, "{form}: {shown}");
        let written = scratch.join("written");
        let told = succeed(&scratch, &format!("report a-run --format {form} -o {}", written.display())).stdout;
        assert!(told.is_empty(), "{form}: {told}");
        // Text is set for the stream that it goes to.
        let same = std::fs::read_to_string(&written).unwrap() == shown;
        assert!(same || form == "text", "{form}: {shown}");
    }
    assert_eq!(names(&folder), ["run.json"], "nothing is left beside the document");
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
    assert!(refusal(&ran).contains("it has cpu-measured, "), "the names are told: {ran:?}");
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
    for form in ["html", "markdown", "csv"] {
        for target in [folder.as_path(), &absent, &inside, Path::new("/dev/full")] {
            let ran = assay(&scratch, &format!("report a-run --format {form} -o {}", target.display()));
            assert!(refusal(&ran).contains(target.to_str().unwrap()), "{form}: {ran:?}");
        }
    }
    assert!(names(&folder).is_empty() && std::fs::read_to_string(&file).unwrap() == "precious");
    assert_eq!(names(scratch.path()), ["file", "folder", "store"], "nothing unfinished is left");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = command(&scratch, ["report", "a-run", "--format", "junit"]);
    let ran: Ran = command.stdout(Stdio::from(full)).output().unwrap().into();
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
        assert!(refusal(&ran).contains("name a file elsewhere with -o"), "{ran:?}");
    }
    let Some(full) = Tmpfs::mount(scratch.join("full"), "size=256k") else {
        return skip("a page on a full file system", "tmpfs cannot be mounted");
    };
    std::fs::copy(folder.join("run.json"), full.path().join("run.json")).unwrap();
    full.fill();
    let before = names(full.path());
    let ran = assay(&scratch, &format!("report {}", full.path().display()));
    assert!(refusal(&ran).contains("free some space"), "{ran:?}");
    assert_eq!(names(full.path()), before, "nothing half-written is left");
}

#[test]
fn a_truncated_document_is_named_and_makes_no_report() {
    let scratch = with_run(&RUN);
    let folder = scratch.join("store/runs/a-run");
    let whole = std::fs::read(folder.join("run.json")).unwrap();
    for length in [0, 1, whole.len() / 3, whole.len() - 2] {
        std::fs::write(folder.join("run.json"), &whole[..length]).unwrap();
        for form in ["html", "markdown"] {
            let ran = assay(&scratch, &format!("report a-run --format {form}"));
            assert!(refusal(&ran).contains("run.json' is no run"), "{length}: {ran:?}");
        }
        assert_eq!(names(&folder), ["run.json"]);
    }
}

#[test]
fn runs_with_trouble_and_of_other_versions_have_every_form() {
    let mut older = RUN.clone();
    older.as_object_mut().unwrap().insert("added_later".into(), json!({"x": 1}));
    for row in older["experiments"].as_array_mut().unwrap() {
        row["conditions"] = json!({});
        let row = row.as_object_mut().unwrap();
        row.remove("kernel");
        row.remove("scaling");
    }
    let mut nothing = RUN.clone();
    (nothing["experiments"], nothing["findings"], nothing["run"]["grade"]) = (json!([]), json!([]), Value::Null);
    for (what, document) in [("older", older), ("nothing", nothing), ("troubled", troubled()), ("hostile", hostile())] {
        let scratch = with_run(&document);
        for form in FORMS.iter().chain(&["html"]) {
            let shown = succeed(&scratch, &format!("report a-run --format {form} -o -")).stdout;
            assert!(!shown.is_empty(), "{what}: {form}");
            let stray = shown.chars().any(|c| c.is_control() && c != '\n');
            assert!(!stray || ["json", "csv", "csv-samples"].contains(form), "{what}: {form}");
        }
    }
}

/// What a program makes of a form of these documents; nothing where the program is missing.
fn read_by(program: &str, arguments: &[&str], form: &str, extension: &str) -> Option<Vec<Ran>> {
    if !has(program) {
        skip(&format!("{form} read by {program}"), &format!("{program} is missing"));
        return None;
    }
    let read = |document: &Value| -> Ran {
        let scratch = with_run(document);
        let file = scratch.join(&format!("report.{extension}"));
        succeed(&scratch, &format!("report a-run --format {form} -o {}", file.display()));
        Command::new(program).args(arguments).arg(&file).current_dir(scratch.path()).output().unwrap().into()
    };
    Some([&*RUN, &hostile(), &troubled()].map(read).into())
}

#[test]
fn benchstat_reads_every_sample() {
    let Some(read) = read_by("benchstat", &["-format", "csv"], "benchfmt", "bench") else { return };
    for ran in &read {
        assert!(ran.status == Some(0) && ran.stderr.is_empty(), "{ran:?}");
    }
    let row = &rows(&RUN)[0];
    let name = text(row, "id").split_once('/').unwrap().1;
    let line = read[0].stdout.lines().find(|line| line.starts_with(&format!("Cpu/{name}-"))).unwrap();
    let median = list(row, "metrics")[0]["summary"]["median"].as_f64().unwrap();
    let told: f64 = line.split(',').nth(1).unwrap().parse().unwrap();
    assert!((told / median - 1.0).abs() < 1e-6, "{told} is not {median}");
}

#[test]
fn other_programs_read_what_is_for_them() {
    const XML: &str = "import sys, xml.etree.ElementTree as e; t = e.parse(sys.argv[1]).getroot(); \
        sys.exit(0 if len(t.findall('.//testcase')) == int(t.get('tests')) == 2 else 1)";
    const CSV: &str = "import sys, csv; r = list(csv.reader(open(sys.argv[1], newline=''))); \
        sys.exit(0 if len({len(l) for l in r}) == 1 and len(r) > 2 else 1)";
    let latex = ["-interaction=nonstopmode", "-halt-on-error"];
    for (program, arguments, form, extension) in [
        ("python3", &["-c", XML][..], "junit", "xml"),
        ("python3", &["-c", CSV][..], "csv", "csv"),
        ("pdflatex", &latex[..], "latex", "tex"),
    ] {
        for ran in read_by(program, arguments, form, extension).into_iter().flatten() {
            assert_eq!(ran.status, Some(0), "{form}: {ran:?}");
        }
    }
}

#[test]
fn promtool_finds_nothing_wrong() {
    if !has("promtool") {
        return skip("prometheus read by promtool", "promtool is missing");
    }
    for document in [&*RUN, &hostile(), &troubled()] {
        let scratch = with_run(document);
        let file = scratch.join("report.prom");
        succeed(&scratch, &format!("report a-run --format prometheus -o {}", file.display()));
        let input = std::fs::File::open(&file).unwrap();
        let checked = Command::new("promtool").args(["check", "metrics"]).stdin(input).output().unwrap();
        let ran: Ran = checked.into();
        assert!(ran.status == Some(0) && ran.stderr.is_empty(), "{ran:?}");
    }
}
