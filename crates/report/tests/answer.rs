//! The first screen: it answers, fits, and leaves nothing out without a reason.

mod fixture;

use fixture::{documents, snapshot};
use model::document::{Document, Status};
use model::experiment::Area;
use model::sample::{ExpectationVerdict, Undisturbed};
use model::warning::{Warning, WarningCode};
use report::Style;
use report::terminal::{Surroundings, answer};

const SCREEN: Style = Style { width: 100, unicode: true, color: false };

fn judged(mut document: Document) -> Document {
    verdict::run::judge_again(&mut document, areas::RULES);
    document
}

fn around() -> Surroundings {
    let page = Some("/home/user/.local/share/assay/runs/2026-11-20T12-00-00Z-vm-quick/report.html".to_owned());
    let changed = "Since the previous run (2026-11-19 12:00 UTC): 1 slower, 0 faster, 35 unchanged, 3 inconclusive.";
    Surroundings { name: Some("latest".to_owned()), page, changed: Some(changed.to_owned()) }
}

/// All areas with interference: the CPU's samples are slow, its slices are not.
fn noisy() -> Document {
    let mut document = fixture::all_areas();
    for row in document.experiments.iter_mut().filter(|row| row.status == Status::Ok && row.id.starts_with("cpu/")) {
        let seen = "Other VMs on the host took 18.0 % of the time of the CPUs.";
        row.warnings.push(Warning::new(WarningCode::Steal, 0.18, seen));
        for metric in &mut row.metrics {
            let value = metric.summary.median / 0.82;
            metric.summary.undisturbed =
                Some(Undisturbed { value, ci95: Some([0.99 * value, 1.01 * value]), n: 412, of: "time slices".into() });
        }
    }
    document
}

#[test]
fn what_a_person_sees_first() {
    snapshot("answer_all_areas_100_unicode", &answer(&judged(fixture::all_areas()), &around(), &SCREEN));
    snapshot(
        "answer_troubled_80_ascii",
        &answer(&judged(fixture::troubled()), &Surroundings::default(), &Style::PLAIN),
    );
    let mut document = noisy();
    document.answers = verdict::answer::answers(&document, areas::RULES);
    snapshot("answer_noisy_100_unicode", &answer(&document, &around(), &SCREEN));
}

#[test]
fn an_area_without_a_value_has_its_reason_on_the_whole_width_and_is_no_yes() {
    let mut document = fixture::all_areas();
    for row in document.experiments.iter_mut().filter(|row| row.id.starts_with("disk/")) {
        (row.status, row.reason, row.confidence) =
            (Status::Failed, Some("cannot create a test file in '/data': no space left on device".into()), None);
        row.metrics.clear();
    }
    let text = answer(&judged(document), &around(), &SCREEN);
    let reason = "not measured: cannot create a test file in '/data': no space left on device";
    assert!(text.lines().any(|line| line == format!("  Disk     {reason}")), "{text}");
    // All 100 columns are used before a reason is cut.
    let cut = text.lines().filter(|line| line.contains(&reason[..60]) && line.chars().count() == 100);
    assert_eq!(cut.count(), 4, "each headline of the disk: {text}");
    assert!(!text.contains("Yes."), "{text}");
}

#[test]
fn fair_confidence_has_its_reason() {
    let mut document = fixture::all_areas();
    let measured = document.experiments.iter_mut().filter(|row| row.status == Status::Ok);
    for row in measured.filter(|row| row.id.starts_with("memory/sequential-read/")) {
        row.warnings = vec![Warning::new(WarningCode::Steal, 0.01, "Other VMs on the host took 1.0 % of CPU time.")];
    }
    let text = answer(&judged(document), &around(), &SCREEN);
    let said =
        "Confidence is fair in 1 of 9 results: Memory read, 2 threads. Other VMs on the host took 1.0 % of CPU time.";
    assert!(text.replace('\n', " ").contains(said), "{text}");
}

#[test]
fn loopback_is_left_out_of_the_verdict_by_its_benchmarks_whatever_its_text() {
    let mut document = judged(fixture::all_areas());
    for answer in &mut document.answers {
        answer.text = "some text".into();
        answer.verdict = (answer.area != Area::Net).then_some(ExpectationVerdict::AsExpected);
    }
    assert!(answer(&document, &around(), &SCREEN).contains("as it should be? Yes."));
    document.experiments.retain(|row| row.area != Area::Net);
    let peer = fixture::net_peer().experiments;
    document.experiments.extend(peer);
    assert!(!answer(&document, &around(), &SCREEN).contains("Yes."), "a measured link has no verdict");
}

#[test]
fn it_fits_any_terminal() {
    for (name, document) in documents() {
        let document = judged(document);
        let screen = answer(&document, &around(), &SCREEN);
        assert!(screen.lines().count() <= 30, "{name}: {} lines\n{screen}", screen.lines().count());
        for width in [20, 40, 80, 100] {
            let text = answer(&document, &Surroundings::default(), &Style { width, unicode: false, color: false });
            assert!(text.is_ascii(), "{name}: {}", text.replace(|c: char| c.is_ascii(), ""));
            for line in text.lines() {
                let longest = line.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
                assert!(line.chars().count() <= width.max(longest + 14), "{name} at {width}: {line}");
                assert_eq!(line.trim_end(), line, "{name}: blanks at the end of a line");
            }
        }
    }
}

#[test]
fn each_area_has_one_answer_and_low_confidence_one_reason() {
    for (name, document) in documents() {
        let document = judged(document);
        let mut areas: Vec<_> = document.experiments.iter().map(|row| row.area).collect();
        areas.sort_unstable();
        areas.dedup();
        let answered: Vec<_> = document.answers.iter().map(|answer| answer.area).collect();
        assert_eq!(answered, areas, "{name}");
        let text = answer(&document, &around(), &SCREEN);
        assert!(text.matches("Confidence is").count() <= 1, "{name}: {text}");
        assert!(text.matches("ot in the plan").count() <= 1, "{name}: {text}");
        for answered in &document.answers {
            let is_below = answered.verdict == Some(ExpectationVerdict::Below);
            assert_eq!(answered.text.starts_with("BELOW"), is_below, "{name}: {answered:?}");
        }
    }
}
