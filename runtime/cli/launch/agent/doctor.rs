//! `lathide doctor`: asks every host what it is, and every pair of hosts for the way between them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;

use super::connection::{Connection, unexpected};
use super::errand::{Errand, Secret};
use super::hosts::Hosts;
use super::messages::{Facts, FromAgent, Route, ToAgent};
use super::starter::Program;
use super::together::together;
use super::{addresses, examine};
use crate::launch::failed::{Failed, system};
use crate::launch::local::job::Job;
use crate::launch::local::spawn::new_key;
use lathide::launcher::handshake::RENDEZVOUS;
use lathide::launcher::interface::loopback;
use lathide::launcher::text::printable;

/// How long an agent may think about a question: there may be several addresses to try.
const PATIENCE: Duration = Duration::from_secs(60);
/// The launcher, as an end of paths.
pub(crate) const LAUNCHER: &str = "this machine";

/// What was found out.
#[derive(Debug, Serialize)]
pub(crate) struct Examination {
    /// Each host, in the order in which they were named.
    pub hosts: Vec<Examined>,
    /// Each way between two different hosts that both answer, and from each to [`LAUNCHER`].
    pub pairs: Vec<Pair>,
}

/// A host, as it was named, and what it is, or why it cannot be examined.
#[derive(Debug, Serialize)]
pub(crate) struct Examined {
    pub host: String,
    pub error: Option<String>,
    #[serde(flatten)]
    pub facts: Option<Facts>,
}

/// The way from one host to another.
#[derive(Debug, Serialize)]
pub(crate) struct Pair {
    pub from: String,
    pub to: String,
    pub reachable: bool,
    /// Addresses that did not work, and why.
    pub in_vain: Vec<String>,
    /// What the way is like.
    #[serde(flatten)]
    pub route: Option<Route>,
}

/// Examines these hosts. `program`: the user's, which must be the same everywhere. `tell` hears what is being done.
///
/// # Errors
/// If nothing can be examined at all. What a host lacks is in the [`Examination`].
pub(crate) fn diagnose(
    hosts: &Hosts,
    program: Option<OsString>,
    tell: impl FnMut(&str),
) -> Result<Examination, Failed> {
    // What would be run there.
    let count = hosts.places.len() as u32;
    let job = match program {
        Some(program) => Job::new(count, program, []),
        None => Job::of_lathide(count, []),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(system("the examination cannot start"))?.block_on(all(hosts, &job, tell))
}

async fn all(hosts: &Hosts, job: &Job, mut tell: impl FnMut(&str)) -> Result<Examination, Failed> {
    let own = Program::of(hosts)?;
    let (key, count) = (new_key()?, hosts.places.len());
    // The launcher is one more end of paths.
    let party = addresses::party(key, RENDEZVOUS, job.size)?;
    let (port, _tasks) = examine::listen(&party, hosts.reach.ports.clone()).await?;

    tell("reaching the hosts, and asking each what it is");
    let asking = hosts.places.iter().zip(0..).map(async |((host, _), index)| {
        let mut agent = Connection::open(hosts, host, &own).await?;
        let errand = Errand::new(job, hosts, (host, vec![index]), Secret::Told(key), port);
        let roots = errand.roots.clone().unwrap_or_else(|| vec![SocketAddr::new(loopback(), port)]);
        match agent.ask(&ToAgent::Examine(Box::new(errand)), PATIENCE).await? {
            FromAgent::Examined(facts) => Ok((agent, *facts, roots)),
            other => Err(unexpected(&other)),
        }
    });
    let mut found: Vec<Result<_, Failed>> = together(asking).await;
    let addresses = |found: &Result<(_, Facts, _), _>| found.as_ref().ok().map(|(_, facts, _)| facts.addresses.clone());
    let addresses: Vec<Option<Vec<SocketAddr>>> = found.iter().map(addresses).collect();
    let name = |host: usize| hosts.places.get(host).map_or(LAUNCHER, |(host, _)| &host.name).to_owned();
    let mut pairs = BTreeMap::new();
    // Everyone tries the one that is `distance` places further: so each sends to one and receives from one at a time.
    for distance in 1..=count {
        tell(&format!("looking at the ways between the hosts, round {distance} of {count}"));
        let tries = found.iter_mut().enumerate().filter_map(|(from, found)| {
            let (agent, _, roots) = found.as_mut().ok()?;
            let to = (from + distance) % (count + 1);
            let (peer, addresses) =
                if to == count { (RENDEZVOUS, roots.clone()) } else { (to as u32, addresses[to].clone()?) };
            Some(async move {
                let (route, in_vain) = reach(agent, peer, addresses).await;
                let pair = Pair { from: name(from), to: name(to), reachable: route.is_some(), in_vain, route };
                ((from, to), pair)
            })
        });
        pairs.extend(together(tries).await);
    }
    let examined = found.into_iter().enumerate().map(|(host, found)| {
        let error = found.as_ref().err().map(|failed| failed.message.clone());
        Examined { host: name(host), error, facts: found.ok().map(|(_, facts, _)| facts) }
    });
    Ok(Examination { hosts: examined.collect(), pairs: pairs.into_values().collect() })
}

async fn reach(agent: &mut Connection, peer: u32, addresses: Vec<SocketAddr>) -> (Option<Route>, Vec<String>) {
    let (route, in_vain) = match agent.ask(&ToAgent::Reach { peer, addresses }, PATIENCE).await {
        Ok(FromAgent::Reached(route, in_vain)) => (route, in_vain),
        Ok(other) => (None, vec![unexpected(&other).message]),
        Err(error) => (None, vec![Failed::from(error).message]),
    };
    (route, in_vain.iter().map(|cause| printable(cause)).collect())
}
