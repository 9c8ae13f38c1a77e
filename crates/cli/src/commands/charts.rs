//! `assay report RUN --charts DIR`: each chart as a file of its own, as SVG and as PNG.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use bench::store::write_whole;
use model::document::Document;
use report::chart::{Chart, charts, standalone};

use crate::exit::{Outcome, Result, complain, print};

/// Writes every chart that the document has data for into a folder that is absent or empty.
pub(crate) fn write_charts(document: &Document, folder: &Path) -> Result {
    let charts = charts(document);
    if charts.is_empty() {
        complain("this run has no rows that a chart could be made of; nothing was written");
        return Ok(Outcome::Done);
    }
    let made = usable(folder)?;
    // All of them are drawn before the first is written.
    let (files, remark) = files(&charts)?;
    let written = write_all(folder, &files).inspect_err(|_| {
        if made {
            // It was made for them, and is empty again.
            let _ = fs::remove_dir(folder);
        }
    });
    written?;
    if let Some(remark) = remark {
        complain(&remark);
    }
    print(format!("{} files with {} charts in {}\n", files.len(), charts.len(), folder.display()).as_bytes())?;
    Ok(Outcome::Done)
}

/// Makes a folder, or says whether one that is there can be used; `true` where it was made.
fn usable(folder: &Path) -> Result<bool> {
    let shown = folder.display();
    match fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            Some(_) => Err(format!("the folder '{shown}' for charts is not empty; name a new one, or empty it")),
            None => Ok(false),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let advice = "; name a folder elsewhere";
            fs::create_dir_all(folder)
                .map_err(|error| format!("cannot make the folder '{shown}' for charts: {error}{advice}"))?;
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            Err(format!("'{shown}' is a file; name a folder for charts"))
        }
        Err(error) => Err(format!("cannot use the folder '{shown}' for charts: {error}; name another")),
    }
}

/// A file's name and its bytes.
type File = (String, Vec<u8>);

/// Every chart as SVG and, where that can be had, as PNG; and what there is to say where it cannot.
fn files(charts: &[Chart]) -> Result<(Vec<File>, Option<String>)> {
    let drawn = charts.iter().map(|chart| (chart.name.as_str(), standalone(chart)));
    let drawn: Vec<(&str, String)> = drawn.collect();
    let (images, remark) = pixels::images(&drawn)?;
    let vectors = drawn.into_iter().map(|(name, svg)| (format!("{name}.svg"), svg.into_bytes()));
    Ok((vectors.chain(images).collect(), remark))
}

/// Writes all of the files, or takes away those that were written before one could not be.
fn write_all(folder: &Path, files: &[File]) -> Result<()> {
    for (index, (name, bytes)) in files.iter().enumerate() {
        let path = folder.join(name);
        write_whole(&path, bytes).map_err(|error| {
            let written: Vec<PathBuf> = files[..index].iter().map(|(name, _)| folder.join(name)).collect();
            for path in written {
                let _ = fs::remove_file(path);
            }
            format!("cannot write '{}': {error}; no chart was written; name a folder elsewhere", path.display())
        })?;
    }
    Ok(())
}

#[cfg(not(feature = "png"))]
mod pixels {
    use super::{File, Result};

    /// None: this program was built without them.
    pub(super) fn images(_drawn: &[(&str, String)]) -> Result<(Vec<File>, Option<String>)> {
        let remark = "this program was built without its feature png: charts were written as SVG alone";
        Ok((Vec::new(), Some(remark.to_owned())))
    }
}

#[cfg(feature = "png")]
mod pixels {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::{Options, Tree, fontdb};

    use super::{File, Result};
    use crate::environment;

    /// Pixels per unit of a view box: sharp on the displays that there are, and in print.
    const SCALE: f32 = 2.0;

    /// File names of sans serif faces, the best known first: regular, then bold of the same family.
    const FACES: &[[&str; 2]] = &[
        ["DejaVuSans.ttf", "DejaVuSans-Bold.ttf"],
        ["NotoSans-Regular.ttf", "NotoSans-Bold.ttf"],
        ["LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf"],
        ["Arimo-Regular.ttf", "Arimo-Bold.ttf"],
        ["OpenSans-Regular.ttf", "OpenSans-Bold.ttf"],
        ["Roboto-Regular.ttf", "Roboto-Bold.ttf"],
        ["Ubuntu-R.ttf", "Ubuntu-B.ttf"],
        ["Cantarell-Regular.otf", "Cantarell-Bold.otf"],
        ["FreeSans.ttf", "FreeSansBold.ttf"],
        ["FreeSans.otf", "FreeSansBold.otf"],
        ["Arial.ttf", "Arial_Bold.ttf"],
        ["arial.ttf", "arialbd.ttf"],
    ];

    /// How deep folders of fonts are looked into, and how many entries of them.
    const DEPTH: usize = 4;
    const ENTRIES: usize = 20_000;

    /// The charts as PNG; none, and why, where this machine has no font that is known.
    pub(super) fn images(drawn: &[(&str, String)]) -> Result<(Vec<File>, Option<String>)> {
        let folders = environment::font_folders();
        let mut options = Options::default();
        if !load_fonts(&mut options, &folders) {
            let shown: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
            let remark = format!(
                "no known sans serif font is in {}: charts were written as SVG alone; for PNG install one, such as Debian's \
                 fonts-dejavu-core",
                shown.join(", ")
            );
            return Ok((Vec::new(), Some(remark)));
        }
        let images = drawn.iter().map(|(name, svg)| Ok((format!("{name}.png"), image(name, svg, &options)?)));
        Ok((images.collect::<Result<Vec<File>>>()?, None))
    }

    /// Loads the first family of [`FACES`] that is there.
    fn load_fonts(options: &mut Options<'_>, folders: &[PathBuf]) -> bool {
        let mut found = Vec::new();
        let mut left = ENTRIES;
        for folder in folders {
            collect(folder, DEPTH, &mut left, &mut found);
        }
        let face = |name: &str| found.iter().find(|path| path.file_name().is_some_and(|own| own == name));
        let loaded = FACES.iter().find_map(|[regular, bold]| {
            let data = fs::read(face(regular)?).ok()?;
            let mut fonts = fontdb::Database::new();
            fonts.load_font_data(data);
            let family = fonts.faces().next()?.families.first()?.0.clone();
            if let Some(data) = face(bold).and_then(|path| fs::read(path).ok()) {
                fonts.load_font_data(data);
            }
            Some((fonts, family))
        });
        let Some((mut fonts, family)) = loaded else { return false };
        fonts.set_sans_serif_family(&family);
        options.font_family = family;
        options.fontdb = Arc::new(fonts);
        true
    }

    /// The files in a folder and in those in it; folders that cannot be read have none.
    fn collect(folder: &Path, depth: usize, left: &mut usize, found: &mut Vec<PathBuf>) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            if *left == 0 {
                return;
            }
            *left -= 1;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth > 0 => collect(&entry.path(), depth - 1, left, found),
                Ok(kind) if !kind.is_dir() => found.push(entry.path()),
                _ => {}
            }
        }
    }

    fn image(name: &str, svg: &str, options: &Options<'_>) -> Result<Vec<u8>> {
        let failed = |what: String| format!("cannot draw the chart '{name}' as PNG: {what}");
        let tree = Tree::from_str(svg, options).map_err(|error| failed(error.to_string()))?;
        let size = tree.size().to_int_size().scale_by(SCALE).ok_or_else(|| failed("it has no size".to_owned()))?;
        let mut pixels =
            Pixmap::new(size.width(), size.height()).ok_or_else(|| failed("it is too large".to_owned()))?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| failed(error.to_string()))
    }
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
