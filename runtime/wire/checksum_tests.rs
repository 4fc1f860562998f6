//! Streams of records with checksums, changed in every way.

use std::io::ErrorKind;

use proptest::prelude::*;

use super::*;
use crate::chance::Chance;
use crate::wire::records::Records;
use crate::wire::records::tests::{opened, records};

/// The plain bytes of a stream, the records that they make, and how long each is.
fn stream(lengths: &[usize], rng: &mut Chance) -> (Vec<u8>, Vec<u8>) {
    let mut from = Records::checked();
    let (mut plain, mut wire) = (Vec::new(), Vec::new());
    for &length in lengths {
        let bytes: Vec<u8> = (0..length).map(|_| rng.next() as u8).collect();
        wire.extend(records(&mut from, &bytes));
        plain.extend(bytes);
    }
    (plain, wire)
}

/// The plain bytes of whole records before this place of the wire.
fn before(lengths: &[usize], at: usize) -> usize {
    let (mut place, mut plain) = (0, 0);
    for length in lengths {
        place += MORE_BYTES + length;
        if at < place {
            break;
        }
        plain += length;
    }
    plain
}

/// As RFC 3720 has it (appendix B.4), so that others can read what is on the wire.
#[test]
fn the_polynomial_is_castagnolis() {
    assert_eq!(crc32c::crc32c(&[0; 32]), 0x8a91_36aa);
    assert_eq!(crc32c::crc32c(&[0xff; 32]), 0x62a8_ab43);
    assert_eq!(crc32c::crc32c(&(0..32).collect::<Vec<u8>>()), 0x46dd_794e);
}

#[test]
fn a_record_is_what_the_manual_says() {
    let mut from = Records::checked();
    let wire = [records(&mut from, b"ab"), records(&mut from, b"c")].concat();
    let head = |number: u64, plain: &[u8]| {
        let mut head = (plain.len() as u16).to_le_bytes().to_vec();
        head.extend(crc32c::crc32c(plain).to_le_bytes());
        let checked = [&number.to_le_bytes()[..], &head].concat();
        head.extend(crc32c::crc32c(&checked).to_le_bytes());
        [&head[..], plain].concat()
    };
    assert_eq!(wire, [head(0, b"ab"), head(1, b"c")].concat());
}

#[test]
fn every_flipped_bit_of_a_stream_is_found_and_nothing_behind_it_is_read() {
    let lengths = [1, 2, 9, 16, 300, 3, 4097, 1];
    let (plain, wire) = stream(&lengths, &mut Chance(1));
    let (read, end) = opened(&mut Records::checked(), &wire);
    assert_eq!((read, end.kind()), (plain.clone(), ErrorKind::WouldBlock));
    for bit in 0..8 * wire.len() {
        let mut changed = wire.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let (read, error) = opened(&mut Records::checked(), &changed);
        assert!(Damaged::is(&error), "bit {bit}: {error}");
        assert_eq!(read, plain[..before(&lengths, bit / 8)], "bit {bit}");
    }
    println!("{} flips", 8 * wire.len());
}

/// Without waiting for what a wrong length promises.
#[test]
fn a_head_that_is_wrong_is_found_when_it_is_there() {
    let (_, wire) = stream(&[9], &mut Chance(1));
    for bit in 0..8 * MORE_BYTES {
        let mut head = wire[..MORE_BYTES].to_vec();
        head[bit / 8] ^= 1 << (bit % 8);
        assert!(Damaged::is(&opened(&mut Records::checked(), &head).1), "bit {bit}");
    }
}

#[test]
fn records_that_are_missing_twice_there_or_in_another_order_are_found() {
    let lengths = [5, 5, 5, 5];
    let (plain, wire) = stream(&lengths, &mut Chance(1));
    let record = |number: usize| &wire[number * (MORE_BYTES + 5)..][..MORE_BYTES + 5];
    for (what, order, right) in [
        ("missing", vec![0, 2, 3], 1),
        ("the first is missing", vec![1, 2, 3], 0),
        ("twice", vec![0, 1, 1, 2], 2),
        ("another order", vec![0, 2, 1, 3], 1),
    ] {
        let wire: Vec<u8> = order.iter().flat_map(|number| record(*number)).copied().collect();
        let (read, error) = opened(&mut Records::checked(), &wire);
        assert!(Damaged::is(&error), "{what}");
        assert_eq!(read, plain[..5 * right], "{what}");
    }
}

proptest! {
    #![proptest_config(crate::scale::cases(20_000))]

    /// A stream in which some bits are flipped, bytes are changed, lost or added, or that ends too soon.
    #[test]
    fn what_was_changed_is_never_read(
        seed: u64,
        lengths in prop::collection::vec(prop_oneof![1usize..40, 1usize..2000], 1..8),
        kind in 0..5,
        changes in 1usize..5,
    ) {
        let mut rng = Chance(seed);
        let (plain, wire) = stream(&lengths, &mut rng);
        let mut changed = wire.clone();
        for _ in 0..changes {
            let at = rng.below(changed.len());
            match kind {
                0 => changed[at] ^= 1 << rng.below(8_u32),
                1 => changed[at] = rng.next() as u8,
                2 => _ = changed.remove(at),
                3 => changed.insert(at, rng.next() as u8),
                _ => changed.truncate(at.max(1)),
            }
        }
        let (read, error) = opened(&mut Records::checked(), &changed);
        // What was changed back is what was sent.
        prop_assert!(plain.starts_with(&read), "{} bytes of {}", read.len(), plain.len());
        let first = changed.iter().zip(&wire).position(|(one, other)| one != other).unwrap_or(changed.len().min(wire.len()));
        prop_assert!(read.len() >= before(&lengths, first));
        if kind < 2 && changed != wire {
            prop_assert!(Damaged::is(&error), "{error}");
        }
    }

    #[test]
    fn any_bytes_are_records_or_not(bytes in prop::collection::vec(any::<u8>(), 0..300), length: u16) {
        for bytes in [bytes.clone(), [&length.to_le_bytes()[..], &bytes].concat()] {
            let mut to = Records::checked();
            let memory = to.memory();
            let (read, error) = opened(&mut to, &bytes);
            prop_assert!(read.is_empty() && (Damaged::is(&error) || bytes.len() < MORE_BYTES));
            prop_assert_eq!(to.memory(), memory, "nothing is allocated for what a stranger declares");
        }
    }
}
