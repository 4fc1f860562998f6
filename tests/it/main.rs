//! Everything that needs sockets or processes, one module per subject, each test under a watchdog.

// The product may not, which these play or stop.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod applications;
mod buffers;
#[path = "../chance.rs"]
mod chance;
mod checksum;
mod collectives;
mod collectives_command;
mod completions;
mod counts;
mod cuts;
mod encrypted;
mod examples;
mod failure;
mod foreign;
mod full;
mod gain;
mod grammar;
mod groups;
mod headline;
mod jobs;
mod joined;
mod kills;
mod lab;
mod ladder;
mod launcher;
mod link;
mod link_command;
mod memory;
mod misuse;
mod names;
mod observe;
mod p2p;
mod page;
mod panics;
mod predict;
mod process;
mod reach;
mod readme;
mod recipes;
mod report;
mod results;
#[path = "../scale.rs"]
mod scale;
mod slurm;
mod soak;
mod spmd;
mod ssh;
mod standstill;
mod stopping;
mod stress;
mod study;
mod support;
mod surface;
mod terminal;
mod tidy;
mod tutorial;
mod unbound;
mod windows;
