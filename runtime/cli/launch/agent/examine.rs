//! An agent that is examined: says what its host is, and tries the ways to the others.

use std::io::{self, Read as _};
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::addresses;
use super::messages::{FromAgent, ToAgent};
use super::questions::{Answer, Facts, HostSlot, Question, Route};
use lathide::config::Key;
use lathide::launcher::discovery;
use lathide::launcher::handshake::{self, Guest};
use lathide::launcher::handshake::{Purpose, Target};
use lathide::launcher::interface::{self, Interfaces};

/// Round trips of a look at the clock there.
const ROUND_TRIPS: u32 = 21;
/// For so long bytes are sent to see how many go; the first half brings the connection up to speed.
const STREAM: Duration = Duration::from_millis(800);
const PIECE_BYTES: usize = 256 << 10;
/// What the one that has connected asks for.
const CLOCK: u8 = b'c';
const RATE: u8 = b'r';

/// Answers until the launcher has no more questions.
pub(super) async fn attend(
    first: Question,
    mut orders: mpsc::Receiver<ToAgent>,
    messages: mpsc::Sender<FromAgent>,
) -> bool {
    let mut listening = JoinSet::new();
    let mut next = Some(first);
    loop {
        let question = match next.take() {
            Some(question) => question,
            None => match orders.recv().await {
                Some(ToAgent::Question(question)) => *question,
                Some(ToAgent::Finish) | None => return true,
                Some(_) => continue,
            },
        };
        let answer = match question {
            Question::Facts { program, interface } => {
                let rules = interface.and_then(|text| text.parse().ok());
                Answer::Facts(Box::new(facts(program.map(|program| program.to_os()), rules.as_ref())))
            }
            Question::Clock => Answer::Clock(clock_s()),
            Question::Listen { seat, ports } => match listen(&seat, ports, &mut listening).await {
                Ok(port) => Answer::Listening(port),
                Err(why) => Answer::Failed(why),
            },
            Question::Launcher { seat, roots } => {
                let key = Key::from_bytes(seat.key);
                Answer::Launcher(addresses::first_that_answers(&roots, &key, seat.hosts).await)
            }
            Question::Reach { seat, peer, addresses } => Answer::Reached(reach(&seat, peer, &addresses).await),
        };
        if messages.send(FromAgent::Answer(Box::new(answer))).await.is_err() {
            return false;
        }
    }
}

fn facts(program: Option<std::ffi::OsString>, rules: Option<&Interfaces>) -> Facts {
    let system = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let own = std::env::current_exe().map_err(|error| error.to_string());
    Facts {
        name: text(system.nodename()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program_hash: own.and_then(|own| hash(&own)).unwrap_or_else(|error| error),
        user_program: program.map(|program| hash(Path::new(&program))),
        system: format!("{} {}", text(system.sysname()), text(system.release())),
        machine: text(system.machine()),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        addresses: match rules {
            // Whoever says which are to be used means no others.
            Some(_) => interface::own(rules),
            None => known_addresses(std::env::var("SSH_CONNECTION").ok().as_deref(), interface::own(None)),
        },
    }
}

/// The address at which the launcher came is known to work for somebody; the others follow.
fn known_addresses(connection: Option<&str>, own: Vec<IpAddr>) -> Vec<IpAddr> {
    // It may be about the user's own session, on another host or outside of a virtual network.
    let server = connection.and_then(|text| text.split(' ').nth(2)?.split('%').next()?.parse::<IpAddr>().ok());
    let mut all: Vec<IpAddr> = server.filter(|address| own.contains(address)).into_iter().collect();
    all.extend(own.into_iter().filter(|address| Some(*address) != server));
    if all.is_empty() {
        // A host without any network can still reach itself.
        all.push(interface::loopback());
    }
    all
}

/// The first half of a hash of a file's content: enough to see whether two are the same.
fn hash(path: &Path) -> Result<String, String> {
    let read = || -> io::Result<String> {
        let (mut file, mut hasher) = (std::fs::File::open(path)?, blake3::Hasher::new());
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match file.read(&mut piece)? {
                0 => break,
                count => hasher.update(&piece[..count]),
            };
        }
        Ok(hasher.finalize().to_hex()[..16].to_owned())
    };
    read().map_err(|error| format!("{}: {error}", path.display()))
}

#[expect(clippy::disallowed_methods, reason = "whether hosts' clocks agree is what is examined")]
fn clock_s() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

async fn listen(seat: &HostSlot, ports: Option<RangeInclusive<u16>>, tasks: &mut JoinSet<()>) -> Result<u16, String> {
    let listener = discovery::bind_all(ports).await?;
    let party = addresses::party(&Key::from_bytes(seat.key), seat.index, seat.hosts)?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let (sender, mut guests) = mpsc::channel::<Guest>(16);
    tasks.spawn(async move { drop(handshake::receive(listener, party, Purpose::Link, sender, |guest| guest).await) });
    tasks.spawn(async move {
        let mut hosting = JoinSet::new();
        while let Some(guest) = guests.recv().await {
            if let Err(refusal) = guest.authenticated.fits.clone() {
                guest.turn_away(&refusal).await;
                continue;
            }
            hosting.spawn(async move {
                if let Ok(connection) = guest.admit(0).await {
                    // Who has gone needs no answer.
                    let _ = host(connection.stream).await;
                }
            });
        }
    });
    Ok(port)
}

/// Serves one that has connected.
async fn host(mut stream: TcpStream) -> io::Result<()> {
    loop {
        match stream.read_u8().await? {
            CLOCK => stream.write_f64(clock_s()).await?,
            _ => {
                let (began, mut buffer, mut total) = (Instant::now(), vec![0; PIECE_BYTES], 0u64);
                let mut marks: Vec<(Duration, u64)> = Vec::new();
                loop {
                    let count = stream.read(&mut buffer).await?;
                    total += count as u64;
                    marks.push((began.elapsed(), total));
                    if count == 0 {
                        break;
                    }
                }
                return stream.write_f64(rate(&marks)).await;
            }
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

async fn reach(seat: &HostSlot, peer: u32, all: &[SocketAddr]) -> Result<Route, Vec<String>> {
    let party = addresses::party(&Key::from_bytes(seat.key), seat.index, seat.hosts).map_err(|error| vec![error])?;
    let target = Target { purpose: Purpose::Link, rank: peer, incarnation: None, epoch: 1 };
    let mut in_vain = Vec::new();
    for address in all {
        let cause = match handshake::dial(*address, &party, target, 0).await {
            Ok((connection, _)) => match look(connection.stream, in_vain.clone()).await {
                Ok(route) => return Ok(route),
                Err(error) => format!("the connection broke: {error}"),
            },
            Err(error) => error.to_string(),
        };
        in_vain.push(format!("{}: {cause}", address.ip()));
    }
    Err(in_vain)
}

/// How the way to the other end is.
async fn look(mut stream: TcpStream, in_vain: Vec<String>) -> io::Result<Route> {
    let (mut round_trip, mut clock_ahead_s) = (Duration::MAX, 0.0);
    for _ in 0..ROUND_TRIPS {
        let (here_s, began) = (clock_s(), Instant::now());
        stream.write_u8(CLOCK).await?;
        let there_s = stream.read_f64().await?;
        let took = began.elapsed();
        if took < round_trip {
            round_trip = took;
            clock_ahead_s = there_s - (here_s + took.as_secs_f64() / 2.0);
        }
    }
    let (from, to) = (stream.local_addr()?.ip(), stream.peer_addr()?.ip());
    stream.write_u8(RATE).await?;
    let (began, piece) = (Instant::now(), vec![0; PIECE_BYTES]);
    while began.elapsed() < STREAM {
        stream.write_all(&piece).await?;
    }
    stream.shutdown().await?;
    let bytes_per_s = stream.read_f64().await?;
    Ok(Route { from, to, round_trip_s: round_trip.as_secs_f64(), bytes_per_s, clock_ahead_s, in_vain })
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

    #[test]
    fn the_address_that_worked_comes_first() {
        let own: Vec<IpAddr> = ["10.0.0.2", "192.168.1.2"].map(|a| a.parse().unwrap()).to_vec();
        let first = |connection| known_addresses(connection, own.clone())[0].to_string();
        assert_eq!(first(Some("192.168.1.9 5000 192.168.1.2 22")), "192.168.1.2");
        assert_eq!(first(Some("127.0.0.1 5000 127.0.0.1 22")), "10.0.0.2");
        assert_eq!(first(Some("10.7.0.1 5000 10.7.0.2 22")), "10.0.0.2", "another host's");
        assert_eq!(first(None), "10.0.0.2");
        assert_eq!(known_addresses(None, Vec::new()), [interface::loopback()]);
    }
}
