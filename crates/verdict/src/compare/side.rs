//! The two sides of a comparison in words, and whether they are the same run.

use model::comparison::Side;
use model::document::Document;
use model::machine::Machine;

/// Whether two documents are the same run: names are unique in one store only.
pub(super) fn is_same_run(one: &Document, other: &Document) -> bool {
    one.run.id == other.run.id && one.run.started == other.run.started
}

/// A side in words.
pub(crate) fn side(document: &Document) -> Side {
    Side {
        name: document.run.id.clone(),
        started: document.run.started.clone(),
        machine: machine_words(&document.machine),
        program: program_words(document),
        switch: None,
    }
}

/// `AMD EPYC 9575F, 2 cores, KVM guest`.
fn machine_words(machine: &Machine) -> String {
    let cpu = &machine.cpu;
    let name = cpu.model_name.as_ref().or(cpu.microarchitecture.as_ref());
    let mut parts = vec![name.map_or_else(|| "unknown processor".to_owned(), |name| name.trim().to_owned())];
    parts.extend(cpu.cores.map(|cores| format!("{cores} core{}", if cores == 1 { "" } else { "s" })));
    parts.extend(machine.virtualization.as_ref().map(|below| match &below.hypervisor {
        Some(name) => format!("{name} guest"),
        None => "virtual machine".to_owned(),
    }));
    parts.join(", ")
}

/// `0.1.0 (2849586)`.
fn program_words(document: &Document) -> String {
    let program = &document.assay;
    program.git.as_ref().map_or_else(|| program.version.clone(), |git| format!("{} ({git})", program.version))
}
