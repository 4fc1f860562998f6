//! What was observed of simultaneous pairs, and what is said of it.

use serde::{Deserialize, Serialize};

use crate::fit::{FitError, Fitted, Sample, hyperbolic, segmented};
use crate::hyperbolic::Block;

/// A message of one of several pairs that send at once: the time until the last of them has arrived (rule 3).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Observed {
    /// The repetition, in which all numbers of pairs were measured in turns.
    pub repeat: u32,
    /// n.
    pub pairs: u32,
    /// Of each message.
    pub bytes: u64,
    /// Per message.
    pub time_s: f64,
}

/// What so many pairs use together.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Load {
    /// n.
    pub pairs: u32,
    /// The most of them that send from one host, or to one: they share its port.
    pub per_port: u32,
    /// Of the busiest machine meanwhile, with long messages; unknown on some systems.
    pub processor: Option<Processor>,
}

/// Shares of the processors' time of a machine.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Processor {
    /// Of the processes that measured.
    pub own: f64,
    /// Of all.
    pub busy: f64,
}

impl Processor {
    /// Whether the processes that measured had too little of the processors.
    pub(super) fn is_bottleneck(self) -> bool {
        self.busy >= BUSY && self.own >= OWN
    }

    /// Whether others kept them busy.
    pub(super) fn is_busy_with_others(self) -> bool {
        self.busy >= BUSY && self.own < OWN
    }
}

/// Two parameters a, b and how the time depends on them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// `a^2/(a + b x) + b x`, eq. (3).
    Hyperbola,
    /// `a + b x`, eq. (4).
    Line,
}

impl Form {
    /// The time of a message.
    #[must_use]
    pub fn time_s(self, a_s: f64, b_s_per_byte: f64, bytes: u64) -> f64 {
        match self {
            Form::Hyperbola => hyperbolic::Hyperbolic { a_s, b_s_per_byte }.seconds(bytes),
            Form::Line => a_s + b_s_per_byte * bytes as f64,
        }
    }

    /// As [`hyperbolic::fit`], for either form.
    pub(super) fn fit(self, samples: &[Sample]) -> Result<Fitted<Block>, FitError> {
        let (a_s, b_s_per_byte, quality, held_out) = match self {
            Form::Hyperbola => {
                let Fitted { model, quality, held_out } = hyperbolic::fit(samples)?;
                (model.a_s, model.b_s_per_byte, quality, held_out)
            }
            Form::Line => {
                let Fitted { model, quality, held_out } = segmented::fit_with(samples, 0)?;
                (model.start_s, model.segments[0].s_per_byte, quality, held_out)
            }
        };
        let model = Block::new(a_s, b_s_per_byte).map_err(|cause| FitError::BadCost { cause })?;
        Ok(Fitted { model, quality, held_out })
    }
}

/// What limits several pairs at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Medium {
    /// The port of a host that several of them share.
    Port,
    /// The processors, so of the network nothing is known.
    Processor,
    /// One capacity for all: the paper's `CB_C`.
    Shared,
    /// Nothing: as many as were measured do not slow each other down.
    Switched,
    /// They take longer, but not by more than noise, or busy processors, explain: measure longer, or on a quiet machine.
    Unclear,
}

/// From here on the processors have no time left.
const BUSY: f64 = 0.85;
/// And those who measure have so much of it: else others keep them busy. A lab's switch has as much as all its ranks; over a
/// slow link, waiting alone takes up to a quarter.
const OWN: f64 = 0.35;
