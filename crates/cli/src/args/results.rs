//! `assay compare`, `assay report`, `assay runs` and `assay schema`: their options.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use model::unit::parse_seconds;

pub(super) const COMPARE_EXAMPLES: &str = "\
Examples:
  assay compare BASE NEW                    two runs: changed, same, or cannot tell
  assay compare BASE NEW --format markdown  a table for a pull request
  assay compare --live 'cpu --threads 1' 'cpu --threads 1' --switch-b 'CMD'
";

pub(super) const REPORT_EXAMPLES: &str = "\
Examples:
  assay report RUN                          the page: report.html in the run's folder
  assay report RUN --format csv -o run.csv  one line per metric
  assay report RUN --table classic-cpu      one table, for a spreadsheet
";

/// Which schema.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The form of document.
    #[arg(value_name = "FORM", default_value = "run", value_parser = clap::builder::PossibleValuesParser::new(::report::schema::FORMS.iter().map(|form| form.name)))]
    pub(crate) form: String,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The run to compare with: its folder, its run.json, or its name in the store. With --live: options, or another
    /// assay and its options.
    #[arg(value_name = "BASE")]
    pub(crate) base: String,
    /// The run to be compared; with --live: options, or another assay and its options.
    #[arg(value_name = "NEW")]
    pub(crate) new: String,
    /// Measure both now, in turn.
    #[arg(long)]
    pub(crate) live: bool,
    /// The command that switches the machine to side A; it is run at the end as well.
    #[arg(long, value_name = "CMD", requires = "live")]
    pub(crate) switch_a: Option<String>,
    /// The command that switches the machine to side B.
    #[arg(long, value_name = "CMD", requires = "live")]
    pub(crate) switch_b: Option<String>,
    /// Exactly so many pairs; by default 8 to 40, until every row has its verdict.
    #[arg(long, value_name = "N", requires = "live", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) pairs: Option<u32>,
    /// For the whole live comparison, such as 5m.
    #[arg(long, value_name = "TIME", requires = "live", value_parser = parse_seconds)]
    pub(crate) time_budget: Option<f64>,
    /// Seed of the live order.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// No progress.
    #[arg(long)]
    pub(crate) quiet: bool,
    /// For programs: the comparison as JSON, the same as --format json.
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// The form.
    #[arg(long, default_value = "text", value_parser = ["text", "json", "markdown"])]
    pub(crate) format: String,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// A run's folder, its run.json, or its name in the store.
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// The form; html where none is named.
    #[arg(long, value_parser = formats())]
    pub(crate) format: Option<String>,
    /// Only this table, as csv unless another form of tables is named: classic-cpu, memory-measured … (for a name that
    /// there is none of, the names are told).
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,
    /// Write to this file, - for standard output. Where none is named, html goes to report.html in the run's folder and
    /// every other form to standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write only the charts, as SVG files, to this absent or empty folder; as PNG too if built with --features png.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["format", "table", "output"])]
    pub(crate) charts: Option<PathBuf>,
}

/// The forms of a report, each with what it is.
fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(
        report::RENDERERS.iter().map(|renderer| PossibleValue::new(renderer.name).help(renderer.about)),
    )
}

#[derive(Debug, Args)]
pub(crate) struct Runs {
    /// Show this run.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}
