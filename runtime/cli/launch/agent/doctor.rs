//! `lathide doctor`: asks every host what it is, and every pair of hosts for the way between them.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use super::addresses;
use super::connection::Connection;
use super::examine::clock_ahead;
use super::hosts::Hosts;
use super::messages::{Examinee, Facts, FromAgent, Route, ToAgent};
use super::raw::Raw;
use super::starter::{self, Reach};
use super::together::together;
use crate::launch::failed::{Failed, system};
use crate::launch::hosts::Host;
use crate::launch::local::spawn::new_key;
use lathide::config::Key;
use lathide::launcher::handshake::{Purpose, RENDEZVOUS};
use lathide::launcher::interface::{self, Interfaces};

/// How long an agent may think about a question: there may be several addresses to try.
const PATIENCE: Duration = Duration::from_secs(60);
/// Looks at a host's clock.
const LOOKS: u32 = 7;

/// What was found out.
#[derive(Debug)]
pub(crate) struct Examination {
    /// Each host, in the order in which they were named, as it was named, and what it is, or why it cannot be examined.
    pub hosts: Vec<(String, Result<Facts, String>)>,
    /// Each way between two different hosts that both answer.
    pub pairs: Vec<Pair>,
}

/// The way from one host to another.
#[derive(Debug)]
pub(crate) struct Pair {
    /// The place of the first in [`Examination::hosts`].
    pub from: usize,
    /// That of the second.
    pub to: usize,
    /// What the way is like, or why there is none, by address.
    pub route: Result<Route, Vec<String>>,
}

/// Examines these hosts. `program`: the user's, which must be the same everywhere. `tell` hears what is being done.
///
/// # Errors
/// If nothing can be examined at all. What a host lacks is in the [`Examination`].
pub(crate) fn diagnose(
    hosts: &Hosts,
    own: &Path,
    program: Option<&OsStr>,
    tell: impl FnMut(&str),
) -> Result<Examination, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(system("the examination cannot start"))?.block_on(all(hosts, own, program, tell))
}

async fn all(
    hosts: &Hosts,
    own: &Path,
    program: Option<&OsStr>,
    mut tell: impl FnMut(&str),
) -> Result<Examination, Failed> {
    let image = starter::image(hosts, own)?;
    let (key, count) = (new_key()?, hosts.places.len());
    let unable = |why| Failed::launcher(format!("the launcher cannot listen: {why}"));
    let party = addresses::party(&Key::from_bytes(key), RENDEZVOUS, count as u32).map_err(unable)?;
    // It authenticates itself to hosts that try to reach it, and that is all.
    let listening = addresses::listen(party, Purpose::Control, hosts.ports.clone());
    let (port, mut guests, mut tasks) = listening.await.map_err(unable)?;
    tasks.spawn(async move { while guests.recv().await.is_some() {} });

    tell("reaching the hosts");
    let opening = hosts.places.iter().map(|(host, _)| Connection::open(hosts, host, own, image.as_ref()));
    let mut agents: Vec<Result<Connection, String>> = together(opening).await;
    tell("asking each host what it is");
    let asking = agents.iter_mut().zip(&hosts.places).enumerate().map(async |(index, (agent, (host, _)))| {
        let examinee = Examinee {
            key,
            index: index as u32,
            hosts: count as u32,
            program: program.map(Raw::from),
            interface: hosts.interface.as_ref().map(Interfaces::to_string),
            ports: hosts.ports.clone(),
            roots: match Reach::of(host, hosts.srun) {
                Reach::Here => vec![SocketAddr::new(interface::loopback(), port)],
                _ => addresses::candidates(port, hosts.advertise, hosts.interface.as_ref()),
            },
        };
        examine(agent.as_mut().map_err(|why| why.clone())?, examinee).await
    });
    let found: Vec<Result<(Facts, u16), String>> = together(asking).await;
    let mut pairs = Vec::new();
    // Every host tries the one that is `distance` places further: so each sends to one and receives from one at a time.
    for distance in 1..count {
        tell(&format!("looking at the ways between the hosts, round {distance} of {}", count - 1));
        let tries = agents.iter_mut().enumerate().filter_map(|(from, agent)| {
            let to = (from + distance) % count;
            let (Ok(agent), Ok(_), Ok((there, port))) = (agent, &found[from], &found[to]) else { return None };
            let addresses = addresses_of(&hosts.places[to].0, there, *port);
            Some(async move { Pair { from, to, route: reach(agent, to as u32, addresses).await } })
        });
        pairs.extend(together(tries).await);
    }
    pairs.sort_by_key(|pair| (pair.from, pair.to));
    let names = hosts.places.iter().map(|(host, _)| host.name.clone());
    let hosts = names.zip(found).map(|(name, found)| (name, found.map(|(facts, _)| facts))).collect();
    Ok(Examination { hosts, pairs })
}

/// Where a host may be reached: where its line in the hostfile says, otherwise at any of its addresses.
fn addresses_of(host: &Host, facts: &Facts, port: u16) -> Vec<SocketAddr> {
    let addresses = host.addr.map_or_else(|| facts.addresses.clone(), |addr| vec![addr]);
    addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect()
}

/// What one host is, and the port at which it listens.
async fn examine(agent: &mut Connection, examinee: Examinee) -> Result<(Facts, u16), String> {
    let (mut facts, port) = match ask(agent, &ToAgent::Examine(Box::new(examinee))).await? {
        FromAgent::Examined(facts, port) => (*facts, port),
        other => return Err(unexpected(&other)),
    };
    let look = async || match ask(agent, &ToAgent::Clock).await? {
        FromAgent::Clock(there_s) => Ok(there_s),
        other => Err(unexpected(&other)),
    };
    let (round_trip_s, ahead_s) = clock_ahead(LOOKS, look).await?;
    (facts.clock_ahead_s, facts.clock_error_s) = (ahead_s, round_trip_s / 2.0);
    Ok((facts, port))
}

async fn reach(agent: &mut Connection, peer: u32, addresses: Vec<SocketAddr>) -> Result<Route, Vec<String>> {
    match ask(agent, &ToAgent::Reach { peer, addresses }).await {
        Ok(FromAgent::Reached(route)) => route,
        Ok(other) => Err(vec![unexpected(&other)]),
        Err(why) => Err(vec![why]),
    }
}

async fn ask(agent: &mut Connection, question: &ToAgent) -> Result<FromAgent, String> {
    agent.send(question).await?;
    match agent.hear(PATIENCE).await? {
        FromAgent::Failed { why, .. } => Err(why),
        answer => Ok(answer),
    }
}

fn unexpected(answer: &FromAgent) -> String {
    format!("its agent answers {answer:?}")
}
