//! What the command reads of others, for the fuzzer (`tests/fuzz`).

use crate::commands::fuzz as predict;
use crate::launch::{agent, hosts};
use crate::report::html::{Page, pictures, values};

/// Lists of hosts and hostfiles.
pub fn hosts(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for hosts in [hosts::parse_list(text), hosts::parse_file(text)] {
        match hosts {
            Ok(hosts) => assert!(!hosts.is_empty() && hosts.len() <= text.len()),
            Err(words) => assert!(!words.is_empty()),
        }
    }
}

/// Saved results, graphs and tasks for `lathide predict`; the first byte says which.
pub fn predict(bytes: &[u8]) {
    let Some((&which, rest)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    match which {
        b'g' => predict::graph(text),
        b't' => predict::tasks(text),
        call => predict::saved(usize::from(call), text),
    }
}

/// Files for `lathide report`.
pub fn report(bytes: &[u8]) {
    let Ok(json) = serde_json::from_slice(bytes) else { return };
    let page = Page::of([("<it>".to_owned(), Ok(json))]);
    assert!(!page.html().contains("<it>"), "a file's words are no part of the page");
    assert_eq!(page.shown().count() + page.skipped.len(), 1);
    for (name, _) in pictures(&page).into_iter().chain(values(&page)) {
        assert!(!name.contains(['/', '<']), "{name}");
    }
}

/// What launcher and agents tell each other.
pub fn agents(bytes: &[u8]) {
    agent::fuzz(bytes);
}
