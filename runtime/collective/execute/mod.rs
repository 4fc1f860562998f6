//! Carries out the collectives of one rank: posts the steps of their schedules to the engine when they are ready,
//! and takes the ends of these. Pure: whoever drives the engine drives the collectives with it, the kernel's task
//! while the program computes.
//!
//! A part whose steps have ended is *due*. Whoever drives takes it out ([`Collectives::take_due`]), runs it without
//! the lock, since operators may be the program's own code and long, and puts it back; then what it has made
//! ready is posted. Ends that come meanwhile wait beside its empty place.

mod agreement;
mod control;
mod deferred;
mod failing;
mod founding;
mod groups;
mod held;
mod leaving;
mod members;
mod numbered;
mod part;
mod plan;
mod posts;
#[cfg(test)]
mod sim_tests;
mod start;
mod team;
mod timing;
mod work;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use foldhash::{HashMap, HashMapExt};

use self::agreement::{Begun, Heard};
use self::control::{Cause, ControlMessage};
use self::groups::Groups;
pub(crate) use self::members::Members;
pub(crate) use self::numbered::{Fault, Numbered};
pub(crate) use self::part::Job;
use self::part::Part;
pub(crate) use self::plan::{KnownPrices, Plan, Planned, Planner};
pub(crate) use self::start::{Deferred, Start};
use self::team::Team;
use self::timing::Timed;
pub(crate) use self::work::{QUICK_BYTES, Typed};
use super::progress::Progress;
use super::schedule::StepId;
use crate::engine::{ByOp, Completed, Engine, OpId, Outcome};
use crate::error::Error;
use crate::ids::{Rank, Tag};
use crate::wire::frame::{Context, MatchKey};

/// All collectives of a rank that are under way.
pub(crate) struct Collectives {
    rank: Rank,
    /// All ranks of the job, and those of this rank's groups.
    job: Team,
    groups: Groups,
    entries: ByOp<Entry>,
    /// Whose step a message under way is.
    steps: ByOp<Step>,
    /// What others say, under way.
    words: HashMap<OpId, Rank>,
    /// Peers that hold messages: a read asks them for words, and another when it has ended.
    holders: BTreeSet<Rank>,
    /// Collectives that have been called and do not begin before the agreement under way has ended, in order.
    deferred: VecDeque<OpId>,
    /// The exchange of observations that is under way, and the number of the collective that it goes with. The program does
    /// not know of it.
    calibrating: Option<(OpId, u64)>,
    /// An exchange of which a rank has refused a message.
    refused: Option<(OpId, Rank)>,
    /// The number of the last one that was given up, and why.
    given_up: Option<(u64, Error)>,
    /// This rank calls no more collectives.
    is_leaving: bool,
    /// Parts that can go on.
    due: VecDeque<OpId>,
    ended: VecDeque<Completed>,
    /// Collectives whose messages have failed, and why, unless a word that has come says more.
    failures: Vec<(OpId, Error)>,
    /// Ranks that have called a collective of this group and number differently, and have left, unless a word that has come
    /// says more.
    unanswered: Vec<(u32, u64, Rank)>,
    /// Parts that have failed: the program's operators in them are dropped without the lock.
    #[expect(clippy::vec_box, reason = "they come in boxes, and moving these is all that is done under the lock")]
    spent: Vec<Box<Part>>,
    /// The memory of one that has ended, for the next: short collectives follow each other.
    spare: Option<Box<Part>>,
    /// Messages that have been posted or read, for whoever counts.
    traffic: VecDeque<Traffic>,
}

/// A message under way.
#[derive(Clone, Copy)]
struct Step {
    /// The collective, and which step of it.
    whole: OpId,
    step: StepId,
    peer: Rank,
    is_read: bool,
}

/// A message of a collective, as those that observe links count it.
pub(crate) enum Traffic {
    /// It is posted, for the collective `whole`.
    Sent { op: OpId, whole: OpId, to: Rank, bytes: u64 },
    /// All of it is here.
    Received { whole: OpId, from: Rank, bytes: u64 },
}

/// A collective under way.
struct Entry {
    /// This rank's number of the group; 0 for the whole job.
    group: u32,
    /// `None` for neighbours' exchanges, on which ranks need not agree.
    number: Option<u64>,
    /// What its reads are matched by.
    key: MatchKey,
    /// `None` while it runs.
    part: Option<Box<Part>>,
    /// Steps that have ended since it ran.
    ended: Vec<(StepId, Outcome)>,
    is_due: bool,
    /// When its part was put back last.
    moved: Duration,
    /// When it began, and who is told how long it took.
    began: Duration,
    timed: Option<Timed>,
}

impl Collectives {
    pub(crate) fn new(rank: Rank, ranks: u32) -> Self {
        Collectives {
            rank,
            job: Team::new(Members::of_job(rank, ranks).into(), rank),
            groups: Groups::default(),
            entries: ByOp::new(),
            steps: ByOp::new(),
            words: HashMap::new(),
            holders: BTreeSet::new(),
            deferred: VecDeque::new(),
            calibrating: None,
            refused: None,
            given_up: None,
            is_leaving: false,
            due: VecDeque::new(),
            ended: VecDeque::new(),
            failures: Vec::new(),
            unanswered: Vec::new(),
            spent: Vec::new(),
            spare: None,
            traffic: VecDeque::new(),
        }
    }

    /// Begins a collective: it is due at once. Returns its name among the operations.
    ///
    /// # Errors
    /// What the job has failed with, or why no collective can be called any more.
    pub(crate) fn start(&mut self, engine: &mut Engine, now: Duration, start: Start) -> Result<OpId, Error> {
        self.release_held();
        let op = engine.new_op();
        self.begin(engine, now, op, start)?;
        Ok(op)
    }

    /// Begins a collective whose name is `op`.
    fn begin(&mut self, engine: &mut Engine, now: Duration, op: OpId, start: Start) -> Result<(), Error> {
        self.check(engine, start.group, start.signature.is_some())?;
        let rank = self.rank;
        let Some(team) = self.team(start.group) else { return Err(Error::Shutdown { rank }) };
        let begun = start.signature.map(|signature| team.agreement.begin(signature)).transpose()?;
        self.begin_as(engine, now, op, start, begun)
    }

    /// Begins a collective which has its number and its tag, if it is to have some.
    fn begin_as(
        &mut self,
        engine: &mut Engine,
        now: Duration,
        op: OpId,
        start: Start,
        begun: Option<Begun>,
    ) -> Result<(), Error> {
        let Start { group, schedule, work, timed, .. } = start;
        let rank = self.rank;
        let key = match &begun {
            Some(begun) => MatchKey::new(Context::Collective, begun.tag),
            None => MatchKey::new(Context::Neighbour, Tag(0)),
        };
        let spare = self.spare.take();
        let Some(Team { members, .. }) = self.get_team(group) else { return Err(Error::Shutdown { rank }) };
        let part = match spare {
            Some(mut part) => {
                part.renew(schedule, work, members);
                part
            }
            None => Box::new(Part::new(Progress::new(schedule), work, members.clone())),
        };
        let number = begun.as_ref().map(|begun| begun.number);
        self.insert(op, Entry { group, number, timed, ..Entry::new(key.in_group(group), part, now) });
        if let Some(begun) = begun {
            if let Some(heard) = begun.heard {
                self.heed(engine, now, (group, begun.number), *heard);
            }
            self.check_gone(engine, now, group, begun.number);
        }
        Ok(())
    }

    /// Heeds what others have said of a collective that has begun.
    fn heed(&mut self, engine: &mut Engine, now: Duration, (group, number): (u32, u64), heard: Heard) {
        if let Some(disagreement) = heard.disagreement {
            self.revoke(engine, now, group, number, Cause::Disagreement(disagreement));
        }
        for (peer, called) in heard.level {
            self.compare(engine, now, group, peer, called);
        }
        for peer in heard.ask {
            self.ask_other(engine, now, group, number, peer);
        }
    }

    /// A collective is under way, and due.
    fn insert(&mut self, op: OpId, entry: Entry) {
        if let Some(team) = self.groups.teams.get_mut(&entry.group) {
            team.under_way += 1;
        }
        self.entries.insert(op, entry);
        self.make_due(op);
    }

    /// Whether another collective of a group can begin. `is_agreed`: one on which ranks must agree.
    fn check(&self, engine: &Engine, group: u32, is_agreed: bool) -> Result<(), Error> {
        // What ranks disagree on says more than that one has ended since.
        let team = self.get_team(group).filter(|_| is_agreed);
        let revoked = team.and_then(|team| team.agreement.revoked(team.agreement.next()));
        revoked.or_else(|| engine.failure().cloned()).map_or(Ok(()), Err)
    }

    /// Whether some messages are collectives' own. Where none are, [`Collectives::complete`] has nothing to take.
    pub(crate) fn awaits_messages(&self) -> bool {
        !(self.steps.is_empty() && self.words.is_empty())
    }

    /// Whether there is nothing to hand on, neither ends nor failures nor traffic.
    pub(crate) fn has_nothing_to_say(&self) -> bool {
        self.ended.is_empty() && self.traffic.is_empty() && !self.has_failures()
    }

    /// Takes the end of a step; gives back what is none.
    pub(crate) fn complete(
        &mut self,
        engine: &mut Engine,
        now: impl FnOnce() -> Duration,
        completion: Completed,
    ) -> Option<Completed> {
        let Completed { op, outcome } = completion;
        if let Some(step) = self.steps.remove(op) {
            self.end_step(step, outcome);
            return None;
        }
        let Some(from) = self.words.remove(&op) else { return Some(Completed { op, outcome }) };
        if let Outcome::Read(mut place, _) = outcome
            && let Some((group, word)) = ControlMessage::decode(place.bytes_mut())
        {
            let now = now();
            self.hear(engine, now, (from, group), word);
            if self.holders.contains(&from) {
                self.read_word(engine, now, from);
            }
        }
        None
    }

    fn end_step(&mut self, Step { whole, step, peer, is_read }: Step, mut outcome: Outcome) {
        let Some(entry) = self.entries.get_mut(whole) else { return };
        if let (true, Outcome::Read(place, _)) = (is_read, &mut outcome) {
            let bytes = place.bytes_mut().len() as u64;
            self.traffic.push_back(Traffic::Received { whole, from: peer, bytes });
        }
        match outcome {
            Outcome::Read(..) | Outcome::Written(_) => {
                // Most ends allow nothing more: the part need not run for them.
                let can_go_on = match &mut entry.part {
                    Some(part) if part.ends_at_once(step, &mut outcome) => {
                        part.end(step, outcome, &mut |_, _| ());
                        part.can_go_on()
                    }
                    _ => {
                        entry.ended.push((step, outcome));
                        true
                    }
                };
                if can_go_on {
                    self.make_due(whole);
                }
            }
            Outcome::Failed(failure) => match failure.error {
                // Whoever has refused a message of a collective is about to say why, or has left.
                Error::Mismatch(_) if !is_read && entry.number.is_some() => {}
                Error::Mismatch(_) if !is_read && self.is_exchange(whole) => {
                    self.refused = Some((whole, peer));
                }
                error => self.failures.push((whole, error)),
            },
            Outcome::Abandoned(_) | Outcome::Made(_) => {}
        }
    }

    /// Takes out a part that can go on. It is to be put back soon.
    #[inline]
    pub(crate) fn take_due(&mut self) -> Option<Job> {
        if self.has_due() { self.take_first_due() } else { None }
    }

    fn take_first_due(&mut self) -> Option<Job> {
        while let Some(op) = self.due.pop_front() {
            let job = self.take(op);
            if job.is_some() {
                return job;
            }
        }
        None
    }

    /// [`Collectives::take_due`] of one collective.
    pub(crate) fn take_due_of(&mut self, op: OpId) -> Option<Job> {
        let at = self.due.iter().position(|due| *due == op)?;
        self.due.remove(at);
        self.take(op)
    }

    fn take(&mut self, op: OpId) -> Option<Job> {
        let entry = self.entries.get_mut(op)?;
        entry.is_due = false;
        let mut part = entry.part.take()?;
        // Both lists come back, with their memory.
        std::mem::swap(&mut part.ended, &mut entry.ended);
        Some(Job { op, part, start: None, end: None })
    }

    /// Whether a part can go on that nobody has taken out.
    pub(crate) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Whether a part runs, or is about to: its operator may take long, and nothing moves meanwhile.
    pub(crate) fn is_running(&self) -> bool {
        self.has_due() || self.entries.values().any(|entry| entry.part.is_none())
    }

    /// The next collective that has ended.
    pub(crate) fn poll_completion(&mut self) -> Option<Completed> {
        self.ended.pop_front()
    }

    /// The next message that has been posted or read.
    pub(crate) fn poll_traffic(&mut self) -> Option<Traffic> {
        self.traffic.pop_front()
    }

    /// Whether [`Collectives::fail_late`] has something to do.
    pub(crate) fn has_failures(&self) -> bool {
        !(self.failures.is_empty() && self.unanswered.is_empty() && self.groups.has_nothing_to_say())
    }

    /// Whether [`Collectives::take_spent`] has something to take.
    pub(crate) fn has_spent(&self) -> bool {
        !self.spent.is_empty()
    }

    /// Parts to be dropped without the lock.
    pub(crate) fn take_spent(&mut self) -> impl Send + use<> {
        std::mem::take(&mut self.spent)
    }

    /// Has the next collective be number `number`, so that tests see numbers pass their turning points.
    #[cfg(test)]
    pub(crate) fn begin_at(&mut self, number: u64) {
        self.job.agreement.begin_at(number);
    }

    /// Whether no collective of the program is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.entries.len() == usize::from(self.calibrating.is_some())
    }

    fn end(&mut self, op: OpId, outcome: Outcome) {
        if let Some(entry) = self.entries.remove(op) {
            self.has_ended(entry.group);
            match entry.part {
                Some(part) if part.is_spent() => self.spare = Some(part),
                part => self.spent.extend(part),
            }
        }
        if self.is_exchange(op) {
            self.calibrating = None;
            return self.resume();
        }
        self.ended.push_back(Completed { op, outcome });
    }

    fn is_exchange(&self, op: OpId) -> bool {
        self.calibrating.is_some_and(|(calibrating, _)| calibrating == op)
    }

    fn make_due_if_ended(&mut self, op: OpId) {
        if self.entries.get(op).is_some_and(|entry| !entry.ended.is_empty()) {
            self.make_due(op);
        }
    }

    /// A part can go on; if it is running, it is seen when it is put back.
    fn make_due(&mut self, op: OpId) {
        if let Some(entry) = self.entries.get_mut(op)
            && entry.part.is_some()
            && !std::mem::replace(&mut entry.is_due, true)
        {
            self.due.push_back(op);
        }
    }
}

impl Entry {
    fn new(key: MatchKey, part: Box<Part>, now: Duration) -> Self {
        Entry {
            group: 0,
            number: None,
            key,
            part: Some(part),
            ended: Vec::new(),
            is_due: false,
            moved: now,
            began: now,
            timed: None,
        }
    }
}

/// What words are matched by.
const WORDS: MatchKey = MatchKey::new(Context::Agreement, Tag(0));
