//! All messages of the program: vectors and words between neighbours, broadcasts of crosspoints, global sums.
//!
//! Each is started where its data is known, and finished where it is needed. `--version hidden` computes between the two. The other
//! versions wait at the start, so that nothing overlaps; `synchronised` calls a barrier before vectors are exchanged, so that these
//! find all ranks ready. The results are the same to the bit.

use std::cell::Cell;

use lathide::{Node, Operator, Rank, Region, Tag};

use super::layout::{Layout, SIDES, Side};
use super::options::Version;

/// What neighbours send each other. Stoica, Sultan and Keyes (1994), Fig. 15, have types A, B and C; what each of ours carries
/// follows from the algorithm of their section 5.1.1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind {
    /// To all neighbours for the product with the matrix: the vector next to the common side, `n` words.
    A,
    /// To the west and the south, who own the common edges: what the interior contributes to an edge's right side, `n - 1` words.
    B,
    /// To the east and the north: the solution on an own edge, `n - 1` words.
    C,
    /// To the west and the south: what an own edge contributes to the right side of the neighbour's crosspoint, one word.
    Arm,
}

impl Kind {
    /// The region in which these messages are posted.
    pub(super) fn region(self) -> &'static str {
        match self {
            Kind::A => "edge A",
            Kind::B => "edge B",
            Kind::C => "edge C",
            Kind::Arm => "arms",
        }
    }

    fn words(self, n: usize) -> usize {
        match self {
            Kind::A => n,
            Kind::B | Kind::C => n - 1,
            Kind::Arm => 1,
        }
    }

    /// The subdomain that a message from a subdomain goes to, if there is such a message.
    fn receiver(self, layout: &Layout, from: usize, towards: Side) -> Option<usize> {
        let goes = match self {
            Kind::A => true,
            Kind::B | Kind::Arm => matches!(towards, Side::West | Side::South),
            Kind::C => matches!(towards, Side::East | Side::North),
        };
        let to = layout.neighbour(from, towards).filter(|_| goes)?;
        (self != Kind::Arm || layout.own_crosspoint(to).is_some()).then_some(to)
    }
}

/// What came to a subdomain from a side.
pub(super) type Arrived = (usize, Side, Vec<f64>);

pub(super) struct Messages<'a> {
    pub(super) node: &'a Node,
    pub(super) layout: Layout,
    version: Version,
    /// Whether messages count for regions of their own: those of the iterations do.
    are_told: Cell<bool>,
}

impl<'a> Messages<'a> {
    pub(super) fn new(node: &'a Node, layout: Layout, version: Version) -> Self {
        Messages { node, layout, version, are_told: Cell::new(false) }
    }

    /// Runs an iteration: as a region, in which each kind of message has a region of its own.
    pub(super) fn iteration<T>(&self, run: impl FnOnce() -> T) -> T {
        let _iteration = self.node.region("iteration");
        self.are_told.set(true);
        let result = run();
        self.are_told.set(false);
        result
    }

    fn region(&self, name: &str) -> Option<Region> {
        self.are_told.get().then(|| self.node.region(name))
    }

    /// Starts to send the messages of a kind from all subdomains of this rank, and to receive those to them. `data` has the words of
    /// a subdomain for the neighbour on a side.
    pub(super) fn start(
        &self,
        kind: Kind,
        mut data: impl FnMut(usize, Side) -> Vec<f64>,
    ) -> lathide::Result<Pending<Vec<Arrived>>> {
        if self.version == Version::Synchronised && kind != Kind::Arm {
            let _barrier = self.region("barrier");
            self.node.barrier()?;
        }
        let _region = self.region(kind.region());
        let (mut arrived, mut reads, mut writes) = (Vec::new(), Vec::new(), Vec::new());
        let all = self.own().flat_map(|s| SIDES.map(|side| (s, side)));
        for (to, side) in all.clone() {
            let Some(from) = self.layout.neighbour(to, side) else { continue };
            if kind.receiver(&self.layout, from, side.opposite()) == Some(to) && !self.own().contains(&from) {
                let buffer = vec![0.0; kind.words(self.layout.n)];
                let read = self.node.initread(self.rank_of(from), tag(kind, to, side), buffer)?;
                reads.push((to, side, read));
            }
        }
        for (from, towards) in all {
            let Some(to) = kind.receiver(&self.layout, from, towards) else { continue };
            let (side, words) = (towards.opposite(), data(from, towards));
            if self.own().contains(&to) {
                arrived.push((to, side, words));
            } else {
                writes.push(self.node.initwrite(self.rank_of(to), tag(kind, to, side), words)?);
            }
        }
        self.pending(move || {
            writes.into_iter().try_for_each(|write| write.wait().map(drop))?;
            for (to, side, read) in reads {
                arrived.push((to, side, read.wait()?));
            }
            // An order that does not depend on ranks, as they are added up in it.
            arrived.sort_by_key(|(to, side, _)| (*to, *side as usize));
            Ok(arrived)
        })
    }

    /// Starts to add up one number of each subdomain.
    ///
    /// Each subdomain has a place of its own in what the ranks sum up, with 0 on all ranks but one: so no addition rounds. Each
    /// rank then adds up all places in their order. So the sum has the same bits however many ranks there are, at the price of `P`
    /// words instead of one in a message.
    pub(super) fn start_sum(&self, parts: impl Iterator<Item = f64>) -> lathide::Result<Pending<f64>> {
        let _region = self.region("sums");
        let mut places = vec![0.0; self.layout.subdomains()];
        self.own().zip(parts).for_each(|(s, part)| places[s] = part);
        let sum = self.node.initallreduce(&Operator::sum(), places)?;
        self.pending(move || Ok(sum.wait()?.iter().fold(0.0, |sum, part| sum + part)))
    }

    /// Starts to tell all ranks the value of each crosspoint, which its owner knows: by a broadcast of one word each.
    pub(super) fn start_crosspoints(&self, own: &[(usize, f64)]) -> lathide::Result<Pending<Vec<f64>>> {
        let _region = self.region("crosspoints");
        let mut broadcasts = Vec::new();
        for crosspoint in 0..self.layout.crosspoints() {
            let root = self.rank_of(self.layout.owner(crosspoint));
            let value = own.iter().find(|(own, _)| *own == crosspoint).map_or(0.0, |(_, value)| *value);
            let broadcast = self.node.initbroadcast(root, vec![value])?;
            broadcasts.push(self.pending(move || broadcast.wait())?);
        }
        self.pending(move || broadcasts.into_iter().map(|broadcast| Ok(broadcast.finish()?[0])).collect())
    }

    /// The subdomains of this rank.
    pub(super) fn own(&self) -> std::ops::Range<usize> {
        self.layout.of_rank(self.node.rank().index())
    }

    fn rank_of(&self, subdomain: usize) -> Rank {
        Rank(u32::try_from(self.layout.rank_of(subdomain)).expect("no more ranks than subdomains"))
    }

    /// Only the hidden version has anything under way.
    fn pending<T>(&self, wait: impl FnOnce() -> lathide::Result<T> + 'static) -> lathide::Result<Pending<T>> {
        match self.version {
            Version::Hidden => Ok(Pending::UnderWay(Box::new(wait))),
            Version::Native | Version::Synchronised => Ok(Pending::Done(wait()?)),
        }
    }
}

/// The messages to a subdomain from a side have a tag of their own.
fn tag(kind: Kind, to: usize, side: Side) -> Tag {
    let to = u32::try_from(to).expect("there are at most 256 subdomains");
    Tag((to * 4 + side as u32) * 4 + kind as u32)
}

/// Messages that have been started, with what they bring.
pub(super) enum Pending<T> {
    Done(T),
    UnderWay(Box<dyn FnOnce() -> lathide::Result<T>>),
}

impl<T> Pending<T> {
    pub(super) fn finish(self) -> lathide::Result<T> {
        match self {
            Pending::Done(result) => Ok(result),
            Pending::UnderWay(wait) => wait(),
        }
    }
}
