//! Latency-hiding message passing over plain TCP.
pub mod buffer;
pub mod config;
mod engine;
pub mod error;
pub mod ids;
pub mod launch;
pub mod model;
#[cfg(feature = "cli")]
pub mod report;
pub mod wire;

pub use buffer::{Element, ElementType};
pub use config::Config;
pub use error::{Error, Result};
pub use ids::{Rank, Tag};
