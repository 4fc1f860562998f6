//! Both ends of a connection, with sockets between them that take and give what they like.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};

use proptest::prelude::*;

use super::*;

/// The two ends of a connection, of each kind that there is.
pub(crate) fn pairs() -> Vec<(Records, Records)> {
    vec![
        (Records::checked(), Records::checked()),
        #[cfg(feature = "encrypt")]
        crate::wire::cipher::tests::pair(),
    ]
}

/// The records that one end makes of `plain`, and so many bytes of it in each.
pub(crate) fn records(from: &mut Records, plain: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    let count = from.write(&[IoSlice::new(plain)], &mut |bytes| {
        wire.extend_from_slice(bytes);
        Ok(bytes.len())
    });
    assert_eq!(count.unwrap(), plain.len());
    wire
}

/// What the other end reads of them until there is no more, and how that ends.
pub(crate) fn opened(to: &mut Records, wire: &[u8]) -> (Vec<u8>, io::Error) {
    let (mut wire, mut plain, mut place) = (wire, Vec::new(), [0; 300]);
    loop {
        let read = to.read(&mut [IoSliceMut::new(&mut place)], &mut |bytes| {
            let now = bytes.len().min(wire.len());
            bytes[..now].copy_from_slice(&wire[..now]);
            wire = &wire[now..];
            if now == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(now) }
        });
        match read {
            Ok(count) => {
                assert_ne!(count, 0, "a reader would take it for the end");
                plain.extend_from_slice(&place[..count]);
            }
            Err(error) => return (plain, error),
        }
    }
}

/// A socket with little room.
#[derive(Default)]
struct Pipe {
    bytes: VecDeque<u8>,
    room: usize,
}

impl Pipe {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let now = bytes.len().min(self.room - self.bytes.len());
        self.bytes.extend(&bytes[..now]);
        if now == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(now) }
    }

    fn take(&mut self, place: &mut [u8], most: usize) -> io::Result<usize> {
        let now = place.len().min(most).min(self.bytes.len());
        place.iter_mut().zip(self.bytes.drain(..now)).for_each(|(place, byte)| *place = byte);
        if now == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(now) }
    }
}

/// Cuts `bytes` to slices of these lengths, again and again.
fn slices<'a>(mut bytes: &'a [u8], lengths: &[usize]) -> Vec<IoSlice<'a>> {
    let mut slices = Vec::new();
    for &length in lengths.iter().cycle().take(130) {
        let (slice, rest) = bytes.split_at(length.min(bytes.len()));
        slices.push(IoSlice::new(slice));
        bytes = rest;
    }
    slices
}

/// Passes `message` from one end to the other, in turns. Returns what came.
fn pass(
    (mut from, mut to): (Records, Records),
    message: &[u8],
    cuts: &[usize],
    places: &[usize],
    (room, most): (usize, usize),
) -> Vec<u8> {
    let (mut pipe, mut sent, mut came) = (Pipe { room, ..Pipe::default() }, 0, Vec::new());
    let mut turns = 0;
    while came.len() < message.len() || from.has_unsent() {
        turns += 1;
        assert!(turns < 1_000_000, "{sent} sent, {} came of {}", came.len(), message.len());
        match from.write(&slices(&message[sent..], cuts), &mut |bytes| pipe.send(bytes)) {
            Ok(count) => sent += count,
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
        assert!(sent == message.len() || from.has_unsent() || pipe.bytes.len() < pipe.room, "there was room");
        loop {
            let mut space = vec![0; places.iter().sum()];
            let mut rest = &mut space[..];
            let mut cut = Vec::new();
            for &length in places {
                let (place, beyond) = rest.split_at_mut(length);
                cut.push(IoSliceMut::new(place));
                rest = beyond;
            }
            match to.read(&mut cut, &mut |bytes| pipe.take(bytes, most)) {
                Ok(count) => came.extend_from_slice(&space[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
            assert!(came.len() <= sent, "what has come was sent");
        }
        assert!(!to.holds(), "what is held would be forgotten");
    }
    assert_eq!(sent, message.len(), "all that came counts as sent");
    came
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..crate::scale::cases(300) })]

    #[test]
    fn what_goes_in_comes_out(
        length in 2usize..200_000,
        cuts in prop::collection::vec(1usize..9000, 1..6),
        places in prop::collection::vec(1usize..9000, 1..6),
        room in 1usize..100_000,
        most in 1usize..100_000,
    ) {
        // Small rooms need many turns.
        let length = length.min(room * 50).min(most * 50).max(2);
        let message: Vec<u8> = (0..length).map(|at| (at * 7 % 251) as u8).collect();
        for pair in pairs() {
            prop_assert_eq!(&pass(pair, &message, &cuts, &places, (room, most)), &message);
        }
    }
}

/// Who takes it for not sent sends it again, and its peer has it twice.
#[test]
fn what_went_before_a_socket_broke_counts() {
    let message = [7; 100_000];
    for (records, (mut from, mut to)) in (0..4).flat_map(|records| pairs().into_iter().map(move |pair| (records, pair)))
    {
        let (mut wire, mut whole) = (VecDeque::new(), 0);
        let mut send = |bytes: &[u8]| {
            if whole == records {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            whole += 1;
            wire.extend(bytes);
            Ok(bytes.len())
        };
        let count = from.write(&[IoSlice::new(&message)], &mut send).unwrap();
        assert_eq!(
            from.write(&[IoSlice::new(&message)], &mut send).unwrap_err().kind(),
            io::ErrorKind::ConnectionReset
        );
        let (mut place, mut come) = (vec![0; message.len()], 0);
        while let Ok(now @ 1..) = to.read(&mut [IoSliceMut::new(&mut place)], &mut |bytes| {
            let now = bytes.len().min(wire.len());
            bytes.iter_mut().zip(wire.drain(..now)).for_each(|(place, byte)| *place = byte);
            Ok(now)
        }) {
            come += now;
        }
        assert!(come <= count, "{records} records: {come} bytes have come, and {count} went");
    }
}

#[test]
fn garbage_ends_the_link_and_never_panics() {
    for length in [0u16, 1, 15, 16, 17, 300, 32_768, 32_769, 33_000, u16::MAX] {
        let wire: Vec<u8> = length.to_le_bytes().into_iter().chain((0..200_000u32).map(|n| n as u8)).collect();
        for (_, mut to) in pairs() {
            let (plain, error) = opened(&mut to, &wire);
            assert_eq!((plain.len(), error.kind()), (0, io::ErrorKind::InvalidData), "a record of {length}, {to:?}");
            assert_eq!(opened(&mut to, &wire).1.kind(), io::ErrorKind::InvalidData, "it cannot go on");
        }
    }
}

/// What was right before a record that is not: it need not come again.
#[test]
fn all_before_what_was_changed_is_read() {
    for (mut from, mut to) in pairs() {
        from.of_at_most(100);
        let mut wire = records(&mut from, &[5; 950]);
        let record = wire.len() / 10;
        let at = 6 * record + record / 2;
        wire[at] ^= 4;
        let (plain, error) = opened(&mut to, &wire);
        assert_eq!((plain, error.kind()), (vec![5; 600], io::ErrorKind::InvalidData), "{to:?}");
        assert!(to.holds(), "who asks nothing else is to hear of it");
    }
}
