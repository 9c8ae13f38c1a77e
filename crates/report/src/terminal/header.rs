//! The first lines: program, suite, machine, duration and confidence.

use model::document::{Document, Status};
use model::experiment::Area;
use model::machine::Machine;
use model::number::{counted, cpu_quota, duration, size};

use crate::layout::{flow, wrap};
use crate::style::{Style, Tone};

pub(super) fn lines(document: &Document, style: &Style) -> Vec<String> {
    let parts: Vec<String> = summary(document).iter().map(|part| style.clean(part)).collect();
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let head = flow(&parts, style.separator(), style.width);
    let head = head.iter().map(|line| style.paint(line, Tone::Strong));
    head.chain(state(document).iter().flat_map(|text| wrap(text, "", style.width))).collect()
}

pub(crate) fn summary(document: &Document) -> Vec<String> {
    let run = &document.run;
    let parts = [
        format!("Assay {}", document.assay.version),
        suite_words(&run.suite),
        machine_words(&document.machine),
        duration(run.seconds),
        run.confidence.map_or_else(String::new, |confidence| format!("{confidence} confidence")),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}

/// `quick suite`; an area that was measured alone has its name in place of a suite's.
pub(crate) fn suite_words(suite: &str) -> String {
    if suite.parse::<Area>().is_ok() { suite.to_owned() } else { format!("{suite} suite") }
}

/// `AMD EPYC 9575F (Zen 5), 2 cores, 23 GiB, KVM guest`.
pub(crate) fn machine_words(machine: &Machine) -> String {
    let cpu = &machine.cpu;
    let mut parts = vec![match (cpu.model_name.as_deref().map(short_model), &cpu.microarchitecture) {
        (Some(name), Some(microarchitecture)) => format!("{name} ({microarchitecture})"),
        (Some(name), None) => name,
        (None, microarchitecture) => format!("{} processor", microarchitecture.as_deref().unwrap_or("unknown")),
    }];
    parts.extend(cpu.cores.map(|cores| counted(u64::from(cores), "core")));
    parts.extend(cpu.threads.filter(|threads| Some(*threads) != cpu.cores).map(|n| counted(u64::from(n), "CPU")));
    let available = cpu.available_cpus.len() as u64;
    if cpu.threads.is_some_and(|threads| available > 0 && available < u64::from(threads)) {
        parts.push(format!("{available} of them usable"));
    }
    parts.extend(cpu.quota_cpus.map(|cpus| format!("limited to {}", cpu_quota(cpus))));
    parts.extend(machine.memory.total_bytes.map(size));
    parts.extend(machine.virtualization.as_ref().map(|below| match &below.hypervisor {
        Some(name) => format!("{name} guest"),
        None => "virtual machine".to_owned(),
    }));
    parts.join(", ")
}

/// A brand string without marks of registration, number of cores, and clock.
fn short_model(name: &str) -> String {
    let name = ["(R)", "(TM)", "(r)", "(tm)"].iter().fold(name.to_owned(), |name, mark| name.replace(mark, ""));
    let name = name.split(" @ ").next().unwrap_or_default();
    let noise = |word: &&str| !(word.ends_with("-Core") || matches!(*word, "CPU" | "Processor"));
    name.split_whitespace().filter(noise).collect::<Vec<_>>().join(" ")
}

pub(crate) fn state(document: &Document) -> Option<String> {
    let planned = counted(document.experiments.len() as u64, "benchmark");
    let count = |status| document.experiments.iter().filter(|row| row.status == status).count();
    let [measured, failed, skipped] = [Status::Ok, Status::Failed, Status::Skipped].map(count);
    if document.experiments.is_empty() {
        Some("No benchmark was planned.".to_owned())
    } else if !document.run.complete {
        Some(format!("This run was interrupted: {measured} of {planned} were measured."))
    } else if measured < document.experiments.len() {
        Some(format!("{measured} of {planned} measured, {failed} failed, {skipped} skipped."))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brand_strings_are_shortened_to_what_distinguishes_machines() {
        let short = ["AMD EPYC 9575F 64-Core Processor", "Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz", "Neoverse-V2"]
            .map(short_model);
        assert_eq!(short, ["AMD EPYC 9575F", "Intel Xeon E5-2680 v3", "Neoverse-V2"]);
    }
}
