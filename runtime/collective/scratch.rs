//! Memory of long scratch buffers, used again: the system clears what it gives anew, which takes as long as to combine what comes into it.
//! No schedule reads what it has not written.
//!
//! Zeros of a long buffer come with its memory; of a short one they are cheaper to write.

use std::any::Any;

use parking_lot::Mutex;

use crate::buffer::spare::Spare;

/// Scratch buffers of so many bytes are short.
const SHORT_BYTES: usize = 4096;
/// Shorter ones are cleared sooner than found.
const BYTES_MIN: usize = 16 << 10;
/// What a process keeps.
const BYTES_MAX: usize = 8 << 20;

/// Vectors of any type.
static SPARE: Mutex<Spare<Box<dyn Any + Send>>> = Mutex::new(Spare::new(BYTES_MAX));

/// A scratch buffer of `length` elements: of `blank`, or of any value.
pub(super) fn room<T: Copy + Send + 'static>(length: usize, blank: T) -> Vec<T> {
    if length * size_of::<T>() > SHORT_BYTES {
        return take(length).unwrap_or_else(|| vec![blank; length]);
    }
    let mut room = Vec::with_capacity(length);
    room.resize(length, blank);
    room
}

/// `length` elements of any value, of a buffer that was kept and is as long or up to twice as long, if there is one.
fn take<T: Send + 'static>(length: usize) -> Option<Vec<T>> {
    if length * size_of::<T>() < BYTES_MIN {
        return None;
    }
    let lengths = length..=2 * length;
    let fits = |buffer: &Box<dyn Any + Send>| {
        buffer.downcast_ref().is_some_and(|buffer: &Vec<T>| lengths.contains(&buffer.len()))
    };
    let buffer = SPARE.lock().take(fits)?;
    let mut scratch = buffer.downcast::<Vec<T>>().ok()?;
    scratch.truncate(length);
    Some(*scratch)
}

/// It is for the next.
pub(super) fn keep<T: Send + 'static>(scratch: Vec<T>) {
    let bytes = scratch.capacity() * size_of::<T>();
    if (BYTES_MIN..=BYTES_MAX).contains(&bytes) {
        // What there is no room for goes back to the system when nothing is locked.
        let oldest = SPARE.lock().keep(Box::new(scratch), bytes);
        drop(oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Types of their own, since other tests keep theirs meanwhile.

    #[test]
    fn what_fits_is_used_again() {
        #[derive(Clone, Copy)]
        struct Own(#[expect(dead_code)] [u8; 4096]);
        let lengths = |length| take::<Own>(length).map(|scratch| scratch.len());
        keep(vec![Own([0; 4096]); 16]);
        assert_eq!((lengths(17), lengths(7)), (None, None), "too short, too long");
        assert_eq!(take::<[Own; 1]>(16).map(|scratch| scratch.len()), None, "another type");
        assert_eq!((lengths(9), lengths(9)), (Some(9), None), "it is taken");
    }

    #[test]
    fn short_ones_and_very_long_ones_are_not_kept() {
        #[derive(Clone, Copy)]
        struct Own(#[expect(dead_code)] [u8; 4096]);
        for count in [1, BYTES_MAX / 4096 + 1] {
            keep(vec![Own([0; 4096]); count]);
            assert!(take::<Own>(count).is_none(), "{count}");
        }
    }
}
