//! How a call is carried out: the algorithm, chosen or asked for, and this rank's schedule for it. What was worked out
//! for a call is kept, since programs call the same again and again.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};

use crate::collective::choose::{Candidate, Choice, Prices};
use crate::collective::schedule::Schedule;
use crate::collective::{Algorithm, Call, CandidateReport, CollectiveReport};
use crate::cost::CostModel;
use crate::error::{Misuse, Result};
use crate::ids::Rank;
use crate::operation::Collective;
use crate::overrides::Overrides;

/// Plans that are kept.
const PLANS_MAX: usize = 256;
/// Overrides of before that are remembered.
const SET_ASIDE_MAX: usize = 64;

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
    overrides: Overrides,
    plans: HashMap<Call, Arc<Plan>>,
    /// Plans with other overrides of before.
    set_aside: BTreeMap<Overrides, HashMap<Call, Arc<Plan>>>,
    /// What was called, by size: a class of a factor of 2.
    used: BTreeMap<(Collective, u32), Used>,
}

/// Calls of one collective with about as many bytes.
struct Used {
    calls: u64,
    bytes: u64,
    choice: Arc<Choice>,
}

impl Planner {
    /// A planner with the prices of `model`, on which all ranks must agree.
    pub(crate) fn new(rank: Rank, model: CostModel, overrides: Overrides) -> Self {
        let (prices, plans) = (Prices::new(model), HashMap::new());
        Planner { rank, prices, overrides, plans, set_aside: BTreeMap::new(), used: BTreeMap::new() }
    }

    /// The plan for a call.
    ///
    /// # Errors
    /// [`Misuse::NoSuchRank`] if the root does not exist.
    pub(crate) fn plan(&mut self, call: &Call) -> Result<Arc<Plan>> {
        if let Some(plan) = self.plans.get(call) {
            let plan = plan.clone();
            self.count(call, &plan);
            return Ok(plan);
        }
        if call.root.0 >= call.ranks {
            return Err(Misuse::NoSuchRank { rank: self.rank, peer: call.root, size: call.ranks }.into());
        }
        let mut choice = self.prices.choose(call);
        if let Some(name) = self.overrides.of(call.collective) {
            choice.take_named(name);
            let candidate = &mut choice.candidates[choice.chosen];
            if let Some(window) =
                self.overrides.window_of(call.collective).filter(|_| candidate.algorithm.name() == name)
            {
                candidate.algorithm = candidate.algorithm.with_window(window);
                candidate.seconds = self.prices.seconds(call, candidate.algorithm).unwrap_or(candidate.seconds);
            }
        }
        let algorithm = choice.best().algorithm;
        let schedule = call.schedule(algorithm, self.rank).expect("a candidate carries out its call");
        let plan = Arc::new(Plan { algorithm, choice: Arc::new(choice), schedule: Arc::new(schedule) });
        if self.plans.len() == PLANS_MAX {
            self.plans.clear();
        }
        self.plans.insert(call.clone(), plan.clone());
        self.count(call, &plan);
        Ok(plan)
    }

    fn count(&mut self, call: &Call, plan: &Plan) {
        let bytes = call.blocks.longest().saturating_mul(call.element_bytes);
        let class = u64::BITS - bytes.leading_zeros();
        let new = || Used { calls: 0, bytes, choice: plan.choice.clone() };
        let used = self.used.entry((call.collective, class)).or_insert_with(new);
        used.calls += 1;
        used.bytes = bytes;
        if !Arc::ptr_eq(&used.choice, &plan.choice) {
            used.choice = plan.choice.clone();
        }
    }

    /// The cost model that prices are of.
    pub(crate) fn cost_model(&self) -> CostModel {
        *self.prices.cost_model()
    }

    /// From now on prices are those of `model`, on which all ranks must agree.
    pub(crate) fn adopt(&mut self, model: CostModel) {
        self.prices = Prices::new(model);
        self.plans.clear();
        self.set_aside.clear();
    }

    /// From now on these algorithms are used, on which all ranks must agree. Who goes to and fro between a few finds the
    /// plans of before.
    pub(crate) fn override_algorithms(&mut self, overrides: Overrides) {
        if overrides == self.overrides {
            return;
        }
        let plans = self.set_aside.remove(&overrides).unwrap_or_default();
        let before = std::mem::replace(&mut self.overrides, overrides);
        let plans = std::mem::replace(&mut self.plans, plans);
        if self.set_aside.len() == SET_ASIDE_MAX {
            self.set_aside.clear();
        }
        self.set_aside.insert(before, plans);
    }

    /// What was called so far, and how that was chosen.
    pub(crate) fn report(&self) -> Vec<CollectiveReport> {
        let report = |(&(collective, _), used): (&(Collective, u32), &Used)| {
            let price = |candidate: &Candidate| CandidateReport {
                algorithm: candidate.algorithm.to_string(),
                predicted_s: candidate.seconds,
            };
            let Used { calls, bytes, choice } = used;
            CollectiveReport {
                collective,
                bytes: *bytes,
                calls: *calls,
                algorithm: choice.best().algorithm.to_string(),
                candidates: choice.candidates.iter().map(price).collect(),
            }
        };
        self.used.iter().map(report).collect()
    }
}
