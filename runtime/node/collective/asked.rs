//! How a collective that the program calls is carried out: by the thread that calls it, as far as that goes at once, or begun in the
//! kernel.

use super::super::group::Group;
use super::buffers::bytes_of;
use crate::buffer::Element;
use crate::collective::execute::{Numbered, Plan, Planned, QUICK_BYTES, Start, Typed};
use crate::collective::plain::Plain;
use crate::collective::{Blocks, Call, Operator};
use crate::error::Result;
use crate::handle::Handle;
use crate::kernel::Carried;
use crate::operation::{Operation, OperationKind};

/// A collective that the program calls.
pub(super) struct Asked<'a, T, F> {
    pub(super) call: Call,
    pub(super) input: Vec<T>,
    pub(super) output: Vec<T>,
    pub(super) operator: Option<&'a Operator<T>>,
    /// Makes the result, of the input and the output.
    pub(super) finish: F,
}

/// What makes the result.
pub(super) trait Finish<T, R>: FnOnce(Vec<T>, Vec<T>) -> R + Send + 'static {}

impl<T, R, F: FnOnce(Vec<T>, Vec<T>) -> R + Send + 'static> Finish<T, R> for F {}

/// The result is the output.
pub(super) type Output<T> = fn(Vec<T>, Vec<T>) -> Vec<T>;

/// There is no result.
pub(super) type Nothing<T> = fn(Vec<T>, Vec<T>);

/// The result is both buffers.
pub(super) type Both<T> = fn(Vec<T>, Vec<T>) -> (Vec<T>, Vec<T>);

impl<'a, T: Element> Asked<'a, T, Output<T>> {
    /// One that works on the output alone, which is its result.
    pub(super) fn in_place(call: Call, output: Vec<T>, operator: Option<&'a Operator<T>>) -> Self {
        Asked { call, input: Vec::new(), output, operator, finish: |_, output| output }
    }

    /// One whose result is the output.
    pub(super) fn of(call: Call, input: Vec<T>, output: Vec<T>) -> Self {
        Asked { call, input, output, operator: None, finish: |_, output| output }
    }
}

impl<'a, T: Element> Asked<'a, T, Both<T>> {
    /// One whose caller keeps both buffers.
    pub(super) fn kept(call: Call, input: Vec<T>, output: Vec<T>, operator: Option<&'a Operator<T>>) -> Self {
        Asked { call, input, output, operator, finish: |input, output| (input, output) }
    }
}

impl<'a, T: Element, F> Asked<'a, T, F> {
    /// The same with another result.
    pub(super) fn making<G>(self, finish: G) -> Asked<'a, T, G> {
        let Asked { call, input, output, operator, .. } = self;
        Asked { call, input, output, operator, finish }
    }

    fn bytes(&self) -> u64 {
        bytes_of(&self.input, &self.output)
    }

    /// Whether the thread that calls it may carry it out: it takes no time but for its messages, and ranks share its lengths.
    fn is_quick(&self) -> bool {
        let is_own = self.operator.is_none_or(Operator::is_own);
        is_own && self.bytes() <= QUICK_BYTES as u64 && !matches!(self.call.blocks, Blocks::Own { .. })
    }

    fn operator_name(&self) -> &str {
        self.operator.map_or("", Operator::name)
    }
}

impl Group {
    /// A blocking call: no other thread may call a collective during it.
    pub(super) fn whole<T: Element, R: Send + 'static>(&self, mut asked: Asked<'_, T, impl Finish<T, R>>) -> Result<R> {
        self.check_element(T::TYPE, size_of::<T>())?;
        let _call = self.noting(self.kernel().call_collective(self.team()))?;
        let planned = self.noting(self.kernel().plan(self.team(), &asked.call))?;
        let mut numbered = None;
        if let Planned::Now { plan, exchanges: false } = &planned
            && let Some(single) = plan.schedule.single()
            && asked.is_quick()
        {
            let operation = self.operation(&asked);
            let signature = plan.signature(&asked.call, T::TYPE, asked.operator_name());
            let Asked { call, input, output, operator, finish } = asked;
            let mut buffers = Plain::new(&plan.schedule, input, output, operator);
            let carried = self.kernel().carry_out(self.team(), (operation, signature), (plan, single), &mut buffers);
            let [input, output] = buffers.into_buffers();
            match self.noting(carried)? {
                Carried::Over => return Ok(finish(input, output)),
                Carried::Begins(begun) => numbered = begun,
            }
            asked = Asked { call, input, output, operator, finish };
        }
        self.begin_planned(asked, planned, (numbered, true))?.wait_in_call()
    }

    /// A call that does not wait.
    pub(super) fn begin<T: Element, R: Send + 'static>(
        &self,
        asked: Asked<'_, T, impl Finish<T, R>>,
    ) -> Result<Handle<R>> {
        self.check_element(T::TYPE, size_of::<T>())?;
        let _call = self.noting(self.kernel().call_collective(self.team()))?;
        let planned = self.noting(self.kernel().plan(self.team(), &asked.call))?;
        self.begin_planned(asked, planned, (None, false))
    }

    /// `numbered`: it has its number. `waits`: the caller waits for it at once.
    fn begin_planned<T: Element, R: Send + 'static>(
        &self,
        asked: Asked<'_, T, impl Finish<T, R>>,
        planned: Planned,
        (numbered, waits): (Option<Numbered>, bool),
    ) -> Result<Handle<R>> {
        let operation = self.operation(&asked);
        let Asked { call, input, output, operator, finish } = asked;
        let (group, of, operator) = (self.team().number, call.clone(), operator.cloned());
        let make = move |plan: &Plan| {
            let name = operator.as_ref().map_or("", Operator::name);
            let signature = Some(plan.signature(&of, T::TYPE, name));
            let work = Box::new(Typed::new(&plan.schedule, input, output, operator, finish));
            // Whose lengths ranks do not share says nothing of others with as many bytes.
            let timed = (!matches!(of.blocks, Blocks::Own { .. })).then(|| plan.timed.clone());
            Start { group, schedule: plan.schedule.clone(), signature, work, timed }
        };
        let begun = self.kernel().initcollective(self.team(), (operation, &call), planned, (numbered, waits), make);
        Ok(Handle::new(self.kernel().clone(), self.noting(begun)?))
    }

    fn operation<T: Element, F>(&self, asked: &Asked<'_, T, F>) -> Operation {
        let (call, rank) = (&asked.call, self.job_rank());
        let root = Some(call.root).filter(|_| call.has_root()).and_then(|root| self.world(root)).unwrap_or(rank);
        Operation::new(OperationKind::Collective(call.collective), rank, root, None, asked.bytes())
    }
}

#[cfg(test)]
#[path = "asked_tests.rs"]
mod tests;
