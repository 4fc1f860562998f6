//! The messages between planes: the iterates G of Fig. 18 (Stoica, Sultan and Keyes 1994), global sums, and the start of a group.

use std::collections::VecDeque;

use lathide::{Group, Handle, Node, Operator, Rank, Region, Tag};

use super::options::{Options, Version};
use super::space::{EDGE, START, Strips};
use super::time::Planes;

const ITERATE: Tag = Tag(3);

/// What others have to say, the oldest first.
#[derive(Default)]
struct Queue(VecDeque<Values>);

enum Values {
    Coming(Handle<Vec<f64>>),
    Here(Vec<f64>),
}

impl Queue {
    /// Waits for the oldest, if there are more than `lag`.
    fn take(&mut self, lag: usize) -> lathide::Result<Option<Vec<f64>>> {
        if self.0.len() <= lag {
            return Ok(None);
        }
        let values = self.0.pop_front().map(|oldest| match oldest {
            Values::Coming(read) => read.wait(),
            Values::Here(values) => Ok(values),
        });
        values.transpose()
    }

    /// Waits for all, and returns the last.
    fn drain(&mut self) -> lathide::Result<Option<Vec<f64>>> {
        let mut last = None;
        while let Some(values) = self.take(0)? {
            last = Some(values);
        }
        Ok(last)
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
    /// Of the plane before.
    iterates: Queue,
    /// Buffers of what has been sent to the plane behind.
    writes: Queue,
    sums: Queue,
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
            iterates: Queue::default(),
            writes: Queue::default(),
            sums: Queue::default(),
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
        self.iterates.0.extend(read.map(Handle::wait).transpose()?.map(Values::Here));
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
        let _region = self.node.region(super::space::START);
        self.line.broadcast(self.line.size() - 1, own)
    }

    fn begin(&mut self, length: usize) -> lathide::Result<Region> {
        let visit = self.node.region("cycle");
        self.is_cycle = true;
        self.strips.enter(EDGE);
        if self.version == Version::Hidden {
            let _region = self.node.region("grid");
            let read = self.read(length)?;
            self.iterates.0.extend(read.map(Values::Coming));
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
                self.writes.0.extend(write.map(Values::Coming));
                Ok(())
            }
        }
    }

    fn receive(&mut self, lag: usize) -> lathide::Result<Option<Vec<f64>>> {
        self.writes.take(lag)?;
        self.iterates.take(lag)
    }

    fn sum(&mut self, parts: Vec<f64>, lag: usize, work: impl FnOnce()) -> lathide::Result<Option<Vec<f64>>> {
        let region = self.node.region(if self.is_cycle { "sums" } else { START });
        let sums = match self.version {
            Version::Hidden => Values::Coming(self.node.initallreduce(&self.sum, parts)?),
            _ => Values::Here(self.node.allreduce(&self.sum, parts)?),
        };
        drop(region);
        self.sums.0.push_back(sums);
        work();
        self.sums.take(lag)
    }

    fn end(&mut self) -> lathide::Result<Option<Vec<f64>>> {
        self.is_cycle = false;
        self.strips.enter(START);
        self.writes.drain()?;
        self.iterates.drain()?;
        self.sums.drain()
    }
}
