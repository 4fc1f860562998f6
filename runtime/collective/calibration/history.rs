//! Which algorithm a collective of one size takes, from what was observed of those that were tried.
//!
//! The expected time of an algorithm is what was observed of it; of one that was not tried its predicted time, times
//! observed over predicted of the one in use. So what is wrong for all predictions alike decides nothing. Another algorithm is
//! taken if its expected time is lower by a margin. The margin is greater for one that was not tried, the more the
//! predictions are wrong, and after each change, so that two that are equally good do not alternate. One that was not
//! tried is tried if that is expected to cost little of the time so far, and more and more rarely, so that a wrong
//! prediction is found out.

use std::collections::BTreeMap;

use crate::collective::Algorithm;
use crate::collective::choose::{Candidate, Choice};

/// A call that takes longer is decided by at once.
pub(crate) const LONG_CALL_S: f64 = 10e-3;
/// The margin by which another algorithm must be better: one that was not tried, and one that was.
const MARGIN_UNTRIED: f64 = 0.08;
const MARGIN_TRIED: f64 = 0.1;
/// What predictions that are all wrong add to it for one that was not tried.
const MARGIN_WRONG: f64 = 0.4;
/// What each change adds to it.
const MARGIN_MORE: f64 = 0.02;
const MARGIN_MAX: f64 = 0.5;
/// The same where there is nothing but prices.
const MARGIN_PRICE: f64 = 0.15;
/// The calls of a trial that is given up at once, of calls that are not long, and of a trial that is not; and by how much what is given
/// up takes longer.
const TRIAL_CALLS: u64 = 3;
const TRIAL_CALLS_SHORT: u64 = 5;
const TRIAL_CALLS_MAX: u64 = 10;
const TRIAL_IN_VAIN: f64 = 1.25;
/// The part of the time so far that trials may cost: where predictions are right, and what is added where they are wrong.
const TRIAL_COST: f64 = 0.02;
const TRIAL_COST_WRONG: f64 = 0.03;
/// A trial is taken to cost this part of the time of its calls at least: the prediction may be wrong.
const TRIAL_RISK: f64 = 1.0;
/// However long the job, no trial takes so many times as long.
const TRIAL_MAX: f64 = 5.0;
/// Packets were lost and the time is so many times the predicted one: that is no error of all predictions.
const HELD_UP: f64 = 2.0;

/// An algorithm, whatever its segments: its name, and whether it has all rounds in progress at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Way {
    name: &'static str,
    is_at_once: bool,
}

impl Way {
    pub(crate) fn of(algorithm: &Algorithm) -> Self {
        let is_at_once = matches!(algorithm, Algorithm::Pairwise { window: 0 });
        Way { name: algorithm.name(), is_at_once }
    }
}

/// What is known of one collective of one size.
#[derive(Debug, Default)]
pub(crate) struct History {
    way: Option<Way>,
    /// Observed times, in seconds, and the bytes of such a call.
    tried: BTreeMap<Way, (f64, u64)>,
    changes: u32,
    /// The trial under way: what a call took before it, and the calls then.
    on_trial: Option<(f64, u64)>,
    /// What trials have cost so far, in seconds.
    spent_s: f64,
}

/// Why the algorithm changes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Decision {
    /// The place among the candidates.
    pub(crate) place: usize,
    pub(crate) expected_s: f64,
}

impl History {
    /// The algorithm that was decided on.
    pub(crate) fn way(&self) -> Option<Way> {
        self.way
    }

    /// Whether the time of an algorithm was observed.
    pub(crate) fn has_tried(&self) -> bool {
        !self.tried.is_empty()
    }

    /// Whether an algorithm is on trial.
    pub(crate) fn is_on_trial(&self) -> bool {
        self.on_trial.is_some()
    }

    /// Prices are new, and what was observed decides nothing: the one in use stays, unless the price of the one at the place
    /// `cheapest` is lower by more than prices of short calls vary, or at all where the prices are the `first` of links that
    /// were observed. Returns whether it changes.
    pub(crate) fn reprices(&mut self, choice: &Choice, cheapest: usize, first: bool) -> bool {
        let cheapest = choice.candidates[cheapest];
        let margin = if first { 0.0 } else { MARGIN_PRICE };
        let changes = cheapest.seconds < (1.0 - margin) * choice.best().seconds;
        let taken = if changes { cheapest.algorithm } else { choice.best().algorithm };
        self.way = Some(Way::of(&taken));
        changes
    }

    /// The one in use took `seconds` for calls of `bytes` bytes, over `calls` calls so far. Returns another, if it is to be
    /// taken. `has_losses`: packets were lost meanwhile. `tries`: there will be another exchange, so that a trial ends.
    pub(crate) fn observes(
        &mut self,
        choice: &Choice,
        (seconds, bytes): (f64, u64),
        calls: u64,
        has_losses: bool,
        tries: bool,
    ) -> Option<Decision> {
        let used = Way::of(&choice.best().algorithm);
        // Few calls after a change are surer together with those of before.
        let scaled = |&(before, then): &(f64, u64)| before * bytes.max(1) as f64 / then.max(1) as f64;
        let seconds = self.tried.get(&used).map_or(seconds, |before| (seconds + scaled(before)) / 2.0);
        self.tried.insert(used, (seconds, bytes));
        let trial_calls = if seconds > LONG_CALL_S { TRIAL_CALLS } else { TRIAL_CALLS_SHORT };
        if let Some((before_s, since)) = self.on_trial {
            let so_far = calls.saturating_sub(since);
            let is_sure = seconds > LONG_CALL_S || so_far >= TRIAL_CALLS_MAX || seconds > TRIAL_IN_VAIN * before_s;
            if !is_sure {
                return None;
            }
            self.spent_s += so_far as f64 * (seconds - before_s).max(0.0);
            self.on_trial = None;
        }
        let ratio = seconds / choice.best().seconds;
        let of_others = if has_losses && ratio > HELD_UP { 1.0 } else { ratio };
        let expected = |candidate: &Candidate| match self.tried.get(&Way::of(&candidate.algorithm)) {
            Some(tried) => scaled(tried),
            None => candidate.seconds * of_others,
        };
        let now_s = expected(&choice.best());
        let wrong = 1.0 - of_others.min(1.0 / of_others);
        let margin = |candidate: &Candidate| {
            let is_tried = self.tried.contains_key(&Way::of(&candidate.algorithm));
            let margin = if is_tried { MARGIN_TRIED } else { MARGIN_UNTRIED + MARGIN_WRONG * wrong };
            (margin + MARGIN_MORE * f64::from(self.changes)).min(MARGIN_MAX)
        };
        let others = || choice.candidates.iter().enumerate().filter(|(place, _)| *place != choice.chosen);
        let better = others().filter(|(_, other)| expected(other) < (1.0 - margin(other)) * now_s);
        let by_time = |one: &(usize, &Candidate), other: &(usize, &Candidate)| {
            expected(one.1).total_cmp(&expected(other.1)).then(one.0.cmp(&other.0))
        };
        let best = better.min_by(by_time).map(|(place, other)| Decision { place, expected_s: expected(other) });
        let trial = || {
            if !tries {
                return None;
            }
            let untried = others().filter(|(_, other)| !self.tried.contains_key(&Way::of(&other.algorithm)));
            let (place, other) = untried.min_by(by_time)?;
            let expected_s = expected(other);
            let most_s = (TRIAL_COST + TRIAL_COST_WRONG * wrong) * calls as f64 * now_s;
            let cost_s = self.spent_s + trial_calls as f64 * (expected_s - now_s).max(TRIAL_RISK * now_s);
            (cost_s < most_s && expected_s < TRIAL_MAX * now_s).then_some(Decision { place, expected_s })
        };
        let (decision, is_trial) = match best {
            Some(_) => (best, false),
            None => (trial(), true),
        };
        self.on_trial = decision.filter(|_| is_trial).map(|_| (now_s, calls));
        self.changes += u32::from(decision.is_some() && !is_trial);
        self.way = Some(decision.map_or(used, |decision| Way::of(&choice.candidates[decision.place].algorithm)));
        decision
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three algorithms with these prices.
    fn choice(prices: [f64; 3], chosen: usize) -> Choice {
        let algorithms = [Algorithm::Doubling, Algorithm::Global, Algorithm::Ring];
        let candidates = algorithms.into_iter().zip(prices);
        let candidates = candidates.map(|(algorithm, seconds)| Candidate { algorithm, seconds }).collect();
        Choice { candidates, chosen }
    }

    /// Exchanges until nothing changes any more: the algorithm in the end, the time of all calls, and how often it changed.
    fn settles(prices: [f64; 3], truth: [f64; 3], calls: u64) -> (usize, f64, u32) {
        let mut history = History::default();
        let (mut chosen, mut total, mut changes, mut interval, mut next) = (0, 0.0, 0, 2, 2);
        for index in 0..3 {
            if prices[index] < prices[chosen] {
                chosen = index;
            }
        }
        for call in 1..=calls {
            total += truth[chosen];
            if call == next {
                let decision = history.observes(&choice(prices, chosen), (truth[chosen], 8), call, false, true);
                interval = if decision.is_some() { 2 } else { (2 * interval).min(1024) };
                next = call + interval + interval / 4 + 1;
                if let Some(Decision { place, .. }) = decision {
                    (chosen, changes) = (place, changes + 1);
                }
            }
        }
        (chosen, total, changes)
    }

    /// Prices of short calls vary by some percent from line to line; among ranks that share cores a tree's barrier is a fifth cheaper.
    #[test]
    fn prices_alone_change_what_is_clearly_dearer() {
        for (cheapest_s, first, changes) in
            [(0.9, false, false), (0.8, false, true), (0.9, true, true), (1.0, true, false)]
        {
            let mut history = History::default();
            assert_eq!(history.reprices(&choice([1.0, cheapest_s, 0.7], 0), 1, first), changes, "{cheapest_s}");
            let taken = if changes { Algorithm::Global } else { Algorithm::Doubling };
            assert_eq!(history.way(), Some(Way::of(&taken)), "the third is not the cheapest, all told");
        }
    }

    #[test]
    fn predictions_that_are_right_change_nothing() {
        // But for two trials, there and back.
        for wrong in [1.0, 7.0] {
            let (chosen, total, changes) = settles([1.0, 2.0, 3.0], [1.0, 2.0, 3.0].map(|time| wrong * time), 1000);
            assert!(chosen == 0 && total < 1.02 * 1000.0 * wrong && changes <= 4, "{total}, {changes}");
        }
    }

    #[test]
    fn a_prediction_that_is_wrong_is_found_out() {
        // The one in use is worse than predicted in comparison: the next is tried, and is better.
        let (chosen, total, _) = settles([1.0, 1.2, 5.0], [2.0, 1.0, 5.0], 1000);
        assert_eq!(chosen, 1);
        assert!(total < 1.2 * 1000.0, "{total}");
        // The next is worse: there are trials, and they cost little.
        let (chosen, total, changes) = settles([1.0, 1.2, 1.3], [1.0, 1.5, 1.6], 1000);
        assert!(chosen == 0 && total < 1.04 * 1000.0 && changes == 4, "{total}, {changes}");
    }

    #[test]
    fn two_that_are_equally_good_do_not_alternate() {
        let (mut history, mut chosen, mut changes, mut chance) = (History::default(), 0, 0, 1u64);
        for exchange in 1..300u64 {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let noise = 0.9 + 0.2 * (chance >> 40) as f64 / (1u64 << 24) as f64;
            let decision = history.observes(&choice([1.0, 1.0, 9.0], chosen), (noise, 8), exchange * 1000, false, true);
            if let Some(Decision { place, .. }) = decision {
                (chosen, changes) = (place, changes + 1);
            }
        }
        assert!(changes < 12, "{changes}");
    }

    #[test]
    fn losses_are_one_algorithms_own() {
        let mut history = History::default();
        let of_losses = |history: &mut History, has_losses| {
            history.observes(&choice([1.0, 3.0, 4.0], 0), (40.0, 8), 3, has_losses, true)
        };
        assert_eq!(of_losses(&mut history, false), None, "all may be as slow");
        assert_eq!(of_losses(&mut history, true), Some(Decision { place: 1, expected_s: 3.0 }));
    }
}
