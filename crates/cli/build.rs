//! Notes the commit that the program is built from.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
    let commit = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    if let Ok(output) = commit
        && output.status.success()
    {
        println!("cargo::rustc-env=ASSAY_GIT={}", String::from_utf8_lossy(&output.stdout).trim());
    }
}
