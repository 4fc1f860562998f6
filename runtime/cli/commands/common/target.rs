//! Where a measurement takes place: on this machine, over a link that may be emulated, or on other hosts.

use crate::launch::link::LinkSpec;
use crate::launch::local::Job;

use super::console::{Link, describe};
use super::hosts::HostArgs;
use super::lab_link;
use crate::launch::failed::{Failed, Result};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The emulated link, on this machine.
    pub(crate) link: LinkSpec,
    /// The hosts, if there are others.
    pub(crate) hosts: HostArgs,
}

/// The options that say where.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Place {
    /// Emulated link, as in `lathide run`: loopback, lan, wan, ethernet, or delay=25ms,rate=50mbit[,jitter=1ms]
    /// [default: loopback; of `lathide gain` without a program: delay=0.2ms,rate=100mbit]
    #[arg(long, value_name = "SPEC", conflicts_with = "hosts")]
    link: Option<LinkSpec>,
    #[command(flatten)]
    pub(crate) hosts: HostArgs,
}

impl Place {
    /// There; on this machine over `link` unless told otherwise, or over the emulated link that stands in for the lab whose
    /// hosts are named.
    pub(crate) fn target(&self, link: &str) -> Result<Target> {
        if let Some((link, _)) = self.hosts.stand_in()? {
            return Ok(Target { link, hosts: HostArgs::default() });
        }
        let default = if self.hosts.is_given() { "loopback" } else { link };
        let link = self.link.clone().map_or_else(|| default.parse().map_err(Failed::new), Ok)?;
        Ok(Target { link, hosts: self.hosts.clone() })
    }
}

impl Target {
    /// The job, to be run there.
    pub(crate) fn on(&self, mut job: Job) -> Result<Job> {
        job.hosts = self.hosts.place_quietly(Some(job.size))?;
        job.link = self.link.clone();
        Ok(job)
    }

    /// Whether all nodes are on this machine and nothing is between them.
    pub(crate) fn is_loopback(&self) -> bool {
        !self.hosts.is_given() && self.link.is_loopback()
    }

    /// As results name it.
    pub(crate) fn describe(&self) -> Link {
        match self.hosts.text() {
            None => describe(&self.link),
            Some(hosts) if let Some(how) = lab_link::in_words(hosts) => {
                Link { spec: format!("hosts {hosts}"), emulated: true, how }
            }
            Some(hosts) => {
                let how = format!("the network between the hosts {hosts}, not emulated");
                Link { spec: format!("hosts {hosts}"), emulated: false, how }
            }
        }
    }
}
