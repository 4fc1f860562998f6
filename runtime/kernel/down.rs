//! What is known of a link that has no connection, and of one that does not come any further over several. Pure.

use std::time::Duration;

use crate::ids::Path;

/// A link that has no connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Down {
    /// When it broke, or was found to be silent.
    pub(crate) since: Duration,
    /// How, for people.
    pub(crate) cause: String,
    /// What came on it was not what was sent.
    pub(crate) by_checksum: bool,
    /// The task has begun to make another.
    pub(crate) is_known: bool,
}

/// A link that has gone down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Gone {
    pub(crate) path: Path,
    /// How long it has not come any further.
    pub(crate) stood: Duration,
    /// The connection that it had has brought nothing.
    pub(crate) in_vain: bool,
}

/// A link that goes on with another connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Resumed {
    /// How long it had none.
    pub(crate) after: Duration,
    /// Bytes that are sent again.
    pub(crate) again: u64,
    /// It had none since this end had found a wrong checksum.
    pub(crate) by_checksum: bool,
}

/// A connection of a link is cut: how things stand then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) at: Duration,
    /// When that connection began.
    pub(crate) began: Duration,
    /// What the link has received so far, and what the peer has.
    pub(crate) positions: (u64, u64),
    /// The peer has not received all that was sent.
    pub(crate) owes: bool,
}

/// Cuts of a link in succession between which it has come no further.
///
/// Each of its connections may be fine until something is sent, as where a path changes all long packets or lets none pass: then the
/// time in which a link must go on does not begin anew with each. One that has nothing to send stands still, too, and may.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Standstill {
    /// Since the first of them, or since nothing was to be sent.
    pub(crate) since: Duration,
    /// How many.
    pub(crate) cuts: u32,
    positions: (u64, u64),
}

impl Standstill {
    /// After one more cut of a link that must go on within `limit`.
    pub(crate) fn after(before: Option<Standstill>, cut: Cut, limit: Duration) -> Self {
        // A connection that has lasted longer has stood.
        let lasted = cut.at.saturating_sub(cut.began);
        let Some(before) = before.filter(|before| before.positions == cut.positions && lasted <= limit) else {
            return Standstill { since: cut.at, cuts: 1, positions: cut.positions };
        };
        let since = if cut.owes { before.since } else { cut.at };
        Standstill { since, cuts: before.cuts.saturating_add(1), ..before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    /// How long a link stands still by the last of these cuts: each at a second, with what has got through, and whether it owes.
    fn stands(cuts: &[(u64, (u64, u64), bool)]) -> (u64, u32) {
        let (mut standstill, mut began) = (None, Duration::ZERO);
        for &(at_s, positions, owes) in cuts {
            let at = Duration::from_secs(at_s);
            standstill = Some(Standstill::after(standstill, Cut { at, began, positions, owes }, LIMIT));
            began = at;
        }
        let (last, standstill) = (began, standstill.unwrap());
        ((last - standstill.since).as_secs(), standstill.cuts)
    }

    #[test]
    fn only_cuts_without_progress_add_up() {
        assert_eq!(stands(&[(100, (7, 7), true)]), (0, 1), "the first connection may have lasted");
        assert_eq!(stands(&[(1, (7, 7), true), (5, (7, 7), true), (20, (7, 7), true)]), (19, 3));
        assert_eq!(stands(&[(1, (7, 7), true), (5, (8, 7), true)]), (0, 1), "something has come");
        assert_eq!(stands(&[(1, (7, 7), true), (5, (7, 8), true)]), (0, 1), "something has gone");
        assert_eq!(stands(&[(1, (7, 7), true), (5, (7, 7), false), (9, (7, 7), true)]), (4, 3), "nothing was to go");
        assert_eq!(stands(&[(1, (7, 7), true), (32, (7, 7), true)]), (0, 1), "it has lasted");
        assert_eq!(stands(&[(1, (7, 7), true), (31, (7, 7), true), (61, (7, 7), true)]), (60, 3));
    }
}
