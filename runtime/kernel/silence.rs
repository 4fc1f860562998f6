//! A host that is down, or behind a cut cable, says nothing at all. TCP would send again for a quarter of an hour.
//!
//! Two of the system's own watches end such a connection: keepalive while nothing is under way, and a limit on how
//! long bytes may go without being acknowledged. Both are answered by the peer's system, so a rank that computes for an
//! hour is never taken for dead; a cut that is mended in time is only a delay.

use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};

/// So many probes within that time must stay without an answer.
const PROBES: u32 = 4;

/// Ends the connection when its peer's host has not answered for `silence`; `None`: only when TCP gives up. `reads_always`:
/// whether a node takes what comes at any time. Where it does so in waits only, a full buffer is no sign of death.
pub(crate) fn limit(socket: &SockRef<'_>, silence: Option<Duration>, reads_always: bool) -> io::Result<()> {
    let Some(silence) = silence else {
        socket.set_keepalive(false)?;
        return socket.set_tcp_user_timeout(None);
    };
    // The system counts in whole seconds.
    let interval = (silence / (PROBES + 2)).max(Duration::from_secs(1));
    let quiet = silence.saturating_sub(interval * PROBES).max(Duration::from_secs(1));
    let keepalive = TcpKeepalive::new().with_time(quiet).with_interval(interval).with_retries(PROBES);
    socket.set_tcp_keepalive(&keepalive)?;
    socket.set_tcp_user_timeout(reads_always.then_some(silence))
}

/// What a connection's end by an error means, with the next thing to look at.
pub(crate) fn explain(error: &io::Error) -> String {
    use io::ErrorKind::{HostUnreachable, NetworkDown, NetworkUnreachable, TimedOut};
    match error.kind() {
        TimedOut | HostUnreachable | NetworkUnreachable | NetworkDown => format!(
            "it has not answered for too long ({error}): is its host up, the network between, and its process not \
             stopped (Ctrl-Z)? LATHIDE_SILENCE is how long that may take"
        ),
        _ => format!("its connection broke: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SILENCE;

    #[test]
    fn the_system_is_told_and_can_be_told_otherwise() {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        let socket = SockRef::from(&socket);
        limit(&socket, Some(SILENCE), true).unwrap();
        assert!(socket.keepalive().unwrap());
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(SILENCE));
        let (quiet, interval) = (socket.tcp_keepalive_time().unwrap(), socket.tcp_keepalive_interval().unwrap());
        assert!(quiet + interval * PROBES <= SILENCE + Duration::from_secs(4), "{quiet:?} {interval:?}");
        limit(&socket, Some(SILENCE), false).unwrap();
        assert_eq!(socket.tcp_user_timeout().unwrap(), None);
        assert!(socket.keepalive().unwrap());
        limit(&socket, None, true).unwrap();
        assert!(!socket.keepalive().unwrap());
        limit(&socket, Some(Duration::from_millis(100)), true).unwrap();
        assert!(socket.keepalive().unwrap());
    }
}
