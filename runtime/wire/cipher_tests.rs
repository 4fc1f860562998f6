//! Two ciphers with sockets between them that take and give what they like.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};

use proptest::prelude::*;

use super::*;

/// The two ends of a connection, the same each time.
pub(crate) fn repeatable_pair() -> (Cipher, Cipher) {
    noise::repeatable_pair().expect("the same secret")
}

/// The same with keys of its own.
pub(crate) fn pair() -> (Cipher, Cipher) {
    open(Secret([1; 32]), Secret([1; 32])).expect("the same secret")
}

fn open(one: Secret, other: Secret) -> Result<(Cipher, Cipher), CipherError> {
    let (mut dialer, mut acceptor) = (Opening::dialer(&one)?, Opening::acceptor(&other)?);
    acceptor.read(&dialer.write()?)?;
    dialer.read(&acceptor.write()?)?;
    Ok((dialer.finish()?, acceptor.finish()?))
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

/// Passes `message` from one cipher to the other, in turns. Returns what came.
fn pass(message: &[u8], cuts: &[usize], places: &[usize], room: usize, most: usize) -> Vec<u8> {
    let (mut from, mut to) = pair();
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
        prop_assert_eq!(pass(&message, &cuts, &places, room, most), message);
    }
}

#[test]
fn no_plain_byte_is_on_the_wire_and_every_changed_bit_is_noticed() {
    let message = b"a secret that is long enough to be found among the sealed bytes";
    let sealed = |from: &mut Cipher| {
        let mut wire = Vec::new();
        let count = from.write(&[IoSlice::new(message)], &mut |bytes| {
            wire.extend_from_slice(bytes);
            Ok(bytes.len())
        });
        assert_eq!(count.unwrap(), message.len());
        wire
    };
    let (mut from, _) = pair();
    let (once, again) = (sealed(&mut from), sealed(&mut from));
    assert_ne!(once, again, "no nonce is used twice");
    for wire in [&once, &again] {
        assert!(!wire.windows(8).any(|window| message.windows(8).any(|plain| plain == window)));
    }
    for bit in 0..once.len() * 8 {
        let (mut from, mut to) = pair();
        let mut wire = sealed(&mut from);
        wire[bit / 8] ^= 1 << (bit % 8);
        let mut wire = wire.into_iter().collect::<VecDeque<u8>>();
        let mut place = [0; 200];
        let read = to.read(&mut [IoSliceMut::new(&mut place)], &mut |bytes| {
            let now = bytes.len().min(wire.len());
            bytes.iter_mut().zip(wire.drain(..now)).for_each(|(place, byte)| *place = byte);
            Ok(now)
        });
        // A length that is too long waits for bytes that do not come, until the end of the connection.
        assert!(matches!(read, Err(_) | Ok(0)), "bit {bit}");
    }
}

/// Who takes it for not sent sends it again, and its peer has it twice.
#[test]
fn what_went_before_a_socket_broke_counts() {
    let message = [7; 100_000];
    for records in 0..4 {
        let (mut from, mut to) = pair();
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
fn another_secret_opens_nothing() {
    assert!(open(Secret([1; 32]), Secret([2; 32])).is_err());
    // A message of another connection, replayed.
    let mut earlier = Opening::dialer(&Secret([1; 32])).unwrap();
    let message = earlier.write().unwrap();
    assert!(Opening::acceptor(&Secret([2; 32])).unwrap().read(&message).is_err());
    // And its answer: the keys of this one are not those.
    let mut other = Opening::acceptor(&Secret([1; 32])).unwrap();
    other.read(&message).unwrap();
    let answer = other.write().unwrap();
    let mut dialer = Opening::dialer(&Secret([1; 32])).unwrap();
    dialer.write().unwrap();
    assert!(dialer.read(&answer).is_err());
}

#[test]
fn garbage_ends_the_link_and_never_panics() {
    for length in [0u16, 1, 15, 16, 17, 300, 33_000, u16::MAX] {
        let (_, mut to) = pair();
        let mut wire: VecDeque<u8> = length.to_le_bytes().into_iter().chain((0..200_000u32).map(|n| n as u8)).collect();
        let mut place = [0; 4096];
        let read = to.read(&mut [IoSliceMut::new(&mut place)], &mut |bytes| {
            let now = bytes.len().min(wire.len());
            bytes.iter_mut().zip(wire.drain(..now)).for_each(|(place, byte)| *place = byte);
            Ok(now)
        });
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::InvalidData, "a record of {length}");
    }
}

/// Passes `count` records of a few bytes. Returns how many came as they went.
fn records_that_come(from: &mut Cipher, to: &mut Cipher, count: u8) -> u8 {
    let mut wire = Vec::new();
    for record in 0..count {
        let mut send = |bytes: &[u8]| {
            wire.extend_from_slice(bytes);
            Ok(bytes.len())
        };
        assert_eq!(from.write(&[IoSlice::new(&[record; 9])], &mut send).unwrap(), 9);
        let mut place = [0; 9];
        let mut take = |bytes: &mut [u8]| {
            let now = wire.len().min(bytes.len());
            bytes[..now].copy_from_slice(&wire[..now]);
            wire.drain(..now);
            Ok(now)
        };
        match to.read(&mut [IoSliceMut::new(&mut place)], &mut take) {
            Ok(9) => assert_eq!(place, [record; 9]),
            _ => return record,
        }
    }
    count
}

#[test]
fn both_ends_change_keys_after_as_many_records() {
    let (mut one, mut other) = pair();
    one.change_keys_after(3);
    other.change_keys_after(3);
    for _ in 0..5 {
        assert_eq!(records_that_come(&mut one, &mut other, 20), 20);
        assert_eq!(records_that_come(&mut other, &mut one, 7), 7);
    }
    // What is sealed with the next key opens with no other.
    let (mut one, mut other) = pair();
    one.change_keys_after(3);
    assert_eq!(records_that_come(&mut one, &mut other, 20), 3);
}
