//! Starting jobs: who a node is, how the nodes of a job find each other, the launcher on this host and others, the emulated
//! link and the virtual network.

#[cfg(feature = "cli")]
pub mod agent;
#[cfg(feature = "cli")]
mod alarm;
#[cfg(feature = "cli")]
pub mod hosts;
#[cfg(feature = "cli")]
pub mod lab;
#[cfg(feature = "cli")]
pub mod link;
#[cfg(feature = "cli")]
pub mod local;
#[cfg(feature = "cli")]
mod slices;
