//! The reader and the graph on trees of a few lines: what must be found is found, and nothing else.

use super::graph::{Room, circles, impurities, impurities_below, upwards};
use super::has_unsafe;
use super::read::Package;
use super::uses::{Imports, imports};

const ROOMS: &[Room] =
    &[("ground", &["models"]), ("data", &["src/*.rs"]), ("wire", &["src/wire"]), ("top", &["src/lib.rs", "src/top"])];

/// The imports of a library `upper` of these files, which has a package `lower` below it.
fn read(files: &[(&str, &str)]) -> Imports {
    let package = |name: &str, root: &str| Package { name: Some(name.into()), root: root.into() };
    let packages = [package("upper", "src/lib.rs"), package("lower", "models/lib.rs")];
    let text = |file: &str| match files.iter().find(|(name, _)| *name == file) {
        Some((_, text)) => Some((*text).to_owned()),
        None if file == "models/lib.rs" => Some(String::from("pub mod fit { pub fn line() {} }")),
        None => None,
    };
    imports(&packages, &text)
}

/// The arrows as `from -> to: names`.
fn arrows(imports: &Imports) -> Vec<String> {
    let line = |((from, to), names): (&(String, String), &std::collections::BTreeSet<String>)| {
        format!("{from} -> {to}: {}", names.iter().cloned().collect::<Vec<_>>().join(", "))
    };
    imports.arrows.iter().map(line).collect()
}

#[test]
fn a_legal_tree_passes() {
    let imports = read(&[
        ("src/lib.rs", "pub mod ids; pub mod wire; mod top; pub use wire::Frame; pub use top::run;"),
        ("src/ids.rs", "pub struct Rank(pub u32);"),
        (
            "src/wire/mod.rs",
            "mod frame; mod codec; pub use frame::{Frame, Kind as FrameKind}; pub(crate) struct Limits;",
        ),
        (
            "src/wire/frame.rs",
            "use crate::ids::Rank; use super::Limits; pub struct Frame(Rank, Limits); pub enum Kind {}",
        ),
        (
            "src/wire/codec.rs",
            "use super::{Frame, FrameKind}; use std::time::Duration; fn f(_: Frame, _: FrameKind) {}",
        ),
        ("src/top/mod.rs", "use lower::fit; pub fn run() { fit::line(); let frame = crate::Frame; }"),
    ]);
    assert_eq!(
        arrows(&imports),
        [
            "src/top/mod.rs -> models/lib.rs: line",
            "src/top/mod.rs -> src/wire/frame.rs: Frame",
            "src/wire/codec.rs -> src/wire/frame.rs: Frame, Kind",
            "src/wire/frame.rs -> src/ids.rs: Rank",
            "src/wire/frame.rs -> src/wire/mod.rs: Limits",
        ]
    );
    let pure: &[Room] = &[("", &["src/wire"])];
    assert_eq!(upwards(&imports, ROOMS), [""; 0]);
    assert_eq!(circles(&imports, ROOMS), [""; 0]);
    assert_eq!(impurities(&imports, pure, &["std::time::Instant"]), [""; 0]);
}

#[test]
fn an_arrow_upwards_is_found_wherever_it_is_written() {
    let ways = [
        "use crate::wire::Frame;",
        "use crate::{wire::{self, Frame as Other}};",
        "use super::wire; fn f() -> wire::Frame { todo!() }",
        "fn f() { use crate::wire::Frame; }",
        "fn f() { use crate::wire as other; let frame = other::Frame::new(); }",
        "fn f() { let frame = crate::wire::Frame::new(); }",
        "fn f() { println!(\"{}\", crate::wire::Frame::SIZE); }",
        "#[derive(Read)] struct S { #[read(with = \"crate::wire::Frame\")] field: u8 }",
        "use crate::wire::*; fn f(frame: Frame) {}",
        "pub use crate::wire::Frame;",
        "mod inner { fn f(frame: super::super::wire::Frame) {} }",
        "use crate::Frame;",
        "use upper::Frame;",
        "impl crate::Frame { fn f() {} }",
    ];
    for way in ways {
        let imports = read(&[
            ("src/lib.rs", "pub mod ids; pub mod wire; pub use wire::Frame;"),
            ("src/ids.rs", way),
            ("src/wire/mod.rs", "mod frame; pub use frame::Frame;"),
            ("src/wire/frame.rs", "pub struct Frame;"),
        ]);
        assert_eq!(upwards(&imports, ROOMS), ["data below wire: src/ids.rs -> src/wire/frame.rs: Frame"], "{way}");
    }
}

#[test]
fn what_tests_and_comments_name_is_no_import() {
    let ways = [
        "/// See [`crate::wire::Frame`].\nstruct S;",
        "#[cfg(test)] use crate::wire::Frame;",
        "#[cfg(all(test, unix))] mod tests { use crate::wire::Frame; }",
        "#[cfg(any(test, shuttle))] fn f() { crate::wire::Frame::new(); }",
        "impl S { #[cfg(test)] fn f(frame: crate::wire::Frame) {} }",
        "struct S { #[cfg(test)] frame: crate::wire::Frame }",
        "#[cfg(test)] #[path = \"wire/frame.rs\"] mod tests;",
        "fn f() { let text = \"crate::wire::Frame\"; }",
        "fn f() { println!(\"crate::wire::Frame\"); }",
        "fn f(wire: u8) -> u8 { wire }",
        "macro_rules! m { () => { crate::wire::Frame } }",
        "use crate::wire;",
    ];
    for way in ways {
        let imports = read(&[
            ("src/lib.rs", "pub mod ids; pub mod wire;"),
            ("src/ids.rs", way),
            ("src/wire/mod.rs", "mod frame; pub use frame::Frame;"),
            ("src/wire/frame.rs", "pub struct Frame;"),
        ]);
        assert_eq!(arrows(&imports), [""; 0], "{way}");
    }
    let shipped = "#[cfg(not(test))] use crate::wire::Frame; #[cfg(any(test, unix))] use crate::wire::Kind;";
    let imports = read(&[
        ("src/lib.rs", "mod ids; mod wire;"),
        ("src/ids.rs", shipped),
        ("src/wire.rs", "pub struct Frame; pub enum Kind {}"),
    ]);
    assert_eq!(arrows(&imports), ["src/ids.rs -> src/wire.rs: Frame, Kind"]);
}

#[test]
fn a_circle_of_three_files_is_found() {
    let imports = read(&[
        ("src/lib.rs", "mod wire; use wire::a::A;"),
        ("src/wire/mod.rs", "pub mod a; mod b; #[path = \"other.rs\"] mod c;"),
        ("src/wire/a.rs", "use super::b::B; pub struct A(B);"),
        ("src/wire/b.rs", "fn f() { super::c::go() } pub struct B;"),
        ("src/wire/other.rs", "pub fn go() -> crate::wire::a::A { todo!() }"),
    ]);
    let lines = [
        "a circle of 3 files:",
        "    src/wire/a.rs -> src/wire/b.rs: B",
        "    src/wire/b.rs -> src/wire/other.rs: go",
        "    src/wire/other.rs -> src/wire/a.rs: A",
    ];
    assert_eq!(circles(&imports, ROOMS), [lines.join("\n")]);
    assert_eq!(upwards(&imports, ROOMS), [""; 0]);
}

#[test]
fn a_circle_through_names_offered_elsewhere_is_found() {
    let imports = read(&[
        ("src/lib.rs", "mod wire;"),
        ("src/wire/mod.rs", "mod a; mod b; pub use a::*; pub(crate) use self::b::{B, B as Second};"),
        ("src/wire/a.rs", "use super::Second; pub struct A(Second);"),
        ("src/wire/b.rs", "use super::*; pub struct B(Box<A>);"),
    ]);
    let lines =
        ["a circle of 2 files:", "    src/wire/a.rs -> src/wire/b.rs: B", "    src/wire/b.rs -> src/wire/a.rs: A"];
    assert_eq!(circles(&imports, ROOMS), [lines.join("\n")]);
}

#[test]
fn a_module_that_uses_what_it_offers_is_in_the_circle() {
    let uses =
        ["use part::Part; fn f(part: Part) {}", "pub use part::Part; fn f(part: Part) {}", "fn f() { part::Part; }"];
    for way in uses {
        let imports = read(&[
            ("src/lib.rs", "mod wire;"),
            ("src/wire/mod.rs", &format!("mod part; struct Whole; {way}")),
            ("src/wire/part.rs", "use super::Whole; pub struct Part(Whole);"),
        ]);
        assert_eq!(circles(&imports, ROOMS).len(), 1, "{way}");
    }
}

#[test]
fn impure_names_are_found_also_where_they_are_reached() {
    let pure: &[Room] = &[("", &["src/wire"])];
    let impure = ["std::time::Instant", "std::fs", "tokio", "println"];
    let found = |wire: &str, ids: &str| {
        let imports = read(&[("src/lib.rs", "mod ids; mod wire;"), ("src/ids.rs", ids), ("src/wire/mod.rs", wire)]);
        [impurities(&imports, pure, &impure), impurities_below(&imports, ROOMS, pure, &impure)].concat()
    };
    for (wire, name) in [
        ("use std::time::{Duration, Instant};", "std::time::Instant"),
        ("use std::time; fn f() { time::Instant::now(); }", "std::time::Instant::now"),
        ("use std::time::*;", "std::time::*"),
        ("fn f() { ::std::fs::read(\"\"); }", "std::fs::read"),
        ("fn f() { assert!(std::fs::exists(\"\")); }", "std::fs::exists"),
        ("use tokio as other; async fn f() { other::spawn(); }", "tokio, tokio::spawn"),
        ("fn f() { println!(); }", "println"),
        ("use crate::ids::Clock;", "std::time::Instant"),
    ] {
        let lines = found(wire, if name == "std::time::Instant" { "pub use std::time::Instant as Clock;" } else { "" });
        assert_eq!(lines, [format!("src/wire/mod.rs names {name}")], "{wire}");
    }
    assert_eq!(
        found("use crate::ids::Id;", "pub struct Id(std::time::Instant);"),
        ["src/ids.rs names std::time::Instant, and is reached from src/wire/mod.rs"]
    );
    for legal in ["use std::time::Duration;", "use crate::ids::Id as Instant;", "#[cfg(test)] use tokio as other;"] {
        assert_eq!(found(legal, "pub struct Id;"), [""; 0], "{legal}");
    }
}

#[test]
fn the_word_unsafe_is_found_in_code_only() {
    let with = [
        "fn f<'a>(x: &'a u8) { unsafe { g() } }",
        "unsafe impl Send for S {}",
        "unsafe fn f() {}",
        "#[unsafe(no_mangle)] fn f() {}",
        "m!({ (unsafe {}) });",
    ];
    for text in with {
        assert!(has_unsafe("lib.rs", text), "{text}");
    }
    for text in
        ["// unsafe {}", "/// unsafe {}\nfn f() {}", "const TEXT: &str = \"unsafe {}\";", "#![forbid(unsafe_code)]"]
    {
        assert!(!has_unsafe("lib.rs", text), "{text}");
    }
}
