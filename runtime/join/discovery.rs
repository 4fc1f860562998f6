//! Finding the job's rendezvous: at an address that everybody knows, or through an invitation of rank 0.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::descriptors;
use super::events::{Event, Settings};
use super::handshake::{self, Line, Pauses};
use super::interface;
use super::invitation::{Invitation, Location, Posted};
use super::listening::{bind, bind_all};
use super::rendezvous;
use crate::config::Discovery;
use crate::config::{Config, Key};
use crate::observe::say;
use crate::wire::handshake::Party;

/// An address that comes earlier in a list has this much time to answer before the next is tried beside it.
const HEAD_START: Duration = Duration::from_millis(150);
/// How long the addresses of one invitation are tried before it is read again.
const PATIENCE: Duration = Duration::from_secs(8);

/// The way into the job.
pub(super) struct Found {
    /// An authenticated connection to the rendezvous.
    pub(super) line: Line,
    /// Where that is, for messages.
    pub(super) root: String,
    /// All the addresses that it may have.
    pub(super) addresses: Vec<SocketAddr>,
    /// Rank 0's invitation, to be kept until all ranks have joined.
    pub(super) posted: Option<Posted>,
    /// The rendezvous, if this process serves it.
    pub(super) served: Option<JoinHandle<()>>,
}

/// Finds the rendezvous, which rank 0 opens unless a launcher has, and the key if `party` has none yet.
pub(super) async fn find(config: &Config, party: &mut Party, deadline: Instant) -> Result<Found, String> {
    match (&config.discovery, config.root.as_deref()) {
        (Some(discovery), root) if config.rank == 0 => invite(config, discovery, root, party, deadline).await,
        (Some(discovery), root) => accept(config, discovery, root, party, deadline).await,
        (None, Some(root)) => {
            let mut served = None;
            let (line, addresses) = reach(root, party, deadline, config, &mut served).await?;
            Ok(Found { line, root: root.to_owned(), addresses, posted: None, served })
        }
        (None, None) => Err("no rendezvous is known: set LATHIDE_ROOT to the host:port of rank 0".into()),
    }
}

/// What rank 0 does: makes the key, opens the rendezvous and invites the others.
async fn invite(
    config: &Config,
    discovery: &Discovery,
    root: Option<&str>,
    party: &mut Party,
    deadline: Instant,
) -> Result<Found, String> {
    let place = Location::of(discovery)?;
    if !discovery.has_key {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| format!("no random numbers: {error}"))?;
        party.key = Key::from_bytes(key);
    }
    let (roots, own, mut served) = match root {
        Some(root) => {
            let served = serve_unless_served(root, config, &party.key).await?;
            (vec![root.to_owned()], root.to_owned(), served)
        }
        None => {
            let loopback = interface::loopback();
            let listener = if discovery.is_local {
                bind(loopback, config.ports.clone()).await?
            } else {
                bind_all(config.ports.clone()).await?
            };
            let port = listener.local_addr().map_err(|error| error.to_string())?.port();
            let addresses = if discovery.is_local { vec![loopback] } else { known_addresses(config)? };
            let served = serve(listener, config, &party.key)?;
            // What reaches this rank's own rendezvous is what it tells the others, unless they are told another one.
            let own = if config.advertise.is_some() { loopback } else { addresses[0] };
            let shown = |address: IpAddr| SocketAddr::new(address, port).to_string();
            (addresses.into_iter().map(shown).collect(), shown(own), Some(served))
        }
    };
    let key = (!discovery.has_key).then_some(party.key.0);
    let posted = place.post(&Invitation { key, roots })?;
    let (line, addresses) = reach(&own, party, deadline, config, &mut served).await?;
    Ok(Found { line, root: own, addresses, posted: Some(posted), served })
}

/// What the others do: wait for an invitation that leads somewhere.
async fn accept(
    config: &Config,
    discovery: &Discovery,
    root: Option<&str>,
    party: &mut Party,
    deadline: Instant,
) -> Result<Found, String> {
    let place = Location::of(discovery)?;
    let (mut pauses, mut epoch) = (Pauses::new(), 0);
    loop {
        epoch += 1;
        let cause = match place.read() {
            Err(cause) => cause,
            Ok(invitation) if invitation.key.is_some() == discovery.has_key => UNLIKE.to_owned(),
            Ok(Invitation { key: Some(key), .. }) if Key::from_bytes(key).is_guessable() => {
                "its key is no secret".to_owned()
            }
            Ok(invitation) => {
                if let Some(key) = invitation.key {
                    party.key = Key::from_bytes(key);
                }
                let roots = root.map_or(invitation.roots, |root| vec![root.to_owned()]);
                match call(&roots, party, epoch).await {
                    Ok(found) => return Ok(found),
                    Err(cause) => format!("it leads nowhere ({cause})"),
                }
            }
        };
        let pause = pauses.next();
        if Instant::now() + pause >= deadline {
            return Err(format!(
                "rank 0 of {} has left no invitation in {} that can be used, for {:?}: {cause}; has rank 0 started, and do \
                 all ranks share that directory? If not, give every rank the same key in LATHIDE_KEY_FILE and the \
                 host:port of rank 0 in LATHIDE_ROOT, or start the program with `lathide run`",
                discovery.name,
                place.path(),
                config.join_timeout
            ));
        }
        sleep(pause).await;
    }
}

const UNLIKE: &str =
    "it and this rank do not agree whether a key was given: set LATHIDE_KEY_FILE on all ranks or on none";

/// Connects to the first of `roots` that turns out to be this job's rendezvous.
async fn call(roots: &[String], party: &Party, epoch: u32) -> Result<Found, String> {
    let mut addresses = Vec::new();
    let mut causes = Vec::new();
    for root in roots {
        match tokio::net::lookup_host(root).await {
            Ok(found) => addresses.extend(found),
            Err(error) => causes.push(format!("{root}: its name cannot be resolved: {error}")),
        }
    }
    let address = first_that_answers(&addresses, party, PATIENCE).await.map_err(|more| {
        causes.extend(more);
        causes.join("; ")
    })?;
    match handshake::call(address, party, epoch).await {
        Ok(line) => Ok(Found { line, root: address.to_string(), addresses, posted: None, served: None }),
        Err(error) => Err(format!("{address}: {error}")),
    }
}

/// The first of `roots` at which this job's rendezvous authenticates itself; otherwise what came of each.
pub async fn first_that_answers(
    roots: &[SocketAddr],
    party: &Party,
    patience: Duration,
) -> Result<SocketAddr, Vec<String>> {
    let mut tries = JoinSet::new();
    for (index, &root) in (0u32..).zip(roots) {
        let party = party.clone();
        tries.spawn(async move {
            sleep(HEAD_START * index).await;
            (root, answers(root, &party, patience).await)
        });
    }
    let mut causes = Vec::new();
    while let Some(tried) = tries.join_next().await {
        match tried {
            Ok((root, Ok(()))) => return Ok(root),
            Ok((root, Err(cause))) => causes.push(format!("{root}: {cause}")),
            Err(_) => {}
        }
    }
    Err(causes)
}

/// Whether the rendezvous is at `root`. One that is silent is asked again for so long: a cable may be cut for a moment.
async fn answers(root: SocketAddr, party: &Party, patience: Duration) -> Result<(), String> {
    let (mut pauses, mut last) = (Pauses::new(), "no answer; a firewall may drop the packets".to_owned());
    let asking = async {
        loop {
            match handshake::probe(root, party).await {
                Err(error) if error.is_silence() => last = error.to_string(),
                probed => return probed.map_err(|error| error.to_string()),
            }
            sleep(pauses.next()).await;
        }
    };
    match timeout(patience, asking).await {
        Ok(answered) => answered,
        Err(_) => Err(format!("for {} s: {last}", patience.as_secs())),
    }
}

/// This host's addresses that ranks on others may call.
fn known_addresses(config: &Config) -> Result<Vec<IpAddr>, String> {
    if let Some(address) = config.advertise {
        return Ok(vec![address]);
    }
    let mut addresses = interface::own(config.interface.as_ref());
    // Bridges of containers are the same on every host; packets for the world leave by a network that others are in.
    let usual = outward();
    addresses.sort_by_key(|address| Some(*address) != usual);
    match (addresses.is_empty(), &config.interface) {
        (false, _) => Ok(addresses),
        (true, Some(rules)) => Err(format!("no interface of this host fits LATHIDE_INTERFACE={rules}")),
        (true, None) => {
            Err("the job has ranks on other hosts, but this one has no address that they could call".into())
        }
    }
}

/// From which address packets for the world leave. Nothing is sent: the addresses asked for are those of documentation.
fn outward() -> Option<IpAddr> {
    let toward = |own: IpAddr, world: IpAddr| {
        let socket = UdpSocket::bind((own, 0)).ok()?;
        socket.connect((world, 9)).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    let (world, world_6) = (Ipv4Addr::new(192, 0, 2, 1), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
    toward(Ipv4Addr::UNSPECIFIED.into(), world.into()).or_else(|| toward(Ipv6Addr::UNSPECIFIED.into(), world_6.into()))
}

/// Rank 0 opens the rendezvous at `root`, unless a launcher has.
async fn serve_unless_served(root: &str, config: &Config, key: &Key) -> Result<Option<JoinHandle<()>>, String> {
    let listener = match TcpListener::bind(root).await {
        Ok(listener) => listener,
        // Somebody listens there, or the address is another machine's: the rendezvous is there, or connecting says why not.
        Err(error) if matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable) => {
            return Ok(None);
        }
        Err(error) => {
            return Err(format!("the rendezvous cannot be opened at {root}: {error}; is LATHIDE_ROOT right?"));
        }
    };
    serve(listener, config, key).map(Some)
}

/// Serves the job's rendezvous for as long as this process lives and the job needs it.
fn serve(listener: TcpListener, config: &Config, key: &Key) -> Result<JoinHandle<()>, String> {
    descriptors::ensure(2 * u64::from(config.size), "its connections to the other ranks and theirs to the rendezvous")?;
    let settings = Settings {
        size: config.size,
        key: key.clone(),
        join_timeout: config.join_timeout,
        launcher: false,
        hosts: Vec::new(),
        rewrite: None,
    };
    // Without a launcher nobody gives orders; of events, what no rank's call returns is said here.
    let (_, orders) = mpsc::channel(1);
    let (events, mut happened) = mpsc::channel(16);
    let rank = config.rank;
    tokio::spawn(async move {
        while let Some(event) = happened.recv().await {
            if let Event::Stalled(text) = event {
                say(rank, &text);
            }
        }
    });
    Ok(tokio::spawn(async move {
        if let Err(error) = rendezvous::serve(listener, settings, orders, events).await {
            tracing::warn!(%error, "the rendezvous ended");
        }
    }))
}

/// Connects to the rendezvous, again and again until it is there. Rank 0 opens it unless it is `served`: as often, since
/// what has its port now may be the last job, which is about to end.
async fn reach(
    root: &str,
    party: &Party,
    deadline: Instant,
    config: &Config,
    served: &mut Option<JoinHandle<()>>,
) -> Result<(Line, Vec<SocketAddr>), String> {
    let (mut pauses, mut epoch) = (Pauses::new(), 0);
    loop {
        if config.rank == 0 && served.is_none() {
            *served = serve_unless_served(root, config, &party.key).await?;
        }
        let cause = match tokio::net::lookup_host(root).await {
            Err(error) => format!("its name cannot be resolved: {error}"),
            Ok(addresses) => {
                let mut cause = "its name has no address".to_string();
                let addresses: Vec<SocketAddr> = addresses.collect();
                for &address in &addresses {
                    epoch += 1;
                    match handshake::call(address, party, epoch).await {
                        Ok(line) => return Ok((line, addresses)),
                        Err(error) if error.is_final() => {
                            return Err(format!("the rendezvous at {root} ({address}) refuses it: {error}"));
                        }
                        Err(error) => cause = format!("{address}: {error}"),
                    }
                }
                cause
            }
        };
        let pause = pauses.next();
        if Instant::now() + pause >= deadline {
            return Err(format!("the rendezvous at {root} cannot be reached: {cause}"));
        }
        sleep(pause).await;
    }
}
