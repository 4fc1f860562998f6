//! What is found out about a link: plain data, as in the JSON object.

use std::collections::BTreeMap;

use crate::report::summary::Summary;
use serde::Serialize;

/// Whole numbers of a row: `bytes` of a message, and how often it was done per repetition.
pub(super) type Counts = BTreeMap<&'static str, usize>;
/// What one repetition has found out.
pub(super) type Values = Vec<(&'static str, f64)>;

/// What the repetitions with the same counts have found out.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    counts: Counts,
    pub(super) repeats: usize,
    #[serde(flatten)]
    values: BTreeMap<&'static str, Summary>,
}

impl Row {
    /// Repetitions summed up, in the order of their counts: a row of those that have the same ones. Of values that are no
    /// numbers there is none.
    pub(super) fn all(repetitions: impl Iterator<Item = (Counts, Values)>) -> Vec<Self> {
        let mut rows: BTreeMap<Counts, Vec<Values>> = BTreeMap::new();
        repetitions.for_each(|(counts, values)| rows.entry(counts).or_default().push(values));
        let row = |(counts, repetitions): (Counts, Vec<Values>)| {
            let column = |(index, (name, _)): (usize, &(&'static str, f64))| {
                Some((*name, Summary::of(repetitions.iter().map(|values| values[index].1))?))
            };
            let values: Option<_> = repetitions[0].iter().enumerate().map(column).collect();
            Some(Row { counts, repeats: repetitions.len(), values: values? })
        };
        rows.into_iter().filter_map(row).collect()
    }

    /// Of a message.
    pub(super) fn bytes(&self) -> usize {
        self.counts["bytes"]
    }

    /// The value of this name, over all repetitions.
    pub(super) fn get(&self, name: &str) -> Summary {
        self.values[name]
    }
}

/// One-way times of 8 bytes, alone and beside a long message to the same rank: quantiles over all repetitions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Loaded {
    /// Of the long message.
    pub(super) bytes: usize,
    pub(super) idle_p50_s: f64,
    pub(super) idle_p99_s: f64,
    pub(super) p50_s: f64,
    pub(super) p99_s: f64,
    /// `p50_s / idle_p50_s`.
    pub(super) p50_ratio: f64,
    /// `p99_s / idle_p99_s`.
    pub(super) p99_ratio: f64,
    pub(super) idle_samples: usize,
    pub(super) samples: usize,
}

/// Processor time, of both processes and all their threads.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct ProcessorUse {
    /// Per 8-byte message of a ping-pong.
    pub(super) message: Option<Row>,
    /// Per MiB of a stream.
    pub(super) mib: Option<Row>,
}
