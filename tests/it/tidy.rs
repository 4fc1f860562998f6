//! The architecture's invariants, held against the sources (see the manual's page on architecture).

use std::fs;
use std::path::{Path, PathBuf};

/// Modules without socket, clock, thread or runtime. `std::net`'s addresses are plain data.
const PURE: &[&str] = &[
    "runtime/ids.rs",
    "runtime/error.rs",
    "runtime/config.rs",
    "runtime/buffer.rs",
    "runtime/wire",
    "runtime/engine",
    "runtime/models",
    "runtime/collective",
    "runtime/observe/advice.rs",
    "runtime/observe/event.rs",
    "runtime/observe/links.rs",
    "runtime/observe/offset.rs",
    "runtime/observe/report.rs",
    "runtime/observe/summary.rs",
    "runtime/observe/timeline/align.rs",
    "runtime/observe/timeline/chrome.rs",
    "runtime/observe/timeline/messages.rs",
    "runtime/observe/timeline/spans.rs",
    "runtime/cli/report/html",
    "runtime/join/control.rs",
    "runtime/join/cores.rs",
    "runtime/cli/launch/lab/address.rs",
    "runtime/cli/launch/lab/cable.rs",
    "runtime/cli/launch/lab/packet.rs",
    "runtime/cli/launch/lab/switch.rs",
    "runtime/cli/launch/hosts",
    "runtime/join/interface.rs",
    "runtime/join/deadlock.rs",
    "runtime/cli/launch/link/spec.rs",
    "runtime/cli/launch/link/medium.rs",
];

/// What pure code does not name.
const IMPURE: &[&str] = &[
    "tokio",
    "rustix",
    "socket2",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "Instant",
    "SystemTime",
    "std::thread",
    "std::fs",
    "std::process",
    "println!",
    "std::env",
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The Rust files at or below `place`, relative to the package.
fn sources(place: &str) -> Vec<PathBuf> {
    let mut files = below(&root().join(place));
    files.sort();
    assert!(!files.is_empty(), "{place} has no sources");
    files
}

fn below(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return if path.extension().is_some_and(|extension| extension == "rs") {
            vec![path.into()]
        } else {
            Vec::new()
        };
    }
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    entries.flat_map(|entry| below(&entry.expect("a readable folder").path())).collect()
}

/// The file's code: without comments and without its tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a readable file");
    let is_test = |name: &str| path.components().any(|part| part.as_os_str() == name);
    if is_test("sim") || is_test("sim_tests") || path.to_string_lossy().ends_with("_tests.rs") {
        return String::new();
    }
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

#[test]
fn pure_modules_name_nothing_impure() {
    for place in PURE {
        for path in sources(place) {
            let code = code(&path);
            for word in IMPURE {
                assert!(!code.contains(word), "{} names {word}; pure modules must not", path.display());
            }
        }
    }
}

#[test]
fn only_the_command_prints_or_exits() {
    for path in sources("runtime") {
        if path.starts_with(root().join("runtime/cli")) {
            continue;
        }
        let code = code(&path);
        for word in ["println!", "eprintln!", "print!(", "process::exit", "dbg!"] {
            assert!(!code.contains(word), "{} has {word}; only runtime/cli may", path.display());
        }
    }
}

#[test]
fn nothing_is_unsafe() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the manifest");
    assert!(manifest.contains("unsafe_code = \"forbid\""), "the lint holds for the whole package");
    // Put together, so that this file does not contain it.
    let block = ["unsafe", "{"].join(" ");
    let sources = ["runtime", "examples", "benches", "tests"].into_iter().flat_map(sources);
    let with_it: Vec<PathBuf> = sources.filter(|path| code(path).contains(&block)).collect();
    let own = ["descriptor.rs", "pieces.rs", "slice.rs", "tcp.rs"].map(|file| root().join("runtime/sys").join(file));
    assert_eq!(with_it, own, "a package of its own, for a few system calls");
}

#[test]
fn files_stay_readable() {
    for path in sources("runtime") {
        let lines = fs::read_to_string(&path).expect("a readable file").lines().count();
        assert!(
            lines <= 550,
            "{} has {lines} lines; would two files with names of their own read better?",
            path.display()
        );
    }
}
