//! The ranks of a job, or a group of them, as this rank's program calls their collectives: who calls, and how a call is carried out.

use std::sync::Arc;

use parking_lot::Mutex;

use super::callers::Callers;
use crate::collective::execute::{KnownPrices, Members, Planner};
use crate::cost::{CostModel, Hosts};
use crate::error::{Misuse, Result};
use crate::ids::Rank;
use crate::overrides::Overrides;

pub(crate) struct Team {
    /// This rank's number of the group; 0 for the whole job.
    pub(crate) number: u32,
    pub(crate) members: Arc<Members>,
    pub(super) callers: Callers,
    pub(super) planner: Mutex<Planner>,
}

/// How calls are planned.
pub(crate) struct Terms {
    pub(crate) model: CostModel,
    overrides: Overrides,
    /// Prices of this model or another, as far as this rank has worked them out.
    known: KnownPrices,
}

impl Team {
    /// All ranks of a job.
    pub(super) fn of_job(rank: Rank, size: u32, planner: Planner) -> Self {
        let members = Arc::new(Members::of_job(rank, size));
        Team { number: 0, members, callers: Callers::default(), planner: Mutex::new(planner) }
    }

    /// A group, which this thread has founded. Its algorithms are selected by `terms`, on which its members must agree.
    pub(super) fn of_group(number: u32, members: Arc<Members>, terms: Terms) -> Self {
        let Terms { model, overrides, known } = terms;
        let model = CostModel { hosts: model.hosts.and_then(|hosts| among(hosts, members.ranks())), ..model };
        let is_known = *known.lock().cost_model() == model;
        let planner = match is_known {
            true => Planner::with_prices(members.own(), known, overrides),
            false => Planner::new(members.own(), model, overrides, false),
        };
        let callers = Callers::default();
        callers.begin();
        Team { number, members, callers, planner: Mutex::new(planner) }
    }

    pub(crate) fn is_job(&self) -> bool {
        self.number == 0
    }

    /// Declares that the program orders the calls of several threads itself.
    pub(crate) fn declare_serialized(&self) {
        self.callers.declare_serialized();
    }

    /// How calls are planned now.
    pub(crate) fn terms(&self) -> Terms {
        let (known, overrides) = self.planner.lock().terms();
        let model = *known.lock().cost_model();
        Terms { model, overrides, known }
    }

    /// Whether there is such a member, as this `rank` of the job calls it.
    ///
    /// # Errors
    /// [`Misuse::NoSuchRank`] or, in a group, [`Misuse::Group`].
    pub(crate) fn check(&self, rank: Rank, member: Rank) -> Result<()> {
        let size = self.members.size();
        match member.0 < size {
            true => Ok(()),
            false if self.is_job() => Err(Misuse::NoSuchRank { rank, peer: member, size }.into()),
            false => {
                let why = format!("rank {member} does not exist in {}; it has ranks 0 to {}", self.members, size - 1);
                Err(Misuse::Group { rank, why }.into())
            }
        }
    }
}

/// Where the ranks of a group are, if they are on hosts with as many of them each, one after the other.
fn among(hosts: Hosts, ranks: &[Rank]) -> Option<Hosts> {
    let places: Vec<u32> = ranks.iter().map(|rank| hosts.host(rank.0)).collect();
    per_host(&places).map(|ranks| Hosts { ranks, ..hosts })
}

/// How many ranks each host has, by the hosts of all ranks, if each has as many, one host after the other.
pub(super) fn per_host<H: Ord + Copy>(places: &[H]) -> Option<u32> {
    let first = *places.first()?;
    let ranks = places.iter().take_while(|place| **place == first).count();
    let mut hosts: Vec<H> = places.chunks(ranks).map(|host| host[0]).collect();
    let is_even = places.chunks(ranks).all(|host| host.iter().all(|place| *place == host[0]));
    let count = hosts.len();
    hosts.sort_unstable();
    hosts.dedup();
    (is_even && hosts.len() == count).then_some(ranks as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_on_hosts_one_after_the_other_or_anywhere() {
        let among = |ranks: &[u32]| {
            let ranks: Vec<Rank> = ranks.iter().copied().map(Rank).collect();
            super::among(Hosts::of(4), &ranks).map(|hosts| hosts.ranks)
        };
        assert_eq!(among(&[0, 1, 2, 3]), Some(4), "all on one host");
        assert_eq!(among(&[0, 4, 8]), Some(1), "one on each");
        assert_eq!(among(&[0, 1, 4, 5]), Some(2));
        assert_eq!(among(&[0, 1, 4, 8]), None);
        assert_eq!(among(&[0, 4, 1, 5]), None, "not one host after the other");
        assert_eq!(among(&[7]), Some(1));
    }
}
