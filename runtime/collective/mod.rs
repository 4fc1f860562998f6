//! Operations of all ranks together. Each algorithm is a pure schedule, executed by the node.

mod barrier;

pub(crate) use barrier::barrier_dissemination;
