//! A group of ranks that call collectives together: what this rank knows of the others' calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::agreement::Agreement;
use super::members::Members;
use crate::engine::Engine;
use crate::ids::Rank;

/// All ranks of a job, or a group of them.
pub(super) struct Team {
    pub(super) members: Arc<Members>,
    pub(super) agreement: Agreement,
    /// How many collectives and exchanges are under way; counted for groups only.
    pub(super) under_way: usize,
    /// Members that call no more collectives of a group, and how many they have called.
    pub(super) gone: BTreeMap<Rank, u64>,
    /// The program has dropped the group, so this rank calls no more of its collectives.
    pub(super) is_dropped: bool,
    /// The others have been told that.
    pub(super) has_left: bool,
}

impl Team {
    /// The team of `members`, of which this node is `rank` of the job.
    pub(super) fn new(members: Arc<Members>, rank: Rank) -> Self {
        Team {
            agreement: Agreement::new(rank),
            members,
            under_way: 0,
            gone: BTreeMap::new(),
            is_dropped: false,
            has_left: false,
        }
    }

    /// The same of a group, whose errors name it.
    pub(super) fn of_group(members: Arc<Members>, rank: Rank) -> Self {
        Team { agreement: Agreement::of_group(rank, members.clone()), ..Team::new(members, rank) }
    }

    /// Whether nothing can come any more that is meant for this group.
    pub(super) fn is_over(&self, engine: &Engine) -> bool {
        let is_gone = |rank: Rank| self.gone.contains_key(&rank) || engine.has_left(rank);
        self.is_dropped
            && self.has_left
            && self.under_way == 0
            && self.agreement.failure().is_none()
            && self.members.others().all(|(rank, _)| is_gone(rank))
    }
}
