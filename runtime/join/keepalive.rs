//! A host that is down, or behind a cut cable, says nothing at all. TCP would send again for a quarter of an hour, ever more
//! rarely: up to two minutes apart, so that a cable that is mended meanwhile is of no use for as long.
//!
//! So the system asks at short intervals: by keepalive while nothing is under way, by sending again what is. Both are
//! answered by the peer's system, so a rank that computes for an hour, or is stopped, is never taken for dead. Who gets no
//! answer for so long that one attempt must have met a cable mended in time is lost; a cut up to then is only a delay.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use lathide_sys::tcp;
use socket2::{SockRef, TcpKeepalive};

/// A silence has room for so many attempts.
const ATTEMPTS: u32 = 10;
/// How long an answer may take, beside the attempt.
const ANSWER: Duration = Duration::from_millis(500);
/// By so much the system's timers for probes may be late, all in all.
const QUIET: Duration = Duration::from_millis(300);
/// Longer pauses between attempts would make TCP give up before the silence is over: it counts them.
const PAUSE_MAX: Duration = Duration::from_secs(20);
/// TCP's own longest pause.
const TCP_PAUSE: Duration = Duration::from_secs(120);

/// Who ends a connection whose other end is silent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EndedBy {
    /// Who calls [`look`]: an end that reads only now and then may be full for as long as it likes.
    Look,
    /// The system, which cannot tell a full end from a silent one: both ends of this connection read at any time.
    System,
}

/// Has the peer's host asked at short intervals whether it is there, and by whom the connection is ended when it has not
/// answered for `keepalive`; `None`: only when TCP gives up.
pub(crate) fn limit(socket: &impl AsFd, keepalive: Option<Duration>, ended_by: EndedBy) -> io::Result<()> {
    let options = SockRef::from(socket);
    // Linux before 6.15 knows no limit; there a mended cable may be found late, as the manual says.
    let pause = keepalive.map(pause);
    let _ = tcp::resend_every(socket.as_fd(), pause.filter(|pause| *pause <= PAUSE_MAX).unwrap_or(TCP_PAUSE));
    let (Some(keepalive), Some(pause)) = (keepalive, pause) else {
        options.set_keepalive(false)?;
        return options.set_tcp_user_timeout(None);
    };
    // The system's own count must not be the first to be over.
    let probes = (patience(keepalive).as_secs() / pause.as_secs() + 2).min(PROBES_MAX) as u32;
    let probing = TcpKeepalive::new().with_time(pause).with_interval(pause).with_retries(probes);
    options.set_tcp_keepalive(&probing)?;
    options.set_tcp_user_timeout((ended_by == EndedBy::System).then(|| patience(keepalive).min(SYSTEM_KEEPALIVE_MAX)))
}

/// Whether the peer's host is there: how long until that is to be asked again.
///
/// # Errors
/// It has not answered for `keepalive`; and if that is the end of its link, for the time of one more attempt.
pub(crate) fn look(socket: &impl AsFd, keepalive: Duration, resumes: bool) -> io::Result<Duration> {
    let patience = if resumes { keepalive } else { patience(keepalive) };
    let pause = pause(keepalive);
    // A socket that has ended tells so by itself.
    let Ok(heard) = tcp::heard(socket.as_fd()) else { return Ok(patience) };
    // Between probes it may have been cut off for up to a pause before anybody asked.
    let patience = if heard.has_bytes_under_way { patience } else { patience + QUIET };
    let left = patience.saturating_sub(heard.since);
    if !left.is_zero() {
        return Ok(left);
    }
    // Linux before 6.15 asks a host whose buffers are full ever more rarely: as long as it has not, nothing is owed.
    if !heard.is_awaited {
        return Ok(pause);
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("no sign of it for {:.1} s", heard.since.as_secs_f64())))
}

/// Between two attempts. The system counts in whole seconds.
fn pause(keepalive: Duration) -> Duration {
    Duration::from_secs((keepalive / ATTEMPTS).as_secs_f64().ceil().clamp(1.0, SYSTEM_PAUSE_MAX_S) as u64)
}

/// How long no answer may come: a cable that is mended just before the silence is over is found by the next attempt.
fn patience(keepalive: Duration) -> Duration {
    keepalive.saturating_add(pause(keepalive) + ANSWER)
}

/// The most probes, and the longest pause between them, that the system takes.
const PROBES_MAX: u64 = 127;
const SYSTEM_PAUSE_MAX_S: f64 = 32_767.0;
/// It counts milliseconds in 31 bits.
const SYSTEM_KEEPALIVE_MAX: Duration = Duration::from_secs(24 * 86_400);

/// What a connection's end by an error means, with the next thing to look at.
pub(crate) fn explain(error: &io::Error) -> String {
    use io::ErrorKind::{HostUnreachable, NetworkDown, NetworkUnreachable, TimedOut};
    match error.kind() {
        TimedOut | HostUnreachable | NetworkUnreachable | NetworkDown => format!(
            "it has not answered for too long ({error}): is its host up, the network between, and its process not \
             stopped (Ctrl-Z)? LATHIDE_KEEPALIVE is how long that may take"
        ),
        _ => format!("its connection broke: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::KEEPALIVE;

    #[test]
    fn the_system_is_told_and_can_be_told_otherwise() {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        let year = Duration::from_secs(366 * 86_400);
        let [short, long] = [Duration::from_millis(100), Duration::from_secs(3600)];
        // The last is what a member may say that is up to no good.
        for keepalive in [short, KEEPALIVE, Duration::from_secs(30), long, year, Duration::MAX] {
            for ended_by in [EndedBy::Look, EndedBy::System] {
                limit(&socket, Some(keepalive), ended_by).unwrap();
                assert!(socket.keepalive().unwrap());
                let timeout = (ended_by == EndedBy::System).then(|| patience(keepalive).min(SYSTEM_KEEPALIVE_MAX));
                assert_eq!(socket.tcp_user_timeout().unwrap(), timeout);
                let (quiet, interval) =
                    (socket.tcp_keepalive_time().unwrap(), socket.tcp_keepalive_interval().unwrap());
                let probes = socket.tcp_keepalive_retries().unwrap();
                let is_later = quiet + interval * probes > patience(keepalive);
                assert!(is_later || keepalive >= year, "{quiet:?} {interval:?} {probes}");
                assert!(patience(keepalive) >= keepalive.saturating_add(interval), "one more attempt");
            }
        }
        limit(&socket, None, EndedBy::System).unwrap();
        assert!(!socket.keepalive().unwrap());
        assert_eq!(socket.tcp_user_timeout().unwrap(), None);
    }

    #[test]
    fn ten_seconds_are_asked_ten_times() {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        let ten = Duration::from_secs(10);
        limit(&socket, Some(ten), EndedBy::Look).unwrap();
        assert_eq!(socket.tcp_keepalive_interval().unwrap(), Duration::from_secs(1));
        assert_eq!(patience(ten), Duration::from_millis(11_500));
        if let Ok(pause) = tcp::resends_every(socket.as_fd()) {
            assert_eq!(pause, Duration::from_secs(1));
            // TCP gives up after so many attempts: without a limit to the silence they must not follow each other so soon.
            for keepalive in [None, Some(Duration::from_secs(3600))] {
                limit(&socket, keepalive, EndedBy::Look).unwrap();
                assert_eq!(tcp::resends_every(socket.as_fd()).unwrap(), TCP_PAUSE);
            }
        }
    }

    #[test]
    fn a_host_that_answers_is_not_lost_though_its_process_reads_nothing() {
        use std::io::Write;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _full = listener.accept().unwrap();
        let keepalive = Duration::from_millis(100);
        limit(&near, Some(keepalive), EndedBy::Look).unwrap();
        near.set_nonblocking(true).unwrap();
        while near.write(&[0; 64 << 10]).is_ok() {}
        // Several times what a silent host may take.
        for _ in 0..40 {
            std::thread::sleep(Duration::from_millis(100));
            look(&near, keepalive, false).unwrap();
        }
        assert!(near.take_error().unwrap().is_none());
    }
}
