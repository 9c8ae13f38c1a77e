//! Reference tools: what each is, which benchmarks it is compared with, its command line as a value, what its output means,
//! and why its value may differ from ours.
//!
//! Pure: this crate runs nothing, and reads neither files nor clocks. `bench::references` finds and runs the tools.
//! Order of the modules: `output`, `json`, `plausible`, `invocation`, `tool`; `version`, `rate_search` and `examples`; the adapters in `memory`,
//! `linpack`, `disk` and `net`; the table here.
#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "most items are named after what they are")]

mod disk;
pub mod examples;
mod invocation;
mod json;
mod linpack;
mod memory;
mod net;
mod output;
mod plausible;
pub mod rate_search;
#[cfg(test)]
mod tests;
mod tool;
mod version;

pub use invocation::{
    FILES, FOLDER, Invocation, ListensFor, NeededFile, NeededSetting, Otherwise, OwnFiles, OwnFolder, PORT, Server,
    Target, bare_environment,
};
pub use linpack::hpl;
pub use output::{Output, Reading};
pub use tool::{Reason, ReferenceTool, Rule, Side, ToolDescription, VersionSource, explain};
pub use version::{version_in_answer, version_in_file};

/// Every tool; a new one is a file and a line here.
pub static TOOLS: &[&dyn ReferenceTool] = &[
    &memory::likwid_bench::LikwidBench,
    &memory::stream::Stream,
    &memory::pmbw::Pmbw,
    &memory::multichase::Multichase,
    &memory::sysbench::Sysbench,
    &linpack::hpl::Hpl,
    &linpack::hpcc::Hpcc,
    &linpack::xlinpack::Xlinpack,
    &disk::fio::Fio,
    &disk::ioping::Ioping,
    &disk::iozone::Iozone,
    &net::iperf3::Iperf3,
    &net::iperf::Iperf,
    &net::sockperf::Sockperf,
    &net::ping::Ping,
];

/// Target seconds of one tool run: the shorter a pair, the less changes within it.
pub const RUN_SECONDS: f64 = model::plan::TOOL_RUN_SECONDS;

pub fn ids() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|tool| tool.description().id)
}

pub fn find(id: &str) -> Option<&'static dyn ReferenceTool> {
    TOOLS.iter().copied().find(|tool| tool.description().id == id)
}

/// Parses bytes as the output of each tool: for tests and the fuzzer, which look for panics.
#[doc(hidden)]
pub fn read_as_every_output(bytes: &[u8]) {
    let output = Output { stdout: String::from_utf8_lossy(bytes).into_owned(), stderr: String::new(), status: Some(0) };
    for tool in TOOLS {
        let experiment = (tool.description().example)();
        if let Ok(reading) = tool.parse(&output, &experiment) {
            tool.reasons("", &experiment, &reading);
        }
    }
}
