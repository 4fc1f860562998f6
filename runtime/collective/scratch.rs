//! Memory of long scratch buffers, used again: the system clears what it gives anew, which takes as long as to combine what comes into it.
//! No schedule reads what it has not written.

use std::any::Any;
use std::collections::VecDeque;

use parking_lot::Mutex;

/// Shorter ones are cleared sooner than found.
const BYTES_MIN: usize = 16 << 10;
/// What a process keeps.
const BYTES_MAX: usize = 8 << 20;

static SPARE: Mutex<Spare> = Mutex::new(Spare { buffers: VecDeque::new(), bytes: 0 });

struct Spare {
    /// Vectors of any type, and their bytes; the one that was kept last comes last.
    buffers: VecDeque<(Box<dyn Any + Send>, usize)>,
    /// Of all.
    bytes: usize,
}

/// `length` elements of any value, of one that was kept and is as long or longer, if there is one.
pub(super) fn take<T: Send + 'static>(length: usize) -> Option<Vec<T>> {
    if length * size_of::<T>() < BYTES_MIN { None } else { SPARE.lock().take(length) }
}

/// It is for the next.
pub(super) fn keep<T: Send + 'static>(scratch: Vec<T>) {
    if (BYTES_MIN..=BYTES_MAX).contains(&(scratch.len() * size_of::<T>())) {
        // What there is no room for goes back to the system when nothing is locked.
        let oldest = SPARE.lock().keep(scratch);
        drop(oldest);
    }
}

impl Spare {
    fn take<T: Send + 'static>(&mut self, length: usize) -> Option<Vec<T>> {
        let lengths = length..=2 * length;
        let fits = |scratch: &Vec<T>| lengths.contains(&scratch.len());
        let at = self.buffers.iter().rposition(|(buffer, _)| buffer.downcast_ref().is_some_and(fits))?;
        let (buffer, bytes) = self.buffers.remove(at)?;
        self.bytes -= bytes;
        let mut scratch = buffer.downcast::<Vec<T>>().ok()?;
        scratch.truncate(length);
        Some(*scratch)
    }

    /// Returns those that there is no room for any more.
    fn keep<T: Send + 'static>(&mut self, scratch: Vec<T>) -> Vec<Box<dyn Any + Send>> {
        let bytes = scratch.capacity() * size_of::<T>();
        self.bytes += bytes;
        self.buffers.push_back((Box::new(scratch), bytes));
        let mut gone = Vec::new();
        while self.bytes > BYTES_MAX
            && let Some((oldest, bytes)) = self.buffers.pop_front()
        {
            self.bytes -= bytes;
            gone.push(oldest);
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_used_again_and_the_oldest_goes() {
        let mut spare = Spare { buffers: VecDeque::new(), bytes: 0 };
        assert!(spare.keep(vec![1u64; 1000]).is_empty());
        assert_eq!(spare.take::<u64>(1001), None, "too short");
        assert_eq!(spare.take::<u64>(499), None, "too long");
        assert_eq!(spare.take::<u32>(1000), None, "another type");
        assert_eq!(spare.take::<u64>(600).map(|scratch| scratch.len()), Some(600));
        assert_eq!((spare.take::<u64>(600), spare.bytes), (None, 0), "it is taken");

        let quarter = BYTES_MAX / 4;
        let gone: Vec<usize> = (0..6).map(|_| spare.keep(vec![0u8; quarter]).len()).collect();
        assert_eq!(gone, [0, 0, 0, 0, 1, 1]);
        assert_eq!(spare.bytes, BYTES_MAX);
    }

    #[test]
    fn short_ones_and_very_long_ones_are_not_kept() {
        // A type of its own, since others keep theirs meanwhile.
        #[derive(Clone, Copy)]
        struct Own(#[expect(dead_code)] [u8; 4096]);
        for count in [1, BYTES_MAX / 4096 + 1] {
            keep(vec![Own([0; 4096]); count]);
            assert!(take::<Own>(count).is_none(), "{count}");
        }
        keep(vec![Own([0; 4096]); 8]);
        assert_eq!(take::<Own>(8).map(|scratch| scratch.len()), Some(8));
    }
}
