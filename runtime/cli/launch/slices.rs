//! Threads that carry others' bytes get a busy processor at once.

use std::time::Duration;

/// As short as Linux allows.
const SLICE: Duration = Duration::from_micros(100);

/// For the calling thread. A relay or a switch works for microseconds at a time, at moments that the link it stands for
/// sets; while ranks compute it would wait for the end of their slices, some milliseconds. It keeps its share.
pub(super) fn shorten() {
    if let Err(error) = lathide_sys::slice::request(SLICE) {
        tracing::debug!("an emulated network may be late where processors are busy: no short slices: {error}");
    }
}
