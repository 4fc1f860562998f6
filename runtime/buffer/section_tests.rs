//! Sections against plain loops over indices.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

/// The elements of a section by a loop over all indices.
fn listed(start: i128, dimensions: &[(usize, isize)]) -> Vec<i128> {
    dimensions.iter().fold(vec![start], |before, &(count, stride)| {
        before.iter().flat_map(|from| (0..count).map(move |index| from + index as i128 * stride as i128)).collect()
    })
}

fn built(start: usize, dimensions: &[(usize, isize)]) -> Section {
    dimensions.iter().fold(Section::at(start), |section, &(count, stride)| section.by(count, stride))
}

proptest! {
    #![proptest_config(crate::scale::cases(4000))]

    /// What a section has, refuses, packs and unpacks is what a loop over its indices says.
    #[test]
    fn a_section_is_what_a_loop_says(
        start in 0usize..40,
        dimensions in prop::collection::vec((0usize..5, -9isize..10), 0..4),
        elements in 0usize..80,
    ) {
        let section = built(start, &dimensions);
        let all = listed(start as i128, &dimensions);
        prop_assert_eq!((section.len(), section.is_empty()), (all.len(), all.is_empty()));
        let is_outside = all.iter().any(|element| !(0..elements as i128).contains(element));
        let is_double = all.iter().collect::<HashSet<_>>().len() < all.len();
        let buffer: Vec<u32> = (0..elements as u32).map(|element| element * 7 + 1).collect();
        let packed = section.pack(&buffer);
        prop_assert_eq!(packed.is_err(), is_outside || is_double, "{:?}", packed);
        let Ok(packed) = packed else { return Ok(()) };
        let expected: Vec<u32> = all.iter().map(|&element| buffer[element as usize]).collect();
        prop_assert_eq!(&packed, &expected);
        let mut blank = vec![0; elements];
        section.unpack(&packed, &mut blank).expect("it fits, as it did before");
        let has = |element: usize| all.contains(&(element as i128));
        let kept: Vec<u32> = (0..elements).map(|element| if has(element) { buffer[element] } else { 0 }).collect();
        prop_assert_eq!(blank, kept);
        prop_assert!(section.unpack(&vec![0; all.len() + 1], &mut buffer.clone()).is_err());
    }

    /// A block of an array is what nested loops say, in their order.
    #[test]
    fn a_block_of_an_array_is_what_nested_loops_say(
        axes in prop::collection::vec((1usize..6, 0usize..6, 0usize..6), 1..4),
    ) {
        let shape: Vec<usize> = axes.iter().map(|&(size, ..)| size).collect();
        let ranges: Vec<Range<usize>> =
            axes.iter().map(|&(size, one, other)| one.min(other).min(size)..one.max(other).min(size)).collect();
        let array: Vec<usize> = (0..shape.iter().product()).collect();
        let blocks = ranges.iter().zip(&shape).fold(vec![0], |before, (range, size)| {
            before.iter().flat_map(|outer| range.clone().map(move |index| outer * size + index)).collect()
        });
        let section = Section::of(&shape, &ranges).expect("the ranges lie within");
        prop_assert_eq!(section.pack(&array).expect("so does the block"), blocks);
        let mut beyond = ranges.clone();
        beyond[0].end = shape[0] + 1;
        prop_assert!(Section::of(&shape, &beyond).is_err());
    }
}

#[test]
fn what_is_wrong_is_said_with_numbers() {
    let words = |section: &Section, elements: usize| section.flaw(elements).expect("something is wrong");
    let column = Section::at(3).by(4, 5);
    assert_eq!(column.flaw(19), None);
    let said = words(&column, 18);
    for number in ["4 elements", "from element 3 on", "from 3 to 18", "0 to 17"] {
        assert!(said.contains(number), "{number:?} is not in {said:?}");
    }
    assert!(words(&Section::at(3).by(2, -4), 99).contains("from -1 to 3"));
    assert!(words(&Section::at(0).by(3, 0), 9).contains("twice"));
    assert!(words(&Section::at(0).by(3, 2).by(2, 2), 99).contains("twice"));
    assert_eq!(Section::at(0).by(3, 2).by(2, 3).flaw(8), None, "they interleave, and have no element in common");
}

/// Numbers beyond any memory are refused like others.
#[test]
fn no_number_overflows() {
    let most = Section::at(usize::MAX).by(usize::MAX, isize::MAX).by(usize::MAX, isize::MAX).by(usize::MAX, isize::MIN);
    assert!(most.flaw(usize::MAX).is_some() && most.len() == usize::MAX);
    let many = (0..70).fold(Section::at(0), |section, _| section.by(2, 0));
    assert!(many.flaw(1).expect("one element, very often").contains("twice"));
    assert_eq!(most.by(0, 1).flaw(0), None, "nothing of anything");
    assert!(Section::of(&[usize::MAX, usize::MAX], &[0..1, 0..1]).is_err());
    assert!(Section::of(&[2, 3], &[0..1, 0..1, 0..1]).is_err());
    let none = Section::of(&[0, 3], &[0..0, 0..3]).expect("an empty array has an empty block");
    assert!(none.is_empty() && none.pack::<u8>(&[]).expect("nothing").is_empty());
}
