//! `assay compare`, `assay report`, `assay show`, `assay runs` and `assay schema`: their options.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use model::unit::parse_seconds;

pub(super) const COMPARE_EXAMPLES: &str = "\
Examples:
  assay compare previous latest             changed, unchanged or inconclusive
  assay compare BASE NEW --format markdown  a table for a pull request
  assay compare --live 'cpu --threads 1' 'cpu --threads 1' --switch-b 'CMD'
";

pub(super) const REPORT_EXAMPLES: &str = "\
Examples:
  assay report RUN                          report.html in the run's folder
  assay report RUN --format csv -o run.csv  one line per metric
  assay report RUN --table classic-cpu      one table, for a spreadsheet
";

/// The schema to print.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The document.
    #[arg(value_name = "FORM", default_value = "run", value_parser = clap::builder::PossibleValuesParser::new(::report::schema::FORMS.iter().map(|form| form.name)))]
    pub(crate) form: String,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The run to compare with: its folder, run.json, name or the beginning of it, label, latest, or previous.
    ///
    /// With --live: options of a measuring command, or another assay program and its options.
    #[arg(value_name = "BASE")]
    pub(crate) base: String,
    /// The run to compare.
    #[arg(value_name = "NEW")]
    pub(crate) new: String,
    /// Measure BASE and NEW now, alternately.
    #[arg(long)]
    pub(crate) live: bool,
    /// Command that switches the machine to BASE; also run at the end.
    #[arg(long, value_name = "CMD", requires = "live")]
    pub(crate) switch_a: Option<String>,
    /// Command that switches the machine to NEW.
    #[arg(long, value_name = "CMD", requires = "live")]
    pub(crate) switch_b: Option<String>,
    /// Measure exactly N pairs [default: 8 to 40, until every verdict is clear].
    #[arg(long, value_name = "N", requires = "live", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) pairs: Option<u32>,
    /// Time for the whole live comparison, such as 5m.
    #[arg(long, value_name = "TIME", requires = "live", value_parser = parse_seconds)]
    pub(crate) time_budget: Option<f64>,
    /// Seed of the order of --live.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print no progress.
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print JSON, the same as --format json.
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Format of the output.
    #[arg(long, default_value = "text", value_parser = ["text", "json", "markdown"])]
    pub(crate) format: String,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// A run's folder, its run.json, its name or the beginning of it, its label, latest, or previous.
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Format [default: html].
    #[arg(long, value_parser = formats())]
    pub(crate) format: Option<String>,
    /// Only this table, such as classic-cpu or memory-measured, as csv, markdown or latex.
    ///
    /// An unknown name lists the tables.
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,
    /// End with status 1 if a result is below its expected range; in junit such a result is a failure.
    #[arg(long)]
    pub(crate) fail_below: bool,
    /// Output file; - is standard output.
    ///
    /// By default html goes to report.html in the run's folder, every other format to standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write only the charts, as SVG files, to this absent or empty folder.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["format", "table", "output"])]
    pub(crate) charts: Option<PathBuf>,
}

/// The formats of a report with their descriptions.
fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(
        report::RENDERERS.iter().map(|renderer| PossibleValue::new(renderer.name).help(renderer.about)),
    )
}

pub(super) const SHOW_EXAMPLES: &str = "\
Examples:
  assay show                                the tables of the latest run
  assay show previous                       the tables of the run before it
  assay show 2026-11-26T13                  the run whose name begins so
";

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// A run's folder, its run.json, its name or the beginning of it, its label, latest, or previous.
    #[arg(value_name = "RUN", default_value = "latest")]
    pub(crate) run: String,
    /// Print the one-screen answer instead of the tables.
    #[arg(long)]
    pub(crate) answer: bool,
}
