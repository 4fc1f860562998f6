//! Figures of Strumpen's model of what was observed, of a whole program or of a part of it. Pure.

use serde::{Deserialize, Serialize};

use super::advice::{Advice, Observed};
use super::links::Count;
use super::phases::Times;
use lathide_models::gain;

/// What a part of a program spent its time with, beside the model. Times are in seconds, summed over all threads that make
/// calls.
///
/// The names are those of Strumpen 1994, section 2. Unknown values are `None`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct Figures {
    /// Calculation: time outside lathide's calls.
    pub t_calc_s: f64,
    /// Time in `initread` and `initwrite`.
    pub t_post_s: f64,
    /// Time in waits.
    pub t_wait_s: f64,
    /// Communication that is not hidden: of `t_wait_s`, for each wait at most the transfer time of its message.
    pub t_exposed_s: f64,
    /// Communication: the transfer time of all messages.
    pub t_com_s: Option<f64>,
    /// Processor time of the kernel's thread.
    pub t_kernel_s: Option<f64>,
    /// `t_calc / t_com`.
    pub gamma: Option<f64>,
    /// The fraction of the calculation with communication behind it: between the posting of an operation that was not over by that
    /// (as a short write may be) and its wait, or as much as what was hidden needs.
    pub f: Option<f64>,
    /// `(t_post + t_kernel) / t_calc`.
    pub omega: Option<f64>,
    /// The fraction of the communication that was hidden: `1 - t_exposed / t_com`.
    pub hidden: Option<f64>,
    /// `(t_calc + t_com) / (t_calc + t_post + t_exposed)`.
    pub gain_observed: Option<f64>,
    /// G by eq. (4), with the gamma, f and Omega observed.
    pub gain_model: Option<f64>,
    /// G by eq. (1): everything hidden at no cost.
    pub gain_ideal: Option<f64>,
    /// Messages written to other ranks.
    pub messages_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Messages read from other ranks.
    pub messages_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// What limits it, and what would improve it.
    pub advice: Option<Advice>,
}

/// What figures are made of.
#[derive(Clone, Copy)]
pub(crate) struct Spent {
    pub(crate) size: u32,
    pub(crate) overlap: bool,
    /// Out and in.
    pub(crate) messages: [Count; 2],
    pub(crate) times: Times,
    pub(crate) kernel_s: Option<f64>,
    pub(crate) t_com_s: Option<f64>,
}

impl Figures {
    pub(crate) fn new(spent: &Spent) -> Self {
        let Spent { size, overlap, messages: [sent, received], times, kernel_s, t_com_s } = *spent;
        let Times { calc_s, covered_s, post_s, wait_s, exposed_s } = times;
        let over_calc = |value: f64| (calc_s > 0.0).then(|| value / calc_s);
        let known = t_com_s.filter(|t_com_s| *t_com_s > 0.0);
        // A write whose buffer is free again may be under way for long, and what is there when it is asked for was on its way
        // before: what was hidden was behind calculation, wherever the program has posted it.
        let behind_s = known.map_or(0.0, |t_com_s| t_com_s - exposed_s);
        let f = over_calc(covered_s.max(behind_s)).map(|f| f.clamp(0.0, 1.0));
        let omega = over_calc(post_s + kernel_s.unwrap_or(0.0));
        let x = known.and_then(over_calc);
        let took_s = calc_s + post_s + exposed_s;
        let advice = Observed {
            size,
            overlap,
            messages: sent.messages + received.messages,
            t_calc_s: calc_s,
            t_post_s: post_s,
            t_wait_s: wait_s,
            t_exposed_s: exposed_s,
            t_com_s,
            f: f.unwrap_or(0.0),
            omega: omega.unwrap_or(0.0),
        }
        .advice();
        Figures {
            t_calc_s: calc_s,
            t_post_s: post_s,
            t_wait_s: wait_s,
            t_exposed_s: exposed_s,
            t_com_s,
            t_kernel_s: kernel_s,
            gamma: x.map(|x| 1.0 / x).filter(|gamma| gamma.is_finite()),
            f,
            omega,
            hidden: known.map(|t_com_s| (1.0 - exposed_s / t_com_s).clamp(0.0, 1.0)),
            gain_observed: known.filter(|_| took_s > 0.0).map(|t_com_s| (calc_s + t_com_s) / took_s),
            gain_model: x.zip(f).zip(omega).and_then(|((x, f), omega)| gain::with_overhead(x, f, omega).ok()),
            gain_ideal: x.and_then(|x| gain::with_overhead(x, 1.0, 0.0).ok()),
            messages_sent: sent.messages,
            bytes_sent: sent.bytes,
            messages_received: received.messages,
            bytes_received: received.bytes,
            advice: Some(advice),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::advice::Limit;
    use super::*;

    fn figures(times: Times, t_com_s: f64) -> Figures {
        let messages = [Count { messages: 100, bytes: 16_000_000 }; 2];
        let (kernel_s, t_com_s) = (Some(0.01), Some(t_com_s));
        Figures::new(&Spent { size: 2, overlap: true, messages, times, kernel_s, t_com_s })
    }

    /// I.1, I.2 and I.3 of the tutorial: 1 s of calculation, 1.4 s of communication.
    #[test]
    fn what_is_hidden_counts_wherever_it_was_posted() {
        let times = |covered_s, exposed_s| Times { calc_s: 1.0, covered_s, post_s: 0.02, wait_s: exposed_s, exposed_s };
        let limit = |figures: &Figures| figures.advice.as_ref().map(|advice| advice.limit);
        let blocking = figures(times(0.0, 1.38), 1.4);
        assert!(blocking.f.unwrap() < 0.03, "{blocking:?}");
        assert_eq!(limit(&blocking), Some(Limit::Posting));
        // The estimates are not better than this.
        assert_eq!(limit(&figures(times(0.0, 1.1), 1.4)), Some(Limit::Posting));
        let early = figures(times(0.0, 0.5), 1.4);
        assert!((early.f.unwrap() - 0.9).abs() < 1e-9, "0.9 s were behind calculation: {early:?}");
        assert_eq!(limit(&early), Some(Limit::Communication));
        assert!(early.gain_model.unwrap() > 1.5, "{early:?}");
        let hidden = figures(times(0.95, 0.5), 1.4);
        assert_eq!((hidden.f, limit(&hidden)), (Some(0.95), Some(Limit::Communication)));
        let enough = figures(times(0.0, 0.02), 0.5);
        assert_eq!(limit(&enough), Some(Limit::Calculation));
    }
}
