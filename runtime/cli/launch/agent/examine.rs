//! An agent that is examined: says what its host is, and tries the paths to the others.

use std::ffi::CStr;
use std::io;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::addresses;
use super::errand::Errand;
use super::messages::{Facts, FromAgent, Route, ToAgent};
use crate::launch::failed::{Failed, system};
use crate::launch::local::job::Job;
use crate::launch::local::spawn::resolve;
use lathide::launcher::discovery;
use lathide::launcher::environment::port_range;
use lathide::launcher::handshake::{self, Guest, Party, Purpose, SocketBuffer, Target};
use lathide::launcher::interface::Interfaces;

/// Round trips of a look at the clock there.
const ROUND_TRIPS: u32 = 21;
/// For so long bytes are sent to see how many go; the first half brings the connection up to speed.
const STREAM: Duration = Duration::from_millis(800);
const PIECE_BYTES: usize = 256 << 10;
/// What the one that has connected asks for.
const CLOCK: u8 = b'c';
const RATE: u8 = b'r';

/// Answers until the launcher has no more questions, or is gone.
///
/// # Errors
/// Why the host cannot be examined.
pub(super) async fn attend(
    mut errand: Errand,
    orders: &mut mpsc::Receiver<ToAgent>,
    messages: &mpsc::Sender<FromAgent>,
) -> Result<(), Failed> {
    errand.choose_directory();
    let secret = errand.key.open()?;
    let party = addresses::party(secret, errand.ranks.first().copied().unwrap_or_default(), errand.job.size)?;
    // As the ranks would read them.
    let variables = errand.job.env.iter().rev();
    let setting = |name| variables.clone().find(|(other, _)| other == name).and_then(|(_, value)| value.to_str());
    let ports = setting("LATHIDE_PORTS").and_then(|ports| port_range(ports).ok());
    let (port, _tasks) = listen(&party, ports).await?;
    let rules: Option<Interfaces> = setting("LATHIDE_INTERFACE").and_then(|rules| rules.parse().ok());
    let advertised = setting("LATHIDE_ADVERTISE").and_then(|address| address.parse().ok());
    let known = addresses::candidates(port, advertised, rules.as_ref());
    let facts = facts(&errand.job, addresses::resolved(&known, addresses::server()));
    let mut answer = FromAgent::Examined(Box::new(facts));
    while messages.send(answer).await.is_ok() {
        let Some(ToAgent::Reach { peer, addresses }) = orders.recv().await else { break };
        answer = reach(&party, peer, &addresses::resolved(&addresses, addresses::client())).await;
    }
    Ok(())
}

/// Serves all that connect, on all addresses and one of these ports, for as long as the tasks live. Returns the port.
pub(super) async fn listen(party: &Party, ports: Option<RangeInclusive<u16>>) -> Result<(u16, JoinSet<()>), Failed> {
    let listener = discovery::bind_all(ports).await.map_err(Failed::launcher)?;
    let port = listener.local_addr().map_err(system("no port to listen on"))?.port();
    let (sender, guests) = mpsc::channel(16);
    let (party, mut tasks) = (party.clone(), JoinSet::new());
    tasks.spawn(async move { drop(handshake::receive(listener, party, Purpose::Link, sender, |guest| guest).await) });
    tasks.spawn(admit(guests));
    Ok((port, tasks))
}

fn facts(job: &Job, addresses: Vec<SocketAddr>) -> Facts {
    let system = rustix::system::uname();
    let text = |text: &CStr| text.to_string_lossy().into_owned();
    let own = std::env::current_exe().map_err(|error| error.to_string());
    let user_program = (!job.is_lathide).then(|| {
        let program = resolve(job).map_err(|failed| failed.message)?;
        hash(&Path::new(job.directory.as_deref().unwrap_or_default()).join(program))
    });
    Facts {
        name: text(system.nodename()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program_hash: own.and_then(|own| hash(&own)).unwrap_or_else(|error| error),
        user_program_error: user_program.clone().and_then(Result::err),
        user_program_hash: user_program.and_then(Result::ok),
        system: format!("{} {}", text(system.sysname()), text(system.release())),
        machine: text(system.machine()),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        addresses,
    }
}

/// The first half of a hash of a file's content: enough to see whether two are the same.
fn hash(path: &Path) -> Result<String, String> {
    let content = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(blake3::hash(&content).to_hex()[..16].to_owned())
}

#[expect(clippy::disallowed_methods, reason = "whether hosts' clocks agree is what is examined")]
fn clock_s() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Serves the other hosts.
async fn admit(mut guests: mpsc::Receiver<Guest>) {
    let mut served = JoinSet::new();
    while let Some(guest) = guests.recv().await {
        if let Err(refusal) = guest.authenticated.fits.clone() {
            guest.turn_away(&refusal).await;
            continue;
        }
        served.spawn(async move {
            if let Ok(connection) = guest.admit(0).await {
                // Who has gone needs no answer.
                let _ = host(connection.stream).await;
            }
        });
    }
}

/// Serves one that has connected.
async fn host(mut stream: TcpStream) -> io::Result<()> {
    while stream.read_u8().await? == CLOCK {
        stream.write_f64(clock_s()).await?;
    }
    let (began, mut buffer, mut total) = (Instant::now(), vec![0; PIECE_BYTES], 0u64);
    let mut marks: Vec<(Duration, u64)> = Vec::new();
    loop {
        let count = stream.read(&mut buffer).await?;
        total += count as u64;
        marks.push((began.elapsed(), total));
        if count == 0 {
            return stream.write_f64(rate(&marks)).await;
        }
    }
}

/// Bytes per second in the second half of a stream. `marks`: how many had come when.
fn rate(marks: &[(Duration, u64)]) -> f64 {
    let Some(&(end, total)) = marks.last() else { return 0.0 };
    let half = marks.iter().find(|(when, _)| *when >= end / 2).copied().unwrap_or((Duration::ZERO, 0));
    let (since, before) = if half.0 < end { half } else { (Duration::ZERO, 0) };
    let seconds = (end - since).as_secs_f64();
    if seconds > 0.0 { (total - before) as f64 / seconds } else { 0.0 }
}

async fn reach(party: &Party, peer: u32, all: &[SocketAddr]) -> FromAgent {
    let target = Target { purpose: Purpose::Link, rank: peer, incarnation: None, epoch: 1 };
    let mut in_vain = Vec::new();
    for address in all {
        let cause = match handshake::dial(*address, party, target, 0, SocketBuffer::BY_SYSTEM).await {
            Ok((connection, _)) => match look(connection.stream).await {
                Ok(route) => return FromAgent::Reached(Some(route), in_vain),
                Err(error) => format!("the connection broke: {error}"),
            },
            Err(error) => error.to_string(),
        };
        in_vain.push(format!("{}: {cause}", address.ip()));
    }
    if all.is_empty() {
        in_vain.push("it has none of the addresses that may be used".to_owned());
    }
    FromAgent::Reached(None, in_vain)
}

/// How the way to the other end is.
async fn look(mut stream: TcpStream) -> io::Result<Route> {
    // Of the least round trip, the clocks are compared: right to half of it.
    let (mut round_trip_s, mut clock_ahead_s) = (f64::MAX, 0.0);
    for _ in 0..ROUND_TRIPS {
        // In this order: if the thread is interrupted between the two, the round trip is a long one, and does not count.
        let began = Instant::now();
        let here_s = clock_s();
        stream.write_u8(CLOCK).await?;
        let there_s = stream.read_f64().await?;
        let took_s = began.elapsed().as_secs_f64();
        if took_s < round_trip_s {
            (round_trip_s, clock_ahead_s) = (took_s, there_s - (here_s + took_s / 2.0));
        }
    }
    let (from_address, to_address) = (stream.local_addr()?.ip(), stream.peer_addr()?.ip());
    stream.write_u8(RATE).await?;
    let (began, piece) = (Instant::now(), vec![0; PIECE_BYTES]);
    while began.elapsed() < STREAM {
        stream.write_all(&piece).await?;
    }
    stream.shutdown().await?;
    let bytes_per_s = stream.read_f64().await?;
    Ok(Route { from_address, to_address, round_trip_s, bytes_per_s, clock_ahead_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_half_of_a_stream_tells_its_rate() {
        let at = |ms: u64, bytes: u64| (Duration::from_millis(ms), bytes);
        assert!((rate(&[at(0, 0), at(500, 100), at(1000, 1100)]) - 2000.0).abs() < 1e-9);
        assert!((rate(&[at(1000, 500)]) - 500.0).abs() < 1e-9, "all in one piece");
        assert!((rate(&[]) - 0.0).abs() < 1e-9);
        assert!((rate(&[at(0, 7)]) - 0.0).abs() < 1e-9, "no time has passed");
    }
}
