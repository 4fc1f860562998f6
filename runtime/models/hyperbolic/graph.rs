//! Communication graphs (section 2): what the messages of a pattern pass on their way, and how long they take.

use super::reduction::Edge;
use super::rules::concurrent;
use super::{Block, Path, reduction};
use crate::{BadParameter, above_zero};

/// Names a block of the [`Graph`] that made it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockId(usize);

/// Names a message of the [`Graph`] that made it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MessageId(usize);

/// Names a processor of the [`Graph`] that made it. Blocks that share one are dependent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Processor(usize);

/// One of the independent blocks in series to which a message's part of a [`Graph`] reduces.
#[derive(Clone, PartialEq, Debug)]
pub struct Stage {
    /// What it is to the message: behind rule 3, and rules 1 and 2 where it stands for several blocks.
    pub block: Block,
    /// The blocks of the graph that it stands for.
    pub members: Vec<BlockId>,
}

/// Why a graph cannot be built or reduced.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A block has neither all its packets' time for itself nor shares it with all others.
    #[error(
        "message {message}: {blocks} work on one processor, but are neither in series nor alone in their branches; rules 1 \
         and 2 do not say what they take together"
    )]
    Entangled {
        /// Source and destination.
        message: String,
        /// The blocks that share the processor.
        blocks: String,
    },
    /// A message would come back to a block.
    #[error("message {message}: its ways form a cycle through {blocks}; a packet passes each block once")]
    Cycle {
        /// Source and destination.
        message: String,
        /// The blocks of the cycle.
        blocks: String,
    },
    /// The graph, or a message's part of it, has no blocks.
    #[error("{what} is empty; a message passes at least one communication block")]
    Empty {
        /// What is empty.
        what: String,
    },
    /// The ways are neither in series nor parallel.
    #[error(
        "message {message}: the ways through {blocks} are neither in series nor parallel, so rules 1 and 2 do not reduce \
         them; reduce the graphs of small and of large messages apart and join them by rule 4"
    )]
    Irreducible {
        /// Source and destination.
        message: String,
        /// The blocks that are left.
        blocks: String,
    },
    /// A parameter is outside its domain.
    #[error(transparent)]
    Parameter(#[from] BadParameter),
    /// A name is of another graph.
    #[error("{what} {number} is not of this graph; use what its own methods returned")]
    Unknown {
        /// Block, message or processor.
        what: &'static str,
        /// Its number.
        number: usize,
    },
}

debug_is_display!(GraphError);

/// Blocks, and the messages that pass them at the same time.
///
/// The edges of the graph carry, as in the paper, lists of messages: a message's edges are those of the ways it was
/// given with [`Graph::way`]. They must be acyclic for each message; messages in opposite directions may pass the same
/// blocks.
///
/// ```
/// use lathide_models::hyperbolic::{Block, Graph};
/// // Fig. 7: 1 and 3 send to 4, 2 sends to 5, all at once.
/// let (workstation, network) = (Block::new(859.52e-6, 1.42e-6)?, Block::new(345.6e-6, 0.92e-6)?);
/// let mut graph = Graph::new();
/// let [w1, w2, w3, w4, w5] = ["CB_1", "CB_2", "CB_3", "CB_4", "CB_5"].map(|name| graph.block(name, workstation));
/// let net = graph.block("CB_c", network);
/// let first = graph.message("1", "4", 1000.0)?;
/// graph.way(first, &[w1, net, w4])?;
/// let second = graph.message("2", "5", 2000.0)?;
/// graph.way(second, &[w2, net, w5])?;
/// let third = graph.message("3", "4", 500.0)?;
/// graph.way(third, &[w3, net, w4])?;
/// let reduced = graph.reduce(first)?;
/// assert!((reduced.a_s() - 3615.36e-6).abs() < 1e-12); // a_1 + 3 a_c + 2 a_4
/// assert!((reduced.b_s_per_byte() - 3.22e-6).abs() < 1e-15); // b_c (x1 + x2 + x3) / x1
/// # Ok::<(), lathide_models::hyperbolic::GraphError>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Graph {
    blocks: Vec<Node>,
    messages: Vec<Message>,
    processors: usize,
}

#[derive(Clone, Debug)]
struct Node {
    name: String,
    block: Block,
    processor: usize,
}

#[derive(Clone, Debug)]
struct Message {
    source: String,
    destination: String,
    bytes: f64,
    edges: Vec<Edge>,
}

impl Graph {
    /// A graph without blocks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A processor for dependent blocks.
    pub fn processor(&mut self) -> Processor {
        self.processors += 1;
        Processor(self.processors - 1)
    }

    /// A block with a processor of its own: independent of all others.
    pub fn block(&mut self, name: &str, block: Block) -> BlockId {
        let Processor(processor) = self.processor();
        self.blocks.push(Node { name: name.to_owned(), block, processor });
        BlockId(self.blocks.len() - 1)
    }

    /// A block that shares `processor` with others: they are dependent.
    ///
    /// # Errors
    /// If `processor` is of another graph.
    pub fn block_on(&mut self, processor: Processor, name: &str, block: Block) -> Result<BlockId, GraphError> {
        let Processor(processor) = processor;
        known("processor", processor, self.processors)?;
        self.blocks.push(Node { name: name.to_owned(), block, processor });
        Ok(BlockId(self.blocks.len() - 1))
    }

    /// A message of `bytes` between two processes, the terminal nodes of the paper. Give it a [`Graph::way`].
    ///
    /// # Errors
    /// If `bytes` is not a finite number above 0.
    pub fn message(&mut self, source: &str, destination: &str, bytes: f64) -> Result<MessageId, GraphError> {
        let bytes = above_zero("x", bytes)?;
        let (source, destination) = (source.to_owned(), destination.to_owned());
        self.messages.push(Message { source, destination, bytes, edges: Vec::new() });
        Ok(MessageId(self.messages.len() - 1))
    }

    /// A way for the packets of `message`, through `blocks` in order; several ways are parallel.
    ///
    /// A packet may take any way that the edges of all ways together allow.
    ///
    /// # Errors
    /// If `blocks` is empty, the ways of the message would form a cycle, or a name is of another graph. The graph is then
    /// as before.
    pub fn way(&mut self, message: MessageId, blocks: &[BlockId]) -> Result<(), GraphError> {
        known("message", message.0, self.messages.len())?;
        for block in blocks {
            known("block", block.0, self.blocks.len())?;
        }
        let name = self.messages[message.0].name();
        if blocks.is_empty() {
            return Err(GraphError::Empty { what: format!("message {name}: the way") });
        }
        let stations = || blocks.iter().map(|&BlockId(block)| Some(block));
        let new: Vec<Edge> = [None].into_iter().chain(stations()).zip(stations().chain([None])).collect();
        let mut edges = self.messages[message.0].edges.clone();
        edges.extend(new);
        edges.sort_unstable();
        edges.dedup();
        if let Some(cycle) = reduction::cycle(&edges) {
            return Err(GraphError::Cycle { message: name, blocks: self.names(cycle) });
        }
        self.messages[message.0].edges = edges;
        Ok(())
    }

    /// The block that is equivalent to the graph for `message`: its total communication time T_c.
    ///
    /// Rule 3 turns each block that several messages pass into what it is to this one (each counts as a whole, also where
    /// it could go another way), rules 1 and 2 reduce what it passes. For rule 4 see [`general`](super::general).
    ///
    /// # Errors
    /// If the message has no way or is of another graph, or its ways cannot be reduced.
    pub fn reduce(&self, message: MessageId) -> Result<Block, GraphError> {
        Ok(self.path(message)?.total()?)
    }

    /// The independent blocks that `message` passes one after another, once the graph is reduced so far (section 2.5);
    /// for T_s and T_r.
    ///
    /// # Errors
    /// As [`Graph::reduce`].
    pub fn path(&self, message: MessageId) -> Result<Path, GraphError> {
        let blocks: Vec<Block> = self.stages(message)?.into_iter().map(|stage| stage.block).collect();
        Ok(Path::new(&blocks)?)
    }

    /// The same blocks as in [`Graph::path`], each with those of the graph that it stands for. The one with the
    /// greatest b is the bottleneck of large messages (rule 1).
    ///
    /// # Errors
    /// As [`Graph::reduce`].
    pub fn stages(&self, message: MessageId) -> Result<Vec<Stage>, GraphError> {
        if self.blocks.is_empty() {
            return Err(GraphError::Empty { what: "the graph".to_owned() });
        }
        known("message", message.0, self.messages.len())?;
        let Message { edges, .. } = &self.messages[message.0];
        if edges.is_empty() {
            let what = format!("message {}: its list of ways", self.messages[message.0].name());
            return Err(GraphError::Empty { what });
        }
        let mut stations: Vec<usize> = edges.iter().filter_map(|&(from, _)| from).collect();
        stations.dedup();
        let mut stages = Vec::with_capacity(stations.len());
        for &block in &stations {
            stages.push((block, self.blocks[block].processor, self.as_seen_by(message, block)?));
        }
        let reduced = reduction::reduce(&stages, edges).map_err(|failure| {
            let message = self.messages[message.0].name();
            match failure {
                reduction::Failure::Entangled(blocks) => GraphError::Entangled { message, blocks: self.names(blocks) },
                reduction::Failure::Irreducible(blocks) => {
                    GraphError::Irreducible { message, blocks: self.names(blocks) }
                }
                reduction::Failure::Parameter(parameter) => GraphError::Parameter(parameter),
            }
        })?;
        let stage = |(block, members): (Block, Vec<usize>)| Stage {
            block,
            members: members.into_iter().map(BlockId).collect(),
        };
        Ok(reduced.into_iter().map(stage).collect())
    }

    /// A block's name.
    ///
    /// # Errors
    /// If `block` is of another graph.
    pub fn name(&self, block: BlockId) -> Result<&str, GraphError> {
        known("block", block.0, self.blocks.len())?;
        Ok(&self.blocks[block.0].name)
    }

    /// How many messages pass a block.
    ///
    /// # Errors
    /// If `block` is of another graph.
    pub fn messages_through(&self, block: BlockId) -> Result<usize, GraphError> {
        known("block", block.0, self.blocks.len())?;
        Ok(self.messages.iter().filter(|message| message.passes(block.0)).count())
    }

    /// Rule 3: a block as it is to one of the messages that pass it.
    fn as_seen_by(&self, message: MessageId, block: usize) -> Result<Block, BadParameter> {
        let passing = self.messages.iter().enumerate().filter(|(_, message)| message.passes(block));
        let (numbers, sizes): (Vec<usize>, Vec<f64>) = passing.map(|(number, message)| (number, message.bytes)).unzip();
        let place = numbers.iter().position(|&number| number == message.0).unwrap_or(numbers.len());
        concurrent(self.blocks[block].block, &sizes, place)
    }

    fn names(&self, blocks: Vec<usize>) -> String {
        let names: Vec<&str> = blocks.into_iter().map(|block| self.blocks[block].name.as_str()).collect();
        names.join(", ")
    }
}

impl Message {
    fn name(&self) -> String {
        format!("from {} to {}", self.source, self.destination)
    }

    fn passes(&self, block: usize) -> bool {
        self.edges.iter().any(|&(from, _)| from == Some(block))
    }
}

fn known(what: &'static str, number: usize, count: usize) -> Result<(), GraphError> {
    if number < count { Ok(()) } else { Err(GraphError::Unknown { what, number }) }
}
