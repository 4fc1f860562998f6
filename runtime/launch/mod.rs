//! Starting jobs: who a node is, how the nodes of a job find each other, the launcher on this host and others, the emulated
//! link and the virtual network.

#[cfg(feature = "cli")]
pub mod agent;
#[cfg(feature = "cli")]
mod alarm;
pub(crate) mod control;
pub(crate) mod cores;
pub mod environment;
pub(crate) mod foreign;
#[cfg(feature = "cli")]
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
#[cfg(feature = "cli")]
mod slices;
pub(crate) mod stall;
