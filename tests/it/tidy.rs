//! The architecture's invariants, held against the sources (see the manual's page on architecture).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use lathide::launcher::variables::ALL;

/// Where a file's own tests begin.
const TESTS: &str = "#[cfg(test)]\nmod tests {";

pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The Rust files at or below `place`, relative to the package.
pub(crate) fn sources(place: &str) -> Vec<PathBuf> {
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

/// Whether the file holds tests alone, by its name or a folder's: `tests`, `..._tests`, and `sim`, which tests simulate with.
pub(crate) fn is_of_tests(path: &Path) -> bool {
    path.components().any(|part| {
        let name = Path::new(part.as_os_str()).file_stem().unwrap_or_default().to_string_lossy();
        name == "sim" || name == "tests" || name.ends_with("_tests")
    })
}

/// The file's code: without comments and without its tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a readable file");
    if is_of_tests(path.strip_prefix(root()).expect("below the root")) {
        return String::new();
    }
    let code = text.split(TESTS).next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
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

#[test]
fn every_variable_is_in_the_table() {
    let known: Vec<&str> =
        ALL.iter().flat_map(|(_, variables)| variables.iter().map(|variable| variable.name)).collect();
    let mut named = BTreeSet::new();
    for path in sources("runtime") {
        let text = fs::read_to_string(&path).expect("a readable file");
        // Comments count: what the manual names is in the table, too.
        let text = if code(&path).is_empty() { "" } else { text.split(TESTS).next().unwrap_or_default() };
        for (at, _) in text.match_indices("LATHIDE_") {
            let name =
                text[at..].split(|sign: char| !(sign.is_ascii_uppercase() || sign == '_')).next().unwrap_or_default();
            // `LATHIDE_` alone is the beginning of all of them.
            if name.len() > "LATHIDE_".len() {
                assert!(known.contains(&name), "{} names {name}", path.display());
                named.insert(name.to_owned());
            }
        }
    }
    assert!(named.len() > 20, "{named:?}");
}

/// What `tests/faults/run` changes stands once where its list says.
#[test]
fn every_fault_fits_its_file() {
    let list = fs::read_to_string(root().join("tests/faults/list.txt")).expect("the list");
    let faults = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let count = faults
        .inspect(|line| {
            let parts: Vec<&str> = line.split(" ||| ").collect();
            let &[file, old, new] = &parts[..] else { panic!("no file, code and fault: {line}") };
            let text = fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(text.contains(old) && old != new, "{file} has no {old}");
        })
        .count();
    assert!(count >= 40, "{count} faults");
}
