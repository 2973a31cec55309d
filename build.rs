//! Keeps the version of the compiler, which `rdmascope doctor` tells.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(compiler).arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    println!("cargo::rustc-env=RDMASCOPE_COMPILER={version}");
}
