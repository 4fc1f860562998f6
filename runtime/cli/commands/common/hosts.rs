//! The options that say where ranks run, the same for every command that starts a job.

use std::io::Read;
use std::path::Path;

use crate::launch::agent::{Hosts, ReachOptions};
use crate::launch::hosts::{Host, allocation, parse_file, parse_list, place};
use crate::launch::lab;
use crate::launch::link::LinkSpec;
use clap::Args;
use lathide::launcher::variables;

use crate::launch::failed::Failed;

/// No hostfile is longer.
const FILE_MAX: u64 = 16 << 20;

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
    #[command(flatten)]
    reach: ReachOptions,
    /// One rank to a host in each round, whatever its slots.
    #[arg(skip)]
    is_spread: bool,
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

    /// The same hosts, which get a rank each before one gets two: what few ranks measure is the network between hosts.
    pub(crate) fn spread(&self) -> Self {
        HostArgs { is_spread: true, ..self.clone() }
    }

    /// The emulated link that stands in for a lab where there could be none, and the slots, if only that lab's hosts are
    /// named.
    pub(crate) fn stand_in(&self) -> Result<Option<(LinkSpec, u32)>, Failed> {
        let variable = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
        let (Some(link), Some(names)) = (variable(lab::RELAY_VARIABLE), variable(lab::HOSTS_VARIABLE)) else {
            return Ok(None);
        };
        let Some(list) = self.listed()? else { return Ok(None) };
        if !list.iter().all(|host| names.split(',').any(|name| name == host.name)) {
            return Ok(None);
        }
        let link = link.parse().map_err(|error| Failed::usage(format!("{}={link}: {error}", lab::RELAY_VARIABLE)))?;
        Ok(Some((link, list.iter().fold(0, |all: u32, host| all.saturating_add(host.slots)))))
    }

    /// The hosts with their ranks, if there are any: as many ranks as slots, unless `ranks` says how many. Inside a Slurm
    /// allocation these are its hosts, if no others are named.
    pub(crate) fn place_or_allocation(&self, ranks: Option<u32>) -> Result<Option<Hosts>, Failed> {
        let named = self.listed()?;
        let srun = named.is_none();
        let list = match named {
            None => allocation(&|name| std::env::var(name).ok()).map_err(Failed::usage)?,
            named => named,
        };
        let Some(list) = list else { return Ok(None) };
        let hosts = self.placed(list, ranks)?;
        Ok(Some(Hosts { srun, ..hosts }))
    }

    /// The hosts that are named, with so many ranks; nothing is said where there are more ranks than slots.
    pub(crate) fn place_quietly(&self, ranks: Option<u32>) -> Result<Option<Hosts>, Failed> {
        self.listed()?.map(|list| self.placed(list, ranks)).transpose()
    }

    fn placed(&self, mut list: Vec<Host>, ranks: Option<u32>) -> Result<Hosts, Failed> {
        if self.is_spread {
            list.iter_mut().for_each(|host| host.slots = 1);
        }
        let mut places = place(list, ranks).map_err(Failed::usage)?;
        places.retain(|(_, ranks)| !ranks.is_empty());
        let program = std::env::var(variables::SSH.name).ok().filter(|text| !text.trim().is_empty());
        let program = program.unwrap_or_else(|| "ssh".to_owned());
        let mut ssh = Vec::new();
        for text in std::iter::once(&program).chain(&self.ssh_option) {
            ssh.extend(shell_words::split(text).map_err(|error| Failed::usage(format!("{text}: {error}")))?);
        }
        Ok(Hosts { places, srun: false, ssh, reach: self.reach.clone() })
    }

    fn listed(&self) -> Result<Option<Vec<Host>>, Failed> {
        let Some(text) = &self.hosts else { return Ok(None) };
        // What has a slash can be no host; a file of that name is meant if there is one.
        let listed = if text.contains('/') || Path::new(text).is_file() {
            let mut file = String::new();
            // A device or a pipe need not end.
            let read = std::fs::File::open(text).and_then(|open| open.take(FILE_MAX + 1).read_to_string(&mut file));
            read.map_err(|error| Failed::usage(format!("the hostfile {text} cannot be read: {error}")))?;
            if file.len() as u64 > FILE_MAX {
                return Err(Failed::usage(format!("the hostfile {text} has more than {FILE_MAX} bytes")));
            }
            parse_file(&file).map_err(|error| format!("{text}: {error}"))
        } else {
            parse_list(text).map_err(|error| format!("--hosts {text}: {error}"))
        };
        listed.map(Some).map_err(Failed::usage)
    }
}
