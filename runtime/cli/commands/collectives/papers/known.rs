//! The models' parameters, from messages in pairs and the cluster model's trials. Pure.

use std::collections::{BTreeMap, BTreeSet};

use lathide_models::BadParameter;
use lathide_models::cluster::{Cost, Line, Packet, Parameters, Transfer};
use lathide_models::fit::cluster::survey::{Cluster, CostFit};
use lathide_models::fit::cluster::{RoundTrip, transfer};
use lathide_models::fit::{by_size, hyperbolic};
use lathide_models::hyperbolic::{Block, Estimate, Network};

use super::plan::{Event, Message, Seen};

/// All that is known of the link before an operation is measured.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Known {
    /// The cluster model's parameters, without a buffer: that depends on the packet.
    pub(super) cluster: Parameters,
    /// The longest message that they were measured with, which longer ones are cut into.
    pub(super) packet_bytes: usize,
    pub(super) network: Network,
    /// How much g_s / g_r may be wrong: the errors of both at sizes they were not fitted to.
    pub(super) gaps_error: f64,
    /// Its a_W, a_C, a_L, then b_W, b_C.
    pub(super) shares: Shares,
    /// (a', b') of so many pairs at once.
    pub(super) pairs: BTreeMap<u32, Block>,
    /// b of as many pairs, both ways at once.
    pub(super) both_ways: BTreeMap<u32, f64>,
    /// What they were fitted to.
    pub(super) seen: Vec<Seen>,
    /// What could not be found out.
    pub(super) notes: Vec<String>,
}

/// What the parts of a message's way take: the workstation, the network, and the delay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Shares {
    pub(super) a_w_s: f64,
    pub(super) a_c_s: f64,
    pub(super) a_l_s: f64,
    pub(super) b_w_s_per_byte: f64,
    pub(super) b_c_s_per_byte: f64,
}

/// The medium limits several pairs at once if a long message takes so many times that of one pair.
const SHARED_FROM: f64 = 1.25;
/// And the workstation's own time per byte is hidden behind the medium's unless it is so many times that. On a link that is
/// a straight line, the b of a hyperbola is some 10 % too large, that of one pair more than that of many.
const VISIBLE_FROM: f64 = 1.3;

impl Known {
    /// # Errors
    /// A text, if there is too little to go by.
    pub(super) fn new(events: &[Event], cluster: Option<&Cluster>) -> Result<Self, String> {
        let seen = |event: &Event| if let Event::Pairs(seen) = event { Some(*seen) } else { None };
        let all: Vec<Seen> = events.iter().filter_map(seen).collect();
        let overhead_s = events.iter().find_map(|event| if let Event::Overhead(s) = event { Some(*s) } else { None });
        let (both_ways, seen): (Vec<Seen>, Vec<Seen>) = faster(&all).into_iter().partition(|seen| seen.both_ways);
        let both_ways = pairs(&both_ways).into_iter().map(|(pairs, block)| (pairs, block.b_s_per_byte())).collect();
        let pairs = pairs(&seen);
        let one = *pairs.get(&1).ok_or("messages between two ranks at a time took no time that can be fitted")?;
        let most = pairs.last_key_value().map_or((1, one), |(pairs, block)| (*pairs, *block));
        let shares = shares(one, most, overhead_s).map_err(|bad| bad.to_string())?;
        let cluster = cluster.ok_or("nothing was measured of the cluster model")?;
        let mut notes = Vec::new();
        let parameters = parameters(cluster, &seen, &mut notes)?;
        Ok(Known {
            cluster: parameters,
            packet_bytes: cluster.packet_bytes,
            gaps_error: [cluster.g_s, cluster.g_r].into_iter().filter_map(|gap| gap?.median_error).sum(),
            network: shares.network().map_err(|bad| bad.to_string())?,
            shares,
            pairs,
            both_ways,
            seen: all,
            notes,
        })
    }

    /// What a packet costs where so many processors take part in an idle network: without what others' packets add to L.
    ///
    /// # Errors
    /// If a cost is too large for a number.
    pub(super) fn packet(&self, bytes: usize, processors: u32) -> Result<Packet, BadParameter> {
        let transfer = Transfer { aggregate_bytes_per_s: None, ..self.cluster.transfer.clone() };
        Parameters { transfer, ..self.cluster.clone() }.packet(bytes as f64, processors)
    }

    /// The network of ranks that send while they receive. Where a medium is shared, both ways share it too.
    ///
    /// # Errors
    /// If a parameter is no number.
    pub(super) fn duplex(&self, ranks: u32) -> Result<Network, BadParameter> {
        let b_s_per_byte = self.both_ways.get(&(ranks / 2)).filter(|_| self.shares.b_c_s_per_byte == 0.0);
        let b_w_s_per_byte = b_s_per_byte.map_or(self.shares.b_w_s_per_byte, |b| b.max(self.shares.b_w_s_per_byte));
        Shares { b_w_s_per_byte, ..self.shares }.network()
    }

    /// What a message takes, for the operations between the measured ones.
    pub(super) fn message(&self) -> Message {
        let Shares { a_w_s, a_c_s, a_l_s, b_w_s_per_byte, b_c_s_per_byte } = self.shares;
        Message {
            a_s: 2.0 * a_w_s + a_c_s + a_l_s,
            b_s_per_byte: b_w_s_per_byte.max(b_c_s_per_byte),
            overhead_s: a_w_s,
        }
    }

    /// Whether all messages share one medium, as far as was seen; `None` if no two pairs were measured at once.
    pub(super) fn is_shared(&self) -> Option<bool> {
        (self.pairs.len() > 1).then_some(self.shares.b_c_s_per_byte > 0.0)
    }
}

impl Shares {
    fn network(&self) -> Result<Network, BadParameter> {
        let workstation = Block::new(self.a_w_s, self.b_w_s_per_byte)?;
        Network::new(workstation, Block::new(self.a_c_s, self.b_c_s_per_byte)?, self.a_l_s)
    }
}

/// The faster half of the repetitions: what disturbs only prolongs, and these few say what all predictions follow from.
fn faster(seen: &[Seen]) -> Vec<Seen> {
    let mut alike: BTreeMap<(u32, bool, usize), Vec<Seen>> = BTreeMap::new();
    for seen in seen {
        alike.entry((seen.pairs, seen.both_ways, seen.bytes)).or_default().push(*seen);
    }
    let half = |mut repetitions: Vec<Seen>| {
        repetitions.sort_by(|left, right| left.time_s.total_cmp(&right.time_s));
        repetitions.truncate(repetitions.len().div_ceil(2));
        repetitions
    };
    alike.into_values().flat_map(half).collect()
}

/// The hyperbola of each number of pairs.
fn pairs(seen: &[Seen]) -> BTreeMap<u32, Block> {
    let counts: BTreeSet<u32> = seen.iter().map(|seen| seen.pairs).collect();
    let block = |pairs: u32| {
        let own = seen.iter().filter(|seen| seen.pairs == pairs);
        let times: Vec<(usize, f64)> = own.map(|seen| (seen.bytes, seen.time_s)).collect();
        let fitted = by_size::fit(&times, hyperbolic::fit)?.model;
        Some((pairs, Block::new(fitted.a_s, fitted.b_s_per_byte).ok()?))
    };
    counts.into_iter().filter_map(block).collect()
}

/// Eq. (17) if the medium limits the `most` pairs at once; otherwise the ports do, and nothing is shared. The
/// processor's part of `a` is what was measured beside; the rest is delay.
fn shares(one: Block, (pairs, many): (u32, Block), overhead_s: Option<f64>) -> Result<Shares, BadParameter> {
    let (n, b_one, b_many) = (f64::from(pairs), one.b_s_per_byte(), many.b_s_per_byte());
    let (mut a_c_s, mut b_c_s_per_byte, mut b_w_s_per_byte) = (0.0, 0.0, b_one);
    if pairs > 1 {
        // Noise may put a' and b' beyond what the equations can have.
        let a_s = many.a_s().clamp(one.a_s(), n * one.a_s());
        if b_many > SHARED_FROM * b_one {
            let many = Block::new(a_s, b_many.min(n * b_one))?;
            let network = Estimate::of_pairs(one, pairs, many)?.network;
            (a_c_s, b_c_s_per_byte) = (network.a_s(), network.b_s_per_byte());
            if b_w_s_per_byte < VISIBLE_FROM * b_c_s_per_byte {
                b_w_s_per_byte = b_c_s_per_byte;
            }
        } else {
            a_c_s = (a_s - one.a_s()) / (n - 1.0);
        }
    }
    let rest_s = one.a_s() - a_c_s;
    let a_w_s = overhead_s.map_or(0.5 * rest_s, |overhead_s| overhead_s.clamp(0.0, 0.5 * rest_s));
    Ok(Shares { a_w_s, a_c_s, a_l_s: rest_s - 2.0 * a_w_s, b_w_s_per_byte, b_c_s_per_byte })
}

/// The cluster model's parameters; `L(m, p)` by the pairs' round trips, of which p is two for each pair.
fn parameters(cluster: &Cluster, seen: &[Seen], notes: &mut Vec<String>) -> Result<Parameters, String> {
    let mut cost = |symbol: &str, fit: Option<CostFit>| match fit {
        Some(fit) => fit.cost,
        None => {
            notes.push(format!("{symbol} drowned in noise and counts as nothing"));
            lathide_models::fit::cluster::Cost::default()
        }
    };
    let (o_s, o_r, u_r) = (cost("O_s", cluster.o_s), cost("O_r", cluster.o_r), cost("U_r", cluster.u_r));
    let need = |symbol: &str, fit: Option<CostFit>| match fit {
        Some(fit) => Ok(fit.cost),
        None => Err(format!("{symbol} could not be measured: {}", cluster.notes.join("; "))),
    };
    let (g_s, g_r) = (need("g_s", cluster.g_s)?, need("g_r", cluster.g_r)?);
    let trip =
        |seen: &Seen| RoundTrip { bytes: seen.bytes as u64, processors: 2 * seen.pairs, time_s: 2.0 * seen.time_s };
    let trips: Vec<RoundTrip> = seen.iter().map(trip).collect();
    let fitted = transfer(&trips, o_s + o_r + u_r, Some(g_s)).map_err(|error| format!("L: {error}"))?.model;
    let linear = |cost: lathide_models::fit::cluster::Cost| Cost::linear(Line::new(cost.startup_s, cost.s_per_byte));
    let alone = Cost::linear(Line::new(fitted.startup_s, fitted.s_per_byte));
    let costs = || -> Result<Parameters, BadParameter> {
        Ok(Parameters {
            send: linear(o_s)?,
            send_gap: linear(g_s)?,
            transfer: Transfer {
                alone: alone?,
                per_processor_s: fitted.per_processor_s,
                aggregate_bytes_per_s: fitted.saturation.map(|saturation| saturation.bytes_per_s),
            },
            receive_gap: linear(g_r)?,
            receive: linear(o_r)?,
            user_receive: linear(u_r)?,
            // The library receives into the program's buffer.
            copy_cache_to_cache: Cost::constant(0.0)?,
            copy_cache_to_memory: Cost::constant(0.0)?,
            copy_memory_to_memory: Cost::constant(0.0)?,
            buffer_packets: 0.0,
        })
    };
    costs().map_err(|bad| bad.to_string())
}
