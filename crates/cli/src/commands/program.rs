//! This program: as a worker process, and in documents.

use std::path::PathBuf;

use bench::runner::WorkerCommand;
use model::document::Program;

use crate::environment;
use crate::exit::Result;

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
