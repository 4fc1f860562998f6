//! Collectives of blocks of one length, into buffers that the caller keeps; those with counts are in `counts`.

use super::super::group::Group;
use super::asked::Asked;
use super::buffers::reused;
use super::counts::with_block;
use crate::buffer::Element;
use crate::collective::Call;
use crate::error::Result;
use crate::ids::Rank;
use crate::operation::Collective;

impl Group {
    /// [`Group::allgather`] into `all`, whose memory is used again. Its length before does not matter.
    ///
    /// # Errors
    /// As all collectives.
    pub fn allgather_into<T: Element>(&self, block: &[T], all: &mut Vec<T>) -> Result<()> {
        let whole = with_block(all, block, self.rank().index() * block.len(), self.size() as usize * block.len());
        let call = self.call::<T>(Collective::Allgather, block.len());
        *all = self.whole(Asked::in_place(call, whole, None))?;
        Ok(())
    }

    /// [`Group::gather`] into the root's `all`, whose memory is used again; its length before does not matter. Elsewhere `all` stays as
    /// it is. `block` is sent without a copy and is as it was afterwards.
    ///
    /// ```
    /// let node = lathide::init()?;
    /// let (mut block, mut all) = (vec![node.rank().0; 2], Vec::new());
    /// for _ in 0..3 {
    ///     node.gather_into(0, &mut block, &mut all)?;
    /// }
    /// if node.rank() == 0 {
    ///     assert_eq!(all.len(), 2 * node.size() as usize);
    /// }
    /// assert_eq!(block, [node.rank().0; 2]);
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    ///
    /// # Errors
    /// As all collectives.
    pub fn gather_into<T: Element>(&self, root: impl Into<Rank>, block: &mut Vec<T>, all: &mut Vec<T>) -> Result<()> {
        let call = Call { root: root.into(), ..self.call::<T>(Collective::Gather, block.len()) };
        if self.rank() != call.root {
            return self.whole_kept(call, block, Vec::new(), &mut Vec::new());
        }
        let output = reused(all, block.len() * self.size() as usize);
        self.whole_kept(call, block, output, all)
    }

    /// [`Group::alltoall`] into `received`, whose memory is used again; its length before does not matter. `blocks` is sent without a
    /// copy and is as it was afterwards.
    ///
    /// # Errors
    /// As all collectives.
    pub fn alltoall_into<T: Element>(&self, blocks: &mut Vec<T>, received: &mut Vec<T>) -> Result<()> {
        let call = self.call_alltoall_even::<T>("alltoall_into", blocks.len())?;
        let output = reused(received, blocks.len());
        self.whole_kept(call, blocks, output, received)
    }

    /// Waits for a call that sends `input` and receives into `output`, which becomes `kept`.
    pub(super) fn whole_kept<T: Element>(
        &self,
        call: Call,
        input: &mut Vec<T>,
        output: Vec<T>,
        kept: &mut Vec<T>,
    ) -> Result<()> {
        let given = std::mem::take(input);
        (*input, *kept) = self.whole(Asked::kept(call, given, output, None))?;
        Ok(())
    }
}
