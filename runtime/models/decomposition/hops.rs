//! Communication across several networks joined by routers (section 4.2).

use super::{BadParameter, Channel, at_least_one, at_least_zero, check, time};

/// A communication step that crosses networks: the paper's `f3` term for one of the u networks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Crossing {
    /// `m`: the words of the message.
    pub words: u64,
    /// `l_h`: how many networks it crosses; of several messages the mean.
    pub hops: f64,
    /// `t_h`: what one hop takes on average, in seconds.
    pub hop_s: f64,
}

/// How nodes are joined: of the networks that section 3 lists, those in which every node has a place on a route.
///
/// A hop leads from a node to one that is joined to it directly. On a bus and through a crossbar every other node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topology {
    /// All on one medium.
    Bus,
    /// A switch that joins any two.
    Crossbar,
    /// 2^d nodes, each joined to the d whose number differs in one binary digit.
    Hypercube,
    /// Rows and columns without ends joined, as nearly square as p allows: 12 nodes are 3 x 4, and 7 are a line.
    Mesh,
    /// Each joined to the next, and the last to the first.
    Ring,
    /// A mesh of which each row and column is a ring.
    Torus,
}

impl Topology {
    /// All of them, those of few hops first.
    pub const ALL: [Self; 6] = [Self::Bus, Self::Crossbar, Self::Hypercube, Self::Torus, Self::Mesh, Self::Ring];

    /// `l_h` of the two nodes of `processes` that are farthest from each other (the diameter); 0 of one node alone.
    ///
    /// # Errors
    /// If there are no processes, or those of a hypercube are no power of two.
    pub fn most_hops(self, processes: u32) -> Result<u32, BadParameter> {
        self.has(processes)?;
        let (rows, columns) = sides(processes);
        Ok(match self {
            Self::Bus | Self::Crossbar => u32::from(processes > 1),
            Self::Hypercube => processes.ilog2(),
            Self::Mesh => rows - 1 + (columns - 1),
            Self::Ring => processes / 2,
            Self::Torus => rows / 2 + columns / 2,
        })
    }

    /// `l_h` of two different nodes of `processes`, on average over all of them; 0 of one node alone.
    ///
    /// # Errors
    /// As [`Topology::most_hops`].
    pub fn mean_hops(self, processes: u32) -> Result<f64, BadParameter> {
        self.has(processes)?;
        let (rows, columns) = sides(processes);
        let (r, c, p) = (f64::from(rows), f64::from(columns), f64::from(processes));
        // From one node to all others of a ring; and between all nodes of a line, on average over both ends.
        let around = |nodes: f64| (nodes * nodes / 4.0).floor();
        let along = |nodes: f64| (nodes * nodes - 1.0) / 3.0;
        let to_all_others = match self {
            Self::Bus | Self::Crossbar => p - 1.0,
            Self::Hypercube => f64::from(processes.ilog2()) * p / 2.0,
            Self::Mesh => c * along(r) + r * along(c),
            Self::Ring => around(p),
            Self::Torus => c * around(r) + r * around(c),
        };
        Ok(if processes == 1 { 0.0 } else { to_all_others / (p - 1.0) })
    }

    fn has(self, processes: u32) -> Result<(), BadParameter> {
        let p = at_least_one("p", processes.into())?;
        check("p", p, self != Self::Hypercube || processes.is_power_of_two(), "a power of two for a hypercube")
            .map(drop)
    }
}

/// Rows and columns of a mesh: the factors of `processes` that are closest to each other, the smaller first.
fn sides(processes: u32) -> (u32, u32) {
    let rows = (1..=processes.isqrt()).rev().find(|rows| processes.is_multiple_of(*rows)).unwrap_or(1);
    (rows, processes / rows)
}

impl Channel {
    /// Communication within one network, section 4.2: `f1(t_s) + f2(t_w)`, here `messages t_s + words t_w`, where
    /// `words` is their number in all messages together.
    ///
    /// # Errors
    /// If the result is too large for a number.
    pub fn within_s(&self, messages: u64, words: u64) -> Result<f64, BadParameter> {
        time(messages as f64 * self.start_up_s + words as f64 * self.word_s)
    }

    /// Communication within and across networks, section 4.2: `f1(t_s) + f2(t_w)` and a hop term for each crossing
    /// ([`Channel::cut_through_s`]).
    ///
    /// # Errors
    /// If the hops or their time is not a finite number of at least 0, or the result is too large for a number.
    pub fn across_s(&self, messages: u64, words: u64, crossings: &[Crossing]) -> Result<f64, BadParameter> {
        let mut total = self.within_s(messages, words)?;
        for crossing in crossings {
            total += self.cut_through_s(crossing)?;
        }
        time(total)
    }

    /// A crossing where routers pass a message on while it still comes in: `t_s + l_h t_h + m t_w`. This is what
    /// section 4.2 must mean; see [`hop_as_printed`].
    ///
    /// # Errors
    /// If the hops or their time is not a finite number of at least 0, or the result is too large for a number.
    pub fn cut_through_s(&self, crossing: &Crossing) -> Result<f64, BadParameter> {
        let hop_s = at_least_zero("t_h", crossing.hop_s)?;
        time(self.message_s(crossing.words)? + at_least_zero("l_h", crossing.hops)? * hop_s)
    }

    /// A crossing where every router takes the whole message in before it passes it on:
    /// `t_s + l_h (t_h + m t_w)`.
    ///
    /// # Errors
    /// If the hops or their time is not a finite number of at least 0, or the result is too large for a number.
    pub fn store_and_forward_s(&self, crossing: &Crossing) -> Result<f64, BadParameter> {
        let hop_s = at_least_zero("t_h", crossing.hop_s)?;
        let each_s = hop_s + crossing.words as f64 * self.word_s;
        time(self.start_up_s + at_least_zero("l_h", crossing.hops)? * each_s)
    }
}

/// The hop term exactly as section 4.2 prints it: `t_s + m t_w l_h t_h`.
///
/// It adds a time to a time squared, so it is no time, and its value depends on the unit: a misprint, kept to show
/// how far off it is. Use [`Channel::cut_through_s`].
///
/// # Errors
/// If the hops or their time is not a finite number of at least 0, or the result is too large for a number.
pub fn hop_as_printed(channel: &Channel, crossing: &Crossing) -> Result<f64, BadParameter> {
    let hops = at_least_zero("l_h", crossing.hops)? * at_least_zero("t_h", crossing.hop_s)?;
    at_least_zero("the printed hop term", channel.start_up_s + crossing.words as f64 * channel.word_s * hops)
}
