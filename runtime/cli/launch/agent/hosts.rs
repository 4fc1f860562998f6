//! The hosts of a job, and how they are reached.

use std::ffi::OsString;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use lathide::launcher::environment::port_range;
use lathide::launcher::interface::Interfaces;

use crate::launch::hosts::Host;

/// The hosts of a job, and how they are reached.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts {
    /// Each host with its ranks.
    pub places: Vec<(Host, Vec<u32>)>,
    /// Whether agents are started through `srun`, inside a Slurm allocation; otherwise over `ssh`.
    pub srun: bool,
    /// The program that reaches a host, and its options: `ssh -p 2222`.
    pub ssh: Vec<String>,
    pub reach: ReachOptions,
}

/// How hosts are reached, as a person says it.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Hosts")]
pub(crate) struct ReachOptions {
    /// Where the lathide program is on the hosts; without it, this one is sent there once and kept in ~/.cache/lathide
    #[arg(long, value_name = "PATH", requires = "hosts")]
    pub agent: Option<OsString>,
    /// Which addresses are used on every host: an interface, a network, or what not, such as eth0, 10.0.0.0/8, !docker0
    #[arg(long, value_name = "WHICH", requires = "hosts")]
    pub net: Option<Interfaces>,
    /// The ports on which this launcher and the ranks listen, such as 7000-7063, where a firewall lets only those through
    #[arg(long, value_name = "RANGE", value_parser = port_range, requires = "hosts")]
    pub ports: Option<RangeInclusive<u16>>,
    /// The address at which the hosts reach this machine [default: the one from which ssh comes, or that of an interface]
    #[arg(long, value_name = "ADDR", requires = "hosts")]
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
