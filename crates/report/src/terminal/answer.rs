//! The first screen: whether each area is as fast as it should be, the headline benchmarks, and what to do next. At most 30
//! lines; the tables are [`super::render`].

use model::document::{Document, Row, Status};
use model::experiment::Area;
use model::number::{Notation, UnitScale, counted, duration, spread};
use model::sample::{Expectation, ExpectationVerdict, Metric, MetricName};
use model::warning::{Confidence, Warning, WarningCode};

use areas::{AnswerLine, HeadlineRow, source_words};

use super::header;
use crate::html::text::listed;
use crate::layout::{Align, Block, Cell, Column, cut, flow, paragraph, separated, table, table_width, wrap};
use crate::style::{Style, Tone};

/// Longer lines are hard to read, and do not fit into an e-mail or a ticket.
const WIDEST: usize = 100;
/// One screen is at most this high.
const MOST_LINES: usize = 30;
/// Narrower terminals have no column of areas.
const NARROW: usize = 50;
const GAP: usize = 2;
const OR_MORE: &str = "or more";

/// What a document does not say: where it is and what came before.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The name by which commands find the run.
    pub name: Option<String>,
    /// The path of its HTML report.
    pub page: Option<String>,
    /// What changed since an earlier run of this machine with the same suite.
    pub changed: Option<String>,
}

/// The first screen of a run, ending in a newline.
pub fn answer(document: &Document, around: &Surroundings, style: &Style) -> String {
    let style = &Style { width: style.width.min(WIDEST), ..*style };
    let lines = areas::headlines(document);
    let evidence = [why_lines(document, &lines, style), next(document, around, style)].concat();
    let parts =
        [head(document, style), answers(&areas::answer_lines(document), style), headlines(&lines, style), evidence];
    let text = separated(&parts);
    // Where sentences take a second line, what they say is worth more than empty lines.
    if text.lines().count() > MOST_LINES { format!("{}\n", parts.concat().join("\n")) } else { text }
}

fn head(document: &Document, style: &Style) -> Vec<String> {
    let run = &document.run;
    let started = run.started.get(..16).map(|minute| format!("{} UTC", minute.replace('T', " ")));
    let suite = header::suite_words(&run.suite);
    let mut parts = vec![format!("Assay {}", document.assay.version), suite, duration(run.seconds)];
    parts.extend(started);
    let clean = |parts: &[String]| {
        flow(&parts.iter().map(|part| style.clean(part)).collect::<Vec<_>>(), style.separator(), style.width)
    };
    let first = clean(&parts).into_iter().map(|line| style.paint(&line, Tone::Strong)).collect::<Vec<_>>();
    [first, clean(&[header::machine_words(&document.machine)]), state(document, style)].concat()
}

fn state(document: &Document, style: &Style) -> Vec<String> {
    header::state(document).map(|text| paragraph(&text, "", Tone::Plain, style)).unwrap_or_default()
}

/// The verdict on the whole machine: `Yes.`, `No: memory and the disk are below.`; nothing where not every area has one.
pub(crate) fn verdict(lines: &[AnswerLine]) -> Option<String> {
    let below = lines.iter().filter(|line| line.verdict == Some(ExpectationVerdict::Below));
    let below: Vec<String> = below.map(|line| areas::label::labels(line.area).in_sentence.to_owned()).collect();
    if !below.is_empty() {
        let are = if below.len() == 1 { "is" } else { "are" };
        return Some(format!("No: {} {are} slower than expected.", listed(&below)));
    }
    let mut judged = lines.iter().filter(|line| line.counts).peekable();
    (judged.peek().is_some() && judged.all(|line| line.verdict.is_some())).then(|| "Yes.".to_owned())
}

fn answers(answers: &[AnswerLine], style: &Style) -> Vec<String> {
    if answers.is_empty() {
        return Vec::new();
    }
    let question = "Is it as fast as it should be?";
    let heading = match verdict(answers) {
        Some(verdict) => format!("{question}  {verdict}"),
        None => question.to_owned(),
    };
    let mut lines =
        wrap(&heading, "", style.width).iter().map(|line| style.paint(line, Tone::Strong)).collect::<Vec<_>>();
    let widest = answers.iter().map(|answer| answer.title.len()).max().unwrap_or(0);
    for AnswerLine { title, verdict, text, .. } in answers {
        let tone = if *verdict == Some(ExpectationVerdict::Below) { Tone::Bad } else { Tone::Plain };
        lines.extend(if style.width < NARROW {
            paragraph(&format!("{title}: {text}"), "  ", tone, style)
        } else {
            paragraph(text, &format!("  {title:widest$}  "), tone, style)
        });
    }
    lines
}

fn headlines(lines: &[HeadlineRow<'_>], style: &Style) -> Vec<String> {
    if lines.is_empty() {
        return Vec::new();
    }
    let blocks = blocks(lines, style);
    // What a narrow terminal has no room for goes first.
    let [names, measured, undisturbed, expected, range, confidence] = blocks;
    let choices = [
        vec![&names, &measured, &undisturbed, &expected, &confidence],
        vec![&names, &measured, &undisturbed, &range, &confidence],
        vec![&names, &measured, &range, &confidence],
        vec![&names, &measured, &confidence],
        vec![&names, &measured],
    ];
    let fits = |blocks: &&Vec<&Block>| table_width(&owned(blocks), GAP) <= style.width;
    let Some(chosen) = choices.iter().find(fits) else {
        return lines.iter().flat_map(|line| as_list(line, style)).collect();
    };
    let mut shown = table(&owned(chosen), GAP, style);
    // A reason takes the place of all values of its line.
    let room = style.width.saturating_sub(names.width() + GAP);
    for ((line, name), text) in lines.iter().zip(names.lines(style).into_iter().skip(1)).zip(shown.iter_mut().skip(1)) {
        if line.metric.is_none() {
            let reason = cut(&style.clean(&missing(line)), room, style);
            *text = format!("{name}{}{}", " ".repeat(GAP), style.paint(&reason, Tone::Dim));
        }
    }
    // Without any value there are no headings.
    shown.retain(|line| !line.is_empty());
    shown
}

fn owned(blocks: &[&Block]) -> Vec<Block> {
    blocks.iter().map(|block| (*block).clone()).collect()
}

/// A line where not even names and values fit side by side.
fn as_list(line: &HeadlineRow<'_>, style: &Style) -> Vec<String> {
    let value = line.metric.map_or_else(
        || missing(line),
        |metric| {
            let scale = scale(metric, line.area);
            format!("{} {}", scale.three(metric.summary.median), scale.unit())
        },
    );
    wrap(&style.plain(&format!("{}: {value}", line.words)), "", style.width)
}

fn blocks(lines: &[HeadlineRow<'_>], style: &Style) -> [Block; 6] {
    let column = |align, cell: &dyn Fn(&HeadlineRow<'_>) -> Cell| Column::new(align, lines.iter().map(cell));
    let of_metric = |text: &'static dyn Fn(&Metric, UnitScale, &Style) -> String| {
        move |line: &HeadlineRow<'_>| {
            let text = line.metric.map(|metric| text(metric, scale(metric, line.area), style));
            Cell::plain(text.unwrap_or_default())
        }
    };
    let measured = vec![
        column(Align::Right, &of_metric(&|metric, scale, _| scale.three(metric.summary.median))),
        column(Align::Left, &of_metric(&|_, scale, _| scale.unit().to_owned())),
        column(
            Align::Right,
            &of_metric(&|metric, _, style| spread(&metric.summary, style.plus_minus()).replace(" %", "%")),
        ),
    ];
    let of_range = |text| Block::new("expected", Align::Left, vec![column(Align::Left, &of_metric(text))]);
    let found = |line: &HeadlineRow<'_>| {
        let metric = line.metric?;
        Some(scale(metric, line.area).three(metric.summary.undisturbed.as_ref()?.value))
    };
    // A column without any value is left out.
    let none = if lines.iter().any(|line| found(line).is_some()) { style.plain("–") } else { String::new() };
    let undisturbed = |line: &HeadlineRow<'_>| {
        let text = found(line).unwrap_or_else(|| none.clone());
        Cell::plain(if line.metric.is_some() { text } else { String::new() })
    };
    let confidence = |line: &HeadlineRow<'_>| {
        let level = line.metric.and(line.row.confidence);
        level.map_or_else(Cell::default, |level| Cell::new(level.to_string(), super::row::confidence_tone(level)))
    };
    [
        Block::new(
            "",
            Align::Left,
            vec![
                column(Align::Left, &|line| Cell::new(line.group, Tone::Strong)),
                column(Align::Left, &|line| Cell::plain(style.clean(&line.words))),
            ],
        ),
        Block::new("measured", Align::Right, measured),
        Block::new("undisturbed", Align::Left, vec![column(Align::Left, &undisturbed)]),
        of_range(&|metric, scale, style| style.plain(&expected(metric, scale))),
        of_range(&|metric, scale, style| style.plain(&range(metric, scale))),
        Block::new("confidence", Align::Left, vec![column(Align::Left, &confidence)]),
    ]
}

/// One prefix for the value and what it is compared with.
pub(crate) fn scale(metric: &Metric, area: Area) -> UnitScale {
    UnitScale::of(metric.summary.median, Notation::of(area, metric.unit))
}

/// `165 to 178  limit`, `2.10 or more  base`, or a dash.
pub(crate) fn expected(metric: &Metric, scale: UnitScale) -> String {
    let source = metric.expectations.first().map(|range| match source_words(range).as_str() {
        _ if is_open(range) => "base".to_owned(),
        "limit" if metric.name == MetricName::Clock => "boost".to_owned(),
        // `5 runs`, `1 machine`: the answer above the table names this one.
        source => source.trim_start_matches("last ").trim_end_matches(" like it").to_owned(),
    });
    [range(metric, scale)].into_iter().chain(source).collect::<Vec<_>>().join("  ")
}

fn range(metric: &Metric, scale: UnitScale) -> String {
    let Some(range) = metric.expectations.first() else { return "–".to_owned() };
    let low = scale.three(range.low);
    if is_open(range) { format!("{low} {OR_MORE}") } else { format!("{low} to {}", scale.three(range.high)) }
}

/// Whether a range has no upper end: above a base clock.
fn is_open(range: &Expectation) -> bool {
    range.text.ends_with(OR_MORE)
}

pub(crate) fn missing(line: &HeadlineRow<'_>) -> String {
    let reason = match line.row.status {
        Status::Ok => "the result has no such value".to_owned(),
        _ => crate::reason::reason_words(line.row.reason.as_deref().unwrap_or("no reason is known")),
    };
    format!("not measured: {reason}")
}

/// What the table leaves open: benchmarks that the plan does not have, and why the confidence is not high.
fn why_lines(document: &Document, lines: &[HeadlineRow<'_>], style: &Style) -> Vec<String> {
    let texts = areas::unplanned(document).into_iter().chain(why_not_high(lines));
    texts.flat_map(|text| wrap(&style.clean(&text), "", style.width)).collect()
}

/// Why the confidence in headline results is low or fair, and what helps: the warning that most of them share.
pub(crate) fn why_not_high(lines: &[HeadlineRow<'_>]) -> Option<String> {
    let mut group = "";
    let named = lines.iter().map(|line| {
        group = if line.group.is_empty() { group } else { line.group };
        (line, format!("{group} {}", line.words))
    });
    let named: Vec<_> = named.filter(|(line, _)| line.metric.is_some()).collect();
    let measured: Vec<(&Row, &str)> = named.iter().map(|(line, words)| (line.row, words.as_str())).collect();
    let level =
        measured.iter().filter_map(|(row, _)| row.confidence).max().filter(|level| *level != Confidence::High)?;
    let such: Vec<_> = measured.iter().filter(|(row, _)| row.confidence == Some(level)).collect();
    let lowers = |warning: &&Warning| warning.confidence == level;
    let warnings: Vec<(&str, &Warning)> = such
        .iter()
        .flat_map(|(row, words)| row.warnings.iter().filter(lowers).map(move |warning| (*words, warning)))
        .collect();
    // The order of the codes is from causes to symptoms: of equally frequent ones the first is the cause.
    let code = WarningCode::ALL
        .iter()
        .rev()
        .max_by_key(|code| warnings.iter().filter(|(_, one)| one.code == **code).count())?;
    let of_code = warnings.iter().filter(|(_, warning)| warning.code == *code);
    let (words, worst) =
        of_code.max_by(|(_, a), (_, b)| a.value.partial_cmp(&b.value).unwrap_or(std::cmp::Ordering::Equal))?;
    let all = counted(measured.len() as u64, "result");
    let which = match &such[..] {
        [(_, words)] => format!("1 of {all}: {words}"),
        _ => format!("{} of {all}. Worst: {words}", such.len()),
    };
    Some(format!("Confidence is {level} in {which}. {} {}", first_sentence(&worst.text), worst.advice))
}

/// What was seen, without its effect.
fn first_sentence(text: &str) -> &str {
    text.split_inclusive(". ").next().unwrap_or(text).trim_end()
}

fn next(document: &Document, around: &Surroundings, style: &Style) -> Vec<String> {
    let mut lines: Vec<String> =
        around.changed.iter().flat_map(|text| wrap(&style.clean(text), "", style.width)).collect();
    let tables = match document.experiments.len() {
        0 | 1 => "Details".to_owned(),
        n => format!("All {n} results"),
    };
    let mut parts = Vec::new();
    parts.extend(around.name.as_ref().map(|name| format!("{tables}: assay show {name}")));
    parts.extend(around.changed.as_ref().map(|_| "Compare: assay compare previous latest".to_owned()));
    parts.extend(around.page.as_ref().map(|page| format!("HTML report: {page}")));
    lines.extend(flow(&parts, "    ", style.width));
    lines
}
