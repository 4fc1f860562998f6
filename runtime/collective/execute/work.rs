//! A workspace whose element type is forgotten: what the executor of a schedule needs of it.
//!
//! Messages are copied only where they must be. What is sent from a buffer that nobody writes any more shares it. A message
//! that fills a whole buffer is received into it. A part of one is received into memory of its own, copied to its place,
//! and sent on from where it is: parts of a buffer cannot be lent one by one.

use std::any::Any;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};

use crate::buffer::{Element, ElementType, Place, Source};
use crate::collective::operator::Operator;
use crate::collective::schedule::{Action, Region, Schedule};
use crate::collective::workspace::{Shared, Workspace};

/// One rank's buffers and operator while its schedule is under way.
pub(crate) trait Work: Send {
    /// The type of the elements.
    fn element(&self) -> ElementType;
    /// Bytes of an element.
    fn element_bytes(&self) -> u64;
    /// What is sent of a region: as it is now, whatever is written there later.
    fn source(&mut self, from: Region) -> Box<dyn Source>;
    /// Where the message for a region may be received.
    fn place(&mut self, into: Region) -> Box<dyn Place>;
    /// Takes a message for a region. Returns whether it is as long as the region.
    fn received(&mut self, into: Region, place: Box<dyn Place>) -> bool;
    /// Does a copy or a combination. Runs the program's operator, which may panic.
    fn apply(&mut self, action: &Action);
    /// The result, as the handle gives it.
    fn finish(self: Box<Self>) -> Box<dyn Any + Send>;
}

/// A [`Work`] on elements of one type.
pub(crate) struct Typed<T, F> {
    buffers: Workspace<T>,
    operator: Option<Operator<T>>,
    /// The regions that are sent as they were received, by whom that still is to be done, and what was received.
    passed_on: HashMap<Region, Passed<T>>,
    finish: F,
}

/// What was received, and is to be sent on.
struct Passed<T> {
    sends: usize,
    message: Option<Arc<Vec<T>>>,
}

impl<T: Element, F> Typed<T, F> {
    /// Buffers for `schedule`; `finish` makes the result of the output.
    pub(crate) fn new(
        schedule: &Schedule,
        input: Vec<T>,
        output: Vec<T>,
        operator: Option<Operator<T>>,
        finish: F,
    ) -> Self {
        // What an operator changes in between is not what was received.
        let passed_on = if operator.is_none() { passed_on(schedule) } else { HashMap::new() };
        Typed { buffers: Workspace::new(schedule, input, output, T::zeroed()), operator, passed_on, finish }
    }

    /// What was received for `region`, if that is what is sent.
    fn pass_on(&mut self, region: Region) -> Option<Arc<Vec<T>>> {
        let passed = self.passed_on.get_mut(&region)?;
        passed.sends -= 1;
        if passed.sends == 0 { self.passed_on.remove(&region)?.message } else { passed.message.clone() }
    }
}

/// The regions that are both received and sent.
fn passed_on<T>(schedule: &Schedule) -> HashMap<Region, Passed<T>> {
    let actions = || schedule.steps().map(|step| schedule.action(step));
    let received =
        actions().filter_map(|action| if let Action::Receive { into, .. } = action { Some(into) } else { None });
    let none = |region| (region, Passed { sends: 0, message: None });
    let mut passed_on: HashMap<Region, Passed<T>> = received.map(none).collect();
    for action in actions() {
        if let Action::Send { from, .. } = action
            && let Some(passed) = passed_on.get_mut(&from)
        {
            passed.sends += 1;
        }
    }
    passed_on.retain(|_, passed| passed.sends > 0);
    passed_on
}

impl<T: Element> Source for Shared<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self.slice())
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}

impl<T: Element, R: Send + 'static, F: FnOnce(Vec<T>) -> R + Send> Work for Typed<T, F> {
    fn element(&self) -> ElementType {
        T::TYPE
    }

    fn element_bytes(&self) -> u64 {
        size_of::<T>() as u64
    }

    fn source(&mut self, from: Region) -> Box<dyn Source> {
        if let Some(message) = self.pass_on(from) {
            return Box::new(Shared::whole(message));
        }
        match self.buffers.share(from) {
            Some(shared) => Box::new(shared),
            None => Box::new(self.buffers.slice(from).to_vec()),
        }
    }

    fn place(&mut self, into: Region) -> Box<dyn Place> {
        // Where nothing is combined, a buffer holds nothing of use before all of it is received.
        let taken = if self.operator.is_none() { self.buffers.take(into) } else { None };
        Box::new(taken.unwrap_or_else(|| vec![T::zeroed(); into.count as usize]))
    }

    fn received(&mut self, into: Region, place: Box<dyn Place>) -> bool {
        let Ok(message) = place.into_any().downcast::<Vec<T>>() else { return false };
        if message.len() as u64 != into.count {
            return false;
        }
        if self.buffers.is_taken(into) {
            self.buffers.put_back(into, *message);
            return true;
        }
        self.buffers.put(into, &message);
        if let Some(passed) = self.passed_on.get_mut(&into) {
            passed.message = Some(Arc::new(*message));
        }
        true
    }

    fn apply(&mut self, action: &Action) {
        let is_done = self.buffers.apply(action, self.operator.as_ref());
        debug_assert!(is_done, "{action:?} moves messages");
    }

    fn finish(self: Box<Self>) -> Box<dyn Any + Send> {
        let Typed { buffers, finish, .. } = *self;
        Box::new(finish(buffers.into_buffers().1))
    }
}
