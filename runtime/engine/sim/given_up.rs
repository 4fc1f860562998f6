//! Messages whose reads are given up while they arrive.

use super::units::{FRAGMENT, Pair, pattern};
use crate::ids::Rank;

/// The last fragment is shorter.
const LONG: usize = 9 * FRAGMENT + 100;

/// However much of the next message comes with the end of such a one.
#[test]
fn what_follows_is_understood() {
    for behind in 0..=80 {
        let mut pair = Pair::new(1 << 20, 16, 1 << 20);
        let read = pair.read(1, 1, LONG);
        pair.write(0, 1, pattern(1, LONG));
        pair.send(0);
        pair.receive(1, 2 * FRAGMENT);
        pair.receive(1, 2 * FRAGMENT);
        pair.engines[1].unmeet(Some(Rank(0)), read);
        pair.settle(1);
        let rest = pair.on_the_wire(0);
        pair.write(0, 2, pattern(2, 40));
        pair.send(0);
        assert_eq!(pair.receive(1, rest + behind), rest + behind.min(32), "one read takes what is left of it");
        pair.run();
        let (again, next) = (pair.read(1, 1, LONG), pair.read(1, 2, 40));
        pair.run();
        assert_eq!(pair.take(1, again), pattern(1, LONG), "{behind} bytes behind it");
        assert_eq!(pair.take(1, next), pattern(2, 40), "{behind} bytes behind it");
    }
}
