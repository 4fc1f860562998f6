//! Latency-hiding message passing for SPMD programs over plain TCP.
//!
//! A communication kernel runs beside every process, on a progress thread of its own, and moves messages while the
//! program computes (after Strumpen, *Communication Latency Hiding*, ETH Zürich, 1994). Programs call
//! [`Node::initread`] and [`Node::initwrite`] early, compute, and call [`Handle::wait`] late. The same program runs
//! alone, or as any number of ranks under `lathide run`.
//!
//! ```
//! use lathide::Tag;
//! const HALO: Tag = Tag(1);
//!
//! fn main() -> lathide::Result<()> {
//!     let node = lathide::init()?;                                // alone: a job of one
//!     let right = node.rank().on_ring(1, node.size());
//!     let left = node.rank().on_ring(-1, node.size());
//!     let ghost = node.initread(left, HALO, vec![0.0f64; 1000])?; // the buffer moves in
//!     let edge = node.initwrite(right, HALO, vec![1.0f64; 1000])?;
//!     let interior: f64 = (0..1000).map(f64::from).sum();         // messages move meanwhile
//!     edge.wait()?;
//!     let ghost = ghost.wait()?;                                  // and comes back filled
//!     assert_eq!(ghost[999] + interior, 499_501.0);
//!     node.finalize()
//! }
//! ```
//!
//! # Map
//!
//! | module | what |
//! | --- | --- |
//! | [`node`](Node), [`handle`], [`WaitSet`] | the primitives, their handles, and waiting for many; [groups](Group), [grids](Grid) and collectives |
//! | [`buffer`] | element types, send and receive buffers |
//! | [`config`], `controllers`, [`cost`], [`error`], [`ids`], `interfaces`, `operation`, `overrides`, `quantity` | plain data |
//! | `wire` | frames, handshakes, checksums, encryption |
//! | `engine` | the protocol, without I/O |
//! | `kernel` | the progress thread, the sockets, the waiting threads |
//! | `collective` | schedules of collectives, their predicted time, the selection |
//! | `window` | one-sided communication, without I/O |
//! | `join` | from the start of a process to its open links: environment, coordinator, handshakes |
//! | [`observe`] | what a node records of itself: [`Node::report`] |
//! | [`manual`] | architecture, wire format, launching, hosts, lab, collectives, measuring, observing, applications, models |
//!
//! Limits: Linux only. Messages are ordered per (peer, tag), and not otherwise.
//! Connections are authenticated; they are encrypted ([`Config::encrypt`]) or have checksums ([`Config::checksum`]) on request. A connection that is cut is made again, and
//! nothing is lost or comes twice ([`Config::resume`]).

// Tests may: their queues and clocks are not the product's.
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod buffer;
#[cfg(test)]
#[path = "../tests/chance.rs"]
mod chance;
mod collective;
pub mod config;
mod controllers;
pub mod cost;
mod engine;
pub mod error;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz;
pub mod handle;
pub mod ids;
mod interfaces;
mod join;
mod kernel;
#[doc(hidden)]
pub mod launcher;
pub mod manual;
#[cfg(test)]
#[path = "../tests/mutant.rs"]
mod mutant;
mod node;
pub mod observe;
mod operation;
mod overrides;
mod places;
mod quantity;
#[cfg(test)]
#[path = "../tests/scale.rs"]
mod scale;
mod window;
mod wire;

pub use buffer::{Element, ElementType, Elements, ElementsMut, Part, ReadBuffer, Section, Strided, WriteBuffer};
pub use bytemuck;
pub use bytes::{Bytes, BytesMut};
pub use collective::{Number, Operator, Shift};
pub use config::{Config, Key, Overlap};
pub use cost::CostModel;
pub use error::{Error, Mismatch, Misuse, Result, WindowFault, WindowRefusal, WireError};
pub use handle::{AnyHandle, Cancelled, Failed, Handle, ReadHandle, Test, WriteHandle};
pub use ids::{Rank, Tag};
pub use interfaces::Interfaces;
pub use node::{
    Completed, Ghosts, Grid, Group, Lend, Loan, Node, PersistentExchange, Region, SectionShift, WaitSet, Window, init,
    init_with, wait_all, wait_any, wait_some,
};
pub use observe::Report;
pub use operation::{Collective, Operation, OperationKind, WindowCall};
pub use overrides::Overrides;
pub use window::Update;

/// The README's programs are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
