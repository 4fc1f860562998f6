//! The messages between planes: the iterates G of Fig. 18 (Stoica, Sultan and Keyes 1994), global sums, and the start of a group.

use std::collections::VecDeque;

use lathide::{Group, Handle, Node, Operator, Rank, Region, Tag};

use super::options::{Options, Version};
use super::space::{EDGE, START, Strips};
use super::time::Planes;

const ITERATE: Tag = Tag(3);

/// What the plane before sends after a cycle.
enum Iterate {
    Coming(Handle<Vec<f64>>),
    Here(Vec<f64>),
}

impl Iterate {
    fn take(self) -> lathide::Result<Vec<f64>> {
        match self {
            Iterate::Coming(read) => read.wait(),
            Iterate::Here(iterate) => Ok(iterate),
        }
    }
}

/// The rank's neighbours in space and in time: rank `plane * px + strip` has a strip of a plane.
pub(crate) struct Ranks {
    node: Node,
    version: Version,
    strips: Strips,
    /// The planes' ranks that have the same strip.
    line: Group,
    before: Option<Rank>,
    behind: Option<Rank>,
    /// Of the plane before, the oldest first.
    iterates: VecDeque<Iterate>,
    writes: VecDeque<Handle<Vec<f64>>>,
    sum: Operator<f64>,
    /// Within a cycle, not before the first one.
    is_cycle: bool,
}

impl Ranks {
    pub(crate) fn new(node: &Node, options: &Options) -> lathide::Result<Self> {
        let (rank, px) = (node.rank().index(), options.px);
        let line = node.split((rank % px) as u32, (rank / px) as u32)?;
        let neighbour = |plane: Option<Rank>| plane.and_then(|plane| line.world(plane));
        let (before, behind) = (neighbour(line.rank().below()), neighbour(line.rank().above(line.size())));
        Ok(Ranks {
            node: node.clone(),
            version: options.version,
            strips: Strips::new(node, px, options.version),
            before,
            behind,
            line,
            iterates: VecDeque::new(),
            writes: VecDeque::new(),
            sum: Operator::sum(),
            is_cycle: false,
        })
    }

    fn read(&self, length: usize) -> lathide::Result<Option<Handle<Vec<f64>>>> {
        self.before.map(|before| self.node.initread(before, ITERATE, vec![0.0; length])).transpose()
    }

    fn write(&self, own: Vec<f64>) -> lathide::Result<Option<Handle<Vec<f64>>>> {
        self.behind.map(|behind| self.node.initwrite(behind, ITERATE, own)).transpose()
    }

    /// In the hidden version a read is posted a cycle ahead; in the others it is posted with the write, and both are waited for.
    fn pass_at_once(&mut self, own: Vec<f64>) -> lathide::Result<()> {
        let _region = self.node.region("grid");
        let read = self.read(own.len())?;
        let write = self.write(own)?;
        write.map(Handle::wait).transpose()?;
        self.iterates.extend(read.map(Handle::wait).transpose()?.map(Iterate::Here));
        Ok(())
    }
}

impl Planes for Ranks {
    type Strips = Strips;
    type Visit = Region;

    fn space(&self) -> &Strips {
        &self.strips
    }

    fn number(&self) -> (usize, usize) {
        (self.line.size() as usize, self.line.rank().index())
    }

    fn last(&self, own: Vec<f64>) -> lathide::Result<Vec<f64>> {
        let _region = self.node.region("group");
        self.line.broadcast(self.line.size() - 1, own)
    }

    fn begin(&mut self, length: usize) -> lathide::Result<Region> {
        let visit = self.node.region("cycle");
        self.is_cycle = true;
        self.strips.enter(EDGE);
        if self.version == Version::Hidden {
            let _region = self.node.region("grid");
            let read = self.read(length)?;
            self.iterates.extend(read.map(Iterate::Coming));
        }
        Ok(visit)
    }

    fn send(&mut self, own: Vec<f64>) -> lathide::Result<()> {
        match self.version {
            Version::Native => self.pass_at_once(own),
            Version::Synchronised => {
                {
                    let _region = self.node.region("barrier");
                    self.node.barrier()?;
                }
                self.pass_at_once(own)
            }
            Version::Hidden => {
                let _region = self.node.region("grid");
                let write = self.write(own)?;
                self.writes.extend(write);
                Ok(())
            }
        }
    }

    fn receive(&mut self, lag: usize) -> lathide::Result<Option<Vec<f64>>> {
        if self.writes.len() > lag {
            self.writes.pop_front().map(Handle::wait).transpose()?;
        }
        if self.iterates.len() <= lag {
            return Ok(None);
        }
        self.iterates.pop_front().map(Iterate::take).transpose()
    }

    fn sum(&mut self, parts: Vec<f64>, work: impl FnOnce()) -> lathide::Result<Vec<f64>> {
        let region = self.node.region(if self.is_cycle { "sums" } else { START });
        if self.version == Version::Hidden {
            let sums = self.node.initallreduce(&self.sum, parts)?;
            drop(region);
            work();
            return sums.wait();
        }
        let sums = self.node.allreduce(&self.sum, parts)?;
        drop(region);
        work();
        Ok(sums)
    }

    fn end(&mut self) -> lathide::Result<()> {
        self.is_cycle = false;
        self.strips.enter(START);
        self.writes.drain(..).try_for_each(|write| write.wait().map(drop))?;
        self.iterates.drain(..).try_for_each(|iterate| iterate.take().map(drop))
    }
}
