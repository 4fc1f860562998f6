//! Collectives whose blocks have different lengths, and those into buffers that the caller keeps.

use super::super::group::Group;
use super::asked::{Asked, Output};
use super::buffers::{placed, reused, zeroed};
use crate::buffer::{Element, memory};
use crate::collective::{Blocks, Call};
#[expect(unused_imports, reason = "named in documentation")]
use crate::error::Error;
use crate::error::Result;
use crate::handle::Handle;
use crate::ids::Rank;
use crate::operation::Collective;

/// # Collectives with counts
///
/// Blocks may have different lengths, also 0. Where all ranks know all counts, they give the same `counts`, one for each rank;
/// if they differ, every rank gets [`Error::Disagreement`]. The calls with `_into` block; they use the memory of buffers that
/// the caller keeps, so that calls made again and again allocate no buffers. If such a call fails after it has begun, these
/// buffers are empty.
impl Group {
    /// [`Group::allgather`] of blocks with different lengths: rank `i` gives `counts[i]` elements. All ranks give the same
    /// `counts`.
    ///
    /// ```
    /// let node = lathide::init()?;
    /// let counts: Vec<usize> = (0..node.size() as usize).map(|rank| rank + 2).collect();
    /// let own = vec![node.rank().0; counts[node.rank().index()]];
    /// let all = node.allgather_counts(&counts, own)?;
    /// assert_eq!(all.len(), counts.iter().sum::<usize>());
    /// assert_eq!(all[..2], [0, 0]);                              // two elements of rank 0 come first
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    ///
    /// # Errors
    /// As all collectives.
    pub fn allgather_counts<T: Element>(&self, counts: &[usize], block: Vec<T>) -> Result<Vec<T>> {
        self.whole(self.asks_allgather_counts(counts, block)?)
    }

    /// [`Group::allgather_counts`] without waiting.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initallgather_counts<T: Element>(&self, counts: &[usize], block: Vec<T>) -> Result<Handle<Vec<T>>> {
        self.begin(self.asks_allgather_counts(counts, block)?)
    }

    fn asks_allgather_counts<T: Element>(
        &self,
        counts: &[usize],
        block: Vec<T>,
    ) -> Result<Asked<'static, T, Output<T>>> {
        let start = self.check_own("allgather_counts", counts, block.len())?;
        let whole = placed(block, start, counts.iter().sum());
        Ok(Asked::in_place(self.call_counts::<T>(Collective::Allgather, counts), whole, None))
    }

    /// [`Group::allgather_counts`] into `all`, whose memory is used again. Its length before does not matter.
    ///
    /// # Errors
    /// As all collectives.
    pub fn allgather_counts_into<T: Element>(&self, counts: &[usize], block: &[T], all: &mut Vec<T>) -> Result<()> {
        let start = self.check_own("allgather_counts_into", counts, block.len())?;
        let whole = with_block(all, block, start, counts.iter().sum());
        let call = self.call_counts::<T>(Collective::Allgather, counts);
        *all = self.whole(Asked::in_place(call, whole, None))?;
        Ok(())
    }

    /// [`Group::alltoall`] of blocks with different lengths: sends `sent[i]` elements of `blocks` to rank `i`, and returns
    /// `received[i]` elements of each rank, in the order of ranks.
    ///
    /// A rank knows its own counts only. What rank `i` sends to `j` must be as long as what `j` expects of `i`; otherwise the
    /// call fails on every rank. Every rank sends every other one a message, also of 0 elements. If a rank has few partners,
    /// [`Group::exchange`] sends less.
    ///
    /// ```
    /// let node = lathide::init()?;
    /// let (rank, size) = (node.rank().index(), node.size() as usize);
    /// let sent = vec![rank; size];                               // rank 3 sends three elements to each
    /// let received: Vec<usize> = (0..size).collect();
    /// let got = node.alltoall_counts(&sent, &received, vec![rank as u32; rank * size])?;
    /// assert_eq!(got.len(), size * (size - 1) / 2);
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    ///
    /// # Errors
    /// As all collectives. If a message is not as long as its receiver expects, the receiver gets [`Error::Mismatch`] or
    /// [`Error::Collective`], and every other rank [`Error::Collective`], in its next collective if this one has ended.
    pub fn alltoall_counts<T: Element>(&self, sent: &[usize], received: &[usize], blocks: Vec<T>) -> Result<Vec<T>> {
        self.whole(self.asks_alltoall_counts(sent, received, blocks)?)
    }

    /// [`Group::alltoall_counts`] without waiting.
    ///
    /// # Errors
    /// As [`Group::alltoall_counts`].
    pub fn initalltoall_counts<T: Element>(
        &self,
        sent: &[usize],
        received: &[usize],
        blocks: Vec<T>,
    ) -> Result<Handle<Vec<T>>> {
        self.begin(self.asks_alltoall_counts(sent, received, blocks)?)
    }

    fn asks_alltoall_counts<T: Element>(
        &self,
        sent: &[usize],
        received: &[usize],
        blocks: Vec<T>,
    ) -> Result<Asked<'static, T, Output<T>>> {
        let call = self.call_alltoall::<T>("alltoall_counts", sent, received, blocks.len())?;
        let whole = zeroed(received.iter().sum());
        Ok(Asked::of(call, blocks, whole))
    }

    /// [`Group::alltoall_counts`] into `into`, whose memory is used again; its length before does not matter. `blocks` is sent
    /// without a copy and is as it was afterwards.
    ///
    /// # Errors
    /// As [`Group::alltoall_counts`].
    pub fn alltoall_counts_into<T: Element>(
        &self,
        sent: &[usize],
        blocks: &mut Vec<T>,
        received: &[usize],
        into: &mut Vec<T>,
    ) -> Result<()> {
        let call = self.call_alltoall::<T>("alltoall_counts_into", sent, received, blocks.len())?;
        let output = reused(into, received.iter().sum());
        self.whole_kept(call, blocks, output, into)
    }

    /// [`Group::scatter`] of blocks with different lengths: rank `i` gets `counts[i]` elements. All ranks give the same
    /// `counts`. The root gives all blocks in the order of ranks, the others none.
    ///
    /// ```
    /// let node = lathide::init()?;
    /// let counts: Vec<usize> = (0..node.size() as usize).map(|rank| rank + 1).collect();
    /// let is_root = node.rank() == 0;
    /// let blocks = if is_root { vec![7u8; counts.iter().sum()] } else { Vec::new() };
    /// let own = node.scatter_counts(0, &counts, blocks)?;
    /// assert_eq!(own, vec![7; node.rank().index() + 1]);
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    ///
    /// # Errors
    /// As all collectives.
    pub fn scatter_counts<T: Element>(
        &self,
        root: impl Into<Rank>,
        counts: &[usize],
        blocks: Vec<T>,
    ) -> Result<Vec<T>> {
        self.whole(self.asks_scatter_counts(root.into(), counts, blocks)?)
    }

    /// [`Group::scatter_counts`] without waiting. The root's handle is complete when its blocks have left.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initscatter_counts<T: Element>(
        &self,
        root: impl Into<Rank>,
        counts: &[usize],
        blocks: Vec<T>,
    ) -> Result<Handle<Vec<T>>> {
        self.begin(self.asks_scatter_counts(root.into(), counts, blocks)?)
    }

    fn asks_scatter_counts<T: Element>(
        &self,
        root: Rank,
        counts: &[usize],
        blocks: Vec<T>,
    ) -> Result<Asked<'static, T, Output<T>>> {
        let call = self.call_scatter::<T>("scatter_counts", root, counts, blocks.len())?;
        let own = zeroed(counts[self.rank().index()]);
        Ok(Asked::of(call, blocks, own))
    }

    /// [`Group::scatter_counts`] into `own`, whose memory is used again; its length before does not matter. `blocks` is sent
    /// without a copy and is as it was afterwards.
    ///
    /// # Errors
    /// As all collectives.
    pub fn scatter_counts_into<T: Element>(
        &self,
        root: impl Into<Rank>,
        counts: &[usize],
        blocks: &mut Vec<T>,
        own: &mut Vec<T>,
    ) -> Result<()> {
        let call = self.call_scatter::<T>("scatter_counts_into", root.into(), counts, blocks.len())?;
        let output = reused(own, counts[self.rank().index()]);
        self.whole_kept(call, blocks, output, own)
    }

    /// A call with blocks of these lengths.
    pub(super) fn call_counts<T>(&self, collective: Collective, counts: &[usize]) -> Call {
        Call { blocks: Blocks::Each(lengths(counts)), ..self.call::<T>(collective, 0) }
    }

    fn call_alltoall<T>(
        &self,
        operation: &'static str,
        sent: &[usize],
        received: &[usize],
        given: usize,
    ) -> Result<Call> {
        self.check_counts(operation, sent, given)?;
        self.check_counts(operation, received, given)?;
        let own = self.rank().index();
        if sent[own] != received[own] {
            let why = format!("it sends {} to itself and expects {} of itself", sent[own], received[own]);
            return self.wrong_length(operation, given, why);
        }
        self.check_total(operation, sent, given)?;
        let blocks = Blocks::Own { sent: lengths(sent), received: lengths(received) };
        Ok(Call { blocks, ..self.call::<T>(Collective::Alltoall, 0) })
    }

    fn call_scatter<T>(&self, operation: &'static str, root: Rank, counts: &[usize], given: usize) -> Result<Call> {
        self.check_counts(operation, counts, given)?;
        if self.rank() == root {
            self.check_total(operation, counts, given)?;
        } else if given != 0 {
            let why = format!("the root (rank {root}) gives all blocks, every other rank none");
            return self.wrong_length(operation, given, why);
        }
        Ok(Call { root, ..self.call_counts::<T>(Collective::Scatter, counts) })
    }

    /// There is a count for each rank, and the own one is that of the block given. Returns where that lies among all.
    fn check_own(&self, operation: &'static str, counts: &[usize], given: usize) -> Result<usize> {
        self.check_counts(operation, counts, given)?;
        let rank = self.rank().index();
        if counts[rank] != given {
            let why = format!("its count for this rank is {}", counts[rank]);
            return self.wrong_length(operation, given, why);
        }
        Ok(counts[..rank].iter().sum())
    }

    fn check_counts(&self, operation: &'static str, counts: &[usize], given: usize) -> Result<()> {
        let (size, known) = (self.size() as usize, counts.len());
        if known != size {
            return self.wrong_length(
                operation,
                given,
                format!("it needs a count for each of the {size} ranks, not {known}"),
            );
        }
        Ok(())
    }

    /// What is given are the blocks for all ranks.
    pub(super) fn check_total(&self, operation: &'static str, counts: &[usize], given: usize) -> Result<()> {
        self.check_counts(operation, counts, given)?;
        let needed: usize = counts.iter().sum();
        if given != needed {
            return self.wrong_length(operation, given, format!("its counts are {needed} elements in all"));
        }
        Ok(())
    }
}

fn lengths(counts: &[usize]) -> std::sync::Arc<[u64]> {
    counts.iter().map(|&count| count as u64).collect()
}

/// The memory of `all` for `total` elements, with `block` from `start` on.
pub(super) fn with_block<T: Element>(all: &mut Vec<T>, block: &[T], start: usize, total: usize) -> Vec<T> {
    let mut whole = reused(all, total);
    memory::copy(&mut whole[start..start + block.len()], block);
    whole
}
