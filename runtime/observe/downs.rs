//! Times at which a link had no connection. Pure.

/// Of one link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Downs {
    /// How many.
    pub(crate) cuts: u64,
    /// Since when it has none now.
    since_ns: Option<u64>,
    /// How long the others were, all together.
    ended_ns: u64,
    /// How many since a checksum was wrong.
    pub(crate) by_checksum: u64,
    /// Bytes sent again so far.
    pub(crate) again: u64,
}

impl Downs {
    pub(super) fn begins(&mut self, now_ns: u64) {
        if self.since_ns.is_none() {
            self.cuts += 1;
            self.since_ns = Some(now_ns);
        }
    }

    pub(super) fn ends(&mut self, now_ns: u64) {
        self.ended_ns = self.lasted_ns(now_ns);
        self.since_ns = None;
    }

    /// How long it has had none, all together, at `now_ns`.
    pub(super) fn lasted_ns(&self, now_ns: u64) -> u64 {
        self.ended_ns.saturating_add(self.since_ns.map_or(0, |since| now_ns.saturating_sub(since)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_without_a_connection_adds_up() {
        let mut downs = Downs::default();
        downs.ends(50);
        assert_eq!(downs, Downs::default(), "it was not down");
        downs.begins(100);
        downs.begins(150);
        assert_eq!((downs.cuts, downs.lasted_ns(170)), (1, 70), "still");
        downs.ends(200);
        assert_eq!(downs.lasted_ns(1000), 100);
        downs.begins(300);
        // A report says what was until finalize began.
        downs.ends(290);
        downs.begins(u64::MAX);
        assert_eq!((downs.cuts, downs.lasted_ns(0)), (3, 100));
    }
}
