//! What only encrypted records promise; what all do is in `records_tests`.

use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut};

use super::*;
use crate::wire::records::Records;

/// The two ends of a connection, the same each time.
pub(crate) fn repeatable_pair() -> (Records, Records) {
    let (one, other) = noise::repeatable_pair().expect("the same secret");
    (Records::sealed(one), Records::sealed(other))
}

/// The same with keys of its own.
pub(crate) fn pair() -> (Records, Records) {
    open(Secret([1; 32]), Secret([1; 32])).expect("the same secret")
}

fn open(one: Secret, other: Secret) -> Result<(Records, Records), CipherError> {
    let (mut dialer, mut acceptor) = (Opening::dialer(&one)?, Opening::acceptor(&other)?);
    acceptor.read(&dialer.write()?)?;
    dialer.read(&acceptor.write()?)?;
    Ok((Records::sealed(dialer.finish()?), Records::sealed(acceptor.finish()?)))
}

#[test]
fn no_plain_byte_is_on_the_wire_and_every_changed_bit_is_noticed() {
    let message = b"a secret that is long enough to be found among the sealed bytes";
    let sealed = |from: &mut Records| {
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

/// Passes `count` records of a few bytes. Returns how many came as they went.
fn records_that_come(from: &mut Records, to: &mut Records, count: u8) -> u8 {
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
