//! `cargo lab expectations`: reads public sources and writes the tables of published values in `crates/machine/data/`.
//! Sources are git directories, `OWNER+NAME/repo`; what was transcribed by hand is in `lab/data/expectations/`.

mod azure;
mod ec2;
mod gce;
mod processors;
mod results;
mod table;

use std::path::Path;
use std::process::ExitCode;

use xtask::shell::Shell;

use crate::source::Sources;

pub(crate) const USAGE: &str = "expectations SOURCES_FOLDER";

pub(crate) fn run(shell: &Shell, arguments: &[String]) -> ExitCode {
    let done = match arguments {
        [folder] => write_all(Path::new(folder), shell.root()),
        _ => Err("one folder of sources is needed".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("expectations: {reason}\nUsage: cargo lab {USAGE}");
            ExitCode::from(2)
        }
    }
}

fn write_all(folder: &Path, root: &Path) -> Result<(), String> {
    let sources = Sources { folder: folder.to_owned(), transcribed: root.join("lab/data/expectations") };
    let data = root.join("crates/machine/data");
    for make in [ec2::table, azure::table, gce::table, processors::table, results::table] {
        let table = make(&sources)?;
        let bytes = table.write(&data)?;
        println!("{}: {} rows, {bytes} B", table.file, table.rows.len());
    }
    Ok(())
}
