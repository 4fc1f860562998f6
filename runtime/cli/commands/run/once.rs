//! What ranks say on standard error, and what has been said already: the same error of several ranks is shown once, and
//! what a person has just read is not repeated at the end. Pure.

use std::collections::{BTreeMap, VecDeque};

use lathide::Rank;

/// How a `main` that returns an error says it.
const ERROR: &[u8] = b"Error: ";
/// Errors that are told apart; any other is always shown.
const ERRORS_MAX: usize = 64;
/// So many lines are still before a person's eyes.
const RECENT_LINES: usize = 10;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Once {
    /// The errors that were shown, who said them first, and who after that.
    errors: BTreeMap<Vec<u8>, (Rank, Vec<Rank>)>,
    /// The last lines that were shown.
    recent: VecDeque<(Rank, Vec<u8>)>,
}

impl Once {
    /// Of what a rank writes on standard error, whole lines, what is to be shown.
    pub(super) fn shown(&mut self, rank: Rank, bytes: &[u8]) -> Vec<u8> {
        let mut shown = Vec::with_capacity(bytes.len());
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if line.starts_with(ERROR) && self.repeats(rank, line) {
                continue;
            }
            shown.extend(line);
            self.recent.push_back((rank, line.trim_ascii_end().to_vec()));
            if self.recent.len() > RECENT_LINES {
                self.recent.pop_front();
            }
        }
        shown
    }

    /// Whether another rank has said it.
    fn repeats(&mut self, rank: Rank, line: &[u8]) -> bool {
        match self.errors.get_mut(line) {
            Some((first, others)) if *first != rank => {
                others.push(rank);
                true
            }
            Some(_) => false,
            None => {
                if self.errors.len() < ERRORS_MAX {
                    self.errors.insert(line.to_vec(), (rank, Vec::new()));
                }
                false
            }
        }
    }

    /// A sentence for each error that more than one rank has said.
    pub(super) fn repeated(&self) -> Vec<String> {
        let names = |ranks: &[Rank]| {
            let mut ranks = ranks.to_vec();
            ranks.sort_unstable();
            ranks.dedup();
            match &ranks[..] {
                [one] => format!("rank {one}"),
                many if many.len() > 8 => format!("{} more ranks", many.len()),
                many => format!("ranks {}", many.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
            }
        };
        let said = self.errors.values().filter(|(_, others)| !others.is_empty());
        said.map(|(first, others)| format!("the error of rank {first} is also that of {}", names(others))).collect()
    }

    /// Whether all of these lines of a rank are still before a person's eyes, or are another rank's too.
    pub(super) fn is_seen(&self, rank: Rank, lines: &[String]) -> bool {
        lines.iter().all(|line| {
            let whole = [line.as_bytes(), b"\n"].concat();
            self.recent.iter().any(|(of, shown)| *of == rank && shown == line.trim_end().as_bytes())
                || self.errors.get(&whole).is_some_and(|(_, others)| others.contains(&rank))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_several_ranks_is_shown_once() {
        let mut once = Once::default();
        let error = b"Error: the window is too small\n";
        assert_eq!(
            once.shown(Rank(2), b"hello\nError: the window is too small\n"),
            b"hello\nError: the window is too small\n"
        );
        assert_eq!(once.shown(Rank(0), b"hello\nError: the window is too small\nbye\n"), b"hello\nbye\n");
        assert_eq!(once.shown(Rank(1), error), b"");
        assert_eq!(once.shown(Rank(1), b"Error: another\n"), b"Error: another\n");
        assert_eq!(once.shown(Rank(2), error), error, "its own is no repetition");
        assert_eq!(once.repeated(), ["the error of rank 2 is also that of ranks 0, 1"]);
        assert!(once.is_seen(Rank(1), &["Error: the window is too small".into(), "Error: another".into()]));
        assert!(!once.is_seen(Rank(1), &["Error: unheard".into()]));
    }

    #[test]
    fn memory_is_bounded_and_nothing_else_is_held_back() {
        let mut once = Once::default();
        for number in 0..1000 {
            let line = format!("Error: {number}\n");
            assert_eq!(once.shown(Rank(0), line.as_bytes()), line.as_bytes());
        }
        assert_eq!((once.errors.len(), once.recent.len()), (ERRORS_MAX, RECENT_LINES));
        assert_eq!(once.shown(Rank(1), b"Error: 999\n"), b"Error: 999\n");
        assert!(!once.is_seen(Rank(0), &["Error: 5".into()]), "it is far up");
        assert_eq!(once.shown(Rank(1), b"no end"), b"no end");
    }
}
