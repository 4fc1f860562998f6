//! The hosts of a job, and how they are reached.

use std::ffi::OsString;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use crate::launch::hosts::Host;
use lathide::launcher::interface::Interfaces;

/// The hosts of a job, and how they are reached.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts {
    /// Each host with its ranks.
    pub places: Vec<(Host, Vec<u32>)>,
    /// Whether agents are started through `srun`, inside a Slurm allocation; otherwise over `ssh`.
    pub srun: bool,
    /// The program that reaches a host, and its options: `ssh -p 2222`.
    pub ssh: Vec<String>,
    /// Where the `lathide` program is on the hosts; if `None`, the launcher's own is sent there.
    pub agent: Option<OsString>,
    /// Which addresses are used, on every host.
    pub interface: Option<Interfaces>,
    /// The ports on which launcher and ranks listen.
    pub ports: Option<RangeInclusive<u16>>,
    /// The address at which the hosts reach the launcher, if it cannot find that out.
    pub advertise: Option<IpAddr>,
}

impl Hosts {
    /// The host of each rank, by rank.
    pub(crate) fn names(&self) -> Vec<String> {
        let size = self.places.iter().map(|(_, ranks)| ranks.len()).sum();
        let mut names = vec![String::new(); size];
        for (host, ranks) in &self.places {
            for rank in ranks {
                names[*rank as usize].clone_from(&host.name);
            }
        }
        names
    }
}
