//! The manual: documentation that lives beside the code and cannot drift from its names.
//!
//! - [`architecture`]: who does what, on which thread, and what holds for ever
//! - [`wire_format`]: every byte between two ranks
//! - [`launching`]: how ranks are started, found, and ended; environment variables and exit statuses
//! - [`hosts`]: jobs over several machines: ssh, hostfiles, addresses and firewalls, Slurm
//! - [`collectives`]: algorithms, the order of reduction, how one is chosen or forced, ranks that disagree
//! - [`lab`]: a virtual network of several hosts on one machine, what its figures mean, how it is made
//! - [`measuring`]: what the numbers mean and how they are taken
//! - [`observing`]: reports, timelines and advice, where their numbers come from, and what looking costs
//! - [`targets`]: what is to be reached, what is, and what the rest is lost to
//! - [`models`]: what the papers' models say, which of their printed formulas and numbers are wrong, and how they are fitted

pub mod architecture;
pub mod collectives;
pub mod hosts;
pub mod lab;
pub mod launching;
pub mod measuring;
pub mod models;
pub mod observing;
pub mod targets;
pub mod wire_format;
