//! Which algorithm carries out a call: the one whose predicted cost is lowest.
//!
//! Ranks do not talk about the choice. They choose alike because they know the same: the call, and a [`CostModel`]
//! that all of them must have agreed on before. The prices come from the same schedules in the same order, so they
//! are the same numbers; of equal prices the first in [`Call::algorithms`] is taken.
//!
//! A price is a straight line over sizes, so it is worked out once per algorithm, window and number of segments.

use std::collections::BTreeMap;
use std::fmt;

use super::price::{self, Line};
use super::{Algorithm, Call, allgather, allreduce, alltoall, broadcast, gather, reduce_scatter, scatter};
use crate::cost::CostModel;
use crate::ids::Rank;
use crate::operation::Collective;

/// Numbers of segments that are tried are powers of two up to this.
const SEGMENTS_MAX: u64 = 64;
/// Schedules of so many segments are simulated; from these two it follows what more cost.
const SIMULATED_SEGMENTS: [u64; 2] = [8, 16];
/// Segments shorter than this are not worth their messages on any network; pieces of a gather neither.
const SEGMENT_BYTES_MIN: u64 = 4096;
/// So many ranks are simulated even where there is a formula.
const SIMULATED_RANKS_MAX: u32 = 64;
/// Where ranks share cores, segments are to save more than this leaves of the time: what taking turns costs is not in the price.
const MARGIN_CROWDED: f64 = 0.75;
/// Up to so many ranks need two rounds, which hardly meet.
const IN_STEP_MAX: u32 = 4;
/// How many times as long bytes take where rounds meet; measured among 6 to 8 ranks over 1 Gbit/s: 1.5 to 2.2 (Bruck), 1.7 (doubling), 1.3
/// to 1.7 (halving).
const OUT_OF_STEP: f64 = 1.5;
/// How many times as long bytes take by halves where ranks share cores: half of all comes before any of it is combined, and leaves the
/// caches meanwhile. Measured among 4 and 8 ranks over loopback with 1 MiB: 1.1 to 1.3 times a ring's time.
const BY_HALVES: f64 = 1.1;
/// Schedules with more messages than this do not come into question with more segments.
const MESSAGES_MAX: u64 = 8192;

/// One way to carry out a call, and its price.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Candidate {
    /// The algorithm, with the best of its parameters.
    pub algorithm: Algorithm,
    /// Its predicted time, in seconds.
    pub seconds: f64,
}

/// All candidates for a call. At least one.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    /// In a fixed order.
    pub candidates: Vec<Candidate>,
    /// The place of the one that is taken: the cheapest, unless another is asked for by name. Where ranks share cores, one with segments
    /// is taken only if they save a quarter.
    pub chosen: usize,
}

impl Choice {
    /// The one that is taken.
    pub fn best(&self) -> Candidate {
        self.candidates[self.chosen]
    }

    /// The candidate whose algorithm has this name; the cheaper one where two have.
    pub fn named(&self, name: &str) -> Option<Candidate> {
        let named = self.candidates.iter().filter(|candidate| candidate.algorithm.name() == name);
        named.copied().min_by(|left, right| left.seconds.total_cmp(&right.seconds))
    }
}

impl Choice {
    /// Takes the candidate of this name instead of the cheapest. `false`: there is none.
    pub fn take_named(&mut self, name: &str) -> bool {
        let Some(named) = self.named(name) else { return false };
        let at = self.candidates.iter().position(|candidate| *candidate == named);
        self.chosen = at.unwrap_or(self.chosen);
        true
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.best().algorithm)?;
        for (index, Candidate { algorithm, seconds }) in self.candidates.iter().enumerate() {
            let between = if index == 0 { " (" } else { "; " };
            write!(f, "{between}{algorithm}: {:.1} us", seconds * 1e6)?;
        }
        f.write_str(")")
    }
}

/// The prices of algorithms on one machine, as far as they have been asked for.
#[derive(Clone, Debug)]
pub struct Prices {
    machine: CostModel,
    lines: BTreeMap<Priced, Line>,
}

/// What a line is the price of: the algorithm with its number of pieces for a segment, the number of ranks, the
/// root where it matters.
type Priced = (Collective, Algorithm, u32, Rank, Sequence);

/// How calls follow each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Sequence {
    /// All ranks wait for the end of one before the next.
    Single,
    /// Each rank calls the next as soon as its own part of the one before is done. With a root ranks run ahead of each other.
    InARow,
}

impl Prices {
    /// Prices on `machine`; none is known yet.
    pub fn new(machine: CostModel) -> Self {
        Prices { machine, lines: BTreeMap::new() }
    }

    /// The machine.
    pub fn cost_model(&self) -> &CostModel {
        &self.machine
    }

    /// All candidates for `call` with their prices, and the cheapest of them.
    pub fn choose(&mut self, call: &Call) -> Choice {
        self.choose_in(Sequence::Single, call)
    }

    /// The same for one of several calls.
    pub fn choose_in(&mut self, sequence: Sequence, call: &Call) -> Choice {
        let mut candidates = Vec::new();
        for algorithm in call.algorithms() {
            candidates.extend(self.best_of(sequence, call, algorithm));
        }
        let mut chosen = 0;
        for (index, candidate) in candidates.iter().enumerate() {
            if self.weighed(candidate) < self.weighed(&candidates[chosen]) {
                chosen = index;
            }
        }
        Choice { candidates, chosen }
    }

    /// What `call` costs by `algorithm`, in seconds; `None` if that is no algorithm for this call.
    pub fn seconds(&mut self, call: &Call, algorithm: Algorithm) -> Option<f64> {
        self.seconds_in(Sequence::Single, call, algorithm)
    }

    /// The same for one of several calls.
    pub fn seconds_in(&mut self, sequence: Sequence, call: &Call, algorithm: Algorithm) -> Option<f64> {
        let pieces = algorithm.segment().map_or(1, |segment| call.blocks.longest().div_ceil(segment)).max(1);
        let line = self.line_in_pieces(sequence, call, algorithm, pieces)?;
        Some(line.seconds(mean_bytes(call)) + self.overflow(call, algorithm))
    }

    /// The price of one algorithm in any number of pieces.
    fn line_in_pieces(&mut self, sequence: Sequence, call: &Call, algorithm: Algorithm, pieces: u64) -> Option<Line> {
        let simulated = pieces.min(most_segments(call));
        let [few, more] = SIMULATED_SEGMENTS;
        if simulated > more {
            let lines = [self.line(sequence, call, algorithm, few)?, self.line(sequence, call, algorithm, more)?];
            return Some(in_pieces(lines, pieces));
        }
        let line = self.line(sequence, call, algorithm, simulated)?;
        // Among very many ranks: so many pieces follow each other that each costs what one more does.
        Some(Line { fixed: line.fixed * (pieces as f64 / simulated as f64), ..line })
    }

    /// What one more call by `algorithm` costs in a long row.
    pub fn one_more(&mut self, call: &Call, algorithm: Algorithm) -> Option<f64> {
        let [single, in_a_row] =
            [Sequence::Single, Sequence::InARow].map(|sequence| self.seconds_in(sequence, call, algorithm));
        let (single, in_a_row) = (single?, in_a_row?);
        Some(((price::ROW * in_a_row - single) / (price::ROW - 1.0)).max(0.0))
    }

    /// The algorithm with the number of segments or the window that suits the call best.
    fn best_of(&mut self, sequence: Sequence, call: &Call, algorithm: Algorithm) -> Option<Candidate> {
        let algorithm = self.with_window(call, algorithm);
        let mut best: Option<Candidate> = None;
        for algorithm in segmented(call, algorithm) {
            let candidate = Candidate { algorithm, seconds: self.seconds_in(sequence, call, algorithm)? };
            if best.is_none_or(|best| self.weighed(&candidate) < self.weighed(&best)) {
                best = Some(candidate);
            }
        }
        best
    }

    /// What candidates are compared by. Segments let several ranks work at once; where cores have several ranks each, these take
    /// turns more often, too.
    fn weighed(&self, candidate: &Candidate) -> f64 {
        let takes_turns = self.machine.shares_cores() && candidate.algorithm.segment().is_some();
        candidate.seconds / if takes_turns { MARGIN_CROWDED } else { 1.0 }
    }

    /// Gathers with as many senders at once as the queue in front of the root allows.
    fn with_window(&self, call: &Call, algorithm: Algorithm) -> Algorithm {
        let Some(queue) = self.machine.queue else { return algorithm };
        let others = call.ranks.saturating_sub(1);
        let bytes = call.blocks.longest().saturating_mul(call.element_bytes);
        match algorithm {
            Algorithm::Windowed { .. } => {
                let window = gather::window::senders(queue.gap_ratio, queue.bytes / bytes.max(1) as f64, others);
                Algorithm::Windowed { window }
            }
            // Pieces so short that enough of them for the window of two fit into the queue.
            Algorithm::Granted { .. } => {
                let lowest = gather::window::senders(queue.gap_ratio, 0.0, others).max(2);
                let piece = ((queue.bytes / f64::from(lowest)) as u64).max(SEGMENT_BYTES_MIN).min(bytes.max(1));
                let segment = (piece / call.element_bytes.max(1)).max(1);
                let window = ((queue.bytes / piece as f64) as u32).clamp(1, others.max(1));
                Algorithm::Granted { window, segment }
            }
            other => other,
        }
    }

    /// How many times as long bytes take where messages meet at a port, and the one that is waited for takes longer: those of two rounds of
    /// ranks that share cores, and so are never in the same one, unless the partner is the same in all rounds; and of everybody to everybody.
    fn out_of_step(&self, collective: Collective, algorithm: Algorithm, ranks: u32) -> f64 {
        let is_crowded = self.machine.shares_cores() && ranks > IN_STEP_MAX;
        let meets = match algorithm {
            Algorithm::Bruck | Algorithm::Doubling | Algorithm::Halving => is_crowded,
            Algorithm::Simple => !collective.has_root() && ranks > 2,
            _ => false,
        };
        if meets { OUT_OF_STEP } else { 1.0 }
    }

    /// How many times as long all bytes take where a rank's share of the caches is too small for what comes at a time.
    fn out_of_cache(&self, algorithm: Algorithm, ranks: u32) -> f64 {
        let by_halves = algorithm == Algorithm::Halving && ranks > 2;
        if by_halves && self.machine.shares_cores() { BY_HALVES } else { 1.0 }
    }

    /// What it costs if more bytes are sent to one rank at once than the queue in front of it holds: the transport
    /// waits for its timer (Tam and Wang 5.2).
    fn overflow(&self, call: &Call, algorithm: Algorithm) -> f64 {
        let Some(queue) = self.machine.queue else { return 0.0 };
        let senders = converging(call.collective, algorithm, call.ranks);
        // Up to the gap ratio, senders do not fill the queue at all.
        let excess = (f64::from(senders) - queue.gap_ratio).max(0.0);
        if excess * mean_bytes(call) > queue.bytes { queue.timeout } else { 0.0 }
    }

    /// The price of one algorithm in so many pieces, per byte of a block (or of the whole).
    fn line(&mut self, sequence: Sequence, call: &Call, algorithm: Algorithm, pieces: u64) -> Option<Line> {
        let keeps_order = call.collective == Collective::Reduce && !call.is_commutative;
        let root = match self.machine.hosts {
            _ if keeps_order => call.root,
            // Where it is within its host.
            Some(hosts) => Rank(call.root.0 % hosts.ranks.max(1)),
            None => Rank(0),
        };
        // Who is to run ahead needs the core of those who are behind.
        let sequence = if self.machine.shares_cores() { Sequence::Single } else { sequence };
        // An operator that is not commutative takes other ways only in a reduction; `algorithms` sees to the rest.
        let key = (call.collective, algorithm.with_segment(pieces), call.ranks, root, sequence);
        if let Some(line) = self.lines.get(&key) {
            return Some(*line);
        }
        // Formulas know neither hosts nor cores that ranks share. Among very many ranks there is no time for more.
        let is_plain = self.machine.hosts.is_none() && !self.machine.shares_cores() && sequence == Sequence::Single;
        let formula = formula(call.collective, algorithm, &self.machine, call.ranks);
        let line = match formula.filter(|_| is_plain || call.ranks > SIMULATED_RANKS_MAX) {
            Some(line) => line,
            None => {
                // A call of nominal size: as many pieces, each with an element for every block of a ring.
                let segment = u64::from(call.ranks);
                let nominal = Call { root, ..Call::new(call.collective, call.ranks, pieces * segment, 1) };
                let nominal = Call { is_commutative: call.is_commutative, ..nominal };
                let algorithm = algorithm.with_segment(if pieces == 1 { 0 } else { segment });
                let schedules = (0..call.ranks).map(|rank| nominal.schedule(algorithm, Rank(rank)).map(Into::into));
                let schedules = schedules.collect::<Option<Vec<_>>>()?;
                let bytes = (pieces * segment) as f64;
                let line = match sequence {
                    Sequence::Single => price::line(&schedules, 1.0, bytes, &self.machine)?,
                    Sequence::InARow => price::line_in_a_row(&schedules, 1.0, bytes, &self.machine)?,
                };
                let line =
                    Line { per_byte: line.per_byte * self.out_of_step(call.collective, algorithm, call.ranks), ..line };
                let crowding = price::crowding(&schedules, 1.0, bytes, &self.machine);
                let line = crowding.map_or(line, |crowding| crowding.line(line));
                let line = Line { per_byte: line.per_byte * self.out_of_cache(algorithm, call.ranks), ..line };
                // Copies are free in a simulation.
                let copies = copies(call.collective, algorithm, call.ranks) * self.machine.combine;
                Line { per_byte: line.per_byte + copies, ..line }
            }
        };
        self.lines.insert(key, line);
        Some(line)
    }
}

/// The price in so many pieces, given those in [`SIMULATED_SEGMENTS`]. In a pipeline one piece more costs a message more; and of
/// the bytes all but those of the pieces that fill it are on their way at once.
fn in_pieces([few, more]: [Line; 2], pieces: u64) -> Line {
    let [few_pieces, more_pieces] = SIMULATED_SEGMENTS.map(|pieces| pieces as f64);
    let pieces = pieces as f64;
    let per_piece = (more.fixed - few.fixed) / (more_pieces - few_pieces);
    let filling = (few.per_byte - more.per_byte) / (1.0 / few_pieces - 1.0 / more_pieces);
    Line {
        fixed: (more.fixed + per_piece * (pieces - more_pieces)).max(0.0),
        per_byte: (more.per_byte + filling * (1.0 / pieces - 1.0 / more_pieces)).max(0.0),
    }
}

/// How many ranks send to one at once, if nothing but the queue in front of it limits them; else 0.
pub(super) fn converging(collective: Collective, algorithm: Algorithm, ranks: u32) -> u32 {
    let others = ranks.saturating_sub(1);
    match (collective, algorithm) {
        (Collective::Gather, Algorithm::Simple) => others,
        (Collective::Allgather | Collective::Allreduce | Collective::Alltoall, Algorithm::Serial) => others,
        (Collective::Allgather | Collective::Allreduce, Algorithm::Simple) => others,
        // Half of the blocks come with the largest subtree, the others beside it.
        (Collective::Allgather | Collective::Gather, Algorithm::Binomial { .. }) => others / 2,
        (Collective::Alltoall | Collective::ReduceScatter, Algorithm::Pairwise { window: 0 }) => others,
        (Collective::Gather, Algorithm::Windowed { window }) => window.min(others),
        _ => 0,
    }
}

/// The algorithm with each number of segments that comes into question.
fn segmented(call: &Call, algorithm: Algorithm) -> Vec<Algorithm> {
    let mut all = vec![algorithm];
    let has_segments = algorithm.with_segment(1) != algorithm.with_segment(0);
    if !has_segments || matches!(call.collective, Collective::Gather | Collective::Scatter) {
        return all;
    }
    let count = call.blocks.longest();
    let mut segments = 2;
    while segments <= most_segments(call) && count / segments * call.element_bytes >= SEGMENT_BYTES_MIN {
        all.push(algorithm.with_segment(count.div_ceil(segments)));
        segments *= 2;
    }
    all
}

/// The most segments that are tried, so that schedules stay short among many ranks.
fn most_segments(call: &Call) -> u64 {
    (MESSAGES_MAX / u64::from(call.ranks)).clamp(1, SEGMENTS_MAX)
}

/// The bytes that a price is per byte of: of a block, in the mean where blocks differ.
fn mean_bytes(call: &Call) -> f64 {
    let total = call.blocks.total(call.ranks) as f64;
    total / f64::from(call.ranks) * call.element_bytes as f64
}

/// How many times a block's bytes are copied on each rank.
fn copies(collective: Collective, algorithm: Algorithm, ranks: u32) -> f64 {
    match (collective, algorithm) {
        (Collective::Allgather, Algorithm::Bruck) => allgather::bruck::copies(ranks),
        (Collective::Alltoall, Algorithm::Bruck) => alltoall::bruck::copies(ranks),
        (Collective::Alltoall, Algorithm::Serial) => alltoall::serial::copies(ranks),
        _ => 0.0,
    }
}

/// Prices known without a simulation, above all those of algorithms whose messages grow with the square of the
/// number of ranks. They equal what a simulation finds, but for the lower bounds of pairwise exchanges
/// among many ranks, for rounds of Bruck's alltoall that need not wait, and for copies, which are free there.
fn formula(collective: Collective, algorithm: Algorithm, machine: &CostModel, ranks: u32) -> Option<Line> {
    let is_large = u64::from(ranks) * u64::from(ranks) > MESSAGES_MAX;
    Some(match (collective, algorithm) {
        (Collective::Allgather, Algorithm::Bruck) => {
            let line = allgather::bruck::price(machine, ranks);
            Line { per_byte: line.per_byte + copies(collective, algorithm, ranks) * machine.combine, ..line }
        }
        (Collective::Alltoall, Algorithm::Bruck) if is_large => {
            let line = alltoall::bruck::price(machine, ranks);
            Line { per_byte: line.per_byte + copies(collective, algorithm, ranks) * machine.combine, ..line }
        }
        (Collective::Allgather, Algorithm::Ring) => allgather::ring::price(machine, ranks),
        (Collective::Allreduce, Algorithm::Ring) => allreduce::ring::price(machine, ranks),
        (Collective::Alltoall, Algorithm::Pairwise { window: 1 }) => alltoall::pairwise::price(machine, ranks),
        (Collective::Alltoall, Algorithm::Pairwise { window: 0 }) if is_large => {
            alltoall::pairwise::price_at_once(machine, ranks)
        }
        (Collective::Broadcast, Algorithm::Serial) => broadcast::serial::price(machine, ranks),
        (Collective::ReduceScatter, Algorithm::Pairwise { window }) if is_large => {
            reduce_scatter::pairwise::price(machine, ranks, window)
        }
        (Collective::ReduceScatter, Algorithm::Ring) => reduce_scatter::ring::price(machine, ranks),
        (Collective::Scatter, Algorithm::Serial) => scatter::serial::price(machine, ranks),
        _ => return None,
    })
}
