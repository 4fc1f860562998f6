//! Reductions of which each rank gets a part of its own: a block, or the sum of the ranks before it.

use super::super::group::Group;
use super::asked::{Asked, Finish, Output};
use super::buffers::{reused, zeroed};
use crate::buffer::{Element, memory};
use crate::collective::{Call, Operator};
use crate::error::Result;
use crate::handle::Handle;
use crate::operation::Collective;

/// # Reduce-scatter and scans
///
/// Operands are combined element by element. Scans combine in the order of ranks, whatever the operator; a reduce-scatter
/// unless the operator is commutative and the algorithm uses another order: the manual's page
/// [`collectives`](crate::manual::collectives). The calls with `_into` block; they use the memory of buffers that the caller
/// keeps. If such a call fails after it has begun, these buffers are empty.
impl Group {
    /// Combines the buffers of all ranks by `operator`, and returns this rank's block of the result. The buffer has a block
    /// of the same length for each rank, in the order of ranks.
    ///
    /// ```
    /// use lathide::Operator;
    /// let node = lathide::init()?;
    /// let contribution = vec![1u32; 3 * node.size() as usize];
    /// assert_eq!(node.reduce_scatter(&Operator::sum(), contribution)?, vec![node.size(); 3]);
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    ///
    /// # Errors
    /// As all collectives.
    pub fn reduce_scatter<T: Element>(&self, operator: &Operator<T>, buffer: Vec<T>) -> Result<Vec<T>> {
        self.whole(self.asks_reduce_scatter(operator, buffer)?)
    }

    /// [`Group::reduce_scatter`] without waiting. The operator runs where messages are moved.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initreduce_scatter<T: Element>(&self, operator: &Operator<T>, buffer: Vec<T>) -> Result<Handle<Vec<T>>> {
        self.begin(self.asks_reduce_scatter(operator, buffer)?)
    }

    fn asks_reduce_scatter<'a, T: Element>(
        &self,
        operator: &'a Operator<T>,
        buffer: Vec<T>,
    ) -> Result<Asked<'a, T, impl Finish<T, Vec<T>> + use<T>>> {
        let call = self.call_even("reduce_scatter", operator, buffer.len())?;
        Ok(self.reduces_and_scatters(call, operator, buffer))
    }

    /// [`Group::reduce_scatter`] with blocks of different lengths: rank `i` gets `counts[i]` elements. All ranks give the same
    /// `counts`, and a buffer as long as all of them.
    ///
    /// # Errors
    /// As all collectives.
    pub fn reduce_scatter_counts<T: Element>(
        &self,
        operator: &Operator<T>,
        counts: &[usize],
        buffer: Vec<T>,
    ) -> Result<Vec<T>> {
        self.whole(self.asks_reduce_scatter_counts(operator, counts, buffer)?)
    }

    /// [`Group::reduce_scatter_counts`] without waiting. The operator runs where messages are moved.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initreduce_scatter_counts<T: Element>(
        &self,
        operator: &Operator<T>,
        counts: &[usize],
        buffer: Vec<T>,
    ) -> Result<Handle<Vec<T>>> {
        self.begin(self.asks_reduce_scatter_counts(operator, counts, buffer)?)
    }

    fn asks_reduce_scatter_counts<'a, T: Element>(
        &self,
        operator: &'a Operator<T>,
        counts: &[usize],
        buffer: Vec<T>,
    ) -> Result<Asked<'a, T, impl Finish<T, Vec<T>> + use<T>>> {
        let call = self.call_uneven("reduce_scatter_counts", operator, counts, buffer.len())?;
        Ok(self.reduces_and_scatters(call, operator, buffer))
    }

    /// [`Group::reduce_scatter`] into `own`, whose memory is used again; its length before does not matter. `buffer` keeps its
    /// length, with elements of any value.
    ///
    /// # Errors
    /// As all collectives.
    pub fn reduce_scatter_into<T: Element>(
        &self,
        operator: &Operator<T>,
        buffer: &mut Vec<T>,
        own: &mut Vec<T>,
    ) -> Result<()> {
        let call = self.call_even("reduce_scatter_into", operator, buffer.len())?;
        self.reduce_scatter_in(call, operator, buffer, own)
    }

    /// [`Group::reduce_scatter_counts`] into `own`, whose memory is used again; its length before does not matter. `buffer`
    /// keeps its length, with elements of any value.
    ///
    /// # Errors
    /// As all collectives.
    pub fn reduce_scatter_counts_into<T: Element>(
        &self,
        operator: &Operator<T>,
        counts: &[usize],
        buffer: &mut Vec<T>,
        own: &mut Vec<T>,
    ) -> Result<()> {
        let call = self.call_uneven("reduce_scatter_counts_into", operator, counts, buffer.len())?;
        self.reduce_scatter_in(call, operator, buffer, own)
    }

    /// Combines the buffers of the ranks `0..=rank`, this one's among them, by `operator`: an inclusive prefix reduction. All
    /// ranks give as many elements.
    ///
    /// ```
    /// use lathide::Operator;
    /// let node = lathide::init()?;
    /// let (own, sum) = (node.rank().0 + 1, Operator::sum());
    /// let up_to_here = node.scan(&sum, vec![own])?;
    /// assert_eq!(up_to_here, [own * (own + 1) / 2]);
    /// let before = node.exscan(&sum, vec![own])?;                // where this rank's part begins
    /// assert_eq!(before.map_or(0, |before| before[0]), up_to_here[0] - own);
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    ///
    /// # Errors
    /// As all collectives.
    pub fn scan<T: Element>(&self, operator: &Operator<T>, buffer: Vec<T>) -> Result<Vec<T>> {
        self.whole(self.asks_scan(operator, buffer))
    }

    /// [`Group::scan`] without waiting. The operator runs where messages are moved.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initscan<T: Element>(&self, operator: &Operator<T>, buffer: Vec<T>) -> Result<Handle<Vec<T>>> {
        self.begin(self.asks_scan(operator, buffer))
    }

    fn asks_scan<'a, T: Element>(&self, operator: &'a Operator<T>, buffer: Vec<T>) -> Asked<'a, T, Output<T>> {
        Asked::in_place(self.call_by(Collective::Scan, operator, buffer.len()), buffer, Some(operator))
    }

    /// [`Group::scan`] in place.
    ///
    /// # Errors
    /// As all collectives.
    pub fn scan_into<T: Element>(&self, operator: &Operator<T>, buffer: &mut Vec<T>) -> Result<()> {
        *buffer = self.scan(operator, std::mem::take(buffer))?;
        Ok(())
    }

    /// Combines the buffers of the ranks `0..rank`, without this one's, by `operator`: an exclusive prefix reduction.
    /// Rank 0 gets `None`. All ranks give as many elements. An example is at [`Group::scan`].
    ///
    /// # Errors
    /// As all collectives.
    pub fn exscan<T: Element>(&self, operator: &Operator<T>, buffer: Vec<T>) -> Result<Option<Vec<T>>> {
        self.whole(self.asks_exscan(operator, buffer))
    }

    /// [`Group::exscan`] without waiting. The operator runs where messages are moved.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initexscan<T: Element>(&self, operator: &Operator<T>, buffer: Vec<T>) -> Result<Handle<Option<Vec<T>>>> {
        self.begin(self.asks_exscan(operator, buffer))
    }

    fn asks_exscan<'a, T: Element>(
        &self,
        operator: &'a Operator<T>,
        input: Vec<T>,
    ) -> Asked<'a, T, impl Finish<T, Option<Vec<T>>> + use<T>> {
        let call = self.call_by(Collective::Exscan, operator, input.len());
        let is_first = self.rank() == 0;
        let output = zeroed(if is_first { 0 } else { input.len() });
        let finish = move |_, output: Vec<T>| (!is_first).then_some(output);
        Asked { call, input, output, operator: Some(operator), finish }
    }

    /// [`Group::exscan`] into `before`, whose memory is used again; its length before does not matter. `buffer` is as it was
    /// afterwards. On rank 0 `before` is empty.
    ///
    /// # Errors
    /// As all collectives.
    pub fn exscan_into<T: Element>(
        &self,
        operator: &Operator<T>,
        buffer: &mut Vec<T>,
        before: &mut Vec<T>,
    ) -> Result<()> {
        let call = self.call_by(Collective::Exscan, operator, buffer.len());
        let output = reused(before, if self.rank() == 0 { 0 } else { buffer.len() });
        let input = std::mem::take(buffer);
        (*buffer, *before) = self.whole(Asked::kept(call, input, output, Some(operator)))?;
        Ok(())
    }

    pub(super) fn call_by<T: Element>(&self, collective: Collective, operator: &Operator<T>, count: usize) -> Call {
        Call { is_commutative: operator.is_commutative(), ..self.call::<T>(collective, count) }
    }

    fn call_even<T: Element>(&self, operation: &'static str, operator: &Operator<T>, given: usize) -> Result<Call> {
        let size = self.size() as usize;
        if !given.is_multiple_of(size) {
            return self.wrong_length(operation, given, format!("it needs as many for each of the {size} ranks"));
        }
        Ok(self.call_by(Collective::ReduceScatter, operator, given / size))
    }

    fn call_uneven<T: Element>(
        &self,
        operation: &'static str,
        operator: &Operator<T>,
        counts: &[usize],
        given: usize,
    ) -> Result<Call> {
        self.check_total(operation, counts, given)?;
        let call = self.call_counts::<T>(Collective::ReduceScatter, counts);
        Ok(Call { is_commutative: operator.is_commutative(), ..call })
    }

    fn reduces_and_scatters<'a, T: Element>(
        &self,
        call: Call,
        operator: &'a Operator<T>,
        buffer: Vec<T>,
    ) -> Asked<'a, T, impl Finish<T, Vec<T>> + use<T>> {
        let own = self.own_block(&call);
        // A block of its own: the caller is not to keep the memory of all.
        Asked::in_place(call, buffer, Some(operator)).making(move |_, whole: Vec<T>| match own.len() == whole.len() {
            true => whole,
            false => memory::copy_of(&whole[own]),
        })
    }

    fn reduce_scatter_in<T: Element>(
        &self,
        call: Call,
        operator: &Operator<T>,
        buffer: &mut Vec<T>,
        own: &mut Vec<T>,
    ) -> Result<()> {
        let place = self.own_block(&call);
        let whole = std::mem::take(buffer);
        *buffer = self.whole(Asked::in_place(call, whole, Some(operator)))?;
        own.clear();
        memory::append(own, &buffer[place]);
        Ok(())
    }

    /// Where this rank's block lies.
    fn own_block(&self, call: &Call) -> std::ops::Range<usize> {
        let rank = self.rank().0;
        let std::ops::Range { start, end } = call.blocks.range(rank..rank + 1);
        start as usize..end as usize
    }
}
