//! The one place that reads the clock for the engine.

use std::time::Duration;

/// Time since the node started.
// Not by `std::time::Instant`, whose difference costs as much again as the reading: a short message needs several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: Duration,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Clock { began: lathide_sys::clock::monotonic() }
    }

    pub(crate) fn now(&self) -> Duration {
        lathide_sys::clock::monotonic().saturating_sub(self.began)
    }
}
