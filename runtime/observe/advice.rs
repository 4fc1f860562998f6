//! What limits a program, and what would improve it, by the gain model's equations. Pure.

use serde::{Deserialize, Serialize};

use crate::wire::text;
use lathide_models::BadParameter;
use lathide_models::gain::{self, Messages, Scaling};

/// Less than this share of a step is not worth a word.
const MUCH: f64 = 0.05;
/// A smaller gain by posting earlier is within the errors of what was observed.
const MORE: f64 = 1.1;
/// More work than this factor is no advice.
const FACTOR_MAX: f64 = 1000.0;

/// What limits a program, as far as communication is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Limit {
    /// Calculation: the communication is hidden.
    Calculation,
    /// Communication: a step has more than its calculation can hide.
    Communication,
    /// Nothing was communicated.
    Nothing,
    /// Overhead: hiding costs more than it hides.
    Overhead,
    /// Overlap is switched off.
    OverlapOff,
    /// Partners: their messages were written after the waits had begun.
    Partners,
    /// Posting: operations are posted late or waited for early, with little calculation between.
    Posting,
    /// The transfer times are not known.
    Unknown,
}

/// A number, and its formula.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// Its value; in seconds if it is a time.
    pub value: f64,
    /// The formula with its equation or section in Strumpen 1994.
    pub formula: String,
}

/// What limits a node, and what would improve it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Advice {
    /// The limit.
    pub limit: Limit,
    /// The limit, and what would improve it, as text.
    #[serde(deserialize_with = "text::string")]
    pub words: String,
    /// The numbers in the text.
    pub figures: Vec<Figure>,
}

/// What is observed of a node, all threads together.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Observed {
    pub(crate) size: u32,
    pub(crate) overlap: bool,
    pub(crate) messages: u64,
    pub(crate) t_calc_s: f64,
    pub(crate) t_post_s: f64,
    pub(crate) t_wait_s: f64,
    pub(crate) t_exposed_s: f64,
    pub(crate) t_com_s: Option<f64>,
    pub(crate) f: f64,
    pub(crate) omega: f64,
}

impl Advice {
    /// Where nothing is known.
    pub(crate) fn unknown() -> Self {
        Advice { limit: Limit::Unknown, words: "nothing is known".to_owned(), figures: Vec::new() }
    }
}

impl Observed {
    /// What limits it, and what would change that.
    pub(crate) fn advice(&self) -> Advice {
        let plain = |limit, words: &str| Advice { limit, words: words.to_owned(), figures: Vec::new() };
        if self.messages == 0 || self.size == 1 {
            return plain(Limit::Nothing, "nothing was sent to another rank");
        }
        let Some(t_com_s) = self.t_com_s.filter(|t_com_s| *t_com_s > 0.0) else {
            return plain(
                Limit::Unknown,
                "times on the way are not known yet: they need stamped messages in both directions; \
                 `lathide run --report` has the clocks compared at the start",
            );
        };
        if self.t_calc_s <= 0.0 {
            return plain(Limit::Communication, "nothing was calculated, so nothing can hide communication");
        }
        // Every argument is checked above; what is out of range all the same has no advice.
        self.judge(t_com_s).unwrap_or_else(|bad| plain(Limit::Unknown, &format!("nothing follows: {bad}")))
    }

    fn judge(&self, t_com_s: f64) -> Result<Advice, BadParameter> {
        let step_s = self.t_calc_s + self.t_post_s + self.t_wait_s;
        let (x, late_s) = (t_com_s / self.t_calc_s, self.t_wait_s - self.t_exposed_s);
        let Observed { f, omega, .. } = *self;
        let now = gain::with_overhead(x, f, omega)?;
        if !self.overlap {
            return self.overlap_off(x, now);
        }
        if late_s > MUCH * step_s && late_s > self.t_exposed_s {
            return Ok(self.partners(late_s / step_s));
        }
        if x < omega {
            return self.overhead(x, now);
        }
        if self.t_exposed_s <= MUCH * step_s {
            return self.calculation(x, now);
        }
        // Whether it would be faster with all of the calculation between posting and waiting. No work hides anything without that.
        let is_faster = gain::with_overhead(x, 1.0, omega)? > MORE * now;
        if f < 0.1 || (f < 0.8 && is_faster) { self.posting(x, now) } else { self.communication(x, now) }
    }

    fn overlap_off(&self, x: f64, now: f64) -> Result<Advice, BadParameter> {
        let words = format!(
            "overlap is off (LATHIDE_OVERLAP=off); on, eq. (4) gives G = {now:.2}, at most {:.2}",
            gain::ideal(1.0 / x)?
        );
        Ok(Advice { limit: Limit::OverlapOff, words, figures: vec![gain_figure("G", now)] })
    }

    fn partners(&self, share: f64) -> Advice {
        let words = format!(
            "{:.0} % of the time, (t_wait - t_exposed)/(t_calc + t_post + t_wait), went by waiting for messages that were not \
             sent yet: partners have more work, or wait \
             themselves; hiding cannot change that, even work can",
            100.0 * share
        );
        let formula = "(t_wait - t_exposed) / (t_calc + t_post + t_wait)".to_owned();
        let figure = Figure { name: "share of waits for partners that were late".to_owned(), value: share, formula };
        Advice { limit: Limit::Partners, words, figures: vec![figure] }
    }

    fn overhead(&self, x: f64, now: f64) -> Result<Advice, BadParameter> {
        let break_even = gain::break_even_gamma(self.omega)?.unwrap_or(f64::MAX);
        let words = format!(
            "hiding costs more than it hides: gamma = {:.3} is above 1/Omega = {break_even:.3} (section 2.3.1); send fewer and longer messages",
            1.0 / x
        );
        let figures = vec![
            gain_figure("G", now),
            Figure {
                name: "gamma above which hiding loses".to_owned(),
                value: break_even,
                formula: "1/Omega, section 2.3.1".to_owned(),
            },
        ];
        Ok(Advice { limit: Limit::Overhead, words, figures })
    }

    fn posting(&self, x: f64, now: f64) -> Result<Advice, BadParameter> {
        let all = gain::with_overhead(x, 1.0, self.omega)?;
        let words = format!(
            "only f = {:.2} of the calculation has communication behind it: post earlier, wait later; with f = 1 eq. (4) \
             gives G = {all:.2} instead of {now:.2}",
            self.f
        );
        let figures = vec![gain_figure("G", now), gain_figure("G with f = 1", all)];
        Ok(Advice { limit: Limit::Posting, words, figures })
    }

    fn communication(&self, x: f64, now: f64) -> Result<Advice, BadParameter> {
        let most = gain::maximum_partial(self.f, self.omega)?;
        let Some(best) = gain::best_gamma(self.f, self.omega)? else {
            let words =
                "no calculation lies between posting and waiting, so nothing is hidden: post earlier, wait later"
                    .to_owned();
            return Ok(Advice { limit: Limit::Posting, words, figures: vec![gain_figure("G", now)] });
        };
        let factor = best * x;
        let mut figures = vec![
            gain_figure("G", now),
            figure("best gamma", best, "1/(f + Omega), sections 2.1 and 2.3.1"),
            figure("greatest G", most, "1 + f/(1 + Omega), section 2.3.1"),
        ];
        let mut words = format!("a step has more communication than its calculation can hide, gamma = {:.3}", 1.0 / x);
        if factor > 1.0 && factor <= FACTOR_MAX {
            words += &format!(
                "; {factor:.1} x more work per step would hide it (best gamma = 1/(f + Omega) = {best:.2}, section 2.3.1)"
            );
            figures.push(figure("factor of work per step", factor, "best gamma / gamma, section 2.3.3"));
            if let Some(ranks) = self.best_ranks(x)?.filter(|ranks| (2..self.size).contains(ranks)) {
                let (size, fewer) = (self.size, self.size - ranks);
                words += &format!(", or {fewer} ranks fewer ({ranks} instead of {size}, eq. (6)) for the same work");
                figures.push(figure("ranks", ranks.into(), "p at q p/lambda = f + Omega, eq. (6)"));
            }
            words += &format!(": eq. (4) then gives G = {most:.2} instead of {now:.2}");
        } else if factor <= 1.0 {
            words += "; waits are longer than the model explains: other traffic or busy processors hold messages up";
        }
        Ok(Advice { limit: Limit::Communication, words, figures })
    }

    fn calculation(&self, x: f64, now: f64) -> Result<Advice, BadParameter> {
        let mut figures = vec![gain_figure("G", now)];
        let mut words = "communication is hidden; calculation takes the time".to_owned();
        // Where f is no more than what was hidden shows, nobody knows how much more would be.
        let best = if self.f > MORE * x { self.best_ranks(x)? } else { None };
        if let Some(ranks) = best.filter(|ranks| *ranks > self.size && *ranks < 1_000_000) {
            words += &format!(
                ": up to {ranks} ranks instead of {} could share this work with all communication hidden (eq. (6))",
                self.size
            );
            figures.push(figure("ranks", ranks.into(), "p at q p/lambda = f + Omega, eq. (6)"));
        }
        Ok(Advice { limit: Limit::Calculation, words, figures })
    }

    /// How many ranks would have the greatest G, if each sends what it sends and they share the calculation.
    fn best_ranks(&self, x: f64) -> Result<Option<u32>, BadParameter> {
        let lambda = f64::from(self.size) / x;
        Scaling::new(lambda, Messages::constant(1.0)?, self.f, self.omega)?.best_for_gain()
    }
}

fn figure(name: &str, value: f64, formula: &str) -> Figure {
    Figure { name: name.to_owned(), value, formula: formula.to_owned() }
}

fn gain_figure(name: &str, value: f64) -> Figure {
    figure(name, value, "(1 + x) / ((1 - f) + max(f + Omega, x)), x = 1/gamma, eq. (4)")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gamma is 0.5: twice as much communication as calculation, and half of it stays exposed.
    const SHORT: Observed = Observed {
        size: 8,
        overlap: true,
        messages: 100,
        t_calc_s: 1.0,
        t_post_s: 0.01,
        t_wait_s: 1.05,
        t_exposed_s: 1.05,
        t_com_s: Some(2.0),
        f: 0.96,
        omega: 0.04,
    };

    #[test]
    fn too_little_work_is_said_with_how_much_more() {
        let advice = SHORT.advice();
        assert_eq!(advice.limit, Limit::Communication);
        let value = |name: &str| advice.figures.iter().find(|figure| figure.name == name).expect(name).value;
        assert!((value("factor of work per step") - 2.0).abs() < 1e-12, "gamma 0.5 to 1/(f + Omega) = 1");
        assert_eq!(value("ranks"), 4.0, "half as many ranks have twice as much work each");
        assert!((value("greatest G") - (1.0 + 0.96 / 1.04)).abs() < 1e-12);
        assert!((value("G") - 3.0 / 2.04).abs() < 1e-12);
        assert!(
            advice.words.contains("2.0 x more work per step")
                && advice.words.contains("4 ranks fewer (4 instead of 8, eq. (6))")
                && advice.words.contains("section 2.3.1"),
            "{advice:?}"
        );
    }

    #[test]
    fn every_limit_is_found() {
        let limit = |observed: Observed| observed.advice().limit;
        let hidden = Observed { t_com_s: Some(0.25), t_wait_s: 0.01, t_exposed_s: 0.01, ..SHORT };
        let advice = hidden.advice();
        assert_eq!(advice.limit, Limit::Calculation);
        assert!(advice.words.contains("up to 32 ranks instead of 8"), "{advice:?}");
        assert_eq!(limit(Observed { overlap: false, ..SHORT }), Limit::OverlapOff);
        assert_eq!(limit(Observed { t_exposed_s: 0.1, ..SHORT }), Limit::Partners);
        assert_eq!(limit(Observed { omega: 3.0, ..SHORT }), Limit::Overhead);
        let late = Observed { f: 0.2, t_com_s: Some(0.9), t_wait_s: 0.7, t_exposed_s: 0.7, ..SHORT };
        assert_eq!(limit(late), Limit::Posting);
        assert_eq!(limit(Observed { f: 0.0, ..SHORT }), Limit::Posting);
        assert_eq!(limit(Observed { t_com_s: None, ..SHORT }), Limit::Unknown);
        assert_eq!(limit(Observed { t_calc_s: 0.0, ..SHORT }), Limit::Communication);
        assert_eq!(limit(Observed { messages: 0, ..SHORT }), Limit::Nothing);
        assert_eq!(limit(Observed { size: 1, ..SHORT }), Limit::Nothing);
        assert_eq!(limit(Observed { f: 7.0, ..SHORT }), Limit::Unknown, "an f that cannot be");
    }

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        #[test]
        fn no_figure_is_a_nan(
            size in 1u32..70_000, overlap: bool, messages in 0u64..3, f in 0.0..=1.0, omega in 0.0..10.0,
            times in prop::array::uniform5(prop_oneof![Just(0.0), 1e-9..1e9f64]), known: bool,
        ) {
            let [t_calc_s, t_post_s, wait, exposed, t_com] = times;
            let t_com_s = known.then_some(t_com);
            let t_exposed_s = exposed.min(wait);
            let observed =
                Observed { size, overlap, messages, t_calc_s, t_post_s, t_wait_s: wait, t_exposed_s, t_com_s, f, omega };
            let advice = observed.advice();
            prop_assert!(advice.figures.iter().all(|figure| figure.value.is_finite()), "{:?}", advice);
            prop_assert!(!advice.words.contains("NaN") && !advice.words.contains("inf"), "{}", advice.words);
        }
    }
}
