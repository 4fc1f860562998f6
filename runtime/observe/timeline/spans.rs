//! Stretches of time, and how much of some others cover. Pure.

/// Stretches of time, in nanoseconds, in order and apart.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Spans(Vec<(i64, i64)>);

impl Spans {
    /// Of any, in any order. What ends before it begins is none.
    pub(super) fn of(spans: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let mut all: Vec<(i64, i64)> = spans.into_iter().filter(|(from, to)| from < to).collect();
        all.sort_unstable();
        let mut apart: Vec<(i64, i64)> = Vec::new();
        for (from, to) in all {
            match apart.last_mut() {
                Some((_, end)) if from <= *end => *end = to.max(*end),
                _ => apart.push((from, to)),
            }
        }
        Spans(apart)
    }

    pub(super) fn length(&self) -> i64 {
        self.0.iter().map(|(from, to)| to - from).sum()
    }

    /// What both cover.
    pub(super) fn both(&self, other: &Spans) -> Spans {
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut both = Vec::new();
        while let (Some(&&(a, b)), Some(&&(c, d))) = (left.peek(), right.peek()) {
            if a.max(c) < b.min(d) {
                both.push((a.max(c), b.min(d)));
            }
            if b < d {
                left.next()
            } else {
                right.next()
            };
        }
        Spans(both)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn by_hand() {
        let spans = Spans::of([(5, 9), (1, 3), (2, 4), (9, 10), (20, 20), (30, 25)]);
        assert_eq!(spans, Spans(vec![(1, 4), (5, 10)]));
        assert_eq!(spans.length(), 8);
        assert_eq!(spans.both(&Spans::of([(0, 2), (3, 6), (8, 100)])), Spans(vec![(1, 2), (3, 4), (5, 6), (8, 10)]));
    }

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        #[test]
        fn as_counting_says(
            one in prop::collection::vec((0i64..60, 0i64..60), 0..8),
            other in prop::collection::vec((0i64..60, 0i64..60), 0..8),
        ) {
            let covers = |spans: &[(i64, i64)], at: i64| spans.iter().any(|(from, to)| (*from..*to).contains(&at));
            let both = (0..60).filter(|at| covers(&one, *at) && covers(&other, *at)).count() as i64;
            let alone = (0..60).filter(|at| covers(&one, *at)).count() as i64;
            let (one, other) = (Spans::of(one), Spans::of(other));
            prop_assert_eq!((one.length(), one.both(&other).length()), (alone, both));
        }
    }
}
