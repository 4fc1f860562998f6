//! Which elements of a buffer belong to a strided region.

use std::ops::Range;

use crate::error::{Misuse, Result};

/// A strided region of a buffer: a column of a row-major matrix, a face of a cube, every third element.
///
/// It has a first element and any number of dimensions, each with a count and a stride. Counts and strides are in
/// elements. The elements are sent and received in row-major order: the index of the last dimension varies fastest.
///
/// ```
/// use lathide::Section;
/// let cube: Vec<u32> = (0..60).collect();                      // 3 planes of 4 rows of 5
/// let column = Section::of(&[12, 5], &[0..12, 4..5])?;         // of the 12 rows
/// let face = Section::of(&[3, 4, 5], &[1..3, 0..4, 0..1])?;    // x = 0 in the last two planes
/// assert_eq!(face, Section::at(20).by(2, 20).by(4, 5).by(1, 1));
/// assert_eq!(column.pack(&cube)?[..3], [4, 9, 14]);
/// assert_eq!(face.pack(&cube)?, [20, 25, 30, 35, 40, 45, 50, 55]);
/// # Ok::<_, lathide::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Section {
    start: usize,
    /// Count and stride of each dimension; the last one varies fastest.
    dimensions: Vec<(usize, isize)>,
}

impl Section {
    /// The one element `start`.
    pub fn at(start: usize) -> Self {
        Section { start, dimensions: Vec::new() }
    }

    /// The section repeated `count` times, each `stride` elements after the one before. A negative stride goes back.
    pub fn by(mut self, count: usize, stride: isize) -> Self {
        self.dimensions.push((count, stride));
        self
    }

    /// The block with the indices `ranges` of a row-major array of `shape`.
    ///
    /// # Errors
    /// [`Misuse::Region`] if a range does not lie within its dimension, or there are not as many ranges as dimensions.
    pub fn of(shape: &[usize], ranges: &[Range<usize>]) -> Result<Self> {
        let refused = |why: String| Err(Misuse::Region { rank: None, why }.into());
        if shape.len() != ranges.len() {
            return refused(format!("{} ranges do not fit an array of {} dimensions", ranges.len(), shape.len()));
        }
        let (mut start, mut stride) = (0usize, 1usize);
        let mut dimensions = Vec::with_capacity(shape.len());
        for (dimension, (&size, range)) in shape.iter().zip(ranges).enumerate().rev() {
            let Range { start: first, end } = *range;
            if first > end || end > size {
                return refused(format!(
                    "the range {first}..{end} is not within dimension {dimension} of {size} elements"
                ));
            }
            let next = stride.checked_mul(size).filter(|next| isize::try_from(*next).is_ok());
            let Some(next) = next else { return refused(format!("no memory has an array of the shape {shape:?}")) };
            start += first * stride;
            dimensions.push((end - first, stride as isize));
            stride = next;
        }
        dimensions.reverse();
        Ok(Section { start, dimensions })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        if self.is_empty() {
            return 0;
        }
        self.dimensions.iter().fold(1, |product, &(count, _)| product.saturating_mul(count))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.dimensions.iter().any(|&(count, _)| count == 0)
    }

    /// The elements of `buffer` that belong to the section, one after the other.
    ///
    /// # Errors
    /// [`Misuse::Region`] if the section reaches beyond `buffer`, or has an element twice.
    pub fn pack<T: Copy>(&self, buffer: &[T]) -> Result<Vec<T>> {
        self.check(buffer.len())?;
        let mut packed = Vec::with_capacity(self.len());
        self.gather(buffer, &mut packed);
        Ok(packed)
    }

    /// Puts elements that were packed to their places in `buffer`.
    ///
    /// # Errors
    /// As [`Section::pack`], and if there are not as many elements as the section has.
    pub fn unpack<T: Copy>(&self, packed: &[T], buffer: &mut [T]) -> Result<()> {
        self.check(buffer.len())?;
        if packed.len() != self.len() {
            let why = format!("{} elements do not fill a section of {}", packed.len(), self.len());
            return Err(Misuse::Region { rank: None, why }.into());
        }
        self.scatter(packed, buffer);
        Ok(())
    }

    fn check(&self, elements: usize) -> Result<()> {
        self.flaw(elements).map_or(Ok(()), |why| Err(Misuse::Region { rank: None, why }.into()))
    }

    /// What is wrong with the section in a buffer of `elements`, if anything is.
    pub(crate) fn flaw(&self, elements: usize) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let (first, last) = self.reach();
        let count = self.len();
        if first < 0 || last >= elements as i128 {
            return Some(format!(
                "a section of {count} elements from element {} on reaches from {first} to {last}, and the buffer has \
                 elements 0 to {}",
                self.start,
                elements as i128 - 1
            ));
        }
        let overlaps = || format!("a section of {count} elements, from {first} to {last}, has some of them twice");
        self.overlaps(first, last).then(overlaps)
    }

    /// Adds the elements of the section to `packed`, in order; it has no [flaw](Section::flaw) in `buffer`.
    pub(crate) fn gather<T: Copy>(&self, buffer: &[T], packed: &mut Vec<T>) {
        self.runs(&mut |first, count, stride| match stride {
            1 => packed.extend_from_slice(&buffer[first..first + count]),
            _ => packed.extend((0..count).map(|index| buffer[step(first, index, stride)])),
        });
    }

    /// The reverse of [`Section::gather`]: `packed` has as many elements as the section.
    pub(crate) fn scatter<T: Copy>(&self, packed: &[T], buffer: &mut [T]) {
        let mut rest = packed;
        self.runs(&mut |first, count, stride| {
            let (run, after) = rest.split_at(count);
            rest = after;
            match stride {
                1 => buffer[first..first + count].copy_from_slice(run),
                _ => (0..count).for_each(|index| buffer[step(first, index, stride)] = run[index]),
            }
        });
    }

    /// The lowest and the highest element of a section that has some.
    fn reach(&self) -> (i128, i128) {
        let (mut first, mut last) = (self.start as i128, self.start as i128);
        for &(count, stride) in &self.dimensions {
            let extent = (count as i128 - 1) * stride as i128;
            let end = if extent < 0 { &mut first } else { &mut last };
            *end = end.saturating_add(extent);
        }
        (first, last)
    }

    /// Whether it has an element twice, all of them being from `first` to `last`.
    fn overlaps(&self, first: i128, last: i128) -> bool {
        let span = (last - first + 1) as usize;
        if self.len() > span {
            return true;
        }
        let mut sorted = self.fused();
        sorted.sort_unstable_by_key(|&(_, stride)| stride.unsigned_abs());
        let mut extent = 0;
        let apart = sorted.iter().all(|&(count, stride)| {
            let is_apart = stride.unsigned_abs() > extent;
            extent += (count - 1) * stride.unsigned_abs();
            is_apart
        });
        if apart {
            return false;
        }
        // Dimensions that interleave may still have no element in common; few sections do.
        let mut is_taken = vec![false; span];
        let mut overlaps = false;
        self.runs(&mut |first_of_run, count, stride| {
            for index in 0..count {
                let element = step(first_of_run, index, stride) - first as usize;
                overlaps |= std::mem::replace(&mut is_taken[element], true);
            }
        });
        overlaps
    }

    /// The dimensions of more than one element; two that go on where the other ends are one.
    fn fused(&self) -> Vec<(usize, isize)> {
        let mut fused: Vec<(usize, isize)> = Vec::with_capacity(self.dimensions.len());
        for &(count, stride) in self.dimensions.iter().filter(|(count, _)| *count != 1) {
            match fused.last_mut() {
                Some((outer, step))
                    if isize::try_from(count).ok().and_then(|count| stride.checked_mul(count)) == Some(*step) =>
                {
                    (*outer, *step) = (*outer * count, stride);
                }
                _ => fused.push((count, stride)),
            }
        }
        fused
    }

    /// Calls `run` with the first element, count and stride of each innermost run, in order.
    fn runs(&self, run: &mut impl FnMut(usize, usize, isize)) {
        if !self.is_empty() {
            walk(&self.fused(), self.start, run);
        }
    }
}

fn walk(dimensions: &[(usize, isize)], start: usize, run: &mut impl FnMut(usize, usize, isize)) {
    match dimensions {
        [] => run(start, 1, 1),
        [(count, stride)] => run(start, *count, *stride),
        [(count, stride), inner @ ..] => (0..*count).for_each(|index| walk(inner, step(start, index, *stride), run)),
    }
}

/// The element `index` strides from `start`; it is within a buffer, so nothing overflows.
fn step(start: usize, index: usize, stride: isize) -> usize {
    start.wrapping_add_signed(stride.wrapping_mul(index as isize))
}

#[cfg(test)]
#[path = "section_tests.rs"]
mod tests;
