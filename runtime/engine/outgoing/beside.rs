//! Long messages to a peer that reads beside this node: by longer calls, and more of them unacknowledged than to others.

/// How long messages go to a peer that reads beside this node: if little may be unacknowledged, the two wait for each other.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Beside {
    /// Messages of so many bytes are long. Of shorter ones, more that is not acknowledged means more to copy when their buffers go back.
    pub(in crate::engine) from_bytes: u64,
    /// What may have been sent and not be acknowledged.
    pub(in crate::engine) bound: u64,
    /// Payload bytes in one vectored call.
    pub(in crate::engine) call: usize,
}

/// A call of a megabyte takes little more than half of the time that four take over loopback.
pub(in crate::engine) const BESIDE: Beside = Beside { from_bytes: 512 << 10, bound: 4 << 20, call: 1 << 20 };
