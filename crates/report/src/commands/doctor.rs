//! `assay doctor`: the verdict, then what is wrong and what to do about it, what is in order, and the reference tools.

use model::doctor::{Check, CheckStatus, Diagnosis, FoundTool};

use super::{INDENT, named, with_sections};
use crate::layout::{paragraph, width, wrap};
use crate::style::{Style, Tone};

/// The diagnosis as text, ending in a newline.
pub fn text(diagnosis: &Diagnosis, style: &Style) -> String {
    let of = |status: CheckStatus| diagnosis.checks.iter().filter(move |check| check.status == status);
    let findings = |status| of(status).flat_map(|check| finding(check, style)).collect();
    let (plain, noted): (Vec<&Check>, Vec<&Check>) = of(CheckStatus::Ok).partition(|check| check.advice.is_empty());
    let widest = plain.iter().map(|check| width(&label(&check.code))).max().unwrap_or(0);
    let in_order = plain.iter().flat_map(|check| named(&label(&check.code), &check.text, widest, style)).collect();
    let (verdict, tone) = verdict(diagnosis);
    let sections = [
        ("Problems: low confidence", Tone::Bad, findings(CheckStatus::Bad)),
        ("Remarks", Tone::Fair, findings(CheckStatus::Warning)),
        ("Worth knowing", Tone::Strong, noted.iter().flat_map(|check| finding(check, style)).collect()),
        ("Passed, unknown, or not checked", Tone::Good, in_order),
        ("Reference tools", Tone::Strong, tools(&diagnosis.references, style)),
    ];
    with_sections(paragraph(&verdict, "", tone, style), sections, style)
}

/// Whether numbers taken now can be quoted, in a sentence.
fn verdict(diagnosis: &Diagnosis) -> (String, Tone) {
    let of = |status: CheckStatus| diagnosis.checks.iter().filter(move |check| check.status == status);
    if !diagnosis.quotable {
        let reasons: Vec<String> = of(CheckStatus::Bad).map(|check| label(&check.code)).collect();
        return (format!("Results measured now have low confidence: {}.", reasons.join(", ")), Tone::Bad);
    }
    match of(CheckStatus::Warning).count() {
        0 => ("Results measured now can be relied on.".to_owned(), Tone::Good),
        1 => ("Results measured now are usable, with 1 remark.".to_owned(), Tone::Fair),
        more => (format!("Results measured now are usable, with {more} remarks."), Tone::Fair),
    }
}

/// A code in words: `cpu_quota` is "CPU quota".
fn label(code: &str) -> String {
    if code == "io_uring" {
        return code.to_owned();
    }
    let word = |word| match word {
        "cpu" => "CPU",
        "cpus" => "CPUs",
        "vcpu" => "virtual CPU",
        "smt" => "SMT",
        "io" => "I/O",
        "net" => "network",
        other => other,
    };
    code.split('_').map(word).collect::<Vec<_>>().join(" ")
}

fn finding(check: &Check, style: &Style) -> Vec<String> {
    let inner = INDENT.repeat(2);
    // Lines below the first are set in by the same, however long the first word is.
    let mut lines = wrap(&format!("{}: {}", label(&check.code), style.clean(&check.text)), &inner, style.width);
    if let Some(line) = lines.first_mut() {
        *line = format!("{INDENT}{}", line.trim_start());
    }
    if !check.advice.is_empty() {
        let arrow = style.plain("→ ");
        lines.extend(wrap(&style.clean(&check.advice), &format!("{inner}{arrow}"), style.width));
    }
    lines
}

fn tools(references: &[FoundTool], style: &Style) -> Vec<String> {
    let widest = references.iter().map(|tool| width(&tool.tool)).max().unwrap_or(0);
    let line = |tool: &FoundTool| {
        let words = |path: &String| program_words(path, tool.reason.as_deref(), tool.version.as_deref());
        named(&tool.tool, &tool.path.as_ref().map_or_else(|| "missing".to_owned(), words), widest, style)
    };
    references.iter().flat_map(line).collect()
}

pub(super) fn program_words(path: &str, reason: Option<&str>, version: Option<&str>) -> String {
    match (reason, version) {
        (Some(reason), _) => format!("{path} cannot be used: {reason}"),
        (None, Some(version)) => format!("{version}, {path}"),
        (None, None) => format!("{path}, version unknown"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::doctor::SCHEMA;

    use crate::formats::json::pretty;

    fn check(code: &str, status: CheckStatus, text: &str, advice: &str) -> Check {
        Check { code: code.into(), status, text: text.into(), advice: advice.into(), value: Some(0.5) }
    }

    fn tool(name: &str, version: Option<&str>, path: Option<&str>) -> FoundTool {
        FoundTool { tool: name.into(), path: path.map(Into::into), version: version.map(Into::into), reason: None }
    }

    fn diagnosis(checks: Vec<Check>) -> Diagnosis {
        Diagnosis {
            schema: SCHEMA.into(),
            quotable: checks.iter().all(|check| check.status != CheckStatus::Bad),
            seconds: 4.5,
            checks,
            references: vec![
                tool("likwid-bench", Some("5.2.2"), Some("/usr/bin/likwid-bench")),
                tool("fio", Some("3.33"), Some("/usr/bin/fio")),
                tool("multichase", None, Some("/opt/multichase")),
                FoundTool {
                    reason: Some("iperf3 2.9 is older than 3.1, the oldest whose output is known".into()),
                    ..tool("iperf3", None, Some("/opt/iperf3/bin/iperf3"))
                },
                tool("sockperf", None, None),
            ],
        }
    }

    fn fine() -> Vec<Check> {
        vec![
            check("steal", CheckStatus::Ok, "0.0 % of the CPUs' time was stolen.", ""),
            check("other_load", CheckStatus::Ok, "Others used 0.2 % of the CPUs' time while nothing was measured.", ""),
            check(
                "clock_chains_disagree",
                CheckStatus::Ok,
                "The two clock chains agree within 0.1 %, which is as well as they ever do on a quiet machine.",
                "",
            ),
            check("io_uring", CheckStatus::Ok, "io_uring can be used.", ""),
        ]
    }

    fn disturbed() -> Vec<Check> {
        let quota = check(
            "cpu_quota",
            CheckStatus::Bad,
            "A control group's quota of 0.5 CPUs stopped the threads for 49.8 % of the time. The result is the \
             quota's, not the processor's.",
            "Raise or remove the cgroup's CPU quota (cpu.max, cpu.cfs_quota_us).",
        );
        let nice = check(
            "low_priority",
            CheckStatus::Warning,
            "The program's nice value is 10. Others go first, and the scheduler gives shorter turns.",
            "Start Assay without nice: renice -n 0, chrt --other 0.",
        );
        let turbo = check(
            "turbo_off",
            CheckStatus::Ok,
            "Turbo is switched off. The clock stays at or below its base.",
            "echo 0 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 1 > /sys/devices/system/cpu/cpufreq/boost",
        );
        let mut checks = vec![quota, nice, turbo];
        checks.extend(fine());
        checks
    }

    const RICH: Style = Style { width: 80, unicode: true, color: false };

    #[test]
    fn a_machine_in_order_as_text() {
        insta::assert_snapshot!("doctor_in_order_ascii", text(&diagnosis(fine()), &Style::PLAIN));
    }

    #[test]
    fn a_disturbed_machine_as_text() {
        insta::assert_snapshot!("doctor_disturbed_ascii", text(&diagnosis(disturbed()), &Style::PLAIN));
        insta::assert_snapshot!("doctor_disturbed_unicode", text(&diagnosis(disturbed()), &RICH));
    }

    #[test]
    fn a_diagnosis_as_json() {
        let text = pretty(&diagnosis(disturbed()), "diagnosis").unwrap();
        assert_eq!(serde_json::from_str::<Diagnosis>(&text).unwrap(), diagnosis(disturbed()));
        insta::assert_snapshot!("doctor_json", text);
    }

    #[test]
    fn the_verdict_counts_and_names() {
        let said = |checks: Vec<Check>| verdict(&diagnosis(checks)).0;
        assert_eq!(said(fine()), "Results measured now can be relied on.");
        assert_eq!(said(disturbed()), "Results measured now have low confidence: CPU quota.");
        let warned = |count: usize| vec![check("affinity", CheckStatus::Warning, "x", "y"); count];
        assert_eq!(said(warned(1)), "Results measured now are usable, with 1 remark.");
        assert_eq!(said(warned(2)), "Results measured now are usable, with 2 remarks.");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_none_is_coloured_unasked() {
        for width in [40, 80, 120] {
            let shown = text(&diagnosis(disturbed()), &Style { width, ..Style::PLAIN });
            assert!(shown.is_ascii() && !shown.contains('\x1b') && shown.ends_with('\n'), "{shown}");
            // A word that does not fit stands alone, uncut: it is there to be copied.
            let long = shown.lines().filter(|line| line.len() > width && line.trim().contains(' '));
            assert_eq!(long.count(), 0, "{width}: {shown}");
        }
        let coloured = text(&diagnosis(disturbed()), &Style { color: true, ..RICH });
        assert!(coloured.contains('\x1b'));
    }
}
