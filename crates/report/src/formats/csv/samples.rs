//! Tidy CSV of the samples: one line for each repetition of each metric, and for each run of a trusted tool beside it.

use model::document::{Document, Row};
use model::reference::Reference;
use model::sample::{Metric, Sample};

use super::field::{figure, line, text};
use crate::render::{Render, RenderError};

/// The columns. `source` is `assay` or the tool; `index` counts the samples of a metric, and of a tool the pairs, from 1.
const COLUMNS: [&str; 18] = [
    "id", "area", "threads", "method", "metric", "unit", "better", "source", "index", "value", "work", "seconds",
    "start", "launch", "block", "session", "clock_hz", "flags",
];

/// What stands for ourselves in the column `source`.
const OURS: &str = "assay";

/// Writes one line per sample.
#[derive(Clone, Copy, Debug)]
pub struct CsvSamples;

impl Render for CsvSamples {
    fn render(&self, document: &Document) -> Result<Vec<u8>, RenderError> {
        Ok(render(document).into_bytes())
    }
}

/// The whole file, with its heading. Rows without samples have no lines.
pub fn render(document: &Document) -> String {
    let mut text = line(&COLUMNS.map(str::to_owned));
    for row in &document.experiments {
        for metric in &row.metrics {
            let own = (1_u32..).zip(&metric.samples).map(|(index, sample)| own(index, sample));
            let theirs = metric.references.iter().flat_map(theirs);
            for fields in own.chain(theirs) {
                text.push_str(&line(&[common(row, metric).into(), fields].concat()));
            }
        }
    }
    text
}

/// From `id` to `better`.
fn common(row: &Row, metric: &Metric) -> [String; 7] {
    [
        row.id.clone(),
        row.area.to_string(),
        row.params.threads().to_string(),
        row.method.clone(),
        metric.name.to_string(),
        metric.unit.to_string(),
        metric.better.to_string(),
    ]
}

/// From `source` on, of one of ours.
fn own(index: u32, sample: &Sample) -> Vec<String> {
    let mut fields = vec![OURS.to_owned(), index.to_string()];
    fields.extend([Some(sample.value), sample.work, Some(sample.seconds), Some(sample.start)].map(figure));
    fields.extend([sample.launch, sample.block, sample.session].map(|number| text(Some(number))));
    fields.extend([figure(sample.clock_hz), sample.flags.join(";")]);
    fields
}

/// From `source` on, of each run of a tool.
fn theirs(reference: &Reference) -> impl Iterator<Item = Vec<String>> {
    reference.samples.iter().map(|sample| {
        let known = [reference.tool.clone(), sample.pair.to_string(), figure(Some(sample.value))];
        let rest = [String::new(), String::new(), figure(Some(sample.start))];
        let mut fields: Vec<String> = known.into_iter().chain(rest).collect();
        fields.resize(COLUMNS.len() - 7, String::new());
        fields
    })
}
