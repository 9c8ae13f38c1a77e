//! What is refused: one sentence, exit status 2, nothing measured, nothing left behind.

use crate::common::refused;

#[test]
fn unknown_names_are_answered_with_the_known_ones() {
    refused("--no-such-option", &["--no-such-option"]);
    refused("run no-such-suite", &["'no-such-suite'", "quick", "standard"]);
    refused("run no-such.toml", &["no-such.toml", "No such file"]);
    refused("run --area kitchen", &["kitchen", "cpu", "memory"]);
    refused("run --filter cpu/nothing/*", &["cpu/nothing/*", "--list"]);
    refused("run --filter [", &["["]);
    refused("cpu --isa avx9", &["avx9", "avx512"]);
    refused("cpu --type fp65", &["fp65", "fp64"]);
    refused("cpu --op dot --type fp64", &["no kernel", "dot/int8"]);
    refused("memory --pattern chase --op read", &["no memory benchmark", "chase with load"]);
    refused("memory --op read --block 1001", &["1001"]);
    refused("memory --chains 33", &["33"]);
    refused("memory --block 64MiB --working-set 32MiB --threads 1", &["64MiB", "32MiB"]);
    refused("memory --working-set 900TiB", &["900TiB", "does not fit"]);
    // No program has the kernels of both architectures.
    let foreign = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };
    refused(&format!("cpu --op fma --isa {foreign}"), &["no kernel of that combination", "known: "]);
    refused("cpu --op plain --isa sse2", &["no kernel of that combination", "known: "]);
    refused("report no-such-run", &["'no-such-run'"]);
    refused("runs no-such-run", &["'no-such-run'"]);
    refused("info --sysroot /no/such/folder", &["/no/such/folder"]);
    refused("run --declare memory.chanels=12", &["memory.chanels", "memory.channels"]);
    refused("run --declare memory.channels=-1", &["memory.channels"]);
    refused("doctor now", &["now"]);
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    refused("memory --working-set 10X", &["'10X'"]);
    refused("memory --working-set=-1", &["'-1'"]);
    refused("memory --working-set 1e99", &["'1e99'"]);
    refused("memory --working-set 0", &["at least 1 byte"]);
    refused("run --threads 0", &["'0'", "1024"]);
    refused("run --threads 10000", &["'10000'", "1024"]);
    refused("run --threads 1,x", &["'x'"]);
    refused("run --repeat 0", &["0"]);
    refused("run --time-budget 5parsecs", &["5parsecs"]);
    refused("run --seed -1", &["-1"]);
}
