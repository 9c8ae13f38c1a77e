//! Notes the commit that the program is built from, its date, and the target.

use std::process::Command;

#[expect(clippy::disallowed_methods, reason = "cargo passes the target in a variable")]
fn main() {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
    println!("cargo::rustc-env=ASSAY_TARGET={}", std::env::var("TARGET").unwrap_or_default());
    // Not the time of the build: two builds of a commit are equal.
    for (variable, format) in [("ASSAY_GIT", "--format=%h"), ("ASSAY_DATE", "--format=%cs")] {
        let output = Command::new("git").args(["show", "--no-patch", "--abbrev=12", format, "HEAD"]).output();
        if let Ok(output) = output
            && output.status.success()
        {
            println!("cargo::rustc-env={variable}={}", String::from_utf8_lossy(&output.stdout).trim());
        }
    }
}
