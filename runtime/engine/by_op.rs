//! What is kept by operation, while operations are under way: few at a time, or many that end about in the order in which they began.

use std::collections::VecDeque;

use super::OpId;

/// Places without use that are kept.
const IDLE_PLACES_MAX: usize = 1024;
/// So many empty places between others are no reason to move these.
const FEW: usize = 16;

/// A table by operation. It is in their order, so that what began first is found without a search, and so is the only one.
pub(crate) struct ByOp<T> {
    /// A place is empty when what it held has gone. The first and the last ones are not.
    places: VecDeque<(OpId, Option<T>)>,
    len: usize,
}

impl<T> ByOp<T> {
    pub(crate) const fn new() -> Self {
        ByOp { places: VecDeque::new(), len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Keeps `value` for `op`, in place of any other.
    pub(crate) fn insert(&mut self, op: OpId, value: T) {
        let is_last = self.places.back().is_none_or(|(last, _)| *last < op);
        if is_last {
            self.places.push_back((op, Some(value)));
            self.len += 1;
            return;
        }
        match self.places.binary_search_by_key(&op, |(op, _)| *op) {
            Ok(at) => self.len += usize::from(self.places[at].1.replace(value).is_none()),
            Err(at) => {
                self.places.insert(at, (op, Some(value)));
                self.len += 1;
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, op: OpId) -> Option<&T> {
        self.places.get(self.find(op)?)?.1.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, op: OpId) -> Option<&mut T> {
        let at = self.find(op)?;
        self.places.get_mut(at)?.1.as_mut()
    }

    pub(crate) fn contains(&self, op: OpId) -> bool {
        self.get(op).is_some()
    }

    #[inline]
    pub(crate) fn remove(&mut self, op: OpId) -> Option<T> {
        if self.is_first(op) && self.places.len() == 1 && self.places.capacity() <= IDLE_PLACES_MAX {
            self.len = 0;
            return self.places.pop_front()?.1;
        }
        self.remove_among(op)
    }

    fn remove_among(&mut self, op: OpId) -> Option<T> {
        let at = self.find(op)?;
        let value = self.places.get_mut(at)?.1.take()?;
        self.len -= 1;
        self.tidy();
        Some(value)
    }

    /// Takes all, in order.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.len = 0;
        std::mem::take(&mut self.places).into_iter().filter_map(|(_, value)| value)
    }

    /// All, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (OpId, &T)> {
        self.places.iter().filter_map(|(op, value)| Some((*op, value.as_ref()?)))
    }

    /// All, in order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|(_, value)| value.as_ref())
    }

    #[inline]
    fn is_first(&self, op: OpId) -> bool {
        self.places.front().is_some_and(|(first, _)| *first == op)
    }

    #[inline]
    fn find(&self, op: OpId) -> Option<usize> {
        if self.is_first(op) { Some(0) } else { self.search(op) }
    }

    fn search(&self, op: OpId) -> Option<usize> {
        self.places.binary_search_by_key(&op, |(op, _)| *op).ok()
    }

    /// Drops places that are empty, but for a few between others.
    fn tidy(&mut self) {
        while self.places.front().is_some_and(|(_, value)| value.is_none()) {
            self.places.pop_front();
        }
        while self.places.back().is_some_and(|(_, value)| value.is_none()) {
            self.places.pop_back();
        }
        if self.places.len() > 2 * self.len + FEW {
            self.places.retain(|(_, value)| value.is_some());
        }
        if self.places.capacity() > IDLE_PLACES_MAX && self.places.len() < self.places.capacity() / 8 {
            self.places.shrink_to(IDLE_PLACES_MAX.max(2 * self.places.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        /// Whatever comes and goes, in whichever order, it is what an ordered map holds, and little more memory.
        #[test]
        fn it_holds_what_a_map_holds(calls in prop::collection::vec((0u8..4, 0u64..200, any::<u32>()), 0..400)) {
            let (mut table, mut model, mut next) = (ByOp::new(), BTreeMap::new(), 200);
            for (call, op, value) in calls {
                match call {
                    0 => {
                        next += 1;
                        table.insert(OpId(next), value);
                        model.insert(OpId(next), value);
                    }
                    1 => {
                        table.insert(OpId(op), value);
                        model.insert(OpId(op), value);
                    }
                    2 => {
                        let op = OpId(next.saturating_sub(op));
                        prop_assert_eq!(table.remove(op), model.remove(&op));
                    }
                    _ => {
                        let op = OpId(next.saturating_sub(op));
                        prop_assert_eq!(table.contains(op), model.contains_key(&op));
                        prop_assert_eq!(table.get_mut(op).copied(), model.get(&op).copied());
                    }
                }
                prop_assert_eq!((table.len(), table.is_empty()), (model.len(), model.is_empty()));
                prop_assert!(table.places.len() <= 2 * model.len() + FEW);
            }
            let own: Vec<(OpId, u32)> = table.iter().map(|(op, value)| (op, *value)).collect();
            prop_assert_eq!(own, model.iter().map(|(op, value)| (*op, *value)).collect::<Vec<_>>());
            prop_assert!(table.values().eq(model.values()));
            prop_assert!(table.drain().eq(model.into_values()));
            prop_assert!(table.is_empty() && table.drain().next().is_none());
        }
    }

    /// One that stays, and a million that pass: no memory for those that have gone.
    #[test]
    fn what_passes_one_that_stays_leaves_nothing() {
        let mut table = ByOp::new();
        table.insert(OpId(0), 0);
        for op in 1..100_000 {
            table.insert(OpId(op), op);
        }
        for op in 1..100_000 {
            assert_eq!(table.remove(OpId(op)), Some(op));
        }
        for op in 100_000..1_000_000 {
            table.insert(OpId(op), op);
            assert_eq!(table.remove(OpId(op)), Some(op));
        }
        assert!(table.len() == 1 && table.places.len() == 1 && table.places.capacity() <= 2 * IDLE_PLACES_MAX);
    }
}
