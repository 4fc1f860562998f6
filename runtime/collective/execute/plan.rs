//! How a call is carried out: the algorithm, chosen or asked for, and this rank's schedule for it. What was worked out
//! for a call is kept, since programs call the same again and again.

mod outcome;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use foldhash::{HashMap, HashMapExt};
use parking_lot::Mutex;

use super::timing::{Timed, Timing};
use crate::buffer::ElementType;
use crate::collective::calibration::{
    Calibration, Due, ENTRIES_MAX, Exchanged, Key, Line, Observed, SHORT_CALL_S, Way,
};
use crate::collective::choose::{Candidate, Choice, Prices, Sequence};
use crate::collective::prepared::Prepared;
use crate::collective::signature::Signature;
use crate::collective::{Algorithm, Call, CandidateReport, ChangeReport, CollectiveReport};
use crate::cost::CostModel;
use crate::ids::Rank;
use crate::operation::Collective;
use crate::overrides::Overrides;

/// Plans that are kept.
const PLANS_MAX: usize = 256;
/// Overrides of before that are remembered.
const SET_ASIDE_MAX: usize = 64;
/// Changes that are reported.
const CHANGES_MAX: usize = 64;
/// The most calls by which ranks are taken to be apart.
const APART_MAX: u64 = 256;

/// How a call is carried out on this rank.
pub(crate) struct Plan {
    pub(crate) algorithm: Algorithm,
    pub(crate) choice: Arc<Choice>,
    pub(crate) schedule: Arc<Prepared>,
    /// Where the time of each call goes.
    pub(crate) timed: Timed,
    /// Of the first call by this plan.
    signature: OnceLock<Signature>,
    apart: Apart,
    /// It was made to try the algorithm.
    is_trial: bool,
}

impl Plan {
    /// The signature of `call`, for which this plan is, with elements of this type and an operator of this name, or none.
    pub(crate) fn signature(&self, call: &Call, element: ElementType, operator: &str) -> Signature {
        let new = || Signature::new(call, self.algorithm, element, operator);
        let first = self.signature.get_or_init(new);
        if first.is_of(element, operator) { *first } else { new() }
    }
}

/// How far ranks are apart in calls with a root: who sends runs ahead.
#[derive(Clone, Copy)]
struct Apart {
    /// By so many calls one rank can be ahead of another until an exchange with them has ended.
    calls: u64,
    /// What each call costs then.
    each_s: f64,
}

/// What becomes of a call.
pub(crate) enum Planned {
    /// It is carried out so. `exchanges`: ranks are to exchange what they have observed, beside it.
    Now { plan: Arc<Plan>, exchanges: bool },
    /// An exchange decides how, which has not ended yet.
    Later,
}

/// The prices of one model, for all groups that go by it: they are long to work out.
pub(crate) type KnownPrices = Arc<Mutex<Prices>>;

/// Makes plans.
pub(crate) struct Planner {
    rank: Rank,
    prices: KnownPrices,
    overrides: Overrides,
    plans: HashMap<Call, Arc<Plan>>,
    /// Plans with other overrides of before.
    set_aside: BTreeMap<Overrides, HashMap<Call, Arc<Plan>>>,
    /// What was called, by size: a class of a factor of 2.
    used: BTreeMap<Key, Used>,
    /// `None` if the cost model and the selection do not follow what is observed.
    calibration: Option<Calibration>,
    changes: Vec<ChangeReport>,
    /// Packets lost up to the last exchange.
    losses: u64,
}

/// Calls of one collective with about as many bytes.
struct Used {
    calls: u64,
    /// Of them since the last exchange.
    recent: u64,
    bytes: u64,
    /// One of them.
    call: Call,
    choice: Arc<Choice>,
    apart: Apart,
    timing: Arc<Timing>,
    /// The time that ranks have agreed on at the last exchange.
    observed_s: Option<f64>,
}

impl Planner {
    /// A planner with the prices of `model`, on which all ranks must agree. `calibrates`: the model and the selection follow
    /// what ranks observe.
    pub(crate) fn new(rank: Rank, model: CostModel, overrides: Overrides, calibrates: bool) -> Self {
        let prices = Arc::new(Mutex::new(Prices::new(model)));
        Planner { calibration: calibrates.then(Calibration::new), ..Planner::with_prices(rank, prices, overrides) }
    }

    /// A planner that follows nothing, with prices that others work out too.
    pub(crate) fn with_prices(rank: Rank, prices: KnownPrices, overrides: Overrides) -> Self {
        Planner {
            rank,
            prices,
            overrides,
            plans: HashMap::new(),
            set_aside: BTreeMap::new(),
            used: BTreeMap::new(),
            calibration: None,
            changes: Vec::new(),
            losses: 0,
        }
    }

    /// The plan for the next call, whose root exists.
    pub(crate) fn next(&mut self, call: &Call) -> Planned {
        if let Some(calibration) = self.calibration.as_mut().filter(|_| !is_outward(call)) {
            match calibration.due() {
                Due::Nothing => {}
                Due::Exchange => return Planned::Later,
                Due::Result(outcome) => self.adopt_outcome(&outcome, call.ranks),
            }
        }
        if self.calibration.as_mut().is_some_and(|calibration| calibration.follows(call.has_root())) {
            self.resequence();
        }
        let plan = self.plan(call);
        let exchanges = self.exchanges(call, &plan);
        Planned::Now { plan, exchanges }
    }

    /// Counts the call. Returns whether an exchange is to begin with it.
    fn exchanges(&mut self, call: &Call, plan: &Plan) -> bool {
        let may_exchange = self.may_exchange(call, plan.apart);
        let Some(calibration) = &mut self.calibration else { return false };
        if plan.is_trial {
            calibration.hastens(key(call));
        }
        let exchanges = calibration.counts() && may_exchange;
        if exchanges {
            calibration.lags(plan.apart.calls);
        }
        exchanges
    }

    /// Whether exchanges go with such calls. With a root ranks run ahead of each other, and an exchange stops them: where that costs
    /// much, it goes with other calls. A root never waits for those that it sends to.
    fn may_exchange(&self, call: &Call, apart: Apart) -> bool {
        !call.has_root() || (!is_outward(call) && apart.each_s > SHORT_CALL_S)
    }

    /// How calls of this kind follow each other.
    fn sequence(&self, call: &Call) -> Sequence {
        let of_rooted = self.calibration.as_ref().map_or(Sequence::Single, Calibration::sequence);
        if call.has_root() { of_rooted } else { Sequence::Single }
    }

    /// Calls with a root follow each other otherwise than before.
    fn resequence(&mut self) {
        self.plans.retain(|call, _| !call.has_root());
        self.set_aside.clear();
        for used in self.used.values_mut().filter(|used| used.call.has_root()) {
            used.timing = Arc::default();
        }
    }

    /// How far ranks are apart in such calls.
    fn apart(&self, call: &Call, Candidate { algorithm, seconds }: Candidate) -> Apart {
        if self.sequence(call) == Sequence::Single {
            return Apart { calls: 1, each_s: seconds };
        }
        let mut prices = self.prices.lock();
        let each_s = prices.one_more(call, algorithm).unwrap_or(seconds);
        let rounds = f64::from(call.ranks.max(2).ilog2() + 1);
        let single_s = prices.seconds(call, algorithm).unwrap_or(seconds);
        let all_s = single_s + rounds * prices.cost_model().exchange_fixed();
        Apart { calls: ((all_s / each_s.max(1e-9)).ceil() as u64).clamp(1, APART_MAX), each_s }
    }

    /// How a call is carried out, without that it is made.
    fn plan(&mut self, call: &Call) -> Arc<Plan> {
        if let Some(plan) = self.plans.get(call) {
            let plan = plan.clone();
            self.count(call, &plan);
            return plan;
        }
        let key = key(call);
        let sequence = self.sequence(call);
        let mut choice = self.prices.lock().choose_in(sequence, call);
        let decision = self.calibration.as_ref().and_then(|calibration| calibration.decision(key));
        if let Some(place) = decision.and_then(|way| place_of(&choice, way)) {
            choice.chosen = place;
        }
        if let Some(name) = self.overrides.of(call.collective) {
            choice.take_named(name);
            let candidate = &mut choice.candidates[choice.chosen];
            if let Some(window) =
                self.overrides.window_of(call.collective).filter(|_| candidate.algorithm.name() == name)
            {
                candidate.algorithm = candidate.algorithm.with_window(window);
                candidate.seconds =
                    self.prices.lock().seconds_in(sequence, call, candidate.algorithm).unwrap_or(candidate.seconds);
            }
        }
        let Candidate { algorithm, seconds: predicted_s } = choice.best();
        let schedule = call.schedule(algorithm, self.rank).expect("a candidate carries out its call");
        let (choice, apart) = (Arc::new(choice), self.apart(call, Candidate { algorithm, seconds: predicted_s }));
        self.note_change(call, &choice);
        let used = self.used.entry(key).or_insert_with(|| Used {
            calls: 0,
            recent: 0,
            bytes: 0,
            call: call.clone(),
            choice: choice.clone(),
            apart,
            timing: Arc::default(),
            observed_s: None,
        });
        // Ranks that send to a root are done before it is, or wait until it has done what was before.
        let is_told = !matches!(call.collective, Collective::Gather | Collective::Reduce) || call.root == self.rank;
        let timing = if is_told { used.timing.clone() } else { Arc::default() };
        let timed = Timed { timing, predicted_s };
        let is_trial = self.calibration.as_ref().is_some_and(|calibration| calibration.is_on_trial(key));
        let plan = Arc::new(Plan {
            algorithm,
            choice,
            schedule: schedule.into(),
            timed,
            signature: OnceLock::new(),
            apart,
            is_trial,
        });
        if self.plans.len() == PLANS_MAX {
            self.plans.clear();
        }
        self.plans.insert(call.clone(), plan.clone());
        self.count(call, &plan);
        plan
    }

    /// A call is planned by another algorithm than those of its size before: their times are not its own.
    fn note_change(&mut self, call: &Call, choice: &Choice) {
        let Some(used) = self.used.get_mut(&key(call)) else { return };
        let (before, now) = (used.choice.best(), choice.best());
        if Way::of(&before.algorithm) == Way::of(&now.algorithm) {
            return;
        }
        used.timing = Arc::default();
        let from_observed_s = used.observed_s.take();
        let Some(calibration) = self.calibration.as_ref().filter(|_| self.changes.len() < CHANGES_MAX) else { return };
        self.changes.push(ChangeReport {
            call: calibration.calls() + 1,
            collective: call.collective,
            bytes: bytes(call),
            from: before.algorithm.to_string(),
            from_observed_s,
            to: now.algorithm.to_string(),
            predicted_s: now.seconds,
            observed_s: None,
        });
    }

    fn count(&mut self, call: &Call, plan: &Plan) {
        let Some(used) = self.used.get_mut(&key(call)) else { return };
        used.calls += 1;
        used.recent += 1;
        used.bytes = bytes(call);
        if !Arc::ptr_eq(&used.choice, &plan.choice) {
            (used.choice, used.apart) = (plan.choice.clone(), plan.apart);
        }
    }

    /// The cost model that prices are of.
    pub(crate) fn cost_model(&self) -> CostModel {
        *self.prices.lock().cost_model()
    }

    /// The prices, as far as they are worked out, and the algorithms that are asked for.
    pub(crate) fn terms(&self) -> (KnownPrices, Overrides) {
        (self.prices.clone(), self.overrides.clone())
    }

    /// From now on prices are those of `model`, on which all ranks must agree, and nothing is decided by what is observed:
    /// the program knows better.
    pub(crate) fn adopt(&mut self, model: CostModel) {
        self.calibration = None;
        self.reprice(model);
    }

    /// From now on links are those of this line, on which all ranks have agreed.
    pub(crate) fn adopt_line(&mut self, a_s: f64, b_s_per_byte: f64) {
        self.reprice(self.cost_model().with_link(a_s, b_s_per_byte));
        if let Some(calibration) = &mut self.calibration {
            calibration.adopts(Line { a_s: Some(a_s), b_s_per_byte: Some(b_s_per_byte) });
        }
    }

    fn reprice(&mut self, model: CostModel) {
        self.prices = Arc::new(Mutex::new(Prices::new(model)));
        self.plans.clear();
        self.set_aside.clear();
        // Times are in proportion to predictions, which have changed.
        self.used.values_mut().for_each(|used| used.timing = Arc::default());
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

    /// The line of the links, if it was learnt.
    pub(crate) fn learnt(&self) -> Option<(f64, f64)> {
        self.calibration.as_ref()?.line()
    }

    /// An exchange begins, with what this rank has observed of its links: their line, TCP's delay, what an earlier job has left, and
    /// packets lost so far. Returns the
    /// number of the collective that it goes with, this rank's contribution, and where all of them go.
    pub(crate) fn exchange(
        &mut self,
        line: Line,
        delay_s: Option<f64>,
        remembered: Line,
        losses: u64,
    ) -> Option<(u64, Vec<f64>, Exchanged)> {
        let calibration = self.calibration.as_mut()?;
        let shares_cores = self.prices.lock().cost_model().shares_cores();
        let recent = self.used.iter_mut().filter(|(_, used)| used.recent > 0);
        let recent: Vec<(Key, Option<f64>)> = recent
            .take(ENTRIES_MAX)
            .map(|(key, used)| (*key, used.timing.ratio(shares_cores || used.call.has_root())))
            .collect();
        self.used.values_mut().for_each(|used| used.recent = 0);
        let (keys, ratios) = recent.into_iter().unzip();
        let (number, result) = (calibration.calls() - 1, calibration.begins(keys));
        let before = std::mem::replace(&mut self.losses, losses);
        let losses = losses.saturating_sub(before);
        Some((number, Observed { line, delay_s, remembered, losses, ratios }.encode(), result))
    }

    /// What was called so far, and how that was chosen.
    pub(crate) fn report(&self) -> (Vec<CollectiveReport>, Vec<ChangeReport>) {
        let report = |(&(collective, _), used): (&Key, &Used)| {
            let price = |candidate: &Candidate| CandidateReport {
                algorithm: candidate.algorithm.to_string(),
                predicted_s: candidate.seconds,
            };
            let Used { calls, bytes, choice, .. } = used;
            CollectiveReport {
                collective,
                bytes: *bytes,
                calls: *calls,
                algorithm: choice.best().algorithm.to_string(),
                candidates: choice.candidates.iter().map(price).collect(),
            }
        };
        (self.used.iter().map(report).collect(), self.changes.clone())
    }
}

/// Whether its root is the first that is done.
fn is_outward(call: &Call) -> bool {
    matches!(call.collective, Collective::Broadcast | Collective::Scatter)
}

fn key(call: &Call) -> Key {
    (call.collective, class(bytes(call)))
}

/// Sizes within a factor of 2.
fn class(bytes: u64) -> u32 {
    u64::BITS - bytes.leading_zeros()
}

fn bytes(call: &Call) -> u64 {
    call.blocks.longest().saturating_mul(call.element_bytes)
}

fn place_of(choice: &Choice, way: Way) -> Option<usize> {
    choice.candidates.iter().position(|candidate| Way::of(&candidate.algorithm) == way)
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
