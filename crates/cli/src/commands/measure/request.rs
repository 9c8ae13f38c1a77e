//! From options to the request for a plan.

use areas::{Choices, References, Request, Suite};
use bench::references::detect::usable;
use bench::target::look;
use model::disk_target::DiskTarget;
use model::machine::Machine;

use crate::args::measure::Measure;
use crate::commands::references::{known_tool, places, unknown_tool};
use crate::environment;
use crate::exit::Result;

fn disk_target(suite: &Suite, options: &Measure) -> Option<DiskTarget> {
    let own = || environment::store().ok().map(|store| store.root().to_owned()).or_else(|| options.out.clone());
    let directory = options.dir.clone().or_else(own).filter(|_| areas::disk::is_wanted(suite, &options.area))?;
    let directory = std::path::absolute(&directory).unwrap_or(directory);
    Some(look(directory, options.dir.is_some()))
}

pub(super) fn request(suite: Suite, choices: Choices, options: &Measure, machine: &Machine) -> Result<Request> {
    let disk = disk_target(&suite, options);
    let of_suite =
        suite.references.is_some() && options.references.is_empty() && !options.exact_workload && !options.verify;
    let tools = if of_suite { usable(&places(&options.tool)?) } else { references(&options.references)? };
    let tools = tools.into_iter().map(str::to_owned).collect();
    let request = bench::host::request(suite, machine);
    Ok(Request {
        areas: options.area.clone(),
        filter: (!options.filter.is_empty()).then(|| options.filter.join(",")),
        threads: options.threads.clone(),
        repeat: options.repeat,
        exact_workload: options.exact_workload,
        write_budget: options.write_budget,
        seed: options.seed,
        choices,
        disk,
        references: References { tools, of_suite, ..request.references },
        ..request
    })
}

/// The reference tools of these names; `all`: every known one.
fn references(names: &[String]) -> Result<Vec<&'static str>> {
    if names.len() > 1 && names.iter().any(|name| name == "none") {
        let all = names.join(",");
        return Err(format!("'none' cannot be combined with others in '{all}': list tools, or use all or none"));
    }
    let mut tools: Vec<&'static str> = Vec::new();
    for name in names {
        let named = match name.as_str() {
            "all" => tools::ids().collect(),
            "none" => Vec::new(),
            name => vec![known_tool(name).ok_or_else(|| unknown_tool(name))?],
        };
        let new: Vec<_> = named.into_iter().filter(|tool| !tools.contains(tool)).collect();
        tools.extend(new);
    }
    Ok(tools)
}
