//! What a TUN device with offloads hands over: a virtio header, then an IP packet or a train of them. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::cable::Count;

/// The length of the virtio header before each packet.
pub(super) const HEADER_BYTES: usize = 10;

/// Where a frame goes, and how many packets and bytes it is on a cable; `None` if it is no IP packet.
///
/// The system leaves it to the device to cut a long segment into packets; to the other device it is passed on whole,
/// but counted as the packets that it stands for.
pub(super) fn parse(frame: &[u8]) -> Option<(IpAddr, Count)> {
    let (header, packet) = frame.split_at_checked(HEADER_BYTES)?;
    let to = match packet.first()? >> 4 {
        4 => IpAddr::from(Ipv4Addr::from(<[u8; 4]>::try_from(packet.get(16..20)?).ok()?)),
        6 => IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(packet.get(24..40)?).ok()?)),
        _ => return None,
    };
    let bytes = packet.len() as u64;
    let (one, field) = (Count { packets: 1, bytes }, |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]));
    // Flags, kind, header length, payload of each packet, where the checksum begins, where it is.
    let (kind, payload, transport) = (header[1] & !ECN, u64::from(field(4)), usize::from(field(6)));
    let transport_bytes = match kind {
        TCP_4 | TCP_6 => usize::from(packet.get(transport + 12)? >> 4) * 4,
        UDP => 8,
        _ => return Some((to, one)),
    };
    let headers = (transport + transport_bytes) as u64;
    if payload == 0 {
        return Some((to, one));
    }
    let packets = bytes.saturating_sub(headers).div_ceil(payload).max(1);
    Some((to, Count { packets, bytes: bytes + (packets - 1) * headers }))
}

// The kinds of trains, from the virtio specification.
const TCP_4: u8 = 1;
const TCP_6: u8 = 4;
const UDP: u8 = 5;
/// A flag beside the kind.
const ECN: u8 = 0x80;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(kind: u8, payload: u16, transport: u16, packet: Vec<u8>) -> Vec<u8> {
        let mut frame = vec![1, kind, 0, 0];
        for field in [payload, transport, 16] {
            frame.extend(field.to_ne_bytes());
        }
        frame.extend(packet);
        frame
    }

    fn ipv4(length: usize) -> Vec<u8> {
        let mut packet = vec![0; length];
        packet[0] = 0x45;
        packet[16..20].copy_from_slice(&[10, 76, 0, 2]);
        if length > 32 {
            packet[32] = 0x80;
        }
        packet
    }

    #[test]
    fn a_train_counts_as_its_packets() {
        let to: IpAddr = "10.76.0.2".parse().unwrap();
        let train = frame(TCP_4, 1448, 20, ipv4(52 + 3 * 1448 + 1));
        assert_eq!(parse(&train), Some((to, Count { packets: 4, bytes: 4 * 52 + 3 * 1448 + 1 })));
        let with_ecn = frame(TCP_4 | ECN, 1448, 20, ipv4(52 + 1448));
        assert_eq!(parse(&with_ecn), Some((to, Count { packets: 1, bytes: 1500 })));
        let datagrams = frame(UDP, 1000, 20, ipv4(28 + 1500));
        assert_eq!(parse(&datagrams), Some((to, Count { packets: 2, bytes: 2 * 28 + 1500 })));
        assert_eq!(parse(&frame(0, 0, 0, ipv4(84))), Some((to, Count { packets: 1, bytes: 84 })));
    }

    #[test]
    fn the_newer_addresses_are_found() {
        let mut packet = vec![0; 40];
        packet[0] = 0x60;
        packet[24..40].copy_from_slice(&"fd76::2".parse::<Ipv6Addr>().unwrap().octets());
        assert_eq!(parse(&frame(0, 0, 0, packet)).map(|(to, _)| to), Some("fd76::2".parse().unwrap()));
        assert_eq!(parse(&frame(0, 0, 0, vec![0x60; 39])), None);
        assert_eq!(parse(&[0; 10]), None);
    }

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        #[test]
        fn no_frame_panics(frame in proptest::collection::vec(any::<u8>(), 0..120)) {
            if let Some((_, count)) = parse(&frame) {
                prop_assert!(count.packets >= 1 && count.bytes >= (frame.len() - HEADER_BYTES) as u64);
            }
        }
    }
}
