//! `lathide doctor`: asks every host what it is, and every pair of hosts for the way between them.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::bootstrap::Image;
use super::connection::Connection;
use super::hosts::Hosts;
use super::messages::{FromAgent, ToAgent};
use super::questions::{Answer, Facts, HostSlot, Question, Route};
use super::raw::Raw;
use super::starter::Reach;
use super::{addresses, starter};
use crate::launch::hosts::Host;
use crate::launch::local::error::LaunchError;
use crate::launch::local::spawn::new_key;
use lathide::config::Key;
use lathide::launcher::discovery;
use lathide::launcher::handshake::{self, Guest};
use lathide::launcher::handshake::{Purpose, RENDEZVOUS};
use lathide::launcher::interface::{self, Interfaces};

/// How long an agent may think about a question: there may be several addresses to try.
const PATIENCE: Duration = Duration::from_secs(60);
/// Looks at a host's clock.
const LOOKS: u32 = 7;

/// What was found out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) struct Examination {
    /// Each host, in the order in which they were named.
    pub hosts: Vec<Examined>,
    /// Each way between two different hosts that both answer.
    pub pairs: Vec<Pair>,
}

/// The way from one host to another.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) struct Pair {
    /// The place of the first in [`Examination::hosts`].
    pub from: usize,
    /// That of the second.
    pub to: usize,
    /// What the way is like, or why there is none, by address.
    pub route: Result<Route, Vec<String>>,
}

/// A host.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) struct Examined {
    /// As it was named.
    pub name: String,
    /// What was found there, or why the host could not be reached at all.
    pub found: Result<Found, String>,
}

/// What a host has said.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) struct Found {
    /// What it is.
    pub facts: Facts,
    /// How far its clock is ahead of the launcher's, in seconds, and how far that may be wrong.
    pub clock_ahead_s: (f64, f64),
    /// Where it reaches the launcher, or why it cannot.
    pub launcher: Result<SocketAddr, String>,
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
) -> Result<Examination, LaunchError> {
    let system = |error| LaunchError::System { what: "the examination cannot start".into(), error };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
    runtime.block_on(all(hosts, own, program, tell))
}

async fn all(
    hosts: &Hosts,
    own: &Path,
    program: Option<&OsStr>,
    mut tell: impl FnMut(&str),
) -> Result<Examination, LaunchError> {
    let system = |what: &str| {
        let what = what.to_owned();
        move |error| LaunchError::System { what, error }
    };
    let image = starter::image(hosts, own)?.map(Arc::new);
    let key = new_key().map_err(system("the examination's key cannot be made"))?;
    let seat = |index: usize| HostSlot { key, index: index as u32, hosts: hosts.places.len() as u32 };
    let (launcher, port) = launcher(&seat(0), hosts.ports.clone())
        .await
        .map_err(|why| system("the launcher cannot listen")(std::io::Error::other(why)))?;

    tell("reaching the hosts");
    let patients = open(hosts, own, image.as_ref()).await;
    tell("asking each host what it is");
    let mut asked = JoinSet::new();
    for (index, patient) in patients.iter().enumerate() {
        let Ok(patient) = patient else { continue };
        let roots = match Reach::of(&hosts.places[index].0, hosts.starter) {
            Reach::Here => vec![SocketAddr::new(interface::loopback(), port)],
            _ => addresses::candidates(port, hosts.advertise, hosts.interface.as_ref()),
        };
        let facts = Question::Facts {
            program: program.map(Raw::from),
            interface: hosts.interface.as_ref().map(Interfaces::to_string),
        };
        let listen = Question::Listen { seat: seat(index), ports: hosts.ports.clone() };
        let launcher = Question::Launcher { seat: seat(index), roots };
        let patient = patient.clone();
        asked.spawn(async move { (index, history(&patient, facts, launcher, listen).await) });
    }
    let mut found: Vec<Result<(Found, u16), String>> =
        patients.iter().map(|patient| Err(patient.as_ref().err().cloned().unwrap_or_default())).collect();
    while let Some(Ok((index, history))) = asked.join_next().await {
        found[index] = history;
    }
    let mut pairs = Vec::new();
    for distance in 1..patients.len() {
        tell(&format!("looking at the ways between the hosts, round {distance} of {}", patients.len() - 1));
        pairs.extend(round(distance, &patients, &found, hosts, &seat).await);
    }
    pairs.sort_by_key(|pair: &Pair| (pair.from, pair.to));
    drop(launcher);
    let examined = hosts
        .places
        .iter()
        .zip(found)
        .map(|((host, _), found)| Examined { name: host.name.clone(), found: found.map(|(found, _)| found) });
    Ok(Examination { hosts: examined.collect(), pairs })
}

/// Every host tries the one that is `distance` places further: so each sends to one and receives from one at a time.
async fn round(
    distance: usize,
    patients: &[Result<Patient, String>],
    found: &[Result<(Found, u16), String>],
    hosts: &Hosts,
    seat: &impl Fn(usize) -> HostSlot,
) -> Vec<Pair> {
    let mut tries = JoinSet::new();
    for (from, patient) in patients.iter().enumerate() {
        let to = (from + distance) % patients.len();
        let (Ok(patient), Ok(_), Ok((there, port))) = (patient, &found[from], &found[to]) else { continue };
        let addresses = addresses_of(&hosts.places[to].0, &there.facts, *port);
        let question = Question::Reach { seat: seat(from), peer: to as u32, addresses };
        let patient = patient.clone();
        tries.spawn(async move {
            let route = match patient.ask(question).await {
                Ok(Answer::Reached(route)) => route,
                Ok(other) => Err(vec![format!("its agent answers {other:?}")]),
                Err(why) => Err(vec![why]),
            };
            Pair { from, to, route }
        });
    }
    let mut pairs = Vec::new();
    while let Some(Ok(pair)) = tries.join_next().await {
        pairs.push(pair);
    }
    pairs
}

/// Where a host may be reached: where its line in the hostfile says, otherwise at any of its addresses.
fn addresses_of(host: &Host, facts: &Facts, port: u16) -> Vec<SocketAddr> {
    let addresses = host.addr.map_or_else(|| facts.addresses.clone(), |addr| vec![addr]);
    addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect()
}

/// Authenticates itself to hosts that try to reach the launcher.
async fn launcher(seat: &HostSlot, ports: Option<RangeInclusive<u16>>) -> Result<(JoinSet<()>, u16), String> {
    let listener = discovery::bind_all(ports).await?;
    let party = addresses::party(&Key::from_bytes(seat.key), RENDEZVOUS, seat.hosts)?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let (guests, mut nobody) = mpsc::channel::<Guest>(1);
    let mut tasks = JoinSet::new();
    tasks
        .spawn(async move { drop(handshake::receive(listener, party, Purpose::Control, guests, |guest| guest).await) });
    tasks.spawn(async move { while nobody.recv().await.is_some() {} });
    Ok((tasks, port))
}

/// An agent to be asked.
#[derive(Clone)]
struct Patient(mpsc::Sender<(Question, oneshot::Sender<Result<Answer, String>>)>);

impl Patient {
    fn new(mut connection: Connection) -> Self {
        let (sender, mut questions) = mpsc::channel::<(Question, oneshot::Sender<Result<Answer, String>>)>(1);
        tokio::spawn(async move {
            while let Some((question, answer)) = questions.recv().await {
                let _ = answer.send(ask(&mut connection, question).await);
            }
            // The agent ends with its input.
        });
        Patient(sender)
    }

    async fn ask(&self, question: Question) -> Result<Answer, String> {
        let (sender, answer) = oneshot::channel();
        let gone = || "its agent has gone".to_owned();
        self.0.send((question, sender)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

async fn ask(connection: &mut Connection, question: Question) -> Result<Answer, String> {
    connection.send(&ToAgent::Question(Box::new(question))).await?;
    match connection.hear(PATIENCE).await? {
        FromAgent::Answer(answer) => match *answer {
            Answer::Failed(why) => Err(why),
            answer => Ok(answer),
        },
        other => Err(format!("its agent does not answer but says {other:?}")),
    }
}

async fn open(hosts: &Hosts, own: &Path, image: Option<&Arc<Image>>) -> Vec<Result<Patient, String>> {
    let mut starting = JoinSet::new();
    for (index, (host, _)) in hosts.places.iter().enumerate() {
        let (hosts, host, own) = (hosts.clone(), host.clone(), own.to_owned());
        let image = image.filter(|_| Reach::of(&host, hosts.starter).needs_image()).cloned();
        starting.spawn(async move { (index, Connection::open(&hosts, &host, &own, image.as_deref()).await) });
    }
    let mut opened: Vec<Result<Patient, String>> =
        hosts.places.iter().map(|_| Err("it was not tried".into())).collect();
    while let Some(Ok((index, connection))) = starting.join_next().await {
        opened[index] = connection.map(Patient::new);
    }
    opened
}

/// What one host has to say, and the port at which it listens.
#[expect(clippy::disallowed_methods, reason = "whether hosts' clocks agree is what is examined")]
async fn history(
    patient: &Patient,
    facts: Question,
    launcher: Question,
    listen: Question,
) -> Result<(Found, u16), String> {
    let unexpected = |answer: Answer| format!("its agent answers {answer:?}");
    let facts = match patient.ask(facts).await? {
        Answer::Facts(facts) => *facts,
        other => return Err(unexpected(other)),
    };
    let (mut least_s, mut ahead_s) = (f64::MAX, 0.0);
    for _ in 0..LOOKS {
        let (here, began) = (SystemTime::now(), Instant::now());
        let there_s = match patient.ask(Question::Clock).await? {
            Answer::Clock(there_s) => there_s,
            other => return Err(unexpected(other)),
        };
        let took_s = began.elapsed().as_secs_f64();
        if took_s < least_s {
            let here_s = here.duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
            (least_s, ahead_s) = (took_s, there_s - (here_s + took_s / 2.0));
        }
    }
    let launcher = match patient.ask(launcher).await? {
        Answer::Launcher(reached) => reached,
        other => return Err(unexpected(other)),
    };
    match patient.ask(listen).await? {
        Answer::Listening(port) => Ok((Found { facts, clock_ahead_s: (ahead_s, least_s / 2.0), launcher }, port)),
        other => Err(unexpected(other)),
    }
}
