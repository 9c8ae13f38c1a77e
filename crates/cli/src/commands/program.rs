//! This program: as a worker process, and in documents.

use std::path::PathBuf;
use std::sync::LazyLock;

use bench::runner::WorkerCommand;
use model::document::Program;

use crate::environment;
use crate::exit::Result;

/// The date of the commit that this program is built from.
pub(crate) const DATE: Option<&str> = option_env!("ASSAY_DATE");

const LIBC: &str = if cfg!(target_env = "musl") {
    "musl, static"
} else if cfg!(target_feature = "crt-static") {
    "glibc, static"
} else {
    "glibc"
};

/// What `assay --version` prints.
pub(crate) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let [commit, date] = [option_env!("ASSAY_GIT"), DATE].map(|known| known.unwrap_or("unknown"));
    format!("{}\ncommit: {commit} of {date}\ntarget: {}\nlibc: {LIBC}", env!("CARGO_PKG_VERSION"), env!("ASSAY_TARGET"))
});

pub(crate) fn own_file() -> Result<PathBuf> {
    std::env::current_exe().map_err(|error| format!("cannot find this program's own file: {error}"))
}

pub(crate) fn worker_command() -> Result<WorkerCommand> {
    Ok(WorkerCommand { program: own_file()?, arguments: vec!["worker".into()] })
}

pub(crate) fn program() -> Program {
    Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        git: option_env!("ASSAY_GIT").map(str::to_owned),
        profile: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        argv: environment::command_line(),
    }
}
