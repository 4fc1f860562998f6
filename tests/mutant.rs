//! Inputs that are almost right: valid ones in which chance flips bits, cuts, doubles and splices, and puts extreme numbers where
//! numbers stand. Included by the packages whose decoders read what others have written.

#![allow(dead_code, reason = "no package uses all of it")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::chance::Chance;
use crate::scale::scaled;

/// Numbers at which something turns round, or that no memory holds.
const EXTREMES: [u64; 12] =
    [0, 1, 2, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 48, i64::MAX as u64, u64::MAX];
/// The same in words, and others that a person may write.
const WORDS: [&str; 20] = [
    "0",
    "-1",
    "1",
    "65536",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "1e-320",
    "1e999",
    "-0.0",
    "00000000000000000000000007",
    "null",
    "[]",
    "{}",
    "\"\"",
    "true",
    "\u{202e}",
];
/// No input gets longer by more than this.
const GROWTH_MAX: usize = 2000;

/// Has `run` try `full` seeds, scaled, or just `LATHIDE_SIM_SEED`, each with chance of its own. Prints how many, and the seed of
/// one that fails. `run` returns whether its input was accepted.
///
/// # Panics
/// If `run` does.
pub(crate) fn each_seed(name: &str, full: u64, run: impl Fn(&mut Chance) -> bool) {
    if let Ok(seed) = std::env::var("LATHIDE_SIM_SEED") {
        run(&mut Chance(seed.parse().expect("a number")));
        return;
    }
    let (seeds, mut accepted) = (scaled(full), 0);
    for seed in 0..seeds {
        match catch_unwind(AssertUnwindSafe(|| run(&mut Chance(seed)))) {
            Ok(is_accepted) => accepted += u64::from(is_accepted),
            Err(panic) => {
                eprintln!("{name}: seed {seed} fails; to repeat it: LATHIDE_SIM_SEED={seed} cargo test --lib {name}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    println!("{name}: seeds 0 to {}, {accepted} accepted", seeds - 1);
}

/// One of `corpus`, changed in a few places.
pub(crate) fn bytes(chance: &mut Chance, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut all = corpus[chance.below(corpus.len())].clone();
    for _ in 0..1 + chance.below(3u32) {
        change(chance, &mut all, &corpus[chance.0 as usize % corpus.len()]);
    }
    all
}

fn change(chance: &mut Chance, all: &mut Vec<u8>, other: &[u8]) {
    let length = all.len();
    let at = if length == 0 { 0 } else { chance.below(length) };
    let span = at..(at + 1 + chance.below(24usize)).min(length);
    match chance.below(8u32) {
        0 if length > 0 => all[at] ^= 1 << chance.below(8u32),
        1 if length > 0 => all[at] = chance.pick(&EXTREMES) as u8,
        2 => all.truncate(at),
        3 => drop(all.drain(span)),
        4 => {
            let again = all[span].to_vec();
            all.splice(at..at, again);
        }
        5 if !other.is_empty() => {
            let from = chance.below(other.len());
            let piece = &other[from..(from + 1 + chance.below(40usize)).min(other.len())];
            let end = if chance.once_in(2) { at } else { (at + piece.len()).min(length) };
            all.splice(at..end, piece.iter().copied());
        }
        _ => {
            // A number: an extreme one, or one more or less.
            let width = chance.pick(&[1, 2, 4, 8]);
            let Some(place) = all.get_mut(at..at + width) else { return };
            let mut before = [0; 8];
            before[..width].copy_from_slice(place);
            let (before, by) = (u64::from_le_bytes(before), chance.pick(&[1, u64::MAX]));
            let after = if chance.once_in(2) { chance.pick(&EXTREMES) } else { before.wrapping_add(by) };
            place.copy_from_slice(&after.to_le_bytes()[..width]);
        }
    }
}

/// One of `corpus`, changed in a few places: mostly whole words, numbers and signs, so that what reads it goes deep.
pub(crate) fn text(chance: &mut Chance, corpus: &[&str]) -> String {
    let mut words = words(chance.pick(corpus));
    let most = words.len() + GROWTH_MAX;
    for _ in 0..1 + chance.below(3u32) {
        let at = if words.is_empty() { 0 } else { chance.below(words.len()) };
        let end = (at + 1 + chance.below(6usize)).min(words.len());
        match chance.below(8u32) {
            0 => words.truncate(at),
            1 => drop(words.drain(at..end)),
            2 => {
                let again: Vec<String> = words[at..end].to_vec();
                let times = if chance.once_in(8) { 40 } else { 1 };
                (0..times).for_each(|_| drop(words.splice(at..at, again.iter().cloned())));
            }
            3 => {
                let other = self::words(chance.pick(corpus));
                let from = chance.below(other.len().max(1));
                let piece: Vec<String> = other.into_iter().skip(from).take(1 + (chance.0 % 9) as usize).collect();
                words.splice(at..at, piece);
            }
            4 => {
                let sign =
                    chance.pick(&[",", ":", "[", "]", "{", "}", "\"", "-", ".", "@", "%", " ", "\n", "\0", "é", "e"]);
                words.insert(at, sign.to_owned());
            }
            5 if at < words.len() => words[at] = chance.pick(&WORDS).to_owned(),
            _ => {
                // A number, if there is one.
                let is_number = |word: &String| word.starts_with(|sign: char| sign.is_ascii_digit());
                let numbers: Vec<usize> = (0..words.len()).filter(|&word| is_number(&words[word])).collect();
                if !numbers.is_empty() {
                    words[chance.pick(&numbers)] = chance.pick(&WORDS).to_owned();
                }
            }
        }
        words.truncate(most);
    }
    words.concat()
}

/// Runs of digits, runs of letters, and single signs.
fn words(text: &str) -> Vec<String> {
    let kind = |sign: char| if sign.is_ascii_digit() { 1 } else { 2 * u8::from(sign.is_alphabetic()) };
    let (mut words, mut last) = (Vec::<String>::new(), 0);
    for sign in text.chars() {
        match words.last_mut() {
            Some(word) if last == kind(sign) && last > 0 => word.push(sign),
            _ => words.push(sign.to_string()),
        }
        last = kind(sign);
    }
    words
}
