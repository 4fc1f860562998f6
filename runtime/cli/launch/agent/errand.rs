//! What an agent shall do, as the launcher writes it down.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::addresses;
use super::hosts::Hosts;
use super::starter::Reach;
use crate::launch::failed::Failed;
use crate::launch::hosts::Host;
use crate::launch::local::job::{Job, Stdin};
use lathide::launcher::interface::Interfaces;
use lathide::launcher::invitation;

/// Variables of the launcher, behind `LATHIDE_`, that are its own affair. Those that are set for each rank need not be named.
const OWN: [&str; 7] = ["KEY_FILE", "TRACE", "REPORT", "SSH", "LAB", "LAB_HOSTS", "ADVERTISE"];

/// What an agent shall do. It holds a secret: there is no `Debug`.
#[derive(Serialize, Deserialize)]
pub(super) struct Errand {
    pub(super) key: Secret,
    /// The job, as far as it concerns every host.
    pub(super) job: Job,
    /// The ranks of this host.
    pub(super) ranks: Vec<u32>,
    /// Where they run if that is there: the launcher's own directory.
    pub(super) current: Option<OsString>,
    /// Where the rendezvous might be reached, if it must be looked for.
    pub(super) roots: Option<Vec<SocketAddr>>,
    /// Whether a timeline is wanted.
    pub(super) trace: bool,
    /// How long the launcher may take to come back when the connection was cut; without it, that ends the agent.
    pub(super) patience: Option<Duration>,
}

/// How an agent comes to the job's key.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Secret {
    /// Here it is: nobody else hears what the launcher says.
    Told([u8; 32]),
    /// The launcher has left it under this name ([`lathide::launcher::invitation`]).
    Left(String),
}

impl Errand {
    /// These ranks of a job on `host`; the rendezvous listens on `port`.
    pub(super) fn new(job: &Job, hosts: &Hosts, (host, ranks): (&Host, Vec<u32>), key: Secret, port: u16) -> Self {
        let stdin = if job.stdin == Stdin::Null { Stdin::Null } else { Stdin::Carry };
        Errand {
            key,
            job: Job { env: variables(job, hosts, host), stdin, ..job.clone() },
            ranks,
            current: std::env::current_dir().ok().map(OsString::from),
            roots: match Reach::of(host, hosts.srun) {
                // The launcher's own host comes by the address that the others use.
                Reach::Here => None,
                _ => Some(addresses::candidates(port, hosts.reach.advertise, hosts.reach.net.as_ref())),
            },
            trace: job.trace.is_some(),
            patience: None,
        }
    }

    /// Where the ranks run; returns what is to be said about it. As with `mpirun`: the launcher's directory if it is there,
    /// otherwise the home directory; but one that was asked for must be there.
    pub(super) fn choose_directory(&mut self) -> Option<String> {
        let current = self.current.take().filter(|_| self.job.directory.is_none())?;
        let shown = current.display().to_string();
        if Path::new(&current).is_dir() {
            self.job.directory = Some(current);
            return None;
        }
        let home = std::env::home_dir().map(OsString::from);
        let there = home.as_deref().map_or("the home directory".into(), OsStr::to_string_lossy);
        let note = format!("{shown} is not there; the ranks run in {there} (--wdir DIR says where)");
        self.job.directory = home;
        Some(note)
    }
}

impl Secret {
    pub(super) fn open(&self) -> Result<[u8; 32], Failed> {
        match self {
            Secret::Told(key) => Ok(*key),
            Secret::Left(name) => invitation::fetch_key(name).map_err(Failed::launcher),
        }
    }
}

/// What every rank on this host gets.
fn variables(job: &Job, hosts: &Hosts, host: &Host) -> Vec<(OsString, OsString)> {
    let is_setting = |name: &str| name.strip_prefix("LATHIDE_").is_some_and(|rest| !OWN.contains(&rest));
    let is_passed_on = |name: &str| is_setting(name) || name.starts_with("RUST_");
    let own = std::env::vars_os().filter(|(name, _)| is_passed_on(&name.to_string_lossy()));
    let ports = hosts.reach.ports.as_ref().map(|ports| format!("{}-{}", ports.start(), ports.end()));
    let settings = [
        ("LATHIDE_ADVERTISE", host.addr.map(|addr| addr.to_string())),
        ("LATHIDE_INTERFACE", hosts.reach.net.as_ref().map(Interfaces::to_string)),
        ("LATHIDE_PORTS", ports),
    ];
    let settings = settings.into_iter().filter_map(|(name, value)| Some((name.into(), value?.into())));
    own.chain(job.env.iter().cloned()).chain(settings).collect()
}
