//! Limits that a shell sets with `ulimit` before it starts the program.

use std::process::{Command, Stdio};

use crate::common::{Ran, Scratch, program, ran};

fn with_stack(kib: u32, arguments: &str) -> Ran {
    let scratch = Scratch::new();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -s {kib}; exec \"$0\" {arguments}")]).arg(program());
    command.env_clear().env("PATH", "/usr/bin:/bin").env("ASSAY_STORE", scratch.join("store")).stdin(Stdio::null());
    ran(command)
}

#[test]
fn a_small_stack_is_enough() {
    for arguments in ["info", "cpu --filter cpu/fma/fp64/scalar/t1 --verify"] {
        let ran = with_stack(64, arguments);
        assert_eq!(ran.status, Some(0), "{arguments}: {ran:?}");
    }
}

#[test]
fn a_status_other_than_0_passes_through_the_larger_stack() {
    let ran = with_stack(64, "report no-such-run");
    assert_eq!(ran.status, Some(2), "{ran:?}");
}
