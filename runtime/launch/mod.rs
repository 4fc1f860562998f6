//! Starting jobs: who a node is, how the nodes of a job find each other, the local launcher and the emulated link.

#[cfg(feature = "cli")]
pub mod agent;
pub(crate) mod control;
pub mod environment;
pub(crate) mod foreign;
pub mod hosts;
pub mod interface;
pub(crate) mod invitation;
#[cfg(feature = "cli")]
pub mod lab;
#[cfg(feature = "cli")]
pub mod link;
#[cfg(feature = "cli")]
pub mod local;
mod office;
pub(crate) mod rendezvous;
pub(crate) mod stall;
