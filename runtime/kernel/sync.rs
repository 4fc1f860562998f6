//! The primitives the hand-over is made of, in one place: the schedule checker (`schedules`) compiles the same
//! files beside a module of this name whose primitives it controls.

pub(super) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
pub(super) use std::thread;
pub(super) use std::time::Instant;

pub(super) use parking_lot::{Mutex, MutexGuard};
pub(super) use tokio::sync::Notify;
