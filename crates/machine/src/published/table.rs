//! A table of published values: a format line, the sources of its columns, the names of the columns, sorted rows.

use std::fmt;

/// The first line of every table. A table with another one has no rows.
pub const FORMAT: &str = "# assay published values, format 1";
const SOURCE: &str = "# source\t";

#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    text: &'static str,
}

/// One row of a table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    table: Table,
    cells: Vec<&'static str>,
}

/// A published value in base units, and where it was published.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// The value.
    pub value: f64,
    /// The document that states it.
    pub origin: String,
    /// The date of that document.
    pub date: String,
}

impl Table {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self { text }
    }

    fn body(self) -> impl Iterator<Item = &'static str> {
        let text = if self.text.lines().next() == Some(FORMAT) { self.text } else { "" };
        text.lines().filter(|line| !line.starts_with('#'))
    }

    fn columns(self) -> Vec<&'static str> {
        self.body().next().unwrap_or_default().split('\t').collect()
    }

    fn lines(self) -> impl Iterator<Item = &'static str> {
        self.body().skip(1)
    }

    fn row(self, line: &'static str) -> Row {
        Row { table: self, cells: line.split('\t').collect() }
    }

    /// The keys of all rows, in order.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        self.lines().filter_map(|line| line.split('\t').next())
    }

    /// The rows with a key, whose case does not count.
    pub(crate) fn find(self, key: &str) -> Vec<Row> {
        let is = |line: &&str| line.split('\t').next().is_some_and(|name| name.eq_ignore_ascii_case(key));
        self.lines().filter(is).map(|line| self.row(line)).collect()
    }

    /// Name and date of the first source.
    pub(crate) fn first_source(self) -> Option<(String, String)> {
        let line = self.text.lines().find_map(|line| line.strip_prefix(SOURCE))?;
        let [name, _, date, ..] = line.split('\t').collect::<Vec<_>>()[..] else { return None };
        Some((name.to_owned(), date.to_owned()))
    }

    /// All rows, in order.
    pub(crate) fn rows(self) -> impl Iterator<Item = Row> {
        self.lines().map(move |line| self.row(line))
    }

    #[cfg(test)]
    pub(crate) const fn text(self) -> &'static str {
        self.text
    }

    /// The origin and date of a column's values: those of the row's source, or of the first source of the column.
    fn source(self, column: &str, row: &Row) -> Option<(String, String)> {
        let lines = self.text.lines().filter_map(|line| line.strip_prefix(SOURCE));
        let mut sources = lines.map(|line| line.split('\t').collect::<Vec<_>>());
        let number = row.cell("source").and_then(|number| number.parse::<usize>().ok());
        let source = match number {
            Some(number) => sources.nth(number.checked_sub(1)?)?,
            None => {
                sources.find(|source| source.last().is_some_and(|all| all.split(',').any(|name| name == column)))?
            }
        };
        let [name, _, date, ..] = source[..] else { return None };
        let page = row.cell("page").zip(row.cell("date")).filter(|_| number.is_some() || date == "-");
        Some(match page {
            Some((page, date)) => (format!("{name}: {page}"), date.to_owned()),
            None => (name.to_owned(), date.to_owned()),
        })
    }
}

impl Row {
    pub(crate) fn name(&self) -> &'static str {
        self.cells.first().copied().unwrap_or_default()
    }

    /// A cell that is not empty.
    pub(crate) fn cell(&self, column: &str) -> Option<&'static str> {
        let at = self.table.columns().iter().position(|name| *name == column)?;
        self.cells.get(at).copied().filter(|cell| !cell.is_empty())
    }

    /// A number in base units: the cell's times `unit`.
    pub(crate) fn number(&self, column: &str, unit: f64) -> Option<Published> {
        let value = self.cell(column)?.parse::<f64>().ok()? * unit;
        let (origin, date) = self.table.source(column, self)?;
        Some(Published { value, origin, date })
    }
}

/// Why a table is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableError {
    /// Another version of the format.
    Format(String),
    /// No line names a source.
    NoSource,
    /// A row has another number of cells than there are columns; its line.
    Cells(usize),
    /// A row is not after the one before; its line.
    Order(usize),
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(found) => write!(f, "the first line is '{found}', not '{FORMAT}'"),
            Self::NoSource => write!(f, "no line states a source, commit, date, licence and columns"),
            Self::Cells(line) => write!(f, "line {line} has another number of cells than there are columns"),
            Self::Order(line) => write!(f, "line {line} does not sort after the line before"),
        }
    }
}

/// Whether a table's text is one that this program reads.
pub fn check(text: &str) -> Result<(), TableError> {
    let first = text.lines().next().unwrap_or_default();
    if first != FORMAT {
        return Err(TableError::Format(first.to_owned()));
    }
    if !text.lines().any(|line| line.strip_prefix(SOURCE).is_some_and(|rest| rest.split('\t').count() == 5)) {
        return Err(TableError::NoSource);
    }
    let mut rows = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    let columns = rows.next().map_or(0, |(_, line)| line.split('\t').count());
    let mut before = "";
    for (index, line) in rows {
        if line.split('\t').count() != columns {
            return Err(TableError::Cells(index + 1));
        }
        if line <= before {
            return Err(TableError::Order(index + 1));
        }
        before = line;
    }
    Ok(())
}
