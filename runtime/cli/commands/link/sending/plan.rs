//! What the command tells nodes that measure sending times, and what rank 0 reports: plain data, and what fits into the time. Pure.

use serde::{Deserialize, Serialize};

/// What the nodes shall do.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(in crate::commands::link) struct Plan {
    /// By rank, the number of its host.
    pub(in crate::commands::link) hosts: Vec<u32>,
    /// How many send at once, and to how many others each.
    pub(super) cases: Vec<Case>,
    /// Message sizes, rising.
    pub(super) bytes: Vec<usize>,
    /// How often everything is measured, beside once to warm up.
    pub(super) repeats: u32,
    /// About how many seconds it may take.
    pub(super) seconds: f64,
    /// Seconds for a short message one way, and for each byte.
    pub(super) message_s: [f64; 2],
}

/// So many send at once, each to so many others at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(in crate::commands::link) struct Case {
    pub(super) senders: u32,
    pub(super) receivers: u32,
}

/// The mean T_s of the messages of one repetition.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(in crate::commands::link) struct Sent {
    #[serde(flatten)]
    pub(super) case: Case,
    pub(super) bytes: usize,
    pub(super) time_s: f64,
}

/// Message sizes, of which as many are measured as fit.
pub(super) const SIZES: [usize; 8] = [8, 128, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// Fewer cannot be fitted with an error.
const SIZES_MIN: usize = 4;
/// The most that a sender sends to at once.
const RECEIVERS_MAX: u32 = 4;
const REPEATS: u32 = 5;
/// The longest messages of several senders at once.
const MANY_BYTES_MAX: usize = 4 << 10;
/// Beside the first repetition, which warms up, at least so many are measured.
pub(super) const REPEATS_MIN: u32 = 2;
/// Bytes in a repetition, if a message is short.
const BLOCK_BYTES: usize = 32 << 10;
const COUNT_MAX: usize = 16;
/// What agreeing on a moment takes, beside messages.
const MEETING_S: f64 = 2e-3;

impl Case {
    /// Whether messages of so many bytes are sent: of many senders, long ones would take too long.
    fn measures(self, bytes: usize) -> bool {
        self.senders == 1 || bytes <= MANY_BYTES_MAX
    }
}

impl Plan {
    pub(super) fn new(hosts: Vec<u32>, seconds: f64, message_s: [f64; 2]) -> Self {
        let size = hosts.len() as u32;
        let most = (size - 1).min(RECEIVERS_MAX);
        let cases = [[1, 1], [1, most], [size, most]].map(|[senders, receivers]| Case { senders, receivers });
        let cases = cases.into_iter().take(if size > 2 { 3 } else { 1 }).collect();
        let mut plan = Plan { hosts, cases, bytes: Vec::new(), repeats: REPEATS, seconds, message_s };
        let mut left_s = seconds;
        for bytes in SIZES {
            left_s -= f64::from(REPEATS + 1) * plan.cases_of(bytes).map(|case| plan.block_s(case, bytes)).sum::<f64>();
            if left_s >= 0.0 || plan.bytes.len() < SIZES_MIN {
                plan.bytes.push(bytes);
            }
        }
        plan
    }

    /// Who sends messages of so many bytes.
    fn cases_of(&self, bytes: usize) -> impl Iterator<Item = Case> {
        self.cases.iter().copied().filter(move |case| case.measures(bytes))
    }

    /// What so many senders take, if all share one medium.
    fn block_s(&self, case: Case, bytes: usize) -> f64 {
        let [start_s, byte_s] = self.message_s;
        let each_s = byte_s * bytes as f64 * f64::from(case.senders) * f64::from(case.receivers);
        f64::from(count(bytes)) * (each_s + 5.0 * start_s + self.telling_s() + MEETING_S)
    }

    /// How long it takes to tell all ranks something, and until the last of these messages has left.
    pub(super) fn telling_s(&self) -> f64 {
        self.hosts.len() as f64 * self.message_s[0]
    }

    /// Everything once.
    pub(super) fn points(&self) -> impl Iterator<Item = (Case, usize)> {
        let all = self.cases.iter().flat_map(|case| self.bytes.iter().map(move |bytes| (*case, *bytes)));
        all.filter(|(case, bytes)| case.measures(*bytes))
    }

    /// How long it takes at least, beside warming up.
    pub(super) fn least_s(&self) -> f64 {
        f64::from(REPEATS_MIN) * self.points().map(|(case, bytes)| self.block_s(case, bytes)).sum::<f64>()
    }
}

/// How often a message of so many bytes is sent to each receiver in a repetition, one time after the other.
pub(super) fn count(bytes: usize) -> u32 {
    (BLOCK_BYTES / bytes).clamp(1, COUNT_MAX) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fit_into_the_time_and_some_are_always_measured() {
        let slow = Plan::new(vec![0, 1, 2, 3], 1.0, [100e-6, 1e-6]);
        let cases = |plan: &Plan| plan.cases.iter().map(|case| [case.senders, case.receivers]).collect::<Vec<_>>();
        assert_eq!((slow.bytes.len(), cases(&slow)), (SIZES_MIN, vec![[1, 1], [1, 3], [4, 3]]));
        let fast = Plan::new(vec![0, 1, 2, 3, 4, 5], 10.0, [100e-6, 1e-8]);
        assert_eq!((fast.bytes.len(), cases(&fast)), (SIZES.len(), vec![[1, 1], [1, 4], [6, 4]]));
        assert_eq!(cases(&Plan::new(vec![0, 1], 1.0, [100e-6, 1e-8])), [[1, 1]]);
        let least_s = |message_s| Plan::new(vec![0, 1], 1.0, message_s).least_s();
        assert!(least_s([100e-6, 1e-8]) < 1.0 && least_s([25e-3, 1e-7]) > 10.0);
    }
}
