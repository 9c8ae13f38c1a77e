//! The HTML report: well formed for any document, without external references, with escaped text, complete.

#[path = "html/faults.rs"]
mod faults;
mod fixture;
#[path = "html/parse.rs"]
mod parse;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use faults::faults;
use model::document::{Document, Row, Status};
use model::machine::Unknown;
use parse::{Element, parse};
use report::html::render;

fn documents() -> Vec<(&'static str, Document)> {
    let own = [
        ("hostile", hostile()),
        ("extreme", extreme()),
        ("one_thread", one_thread()),
        ("whole_classic", whole_classic()),
    ];
    fixture::documents()
        .into_iter()
        .filter(|(name, _)| !["disk_varied", "other_axes"].contains(name))
        .chain(own)
        .collect()
}

/// Names of hosts, directories and files with markup, quotes, other scripts, reversed text, 500 letters.
fn hostile_texts() -> Vec<String> {
    vec![
        "<script>alert(1)</script>".to_owned(),
        "\"><img src=x onerror='alert(1)'>".to_owned(),
        "</style></svg></title><b>&amp;&#60;{{ 7 * 7 }}{% raw %}".to_owned(),
        "日本語 Ελληνικά עברית 😀".to_owned(),
        "evil\u{202e}gnp.exe\u{2066}\u{0}\u{1b}[31m\r\nnext line".to_owned(),
        "long-name-".repeat(50),
    ]
}

/// A document with such texts wherever it has text from elsewhere.
fn hostile() -> Document {
    let mut document = fixture::references();
    document.experiments.extend(fixture::troubled().experiments);
    document.findings = fixture::good().findings.into_iter().cycle().take(6).collect();
    let texts = hostile_texts();
    let mut all = texts.clone().into_iter().cycle();
    let mut next = || all.next().unwrap_or_default();
    let mut document = fixture::with_text(document, &mut next);
    (document.run.suite, document.machine.os.name) = (next(), Some(next()));
    document.machine.host = Some(texts.join(" "));
    document.machine.unknown =
        texts.iter().map(|_| Unknown { fact: next(), why: next(), consequence: next() }).collect();
    document.assay.argv.clone_from(&texts);
    document.run.declared = texts.iter().map(|text| (text.clone(), 1.0)).collect();
    let metrics = document.experiments.iter_mut().flat_map(|row| &mut row.metrics);
    for reference in metrics.flat_map(|metric| &mut metric.references) {
        reference.argv.clone_from(&texts);
        reference.env = texts.iter().map(|text| (text.clone(), text.clone())).collect();
    }
    let ids: Vec<String> = document.experiments.iter().take(4).map(|row| row.id.clone()).collect();
    document.findings.iter_mut().for_each(|finding| finding.evidence.extend(ids.clone()));
    document
}

/// Extreme values.
fn extreme() -> Document {
    let mut document = fixture::good();
    let values = [0.0, 1e-300, 1e300, -5.0, f64::MAX, f64::MIN_POSITIVE];
    let metrics = document.experiments.iter_mut().flat_map(|row| &mut row.metrics);
    for (metric, value) in metrics.zip(values.iter().cycle()) {
        metric.summary.median = *value;
        (metric.summary.ci95, metric.summary.n) = (Some([*value, *value]), u32::MAX);
        for peak in &mut metric.peaks {
            peak.value = *value;
        }
        if let Some(efficiency) = &mut metric.efficiency {
            efficiency.value = value.min(1e300);
        }
    }
    document.run.seconds = f64::MAX;
    document
}

fn one_thread() -> Document {
    let mut document = fixture::good();
    document.experiments.retain(|row| row.params.threads() == 1);
    document
}

/// The classic suite with the tables of several areas.
fn whole_classic() -> Document {
    let areas = [fixture::classic_in_full(), fixture::classic_memory(), fixture::classic_net()];
    let mut document = fixture::classic_disk();
    document.experiments.extend(areas.into_iter().flat_map(|area| area.experiments));
    document
}

#[test]
fn every_page_is_well_formed_and_reaches_nowhere() {
    for (name, document) in documents() {
        let page = render(&document).unwrap();
        assert_eq!(faults(&page), Vec::<String>::new(), "{name}");
        assert_eq!(page, render(&document).unwrap(), "{name}");
        let root = parse(&page).unwrap();
        let main = root.named("main").next().unwrap();
        let attributes = main.all().into_iter().flat_map(|element| &element.attributes);
        // The packed data may hold anything.
        let texts = attributes.filter(|(name, _)| name != "href").map(|(_, value)| value.clone()).chain([main.text()]);
        for text in texts {
            assert!(
                !["NaN", "inf", "Infinity"].iter().any(|odd| text.split(' ').any(|word| word == *odd)),
                "{name}: {text}"
            );
        }
        assert!(page.ends_with("</html>\n"), "{name}");
    }
}

#[test]
fn planted_faults_are_found() {
    let page = render(&fixture::good()).unwrap();
    let planted = |from: &str, to: &str| {
        assert!(page.contains(from), "{from}");
        faults(&page.replacen(from, to, 1))
    };
    let cases = [
        ("</h1>", "", "ended by"),
        ("<h1>", "<h1 onclick=\"x()\">", "handler"),
        ("<h1>", "<img src=\"x.png\"><h1>", "src"),
        ("<h1>", "<a href=\"https://example.org/\">x</a><h1>", "leaves the page"),
        ("<h1>", "<a href=\"#nowhere\">x</a><h1>", "leads nowhere"),
        ("<h1>", "<b id=\"main\">x</b><h1>", "twice"),
        ("<h1>", "<script>1</script><h1>", "2 scripts"),
        ("<h1>", "a & b<h1>", "unknown reference"),
        ("<h1>", "<b class=x>b</b><h1>", "not quoted"),
        ("<h1>", "<h4>b</h4><h1>", "heading"),
        ("</style>", "body { background: url(x) }</style>", "fetches"),
        ("default-src 'none'", "default-src *", "network"),
        ("<caption", "<p", "ended by"),
        (" scope=\"col\"", "", "scope"),
        ("<td", "<td>x</td><td", "cells below"),
    ];
    for (from, to, expected) in cases {
        let found = planted(from, to);
        assert!(found.iter().any(|fault| fault.contains(expected)), "{from} -> {to}: {found:?}");
    }
}

#[test]
fn text_from_elsewhere_stays_text() {
    let page = render(&hostile()).unwrap();
    let root = parse(&page).unwrap();
    let text = root.text();
    for hostile in hostile_texts() {
        // What is shown is what it was, but for characters that would turn or hide others.
        let shown: String = hostile
            .chars()
            .map(|c| match c {
                '\u{202e}' | '\u{2066}' | '\0' | '\u{1b}' | '\r' => '\u{fffd}',
                c => c,
            })
            .collect();
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&shown), "{shown:.40}");
    }
    assert!(page.contains("{{ 7 * 7 }}"), "a template inside a text is not carried out");
    let odd = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') || c.is_control() && c != '\n';
    assert_eq!(page.chars().find(|c| odd(*c)), None);
}

/// A document with its numbers in eight digits.
fn rounded(text: &str) -> String {
    let words = text.split_inclusive([' ', ',', '\n']).map(|word| match word.trim_end_matches([',', '\n']).parse() {
        Ok::<f64, _>(number) => format!("{number:.7e}"),
        Err(_) => word.to_owned(),
    });
    words.collect()
}

#[test]
fn the_data_inside_the_page_is_the_run() {
    for document in [fixture::good(), fixture::troubled(), hostile(), fixture::empty()] {
        let page = render(&document).unwrap();
        let root = parse(&page).unwrap();
        let files: Vec<&Element> = root.named("a").filter(|link| link.attribute("download").is_some()).collect();
        let names: Vec<_> = files.iter().map(|file| file.attribute("data-name").unwrap()).collect();
        assert_eq!(names, ["run.json"]);
        let unpacked = |file: &Element| {
            let data = file.attribute("href").unwrap().strip_prefix("data:application/gzip;base64,").unwrap();
            let mut bytes = Vec::new();
            flate2::read::GzDecoder::new(&STANDARD.decode(data).unwrap()[..]).read_to_end(&mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        let loaded: Document = serde_json::from_str(&unpacked(files[0])).unwrap();
        assert_eq!(
            rounded(&report::json::render(&loaded).unwrap()),
            rounded(&report::json::render(&document).unwrap())
        );
    }
}

#[test]
fn every_row_every_warning_and_every_finding_is_on_the_page() {
    for (name, document) in documents() {
        let page = render(&document).unwrap();
        let root = parse(&page).unwrap();
        let anchors: HashSet<&str> = root.named("tr").filter_map(|line| line.attribute("id")).collect();
        for (index, row) in document.experiments.iter().enumerate() {
            let is_shown = row.status != Status::Ok || !row.metrics.is_empty();
            assert_eq!(anchors.contains(format!("r{}", index + 1).as_str()), is_shown, "{name}: {}", row.id);
        }
        let log = root.named("section").find(|section| section.attribute("id") == Some("conditions")).unwrap();
        let entries: Vec<String> = log.named("details").filter(|entry| entry.is("entry")).map(Element::text).collect();
        let codes: HashSet<&str> =
            document.experiments.iter().flat_map(|row| &row.warnings).map(|warning| warning.code.as_str()).collect();
        let without = document.experiments.iter().filter(|row| row.status != Status::Ok);
        assert!(entries.len() >= codes.len() + without.count().min(1), "{name}");
        for row in document.experiments.iter().filter(|row| row.status != Status::Ok) {
            let lines = log.named("li").filter(|line| line.named("a").any(|link| is_to(link, &document, row)));
            assert_eq!(lines.count(), 1 + row.warnings.len(), "{name}: {}", row.id);
        }
        let findings = root.named("ul").filter(|list| list.is("findings"));
        assert_eq!(findings.map(|list| list.children().count()).sum::<usize>(), document.findings.len(), "{name}");
    }
}

/// Whether a link leads to this row.
fn is_to(link: &Element, document: &Document, row: &Row) -> bool {
    let place =
        document.experiments.iter().position(|own| std::ptr::eq(own, row)).map(|index| format!("#r{}", index + 1));
    place.is_some_and(|place| link.attribute("href") == Some(&place))
}

/// The page in outline: headings, sentences, tables with their lines and columns, what can be unfolded.
fn outline(page: &str) -> String {
    fn walk(element: &Element, out: &mut String) {
        let line = match element.name.as_str() {
            "style" | "script" | "svg" | "figure" | "nav" => return,
            "h1" | "h2" | "h3" | "h4" => Some((element.name.as_str(), element.text())),
            "summary" => Some(("unfold", element.text())),
            "table" => {
                let heads: Vec<String> = element
                    .named("th")
                    .filter(|head| head.attribute("scope") == Some("col"))
                    .map(Element::text)
                    .collect();
                let lines = element.named("tbody").next().map_or(0, |body| body.children().count());
                Some(("table", format!("{lines}: {}", heads.join(" | "))))
            }
            "p" | "li"
                if element.children().all(|child| ["b", "a", "span", "bdi", "code"].contains(&child.name.as_str())) =>
            {
                Some((element.name.as_str(), element.text()))
            }
            "ul" if element.is("findings") => return,
            _ => None,
        };
        if let Some((kind, text)) = line {
            let text: String = text.chars().take(160).collect();
            let _ = writeln!(out, "{kind:<7}{text}");
        } else {
            element.children().for_each(|child| walk(child, out));
        }
    }
    let mut out = String::new();
    let root = parse(page).unwrap_or_default();
    for body in root.named("body") {
        walk(body, &mut out);
    }
    out
}

#[test]
fn the_outline_of_each_page() {
    let shown = [
        "good",
        "clean",
        "troubled",
        "interrupted",
        "empty",
        "later_version",
        "classic_disk",
        "references",
        "net_peer",
        "io_unavailable",
    ];
    for (name, document) in documents().into_iter().filter(|(name, _)| shown.contains(name)) {
        fixture::snapshot(&format!("html_{name}"), &outline(&render(&document).unwrap()));
    }
}

/// The whole report of a suite remains small enough to be sent; the value is in the third column at the latest.
#[test]
fn pages_are_small_and_show_values_early() {
    for (name, document) in documents() {
        let page = render(&document).unwrap();
        let most = if document.run.suite == "classic" { 1_200_000 } else { 300_000 };
        assert!(page.len() <= most || name == "hostile", "{name}: {} bytes", page.len());
        for table in parse(&page).unwrap().named("table") {
            let heads: Vec<String> =
                table.named("thead").flat_map(|head| head.named("th")).map(Element::text).collect();
            let value = heads.iter().position(|head| head.starts_with("Measured"));
            assert!(value.is_none_or(|place| place < 3), "{name}: {heads:?}");
        }
    }
}

/// Writes pages into the folder for what tests leave, `pages` in it, for `cargo xtask browser`.
#[test]
#[ignore = "cargo xtask browser calls it"]
fn pages_for_the_browser() {
    const WANTED: [&str; 8] =
        ["troubled", "empty", "classic_disk", "whole_classic", "disk", "references", "hostile", "net_peer"];
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, document) in documents().into_iter().filter(|(name, _)| WANTED.contains(name)) {
        std::fs::write(folder.join(format!("{name}.html")), render(&document).unwrap()).unwrap();
    }
}
