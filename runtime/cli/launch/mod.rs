//! Starting jobs: who a node is, how the nodes of a job find each other, the launcher on this host and others, the emulated
//! link and the virtual network.

pub(crate) mod agent;
mod alarm;
pub(crate) mod failed;
pub(crate) mod hosts;
pub(crate) mod lab;
pub(crate) mod link;
pub(crate) mod local;
mod service;
mod warden;
