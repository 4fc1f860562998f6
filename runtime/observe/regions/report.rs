//! What is told of a region. Pure data.

use serde::{Deserialize, Serialize};

use crate::observe::figures::Figures;
use crate::wire::text;

/// What was done in one region ([`Node::region`](crate::Node::region)).
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct RegionReport {
    /// The name that the program has given it.
    #[serde(deserialize_with = "text::string")]
    pub name: String,
    /// How often a thread has entered it.
    pub entered: u64,
    /// The time in which at least one thread was within, in seconds.
    pub elapsed_s: f64,
    /// The time that threads were within, in seconds: the sum over all of them, of visits that have ended and those of the thread that
    /// asks.
    pub within_s: f64,
    /// Of it, the time within calls of lathide, in posts and in waits. Some posts of short messages are not timed and left out.
    pub in_calls_s: f64,
    /// Messages that were sent for writes and collectives that were posted within, by size.
    pub sent: Vec<RegionMessages>,
    /// Messages that were received for reads and collectives that were posted within, by size.
    pub received: Vec<RegionMessages>,
    /// From when until when messages that were posted within were leaving the host, in seconds of this node's clock: the latest
    /// 256 intervals, rounded to microseconds. Empty unless [`Config::times_sends`](crate::Config::times_sends).
    pub sending: Vec<[f64; 2]>,
    /// What threads spent their time with within, and the messages that were posted within, in regions inside of it too, beside the
    /// model.
    pub figures: Figures,
}

/// Messages of one size.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct RegionMessages {
    /// The length of each. In a region with more than 64 sizes some are shorter.
    pub bytes: u64,
    /// Their number.
    pub messages: u64,
    /// How many of them were timed: those read by the program, not by collectives; those sent if
    /// [`Config::times_sends`](crate::Config::times_sends).
    pub timed: u64,
    /// The sum of the times of those that were timed, in seconds. Of messages sent T_s (Stoica, Sultan, Keyes 2.5): from the post
    /// until the last byte has left the host, less the time that counts for messages that left before. Of messages received: from the
    /// post of the read until all of the message is there, waiting for a late sender included.
    pub time_s: Option<f64>,
}

impl std::fmt::Display for RegionReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let RegionReport { name, entered, within_s, sent, received, .. } = self;
        let total = |of: &[RegionMessages]| {
            let bytes = of.iter().map(|sized| sized.bytes.saturating_mul(sized.messages)).fold(0, u64::saturating_add);
            (of.iter().map(|sized| sized.messages).sum::<u64>(), bytes)
        };
        let ((out, bytes_out), (into, bytes_in)) = (total(sent), total(received));
        write!(f, "region {name}: entered {entered} times, {:.3} ms within; ", within_s * 1e3)?;
        write!(f, "{out} messages, {bytes_out} bytes out; {into} messages, {bytes_in} bytes in")
    }
}
