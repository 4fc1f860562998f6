//! All that a run found out: plain data, as in the JSON object.

use crate::report::description::MachineDescription;
use serde::Serialize;
use serde_json::{Value, json};

use super::analysis;
use super::contention::Found;
use super::plan::{Block, Kind, Probe};
use super::results::{Loaded, ProcessorUse, Row};
use super::sending;
use crate::commands::common::compared::{Compared, median_interval};
use crate::commands::common::console::Link;
use crate::commands::common::raw::{CALL_BYTES, CONGESTION_CONTROL};
use lathide_models::fit::by_size::{self, Judged};
use lathide_models::fit::cluster::survey::Cluster;
use lathide_models::fit::hyperbolic::{self, Hyperbolic};
use lathide_models::fit::segmented::{self, Segmented};

/// All that a run of `lathide link` found out.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) machine: MachineDescription,
    pub(super) link: Link,
    /// How raw TCP was used; `stream_call_bytes` are those per write and read of a stream.
    pub(super) raw: Value,
    /// The first look at the link, by which the sizes were chosen.
    pub(super) probe: Probe,
    /// Repetitions, at what was repeated least.
    pub(super) repeats: usize,
    /// The share of all processors' time that other programs had; unknown on some systems.
    pub(super) background_load: Option<f64>,
    pub(super) latency: Vec<Row>,
    pub(super) bandwidth: Vec<Row>,
    pub(super) message_rate: Option<Row>,
    pub(super) exchange: Vec<Row>,
    /// Of messages one way.
    pub(super) overlap: Vec<Row>,
    /// Of messages both ways at once.
    pub(super) exchange_overlap: Vec<Row>,
    pub(super) under_load: Option<Loaded>,
    pub(super) processor: ProcessorUse,
    pub(super) fragments: Vec<Row>,
    /// Fitted to lathide's one-way times.
    pub(super) hyperbolic: Option<Judged<Hyperbolic>>,
    /// The extension beside it: a piecewise linear time.
    pub(super) segmented: Option<Judged<Segmented>>,
    /// The parameters of the cluster model.
    pub(super) cluster: Option<Cluster>,
    /// Of several pairs at once.
    pub(super) contention: Option<Found>,
    /// Until messages have left the host.
    pub(super) sending: Option<sending::Found>,
    /// lathide against itself, and against raw TCP, with the shortest messages.
    pub(super) comparisons: Vec<Compared>,
    /// Of every median here, `_min` and `_max` are the interval, with this probability; null with fewer than six repetitions.
    pub(super) median_interval: Value,
    /// What each node found out in every block, in the order of measurement; fragments and pairs are not among it.
    pub(super) rounds: Vec<Block>,
    /// What there was no time for.
    #[serde(skip)]
    pub(super) warnings: Vec<String>,
}

impl Outcome {
    /// `None` if nothing was measured.
    pub(super) fn new(
        link: Link,
        probe: Probe,
        blocks: &[Block],
        fragments: Vec<Row>,
        cluster: Option<Cluster>,
        background_load: Option<f64>,
    ) -> Option<Self> {
        let latency = analysis::latency(blocks);
        let times = analysis::times(blocks);
        let repeats = latency.iter().map(|latency| latency.repeats).min()?;
        Some(Outcome {
            machine: MachineDescription::here(),
            link,
            raw: json!({
                "congestion_control": CONGESTION_CONTROL, "nodelay": true, "stream_call_bytes": CALL_BYTES,
            }),
            probe,
            repeats,
            background_load,
            latency,
            bandwidth: analysis::bandwidth(blocks),
            message_rate: analysis::rate(blocks),
            exchange: analysis::exchange(blocks),
            overlap: analysis::overlap(blocks, Kind::Overlap),
            exchange_overlap: analysis::overlap(blocks, Kind::ExchangeOverlap),
            under_load: analysis::loaded(blocks),
            processor: analysis::processor(blocks),
            fragments,
            hyperbolic: by_size::fit(&times, hyperbolic::fit),
            segmented: by_size::fit(&times, segmented::fit),
            cluster,
            contention: None,
            sending: None,
            comparisons: analysis::comparisons(blocks),
            median_interval: median_interval(repeats),
            rounds: blocks.to_vec(),
            warnings: Vec::new(),
        })
    }
}
