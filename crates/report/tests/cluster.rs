//! The forms of a cluster's report: what they say for typical clusters, that text from elsewhere stays text, and that
//! what is drawn does not grow with the nodes.

#[path = "readers/csv.rs"]
mod csv_reader;
#[path = "html/faults.rs"]
mod faults;
#[path = "cluster/fixture.rs"]
mod fixture;
#[path = "html/parse.rs"]
mod parse;
#[path = "readers/prometheus.rs"]
mod prometheus_reader;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use faults::faults;
use model::cluster::{ClusterDocument, ClusterHpl, NodeState, Standing};
use parse::{Element, parse};
use report::Style;
use report::cluster::status::{self, JobProgress, NodeProgress, Progress, TaskCounts};
use report::cluster::{FORMS, csv, drain, form, html, junit, terminal};
use report::json::pretty;
use verdict::fleet::conclude;

/// Text that each form must not take for its own.
const HOSTILE: &[&str] = &[
    "<script>alert(\"1\")</script>",
    "=cmd|' /C calc'!A0",
    "@SUM(1;2)",
    "a,b;c\t\"d\" 'e' `f`",
    "line one\nline two\r\n| three |",
    "]]> --> <!-- &amp; &lt; &#0; {{ 7 * 7 }}{% raw %}",
    "Größe 数据 עברית 🦀",
    "\u{0}\u{1}\u{1b}[31mred\u{7f}\u{85}\u{2028}\u{feff}",
    "\u{202e}gpj.exe\u{2066}\u{ffff}",
    "$(reboot); rm -rf /",
    "--help",
    "[x](javascript:alert(1)) area:cpu 100%",
    "long-name-without-an-end-long-name-without-an-end-long-name-without-an-end-long-name-without-an-end",
];

const WIDE: Style = Style { width: 100, unicode: true, color: false };

fn hostile() -> ClusterDocument {
    fixture::hostile(HOSTILE)
}

/// Compares with the stored rendering of this name.
fn stored(name: &str, text: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

/// A document with the verdict that its contents give.
fn concluded(mut document: ClusterDocument) -> ClusterDocument {
    conclude(&mut document);
    document
}

fn documents() -> Vec<(&'static str, ClusterDocument)> {
    let all = [
        ("healthy", fixture::healthy()),
        ("troubled", fixture::troubled()),
        ("narrow", fixture::narrow()),
        ("slower", fixture::slower()),
        ("thousand", fixture::thousand()),
        ("unbegun", fixture::unbegun()),
        ("nothing", fixture::nothing()),
        ("single", fixture::single()),
        ("holes", fixture::holes()),
        ("faulty", fixture::faulty()),
        ("varied", fixture::varied()),
        ("drained", fixture::drained()),
        ("hostile", hostile()),
    ];
    all.map(|(name, document)| (name, concluded(document))).into()
}

fn text_of(name: &str, document: &ClusterDocument) -> String {
    let Some(form) = form(name) else { panic!("there is no form '{name}'") };
    (form.render)(document).map_or_else(|why| panic!("{name}: {why}"), Iterator::collect)
}

fn read(page: &str) -> Element {
    parse(page).unwrap_or_else(|why| panic!("{why}"))
}

fn with_id<'a>(root: &'a Element, id: &str) -> &'a Element {
    root.all().into_iter().find(|element| element.attribute("id") == Some(id)).unwrap_or_else(|| panic!("no {id}"))
}

fn outline(page: &str) -> String {
    fn walk(element: &Element, out: &mut String) {
        const WHOLE: [&str; 8] = ["h1", "h2", "h3", "p", "li", "summary", "dd", "caption"];
        if matches!(element.name.as_str(), "svg" | "style" | "script") {
            return;
        }
        if WHOLE.contains(&element.name.as_str()) {
            let _ = writeln!(out, "{}: {}", element.name, element.text());
        } else if element.name == "tr" {
            let cells: Vec<String> = element.children().map(Element::text).collect();
            let _ = writeln!(out, "  | {}", cells.join(" | "));
        } else {
            let rows = element.children().filter(|child| child.name == "tr").count();
            for (place, child) in element.children().enumerate() {
                if element.name == "tbody" && place == 12 {
                    let _ = writeln!(out, "  … {} more", rows - place);
                    break;
                }
                walk(child, out);
            }
        }
    }
    let mut out = String::new();
    read(page).named("body").for_each(|body| walk(body, &mut out));
    out
}

#[test]
fn every_page_is_well_formed_and_reaches_nowhere() {
    for (name, document) in documents() {
        let page = html::render(&document).unwrap();
        assert_eq!(faults(&page), Vec::<String>::new(), "{name}");
        assert_eq!(page, html::render(&document).unwrap(), "{name}");
        let root = parse(&page).unwrap();
        let text = root.named("main").next().unwrap().text();
        assert!(!["NaN", "inf"].iter().any(|odd| text.split(' ').any(|word| word == *odd)), "{name}: {text}");
    }
}

#[test]
fn the_outline_of_each_page() {
    for (name, document) in documents() {
        stored(&format!("cluster_html_{name}"), &outline(&html::render(&document).unwrap()));
    }
}

#[test]
fn the_summary_of_each_cluster() {
    for (name, document) in documents() {
        let text = terminal::render(&document, &WIDE);
        let most = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(most <= 100 || name == "hostile", "{name}: {most} columns");
        assert!(terminal::render(&document, &Style::PLAIN).is_ascii(), "{name}");
        stored(&format!("cluster_terminal_{name}"), &text);
    }
    stored("cluster_terminal_troubled_80", &terminal::render(&concluded(fixture::troubled()), &Style::PLAIN));
}

#[test]
fn the_forms_for_programs() {
    for name in ["csv", "junit", "drain", "markdown", "prometheus"] {
        for (of, document) in documents() {
            let text = text_of(name, &document);
            let head: Vec<&str> = text.lines().take(60).collect();
            stored(&format!("cluster_{name}_{of}"), &head.join("\n"));
        }
    }
    stored("cluster_json_single", &text_of("json", &fixture::single()));
}

#[test]
fn every_form_has_a_name_and_a_file_of_its_own() {
    let names: BTreeSet<&str> = FORMS.iter().map(|form| form.name).collect();
    let files: BTreeSet<&str> = FORMS.iter().filter_map(|form| form.file).collect();
    assert_eq!((names.len(), files.len()), (FORMS.len(), FORMS.len() - 1));
    assert!(form("papyrus").is_none());
    for form in FORMS {
        let text = text_of(form.name, &fixture::troubled());
        assert!(text.ends_with('\n') && !form.about.is_empty(), "{}", form.name);
    }
}

#[test]
fn the_document_reads_back_and_what_is_no_number_is_refused() {
    let document = fixture::troubled();
    let back: ClusterDocument = serde_json::from_str(&pretty(&document, "document").unwrap()).unwrap();
    assert_eq!(back, document);
    let mut odd = document;
    odd.distributions[0].median = f64::NAN;
    assert!(pretty(&odd, "document").is_err());
    assert!(html::render(&odd).is_err());
}

#[test]
fn the_table_has_a_line_for_each_node_metric_and_pass_each_pair_and_what_is_known_of_hpl() {
    for (name, document) in documents() {
        let text: String = csv::lines(&document).collect();
        let records = csv_reader::records(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
        let values: usize =
            document.distributions.iter().flat_map(|metric| &metric.values).map(|value| value.values.len()).sum();
        let pairs: usize = document.pairs.iter().map(|matrix| matrix.pairs.len()).sum();
        let known = |hpl: &ClusterHpl| 1 + [hpl.residual, hpl.peak, hpl.linpack].into_iter().flatten().count();
        let hpl: usize = document.hpl.iter().map(known).sum();
        assert_eq!(records.len(), 1 + values + pairs + hpl, "{name}");
        for field in records.iter().flatten() {
            let dangerous = field.starts_with(['=', '+', '-', '@', '\t']) && field.parse::<f64>().is_err();
            assert!(!dangerous, "{name}: {field:?}");
        }
    }
    let document = fixture::troubled();
    let text: String = csv::lines(&document).collect();
    let records = csv_reader::records(&text).unwrap();
    let at = |column: &str| records[0].iter().position(|name| name == column).unwrap();
    let passes = |node: &str| {
        let own = records.iter().filter(|record| record[at("node")] == node && record[at("area")] == "cpu");
        own.map(|record| record[at("pass")].clone()).collect::<BTreeSet<_>>()
    };
    assert_eq!((passes("n3").len(), passes("n1").len()), (2, 1));
    let shares = records.iter().filter(|record| record[at("node")] == "n3" && record[at("area")] == "cpu");
    for share in shares.map(|record| record[at("of_median")].parse::<f64>().unwrap()) {
        assert!((0.48..0.52).contains(&share), "{share}");
    }
}

#[test]
fn a_campaign_can_be_watched_by_prometheus() {
    for (name, document) in documents() {
        let series =
            prometheus_reader::series(&text_of("prometheus", &document)).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(series.iter().all(|one| one.label("plan").is_some() && one.label("suite").is_some()), "{name}");
    }
    let series = prometheus_reader::series(&text_of("prometheus", &concluded(fixture::troubled()))).unwrap();
    let value = |name: &str, label: (&str, &str)| {
        let one = series.iter().find(|one| one.name == name && one.label(label.0) == Some(label.1));
        one.unwrap_or_else(|| panic!("no {name} of {label:?}")).value
    };
    assert!((value("assay_cluster_verdict", ("verdict", "slow")) - 1.0).abs() < 1e-9);
    assert!(value("assay_cluster_verdict", ("verdict", "equal")).abs() < 1e-9);
    assert!((value("assay_cluster_node_failed_attempts", ("node", "n1")) - 2.0).abs() < 1e-9);
    assert!((value("assay_cluster_standing_nodes", ("standing", "suspect")) - 1.0).abs() < 1e-9);
    let slow = series.iter().filter(|one| one.name == "assay_cluster_of_median_ratio" && one.value < 0.6);
    assert!(slow.clone().count() > 0 && slow.clone().all(|one| one.label("node") == Some("n3")));
}

#[test]
fn a_node_that_is_slow_fails_its_area_and_no_other() {
    let document = concluded(fixture::troubled());
    let text: String = junit::pieces(&document).collect();
    let xml = roxmltree::Document::parse(&text).unwrap();
    let failed: Vec<(String, String)> = xml
        .descendants()
        .filter(|node| node.has_tag_name("failure"))
        .map(|node| {
            let case = node.parent().unwrap();
            (case.attribute("name").unwrap().to_owned(), case.attribute("classname").unwrap().to_owned())
        })
        .collect();
    let case = |node: &str, area: &str| (node.to_owned(), format!("assay.cluster.{area}"));
    assert_eq!(failed, [case("cluster", "verdict"), case("n3", "cpu"), case("n5", "memory")]);
    let cases = xml.descendants().filter(|node| node.has_tag_name("testcase")).count();
    assert_eq!(cases, 6 * 4 + 1);
    let root = xml.root_element();
    assert_eq!((root.attribute("tests"), root.attribute("failures")), (Some("25"), Some("3")));
    let time = |class: &str| {
        let case = xml.descendants().find(|node| node.attribute("classname") == Some(class)).unwrap();
        case.attribute("time").unwrap().to_owned()
    };
    assert_eq!((time("assay.cluster.cpu"), time("assay.cluster.memory")), ("30.500".into(), "20.250".into()));
    assert!(text.contains("2 attempts at 'memory' failed: the worker on n1 (process 4711) is gone"));
}

#[test]
fn a_case_is_there_for_every_node_whatever_its_name() {
    for (name, document) in documents() {
        let text: String = junit::pieces(&document).collect();
        let xml = roxmltree::Document::parse(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
        let count = |tag: &str| xml.descendants().filter(|node| node.has_tag_name(tag)).count();
        let root = xml.root_element();
        assert_eq!(root.attribute("tests"), Some(count("testcase").to_string().as_str()), "{name}");
        assert_eq!(root.attribute("failures"), Some(count("failure").to_string().as_str()), "{name}");
        assert_eq!(root.attribute("skipped"), Some(count("skipped").to_string().as_str()), "{name}");
        assert!(count("testcase") >= document.nodes.len(), "{name}");
    }
}

#[test]
fn the_drain_list_holds_names_and_nothing_else() {
    assert_eq!(drain(&fixture::healthy()), "");
    assert_eq!(drain(&fixture::troubled()), "n3\n", "a suspect is not to be drained");
    let mut document = hostile();
    let harmful = ["", "a b", "--all", ".", "n1;halt", "n[1-9]"];
    let all = HOSTILE.iter().chain(&harmful).chain(&["n1", "node-07.rack_3"]);
    document.drain = all.map(|text| (*text).to_owned()).collect();
    let long = HOSTILE[HOSTILE.len() - 1];
    assert_eq!(drain(&document), format!("{long}\nn1\nnode-07.rack_3\n"));
}

#[test]
fn text_from_elsewhere_stays_text() {
    let document = hostile();
    let page = html::render(&document).unwrap();
    assert_eq!(faults(&page), Vec::<String>::new());
    let text = parse(&page).unwrap().text();
    for wanted in ["<script>alert(\"1\")</script>", "=cmd|' /C calc'!A0", "{{ 7 * 7 }}{% raw %}", "Größe 数据"] {
        assert!(text.contains(wanted), "{wanted}");
    }
    let shown = [page, terminal::render(&document, &WIDE), text_of("junit", &document)];
    for form in shown {
        assert!(!form.contains(['\u{202e}', '\u{2066}', '\u{1b}', '\u{0}']));
    }
}

#[test]
fn who_is_slow_follows_the_document() {
    let mut document = fixture::troubled();
    document.slow.clear();
    document.drain.clear();
    document.differences.clear();
    document.nodes.iter_mut().for_each(|node| (node.state, node.standing) = (NodeState::Done, Standing::Healthy));
    conclude(&mut document);
    let text = terminal::render(&document, &WIDE);
    assert!(text.contains("No node is slow in CPU") && !text.contains("Slow nodes"), "{text}");
}

fn flat(text: &str) -> String {
    text.replace('\u{a0}', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_node_with_slow_paths_is_named_in_every_form_and_none_is_called_equal() {
    let document = concluded(fixture::narrow());
    let named = "2 nodes are slow: node-00007 (network: 40.8 % of the other nodes' paths) and node-00012 (memory: 81.5 % of \
                 the median). No other node is slow in CPU, LINPACK, memory, disk or network.";
    let differ = "All 16 nodes were measured; they differ in memory channels (node-00012).";
    let page = parse(&html::render(&document).unwrap()).unwrap().text();
    for text in [flat(&terminal::render(&document, &WIDE)), flat(&page)] {
        assert!(text.contains(named) && text.contains(differ) && !text.contains("equal"), "{text}");
    }
    let csv: String = csv::lines(&document).collect();
    assert!(csv.contains("\nnode-00007,done,slow,0,net,net/inbound/tcp-stream/128KiB/t4,throughput,"), "{csv}");
    let junit: String = junit::pieces(&document).collect();
    assert!(junit.contains("node-00007 is slow in two passes in net"), "{junit}");
    assert_eq!(drain(&document), "node-00007\nnode-00012\n");
}

#[test]
fn a_cluster_that_is_slower_than_before_needs_action_in_every_form() {
    let mut document = concluded(fixture::slower());
    let named = "2 of 4 nodes are slower than in 'rack7-october': n2 and n4. To find what changed";
    let worst = "throughput 325.7 GB/s, 81.0 % of the earlier speed (402.1 GB/s in 'rack7-october' (2026-10-20))";
    let page = parse(&html::render(&document).unwrap()).unwrap().text();
    for text in [flat(&terminal::render(&document, &WIDE)), flat(&page)] {
        assert!(text.contains(named) && text.contains(worst) && !text.contains("No action is needed"), "{text}");
    }
    assert_eq!(drain(&document), "", "slower than before is not slower than its equals");
    let history = document.history.as_mut().unwrap();
    history.slower.truncate(1);
    let text = flat(&terminal::render(&document, &WIDE));
    assert!(text.contains("1 of 4 nodes is slower than in 'rack7-october': n2."), "{text}");
    document.history.as_mut().unwrap().slower.clear();
    let text = flat(&terminal::render(&document, &WIDE));
    assert!(text.contains("No node is slower than in 'rack7-october'. No action is needed."), "{text}");
    document.history.as_mut().unwrap().compared = 0;
    assert!(flat(&terminal::render(&document, &WIDE)).contains("No node could be compared with 'rack7-october'."));
}

#[test]
fn a_page_shows_a_limited_number_of_problems() {
    let mut document = fixture::slower();
    let problem = document.problems[1].clone();
    document.problems.extend((0..300).map(|_| problem.clone()));
    let page = html::render(&document).unwrap();
    assert!(page.contains("And 102 more, in cluster.json.") && faults(&page).is_empty());
}

#[test]
fn nodes_whose_network_was_not_measured_are_not_called_equal() {
    let mut document = concluded(fixture::healthy());
    let text = flat(&terminal::render(&document, &WIDE));
    assert!(
        text.contains(
            "their hardware and settings are equal. Verdict: equal. No node is slow in CPU, LINPACK, memory or"
        ),
        "{text}"
    );
    assert!(!text.contains("was not measured"), "{text}");
    for matrix in &mut document.pairs {
        matrix.pairs.retain(|pair| pair.from != "n2" && pair.to != "n2");
    }
    assert!(flat(&terminal::render(&document, &WIDE)).contains("or disk. The network of n2 was not measured."));
    document.pairs.clear();
    assert!(flat(&terminal::render(&document, &WIDE)).contains("The network between the nodes was not measured"));
}

/// What a document says in every form for people.
fn forms(document: &ClusterDocument) -> [String; 3] {
    [terminal::render(document, &WIDE), read(&text_of("html", document)).text(), text_of("markdown", document)]
        .map(|text| flat(&text))
}

fn junit_of_verdict(document: &ClusterDocument) -> String {
    let text: String = junit::pieces(document).collect();
    text.split_once("</testsuite>").map_or_else(String::new, |(first, _)| first.to_owned())
}

#[test]
fn equal_slow_and_inconclusive_are_three_verdicts_in_every_form() {
    for text in forms(&concluded(fixture::healthy())) {
        assert!(text.contains("Verdict: equal.") && text.contains("No action is needed."), "{text}");
    }
    for text in forms(&concluded(fixture::narrow())) {
        assert!(text.contains("Verdict: slow. 2 nodes are slow:") && !text.contains("Verdict: equal"), "{text}");
    }
    for text in forms(&concluded(fixture::varied())) {
        let why = "Verdict: inconclusive, because the nodes vary too much in memory: only a node below 71 % of the \
                   median stands out; other processes or VMs used 25 % of CPU time, which could hide a slow node (n1 \
                   and n4). No node is slow in CPU, LINPACK or disk.";
        assert!(text.contains(why) && text.contains("Measure with a new plan"), "{text}");
    }
    let junit = [fixture::healthy(), fixture::narrow(), fixture::varied()].map(|of| junit_of_verdict(&concluded(of)));
    let tags = ["<failure ", "<skipped "].map(|tag| junit.each_ref().map(|text| text.contains(tag)));
    assert_eq!(tags, [[false, true, false], [false, false, true]], "{junit:?}");
    let text: String = junit::pieces(&concluded(fixture::varied())).collect();
    assert_eq!(text.matches("vary too much for a slow one to stand out").count(), 6, "a case of each node in memory");
}

#[test]
fn a_node_with_a_fault_is_a_suspect_in_every_form_and_needs_no_second_pass() {
    let document = concluded(fixture::faulty());
    for text in forms(&document) {
        for wanted in ["Verdict: inconclusive", "1 node has a fault, but does not stand out: n3", "throttled for 86 %"]
        {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        assert!(!text.contains("second measurement run"), "{text}");
    }
    // Two causes are two.
    assert!(forms(&document)[1].contains("(quota of 0.25 CPUs); other processes used 86 %"));
    let junit: String = junit::pieces(&document).collect();
    assert!(
        junit.contains("classname=\"assay.cluster.faults\"") && junit.contains("probable cause: its control group")
    );
}

#[test]
fn nodes_given_up_did_not_fail_to_come_up_and_nothing_is_still_to_come() {
    for text in forms(&concluded(fixture::drained())) {
        assert!(
            text.contains("No result: 4 nodes failed. Verdict: inconclusive, because 4 nodes lack results"),
            "{text}"
        );
        assert!(text.contains("4 nodes have no results: never became available: drained"), "{text}");
        assert!(!text.contains("yet") && !text.contains("came up"), "{text}");
    }
}

/// Elements that draw something.
fn marks(page: &str) -> Vec<usize> {
    let root = read(page);
    let drawings = root.named("svg").filter(|svg| svg.is("chart"));
    drawings.map(|svg| svg.all().len()).collect()
}

#[test]
fn what_is_drawn_does_not_grow_with_the_nodes() {
    let small = html::render(&fixture::largest(200, 9)).unwrap();
    let large = html::render(&fixture::largest(3000, 9)).unwrap();
    let (small, large) = (marks(&small), marks(&large));
    assert_eq!(small.len(), large.len());
    assert!(small.iter().zip(&large).all(|(small, large)| large <= &(small + 40)), "{small:?} {large:?}");
}

#[test]
fn pages_are_as_large_as_they_may_be() {
    for few in [4, 8] {
        let page = html::render(&fixture::largest(few, 40)).unwrap();
        assert!(page.len() <= 300_000, "{few} nodes: {} bytes", page.len());
    }
    let many = html::render(&fixture::largest(10_000, 40)).unwrap();
    assert!(many.len() <= 5_000_000, "{} bytes", many.len());
    let root = parse(&many).unwrap();
    let list = with_id(&root, "nodes");
    assert_eq!(list.named("tr").count(), 10_001, "every node is listed");
    assert!(list.text().contains("10000 nodes with their states"));
}

#[test]
fn a_square_of_many_nodes_is_binned_and_says_so() {
    let mut document = fixture::cluster(&[200], &fixture::METRICS[..1], &|_, _| 1.0);
    let ring = |from: usize, to: usize| (to == (from + 1) % 200 || to == (from + 7) % 200).then_some(1.0);
    let mut square = fixture::square(&document, true, &|from, to| ring(from, to));
    square.pairs.retain(|pair| pair.value.is_some());
    document.pairs.push(square);
    let page = html::render(&document).unwrap();
    assert!(page.contains("4 consecutive nodes of the plan share a row"));
    assert_eq!(faults(&page), Vec::<String>::new());
}

fn progress() -> Progress {
    let node =
        |name: &str, state, [waiting, running, done, failed]: [u64; 4], doing: Option<&str>, why: Option<&str>| {
            let tasks = TaskCounts { waiting, running, done, failed, skipped: 0 };
            let left = (waiting + running) as f64 * 31.0;
            let (doing, why) = (doing.map(str::to_owned), why.map(str::to_owned));
            NodeProgress { name: name.into(), state, tasks, seconds_left: left, doing, why }
        };
    Progress {
        plan: "rack7".into(),
        when: "2026-11-28T12:00:00Z".into(),
        tasks: TaskCounts { waiting: 5, running: 1, done: 5, failed: 1, skipped: 0 },
        node_seconds_left: 186.0,
        seconds_left: Some(93.0),
        nodes: vec![
            node("n1", NodeState::Done, [0, 0, 3, 0], None, None),
            node("n2", NodeState::Running, [1, 1, 1, 0], Some("memory"), None),
            node("n3", NodeState::Waiting, [3, 0, 0, 0], None, Some("job 4711 waits: Resources")),
            node("n4", NodeState::Partly, [0, 0, 2, 1], None, Some("disk failed: /scratch is full")),
        ],
        jobs: vec![JobProgress {
            id: "4711".into(),
            state: "PENDING".into(),
            nodes: vec!["n3".into()],
            why: Some("Resources".into()),
        }],
        notes: vec!["The queue was read 3 s ago.".into()],
    }
}

#[test]
fn how_far_a_plan_is() {
    let mut progress = progress();
    stored("cluster_status", &status::render(&progress, &WIDE));
    stored("cluster_status_plain", &status::render(&progress, &Style::PLAIN));
    stored("cluster_status_line", &status::summary(&progress));
    stored("cluster_status_json", &serde_json::to_string_pretty(&progress).unwrap());
    let copies = (0..500).map(|place| NodeProgress { name: format!("m{place}"), ..progress.nodes[2].clone() });
    progress.nodes.extend(copies.collect::<Vec<_>>());
    let text = status::render(&progress, &WIDE);
    assert!(text.contains("and 488 more nodes") && text.lines().count() < 40, "{text}");
    let reason = "hpl failed: tried 3 times, at last: hpl left with status 137: srun: error: task 2 launch failed: \
                  Unspecified error, as its node's log says";
    progress.nodes[3].why = Some(reason.into());
    progress.nodes[1].seconds_left = 0.0;
    progress.seconds_left = Some(0.0);
    let text = status::render(&progress, &Style::PLAIN);
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains(reason), "a long reason is shown whole: {text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.contains("overdue") && text.contains("longer than expected"), "{text}");
    progress.nodes[2].name = HOSTILE[7].into();
    progress.nodes[2].why = Some(HOSTILE[4].into());
    assert!(!status::render(&progress, &WIDE).contains('\u{1b}'));
}

#[test]
fn a_plan_without_anything_has_a_state() {
    let progress = Progress {
        plan: String::new(),
        when: String::new(),
        tasks: TaskCounts::default(),
        node_seconds_left: 0.0,
        seconds_left: None,
        nodes: Vec::new(),
        jobs: Vec::new(),
        notes: Vec::new(),
    };
    assert!(progress.is_over());
    assert_eq!(status::summary(&progress), "0 of 0 tasks finished");
}

/// Writes pages into the folder for what tests leave, `pages` in it, for `cargo xtask browser`.
#[test]
#[ignore = "cargo xtask browser calls it"]
fn pages_for_the_browser() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, document) in documents() {
        std::fs::write(folder.join(format!("cluster-{name}.html")), html::render(&document).unwrap()).unwrap();
    }
}
