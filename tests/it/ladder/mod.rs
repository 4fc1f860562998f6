//! The order of the rooms: each stands above all that it imports, no files import each other in a circle, and the protocol,
//! the schedules and the models know nothing of sockets, clocks and threads.
//!
//! What is read are the imports: names in `use` and in paths, each followed to the file that defines it. A method that is
//! called, or an `impl` elsewhere, is no import. A file that offers a name of a module below it does not thereby use it.

mod built;
mod graph;
mod read;
mod small;
mod uses;

pub(crate) use built::is_built;

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use crate::tidy::{root, sources};
use graph::{Room, circles, impurities, impurities_below, room, upwards};
use read::Package;
use uses::{Imports, Words, imports};

/// The rooms, lowest first. Within a room, files may import each other in any order that is no circle.
const ROOMS: &[Room] = &[
    ("sys", &["runtime/sys"]),
    ("models", &["runtime/models"]),
    ("plain data", &["runtime/*.rs", "runtime/buffer", "runtime/error", "runtime/quantity"]),
    ("wire", &["runtime/wire"]),
    ("engine", &["runtime/engine"]),
    ("collective", &["runtime/collective"]),
    ("window", &["runtime/window"]),
    ("observe", &["runtime/observe"]),
    ("join", &["runtime/join"]),
    ("kernel", &["runtime/kernel"]),
    ("node", &["runtime/node", "runtime/node.rs", "runtime/handle.rs"]),
    ("lib", &["runtime/lib.rs", "runtime/launcher.rs", "runtime/manual"]),
    ("words", &["runtime/cli/nearest.rs"]),
    ("launch", &["runtime/cli/launch"]),
    ("report", &["runtime/cli/report"]),
    ("command", &["runtime/cli"]),
];

/// Rooms that know no network at all.
const PURE_ROOMS: &[Room] =
    &[("pure", &["runtime/wire", "runtime/engine", "runtime/collective", "runtime/window", "runtime/models"])];

/// And other files without socket, clock, thread or runtime. To them, `std::net`'s addresses are plain data.
const PURE_FILES: &[Room] = &[(
    "pure",
    &[
        "runtime/ids.rs",
        "runtime/error.rs",
        "runtime/config.rs",
        "runtime/buffer",
        "runtime/buffer.rs",
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
        "runtime/observe/timeline/track.rs",
        "runtime/join/control.rs",
        "runtime/join/cores.rs",
        "runtime/join/deadlock.rs",
        "runtime/cost.rs",
        "runtime/interfaces.rs",
        "runtime/operation.rs",
        "runtime/overrides.rs",
        "runtime/quantity",
        "runtime/quantity.rs",
        "runtime/cli/launch/agent/resumption.rs",
        "runtime/cli/launch/agent/session.rs",
        "runtime/cli/launch/hosts",
        "runtime/cli/launch/lab/address.rs",
        "runtime/cli/launch/lab/cable.rs",
        "runtime/cli/launch/lab/packet.rs",
        "runtime/cli/launch/lab/switch.rs",
        "runtime/cli/launch/link/medium.rs",
        "runtime/cli/launch/link/spec.rs",
        "runtime/cli/nearest.rs",
        "runtime/cli/report/html",
    ],
)];

/// What pure code does not name. Printing is output, too.
const IMPURE: &[&str] = &[
    "tokio",
    "rustix",
    "socket2",
    "std::net::TcpListener",
    "std::net::TcpStream",
    "std::net::UdpSocket",
    "std::os::fd",
    "std::os::unix",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::fs",
    "std::process",
    "std::env",
    "println",
    "eprintln",
];

/// The only folder with `unsafe`.
const UNSAFE: &str = "runtime/sys";

/// The libraries and programs of the workspace, as its manifests have them.
fn packages() -> Vec<Package> {
    let read = |folder: &str| -> toml::Table {
        let path = root().join(folder).join("Cargo.toml");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let workspace = read("");
    let members = workspace["workspace"]["members"].as_array().expect("a list").iter();
    let mut found = Vec::new();
    for folder in [""].into_iter().chain(members.map(|member| member.as_str().expect("a folder"))) {
        let manifest = read(folder);
        let inside = |path: &str| Path::new(folder).join(path).to_string_lossy().into_owned();
        let path = |target: &toml::Value| target.get("path").and_then(toml::Value::as_str).map(inside);
        if let Some(root) = manifest.get("lib").and_then(path) {
            let name = manifest["package"]["name"].as_str().expect("a name").replace('-', "_");
            found.push(Package { name: Some(name), root });
        }
        let programs = manifest.get("bin").and_then(toml::Value::as_array).into_iter().flatten();
        found.extend(programs.filter_map(path).map(|root| Package { name: None, root }));
    }
    found
}

/// The imports of the whole workspace.
static IMPORTS: LazyLock<Imports> =
    LazyLock::new(|| imports(&packages(), &|file| fs::read_to_string(root().join(file)).ok()));

/// The Rust files below a folder, as paths from the workspace's root.
fn files(folder: &str) -> Vec<String> {
    let name = |path: &Path| path.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned();
    sources(folder).iter().map(|path| name(path)).collect()
}

fn assert_none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what} ({}):\n{}", found.len(), found.join("\n"));
}

/// Whether the word is in the code, wherever it stands there.
fn has_unsafe(file: &str, text: &str) -> bool {
    let words: Words = syn::parse_str(text).unwrap_or_else(|error| panic!("{file}: {error}"));
    words.paths.iter().flatten().any(|word| word == "unsafe")
}

#[test]
fn each_room_stands_above_all_that_it_imports() {
    let unknown: Vec<String> = IMPORTS.files.iter().filter(|file| room(ROOMS, file).is_none()).cloned().collect();
    assert_none("files in no room of the table", &unknown);
    assert_none("imports of a room above", &upwards(&IMPORTS, ROOMS));
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    assert_none("circles of files", &circles(&IMPORTS, ROOMS));
}

#[test]
fn pure_files_name_and_reach_nothing_impure() {
    for place in [PURE_ROOMS, PURE_FILES].into_iter().flatten().flat_map(|(_, places)| *places) {
        let known = [("", std::slice::from_ref(place))];
        assert!(IMPORTS.files.iter().any(|file| room(&known, file).is_some()), "{place} has no files");
    }
    let pure = [PURE_ROOMS, PURE_FILES].concat();
    let found = [
        impurities(&IMPORTS, &pure, IMPURE),
        impurities(&IMPORTS, PURE_ROOMS, &["std::net"]),
        impurities_below(&IMPORTS, ROOMS, &pure, IMPURE),
    ];
    assert_none("files that are impure, or reached from pure ones", &found.concat());
}

/// A file that no package has would escape the other tests, and be of no use.
#[test]
fn every_file_is_read_or_belongs_to_a_test() {
    let is_of_tests = |file: &String| {
        IMPORTS.test_roots.iter().any(|root| {
            let folder = root.strip_suffix("/mod.rs").or(root.strip_suffix(".rs")).unwrap_or(root);
            file == root || file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let mut left = files("runtime");
    // What Cargo runs before it builds is a program of its own.
    let is_build_script = |file: &String| file.ends_with("/build.rs");
    left.retain(|file| !IMPORTS.files.contains(file) && !is_of_tests(file) && !is_build_script(file));
    assert_none("files of no package", &left);
}

#[test]
fn nothing_is_unsafe_outside_its_folder() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the manifest");
    assert!(manifest.contains("unsafe_code = \"forbid\""), "the lint holds for the whole package");
    let mut found = Vec::new();
    for file in ["runtime", "examples", "benches", "tests"].into_iter().flat_map(files) {
        let text = fs::read_to_string(root().join(&file)).expect("a readable file");
        if has_unsafe(&file, &text) {
            found.push(file);
        }
    }
    let (own, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|file| file.starts_with(UNSAFE));
    assert!(!own.is_empty(), "{UNSAFE} has none: the words are not read");
    assert_none("files with `unsafe`", &others);
}
