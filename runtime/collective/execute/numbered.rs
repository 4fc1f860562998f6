//! Collectives that their caller carries out itself as far as it can: they have their number and are not in the table; one that takes
//! longer is begun like any other.

use std::time::Duration;

use super::Collectives;
use super::agreement::Begun;
use super::part::other_length;
use super::start::Start;
use crate::collective::signature::Signature;
use crate::engine::{Engine, OpId};
use crate::error::Error;
use crate::ids::Rank;
use crate::wire::frame::{Context, MatchKey};

/// A collective that has been called, and how far its caller has come.
pub(crate) struct Numbered {
    begun: Begun,
    /// Others have said something of it before, or a member of its group calls fewer: it is to be begun, which heeds that.
    pub(crate) has_heard: bool,
    /// So many of its first messages have left: none, or all that wait for nothing.
    pub(crate) sent: usize,
    /// What it sends may wait for what the next ones send.
    pub(crate) gathers: bool,
    /// What is wrong with its message.
    pub(crate) fault: Option<Fault>,
}

/// Why a message that has come, or cannot come, ends its collective.
pub(crate) enum Fault {
    /// It is from this rank, and has not so many elements.
    Length(Rank, u64),
    Failed(Error),
}

impl Numbered {
    /// What its messages are matched by within the job; see [`MatchKey::in_group`].
    pub(crate) fn key(&self) -> MatchKey {
        MatchKey::new(Context::Collective, self.begun.tag)
    }
}

impl Collectives {
    /// The program calls a collective of a group, whose messages the caller moves itself until it has ended, or is begun
    /// ([`Collectives::start_numbered`]).
    ///
    /// # Errors
    /// As [`Collectives::start`].
    pub(crate) fn number(&mut self, engine: &Engine, group: u32, signature: Signature) -> Result<Numbered, Error> {
        self.release_held();
        self.check(engine, group, true)?;
        let rank = self.rank;
        let Some(team) = self.team(group) else { return Err(Error::Shutdown { rank }) };
        let begun = team.agreement.begin(signature)?;
        let has_heard = begun.heard.is_some() || team.gone.values().any(|called| *called <= begun.number);
        Ok(Numbered { begun, has_heard, sent: 0, gathers: false, fault: None })
    }

    /// [`Collectives::start`] of one that has its number, and whose first messages may have left.
    ///
    /// # Errors
    /// As [`Collectives::start`].
    pub(crate) fn start_numbered(
        &mut self,
        engine: &mut Engine,
        now: Duration,
        numbered: Numbered,
        start: Start,
    ) -> Result<OpId, Error> {
        let Numbered { begun, sent, fault, .. } = numbered;
        let revoked = self.get_team(start.group).and_then(|team| team.agreement.revoked(begun.number));
        revoked.or_else(|| engine.failure().cloned()).map_or(Ok(()), Err)?;
        let op = engine.new_op();
        self.begin_as(engine, now, op, start, Some(begun))?;
        if let Some(part) = self.entries.get_mut(op).and_then(|entry| entry.part.as_mut()) {
            part.sent = sent;
        }
        match fault {
            Some(Fault::Length(from, count)) => self.fail_here(engine, now, op, other_length(from, count)),
            Some(Fault::Failed(error)) => self.failures.push((op, error)),
            None => {}
        }
        Ok(op)
    }
}
