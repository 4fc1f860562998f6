//! A virtual network of several hosts on one machine, without privileges.
//!
//! Each host is a network namespace with a TUN device; a switch between the devices, in user space, delays, limits and
//! loses packets ([`Cable`]). What runs in it is real TCP of this machine's kernel.
//!
//! There is no process per host: the launcher keeps the namespaces open for whoever wants to be in them ([`enter()`]). When it ends, however it ends, they are gone; a warden ends the processes that were in them.

mod address;
mod bucket;
mod cable;
mod control;
mod enter;
mod host;
mod names;
mod namespace;
mod packet;
mod run;
mod switch;
mod warden;
mod wire;

pub(crate) use cable::{Cable, Traffic};
pub(crate) use control::{HostStatus, Request, Status, ask};
pub(crate) use enter::enter;
pub(crate) use namespace::LabError;
pub(crate) use run::{DIRECTORY_VARIABLE, HOSTS_VARIABLE, Lab, RELAY_VARIABLE};
pub(crate) use warden::warden;
