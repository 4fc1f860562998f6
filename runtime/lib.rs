//! Latency-hiding message passing over plain TCP.
pub mod buffer;
mod collective;
pub mod config;
mod engine;
pub mod error;
pub mod handle;
pub mod ids;
mod kernel;
pub mod launch;
pub mod model;
mod node;
#[cfg(feature = "cli")]
pub mod report;
pub mod wire;

pub use buffer::{Element, ElementType, WriteBuffer};
pub use config::{Config, Key, Overlap};
pub use error::{Error, Mismatch, Misuse, Operation, OperationKind, Result};
pub use handle::{Handle, ReadHandle, Test, WriteHandle, wait_all, wait_any};
pub use ids::{Rank, Tag};
pub use node::{Node, init, init_with};
pub use wire::WireError;
