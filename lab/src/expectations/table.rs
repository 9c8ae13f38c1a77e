//! A table of published values as text: sorted, tab-separated, with its sources in the header.

use std::collections::BTreeMap;
use std::path::Path;

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) file: &'static str,
    pub(crate) sources: Vec<String>,
    pub(crate) columns: &'static [&'static str],
    /// The cells after the key, which is the first column.
    pub(crate) rows: BTreeMap<String, Vec<String>>,
}

impl Table {
    /// Writes the file, and refuses one that the program could not read. Returns its size.
    pub(crate) fn write(&self, folder: &Path) -> Result<usize, String> {
        let rows = self.rows.iter().map(|(key, cells)| format!("{key}\t{}", cells.join("\t")));
        let head = std::iter::once(machine::PUBLISHED_FORMAT.to_owned()).chain(self.sources.iter().cloned());
        let lines: Vec<String> = head.chain([self.columns.join("\t")]).chain(rows).collect();
        let text = lines.join("\n") + "\n";
        machine::check_published(&text).map_err(|error| format!("{}: {error}", self.file))?;
        let path = folder.join(self.file);
        std::fs::write(&path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(text.len())
    }
}
