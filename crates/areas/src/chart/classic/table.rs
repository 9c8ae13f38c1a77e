//! A classic table as a value: each column has its texts for a terminal and its cells for a grid.

use model::document::{Document, Status};
use model::experiment::Area;
use model::number::{duration, percent, quantity};
use model::unit::Unit;
use model::warning::Confidence;

use super::values::{Estimate, Line, Measured, Point, Series};
use crate::chart::grid::{ABSENT, Cell, Column, Grid, GridLine};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
    /// Numbers by their decimal point; text to the left.
    Decimal,
}

/// The heading of intervals in a terminal; a style has its own sign for it.
pub const PLUS_MINUS: &str = "±";

/// One part of the classic suite's report, in reading order.
#[derive(Debug)]
pub enum ClassicPart {
    /// A table for a terminal, a grid, or both.
    Table(ClassicTable),
    /// A table of times with the threads side by side, for a terminal.
    SideBySide(SideBySide),
    /// Sentences in a paragraph of their own, for a terminal.
    Notes(Vec<String>),
}

#[derive(Debug, Default)]
pub struct ClassicTable {
    /// Its name and title as a grid; `None` where only a terminal has it.
    pub(super) grid: Option<(String, String)>,
    /// Its title in a terminal; `None` where only grids have it.
    pub title: Option<String>,
    pub lines: Vec<TableLine>,
    pub columns: Vec<TableColumn>,
    pub(super) notes: Vec<Note>,
}

#[derive(Debug)]
pub struct TableLine {
    pub id: String,
    pub status: Status,
    pub(super) confidence: Option<Confidence>,
    /// A blank line precedes it in a terminal.
    pub begins_group: bool,
    /// Its warnings are marked in a terminal.
    pub is_marked: bool,
}

/// Each line with its benchmark; a group begins where `group` changes.
pub(super) fn table_lines<'a, K, G: PartialEq>(
    lines: &[Line<'a, K>],
    group: impl Fn(&'a Series<K>) -> G,
) -> Vec<TableLine> {
    let line = |(index, (series, point)): (usize, &Line<'a, K>)| TableLine {
        id: point.id.clone(),
        status: point.status,
        confidence: point.confidence,
        begins_group: index > 0 && group(lines[index - 1].0) != group(series),
        is_marked: true,
    };
    lines.iter().enumerate().map(line).collect()
}

/// Columns that a narrow terminal leaves out, and the words for them. The lowest rank goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivesWay {
    /// Its place in the order in which columns are left out.
    pub rank: u8,
    pub words: &'static str,
}

#[derive(Debug, Default)]
pub struct TableColumn {
    /// Its texts for a terminal, from top to bottom.
    pub texts: Vec<String>,
    cells: Vec<Cell>,
    /// Its setting in a terminal; `None` for a column that only grids have.
    pub text: Option<TextHeading>,
    /// Its heading in a grid; `None` for a column that only a terminal has.
    grid: Option<Column>,
    /// It is in the table even where no line has anything in it.
    is_kept: bool,
    /// What it gives way as in a narrow terminal.
    pub gives_way: Option<GivesWay>,
    /// In a terminal it is below the heading of the column before it.
    pub is_joined: bool,
}

#[derive(Debug)]
pub struct TextHeading {
    pub words: String,
    pub align: Align,
    pub side: Align,
}

impl TableColumn {
    pub(super) fn words<P>(lines: &[P], text: impl Fn(&P) -> String) -> Self {
        let texts: Vec<String> = lines.iter().map(text).collect();
        Self { cells: texts.iter().map(Cell::text).collect(), texts, ..Self::default() }
    }

    pub(super) fn counts<P>(lines: &[P], count: impl Fn(&P) -> u64) -> Self {
        let cells: Vec<Cell> = lines.iter().map(|line| Cell::count(count(line))).collect();
        Self { texts: cells.iter().map(|cell| cell.text.clone()).collect(), cells, ..Self::default() }
    }

    pub(super) fn values<P>(lines: &[P], value: impl Fn(&P) -> Option<f64>, format: impl Fn(f64) -> String) -> Self {
        let values: Vec<Option<f64>> = lines.iter().map(value).collect();
        let text = |value: &Option<f64>| value.map_or_else(|| ABSENT.to_owned(), &format);
        let texts = values.iter().map(text).collect();
        Self { texts, cells: values.into_iter().map(|value| Cell::number(value, &format)).collect(), ..Self::default() }
    }

    /// Times with units of their own, for a terminal: whole totals read as people say them.
    pub(super) fn durations<K>(lines: &[Line<'_, K>], heading: impl Into<String>) -> Self {
        Self::values(lines, |(_, point)| point.total_seconds, seconds).text(heading, Align::Right)
    }

    /// Shares as percentages; the sign is in the heading of a grid.
    pub(super) fn shares<P>(lines: &[P], value: impl Fn(&P) -> Option<f64>) -> Self {
        let mut column = Self::values(lines, value, percent);
        for cell in &mut column.cells {
            cell.text = cell.text.trim_end_matches(" %").to_owned();
        }
        column
    }

    fn intervals<P>(lines: &[P], estimate: impl Fn(&P) -> Option<Estimate>, format: impl Fn(f64) -> String) -> Self {
        let words = |line: &P| {
            let ends = estimate(line).and_then(|estimate| estimate.interval);
            let finite = ends.filter(|ends| ends.iter().all(|end| end.is_finite()));
            finite.map_or_else(String::new, |[low, high]| format!("{} to {}", format(low), format(high)))
        };
        Self::words(lines, words).grid(Column::text("95 % interval"))
    }

    pub(super) fn confidences(lines: &[TableLine]) -> Self {
        Self::words(lines, |line| line.confidence.map_or("", Confidence::name).to_owned())
            .grid(Column::text("Confidence"))
    }

    /// The same in a grid, under this heading.
    pub(super) fn grid(self, column: Column) -> Self {
        Self { grid: Some(column), ..self }
    }

    pub(super) fn kept(self) -> Self {
        Self { is_kept: true, ..self }
    }

    fn has_values(&self) -> bool {
        self.is_kept || !self.cells.iter().all(Cell::is_absent)
    }

    pub(super) fn text(self, words: impl Into<String>, align: Align) -> Self {
        let side = if align == Align::Right { Align::Right } else { Align::Left };
        Self { text: Some(TextHeading { words: words.into(), align, side }), ..self }
    }

    pub(super) fn left(self) -> Self {
        Self { text: self.text.map(|heading| TextHeading { side: Align::Left, ..heading }), ..self }
    }

    pub(super) fn gives_way(self, gives_way: GivesWay) -> Self {
        Self { gives_way: Some(gives_way), ..self }
    }

    pub(super) fn joined(self) -> Self {
        Self { is_joined: true, ..self }
    }

    /// The same with a label only where `key` differs from the line above.
    pub(super) fn once<P, G: PartialEq>(mut self, lines: &[P], key: impl Fn(&P) -> G) -> Self {
        for (index, pair) in lines.windows(2).enumerate() {
            if key(&pair[0]) == key(&pair[1]) {
                self.texts[index + 1].clear();
            }
        }
        self
    }

    /// The same with `above` where the value exceeds its limit, and therefore has no share of it.
    fn or_above(mut self, is_above: impl Iterator<Item = bool>) -> Self {
        for (index, _) in is_above.enumerate().filter(|(_, is_above)| *is_above) {
            self.cells[index] = Cell::text(ABOVE);
            ABOVE.clone_into(&mut self.texts[index]);
        }
        self
    }

    /// The same with the status of what was not measured; `in_text`: in a terminal too, which else has it in a mark.
    fn or_status(mut self, lines: &[TableLine], in_text: bool) -> Self {
        for (index, line) in lines.iter().enumerate().filter(|(_, line)| line.status != Status::Ok) {
            self.cells[index] = Cell::text(line.status.name());
            self.texts[index] = if in_text { line.status.name().to_owned() } else { String::new() };
        }
        self
    }
}

/// In place of an efficiency above 100 %.
const ABOVE: &str = "above";

pub(super) fn seconds(value: f64) -> String {
    if value < 59.995 { quantity(value, Unit::Second) } else { duration(value) }
}

/// A table of benchmarks: what was measured, what tools measured, and what is possible.
#[derive(Clone, Copy)]
pub(super) struct Spec {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) measured: fn(&Point) -> &Measured,
    pub(super) lower_is_better: bool,
    /// Writes a value times `factor`.
    pub(super) format: fn(f64) -> String,
    pub(super) factor: f64,
    /// In headings of a grid: the unit of the texts (of what was measured, and of the rest), and the base unit of values.
    pub(super) units: [&'static str; 2],
    pub(super) base: Option<Unit>,
    pub(super) headings: [&'static str; 2],
    /// Headings of threads and efficiency, in a terminal; `None` for a table that only grids have.
    pub(super) in_text: Option<[&'static str; 2]>,
    /// What half of the interval gives way as, in a terminal; `None` where it has none.
    pub(super) interval: Option<GivesWay>,
    pub(super) tools: &'static [ToolColumns],
}

/// The columns of a tool: value and efficiency. An empty heading leaves the column out.
pub(super) struct ToolColumns {
    /// Names of the tool's programs; the first that was run counts.
    pub(super) programs: &'static [&'static str],
    pub(super) about: &'static str,
    pub(super) text: [&'static str; 2],
    pub(super) grid: [&'static str; 2],
    /// What it gives way as; the words name it in notes.
    pub(super) gives_way: GivesWay,
    pub(super) names_program: bool,
}

impl ToolColumns {
    fn set(&self, index: usize, column: TableColumn, in_grid: impl Fn(&str) -> Column) -> TableColumn {
        let mut column = column.gives_way(self.gives_way);
        if !self.text[index].is_empty() {
            column = column.text(self.text[index], Align::Decimal);
        }
        if !self.grid[index].is_empty() {
            column.grid = Some(in_grid(self.grid[index]));
        }
        column
    }
}

/// What the values of tools are, why lines have none, and which tools have none at all.
fn tool_notes<K>(spec: &Spec, document: &Document, points: &[Line<'_, K>]) -> Vec<Note> {
    let has = |tool: &ToolColumns, point: &Point| (spec.measured)(point).tool(tool.programs).is_some();
    let (shown, others): (Vec<&ToolColumns>, Vec<&ToolColumns>) =
        spec.tools.iter().partition(|tool| points.iter().any(|(_, point)| has(tool, point)));
    let mut notes: Vec<Note> =
        shown.iter().map(|tool| Note::needing(tool.gives_way, format!("{}.", tool.about))).collect();
    let lacks = |(_, point): &Line<'_, K>| point.status == Status::Ok && !shown.iter().all(|tool| has(tool, point));
    notes.extend(points.iter().any(lacks).then(|| {
        Note::new("Tools have no value with more threads than CPUs, where a similar benchmark has it, or without an equivalent.")
    }));
    let all = || document.experiments.iter().flat_map(|row| &row.metrics).flat_map(|metric| &metric.references);
    let why = |program: &&str| {
        let failed = all().find(|found| found.tool == **program && found.status != Status::Ok);
        let failed =
            failed.map(|found| format!("{program} {}: {}", found.status, found.reason.as_deref().unwrap_or("")));
        let unused = || document.run.not_compared.iter().find(|found| found.tool == **program);
        failed.or_else(|| unused().map(|found| format!("{program} was found, but not compared: {}", found.reason)))
    };
    let reasons = spec.tools.iter().flat_map(|tool| tool.programs).filter_map(why);
    notes.extend(reasons.map(|text| Note::new(format!("{}.", text.trim_end_matches(['.', ':', ' '])))));
    let was_run = |tool: &ToolColumns| all().any(|found| tool.programs.contains(&found.tool.as_str()));
    let unused =
        |tool: &ToolColumns| document.run.not_compared.iter().any(|found| tool.programs.contains(&found.tool.as_str()));
    let named = |what: &str, is: &dyn Fn(&ToolColumns) -> bool| {
        let names: Vec<&str> = others.iter().filter(|tool| is(tool)).map(|tool| tool.gives_way.words).collect();
        (!names.is_empty()).then(|| Note::new(format!("{what}: {}.", names.join(", "))))
    };
    notes.extend(named("Without a value of this kind", &was_run));
    notes.extend(named("Not run", &|tool| !was_run(tool) && !unused(tool)));
    notes
}

impl Spec {
    fn value_column(&self, heading: &str) -> Column {
        let column = Column::number(heading).shown(self.units[1]);
        if let Some(base) = self.base { column.base(base) } else { column }
    }

    fn share_column(&self, heading: &str) -> Column {
        let column = Column::number(heading).shown("%");
        if self.base.is_some() { column.base(Unit::One) } else { column }
    }

    pub(super) fn text(&self, value: f64) -> String {
        (self.format)(value * self.factor)
    }

    /// The table of these lines; `place` is added to its title. Its columns: `labels` first, `extra` after what was measured,
    /// `limits` after the limit, `last` before the confidences.
    pub(super) fn table<K>(
        &self,
        (document, place): (&Document, &str),
        points: &[Line<'_, K>],
        (lines, mut notes): (Vec<TableLine>, Vec<Note>),
        labels: impl IntoIterator<Item = TableColumn>,
        extra: [Vec<TableColumn>; 3],
    ) -> ClassicTable {
        let [extra, limits, last] = extra;
        let metric = self.measured;
        let format = |value: f64| self.text(value);
        let values = |of: fn(&Measured) -> Option<f64>| TableColumn::values(points, |line| of(metric(line.1)), format);
        let set = |column: TableColumn, text: &str, grid: Column| {
            let column = if self.in_text.is_some() { column.text(text, Align::Decimal) } else { column };
            column.grid(grid)
        };
        let counts = || TableColumn::counts(points, |(_, point)| point.threads.into());
        let mut labels = labels.into_iter();
        let mut columns: Vec<TableColumn> = labels.next().into_iter().collect();
        columns.push(counts().grid(Column::number("Concurrency")));
        columns.extend(labels);
        columns.extend(self.in_text.map(|[threads, _]| counts().text(threads, Align::Right)));
        let medians = values(Measured::median).or_status(&lines, self.interval.is_none());
        columns.push(set(medians, "measured", self.value_column(self.headings[0]).shown(self.units[0])).kept());
        columns.extend(self.interval.map(|interval| {
            let half = |line: &Line<'_, K>| metric(line.1).estimate.and_then(Estimate::half_interval);
            TableColumn::values(points, half, percent).text(PLUS_MINUS, Align::Decimal).gives_way(interval)
        }));
        columns.extend(extra);
        for tool in self.tools {
            let found = |line: &Line<'_, K>| metric(line.1).tool(tool.programs).map(|found| found.value);
            let values = TableColumn::values(points, found, format);
            columns.push(tool.set(0, values, |heading| self.value_column(heading)));
            let program = |line: &Line<'_, K>| metric(line.1).tool(tool.programs).map(|found| found.tool.clone());
            let programs = TableColumn::words(points, |line| program(line).unwrap_or_default());
            columns.extend(tool.names_program.then(|| programs.grid(Column::text("Reference"))));
        }
        columns.push(set(values(|measured| measured.theory), "theory", self.value_column(self.headings[1])));
        columns.extend(limits);
        let is_above = || points.iter().map(|line| metric(line.1).is_above);
        let efficiency = TableColumn::shares(points, |line| metric(line.1).efficiency).or_above(is_above());
        columns.push(set(efficiency, self.in_text.map_or("", |[_, words]| words), self.share_column("Efficiency")));
        for tool in self.tools {
            let share = |line: &Line<'_, K>| {
                let (theory, found) = metric(line.1).theory.zip(metric(line.1).tool(tool.programs))?;
                Some(if self.lower_is_better { theory / found.value } else { found.value / theory })
            };
            let shares = TableColumn::shares(points, share);
            columns.push(tool.set(1, shares, |heading| self.share_column(heading)));
        }
        let deviations = values(|measured| measured.estimate?.stddev);
        columns.push(set(deviations, "std dev", self.value_column("Standard deviation")));
        let intervals = TableColumn::intervals(points, |line| metric(line.1).estimate, format);
        notes.extend((!intervals.has_values()).then(|| Note::new("A 95 % interval takes at least 6 samples.")));
        columns.push(intervals);
        columns.extend(last);
        columns.push(TableColumn::confidences(&lines));
        columns.retain(TableColumn::has_values);
        notes.extend(is_above().any(|is| is).then(|| {
            Note::new("Above: the value is higher than the theory, so the theory is not its limit, or is too low.")
        }));
        notes.extend(tool_notes(self, document, points));
        let title = format!("{}{place}", self.title);
        let grid = Some((self.name.to_owned(), title.clone()));
        ClassicTable { grid, title: self.in_text.map(|_| title), lines, columns, notes }
    }
}

#[derive(Debug)]
pub(super) struct Note {
    text: String,
    /// The columns without which it is left out.
    needs: Option<GivesWay>,
    in_text: bool,
}

impl Note {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), needs: None, in_text: true }
    }

    pub(super) fn needing(columns: GivesWay, text: impl Into<String>) -> Self {
        Self { needs: Some(columns), ..Self::new(text) }
    }

    pub(super) fn of_grid(text: impl Into<String>) -> Self {
        Self { in_text: false, ..Self::new(text) }
    }

    /// What the column of times for the total is of, and how many of the lines that were measured did all of it.
    pub(super) fn total<K>(lines: &[Line<'_, K>], columns: GivesWay, what: &str) -> Self {
        let done: Vec<bool> =
            lines.iter().filter(|(_, point)| point.total_seconds.is_some()).map(|(_, point)| point.in_full).collect();
        let done = match (done.contains(&true), done.contains(&false)) {
            (true, false) => "each sample did the total",
            (true, true) => "some benchmarks did the total in each sample; the other times are computed from the rate",
            (false, _) => "times are computed from the rate; use --exact-workload to do the total",
        };
        Self::needing(columns, format!("Total: {what}, divided among the threads; {done}."))
    }

    pub(super) fn highest<K>(
        found: Option<(f64, Line<'_, K>)>,
        words: impl Fn(&Line<'_, K>) -> String,
    ) -> Option<Self> {
        found.map(|(share, line)| Self::new(format!("Highest efficiency: {}, {}.", percent(share), words(&line))))
    }

    /// The best lines after what makes them so; nothing without a line.
    pub(super) fn best<K>(what: &str, found: &[Line<'_, K>], words: impl Fn(&Line<'_, K>) -> String) -> Option<Self> {
        let found: Vec<String> = found.iter().map(words).collect();
        (!found.is_empty()).then(|| Self::new(format!("{what}: {}.", found.join("; "))))
    }
}

/// A column of labels, in a terminal only where `key` differs from the line above.
pub(super) fn labels<P, G: PartialEq>(
    lines: &[P],
    [text, grid]: [&str; 2],
    word: impl Fn(&P) -> String,
    key: impl Fn(&P) -> G,
) -> TableColumn {
    TableColumn::words(lines, word).once(lines, key).text(text, Align::Left).grid(Column::text(grid))
}

impl ClassicTable {
    pub fn text_notes(&self, shown: &[GivesWay]) -> Vec<String> {
        let notes = self.notes.iter().filter(|note| note.in_text);
        notes.filter(|note| note.needs.is_none_or(|own| shown.contains(&own))).map(|note| note.text.clone()).collect()
    }

    /// The table as a grid; `None` where only a terminal has it.
    pub fn into_grid(self, area: Area) -> Option<Grid> {
        let has =
            |columns| self.columns.iter().any(|column| column.grid.is_some() && column.gives_way == Some(columns));
        let notes = self.notes.iter().filter(|note| note.needs.is_none_or(has)).map(|note| note.text.clone()).collect();
        let (name, title) = self.grid?;
        let own = self.columns.into_iter().filter(TableColumn::has_values);
        let (columns, cells): (Vec<Column>, Vec<Vec<Cell>>) =
            own.filter_map(|column| Some((column.grid?, column.cells))).unzip();
        let line = |(index, line): (usize, TableLine)| GridLine {
            id: Some(line.id),
            cells: cells.iter().map(|column| column[index].clone()).collect(),
            confidence: line.confidence,
        };
        let lines = self.lines.into_iter().enumerate().map(line).collect();
        Some(Grid { lines, notes, ..Grid::new(name, Some(area), title, columns) })
    }
}

#[derive(Debug)]
pub struct SideBySide {
    pub title: &'static str,
    pub labels: Vec<TableColumn>,
    /// For each line its benchmarks: threads, id, and the time.
    pub lines: Vec<Vec<(u32, String, Option<Estimate>)>>,
}

/// The latencies of these series, the threads side by side; nothing without a series.
pub(super) fn side_by_side<K>(
    title: &'static str,
    labels: impl IntoIterator<Item = TableColumn>,
    series: &[&Series<K>],
) -> Option<ClassicPart> {
    let points = |series: &&Series<K>| {
        series.points.iter().map(|point| (point.threads, point.id.clone(), point.latency.estimate)).collect()
    };
    let lines: Vec<_> = series.iter().map(points).collect();
    let labels = labels.into_iter().filter(TableColumn::has_values).collect();
    (!lines.is_empty()).then_some(ClassicPart::SideBySide(SideBySide { title, labels, lines }))
}
