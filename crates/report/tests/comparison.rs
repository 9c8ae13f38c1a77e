//! Comparisons, for every verdict at every kind of terminal, as Markdown and as JSON. The values are invented.

use model::comparison::{AreaMean, Change, Compared, Comparison, Direction, NotCompared, PerCycle, SCHEMA, Side};
use model::unit::Unit;
use report::Style;
use report::comparison::{markdown, text};
use report::json::pretty;
use serde_json::json;

const RICH: Style = Style { width: 120, unicode: true, color: false };

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

/// A row: what it is, both medians, the interval, the limit.
fn row(id: &str, unit: Unit, [base, new]: [f64; 2], interval: Option<[f64; 2]>, threshold: f64) -> Compared {
    let (metric, better) = if unit == Unit::Second { ("latency", "lower") } else { ("throughput", "higher") };
    let row = json!({"id": id, "metric": metric, "unit": unit, "better": better, "verdict": "same", "base": 0, "new": 0,
                     "ratio": 0, "threshold": 0, "noise_source": "7 earlier runs of this machine", "n_base": 9, "n_new": 9,
                     "units": "samples"});
    let row: Compared = serde_json::from_value(row).unwrap_or_else(|error| panic!("{error}"));
    let (ratio, p, noise) = (new / base, interval.map(|_| 0.2), Some(threshold / 2.0));
    Compared { base, new, ratio, ratio_ci95: interval, p, threshold, noise, ..row }
}

fn changed(row: Compared, direction: Direction, explanation: Option<&str>) -> Compared {
    let explanation = explanation.map(str::to_owned);
    Compared { verdict: Change::Changed, direction: Some(direction), p: Some(0.0003), explanation, ..row }
}

fn unknown(row: Compared, needed: Option<u32>, explanation: &str) -> Compared {
    Compared { verdict: Change::Inconclusive, needed, explanation: Some(explanation.into()), ..row }
}

fn side(name: &str, day: u32) -> Side {
    Side {
        name: format!("2026-11-{day:02}T12-00-00Z-{name}-quick"),
        started: format!("2026-11-{day:02}T12:00:00Z"),
        machine: "AMD EPYC 9575F 64-Core Processor, 2 cores, KVM guest".into(),
        program: "0.1.0 (2849586)".into(),
        switch: None,
        as_expected: Some([6, 7]),
    }
}

fn comparison(experiments: Vec<Compared>) -> Comparison {
    let any = |verdict| experiments.iter().any(|row| row.verdict == verdict);
    Comparison {
        schema: SCHEMA.into(),
        base: side("vm", 20),
        new: side("vm", 21),
        live: false,
        verdict: [Change::Changed, Change::Inconclusive].into_iter().find(|one| any(*one)).unwrap_or(Change::Same),
        warnings: Vec::new(),
        experiments,
        not_compared: Vec::new(),
        geometric_means: Vec::new(),
    }
}

fn mixed() -> Comparison {
    let clock = "The clock fell by 8.0 %, and the rate with it; per cycle nothing changed.";
    let per_cycle = PerCycle { ratio: 0.999, ratio_ci95: Some([0.99, 1.01]), verdict: Change::Same };
    let fma = |threads: u32, base: f64| {
        let id = format!("cpu/fma/fp64/avx512/t{threads}");
        let row = row(&id, Unit::FlopPerSecond, [base, base * 0.919], Some([0.910, 0.928]), 0.04);
        Compared { per_cycle: Some(per_cycle), ..changed(row, Direction::Worse, Some(clock)) }
    };
    let dot = row("cpu/dot/int8/avx512_vnni/t1", Unit::OpPerSecond, [9.66e11, 9.69e11], Some([0.998, 1.006]), 0.04);
    let read = row("memory/sequential-read/t1", Unit::BytePerSecond, [3.56e10, 3.31e10], Some([0.90, 0.96]), 0.05);
    let read = Compared { allowance: 0.06, ..read };
    let copy = row("memory/sequential-copy_nt/t2", Unit::BytePerSecond, [5.23e10, 5.31e10], Some([0.93, 1.12]), 0.05);
    let chase = row("memory/chase-load/4KiB/t1", Unit::Second, [131.4e-9, 112.0e-9], Some([0.84, 0.87]), 0.05);
    let random = "disk/random-read/4KiB/d32/t1";
    let iops =
        Compared { metric: "iops".into(), ..row(random, Unit::PerSecond, [68.9e3, 70.1e3], Some([0.97, 1.07]), 0.2) };
    let latency = row(random, Unit::Second, [0.46e-3, 0.45e-3], Some([0.93, 1.03]), 0.2);
    let stream = row("net/tcp-stream/128KiB/t1", Unit::BytePerSecond, [4.05e9, 3.9e9], None, 0.1);
    let stream = Compared { units: "process runs".into(), n_base: 3, n_new: 3, p: None, ..stream };
    let too_few = "3 process runs of each side are too few: about 3 more of each are needed (--repeat).";
    Comparison {
        warnings: vec![
            "The machines differ: kernel 6.1.0-18-amd64 against 6.1.0-21-amd64.".into(),
            "BASE has fair confidence and NEW has fair confidence: assay show lists the reasons.".into(),
        ],
        not_compared: vec![
            NotCompared {
                id: "memory/sequential-write/t1".into(),
                reason: "measured with other parameters: working set 1GiB against 2GiB".into(),
            },
            NotCompared { id: "net/udp-pingpong/1B/t1".into(), reason: "only in BASE".into() },
            NotCompared { id: "net/udp-pingpong/1KiB/t1".into(), reason: "only in BASE".into() },
        ],
        geometric_means: vec![
            AreaMean { area: "cpu".into(), ratio: 0.946, n: 3 },
            AreaMean { area: "memory".into(), ratio: 1.03, n: 3 },
        ],
        ..comparison(vec![
            fma(1, 120.9e9),
            fma(2, 241.1e9),
            dot,
            unknown(
                read,
                None,
                "Disturbances of NEW may account for 6.0 % of it: 5.7 % of the rate was lost while the threads were \
                 running. How much this machine differs from run to run is not known: repeat BASE and NEW, or use --live.",
            ),
            unknown(copy, Some(14), "About 14 more samples of each side than these 9 are needed (--repeat)."),
            changed(chase, Direction::Better, None),
            iops,
            latency,
            unknown(stream, Some(3), too_few),
        ])
    }
}

fn live() -> Comparison {
    let units = |row: Compared| Compared {
        units: "pairs".into(),
        noise: None,
        noise_source: None,
        n_base: 24,
        n_new: 24,
        ..row
    };
    let fma = row("cpu/fma/fp64/avx2/t1", Unit::FlopPerSecond, [120.9e9, 114.6e9], Some([0.942, 0.953]), 0.02);
    let other = row("disk/random-read/4KiB/d32/sync/t1", Unit::PerSecond, [20e3, 21e3], Some([1.02, 1.08]), 0.02);
    let other =
        Compared { metric: "iops".into(), id_new: Some("disk/random-read/4KiB/d32/io_uring/t1".into()), ..other };
    let switched = |word: &str| Side { switch: Some(format!("governor {word}")), name: "cpu".into(), ..side("vm", 21) };
    Comparison {
        live: true,
        base: switched("performance"),
        new: switched("powersave"),
        ..comparison(vec![
            changed(units(fma), Direction::Worse, None),
            unknown(units(other), Some(12), "About 12 more pairs than these 24 are needed (--pairs)."),
        ])
    }
}

fn all_the_same() -> Comparison {
    comparison(vec![row("cpu/fma/fp64/avx2/t1", Unit::FlopPerSecond, [120.9e9, 120.9e9], Some([0.9999, 1.0002]), 0.02)])
}

fn all() -> Vec<(&'static str, Comparison)> {
    vec![("mixed", mixed()), ("live", live()), ("same", all_the_same()), ("hostile", hostile())]
}

/// Names and texts of a later version or with harmful content, and extreme values.
fn hostile() -> Comparison {
    let long = format!("quantum/{}/t1", "entangled-".repeat(12));
    let strange = row(&long, Unit::One, [1e-9, 5e7], Some([1e15, 9e16]), 0.02);
    let strange = changed(strange, Direction::Better, Some("a | b <script> `c`\n\u{1b}[31m*d* Größe × 2"));
    let quiet = Compared { noise_source: None, ..row("cpu/x/t1", Unit::Hertz, [3e9, 3e9], Some([1.0, 1.0]), 0.02) };
    let mut comparison = comparison(vec![strange, Compared { metric: "clock".into(), ..quiet }]);
    comparison.base.name = "a|b\n\u{1b}[31m".into();
    comparison.base.machine = String::new();
    comparison.warnings = vec!["x ".repeat(100)];
    comparison
}

#[test]
fn every_comparison_at_both_kinds_of_terminal() {
    for (name, comparison) in all() {
        snapshot(&format!("comparison_{name}_120_unicode"), &text(&comparison, &RICH));
        snapshot(&format!("comparison_{name}_80_ascii"), &text(&comparison, &Style::PLAIN));
    }
    snapshot("comparison_mixed_80_unicode", &text(&mixed(), &Style { width: 80, ..RICH }));
    snapshot("comparison_mixed_120_ascii", &text(&mixed(), &Style { unicode: false, ..RICH }));
}

#[test]
fn markdown_and_json() {
    for (name, comparison) in all() {
        snapshot(&format!("comparison_{name}_markdown"), &markdown(&comparison));
    }
    let written = pretty(&mixed(), "comparison").unwrap();
    assert_eq!(serde_json::from_str::<Comparison>(&written).unwrap(), mixed());
    snapshot("comparison_live_json", &pretty(&live(), "comparison").unwrap());
}

#[test]
fn no_line_is_wider_than_the_terminal_and_plain_output_is_ascii() {
    for (name, comparison) in all().into_iter().filter(|(name, _)| *name != "hostile") {
        for width in [80, 100, 120, 160] {
            for unicode in [false, true] {
                let text = text(&comparison, &Style { width, unicode, color: false });
                assert!(unicode || text.is_ascii(), "{name}: {text}");
                for line in text.lines() {
                    assert!(line.chars().count() <= width, "{name} at {width}: {line}");
                    assert_eq!(line.trim_end(), line, "{name}: blanks at the end of a line");
                }
            }
        }
    }
    assert!(text(&hostile(), &Style::PLAIN).is_ascii());
}

#[test]
fn nothing_is_said_by_colour_alone() {
    for (name, comparison) in all() {
        let colored = text(&comparison, &Style { color: true, ..RICH });
        let mut parts = colored.split('\x1b');
        let first = parts.next().unwrap_or_default().to_owned();
        let plain = parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest));
        assert_eq!(plain, text(&comparison, &RICH), "{name}");
    }
}

#[test]
fn verdicts_are_counted_in_a_sentence() {
    let first = |comparison: &Comparison| text(comparison, &RICH).lines().next().unwrap().to_owned();
    assert_eq!(
        first(&mixed()),
        "3 of 9 results changed, 2 for the worse and 1 for the better; 3 are unchanged within 4 … 20 %; 3 are inconclusive."
    );
    assert_eq!(first(&all_the_same()), "No result changed; 1 is unchanged within 2 %.");
    assert_eq!(first(&live()), "1 of 2 results changed, for the worse; 1 is inconclusive.");
    assert_eq!(first(&comparison(Vec::new())), "Nothing was compared.");
    let worse = |count: usize| comparison(vec![mixed().experiments[0].clone(); count]);
    assert_eq!(first(&worse(2)), "2 of 2 results changed, both for the worse.");
    assert_eq!(first(&worse(3)), "3 of 3 results changed, all for the worse.");
}
