//! Where a measurement takes place: on this machine, over a link that may be emulated, or on other hosts.

use std::ffi::OsString;

use crate::launch::link::LinkSpec;
use crate::launch::local::Job;

use super::console::{Link, describe};
use super::hosts::HostArgs;
use crate::launch::failed::Failed;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The emulated link, on this machine.
    pub(crate) link: LinkSpec,
    /// The hosts, if there are others.
    pub(crate) hosts: HostArgs,
}

impl Target {
    /// There; or on this machine over the emulated link that stands in for the lab whose hosts are named.
    pub(crate) fn new(link: LinkSpec, hosts: HostArgs) -> Result<Self, Failed> {
        Ok(match hosts.stand_in()? {
            Some((link, _)) => Target { link, hosts: HostArgs::default() },
            None => Target { link, hosts },
        })
    }

    /// A job of one of this program's hidden commands.
    pub(crate) fn of_lathide<const N: usize>(&self, ranks: u32, args: [&str; N]) -> Result<Job, Failed> {
        self.on(Job::of_lathide(ranks, args.map(OsString::from)))
    }

    /// The job, to be run there.
    pub(crate) fn on(&self, mut job: Job) -> Result<Job, Failed> {
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
            Some(hosts) => {
                let how = format!("the network between the hosts {hosts}, not emulated");
                Link { spec: format!("hosts {hosts}"), emulated: false, how }
            }
        }
    }
}
