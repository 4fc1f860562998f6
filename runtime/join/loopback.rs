//! Connections over a loopback that nobody shapes: there is no queue to keep short, so they are not paced.
//!
//! BBR, the default congestion control of many systems, paces. Linux goes on to pace a connection that has begun with it when it is given
//! another one (by its window and its round trip, with a timer for each segment). So the other one is chosen before the connection begins.
//! A loopback that has a queueing discipline stands for a slower link: connections over it begin as the system makes them.

use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};

/// A congestion control that paces begins with this.
pub(crate) const PACES: &[u8] = b"bbr";
/// One that does not, and that every Linux has and lets every user choose.
pub(crate) const PLAIN: &[u8] = b"reno";
/// The discipline of an interface that has no queue.
const NO_QUEUE: &[u8] = b"noqueue";
/// The loopback's number, in each network namespace.
const INTERFACE: u32 = 1;

/// Has connections of `socket`, to or from `address`, not paced if they would be and pass a loopback that nobody shapes. For a socket that is not
/// connected, or a listener for what it will accept.
pub fn unpace(socket: &SockRef<'_>, address: IpAddr) {
    let paces = || socket.tcp_congestion().is_ok_and(|name| name.starts_with(PACES));
    if address.is_loopback() && paces() && discipline().is_ok_and(|name| name.as_deref() == Some(NO_QUEUE)) {
        // Where it may not be chosen, the default does too.
        let _ = socket.set_tcp_congestion(PLAIN);
    }
}

/// The name of the loopback's queueing discipline, asked of the system (rtnetlink(7)).
fn discipline() -> io::Result<Option<Vec<u8>>> {
    const NETLINK: i32 = 16;
    const ROUTE: i32 = 0;
    let mut socket = Socket::new(Domain::from(NETLINK), Type::RAW, Some(Protocol::from(ROUTE)))?;
    socket.set_read_timeout(Some(Duration::from_millis(100)))?;
    socket.write_all(&request())?;
    let mut reply = vec![0; 32 << 10];
    let count = socket.read(&mut reply)?;
    Ok(discipline_in(&reply[..count]).map(<[u8]>::to_vec))
}

/// Bytes of a message's header, and of what every message about a link has behind it.
const HEADER_BYTES: usize = 16;
const LINK_BYTES: usize = 16;

/// RTM_GETLINK about the loopback.
fn request() -> [u8; HEADER_BYTES + LINK_BYTES] {
    const GET_LINK: u16 = 18;
    const REQUEST: u16 = 1;
    let mut request = [0; HEADER_BYTES + LINK_BYTES];
    request[..4].copy_from_slice(&((HEADER_BYTES + LINK_BYTES) as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&GET_LINK.to_ne_bytes());
    request[6..8].copy_from_slice(&REQUEST.to_ne_bytes());
    request[HEADER_BYTES + 4..HEADER_BYTES + 8].copy_from_slice(&INTERFACE.to_ne_bytes());
    request
}

/// The discipline's name in a reply, if it is RTM_NEWLINK and has one.
fn discipline_in(reply: &[u8]) -> Option<&[u8]> {
    const NEW_LINK: u16 = 16;
    const DISCIPLINE: u16 = 6;
    const ATTRIBUTE_BYTES: usize = 4;
    let length = u32::from_ne_bytes(*reply.first_chunk()?) as usize;
    let kind = u16::from_ne_bytes(*reply.get(4..)?.first_chunk()?);
    let mut attributes = reply.get(HEADER_BYTES + LINK_BYTES..length).filter(|_| kind == NEW_LINK)?;
    loop {
        let length = usize::from(u16::from_ne_bytes(*attributes.first_chunk()?));
        let kind = u16::from_ne_bytes(*attributes.get(2..)?.first_chunk()?);
        let value = attributes.get(ATTRIBUTE_BYTES..length)?;
        if kind == DISCIPLINE {
            return value.strip_suffix(&[0]);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_discipline_is_found_behind_other_attributes() {
        let mut reply = vec![0; HEADER_BYTES + LINK_BYTES];
        reply[4..6].copy_from_slice(&16_u16.to_ne_bytes());
        for (kind, value) in [(3_u16, &b"lo\0"[..]), (13, &[1, 0, 0, 0]), (6, b"noqueue\0")] {
            reply.extend_from_slice(&(4 + value.len() as u16).to_ne_bytes());
            reply.extend_from_slice(&kind.to_ne_bytes());
            reply.extend_from_slice(value);
            reply.resize(reply.len().next_multiple_of(4), 0);
        }
        let length = reply.len() as u32;
        reply[..4].copy_from_slice(&length.to_ne_bytes());
        assert_eq!(discipline_in(&reply), Some(NO_QUEUE));
        reply[4] = 2;
        assert_eq!(discipline_in(&reply), None, "an error");
    }

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        /// Whatever comes, looking through it ends.
        #[test]
        fn any_reply_is_looked_through(mut reply in prop::collection::vec(any::<u8>(), 0..200), length in 0..200_u32) {
            if reply.len() >= 6 {
                reply[..4].copy_from_slice(&length.to_ne_bytes());
                reply[4..6].copy_from_slice(&16_u16.to_ne_bytes());
            }
            let _ = discipline_in(&reply);
        }
    }

    /// Both ends, if nobody shapes the loopback, and if the address is the loopback's.
    #[test]
    fn connections_over_a_free_loopback_do_not_pace() {
        let name = discipline().expect("the system tells").expect("it has one");
        let plain =
            if name == NO_QUEUE { PLAIN } else { return println!("skipped: the loopback is shaped: {name:?}") };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let dialing = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let paced = [SockRef::from(&listener), SockRef::from(&dialing)].map(|socket| socket.set_tcp_congestion(PACES));
        if paced.iter().any(|paced| paced.is_err()) {
            return println!("skipped: no {PACES:?} here");
        }
        unpace(&SockRef::from(&listener), Ipv4Addr::new(192, 0, 2, 1).into());
        let as_before = SockRef::from(&listener).tcp_congestion().expect("TCP").starts_with(PACES);
        assert!(as_before, "another address");
        unpace(&SockRef::from(&listener), Ipv4Addr::LOCALHOST.into());
        unpace(&SockRef::from(&dialing), Ipv4Addr::LOCALHOST.into());
        let address: SocketAddr = listener.local_addr().expect("bound");
        dialing.connect(&address.into()).expect("it listens");
        let accepted = listener.accept().expect("one has connected").0;
        for socket in [SockRef::from(&dialing), SockRef::from(&accepted)] {
            let name = socket.tcp_congestion().expect("TCP");
            assert_eq!(name.split(|byte| *byte == 0).next(), Some(plain));
        }
    }
}
