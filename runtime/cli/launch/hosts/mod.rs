//! The hosts of a job: how they are written, and which ranks go where. Pure.

mod parse;
mod place;
#[cfg(test)]
mod property_tests;
mod slurm;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;

pub(crate) use parse::{parse_file, parse_list};
pub(crate) use place::place;
pub(crate) use slurm::allocation;

/// A host, and how many ranks it takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Host {
    /// Its name or address, as `ssh` takes it; an IPv6 address without brackets.
    pub name: String,
    /// The user there, if another.
    pub user: Option<String>,
    /// How many ranks it takes in each round.
    pub slots: u32,
    /// How many it takes at most, however many rounds there are.
    pub max_slots: Option<u32>,
    /// The port of its ssh server, if another than the usual.
    pub port: Option<u16>,
    /// The address its ranks tell the others, if not the one from which they reach the launcher.
    pub addr: Option<IpAddr>,
}

impl Host {
    /// One slot on the host `name`.
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Host { name: name.into(), user: None, slots: 1, max_slots: None, port: None, addr: None }
    }

    /// As `ssh` takes it: `user@name`.
    pub(crate) fn destination(&self) -> String {
        match &self.user {
            Some(user) => format!("{user}@{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// A host that is written several times has the slots of all, as with `mpirun`.
fn merged(hosts: impl IntoIterator<Item = Host>) -> Vec<Host> {
    let mut all: Vec<Host> = Vec::new();
    let mut known: HashMap<(String, Option<String>, Option<u16>), usize> = HashMap::new();
    for host in hosts {
        match known.entry((host.name.clone(), host.user.clone(), host.port)) {
            Entry::Occupied(first) => {
                let other = &mut all[*first.get()];
                other.slots = other.slots.saturating_add(host.slots);
                other.max_slots = other.max_slots.zip(host.max_slots).map(|(a, b)| a.saturating_add(b));
                other.addr = other.addr.or(host.addr);
            }
            Entry::Vacant(new) => {
                new.insert(all.len());
                all.push(host);
            }
        }
    }
    all
}
