//! When bytes of a TCP connection have left the host: the system's own timestamps, taken as a packet is handed to the
//! network card's driver.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// The last byte of a write has left the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    /// The number of that byte among those that were written since [`record`]: the first is 0. Modulo 2^32.
    pub byte: u32,
    /// When, by the system's real-time clock, since 1970.
    pub at: Duration,
}

/// From now on the system records when the last byte of each write leaves. What is recorded makes the socket ready in
/// `poll`, as an error does, until [`next`] has fetched it.
///
/// # Errors
/// It is no TCP socket, or Linux is older than 6.2.
pub fn record(socket: BorrowedFd<'_>) -> io::Result<()> {
    let flags: libc::c_uint = libc::SOF_TIMESTAMPING_TX_SOFTWARE
        | libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY
        | OPT_ID_TCP;
    // SAFETY: the system reads as many bytes as the flags have, and keeps no pointer to them.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPING,
            (&raw const flags).cast(),
            size_of_val(&flags) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The next departure that is recorded and was not fetched yet; `None` if there is none. Never blocks.
///
/// # Errors
/// It is no socket.
pub fn next(socket: BorrowedFd<'_>) -> io::Result<Option<Departure>> {
    loop {
        let mut control = Control([0; CONTROL_BYTES]);
        // SAFETY: all-zero is a valid `msghdr`: no name, no data, no control data.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_control = (&raw mut control).cast();
        header.msg_controllen = CONTROL_BYTES as _;
        // SAFETY: the header points to control data of the length that it says, which lives through the call; it asks for
        // no data and no name.
        let result =
            unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) };
        if result < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
        }
        // Other errors than departures are told by the next read, too.
        if let Some(departure) = departure(&header) {
            return Ok(Some(departure));
        }
    }
}

/// What the control data of one message says.
fn departure(header: &libc::msghdr) -> Option<Departure> {
    let (mut byte, mut at) = (None, None);
    // SAFETY: the header's control data was filled by the system, and lives as long as the header is borrowed; so the pointers
    // that these functions return are null or point to whole control messages within it.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !next.is_null() {
        // SAFETY: as above. The places may be unaligned, and each is read only if its message is that long.
        unsafe {
            let (kind, data) = (((*next).cmsg_level, (*next).cmsg_type), libc::CMSG_DATA(next));
            let length = ((*next).cmsg_len as usize).saturating_sub(libc::CMSG_LEN(0) as usize);
            match kind {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) if length >= size_of::<libc::timespec>() => {
                    let time = data.cast::<libc::timespec>().read_unaligned();
                    at = Some(Duration::new(time.tv_sec as u64, time.tv_nsec as u32));
                }
                (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR)
                    if length >= size_of::<libc::sock_extended_err>() =>
                {
                    let error = data.cast::<libc::sock_extended_err>().read_unaligned();
                    if error.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING {
                        byte = Some(error.ee_data);
                    }
                }
                _ => {}
            }
            next = libc::CMSG_NXTHDR(header, next);
        }
    }
    Some(Departure { byte: byte?, at: at? })
}

/// Room for control data, aligned as the system wants it.
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

/// Three timestamps, and an error with an address: less than half of it.
const CONTROL_BYTES: usize = 512;

/// `SOF_TIMESTAMPING_OPT_ID_TCP` of `include/uapi/linux/net_tstamp.h`: bytes are counted from what has been written, not from
/// what has been acknowledged.
const OPT_ID_TCP: libc::c_uint = 1 << 16;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::time::{Instant, SystemTime};

    use super::*;

    #[test]
    fn the_last_byte_of_each_write_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut near = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let mut far = listener.accept().expect("one has connected").0;
        near.set_nodelay(true).expect("TCP");
        near.write_all(&[0; 7]).expect("open");
        if let Err(error) = record(near.as_fd()) {
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL), "an older Linux");
            return;
        }
        assert_eq!(next(near.as_fd()).expect("a socket"), None, "nothing was written since");
        #[expect(clippy::disallowed_methods, reason = "the system stamps departures by this clock")]
        let before = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
        near.write_all(&[1; 8]).expect("open");
        far.read_exact(&mut [0; 15]).expect("open");
        near.write_all(&[2; 100]).expect("open");
        far.read_exact(&mut [0; 100]).expect("open");
        let mut bytes = Vec::new();
        let began = Instant::now();
        while bytes.last() != Some(&107) && began.elapsed() < Duration::from_secs(30) {
            if let Some(Departure { byte, at }) = next(near.as_fd()).expect("a socket") {
                assert!(at + Duration::from_secs(1) > before && at < before + Duration::from_secs(60), "{at:?}");
                bytes.push(byte);
            }
        }
        assert_eq!(bytes, [7, 107], "the last of 8, and the last of 100 more");
        near.write_all(&[3; 1]).expect("what was fetched is no error of the connection");
        assert!(next(std::fs::File::open("/dev/null").expect("Linux").as_fd()).is_err());
    }
}
