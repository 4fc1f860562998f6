//! How the ranks of a simulated job found groups.

use std::sync::Arc;

use super::calls::Line;
use super::world::{End, World};
use crate::buffer::Element;
use crate::collective::execute::{Members, Start, Typed};
use crate::collective::signature::Signature;
use crate::collective::{Algorithm, Call};
use crate::collective::{Blocks, Prepared, allgather};
use crate::engine::OpId;
use crate::error::Error;
use crate::ids::Rank;
use crate::operation::Collective;

impl World {
    /// Begins what line `at` does to found a group; `None` if this rank takes no part.
    pub(super) fn found(
        &mut self,
        rank: usize,
        at: usize,
        members: &[u32],
        parent: Option<usize>,
        by_parent: bool,
    ) -> Option<Result<OpId, Error>> {
        let (now, size) = (self.now(), self.nodes.len());
        let node = &mut self.nodes[rank];
        let place = members.iter().position(|member| *member == rank as u32);
        let (parent, of_parent) = match parent {
            Some(parent) if by_parent => node.groups.get(&parent).cloned()?,
            // The group may be dropped by now: what is founded needs no more of it than its name.
            Some(parent) => (0, node.parents.get(&parent).cloned()?),
            None => (0, Arc::new(Members::of_job(Rank(rank as u32), size as u32))),
        };
        if place.is_none() && !by_parent {
            return None;
        }
        let number = place.map_or(0, |_| node.collectives.reserve());
        node.reserved.insert(at, number);
        let (own, size) = match by_parent {
            true => (of_parent.own(), of_parent.size()),
            false => (Rank(place? as u32), members.len() as u32),
        };
        let schedule: Arc<Prepared> = allgather::bruck::schedule(own, size, &Blocks::Equal(1)).into();
        let mut all = vec![0u64; size as usize];
        all[own.index()] = number.into();
        let work = Box::new(Typed::new(&schedule, Vec::new(), all, None, |_, all: Vec<u64>| all));
        Some(if by_parent {
            let call = Call::new(Collective::Allgather, size, 1, 8);
            let signature = Some(Signature::new(&call, Algorithm::Bruck, u64::TYPE, ""));
            let start = Start { group: parent, schedule, signature, work, timed: None };
            node.collectives.start(&mut node.engine, now, start)
        } else {
            let start = Start { group: number, schedule, signature: None, work, timed: None };
            let ranks = members.iter().copied().map(Rank).collect();
            let (members, key) = Members::founding(own, ranks, of_parent.identity());
            node.collectives.found(&mut node.engine, now, start, (members.into(), key))
        })
    }

    /// Line `at` has ended: its members know each other's numbers.
    pub(super) fn establish(&mut self, rank: usize, at: usize) {
        let (now, node) = (self.now(), &mut self.nodes[rank]);
        let (Line::Found { members, parent, by_parent }, End::Done(all)) = (&node.program[at], &node.ends[at]) else {
            return;
        };
        let Some(own) = members.iter().position(|member| *member == rank as u32) else { return };
        let job = Members::of_job(Rank(rank as u32), node.size);
        let of_parent = parent.and_then(|parent| node.parents.get(&parent)).map_or(&job, |members| members);
        let place = |(at, member): (usize, &u32)| match by_parent {
            true => of_parent.find(Rank(*member)).expect("a member of the parent").index(),
            false => at,
        };
        let numbers: Vec<u32> = members.iter().enumerate().map(|member| all[place(member)] as u32).collect();
        let ranks = members.iter().copied().map(Rank).collect();
        let members = Arc::new(Members::new(Rank(own as u32), ranks, numbers, of_parent.identity()));
        let number = node.reserved[&at];
        node.groups.insert(at, (number, members.clone()));
        node.parents.insert(at, members.clone());
        node.collectives.establish(&mut node.engine, now, number, members);
        self.settle(rank);
    }
}
