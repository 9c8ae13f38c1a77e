//! Rules that every row of both tables keeps.

use std::collections::HashSet;

use kernels::memory::MEMORY_KERNELS;
use kernels::portable;
use kernels::table::{KERNELS, Kernel};

fn legal(name: &str) -> bool {
    name.split('/').all(|part| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    })
}

fn arithmetic() -> impl Iterator<Item = &'static Kernel> {
    KERNELS.iter().chain(portable::KERNELS)
}

#[test]
fn names_are_unique_and_fit_an_id() {
    let mut seen = HashSet::new();
    let memory = MEMORY_KERNELS.iter().chain(portable::MEMORY_KERNELS).map(|kernel| kernel.name);
    for name in arithmetic().map(|kernel| kernel.name).chain(memory) {
        assert!(legal(name), "{name}");
        assert!(seen.insert(name), "{name} occurs twice");
    }
}

#[test]
fn a_name_has_operation_element_and_instruction_set() {
    for kernel in arithmetic() {
        let rest = kernel.name.strip_prefix(&format!("{}/{}/{}", kernel.op, kernel.element, kernel.isa));
        assert!(rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')), "{}", kernel.name);
    }
    for kernel in MEMORY_KERNELS {
        let rest = kernel.name.strip_prefix(&format!("{}/{}", kernel.op, kernel.isa));
        assert!(rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')), "{}", kernel.name);
    }
}

#[test]
fn no_two_rows_are_for_the_same() {
    let mut seen = HashSet::new();
    for kernel in KERNELS {
        assert!(seen.insert((kernel.op, kernel.element, kernel.isa, kernel.requires)), "{}", kernel.name);
    }
    let mut seen = HashSet::new();
    for kernel in MEMORY_KERNELS {
        assert!(seen.insert((kernel.op, kernel.isa, kernel.requires)), "{}", kernel.name);
    }
}

#[test]
fn wider_rows_come_first() {
    for pair in KERNELS.windows(2) {
        let [first, second] = pair else { unreachable!() };
        if (first.op, first.element) == (second.op, second.element) {
            assert!(first.vector_bytes() >= second.vector_bytes(), "{} before {}", first.name, second.name);
        }
    }
    for pair in MEMORY_KERNELS.windows(2) {
        let [first, second] = pair else { unreachable!() };
        assert!(first.op != second.op || first.vector_bytes >= second.vector_bytes, "{}", first.name);
    }
}

#[test]
fn every_row_declares_its_work_and_its_method() {
    for kernel in arithmetic() {
        assert!(kernel.operations() > 0 && kernel.lap() >= 1900, "{}", kernel.name);
        let (stem, revision) = kernel.method.split_once('/').unwrap();
        assert!(stem.starts_with("cpu-") && revision.parse::<u32>().unwrap() > 0, "{}", kernel.method);
        assert!(!kernel.accumulator_type.is_empty(), "{}", kernel.name);
    }
    for kernel in MEMORY_KERNELS.iter().chain(portable::MEMORY_KERNELS) {
        assert!(!kernel.loads.is_empty() || kernel.store.is_some(), "{}", kernel.name);
    }
}
