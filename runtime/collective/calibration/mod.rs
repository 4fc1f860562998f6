//! How the cost model follows what ranks observe while the program runs. Pure.
//!
//! Ranks exchange what they have observed at fixed numbers of calls: the straight line of their links, lost packets, and
//! for each collective that was called since the last exchange how its time compares with the predicted one. All ranks
//! make the same decisions at the same later call, from the same numbers.
//!
//! | what | when it changes |
//! | --- | --- |
//! | the cost model's line `a + b x` | at the first exchange that knows one; later if two exchanges in a row differ by a factor of 2 |
//! | the queue in front of a receiver | when packets were lost and many ranks had sent to one at once |
//! | the algorithm for a collective and a size | when another one's expected time is lower by more than a margin ([`history`]) |

mod history;
mod observed;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use self::history::History;
pub(crate) use self::history::{LONG_CALL_S, Way};
pub(crate) use self::observed::{ENTRIES_MAX, Key, Line, Observed, Outcome};
use super::choose::Sequence;

/// The least window of a link with exchanges: what a rank contributes must always find room at another one that has not come as
/// far, or never will.
pub(crate) const EXCHANGE_WINDOW_BYTES: u64 = 64 << 10;
/// The first exchange goes with this call.
const FIRST: u64 = 1;
/// Calls between exchanges: at first and after a change, that of calls which are not long, and when nothing changes for long. A rank
/// that runs ahead of others, as those that send to a root, waits for them at each exchange.
const SOON: u64 = 2;
const SOON_OF_SHORT: u64 = 4;
const INTERVAL_MAX: u64 = 1 << 16;
/// The first calls of a job are slower than later ones: by them nothing is decided, unless it takes long.
const SETTLED: u64 = 15;
const LONG_DELAY_S: f64 = 5e-3;
/// Nothing is decided by what calls took that are shorter; with those that have a root ranks do not exchange.
pub(crate) const SHORT_CALL_S: f64 = 200e-6;
/// A line that differs less from the adopted one is the same.
const DRIFT: f64 = 2.0;

/// After so many calls, and again whenever they have doubled, it is decided whether those with a root come in a row.
const ROW_FIRST: u64 = 8;
/// They do if since the last decision fewer calls had none than one for so many of all calls.
const ROW_OTHERS: u64 = 8;

/// When ranks exchange, and what they have decided.
pub(crate) struct Calibration {
    /// Collectives that were planned so far.
    calls: u64,
    /// Of them those without a root since it was last decided how they follow each other, and when that is decided again.
    without_root: u64,
    sequence_at: u64,
    is_row: bool,
    /// The calls by which one rank can be ahead of another in the exchange that began last.
    lag: u64,
    begins_at: u64,
    interval: u64,
    exchanges: u64,
    pending: Option<Pending>,
    line: Line,
    /// Whether prices are those that others have said, for want of better ones: per message, and per byte.
    has_first: (bool, bool),
    /// The last exchange was the first to show what a message costs.
    is_first: bool,
    /// The last exchange showed another line than the adopted one.
    is_drifting: bool,
    histories: BTreeMap<Key, History>,
}

/// An exchange that has begun.
struct Pending {
    adopts_at: u64,
    keys: Vec<Key>,
    result: Exchanged,
}

/// What all ranks have contributed, in their order, once the exchange has ended.
pub(crate) type Exchanged = Arc<OnceLock<Vec<f64>>>;

/// What a call is to do first.
#[derive(PartialEq, Debug)]
pub(crate) enum Due {
    Nothing,
    /// Wait for the exchange, which has not ended yet.
    Exchange,
    /// Adopt its result.
    Result(Outcome),
}

impl Calibration {
    pub(crate) fn new() -> Self {
        Calibration {
            calls: 0,
            without_root: 0,
            sequence_at: ROW_FIRST,
            is_row: false,
            lag: 1,
            begins_at: FIRST,
            interval: SOON,
            exchanges: 0,
            pending: None,
            line: Line::default(),
            has_first: (false, false),
            is_first: false,
            is_drifting: false,
            histories: BTreeMap::new(),
        }
    }

    /// A collective is about to be planned.
    pub(crate) fn due(&mut self) -> Due {
        let Some(pending) = &self.pending else { return Due::Nothing };
        if self.calls + 1 < pending.adopts_at {
            return Due::Nothing;
        }
        let Some(values) = pending.result.get() else { return Due::Exchange };
        let outcome = observed::combine(values, &pending.keys);
        self.pending = None;
        let is_long = |a_s: Option<f64>| a_s.is_some_and(|a_s| a_s > LONG_DELAY_S);
        let is_settled = self.calls >= SETTLED || is_long(outcome.line.a_s);
        let mut line = if is_settled && self.is_news(outcome.line) { outcome.line } else { Line::default() };
        self.is_first = self.line.a_s.is_none() && line.a_s.is_some();
        self.line =
            Line { a_s: line.a_s.or(self.line.a_s), b_s_per_byte: line.b_s_per_byte.or(self.line.b_s_per_byte) };
        // What others say of a link stands until its messages have shown more.
        if self.line.a_s.is_none() && !self.has_first.0 {
            line.a_s = outcome.remembered.a_s.or(outcome.delay_s.filter(|delay_s| is_long(Some(*delay_s))));
            self.has_first.0 = line.a_s.is_some();
        }
        if self.line.b_s_per_byte.is_none() && !self.has_first.1 {
            line.b_s_per_byte = outcome.remembered.b_s_per_byte;
            self.has_first.1 = line.b_s_per_byte.is_some();
        }
        Due::Result(Outcome { line, ..outcome })
    }

    /// Whether `line` is to be adopted: it shows what was not known, or is the second in a row that differs.
    fn is_news(&mut self, line: Line) -> bool {
        let pairs = [(line.a_s, self.line.a_s), (line.b_s_per_byte, self.line.b_s_per_byte)];
        if pairs.iter().any(|(new, adopted)| new.is_some() && adopted.is_none()) {
            return true;
        }
        let is_far = |(one, other): &(Option<f64>, Option<f64>)| {
            one.zip(*other).is_some_and(|(one, other)| one > other * DRIFT || other > one * DRIFT)
        };
        let was_drifting = self.is_drifting;
        self.is_drifting = pairs.iter().any(is_far);
        let is_news = self.is_drifting && was_drifting;
        self.is_drifting &= !is_news;
        is_news
    }

    /// Whether it is known about what a message costs.
    pub(crate) fn knows_delay(&self) -> bool {
        self.line.a_s.is_some() || self.has_first.0
    }

    /// How calls with a root follow each other. While the delay is unknown, so is what ranks gain that run ahead.
    pub(crate) fn sequence(&self) -> Sequence {
        if self.is_row && self.knows_delay() { Sequence::InARow } else { Sequence::Single }
    }

    /// A collective is about to be planned, with or without a root. Returns whether calls with a root follow each other
    /// otherwise than before: then what was observed of them decides nothing any more.
    pub(crate) fn follows(&mut self, has_root: bool) -> bool {
        self.without_root += u64::from(!has_root);
        if self.calls + 1 < self.sequence_at {
            return false;
        }
        let before = self.sequence();
        self.is_row = ROW_OTHERS * self.without_root < self.sequence_at;
        (self.without_root, self.sequence_at) = (0, 2 * self.sequence_at);
        let has_changed = before != self.sequence();
        if has_changed {
            self.histories.retain(|key, _| !key.0.has_root());
        }
        has_changed
    }

    /// A collective has been planned. Returns whether an exchange may begin with it.
    pub(crate) fn counts(&mut self) -> bool {
        self.calls += 1;
        self.pending.is_none() && self.calls >= self.begins_at
    }

    /// A call is about to be counted whose algorithm is on trial, if it still is: that ends with an exchange, which is to come soon. What
    /// was called since the trial began may have made exchanges rare.
    pub(crate) fn hastens(&mut self, key: Key) {
        if !self.is_on_trial(key) {
            return;
        }
        let soon = self.calls + SOON_OF_SHORT.max(self.least_interval());
        self.begins_at = self.begins_at.min(soon);
        if let Some(pending) = &mut self.pending {
            pending.adopts_at = pending.adopts_at.min(soon);
        }
    }

    /// As many calls as ranks are apart still show what was before.
    fn least_interval(&self) -> u64 {
        if self.lag > 1 { 2 * self.lag } else { 0 }
    }

    /// The next exchange goes with a call in which one rank is ahead of another by up to so many calls.
    pub(crate) fn lags(&mut self, calls: u64) {
        self.lag = calls;
    }

    /// An exchange begins, on collectives that were called since the last one. Returns where its result goes.
    pub(crate) fn begins(&mut self, keys: Vec<Key>) -> Exchanged {
        let result = Exchanged::default();
        // After a change what is new is to be known soon; but who is ahead is not to wait.
        let later = if self.interval <= SOON_OF_SHORT { 1 } else { self.interval / 2 }.max(self.lag);
        let adopts_at = self.calls + later;
        self.pending = Some(Pending { adopts_at, keys, result: result.clone() });
        self.begins_at = self.calls + self.interval;
        self.exchanges += 1;
        result
    }

    /// Calls since the last exchange were decided anew, or not. `is_long`: one of them takes long.
    pub(crate) fn decided(&mut self, has_changed: bool, is_long: bool) {
        // The first exchange knows nothing of messages.
        let is_early = self.exchanges < 2;
        self.interval = match () {
            () if is_early || (has_changed && is_long) => SOON,
            () if has_changed => SOON_OF_SHORT,
            () => (2 * self.interval).min(INTERVAL_MAX),
        };
        self.interval = self.interval.max(self.least_interval());
        self.begins_at = self.calls + self.interval;
    }

    /// Whether something can be decided by so many calls that took so long, and were to take `predicted_s`. Of short ones not: what they
    /// take is mostly when threads run, the more so the more ranks take turns on each core. Ranks that wait for nothing are far ahead.
    pub(crate) fn is_settled(&self, calls: u64, seconds: f64, predicted_s: f64, ranks_per_core: f64) -> bool {
        let is_short = seconds < SHORT_CALL_S || (ranks_per_core > 1.0 && predicted_s < SHORT_CALL_S * ranks_per_core);
        seconds > LONG_CALL_S || (calls >= SETTLED && !is_short)
    }

    /// Whether prices are the first that follow from what messages of this job cost. Then what was decided by prices alone is forgotten: those
    /// before were guesses.
    pub(crate) fn takes_first_prices(&mut self) -> bool {
        if self.is_first {
            self.histories.retain(|_, history| history.has_tried());
        }
        self.is_first
    }

    /// What is known of a collective and a size.
    pub(crate) fn history(&mut self, key: Key) -> &mut History {
        self.histories.entry(key).or_default()
    }

    /// The program has had ranks agree on this line.
    pub(crate) fn adopts(&mut self, line: Line) {
        (self.line, self.is_drifting) = (line, false);
    }

    /// The line of the links, if both of its parameters are known.
    pub(crate) fn line(&self) -> Option<(f64, f64)> {
        self.line.a_s.zip(self.line.b_s_per_byte)
    }

    /// The way that was decided on, if one was.
    pub(crate) fn decision(&self, key: Key) -> Option<Way> {
        self.histories.get(&key)?.way()
    }

    /// Whether an algorithm is on trial for a collective and a size.
    pub(crate) fn is_on_trial(&self, key: Key) -> bool {
        self.histories.get(&key).is_some_and(History::is_on_trial)
    }

    /// The number of collectives planned so far.
    pub(crate) fn calls(&self) -> u64 {
        self.calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Collective;

    const KEY: Key = (Collective::Allreduce, 10);

    fn line(a: f64) -> Line {
        Line { a_s: Some(a), b_s_per_byte: Some(1e-9) }
    }

    fn next(calibration: &mut Calibration, line: Line) -> (Due, bool) {
        let due = calibration.due();
        let begins = calibration.counts();
        if begins {
            let result = calibration.begins(vec![KEY]);
            let own = Observed { line, delay_s: None, remembered: Line::default(), losses: 0, ratios: vec![Some(1.5)] };
            result.set([own.encode(), own.encode()].concat()).unwrap();
        }
        (due, begins)
    }

    #[test]
    fn exchanges_grow_rare_and_a_line_is_adopted_once() {
        let mut calibration = Calibration::new();
        let (mut begun, mut adopted) = (Vec::new(), Vec::new());
        for call in 1..=5000u64 {
            let (due, begins) = next(&mut calibration, line(1e-3));
            if let Due::Result(outcome) = due {
                assert_eq!(outcome.ratios, [(KEY, Some(1.5))]);
                assert_eq!(calibration.takes_first_prices(), outcome.line != Line::default(), "call {call}");
                if outcome.line != Line::default() {
                    adopted.push(call);
                }
                calibration.decided(false, true);
            }
            if begins {
                begun.push(call);
            }
        }
        assert!(matches!(adopted[..], [16..40]), "a short line, when the job has settled: {adopted:?}");
        assert!(begun.starts_with(&[1, 4]), "{begun:?}");
        assert!(begun.len() < 26, "{begun:?}");
    }

    #[test]
    fn short_calls_decide_nothing_the_less_where_ranks_share_cores() {
        let calibration = Calibration::new();
        let settled = |calls, seconds, predicted_s, ranks_per_core| {
            calibration.is_settled(calls, seconds, predicted_s, ranks_per_core)
        };
        assert!(settled(SETTLED, 300e-6, 100e-6, 1.0));
        assert!(!settled(SETTLED - 1, 300e-6, 300e-6, 1.0), "the first calls");
        assert!(!settled(SETTLED, 100e-6, 300e-6, 1.0));
        assert!(!settled(SETTLED, 1e-3, 300e-6, 4.0), "it may have waited for its turn");
        assert!(settled(SETTLED, 1e-3, 900e-6, 4.0));
        assert!(settled(1, 20e-3, 100e-6, 4.0), "it takes long");
    }

    #[test]
    fn a_line_changes_when_two_exchanges_say_so() {
        let mut calibration = Calibration::new();
        let mut lines = Vec::new();
        for call in 1..=200u64 {
            // One that is alone says nothing.
            let a = if call == 4 || call > 30 { 50e-3 } else { 10e-3 };
            if let (Due::Result(Outcome { line, .. }), _) = next(&mut calibration, line(a)) {
                lines.extend(line.a_s.map(|a| (call, a)));
                calibration.decided(false, true);
            }
        }
        assert!(matches!(lines[..], [(2, 10e-3), (31.., 50e-3)]), "{lines:?}");
    }

    #[test]
    fn a_call_waits_for_an_exchange_that_has_not_ended() {
        let mut calibration = Calibration::new();
        assert_eq!(calibration.due(), Due::Nothing);
        assert!(calibration.counts());
        let result = calibration.begins(vec![]);
        assert_eq!(calibration.due(), Due::Exchange);
        result
            .set(
                Observed {
                    line: Line::default(),
                    delay_s: Some(20e-3),
                    remembered: Line::default(),
                    losses: 0,
                    ratios: vec![],
                }
                .encode(),
            )
            .unwrap();
        let Due::Result(Outcome { line, .. }) = calibration.due() else { panic!("it has ended") };
        assert_eq!(line, Line { a_s: Some(20e-3), b_s_per_byte: None }, "what is known so far");
        assert_eq!(calibration.due(), Due::Nothing);
    }
}
