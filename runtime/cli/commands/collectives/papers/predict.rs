//! What the papers predict, and which points there is time for. Pure.

use lathide_models::BadParameter;
use lathide_models::cluster::{self, Window, broadcast_postal_s, broadcast_s, gather_bound_s};

use super::known::Known;
use super::plan::{Pattern, Point, REPEATS_MIN};

/// Blocks of a gather, as in Figs. 4 and 5 of Tam and Wang.
const BLOCKS: [usize; 6] = [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// The packets of a broadcast, and their size.
const PACKETS: [u32; 4] = [1, 4, 16, 64];
pub(super) const PACKET_BYTES: usize = 4 << 10;
/// Messages of Stoica, Sultan and Keyes: Figs. 11, 12 and 14 end at 64 KB.
const MESSAGES: [usize; 4] = [8, 1 << 10, 8 << 10, 64 << 10];
const NEIGHBOURS: [u32; 3] = [1, 2, 4];
/// What an operation takes at least, in seconds, beside its prediction: a barrier, and telling the moment.
const LEAST_S: f64 = 5e-3;
/// So much longer an operation may take than predicted.
const SPARE: f64 = 1.3;
/// What TCP makes of the bytes in a queue, over Ethernet: 1448 of 1500.
const PAYLOAD: f64 = 1448.0 / 1500.0;
/// A quotient of two gaps that is a whole number but for so much is that number: they are measured. Or for as much as they
/// may be wrong.
const GAPS: f64 = 0.1;

/// A gather as the cluster model has it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Gather {
    /// i.
    pub(super) packets_each: u64,
    pub(super) window: Window,
    /// How many send at a time by Algorithm 1: w, or all if the buffer holds everything.
    pub(super) senders: u32,
    /// Eq. (8), with `C1 = O_s + L - g_r`.
    pub(super) bound_s: f64,
    /// The same with `C1 = O_s + L`.
    pub(super) loose_s: f64,
}

/// Times of a broadcast in packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Packets {
    /// Eq. (1).
    pub(super) postal_s: f64,
    /// Eq. (2).
    pub(super) cluster_s: f64,
}

/// Times of a neighbour exchange.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Exchange {
    /// As printed.
    pub(super) printed_s: f64,
    /// With rule 3 for the workstation too.
    pub(super) rule_3_s: f64,
}

/// What is measured by one set of nodes, and what a round takes. Operations whose messages share a port in different ways
/// have different nodes, and so connections: TCP's congestion control remembers what a connection had of it.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Job {
    pub(super) points: Vec<Point>,
    pub(super) round_s: f64,
}

/// There and back, so that simple and windowed gathers have their turns.
pub(super) const PASSES: u32 = 2;

/// The models with a queue in front of the receiver, if there is one that limits.
pub(super) struct Prediction<'a> {
    pub(super) known: &'a Known,
    pub(super) queue_bytes: Option<f64>,
}

impl Prediction<'_> {
    /// A gather of blocks of so many bytes.
    ///
    /// The first packet's time on the receiver's port is in L, and again among the `p' i g_r` of eq. (8): C1, its arrival
    /// at the switch, has it no more. Nor has it what other packets add to L, since all of them are counted.
    pub(super) fn gather(&self, ranks: u32, bytes: usize) -> Result<Gather, BadParameter> {
        let packet_bytes = bytes.min(self.known.packet_bytes);
        let packets_each = bytes.div_ceil(packet_bytes) as u64;
        let packet = self.known.packet(packet_bytes, ranks)?;
        let g_r = packet.receive_gap_s;
        let ratio = packet.send_gap_s / g_r;
        let whole = ratio.round().max(1.0);
        let g_s = if (ratio / whole - 1.0).abs() <= GAPS.max(self.known.gaps_error) {
            whole * g_r
        } else {
            packet.send_gap_s
        };
        let all = f64::from(ranks - 1) * packets_each as f64;
        // Without a queue that limits, it holds everything.
        let buffer = self.queue_bytes.map_or(all + 1.0, |bytes| PAYLOAD * bytes / packet_bytes as f64);
        let window = cluster::window(ranks, g_s, g_r, buffer, packets_each)?;
        let first_s = packet.send_s + packet.transfer_s;
        let last_s = packet.receive_s + packet.user_receive_s;
        let bound_s = |first_s| gather_bound_s(ranks, packets_each, g_r, first_s, last_s);
        Ok(Gather {
            packets_each,
            window,
            senders: cluster::Plan::new(ranks, window.senders, buffer, packets_each)?.window(),
            bound_s: bound_s((first_s - g_r).max(0.0))?,
            loose_s: bound_s(first_s)?,
        })
    }

    /// A broadcast of so many packets of so many bytes.
    pub(super) fn packets(&self, ranks: u32, packets: u32, bytes: usize) -> Result<Packets, BadParameter> {
        let packet = self.known.cluster.packet(bytes as f64, ranks)?;
        let postal_s = broadcast_postal_s(packets.into(), ranks, packet.send_gap_s, packet.one_way_s()?)?;
        Ok(Packets { postal_s, cluster_s: broadcast_s(packets.into(), ranks, &packet)? })
    }

    /// A broadcast of one message, down the tree or to one after another.
    pub(super) fn broadcast(&self, pattern: Pattern, ranks: u32, bytes: usize) -> Result<f64, BadParameter> {
        let network = &self.known.network;
        let block = match pattern {
            Pattern::Serial => network.broadcast_serial(ranks)?,
            _ => network.broadcast_tree(ranks)?,
        };
        block.time_s(bytes as f64)
    }

    /// An exchange with so many neighbours.
    pub(super) fn exchange(&self, ranks: u32, neighbours: u32, bytes: usize) -> Result<Exchange, BadParameter> {
        let network = self.known.duplex(ranks)?;
        let time_s = |block: lathide_models::hyperbolic::Block| block.time_s(bytes as f64);
        Ok(Exchange {
            printed_s: time_s(network.neighbours(ranks, neighbours)?)?,
            rule_3_s: time_s(network.neighbours_by_rule_3(ranks, neighbours)?)?,
        })
    }

    /// About what a point takes.
    fn seconds(&self, ranks: u32, point: &Point) -> Result<f64, BadParameter> {
        let bytes = point.bytes;
        Ok(match point.pattern {
            Pattern::Simple | Pattern::Windowed { .. } => self.gather(ranks, bytes)?.loose_s,
            Pattern::Packets { packets } => {
                // On a shared medium all copies of a packet follow each other.
                let all = f64::from(packets) * f64::from(ranks - 1) * self.known.shares.b_c_s_per_byte * bytes as f64;
                self.packets(ranks, packets, bytes)?.postal_s.max(all)
            }
            pattern @ (Pattern::Tree | Pattern::Serial) => self.broadcast(pattern, ranks, bytes)?,
            Pattern::Exchange { neighbours } => self.exchange(ranks, neighbours, bytes)?.rule_3_s,
        })
    }

    /// Simple gathers, windowed ones, broadcasts, and exchanges with each number of neighbours, among so many ranks. Where no window limits, the windowed gather
    /// is the simple one.
    fn all(&self, ranks: u32) -> Result<Vec<Vec<Point>>, BadParameter> {
        let mut windowed = Vec::new();
        for bytes in BLOCKS {
            let window = self.gather(ranks, bytes)?.senders;
            windowed.push(Point { pattern: Pattern::Windowed { window }, bytes });
        }
        let all = Pattern::Windowed { window: ranks - 1 };
        let limits = windowed.iter().any(|point| point.pattern != all);
        let simple = BLOCKS.iter().filter(|_| limits).map(|bytes| Point { pattern: Pattern::Simple, bytes: *bytes });
        Ok([vec![simple.collect(), windowed, broadcasts()], exchanges(ranks)].concat())
    }

    /// The points of each job among so many ranks, as far as there is time for the least number of repetitions: what takes
    /// longest goes first. With what a round takes.
    pub(super) fn jobs(&self, ranks: u32, seconds: f64) -> Result<Vec<Job>, BadParameter> {
        let round_s = seconds / f64::from(PASSES * (REPEATS_MIN + 1));
        let jobs = self.all(ranks)?;
        let (mut all, least) = (Vec::new(), jobs.len());
        for (job, points) in jobs.into_iter().enumerate() {
            for point in points {
                all.push((job, SPARE * self.seconds(ranks, &point)? + LEAST_S, point));
            }
        }
        let mut spent_s: f64 = all.iter().map(|(_, seconds, _)| seconds).sum();
        while spent_s > round_s && all.len() > least {
            let longest = (0..all.len()).max_by(|left, right| all[*left].1.total_cmp(&all[*right].1));
            spent_s -= longest.map_or(spent_s, |longest| all.remove(longest).1);
        }
        let mut jobs = vec![Job::default(); least];
        for (job, seconds, point) in all {
            jobs[job].points.push(point);
            jobs[job].round_s += seconds;
        }
        jobs.retain(|job| !job.points.is_empty());
        Ok(jobs)
    }
}

fn broadcasts() -> Vec<Point> {
    let packets = PACKETS.map(|packets| Point { pattern: Pattern::Packets { packets }, bytes: PACKET_BYTES });
    let messages = [Pattern::Tree, Pattern::Serial].into_iter().flat_map(messages);
    packets.into_iter().chain(messages).collect()
}

fn exchanges(ranks: u32) -> Vec<Vec<Point>> {
    let neighbours = NEIGHBOURS.into_iter().filter(|neighbours| *neighbours < ranks);
    neighbours.map(|neighbours| messages(Pattern::Exchange { neighbours }).into()).collect()
}

fn messages(pattern: Pattern) -> [Point; MESSAGES.len()] {
    MESSAGES.map(|bytes| Point { pattern, bytes })
}
