//! The schemas without indentation, which is a third of them.

use std::path::Path;
use std::{env, fs, io};

#[expect(clippy::disallowed_methods, reason = "cargo passes the folder in a variable")]
fn main() -> io::Result<()> {
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    for name in ["run-v2.json", "cluster-v1.json"] {
        let path = Path::new("../../schema").join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        let text: String = fs::read_to_string(path)?.lines().map(str::trim_start).collect();
        fs::write(Path::new(&out).join(name), text)?;
    }
    Ok(())
}
