//! The buffers that collectives begin with.

use crate::buffer::Element;

/// Room for `total` elements, with `block` from `start` on. It is the block's own memory where that has room, as that of an
/// earlier result has.
pub(super) fn placed<T: Element>(mut block: Vec<T>, start: usize, total: usize) -> Vec<T> {
    let count = block.len();
    block.reserve_exact(total - count);
    block.resize(total, T::zeroed());
    if start > 0 {
        block.copy_within(..count, start);
    }
    block
}

pub(super) fn zeroed<T: Element>(count: usize) -> Vec<T> {
    vec![T::zeroed(); count]
}

/// The memory of `buffer`, for `count` elements of any value. It is left empty.
pub(super) fn reused<T: Element>(buffer: &mut Vec<T>, count: usize) -> Vec<T> {
    let mut memory = std::mem::take(buffer);
    if memory.capacity() < count {
        // Nothing of it is to be copied to where there is room.
        memory.clear();
    }
    memory.resize(count, T::zeroed());
    memory
}

/// The bytes that a rank contributes or receives, whichever is more.
pub(super) fn bytes_of<T>(input: &[T], output: &[T]) -> u64 {
    size_of_val(input).max(size_of_val(output)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_placed_in_its_own_memory_if_that_has_room() {
        let mut block = Vec::with_capacity(6);
        block.extend([7u8, 8]);
        let start = block.as_ptr();
        let whole = placed(block, 3, 6);
        assert_eq!((whole.as_ptr(), &whole[3..5]), (start, &[7, 8][..]));
        assert_eq!(placed(vec![7u8, 8], 1, 3)[1..], [7, 8]);
        assert_eq!(placed(Vec::<u8>::new(), 0, 2).len(), 2);
    }

    #[test]
    fn memory_is_used_again() {
        let mut buffer = vec![1u8; 5];
        let start = buffer.as_ptr();
        let memory = reused(&mut buffer, 3);
        assert_eq!((memory.as_ptr(), memory.len(), buffer.len()), (start, 3, 0));
        assert_eq!(reused(&mut buffer, 4), [0; 4]);
    }
}
