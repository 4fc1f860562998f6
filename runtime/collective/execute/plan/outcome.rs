//! What an exchange of observations has shown, and what follows: prices, and which algorithm is selected or tried next.

use super::{Planner, class, place_of};
use crate::collective::calibration::{Calibration, Key, LONG_CALL_S, Line, Outcome, Way};
use crate::collective::choose::{Sequence, converging};
use crate::cost::{CostModel, Queue};

/// A collective with losses that takes so many times its predicted time has overflown a queue.
const OVERFLOWN: f64 = 2.0;
/// A queue is taken to hold this at least: less than TCP sends at once.
const QUEUE_BYTES_MIN: f64 = 16_384.0;

impl Planner {
    /// Takes over what an exchange has shown.
    pub(super) fn adopt_outcome(&mut self, outcome: &Outcome, ranks: u32) {
        let Outcome { line, losses, ref ratios, .. } = *outcome;
        for &(key, ratio) in ratios {
            self.note_observed(key, ratio);
        }
        let queue = ratios.iter().filter_map(|&(key, ratio)| self.overflown(key, ratio?, ranks));
        let queue = queue.filter(|_| losses > 0.0).min_by(|one, other| one.bytes.total_cmp(&other.bytes));
        let has_new_prices = line != Line::default() || queue.is_some();
        if has_new_prices {
            let model = self.cost_model();
            let a_s = line.a_s.unwrap_or(model.exchange_fixed());
            let model = model.with_link(a_s, line.b_s_per_byte.unwrap_or(model.node.per_byte));
            self.reprice(CostModel { queue: queue.or(model.queue), ..model });
        }
        let (mut has_changed, mut is_long) = (has_new_prices, false);
        let is_first = self.calibration.as_mut().is_some_and(Calibration::takes_first_prices);
        let prices = match has_new_prices {
            true if is_first => News::First,
            true => News::Others,
            false => News::Same,
        };
        for &(key, _) in ratios {
            has_changed |= self.decide(key, prices, losses > 0.0);
            let observed_s = self.used.get(&key).and_then(|used| used.observed_s);
            is_long |= observed_s.is_some_and(|seconds| seconds > LONG_CALL_S);
        }
        if let Some(calibration) = &mut self.calibration {
            calibration.decided(has_changed, is_long);
        }
    }

    fn note_observed(&mut self, key: Key, ratio: Option<f64>) {
        let Some(used) = self.used.get_mut(&key) else { return };
        let best = used.choice.best();
        used.observed_s = ratio.map(|ratio| ratio * best.seconds).or(used.observed_s);
        let change =
            self.changes.iter_mut().rev().find(|change| class(change.bytes) == key.1 && change.collective == key.0);
        if let Some(change) = change.filter(|change| change.to == best.algorithm.to_string()) {
            change.observed_s = change.observed_s.or(used.observed_s);
        }
    }

    /// Ranks have agreed on the time of a collective. Returns whether its algorithm changes, or is on trial.
    fn decide(&mut self, key: Key, prices: News, has_losses: bool) -> bool {
        // What the program asks for is not decided on.
        let is_free = self.overrides.of(key.0).is_none();
        let ranks_per_core = self.cost_model().ranks_per_core;
        let Some((sequence, tries)) = self.used.get(&key).map(|used| {
            let sequence = self.sequence(&used.call);
            let may_exchange = self.may_exchange(&used.call, used.apart);
            (sequence, sequence == Sequence::Single || may_exchange)
        }) else {
            return false;
        };
        let Some(calibration) = self.calibration.as_mut().filter(|_| is_free) else { return false };
        let Some(used) = self.used.get(&key) else { return false };
        let settled = used
            .observed_s
            .filter(|seconds| calibration.is_settled(used.calls, *seconds, used.choice.best().seconds, ranks_per_core));
        if settled.is_none() && prices == News::Same {
            return false;
        }
        let mut choice = self.prices.lock().choose_in(sequence, &used.call);
        let cheapest = choice.chosen;
        choice.chosen = place_of(&choice, Way::of(&used.choice.best().algorithm)).unwrap_or(choice.chosen);
        let history = calibration.history(key);
        let changes = match settled {
            Some(seconds) => history.observes(&choice, (seconds, used.bytes), used.calls, has_losses, tries).is_some(),
            None => history.reprices(&choice, cheapest, prices == News::First),
        };
        let is_on_trial = history.is_on_trial();
        if changes {
            self.plans.retain(|call, _| super::key(call) != key);
            self.set_aside.clear();
        }
        changes || is_on_trial
    }

    /// The queue that was too short for what a collective sends to one rank at once, if it took as long as if there were
    /// one: it took `ratio` times its predicted time, and packets were lost.
    fn overflown(&self, key: Key, ratio: f64, ranks: u32) -> Option<Queue> {
        let used = self.used.get(&key).filter(|_| ratio > OVERFLOWN)?;
        let best = used.choice.best();
        let senders = converging(key.0, best.algorithm, ranks);
        let bytes = (f64::from(senders) * used.bytes as f64 / 2.0).max(QUEUE_BYTES_MIN);
        let known = self.cost_model().queue;
        let is_news = senders > 1 && known.is_none_or(|known| bytes < known.bytes);
        let timeout = (ratio - 1.0) * best.seconds;
        is_news.then_some(Queue { bytes, gap_ratio: 1.0, timeout })
    }
}

/// What an exchange says of prices.
#[derive(Clone, Copy, PartialEq, Eq)]
enum News {
    Same,
    Others,
    /// The first that follow from what messages of this job cost.
    First,
}
