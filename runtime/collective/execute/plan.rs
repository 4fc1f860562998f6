//! How a call is carried out: the algorithm, chosen or forced, and this rank's schedule for it. What was worked out
//! for a call is kept, since programs call the same again and again.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};

use crate::collective::choose::{Choice, Prices};
use crate::collective::price::Machine;
use crate::collective::schedule::Schedule;
use crate::collective::{Algorithm, Call, Forced};
use crate::error::{Misuse, Result};
use crate::ids::Rank;

/// Plans that are kept.
const PLANS_MAX: usize = 256;

/// How a call is carried out on this rank.
pub(crate) struct Plan {
    pub(crate) algorithm: Algorithm,
    pub(crate) choice: Arc<Choice>,
    pub(crate) schedule: Arc<Schedule>,
}

/// Makes plans.
pub(crate) struct Planner {
    rank: Rank,
    prices: Prices,
    forced: Forced,
    plans: HashMap<Call, Arc<Plan>>,
}

impl Planner {
    /// A planner with the prices of `machine`, on which all ranks must agree.
    pub(crate) fn new(rank: Rank, machine: Machine, forced: Forced) -> Self {
        Planner { rank, prices: Prices::new(machine), forced, plans: HashMap::new() }
    }

    /// The plan for a call.
    ///
    /// # Errors
    /// [`Misuse::NoSuchRank`] if the root does not exist.
    pub(crate) fn plan(&mut self, call: &Call) -> Result<Arc<Plan>> {
        if let Some(plan) = self.plans.get(call) {
            return Ok(plan.clone());
        }
        if call.root.0 >= call.ranks {
            return Err(Misuse::NoSuchRank { rank: self.rank, peer: call.root, size: call.ranks }.into());
        }
        let mut choice = self.prices.choose(call);
        if let Some(name) = self.forced.of(call.collective) {
            choice.force(name);
        }
        let algorithm = choice.best().algorithm;
        let schedule = call.schedule(algorithm, self.rank).expect("a candidate carries out its call");
        let plan = Arc::new(Plan { algorithm, choice: Arc::new(choice), schedule: Arc::new(schedule) });
        if self.plans.len() == PLANS_MAX {
            self.plans.clear();
        }
        self.plans.insert(call.clone(), plan.clone());
        Ok(plan)
    }
}
