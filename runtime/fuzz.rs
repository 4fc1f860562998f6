//! What the library reads of others, for the fuzzer (`tests/fuzz`): nothing panics, hangs, or takes memory because somebody says so.

mod engine;
mod shake;

use crate::join::control::{Notice, Report};
use crate::join::framing;
use crate::observe::timeline;

pub use engine::engine;
pub use shake::handshake;

/// Frames of the control connection: what ranks report, and what they are told.
pub fn control(bytes: &[u8]) {
    if let Ok(report) = framing::decode::<Report>(bytes) {
        let _ = framing::encode(&report);
    }
    if let Ok(notice) = framing::decode::<Notice>(bytes) {
        let _ = framing::encode(&notice);
    }
}

/// The files that ranks leave for a timeline, apart by a zero byte.
pub fn trace(bytes: &[u8]) {
    let out = timeline::fuzz(bytes.split(|byte| *byte == 0)).expect("memory takes all");
    let page = serde_json::from_slice::<serde_json::Value>(&out);
    assert!(page.is_ok(), "a timeline is JSON: {page:?}");
}
