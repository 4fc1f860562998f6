//! A vector whose pieces are lent one by one, to several threads at once.
//!
//! The bytes of one buffer may have to be read and written by several messages at a time. The language lends disjoint parts of
//! a vector only as long as the borrow of all of it lasts; [`Pieces`] lends them for as long as each loan lives, and checks
//! while the program runs what the compiler cannot: as a `RefCell` does, for each piece.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where vectors are cut into pieces. Made once for many vectors that are cut alike.
#[derive(Clone, Debug)]
pub struct Cuts {
    /// The first element after each piece; the last piece has all that is left.
    ends: Arc<[usize]>,
}

/// A vector in pieces that are lent.
pub struct Pieces<T> {
    /// `None`: a vector that has none.
    memory: Option<Arc<Memory<T>>>,
}

/// Elements lent to be read, maybe to several at once. They stay readable when the [`Pieces`] are gone.
pub struct Shared<T> {
    loan: Loan<T>,
}

/// Elements lent to one alone, to be read and written.
pub struct Exclusive<T> {
    loan: Loan<T>,
}

struct Loan<T> {
    /// `None`: of no elements.
    memory: Option<Arc<Memory<T>>>,
    elements: Range<usize>,
    pieces: Range<usize>,
    is_exclusive: bool,
}

/// The vector's own memory, and who has what of it.
struct Memory<T> {
    start: NonNull<T>,
    length: usize,
    capacity: usize,
    cuts: Cuts,
    /// Of each piece: the first few without memory of their own.
    few: [Loans; FEW],
    more: Box<[Loans]>,
}

/// How many share a piece, or [`EXCLUSIVE`].
#[derive(Default)]
struct Loans(AtomicU32);

/// Most vectors of short messages are cut into no more pieces.
const FEW: usize = 4;

/// One has the piece alone.
const EXCLUSIVE: u32 = u32::MAX;

// SAFETY: whoever has these reaches elements as `&T`, from several threads at once, or as `&mut T` from one, and the last one
// drops them, on whichever thread: that is what `Send` and `Sync` of the elements allow.
unsafe impl<T: Send + Sync> Send for Memory<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Memory<T> {}

impl Cuts {
    /// Cuts before these elements, in any order. Those that a vector does not have are no cuts of it.
    pub fn before(elements: impl IntoIterator<Item = usize>) -> Self {
        let mut ends: Vec<usize> = elements.into_iter().filter(|&cut| 0 < cut).collect();
        ends.push(usize::MAX);
        ends.sort_unstable();
        ends.dedup();
        Cuts { ends: ends.into() }
    }
}

impl<T> Pieces<T> {
    /// Cuts `vector`. A loan holds every piece that it touches.
    pub fn new(vector: Vec<T>, cuts: &Cuts) -> Self {
        if vector.capacity() == 0 {
            return Pieces { memory: None };
        }
        let cuts = cuts.clone();
        let mut vector = ManuallyDrop::new(vector);
        let (length, capacity) = (vector.len(), vector.capacity());
        let start = NonNull::new(vector.as_mut_ptr()).unwrap_or(NonNull::dangling());
        let more = (FEW..cuts.ends.len()).map(|_| Loans::default()).collect();
        let memory = Memory { start, length, capacity, cuts, few: Default::default(), more };
        Pieces { memory: Some(Arc::new(memory)) }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.memory.as_ref().map_or(0, |memory| memory.length)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lends `elements` to be read; `None` if one has some of them alone, or they are not there.
    pub fn share(&self, elements: Range<usize>) -> Option<Shared<T>> {
        Some(Shared { loan: self.lend(elements, false)? })
    }

    /// Lends `elements` to one alone; `None` if some are lent already, or they are not there.
    pub fn lend_alone(&self, elements: Range<usize>) -> Option<Exclusive<T>> {
        Some(Exclusive { loan: self.lend(elements, true)? })
    }

    /// The vector; `self` again while something is lent.
    ///
    /// # Errors
    /// Something is lent.
    pub fn into_vec(self) -> Result<Vec<T>, Self> {
        let Some(memory) = self.memory else { return Ok(Vec::new()) };
        let memory = Arc::try_unwrap(memory).map_err(|memory| Pieces { memory: Some(memory) })?;
        Ok(ManuallyDrop::new(memory).vector())
    }

    fn lend(&self, elements: Range<usize>, is_exclusive: bool) -> Option<Loan<T>> {
        if elements.start > elements.end || elements.end > self.len() {
            return None;
        }
        let memory = self.memory.as_ref().filter(|_| !elements.is_empty());
        let Some(memory) = memory else { return Some(Loan { memory: None, elements, pieces: 0..0, is_exclusive }) };
        let first = memory.cuts.ends.partition_point(|&end| end <= elements.start);
        let mut loan =
            Loan { memory: Some(memory.clone()), elements: elements.clone(), pieces: first..first, is_exclusive };
        loop {
            let piece = loan.pieces.end;
            // What has been lent so far returns with the loan.
            if !memory.loans(piece).lend(is_exclusive) {
                return None;
            }
            loan.pieces.end += 1;
            if memory.cuts.ends[piece] >= elements.end {
                break;
            }
        }
        Some(loan)
    }
}

impl Loans {
    fn lend(&self, is_exclusive: bool) -> bool {
        let more = |loans: u32| match (is_exclusive, loans) {
            (true, 0) => Some(EXCLUSIVE),
            (false, loans) if loans < EXCLUSIVE - 1 => Some(loans + 1),
            _ => None,
        };
        self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, more).is_ok()
    }
}

impl<T> Drop for Loan<T> {
    fn drop(&mut self) {
        let Some(memory) = &self.memory else { return };
        for piece in self.pieces.clone() {
            let Loans(loans) = memory.loans(piece);
            // What was written is seen by whoever borrows next.
            if self.is_exclusive {
                loans.store(0, Ordering::Release);
            } else {
                loans.fetch_sub(1, Ordering::Release);
            }
        }
    }
}

impl<T> Loan<T> {
    fn start(&self) -> NonNull<T> {
        let Some(memory) = &self.memory else { return NonNull::dangling() };
        // SAFETY: `lend` has checked that the range lies within the vector, whose memory lives as long as `memory`.
        unsafe { memory.start.add(self.elements.start) }
    }
}

impl<T> Memory<T> {
    fn loans(&self, piece: usize) -> &Loans {
        self.few.get(piece).unwrap_or_else(|| &self.more[piece - FEW])
    }

    /// The vector it was made of. The memory is not to be used any more.
    fn vector(&mut self) -> Vec<T> {
        // SAFETY: the parts are those of a vector that was not dropped. Whoever calls this has the memory alone, so nothing is
        // lent, and calls it once: `into_vec` forgets the memory, and `drop` is its end.
        unsafe { Vec::from_raw_parts(self.start.as_ptr(), self.length, self.capacity) }
    }
}

impl<T> Drop for Memory<T> {
    fn drop(&mut self) {
        drop(self.vector());
    }
}

impl<T> Deref for Shared<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: the elements are initialised, and nobody writes them while their pieces are counted as shared.
        unsafe { std::slice::from_raw_parts(self.loan.start().as_ptr(), self.loan.elements.len()) }
    }
}

impl<T> Deref for Exclusive<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: the elements are initialised, and nobody else has them while their pieces are marked.
        unsafe { std::slice::from_raw_parts(self.loan.start().as_ptr(), self.loan.elements.len()) }
    }
}

impl<T> DerefMut for Exclusive<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed by one alone.
        unsafe { std::slice::from_raw_parts_mut(self.loan.start().as_ptr(), self.loan.elements.len()) }
    }
}

impl<T> fmt::Debug for Pieces<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pieces = self.memory.as_ref().map_or(0, |memory| memory.cuts.ends.len());
        write!(f, "{} elements in {pieces} pieces", self.len())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn pieces_are_lent_one_by_one() {
        let pieces = Pieces::new((0..10).collect(), &Cuts::before([6, 3, 3, 0, 10, 99]));
        let mut low = pieces.lend_alone(0..3).expect("free");
        let high = pieces.share(6..10).expect("free");
        assert!(pieces.share(2..3).is_none() && pieces.lend_alone(0..3).is_none() && pieces.lend_alone(5..7).is_none());
        assert!(pieces.share(7..8).is_some() && pieces.share(3..11).is_none());
        assert!(pieces.share(3..10).is_some() && pieces.share(0..10).is_none());
        // What a loan touches it has whole; what was lent in vain is free again.
        let inside = pieces.lend_alone(4..5).expect("free");
        assert!(pieces.share(3..4).is_none() && inside[..] == [4]);
        low.copy_from_slice(&[7, 8, 9]);
        drop((low, inside));
        assert_eq!(pieces.share(0..10).expect("nobody has it alone")[..4], [7, 8, 9, 3]);
        let pieces = pieces.into_vec().expect_err("some are lent");
        assert_eq!(high[..], [6, 7, 8, 9]);
        drop(high);
        assert_eq!(pieces.into_vec().expect("nothing is lent"), [7, 8, 9, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn nothing_is_lent_of_nothing() {
        let pieces = Pieces::new(Vec::<u64>::new(), &Cuts::before([0, 1]));
        assert!(pieces.is_empty());
        let spare = Pieces::new(Vec::<u64>::with_capacity(7), &Cuts::before([0, 1]));
        let none = spare.share(0..0).expect("empty");
        assert!(none.is_empty() && spare.share(0..1).is_none());
        assert_eq!(
            spare.into_vec().expect("nothing is lent").capacity(),
            7,
            "memory is given back though it holds nothing"
        );
        let (one, other) = (pieces.lend_alone(0..0).expect("empty"), pieces.lend_alone(0..0).expect("empty"));
        assert!(one.is_empty() && other.is_empty() && pieces.share(0..1).is_none());
        #[expect(clippy::reversed_empty_ranges, reason = "it is to be refused")]
        let reversed = pieces.share(1..0);
        assert!(reversed.is_none());
    }

    /// Loans outlive the pieces, and elements are dropped once.
    #[test]
    fn memory_ends_with_its_last_loan() {
        let element = Arc::new(());
        let pieces = Pieces::new(vec![element.clone(); 5], &Cuts::before([2]));
        let loan = pieces.share(0..2).expect("free");
        drop(pieces);
        assert_eq!(Arc::strong_count(&element), 6);
        assert!(loan.iter().all(|lent| Arc::ptr_eq(lent, &element)));
        drop(loan);
        assert_eq!(Arc::strong_count(&element), 1);
        let mut spare = Vec::with_capacity(9);
        spare.push(element.clone());
        let back = Pieces::new(spare, &Cuts::before([])).into_vec().expect("nothing is lent");
        assert_eq!((back.capacity(), Arc::strong_count(&element)), (9, 2));
    }

    /// Every thread adds to whichever piece it gets: no addition is lost, and none is seen half.
    #[test]
    fn threads_share_one_vector() {
        const PIECE: usize = 16;
        const COUNT: usize = FEW + 2;
        let pieces = Pieces::new(vec![0u64; COUNT * PIECE], &Cuts::before((0..COUNT).map(|at| at * PIECE)));
        let added: u64 = thread::scope(|scope| {
            let worker = |number: usize| {
                let pieces = &pieces;
                move || {
                    let mut added = 0;
                    for turn in 0..20_000 {
                        let at = (turn * 7 + number) % COUNT * PIECE;
                        if let Some(mut piece) = pieces.lend_alone(at..at + PIECE) {
                            piece.iter_mut().for_each(|element| *element += 1);
                            added += 1;
                        }
                        if let Some(piece) = pieces.share(at..at + PIECE) {
                            assert!(piece.iter().all(|element| *element == piece[0]));
                        }
                    }
                    added
                }
            };
            let workers: Vec<_> = (0..4).map(|number| scope.spawn(worker(number))).collect();
            workers.into_iter().map(|worker| worker.join().expect("no panic")).sum()
        });
        let all = pieces.into_vec().expect("nothing is lent");
        assert_eq!(all.iter().sum::<u64>(), added * PIECE as u64);
    }
}
