//! How many fragments share a header.
//!
//! Fragments are short so that a small message need not wait long behind a large one. On a link that takes
//! megabytes per millisecond it waits for microseconds even behind many, and there the header of each fragment is
//! what costs: two more slices per fragment are a sixth of the system's work for a transfer. So where the socket
//! takes whatever it is given, consecutive fragments of one message travel as a *batch* behind one header; where it
//! fills up, each travels alone. It is known of a link within a host before it has carried anything; of others when long messages have
//! passed.

/// Fragments in the longest batch.
const FRAGMENTS_MAX: usize = 16;
/// Payload bytes in the longest batch, for fragments that are set longer than the default.
const BYTES_MAX: usize = 64 << 10;
/// A socket that takes so many fragments at a time is fast.
const FAST_FRAGMENTS: usize = 64;

/// The batch of one direction of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    fragment_bytes: usize,
    fragments: usize,
    /// Fragments in the longest batch.
    most: usize,
}

impl Batch {
    pub(super) fn new(fragment_bytes: usize) -> Self {
        let most = (BYTES_MAX / fragment_bytes).clamp(1, FRAGMENTS_MAX);
        Batch { fragment_bytes, fragments: 1, most }
    }

    /// From now on each fragment travels alone.
    pub(super) fn disable(&mut self) {
        (self.fragments, self.most) = (1, 1);
    }

    /// The link does not leave the host: it is fast, until it shows otherwise.
    pub(super) fn stays_within_host(&mut self) {
        self.fragments = self.most;
    }

    /// The most payload behind one header now.
    pub(super) fn bytes(&self) -> usize {
        self.fragments * self.fragment_bytes
    }

    /// The most that there can be.
    pub(super) fn longest(&self) -> usize {
        self.most * self.fragment_bytes
    }

    /// The socket took all of `bytes` in one call.
    pub(super) fn was_taken(&mut self, bytes: usize) {
        if bytes >= self.most * self.fragment_bytes {
            self.fragments = (2 * self.fragments).min(self.most);
        }
    }

    /// The socket was full after `bytes` since it last had room.
    pub(super) fn was_blocked(&mut self, bytes: usize) {
        if bytes < FAST_FRAGMENTS * self.fragment_bytes {
            self.fragments = (self.fragments / 2).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_train_grows_on_a_fast_link_and_shrinks_to_a_fragment_on_a_slow_one() {
        let mut batch = Batch::new(4096);
        assert_eq!(batch.bytes(), 4096, "at first nothing is known of the link");
        (0..10).for_each(|_| batch.was_taken(256 << 10));
        assert_eq!(batch.bytes(), 64 << 10);
        batch.was_blocked(1 << 20);
        assert_eq!(batch.bytes(), 64 << 10, "a fast link is full at times, too");
        (0..10).for_each(|_| batch.was_blocked(40_000));
        assert_eq!(batch.bytes(), 4096);
        (0..10).for_each(|_| batch.was_taken(8));
        assert_eq!(batch.bytes(), 4096, "small messages say nothing about the link");
    }

    #[test]
    fn within_a_host_a_train_begins_long_and_shrinks_like_others() {
        let mut batch = Batch::new(4096);
        batch.stays_within_host();
        assert_eq!(batch.bytes(), 64 << 10);
        (0..10).for_each(|_| batch.was_blocked(40_000));
        assert_eq!(batch.bytes(), 4096, "it is shaped, or its reader slow");
    }

    #[test]
    fn one_that_is_disabled_stays_a_fragment() {
        let mut batch = Batch::new(4096);
        (0..10).for_each(|_| batch.was_taken(256 << 10));
        batch.disable();
        batch.stays_within_host();
        (0..10).for_each(|_| batch.was_taken(256 << 10));
        assert_eq!(batch.bytes(), 4096);
    }

    #[test]
    fn a_fragment_that_is_set_long_travels_alone() {
        for fragment in [64 << 10, 1 << 20] {
            let mut batch = Batch::new(fragment);
            (0..10).for_each(|_| batch.was_taken(4 << 20));
            assert_eq!(batch.bytes(), fragment);
        }
    }
}
