//! Everything that needs sockets or processes, one module per subject, each test under a watchdog.

mod collectives;
#[cfg(feature = "cli")]
mod collectives_command;
mod encrypted;
mod examples;
mod failure;
mod foreign;
#[cfg(feature = "cli")]
mod full;
#[cfg(feature = "cli")]
mod gain;
#[cfg(feature = "cli")]
mod jobs;
#[cfg(feature = "cli")]
mod kills;
#[cfg(feature = "cli")]
mod lab;
mod ladder;
#[cfg(feature = "cli")]
mod launcher;
#[cfg(feature = "cli")]
mod link;
#[cfg(feature = "cli")]
mod link_command;
mod memory;
mod misuse;
#[cfg(feature = "cli")]
mod names;
mod observe;
mod p2p;
mod panics;
#[cfg(feature = "cli")]
mod predict;
mod process;
#[cfg(feature = "cli")]
mod reach;
#[cfg(feature = "cli")]
mod readme;
#[cfg(feature = "cli")]
mod report;
#[cfg(feature = "cli")]
mod slurm;
#[cfg(feature = "cli")]
mod soak;
mod spmd;
#[cfg(feature = "cli")]
mod ssh;
mod standstill;
#[cfg(feature = "cli")]
mod stopping;
mod stress;
mod support;
mod tidy;
