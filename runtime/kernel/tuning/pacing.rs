//! Connections within a host need not be paced.
//!
//! BBR, the default congestion control of many systems, spreads packets in time. Over a loopback that costs half of
//! the bandwidth, and there is nothing to congest; but a loopback may also be shaped to stand for a slow link, and
//! there BBR is what keeps its queue short. So a connection within a host begins as the system makes it, and is
//! freed of pacing once it has carried more than any shaped link would.

use std::time::Duration;

use socket2::SockRef;

use crate::join::handshake::is_local;

/// The traffic that is judged at a time.
const SAMPLE_BYTES: usize = 1 << 20;
/// A sample that took no longer went at 10 Gbit/s or more.
const FAST: Duration = Duration::from_micros(840);
/// A congestion control that paces begins with this.
const PACES: &[u8] = b"bbr";
/// One that does not, and that every Linux has.
const PLAIN: &[u8] = b"reno";

/// What one connection has carried.
pub(in crate::kernel) struct Pacing {
    /// Nothing is to be decided any more.
    is_settled: bool,
    bytes: usize,
    since: Duration,
}

impl Pacing {
    /// `is_on`: whether it may be freed of pacing.
    pub(in crate::kernel) fn new(socket: &SockRef<'_>, is_on: bool) -> Self {
        let paces = socket.tcp_congestion().is_ok_and(|name| name.starts_with(PACES));
        Pacing { is_settled: !(is_on && paces && is_local(socket)), bytes: 0, since: Duration::ZERO }
    }

    /// Whether `wrote` needs to be told.
    pub(in crate::kernel) fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// `socket` took `count` bytes; it is `now`. Frees it of pacing if it is fast.
    pub(in crate::kernel) fn wrote(&mut self, count: usize, now: Duration, socket: &SockRef<'_>) {
        self.bytes += count;
        if self.bytes < SAMPLE_BYTES {
            return;
        }
        if self.bytes < 2 * SAMPLE_BYTES && now.saturating_sub(self.since) <= FAST {
            // Where it may not be chosen, the default does too.
            let _ = socket.set_tcp_congestion(PLAIN);
            self.is_settled = true;
        }
        (self.bytes, self.since) = (0, now);
    }
}
