//! The options that say where ranks run, the same for every command that starts a job.

use std::ffi::OsString;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::Path;

use crate::launch::agent::Hosts;
use crate::launch::hosts::{Host, allocation, parse_file, parse_list, place};
use crate::launch::lab;
use crate::launch::link::LinkSpec;
use clap::Args;
use lathide::launcher::environment::port_range;
use lathide::launcher::interface::Interfaces;
use lathide::launcher::variables;

use crate::launch::failed::Failed;

/// Where the ranks run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Hosts")]
pub(crate) struct HostArgs {
    /// Run the ranks on these hosts, over ssh: a,b or a:4,user@b:2, or a hostfile with one line per host, such as
    /// `node01 slots=4` or `user@node03:2 port=2222 addr=10.0.0.3`
    #[arg(
        long,
        short = 'H',
        visible_alias = "hostfile",
        alias = "machinefile",
        short_alias = 'f',
        value_name = "LIST|FILE"
    )]
    hosts: Option<String>,
    /// Options for ssh, such as '-p 2222 -i key' (LATHIDE_SSH names another program, with options)
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, requires = "hosts")]
    ssh_option: Vec<String>,
    /// Where the lathide program is on the hosts; without it, this one is sent there once and kept in ~/.cache/lathide
    #[arg(long, value_name = "PATH", requires = "hosts")]
    agent: Option<OsString>,
    /// Which addresses are used on every host: an interface, a network, or what not, such as eth0, 10.0.0.0/8, !docker0
    #[arg(long, value_name = "WHICH", requires = "hosts")]
    net: Option<Interfaces>,
    /// The ports on which this launcher and the ranks listen, such as 7000-7063, where a firewall lets only those through
    #[arg(long, value_name = "RANGE", value_parser = port_range, requires = "hosts")]
    ports: Option<RangeInclusive<u16>>,
    /// The address at which the hosts reach this machine [default: the one from which ssh comes, or that of an interface]
    #[arg(long, value_name = "ADDR", requires = "hosts")]
    advertise: Option<IpAddr>,
}

impl HostArgs {
    /// Whether hosts are named.
    pub(crate) fn is_given(&self) -> bool {
        self.hosts.is_some()
    }

    /// The hosts as they were named.
    pub(crate) fn text(&self) -> Option<&str> {
        self.hosts.as_deref()
    }

    /// The emulated link that stands in for a lab where there could be none, and the slots, if only that lab's hosts are
    /// named.
    pub(crate) fn stand_in(&self) -> Result<Option<(LinkSpec, u32)>, Failed> {
        let variable = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
        let (Some(link), Some(names)) = (variable(lab::RELAY_VARIABLE), variable(lab::HOSTS_VARIABLE)) else {
            return Ok(None);
        };
        let Some(list) = self.listed().map_err(Failed::usage)? else { return Ok(None) };
        if !list.iter().all(|host| names.split(',').any(|name| name == host.name)) {
            return Ok(None);
        }
        let link = link.parse().map_err(|error| Failed::usage(format!("{}={link}: {error}", lab::RELAY_VARIABLE)))?;
        Ok(Some((link, list.iter().map(|host| host.slots).sum())))
    }

    /// The hosts with their ranks, if there are any: as many ranks as slots, unless `ranks` says how many. Inside a Slurm
    /// allocation these are its hosts, if no others are named.
    pub(crate) fn place_or_allocation(&self, ranks: Option<u32>) -> Result<Option<Hosts>, Failed> {
        self.placed(ranks, true, true)
    }

    /// The hosts that are named, with so many ranks; nothing is said where there are more ranks than slots.
    pub(crate) fn place_quietly(&self, ranks: Option<u32>) -> Result<Option<Hosts>, Failed> {
        self.placed(ranks, false, false)
    }

    fn placed(&self, ranks: Option<u32>, warns: bool, takes_allocation: bool) -> Result<Option<Hosts>, Failed> {
        let (list, srun) = match self.listed().map_err(Failed::usage)? {
            Some(list) => (list, false),
            None if takes_allocation => match allocation(&|name| std::env::var(name).ok()).map_err(Failed::usage)? {
                Some(list) => (list, true),
                None => return Ok(None),
            },
            None => return Ok(None),
        };
        let mut places = place(list, ranks).map_err(Failed::usage)?;
        if warns && places.iter().any(|(host, ranks)| ranks.len() > host.slots as usize) {
            let slots: u64 = places.iter().map(|(host, _)| u64::from(host.slots)).sum();
            let size: usize = places.iter().map(|(_, ranks)| ranks.len()).sum();
            eprintln!(
                "lathide: {size} ranks have {slots} slots: some hosts get more than they have, and times say little"
            );
        }
        places.retain(|(_, ranks)| !ranks.is_empty());
        Ok(Some(Hosts {
            places,
            srun,
            ssh: self.ssh().map_err(Failed::usage)?,
            agent: self.agent.clone(),
            interface: self.net.clone(),
            ports: self.ports.clone(),
            advertise: self.advertise,
        }))
    }

    fn listed(&self) -> Result<Option<Vec<Host>>, String> {
        self.hosts.as_ref().map(|text| self.list(text)).transpose()
    }

    fn list(&self, text: &str) -> Result<Vec<Host>, String> {
        // What has a slash can be no host; a file of that name is meant if there is one.
        if !text.contains('/') && !Path::new(text).is_file() {
            return parse_list(text).map_err(|error| format!("--hosts {text}: {error}"));
        }
        let file =
            std::fs::read_to_string(text).map_err(|error| format!("the hostfile {text} cannot be read: {error}"))?;
        parse_file(&file).map_err(|error| format!("{text}: {error}"))
    }

    fn ssh(&self) -> Result<Vec<String>, String> {
        let split = |text: &str| shell_words::split(text).map_err(|error| format!("{text}: {error}"));
        let program = std::env::var(variables::SSH.name).ok().filter(|text| !text.trim().is_empty());
        let mut words = split(program.as_deref().unwrap_or("ssh"))?;
        for option in &self.ssh_option {
            words.extend(split(option)?);
        }
        Ok(words)
    }
}
