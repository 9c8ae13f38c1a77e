//! `assay report RUN --charts DIR`: whole files of every chart, or none.

use std::fs;

use super::{RUN, with_run};
use crate::common::{assay, names, refusal};

#[test]
fn charts_are_written_as_svg_or_not_at_all() {
    let scratch = with_run(&RUN);
    let folder = scratch.join("pictures");
    let written = assay(&scratch, &format!("report a-run --charts {}", folder.display()));
    assert_eq!(written.status, Some(0), "{written:?}");
    let files = names(&folder);
    assert!(!files.is_empty());
    for name in &files {
        let is_svg = name.strip_suffix(".svg").is_some() && fs::read(folder.join(name)).unwrap().starts_with(b"<?xml");
        assert!(is_svg, "{name}");
    }
    let folder = scratch.join("mine");
    fs::create_dir(&folder).unwrap();
    let into = format!("report a-run --charts {}", folder.display());
    let file = folder.join("thesis.txt");
    fs::write(&file, "years").unwrap();
    let refused = assay(&scratch, &into);
    assert!(refusal(&refused).contains("is not empty. Choose a new"), "{refused:?}");
    assert_eq!(names(&folder), ["thesis.txt"]);
    let refused = assay(&scratch, &format!("report a-run --charts {}", file.display()));
    assert!(refusal(&refused).contains("is a file. Choose a folder"), "{refused:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "years");
    let refused = assay(&scratch, "report a-run --charts /proc/assay-charts");
    assert!(refusal(&refused).contains("cannot make the folder '/proc/assay-charts'"), "{refused:?}");
    let refused = assay(&scratch, "report any --charts x --format csv");
    assert_eq!(refused.status, Some(2), "{refused:?}");
}
