//! A small engine with its links: messages are matched by tag, each write is one message. Locked and driven as the real
//! one is. Its collectives are relays: a part reads a message, then writes one, and is done.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use super::completion::Completion;
use super::hand_over::Leaves;
use super::machine;
use super::poller::{Poller, Ready};
use crate::buffer::{Element, ReceiveBuffer};
use crate::engine::{OpId, Origin, Outcome, Written};
use crate::error::Error;
use crate::ids::Rank;

pub(crate) struct Core {
    pub(crate) is_helped: bool,
    pub(crate) waits: u64,
    pub(crate) engine: Engine,
    links: Vec<Link>,
    poller: Arc<Poller>,
    completions: BTreeMap<u64, Arc<Completion>>,
    /// The messages of relays: whose they are.
    steps: BTreeMap<u64, Relay>,
    due: VecDeque<Relay>,
    wakers: Vec<Waker>,
    pub(crate) completed_count: u64,
    pub(crate) watchers: Vec<Waker>,
    pub(crate) onlooker: Option<Waker>,
}

/// A collective: what it has done, and where it writes.
#[derive(Clone, Copy)]
pub(crate) struct Relay {
    whole: OpId,
    to: usize,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Reads,
    HasRead,
    Writes,
    HasWritten,
}

impl Relay {
    /// Half of them are.
    pub(crate) fn is_quick(&self) -> bool {
        self.whole.0.is_multiple_of(2)
    }

    /// Runs for a while, without the lock.
    pub(crate) fn run(&mut self, _: impl Fn() -> Duration, listen: &mut dyn FnMut(Rank, &Written)) -> bool {
        assert!(self.is_quick() || machine::holds(0) == 0, "a part runs while the core is not locked");
        if machine::once_in(2) {
            listen(Rank(0), &Written::whole(Box::new(Vec::<u8>::new())));
        }
        !self.is_quick() && machine::once_in(2)
    }
}

#[derive(Default)]
struct Link {
    outgoing: VecDeque<OpId>,
    is_blocked: bool,
    is_watched: bool,
}

#[derive(Default)]
pub(crate) struct Engine {
    next: u64,
    posted: Vec<(usize, u32, OpId)>,
    /// Messages that no read was posted for.
    unexpected: Vec<(usize, u32)>,
    underway: Vec<OpId>,
    completions: VecDeque<(OpId, Outcome)>,
    failure: Option<Error>,
}

impl Engine {
    pub(super) fn new_op(&mut self) -> OpId {
        self.next += 1;
        let op = OpId(self.next);
        match &self.failure {
            Some(error) => self.completions.push_back((op, Outcome::failed(error.clone()))),
            None => self.underway.push(op),
        }
        op
    }

    fn complete(&mut self, op: OpId, outcome: Outcome) {
        if let Some(at) = self.underway.iter().position(|&underway| underway == op) {
            self.underway.remove(at);
            self.completions.push_back((op, outcome));
        }
    }

    pub(super) fn initread(&mut self, peer: usize, tag: u32) -> OpId {
        let op = self.new_op();
        match self.unexpected.iter().position(|&message| message == (peer, tag)) {
            Some(at) => {
                self.unexpected.remove(at);
                self.complete(op, read(peer));
            }
            None => self.posted.push((peer, tag, op)),
        }
        op
    }

    pub(super) fn received(&mut self, peer: usize, tag: u32) {
        match self.posted.iter().position(|&(from, wanted, _)| (from, wanted) == (peer, tag)) {
            Some(at) => {
                let (_, _, op) = self.posted.remove(at);
                self.complete(op, read(peer));
            }
            None => self.unexpected.push((peer, tag)),
        }
    }

    pub(crate) fn fail(&mut self, error: Error) {
        self.failure = Some(error.clone());
        for op in std::mem::take(&mut self.underway) {
            self.completions.push_back((op, Outcome::failed(error.clone())));
        }
    }

    pub(crate) fn fail_lost(&mut self, rank: Rank, cause: &str) {
        self.fail(Error::PeerLost { peer: rank, cause: cause.into(), operation: None });
    }

    /// Nothing is under way.
    pub(crate) fn is_drained(&self) -> bool {
        self.underway.is_empty()
    }
}

/// A message of `peer` has come.
fn read(peer: usize) -> Outcome {
    let origin = Origin { from: Rank(peer as u32), message_id: 0, element: u8::TYPE };
    Outcome::Read(Box::new(Vec::<u8>::new()), origin)
}

impl Core {
    /// No thread panics here but to say that a test has failed.
    pub(crate) fn break_down(&mut self, _: &str) -> Vec<Waker> {
        Vec::new()
    }

    pub(super) fn new(links: usize, poller: Arc<Poller>) -> Self {
        let links = (0..links).map(|_| Link::default()).collect();
        Core {
            is_helped: false,
            waits: 0,
            engine: Engine::default(),
            links,
            poller,
            completions: BTreeMap::new(),
            steps: BTreeMap::new(),
            due: VecDeque::new(),
            wakers: Vec::new(),
            completed_count: 0,
            watchers: Vec::new(),
            onlooker: None,
        }
    }

    /// Begins a relay of a message of `tag` from one peer to another.
    pub(super) fn relay(&mut self, from: usize, tag: u32, to: usize) -> OpId {
        let whole = self.engine.new_op();
        let step = self.engine.initread(from, tag);
        self.steps.insert(step.0, Relay { whole, to, stage: Stage::Reads });
        whole
    }

    pub(crate) fn next_sender(&self, whole: OpId) -> Option<Rank> {
        let mut reads = self.steps.iter().filter(|(_, relay)| relay.whole == whole && relay.stage == Stage::Reads);
        let (step, _) = reads.next()?;
        self.engine.posted.iter().find(|(_, _, op)| op.0 == *step).map(|&(from, _, _)| Rank(from as u32))
    }

    pub(crate) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    pub(crate) fn take_due(&mut self) -> Option<Relay> {
        self.due.pop_front()
    }

    pub(crate) fn take_due_of(&mut self, whole: OpId) -> Option<Relay> {
        let at = self.due.iter().position(|relay| relay.whole == whole)?;
        self.due.remove(at)
    }

    /// A part may have been long: then it is due again and nothing is posted yet.
    pub(crate) fn put_back(&mut self, relay: Relay, _: Leaves) {
        match relay.stage {
            Stage::HasRead if machine::once_in(4) => self.due.push_back(relay),
            Stage::HasRead => {
                let step = self.initwrite(relay.to);
                self.steps.insert(step.0, Relay { stage: Stage::Writes, ..relay });
            }
            Stage::HasWritten => self.engine.complete(relay.whole, read(relay.to)),
            Stage::Reads | Stage::Writes => unreachable!("a part is due when its step has ended"),
        }
    }

    pub(crate) fn has_left_over(&self) -> bool {
        !self.wakers.is_empty() || self.onlooker.is_some()
    }

    pub(crate) fn take_spent(&mut self) -> Vec<Relay> {
        Vec::new()
    }

    pub(super) fn initwrite(&mut self, peer: usize) -> OpId {
        let op = self.engine.new_op();
        self.links[peer].outgoing.push_back(op);
        op
    }

    pub(super) fn expect(&mut self, completion: Arc<Completion>) {
        self.completions.insert(completion.op.0, completion);
    }

    pub(crate) fn drive(&mut self, ready: &[Ready], give_way: &dyn Fn() -> bool) -> usize {
        let mut count = 0;
        for link in ready {
            if link.readable {
                count += self.read_at(link.peer, None);
            }
            if link.writable {
                count += self.writable(link.peer.index());
            }
            if give_way() {
                break;
            }
        }
        self.flush();
        count
    }

    /// Whether that makes the task rest is left to chance.
    pub(crate) fn to_come(&self, _: &[Ready]) -> u64 {
        machine::below(2)
    }

    pub(crate) fn flush(&mut self) {
        for peer in 0..self.links.len() {
            self.write(peer);
        }
        self.hand_on();
    }

    pub(crate) fn hand_on(&mut self) {
        while let Some((op, outcome)) = self.engine.completions.pop_front() {
            if let Some(relay) = self.steps.remove(&op.0) {
                let stage = if relay.stage == Stage::Reads { Stage::HasRead } else { Stage::HasWritten };
                self.due.push_back(Relay { stage, ..relay });
                continue;
            }
            let completion = self.completions.remove(&op.0).expect("each operation completes once");
            let (waker, unclaimed) = completion.complete(outcome);
            self.wakers.extend(waker);
            if let Some(Outcome::Read(place, origin)) = unclaimed {
                self.give_back(&completion, origin, place);
            }
            self.completed_count += 1;
            self.wakers.append(&mut self.watchers);
        }
    }

    pub(crate) fn withdraw(&mut self, completion: &Completion) -> bool {
        let Some(at) = self.engine.posted.iter().position(|&(.., op)| op == completion.op) else { return false };
        self.engine.posted.remove(at);
        self.engine.complete(completion.op, Outcome::Abandoned(Some(Box::new(Vec::<u8>::new()))));
        true
    }

    /// A message meets its read with its last piece, so none is still arriving.
    pub(crate) fn give_up(&mut self, completion: &Completion) {
        self.withdraw(completion);
    }

    pub(crate) fn give_back(&mut self, completion: &Completion, origin: Origin, _: Box<dyn ReceiveBuffer>) {
        self.engine.received(origin.from.index(), completion.key.tag.0);
    }

    pub(crate) fn keep_refusal(&mut self, error: Error) {
        unreachable!("nothing is refused: {error}");
    }

    /// Whether a message of `tag` from `peer` lies unread.
    pub(super) fn has_unread(&self, peer: usize, tag: u32) -> bool {
        self.engine.unexpected.contains(&(peer, tag))
    }

    /// What peers are told of is no part of the model.
    pub(crate) fn acknowledge(&mut self) {
        self.flush();
    }

    pub(crate) fn has_just_sent(&self, _: Duration) -> bool {
        machine::once_in(4)
    }

    pub(crate) fn is_to_tell(&mut self, _may: impl FnOnce() -> bool) -> bool {
        false
    }

    pub(crate) fn take_wakers(&mut self) -> Vec<Waker> {
        self.wakers.extend(self.onlooker.take());
        std::mem::take(&mut self.wakers)
    }

    pub(crate) fn read_lanes(&mut self, peer: Rank) -> usize {
        self.read_at(peer, None)
    }

    /// Reads what is there, to the end of a message, or less: others have their turn.
    pub(crate) fn read_at(&mut self, peer: Rank, _: Option<Duration>) -> usize {
        let mut count = 0;
        while let Some(piece) = self.poller.receive(peer.index()) {
            count += 1;
            if piece.is_last {
                self.engine.received(peer.index(), piece.tag);
            }
            if !self.engine.completions.is_empty() || machine::once_in(4) {
                break;
            }
        }
        count
    }

    /// Each peer has one lane.
    pub(crate) fn move_lanes(&mut self, _: Rank) -> usize {
        0
    }

    /// Whether somebody who looks at so many links is to look at all of them: here, at any time when there are others.
    pub(crate) fn is_time_for_others(&mut self, looked_at: usize) -> bool {
        self.links.len() > looked_at && machine::once_in(4)
    }

    pub(crate) fn write_on(&mut self, peer: Rank) -> usize {
        if !std::mem::take(&mut self.links[peer.index()].is_blocked) {
            return 0;
        }
        self.write(peer.index())
    }

    fn writable(&mut self, peer: usize) -> usize {
        if std::mem::take(&mut self.links[peer].is_blocked) {
            self.write(peer)
        } else {
            self.watch(peer, false);
            0
        }
    }

    fn write(&mut self, peer: usize) -> usize {
        let mut count = 0;
        while !self.links[peer].is_blocked
            && let Some(&op) = self.links[peer].outgoing.front()
        {
            if !self.poller.send(peer) {
                self.watch(peer, true);
                break;
            }
            count += 1;
            self.links[peer].outgoing.pop_front();
            self.engine.complete(op, Outcome::Written(Written::whole(Box::new(Vec::<u8>::new()))));
            // There is more, and the other links have their turn.
            if !self.links[peer].outgoing.is_empty() && machine::once_in(4) {
                self.watch(peer, true);
            }
        }
        count
    }

    fn watch(&mut self, peer: usize, room: bool) {
        let link = &mut self.links[peer];
        link.is_blocked = room;
        if std::mem::replace(&mut link.is_watched, room) != room {
            self.poller.watch_writable(peer, room);
        }
    }
}
