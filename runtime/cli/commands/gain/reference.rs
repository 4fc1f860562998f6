//! The stencil over raw TCP beside lathide's versions of it (Strumpen 1994, Fig. 23). Pure.
//!
//! The paper's reference is a ping-pong. It leaves half of the link idle, so a gain over it is in part that of sending both
//! ways at once. The exchange is what an expert would write today, and shows whether I.1 is a fair base.

use serde::Serialize;

use super::plan::Round;
use crate::report::results::{Form, Table};
use crate::report::summary::Summary;

/// What steps over raw TCP take at one granularity. Times are in seconds per time step; ratios are within a repetition.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Reference {
    /// One direction after the other.
    pub(super) t_raw_pingpong_s: Summary,
    /// Both directions at once.
    pub(super) t_raw_exchange_s: Summary,
    /// Those over `t_i3_s`.
    pub(super) gain_over_raw_pingpong: Summary,
    pub(super) gain_over_raw_exchange: Summary,
    /// Those over `t_i2_s`.
    pub(super) gain_blocking_over_raw_pingpong: Summary,
    pub(super) gain_blocking_over_raw_exchange: Summary,
    /// `t_i1_s` over `t_raw_exchange_s`: how much slower lathide's own base is.
    pub(super) i1_over_raw_exchange: Summary,
    /// Two strips' calculation over a step's time.
    pub(super) speedup_raw_pingpong: f64,
    pub(super) speedup_raw_exchange: f64,
}

impl Reference {
    /// Of the repetitions that count; what those do not have, since it is not measured in each, of all. `None` if nothing was
    /// measured.
    pub(super) fn of(rounds: &[Round], all: &[Round], t_calc_s: Summary) -> Option<Self> {
        let over = |value: fn(&Round) -> f64| Summary::of(rounds.iter().map(value));
        let pingpong = |value: fn(&Round, f64) -> f64| {
            let of = |rounds: &[Round]| {
                Summary::of(rounds.iter().filter_map(|round| Some(value(round, round.t_raw_pingpong?))))
            };
            of(rounds).or_else(|| of(all))
        };
        let t_raw_exchange_s = over(|round| round.t_raw_exchange)?;
        let t_raw_pingpong_s = pingpong(|_, time| time)?;
        Some(Reference {
            t_raw_pingpong_s,
            t_raw_exchange_s,
            gain_over_raw_pingpong: pingpong(|round, time| time / round.t_i3)?,
            gain_over_raw_exchange: over(|round| round.t_raw_exchange / round.t_i3)?,
            gain_blocking_over_raw_pingpong: pingpong(|round, time| time / round.t_i2)?,
            gain_blocking_over_raw_exchange: over(|round| round.t_raw_exchange / round.t_i2)?,
            i1_over_raw_exchange: over(|round| round.t_i1 / round.t_raw_exchange)?,
            speedup_raw_pingpong: 2.0 * t_calc_s.median / t_raw_pingpong_s.median,
            speedup_raw_exchange: 2.0 * t_calc_s.median / t_raw_exchange_s.median,
        })
    }

    /// A step of I.1 over one over the raw exchange: the medians of all points.
    pub(super) fn base<'a>(points: impl IntoIterator<Item = &'a Self>) -> Option<Summary> {
        Summary::of(points.into_iter().map(|point| point.i1_over_raw_exchange.median))
    }
}

/// The rows of `points` beside raw TCP.
pub(super) fn table() -> Table {
    Table::of("points")
        .title("Beside raw TCP: S against one node, and G over a step of each base.")
        .column("gamma", "gamma", Form::Fixed(2))
        .column("t_raw_pingpong_s", "T ping-\npong", Form::Seconds)
        .column("t_raw_exchange_s", "T ex-\nchange", Form::Seconds)
        .column("t_i1_s", "T I.1", Form::Seconds)
        .column("t_i3_s", "T I.3", Form::Seconds)
        .column("speedup_raw_pingpong", "S ping-\npong", Form::Fixed(2))
        .column("speedup_raw_exchange", "S ex-\nchange", Form::Fixed(2))
        .column("gain_over_raw_pingpong", "G I.3\nping-p.", Form::Fixed(2))
        .column("gain_over_raw_exchange", "G I.3\nexch.", Form::Fixed(2))
        .column("gain", "G I.3\nI.1", Form::Fixed(2))
        .column("gain_blocking_over_raw_exchange", "G I.2\nexch.", Form::Fixed(2))
        .column("i1_over_raw_exchange", "I.1 /\nexch.", Form::Fixed(3))
}

/// Whether I.1 is a fair base.
pub(super) fn in_words(base: Summary) -> String {
    let Summary { median, min, max } = base;
    let verdict = match median {
        ratio if ratio <= FAIR => "so G over I.1 is not that of a slow base",
        _ => "so judge by G over the exchange",
    };
    format!(
        "A step of I.1 takes {median:.3} of one over the simultaneous raw exchange ({min:.3} to {max:.3} over the \
         granularities), {verdict}. Ping-pong, the paper's reference (Fig. 23), sends one way after the other."
    )
}

/// A base that takes no more than this of the raw exchange is as fast as it, by what can be measured.
const FAIR: f64 = 1.03;

#[cfg(test)]
mod tests {
    use super::*;

    fn round(t_i1: f64, t_raw_pingpong: Option<f64>) -> Round {
        Round { t_i1, t_i2: 1.8, t_i3: 1.0, t_raw_exchange: 2.0, t_raw_pingpong, ..Round::default() }
    }

    #[test]
    fn ratios_by_hand() {
        let t_calc_s = Summary { median: 0.9, min: 0.8, max: 1.0 };
        let rounds = [round(2.02, Some(3.0)), round(2.06, None), round(2.0, Some(3.2))];
        let reference = Reference::of(&rounds, &rounds, t_calc_s).unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
        close(reference.t_raw_pingpong_s.median, 3.1);
        close(reference.gain_over_raw_pingpong.max, 3.2);
        close(reference.gain_over_raw_exchange.median, 2.0);
        close(reference.gain_blocking_over_raw_exchange.median, 2.0 / 1.8);
        close(reference.i1_over_raw_exchange.median, 1.01);
        close(reference.i1_over_raw_exchange.max, 1.03);
        close(reference.speedup_raw_exchange, 0.9);
        close(Reference::base([&reference, &reference]).unwrap().median, 1.01);
        assert_eq!(Reference::base([]), None);
    }

    #[test]
    fn what_the_chosen_repetitions_lack_comes_from_the_others() {
        let t_calc_s = Summary { median: 1.0, min: 1.0, max: 1.0 };
        let all = [round(2.0, Some(3.0)), round(2.0, None)];
        assert_eq!(Reference::of(&all[1..], &all, t_calc_s).unwrap().t_raw_pingpong_s.median, 3.0);
        assert_eq!(Reference::of(&all[1..], &all[1..], t_calc_s), None);
    }

    #[test]
    fn a_slow_base_is_said_to_be_one() {
        let says = |median| in_words(Summary { median, min: 0.9, max: 1.2 });
        assert!(says(1.01).contains("takes 1.010 of one") && says(1.01).contains("not that of a slow base"));
        assert!(says(1.1).contains("judge by G over the exchange"));
    }
}
