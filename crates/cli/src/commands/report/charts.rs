//! `assay report RUN --charts DIR`: each chart as SVG.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use bench::store::write_whole;
use model::document::Document;
use report::chart::{DrawnChart, charts, standalone};

use crate::exit::{Outcome, Result, complain, print};

pub(crate) fn write_charts(document: &Document, folder: &Path) -> Result {
    let charts = charts(document);
    if charts.is_empty() {
        complain("no chart was written: this run has no results to draw");
        return Ok(Outcome::Done);
    }
    let made = usable(folder)?;
    let file = |chart: &DrawnChart| (format!("{}.svg", chart.name), standalone(chart).into_bytes());
    let files: Vec<File> = charts.iter().map(file).collect();
    if let Err(why) = write_all(folder, &files) {
        // If we made it, it is empty again.
        let _ = made.then(|| fs::remove_dir(folder));
        return Err(why);
    }
    print(format!("{} charts in {}\n", files.len(), folder.display()).as_bytes())?;
    Ok(Outcome::Done)
}

/// Makes or checks the folder; `true` if it was made.
fn usable(folder: &Path) -> Result<bool> {
    let shown = folder.display();
    match fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            Some(_) => Err(format!("the folder '{shown}' for charts is not empty. Choose a new or empty one")),
            None => Ok(false),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let advice = ". Choose another folder";
            fs::create_dir_all(folder)
                .map_err(|error| format!("cannot make the folder '{shown}' for charts: {error}{advice}"))?;
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            Err(format!("'{shown}' is a file. Choose a folder for charts"))
        }
        Err(error) => Err(format!("cannot use the folder '{shown}' for charts: {error}. Choose another")),
    }
}

type File = (String, Vec<u8>);

/// Writes all files, or none: those written before an error are removed.
fn write_all(folder: &Path, files: &[File]) -> Result<()> {
    for (index, (name, bytes)) in files.iter().enumerate() {
        let path = folder.join(name);
        write_whole(&path, bytes).map_err(|error| {
            for (written, _) in &files[..index] {
                let _ = fs::remove_file(folder.join(written));
            }
            format!("cannot write '{}': {error}; no chart was written. Choose another folder", path.display())
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_one_file_cannot_be_written_none_is_left() {
        let folder = std::env::temp_dir().join(format!("assay-charts-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let files = [("one.svg".to_owned(), b"1".to_vec()), ("absent/two.svg".to_owned(), b"2".to_vec())];
        let error = write_all(&folder, &files).unwrap_err();
        assert!(error.contains("absent/two.svg") && error.contains("no chart was written"), "{error}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        write_all(&folder, &files[..1]).unwrap();
        assert_eq!(fs::read(folder.join("one.svg")).unwrap(), b"1");
        fs::remove_dir_all(&folder).unwrap();
    }
}
