//! Groups in the kernel: how one is founded, and that it is dropped.

use std::sync::Arc;

use super::collectives::peers;
use super::completion::{Chosen, OfCollective};
use super::shared::SharedCompletion;
use super::team::Terms;
use super::{Kernel, Team};
use crate::collective::execute::{Members, Start};
use crate::error::Result;
use crate::operation::Operation;
use crate::wire::frame::MatchKey;

impl Kernel {
    /// A number by which the others name a group to this rank: from now on, what comes for it is kept.
    pub(crate) fn reserve_group(&self) -> u32 {
        self.lock().collectives.reserve()
    }

    /// Begins what the ranks that found a group do by themselves.
    pub(crate) fn found(
        &self,
        operation: Operation,
        start: Start,
        (members, key): (Arc<Members>, MatchKey),
    ) -> Result<SharedCompletion> {
        let of = OfCollective::new(peers(&start.schedule, &members), Chosen::Nothing);
        self.post_collective(operation, of, (false, None), |core, now| {
            core.collectives.found(&mut core.engine, now, start, (members, key))
        })
    }

    /// A group is founded: its members know each other.
    pub(crate) fn establish_group(&self, number: u32, members: Members, terms: Terms) -> Arc<Team> {
        let members = Arc::new(members);
        let team = Team::of_group(number, members.clone(), terms);
        self.intervene(|core| core.collectives.establish(&mut core.engine, self.clock.now(), number, members));
        Arc::new(team)
    }

    /// The program needs a group no more.
    pub(crate) fn release_group(&self, number: u32) {
        let may_fail = std::thread::panicking() || self.noted_failure().is_some();
        let mut core = self.lock();
        if may_fail {
            core.collectives.hold(number)
        } else {
            core.collectives.release(number)
        }
        if self.task_may_move() {
            core.flush()
        } else {
            core.hand_on()
        }
        self.unlock(core);
    }
}
