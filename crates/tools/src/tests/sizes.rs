//! Sizes on command lines: each tool gets them in a unit that it can hold, or its refusal has a reason.

use std::path::Path;

use model::experiment::{DiskParams, Experiment};
use model::io::{DiskEngine, DiskOp, DiskPattern};
use model::isa::{Isa, MemoryOp};
use model::wire::HeldFile;

use crate::tests::fixtures::{chase, disk, disk_params, memory, target, tool};
use crate::{Invocation, Target};

const KIB: u64 = 1 << 10;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
const SIZES: [u64; 5] = [KIB, 2 * GIB - 1, 2 * GIB, 8 * GIB, TIB];

/// Units that the tools know, with their bytes.
const UNITS: [(&str, u64); 5] = [("kB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("B", 1), ("k", 1024)];

fn invoked(id: &str, experiment: &Experiment, file_bytes: u64) -> Result<Invocation, String> {
    tool(id).supports(experiment)?;
    let file = HeldFile { path: "/proc/1/fd/9".to_owned(), bytes: file_bytes, ..HeldFile::default() };
    let launcher = Some(Path::new("/opt/launcher"));
    tool(id).invocation(&Target { file: Some(&file), launcher, our_rate: Some(1e9), ..target(experiment) })
}

/// Number and bytes of a word that ends in a number with a unit.
fn number_and_bytes(word: &str) -> Option<(u64, u64)> {
    let (digits, factor) =
        UNITS.iter().find_map(|(unit, factor)| Some((word.strip_suffix(unit)?, *factor))).unwrap_or((word, 1));
    let start = digits.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    let number: u64 = digits[start..].parse().ok()?;
    Some((number, number * factor))
}

/// Whether the command line has the size, and no number above the largest that the tool reads.
fn has_size(id: &str, invocation: &Invocation, bytes: u64, largest: u64) -> bool {
    let numbers: Vec<(u64, u64)> =
        invocation.argv.iter().flat_map(|word| word.split(':')).filter_map(number_and_bytes).collect();
    let words = invocation.argv.join(" ");
    assert!(numbers.iter().all(|(number, _)| *number <= largest), "{id} cannot read {words}");
    numbers.iter().any(|(_, found)| *found <= bytes && (bytes - found) as f64 <= 1e-6 * bytes as f64)
}

#[test]
fn memory_tools_read_sizes_of_2_gib_and_more() {
    let read = |bytes| memory(MemoryOp::Read, Isa::Avx2, bytes, 1);
    for bytes in SIZES {
        for (id, experiment, largest) in [
            ("likwid-bench", read(bytes), i32::MAX.unsigned_abs().into()),
            ("pmbw", read(bytes), u64::MAX),
            ("sysbench", read(bytes), u64::MAX),
            ("multichase", chase(bytes), u64::MAX),
        ] {
            match invoked(id, &experiment, 0) {
                Ok(invocation) => assert!(has_size(id, &invocation, bytes, largest), "{id}: {:?}", invocation.argv),
                Err(reason) => {
                    assert!(bytes == 2 * GIB - 1 && id != "likwid-bench" && reason.starts_with(id), "{id}: {reason}");
                }
            }
        }
        // The array of stream is compiled in, and hpcc refuses what is not its size.
        assert_eq!(invoked("stream", &memory(MemoryOp::Copy, Isa::Avx2, bytes, 1), 0).unwrap().argv.len(), 1);
        let reason = invoked("hpcc", &memory(MemoryOp::Copy, Isa::Avx2, bytes, 1), 0).unwrap_err();
        assert!(reason.contains("hpcc measures memory from 4MiB to 32MiB"), "{reason}");
    }
}

#[test]
fn likwid_bench_gets_bytes_up_to_2_gib_and_larger_units_from_there() {
    for (bytes, expected) in [
        (KIB, "N:1024B:1"),
        (2 * GIB - 1, "N:2147483647B:1"),
        (2 * GIB, "N:2147483kB:1"),
        (8 * GIB, "N:8589934kB:1"),
        (TIB, "N:1099511627kB:1"),
        (3 * TIB, "N:3298534MB:1"),
        (3000 * TIB, "N:3298534GB:1"),
    ] {
        let invocation = invoked("likwid-bench", &memory(MemoryOp::Read, Isa::Avx2, bytes, 1), 0).unwrap();
        assert!(invocation.argv.iter().any(|word| word == expected), "{:?}", invocation.argv);
    }
}

#[test]
fn disk_tools_read_files_of_2_gib_and_more() {
    for bytes in SIZES {
        let params = DiskParams { size: bytes, block: KIB, ..disk_params(1) };
        for id in ["fio", "ioping"] {
            let invocation = invoked(id, &disk(params.clone()), bytes).unwrap();
            assert!(has_size(id, &invocation, bytes, u64::MAX), "{id}: {:?}", invocation.argv);
        }
        // Its files are as long as its time allows, and no longer than ours or 2 TiB.
        for size in [bytes, 4 * TIB] {
            let params = DiskParams {
                pattern: DiskPattern::Sequential,
                op: DiskOp::Read,
                engine: DiskEngine::IoUring,
                size,
                ..params.clone()
            };
            let experiment = disk(params);
            let file = HeldFile { bytes: size, ..HeldFile::default() };
            let target = Target { file: Some(&file), our_rate: Some(1e15), ..target(&experiment) };
            let invocation = tool("iozone").invocation(&target).unwrap();
            let largest = i32::MAX.unsigned_abs().into();
            let wanted = size.min((2 * TIB) - KIB).min(500_000_000_000_000);
            let found = invocation.own_files.as_ref().unwrap().bytes_each;
            assert!(found <= wanted && found + KIB > wanted, "{found} of {wanted}");
            assert!(has_size("iozone", &invocation, found, largest), "{:?}", invocation.argv);
        }
    }
}
