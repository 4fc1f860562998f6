//! Where points are: a rank's square or cube in an array with one layer of ghost points around it, and blocks of its points.

use std::array::from_fn;

/// A square (`D` = 2) or cube (`D` = 3) of points, `side` on each side, with ghost points around them. Points are counted from
/// 1 in each dimension: 0 and `side + 1` are the ghosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cube<const D: usize> {
    pub(crate) side: usize,
}

impl<const D: usize> Cube<D> {
    /// How long its array is.
    pub(crate) fn len(self) -> usize {
        (self.side + 2).pow(D as u32)
    }

    /// How far neighbours in each dimension are apart in the array; in the last dimension they follow each other.
    pub(crate) fn strides(self) -> [usize; D] {
        from_fn(|d| (self.side + 2).pow((D - 1 - d) as u32))
    }

    /// Where a point is in the array.
    pub(crate) fn at(self, point: [usize; D]) -> usize {
        point.iter().fold(0, |at, x| at * (self.side + 2) + x)
    }
}

/// Points of a cube: in each dimension `count` of them from `first` on, every one or every second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block<const D: usize> {
    pub(crate) first: [usize; D],
    pub(crate) count: [usize; D],
    /// 1 or 2.
    pub(crate) step: usize,
}

impl<const D: usize> Block<D> {
    /// The first `count` points of a cube.
    pub(crate) fn of(count: [usize; D]) -> Self {
        Block { first: [1; D], count, step: 1 }
    }

    pub(crate) fn len(&self) -> usize {
        self.count.iter().product()
    }

    /// Those whose distance from point 0 of the whole grid is even (0) or odd (1), in each dimension; `origin` is how far the
    /// cube's point 0 is from it.
    pub(crate) fn of_parity(&self, origin: [usize; D], parity: [usize; D]) -> Self {
        let skipped: [usize; D] = from_fn(|d| (self.first[d] + origin[d] + parity[d]) % 2);
        let first = from_fn(|d| self.first[d] + skipped[d]);
        let count = from_fn(|d| (self.count[d] + 1).saturating_sub(skipped[d]) / 2);
        Block { first, count, step: 2 }
    }

    /// Without the outermost layer at some sides: `low` before the first point, `high` behind the last one.
    pub(crate) fn without(&self, low: [bool; D], high: [bool; D]) -> Self {
        let first = from_fn(|d| self.first[d] + usize::from(low[d]));
        let layers: [usize; D] = from_fn(|d| usize::from(low[d]) + usize::from(high[d]));
        Block { first, count: from_fn(|d| self.count[d].saturating_sub(layers[d])), step: 1 }
    }

    /// The rest of this block around `inner`, which is a part of it: at most two slabs for each dimension.
    pub(crate) fn around(&self, inner: &Self) -> Vec<Self> {
        if inner.len() == 0 {
            return vec![*self];
        }
        let (mut rest, mut slabs) = (*self, Vec::new());
        for d in 0..D {
            let low = inner.first[d] - rest.first[d];
            let high = rest.count[d] - low - inner.count[d];
            let mut slab = rest;
            slab.count[d] = low;
            slabs.push(slab);
            (slab.first[d], slab.count[d]) = (inner.first[d] + inner.count[d], high);
            slabs.push(slab);
            (rest.first[d], rest.count[d]) = (inner.first[d], inner.count[d]);
        }
        slabs.retain(|slab| slab.len() > 0);
        slabs
    }

    /// The points of each line along the last dimension: where its first one is in the array, and what number the line has in
    /// the other dimensions.
    pub(crate) fn lines(&self, cube: Cube<D>, mut line: impl FnMut(usize, [usize; D])) {
        if self.len() == 0 {
            return;
        }
        let mut number = [0; D];
        loop {
            line(cube.at(from_fn(|d| self.first[d] + number[d] * self.step)), number);
            let Some(next) = (0..D - 1).rev().find(|d| number[*d] + 1 < self.count[*d]) else { return };
            number[next] += 1;
            number[next + 1..].fill(0);
        }
    }

    /// A copy of its points.
    pub(crate) fn pack(&self, cube: Cube<D>, array: &[f64]) -> Vec<f64> {
        let mut packed = Vec::with_capacity(self.len());
        self.lines(cube, |start, _| {
            packed.extend(array[start..].iter().step_by(self.step).take(self.count[D - 1]));
        });
        packed
    }

    /// Puts such a copy into its points.
    pub(crate) fn unpack(&self, cube: Cube<D>, array: &mut [f64], packed: &[f64]) {
        let mut rest = packed.iter();
        self.lines(cube, |start, _| {
            let points = array[start..].iter_mut().step_by(self.step).take(self.count[D - 1]);
            points.zip(rest.by_ref()).for_each(|(point, value)| *point = *value);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUBE: Cube<2> = Cube { side: 5 };

    fn points(block: Block<2>) -> Vec<usize> {
        let numbers: Vec<f64> = (0..CUBE.len()).map(|at| at as f64).collect();
        block.pack(CUBE, &numbers).into_iter().map(|number| number as usize).collect()
    }

    #[test]
    fn inner_and_slabs_are_the_whole() {
        for low in [[false, false], [true, false], [true, true]] {
            for high in [[false, false], [false, true], [true, true]] {
                for count in [[5, 5], [1, 4], [2, 2], [3, 1]] {
                    let whole = Block::of(count);
                    let inner = whole.without(low, high);
                    let mut all: Vec<usize> = whole.around(&inner).into_iter().flat_map(points).collect();
                    all.extend(points(inner));
                    all.sort_unstable();
                    assert_eq!(all, points(whole), "{low:?} {high:?} {count:?}");
                }
            }
        }
    }

    #[test]
    fn parities_are_those_of_the_whole_grid() {
        let whole = Block::of([5, 4]);
        let all = |origin| -> Vec<usize> {
            let parities = [[0, 0], [0, 1], [1, 0], [1, 1]];
            parities.into_iter().flat_map(|parity| points(whole.of_parity(origin, parity))).collect()
        };
        for origin in [[0, 0], [3, 4], [7, 1]] {
            let mut points_of_all = all(origin);
            points_of_all.sort_unstable();
            assert_eq!(points_of_all, points(whole), "{origin:?}");
        }
        let even = whole.of_parity([1, 0], [0, 0]);
        assert_eq!((even.first, even.count), ([1, 2], [3, 2]));
    }

    #[test]
    fn what_is_packed_comes_back() {
        let block = Block::of([5, 5]).of_parity([0, 0], [0, 1]);
        let mut array = vec![0.0; CUBE.len()];
        block.unpack(CUBE, &mut array, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(block.pack(CUBE, &array), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(array[CUBE.at([2, 1])], 1.0);
        assert_eq!(array[CUBE.at([4, 5])], 6.0);
        assert_eq!(array.iter().filter(|value| **value != 0.0).count(), 6);
    }
}
