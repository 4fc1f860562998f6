//! Feeds the fuzzer's inputs to the decoder that `LATHIDE_FUZZ` names.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

/// What is fuzzed, by name.
const TARGETS: [(&str, fn(&[u8])); 8] = [
    ("engine", lathide::fuzz::engine),
    ("handshake", lathide::fuzz::handshake),
    ("control", lathide::fuzz::control),
    ("trace", lathide::fuzz::trace),
    ("hosts", lathide_cli::fuzz::hosts),
    ("predict", lathide_cli::fuzz::predict),
    ("report", lathide_cli::fuzz::report),
    ("agents", lathide_cli::fuzz::agents),
];

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let wanted = std::env::var("LATHIDE_FUZZ").unwrap_or_default();
    let found = TARGETS.iter().find(|(name, _)| *name == wanted);
    found.unwrap_or_else(|| panic!("LATHIDE_FUZZ={wanted:?} is none of {:?}", TARGETS.map(|(name, _)| name))).1
});

fuzz_target!(|bytes: &[u8]| TARGET(bytes));
