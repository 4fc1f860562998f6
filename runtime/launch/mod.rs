//! Starting jobs: who a node is, how the nodes of a job find each other, and the local launcher.

pub(crate) mod control;
pub mod environment;
pub(crate) mod rendezvous;
pub(crate) mod stall;
