//! Finds out the commit of the sources, for `lathide --version`: from what `cargo package` has put beside them, or from git if
//! they are in a checkout of this project. Without either it is unknown, and that is no error.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
    let packaged = here.join(".cargo_vcs_info.json");
    let commit = if packaged.is_file() {
        println!("cargo::rerun-if-changed=.cargo_vcs_info.json");
        of_package(&packaged)
    } else if env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        // It would be built anew after every commit. What is measured is not measured with it.
        Some("unrecorded in debug builds".to_owned())
    } else {
        of_checkout(&here)
    };
    println!("cargo::rustc-env=SOURCES_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}

/// The commit in what `cargo package` writes: `{"git": {"sha1": "…"}, …}`.
fn of_package(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    let commit = rest.split('"').nth(1)?;
    is_commit(commit).then(|| commit[..12].to_owned())
}

/// The commit that is checked out, with a plus if files have been changed since. A checkout of something else, in which
/// these sources may lie, says nothing.
fn of_checkout(here: &Path) -> Option<String> {
    let git = |args: &[&str]| {
        let output = Command::new("git").arg("-C").arg(here).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let root = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?);
    if root.join("runtime/cli").canonicalize().ok()? != here.canonicalize().ok()? {
        return None;
    }
    // Written with every commit and every change of branch.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file]).map(|path| here.join(path)).filter(|path| path.exists());
        path.iter().for_each(|path| println!("cargo::rerun-if-changed={}", path.display()));
    }
    println!("cargo::rerun-if-changed={}", here.join("..").display());
    let commit = git(&["rev-parse", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    is_commit(&commit).then(|| format!("{}{}", &commit[..12], if changed.is_empty() { "" } else { "+" }))
}

fn is_commit(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
