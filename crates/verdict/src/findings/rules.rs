//! Rules of findings: code, sentence, test and evidence, as `docs/reference/findings.md` lists them.

use model::document::{Finding, Row};
use model::machine::Machine;

/// Results that differ only in their threads, ascending.
pub type Series<'a> = Vec<&'a Row>;

/// The findings of one area: its own rules, and what the rules of every area need to know of it.
#[derive(Clone, Copy, Debug)]
pub struct FindingRules {
    /// The area at the beginning of a sentence: `CPU`, `Memory`.
    pub title: &'static str,
    /// What a result measured, its threads left out: `FP64 FMA`.
    pub describe: fn(&Row) -> String,
    /// What works at the same time: `thread`, `connection`.
    pub parallel: &'static str,
    /// The series over threads that show how the area scales, and as far as they show it.
    pub scaling_series: for<'a> fn(&[Series<'a>], &Machine) -> Vec<Series<'a>>,
    /// What limits the rate of the last result compared with the first; the flag says whether it stays far below the ideal.
    pub scaling_limit: fn(&Row, &Row, bool) -> Option<String>,
    /// The area's own rules, the most important first.
    pub rules: &'static [Rule],
    /// What these rules find in undisturbed results.
    pub results: fn(&[&Row], &[Series<'_>], &Machine) -> Vec<Finding>,
}

impl FindingRules {
    /// An area without rules of its own.
    pub const fn new(title: &'static str) -> Self {
        Self {
            title,
            describe: |row| row.id.clone(),
            parallel: "thread",
            scaling_series: |series, _| series.to_vec(),
            scaling_limit: |_, _, _| None,
            rules: &[],
            results: |_, _, _| Vec::new(),
        }
    }

    /// What a result measured, with its threads if there are several: `FP64 FMA on 2 threads`.
    pub fn describe_with_threads(&self, row: &Row) -> String {
        let (what, threads) = ((self.describe)(row), row.params.threads());
        if threads < 2 { what } else { format!("{what} on {threads} {}s", self.parallel) }
    }
}

/// A rule.
#[derive(Debug)]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct Rule {
    /// The code of its findings; stable.
    pub code: &'static str,
    /// Whether it is about how far to trust results, and what to do: one of each such rule and area.
    pub is_of_trust: bool,
    /// How sure it has to be: one of the words that `docs/reference/findings.md` explains.
    pub needs: &'static str,
    /// The sentence, its fields in braces.
    pub pattern: &'static str,
    pub tested: &'static str,
    pub evidence: &'static str,
}

impl Rule {
    /// A rule about results.
    pub const fn new(
        code: &'static str,
        needs: &'static str,
        pattern: &'static str,
        tested: &'static str,
        evidence: &'static str,
    ) -> Self {
        Self { code, is_of_trust: false, needs, pattern, tested, evidence }
    }

    /// The finding in the area of the first of these results, each of which is listed once; `None` without any.
    pub fn finding(&self, fields: &[(&str, String)], evidence: &[&Row]) -> Option<Finding> {
        let mut ids: Vec<String> = Vec::new();
        for row in evidence {
            if !ids.contains(&row.id) {
                ids.push(row.id.clone());
            }
        }
        let text = filled(self.pattern, fields);
        Some(Finding { code: self.code.to_owned(), area: evidence.first()?.area, text, evidence: ids })
    }
}

/// The pattern with its fields filled in; braces in a field's value are left alone.
fn filled(pattern: &str, fields: &[(&str, String)]) -> String {
    let mut parts = pattern.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, literal) = part.split_once('}').unwrap_or((part, ""));
        text.extend(fields.iter().find(|(field, _)| *field == name).map(|(_, value)| value.as_str()));
        text.push_str(literal);
    }
    text
}

/// The rules of every area, the most important first.
pub const EVERY_AREA: &[Rule] = &[
    DISTURBED,
    WHAT_TO_TRY,
    SCALING_MANY,
    SCALING_LIMITED,
    SCALING_NONE,
    LIMIT_BINDS,
    REFERENCE_DIFFERS,
    REFERENCE_AGREES,
];

pub(super) const DISTURBED: Rule = Rule {
    is_of_trust: true,
    ..Rule::new(
        "disturbed",
        "count",
        "{area}: low confidence in {results}: {causes}.",
        "results with low confidence, by the first of their warnings that allows no more",
        "these results",
    )
};
pub(super) const WHAT_TO_TRY: Rule = Rule {
    is_of_trust: true,
    ..Rule::new(
        "what_to_try",
        "count",
        "{area}: to improve {results}: {advice}.",
        "the advice of the warning that keeps the most results of an area below high confidence (a cause before its \
         symptom); areas with the same advice share one finding",
        "these results",
    )
};
pub(super) const SCALING_MANY: Rule = Rule::new(
    "scaling_many",
    "bound",
    "Scaling with threads: {linear} of {count} benchmarks are linear, {limited} below {bound}. Least: {what}, {factor} \
     from {few} to {many}{why}.",
    "more than three series (results that differ only in their threads), from the fewest threads to the most: at least \
     95 % of the ideal, or below 80 %",
    "the first and the last result of every series",
);
pub(super) const SCALING_LIMITED: Rule = Rule::new(
    "scaling_limited",
    "bound",
    "{what}: {factor} from {few} to {many}, {share} of linear scaling{why}.",
    "the ratio grows, and its span ends below 80 % of the ideal",
    "the results with the fewest and the most threads",
);
pub(super) const SCALING_NONE: Rule = Rule::new(
    "scaling_none",
    "bound",
    "{what}: no gain from {few} to {many} ({factor}){why}.",
    "the rate with the most threads is lower, or alike",
    "the results with the fewest and the most threads",
);
pub(super) const LIMIT_BINDS: Rule = Rule::new(
    "limit_binds",
    "bound",
    "{area}: {share} of the {kind} in {results}: {limit}.",
    "results with an efficiency of at least 90 %, its span at least 85 %, by the kind of their limit",
    "these results",
);
pub(super) const REFERENCE_DIFFERS: Rule = Rule::new(
    "reference_differs",
    "difference",
    "{what}: {ratio} the result of {tool} ({ours} versus {theirs}){explanation}.",
    "the whole span of the ratio is at least 5 % above or below 1; the largest difference of each tool",
    "that result",
);
pub(super) const REFERENCE_AGREES: Rule = Rule::new(
    "reference_agrees",
    "likeness",
    "{tool} agrees within {within} in {results}.",
    "the span of the ratio is within 10 % of 1",
    "the results that agree",
);
