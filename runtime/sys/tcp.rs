//! What TCP tells of a connection's other end, and how often it tries again.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// How long ago the other end's system was last heard of, and whether it owes an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heard {
    /// Since the last segment that acknowledged something, be it nothing new.
    pub since: Duration,
    /// Bytes, or more than one probe, went without an answer.
    pub is_awaited: bool,
    /// Bytes did: so it was last heard of while they were on their way, not at the last probe before.
    pub has_bytes_under_way: bool,
}

/// When the other end of a TCP connection was last heard of.
///
/// # Errors
/// It is no TCP socket.
pub fn heard(socket: BorrowedFd<'_>) -> io::Result<Heard> {
    let info = information(socket)?;
    let since = Duration::from_millis(info.last_ack_received_ms.into());
    let has_bytes_under_way = info.unacknowledged > 0;
    Ok(Heard { since, is_awaited: has_bytes_under_way || info.probes > 1, has_bytes_under_way })
}

/// Whether a TCP connection is over, or its other end says no more; what has come may still be read.
///
/// # Errors
/// It is no TCP socket.
pub fn has_ended(socket: BorrowedFd<'_>) -> io::Result<bool> {
    Ok(matches!(information(socket)?.state[0], CLOSE | CLOSE_WAIT))
}

/// How many segments of a TCP connection this end has sent again so far.
///
/// # Errors
/// It is no TCP socket.
pub fn retransmitted(socket: BorrowedFd<'_>) -> io::Result<u32> {
    Ok(information(socket)?.total_retransmitted)
}

/// The shortest round trip of a TCP connection of late; the handshake's own before anything was sent.
///
/// # Errors
/// It is no TCP socket.
pub fn round_trip(socket: BorrowedFd<'_>) -> io::Result<Duration> {
    Ok(Duration::from_micros(information(socket)?.shortest_round_trip_us.into()))
}

/// How what is sent passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// The usual round trip of late, with the time in queues: smoothed (RFC 6298).
    pub round_trip: Duration,
    /// The shortest of late, without queues.
    pub shortest_round_trip: Duration,
    /// Segments that this end has sent again so far.
    pub retransmitted: u32,
    /// The rate at which data last arrived, in bytes per second.
    pub delivery_rate: u64,
}

/// How what is sent on a TCP connection passes.
///
/// # Errors
/// It is no TCP socket.
pub fn flow(socket: BorrowedFd<'_>) -> io::Result<Flow> {
    let info = information(socket)?;
    Ok(Flow {
        round_trip: Duration::from_micros(info.round_trip_us.into()),
        shortest_round_trip: Duration::from_micros(info.shortest_round_trip_us.into()),
        retransmitted: info.total_retransmitted,
        delivery_rate: info.delivery_rate,
    })
}

/// What the path of a TCP connection holds, in bytes: its shortest round trip at the rate at which data last arrived.
///
/// # Errors
/// It is no TCP socket.
pub fn holds(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let info = information(socket)?;
    let bytes = u128::from(info.delivery_rate) * u128::from(info.shortest_round_trip_us) / 1_000_000;
    Ok(u64::try_from(bytes).unwrap_or(u64::MAX))
}

fn information(socket: BorrowedFd<'_>) -> io::Result<Info> {
    let mut info = Info::default();
    let mut length = size_of::<Info>() as libc::socklen_t;
    // SAFETY: the system writes at most `length` bytes to a place that has as many, is mutable, and holds plain integers.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut length)
    };
    outcome(result)?;
    Ok(info)
}

/// Has bytes that are not acknowledged sent again at least every `interval`, 1 to 120 s, however often that was in vain.
///
/// # Errors
/// Linux before 6.15 does not know it.
pub fn resend_every(socket: BorrowedFd<'_>, interval: Duration) -> io::Result<()> {
    let milliseconds = libc::c_int::try_from(interval.as_millis()).unwrap_or(libc::c_int::MAX);
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the system reads `length` bytes from a place that has as many, and keeps no pointer to it.
    outcome(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            TCP_RTO_MAX_MS,
            (&raw const milliseconds).cast(),
            length,
        )
    })
}

/// The longest time between two attempts, as [`resend_every`] has set it, or as the system has it.
///
/// # Errors
/// As [`resend_every`].
pub fn resends_every(socket: BorrowedFd<'_>) -> io::Result<Duration> {
    let mut milliseconds: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: as in `heard`.
    outcome(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            TCP_RTO_MAX_MS,
            (&raw mut milliseconds).cast(),
            &raw mut length,
        )
    })?;
    Ok(Duration::from_millis(milliseconds.max(0) as u64))
}

fn outcome(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `include/uapi/linux/tcp.h`; libc does not have it yet.
const TCP_RTO_MAX_MS: libc::c_int = 44;

/// `include/net/tcp_states.h`.
const CLOSE: u8 = 7;
const CLOSE_WAIT: u8 = 8;

/// `struct tcp_info`, as far as every Linux has it: the system fills as much as it is given.
#[repr(C)]
#[derive(Default)]
struct Info {
    state: [u8; 3],
    probes: u8,
    flags: [u8; 4],
    times: [u32; 4],
    unacknowledged: u32,
    counts: [u32; 4],
    last_sent_ms: [u32; 3],
    last_ack_received_ms: u32,
    path: [u32; 2],
    round_trip_us: u32,
    more_of_path: [u32; 7],
    total_retransmitted: u32,
    rates_and_bytes: [u64; 4],
    segments: [u32; 3],
    shortest_round_trip_us: u32,
    segments_of_data: [u32; 2],
    delivery_rate: u64,
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::thread::sleep;

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        (near, listener.accept().expect("one has connected").0)
    }

    #[test]
    fn an_answer_is_heard_and_silence_grows() {
        let (mut near, mut far) = pair();
        sleep(Duration::from_millis(300));
        let before = heard(near.as_fd()).expect("TCP");
        assert!(before.since >= Duration::from_millis(250) && !before.is_awaited, "{before:?}");
        let began = std::time::Instant::now();
        near.write_all(&[1; 100]).expect("open");
        far.read_exact(&mut [0; 100]).expect("open");
        // However busy the machine: it was heard since the write, or will be soon. The system counts by its ticks.
        let mut after = heard(near.as_fd()).expect("TCP");
        while after.since > began.elapsed() + Duration::from_millis(10) && began.elapsed() < Duration::from_secs(30) {
            sleep(Duration::from_millis(1));
            after = heard(near.as_fd()).expect("TCP");
        }
        assert!(after.since <= began.elapsed() + Duration::from_millis(10), "{before:?} {after:?}");
        assert!(heard(std::fs::File::open("/dev/null").expect("Linux").as_fd()).is_err());
    }

    #[test]
    fn a_new_connection_has_a_round_trip_and_has_lost_nothing() {
        let (near, _far) = pair();
        let time = round_trip(near.as_fd()).expect("TCP");
        assert!(time > Duration::ZERO && time < Duration::from_secs(5), "{time:?}");
        assert_eq!(retransmitted(near.as_fd()).expect("TCP"), 0);
    }

    #[test]
    fn the_longest_pause_between_attempts_is_as_set_where_the_system_can() {
        let (near, _far) = pair();
        match resend_every(near.as_fd(), Duration::from_secs(2)) {
            Ok(()) => assert_eq!(resends_every(near.as_fd()).expect("set"), Duration::from_secs(2)),
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ENOPROTOOPT)),
        }
        assert!(resend_every(near.as_fd(), Duration::from_millis(10)).is_err(), "less than the system allows");
    }
}
