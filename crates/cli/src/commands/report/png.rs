//! Charts as PNG, with a sans serif font of the machine. Only with the feature `png`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::environment;
use crate::exit::Result;

type File = (String, Vec<u8>);

/// Pixels per unit of a view box.
const SCALE: f32 = 2.0;

/// File names of sans serif fonts, regular and bold, in order of preference.
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

/// Limits of the search for fonts: depth of folders, and entries.
const DEPTH: usize = 4;
const ENTRIES: usize = 20_000;

/// The charts as PNG; if no known font is installed, none and the reason.
pub(super) fn images(drawn: &[(&str, String)]) -> Result<(Vec<File>, Option<String>)> {
    let folders = environment::font_folders();
    let mut options = Options::default();
    if !load_fonts(&mut options, &folders) {
        let shown: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        let remark = format!(
            "no known sans serif font is in {}: only SVG files were written. Install one, such as Debian's \
             fonts-dejavu-core, for PNG files.",
            shown.join(", ")
        );
        return Ok((Vec::new(), Some(remark)));
    }
    let images = drawn.iter().map(|(name, svg)| Ok((format!("{name}.png"), image(name, svg, &options)?)));
    Ok((images.collect::<Result<_>>()?, None))
}

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

/// The files in a folder and its subfolders that can be read.
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
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or_else(|| failed("it is too large".to_owned()))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(error.to_string()))
}
