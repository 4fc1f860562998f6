//! A call of a collective, on which all ranks must agree, and the algorithms that can carry it out.

use std::fmt;

use super::blocks::Blocks;
use super::schedule::Schedule;
use super::{allgather, allreduce, alltoall, barrier, broadcast, gather, reduce, reduce_scatter, scan, scatter};
use crate::ids::Rank;
use crate::operation::Collective;

/// What has as many messages, or blocks to sort, as the square of the ranks is for so many ranks at most.
const FEW_RANKS: u32 = 64;

/// An algorithm of a collective, with its parameters. Segments are in elements; 0 means one segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Algorithm {
    /// The binary tree of the hyperbolic paper.
    Binary {
        /// The longest segment.
        segment: u64,
    },
    /// The binomial tree.
    Binomial {
        /// The longest segment; unused by barrier, gather and scatter.
        segment: u64,
    },
    /// Bruck's allgather, and his alltoall.
    Bruck,
    /// The pipelined chain.
    Chain {
        /// The longest segment.
        segment: u64,
    },
    /// The dissemination barrier.
    Dissemination,
    /// Recursive doubling.
    Doubling,
    /// The global operation of the hyperbolic paper.
    Global,
    /// The gather in which the root requests pieces.
    Granted {
        /// Number of pieces in flight.
        window: u32,
        /// The longest piece.
        segment: u64,
    },
    /// Recursive halving.
    Halving,
    /// The pairwise exchange.
    Pairwise {
        /// Number of rounds in progress at once; 0: all.
        window: u32,
    },
    /// The ring.
    Ring,
    /// The root sends to one rank after the other.
    Serial,
    /// All ranks send to the root at once, or, without a root, to each other.
    Simple,
    /// Algorithm 1 of Tam and Wang.
    Windowed {
        /// Number of ranks that send at once.
        window: u32,
    },
}

impl Algorithm {
    /// Its name, without its parameters.
    pub fn name(&self) -> &'static str {
        match self {
            Algorithm::Binary { .. } => "binary",
            Algorithm::Binomial { .. } => "binomial",
            Algorithm::Bruck => "bruck",
            Algorithm::Chain { .. } => "chain",
            Algorithm::Dissemination => "dissemination",
            Algorithm::Doubling => "doubling",
            Algorithm::Global => "global",
            Algorithm::Granted { .. } => "granted",
            Algorithm::Halving => "halving",
            Algorithm::Pairwise { .. } => "pairwise",
            Algorithm::Ring => "ring",
            Algorithm::Serial => "serial",
            Algorithm::Simple => "simple",
            Algorithm::Windowed { .. } => "windowed",
        }
    }

    /// The length of its segments, if it has any.
    pub fn segment(&self) -> Option<u64> {
        match *self {
            Algorithm::Binary { segment }
            | Algorithm::Binomial { segment }
            | Algorithm::Chain { segment }
            | Algorithm::Granted { segment, .. } => Some(segment).filter(|&segment| segment > 0),
            _ => None,
        }
    }

    /// The same with segments of another length, where it has segments.
    pub fn with_segment(self, segment: u64) -> Self {
        match self {
            Algorithm::Binary { .. } => Algorithm::Binary { segment },
            Algorithm::Binomial { .. } => Algorithm::Binomial { segment },
            Algorithm::Chain { .. } => Algorithm::Chain { segment },
            Algorithm::Granted { window, .. } => Algorithm::Granted { window, segment },
            other => other,
        }
    }

    /// The same with another window, where it has one.
    pub fn with_window(self, window: u32) -> Self {
        match self {
            Algorithm::Granted { segment, .. } => Algorithm::Granted { window, segment },
            Algorithm::Pairwise { .. } => Algorithm::Pairwise { window },
            Algorithm::Windowed { .. } => Algorithm::Windowed { window },
            other => other,
        }
    }

    /// Its window, if it has one.
    pub fn window(&self) -> Option<u32> {
        match *self {
            Algorithm::Granted { window, .. } | Algorithm::Pairwise { window } | Algorithm::Windowed { window } => {
                Some(window)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        if let Some(window) = self.window() {
            write!(f, ", window {window}")?;
        }
        if let Some(segment) = self.segment() {
            write!(f, ", segments of {segment}")?;
        }
        Ok(())
    }
}

/// A call: everything that its schedule depends on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Call {
    /// The collective.
    pub collective: Collective,
    /// The number of ranks, at least 1.
    pub ranks: u32,
    /// The root if there is one, otherwise rank 0.
    pub root: Rank,
    /// The elements of each rank's block; for broadcast, reduce, allreduce and scans those of the whole, for alltoall those
    /// for each rank. Gather, scatter, allgather and reduce_scatter allow blocks of different lengths; alltoall too, with
    /// lengths that each rank knows for itself.
    pub blocks: Blocks,
    /// Bytes of an element.
    pub element_bytes: u64,
    /// Whether the operator, if any, is commutative.
    pub is_commutative: bool,
}

impl Call {
    /// A call with `count` elements per rank and root 0. Its operator, if any, is commutative.
    pub fn new(collective: Collective, ranks: u32, count: u64, element_bytes: u64) -> Self {
        let blocks = Blocks::Equal(count);
        Call { collective, ranks, root: Rank(0), blocks, element_bytes, is_commutative: true }
    }

    /// Whether it depends on a root.
    pub fn has_root(&self) -> bool {
        self.collective.has_root()
    }

    /// The schedule of `rank` for `algorithm`. `None` if the algorithm does not apply: it belongs to another
    /// collective, or needs a commutative operator or blocks of one length.
    pub fn schedule(&self, algorithm: Algorithm, rank: Rank) -> Option<Schedule> {
        use Algorithm as By;
        let Call { ranks, root, ref blocks, is_commutative, .. } = *self;
        let count = blocks.longest();
        Some(match (self.collective, algorithm) {
            (Collective::Allgather, By::Bruck) => allgather::bruck::schedule(rank, ranks, blocks),
            (Collective::Allgather, By::Doubling) => allgather::doubling::schedule(rank, ranks, blocks),
            (Collective::Allgather, By::Ring) => allgather::ring::schedule(rank, ranks, blocks),
            (Collective::Allgather, By::Binomial { .. }) => allgather::tree::binomial(rank, ranks, blocks),
            (Collective::Allgather, By::Simple) => allgather::simple::schedule(rank, ranks, blocks),
            (Collective::Allreduce, By::Simple) => allreduce::simple::schedule(rank, ranks, count),
            (Collective::Barrier, By::Simple) => barrier::simple(rank, ranks),
            (Collective::Allgather, By::Serial) => allgather::tree::serial(rank, ranks, blocks),
            (Collective::Allreduce, By::Serial) => allreduce::serial::schedule(rank, ranks, count),
            (Collective::Barrier, By::Serial) => barrier::serial(rank, ranks),
            (Collective::Allreduce, By::Binomial { segment }) => {
                allreduce::binomial::schedule(rank, ranks, count, segment)
            }
            (Collective::Allreduce, By::Chain { segment }) => allreduce::chain::schedule(rank, ranks, count, segment),
            (Collective::Allreduce, By::Doubling) => allreduce::doubling::schedule(rank, ranks, count),
            (Collective::Allreduce, By::Global) => allreduce::global::schedule(rank, ranks, count),
            (Collective::Allreduce, By::Halving) if is_commutative => allreduce::halving::schedule(rank, ranks, count),
            (Collective::Allreduce, By::Ring) if is_commutative => allreduce::ring::schedule(rank, ranks, count),
            // Blocks go by way of others, who must know their lengths.
            (Collective::Alltoall, By::Bruck) if matches!(blocks, Blocks::Equal(_)) => {
                alltoall::bruck::schedule(rank, ranks, count)
            }
            (Collective::Alltoall, By::Serial) if matches!(blocks, Blocks::Equal(_)) => {
                alltoall::serial::schedule(rank, ranks, count)
            }
            (Collective::Alltoall, By::Pairwise { window }) => {
                alltoall::pairwise::schedule(rank, ranks, blocks, window)
            }
            (Collective::Barrier, By::Binomial { .. }) => barrier::binomial(rank, ranks),
            (Collective::Barrier, By::Dissemination) => barrier::dissemination(rank, ranks),
            (Collective::Broadcast, By::Binary { segment }) => {
                broadcast::binary::schedule(rank, ranks, root, count, segment)
            }
            (Collective::Broadcast, By::Binomial { segment }) => {
                broadcast::binomial::schedule(rank, ranks, root, count, segment)
            }
            (Collective::Broadcast, By::Chain { segment }) => {
                broadcast::chain::schedule(rank, ranks, root, count, segment)
            }
            (Collective::Broadcast, By::Serial) => broadcast::serial::schedule(rank, ranks, root, count),
            (Collective::Exscan | Collective::Scan, By::Chain { segment }) => {
                scan::chain::schedule(rank, ranks, count, segment, self.collective == Collective::Exscan)
            }
            (Collective::Exscan | Collective::Scan, By::Doubling) => {
                scan::doubling::schedule(rank, ranks, count, self.collective == Collective::Exscan)
            }
            (Collective::Gather, By::Binomial { .. }) => gather::binomial::schedule(rank, ranks, root, blocks),
            (Collective::Gather, By::Granted { window, segment }) => {
                gather::granted::schedule(rank, ranks, root, blocks, window, segment)
            }
            (Collective::Gather, By::Simple) => gather::simple::schedule(rank, ranks, root, blocks),
            (Collective::Gather, By::Windowed { window }) => {
                gather::windowed::schedule(rank, ranks, root, blocks, window)
            }
            (Collective::Reduce, By::Binary { segment }) => {
                reduce::binary::schedule(rank, ranks, root, count, segment, is_commutative)
            }
            (Collective::Reduce, By::Binomial { segment }) => {
                reduce::binomial::schedule(rank, ranks, root, count, segment)
            }
            (Collective::Reduce, By::Chain { segment }) => {
                reduce::chain::schedule(rank, ranks, root, count, segment, is_commutative)
            }
            (Collective::ReduceScatter, By::Halving) if is_commutative => {
                reduce_scatter::halving::schedule(rank, ranks, blocks)
            }
            (Collective::ReduceScatter, By::Pairwise { window }) => {
                reduce_scatter::pairwise::schedule(rank, ranks, blocks, window)
            }
            (Collective::ReduceScatter, By::Ring) if is_commutative => {
                reduce_scatter::ring::schedule(rank, ranks, blocks)
            }
            (Collective::Scatter, By::Binomial { .. }) => scatter::binomial::schedule(rank, ranks, root, blocks),
            (Collective::Scatter, By::Serial) => scatter::serial::schedule(rank, ranks, root, blocks),
            _ => return None,
        })
    }

    /// Every algorithm for this call, with one segment and the widest window. The order is fixed.
    pub fn algorithms(&self) -> Vec<Algorithm> {
        use Algorithm as By;
        let (segment, window) = (0, self.ranks.saturating_sub(1).max(1));
        let few = |algorithm: By| Some(algorithm).filter(|_| self.ranks <= FEW_RANKS);
        match self.collective {
            Collective::Allgather => {
                let all = [By::Doubling, By::Bruck, By::Ring, By::Binomial { segment }, By::Serial];
                all.into_iter().chain(few(By::Simple)).collect()
            }
            Collective::Allreduce => {
                let commutative = [By::Ring, By::Halving].into_iter().filter(|_| self.is_commutative);
                let short =
                    [By::Serial, By::Doubling, By::Global].into_iter().chain(commutative).chain(few(By::Simple));
                short.chain([By::Binomial { segment }, By::Chain { segment }]).collect()
            }
            Collective::Alltoall if matches!(self.blocks, Blocks::Equal(_)) => {
                let all = [By::Pairwise { window: 1 }, By::Pairwise { window: 0 }, By::Bruck];
                all.into_iter().chain(few(By::Serial)).collect()
            }
            Collective::Alltoall => vec![By::Pairwise { window: 1 }, By::Pairwise { window: 0 }],
            Collective::Barrier => {
                let all = [By::Serial, By::Dissemination, By::Binomial { segment }];
                all.into_iter().chain(few(By::Simple)).collect()
            }
            Collective::Broadcast => {
                vec![By::Serial, By::Binary { segment }, By::Binomial { segment }, By::Chain { segment }]
            }
            Collective::Exscan | Collective::Scan => vec![By::Doubling, By::Chain { segment }],
            Collective::Gather => {
                vec![By::Simple, By::Binomial { segment }, By::Windowed { window }, By::Granted { window, segment }]
            }
            Collective::Reduce => vec![By::Binary { segment }, By::Binomial { segment }, By::Chain { segment }],
            Collective::ReduceScatter if self.is_commutative => {
                vec![By::Halving, By::Ring, By::Pairwise { window: 1 }, By::Pairwise { window: 0 }]
            }
            Collective::ReduceScatter => vec![By::Pairwise { window: 1 }, By::Pairwise { window: 0 }],
            Collective::Scatter => vec![By::Serial, By::Binomial { segment }],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overrides::WINDOWED;

    #[test]
    fn the_names_are_those_of_the_algorithms() {
        for collective in Collective::ALL {
            let algorithms = Call::new(collective, 2, 1, 1).algorithms();
            let mut names: Vec<&str> = algorithms.iter().map(Algorithm::name).collect();
            names.dedup();
            assert_eq!(names, collective.algorithms(), "{collective}");
            for algorithm in algorithms {
                assert_eq!(algorithm.window().is_some(), WINDOWED.contains(&algorithm.name()), "{algorithm}");
            }
        }
    }
}
