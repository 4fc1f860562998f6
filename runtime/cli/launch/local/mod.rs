//! The launcher: starts the ranks of a job, watches them, and leaves nothing behind. What is here runs a job on this
//! machine; over several hosts the same supervisor leads one agent per host ([`super::agent`]), and each agent does with
//! its ranks what is described here.
//!
//! Each rank is a process group of its own, started through a hidden command of the `lathide` program that ties it to
//! the launcher's life and then becomes the program. A second hidden process, the warden, outlives a launcher that is
//! killed and ends what the job's processes have started in turn.

pub(super) mod cleanup;
pub(super) mod event;
pub(crate) mod inputs;
pub(super) mod job;
mod outcome;
pub(crate) mod output;
pub(crate) mod processes;
mod run;
mod signals;
pub(crate) mod spawn;
mod supervise;
pub(super) mod sweep;
mod verdict;

pub(crate) use event::End;
pub(crate) use job::{Job, Stdin};
pub(crate) use outcome::{Made, Outcome, Timeline};
pub(crate) use output::{Output, Sink, Stream, prefixed};
pub(crate) use spawn::{start, warden};
