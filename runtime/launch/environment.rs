//! Who am I: the environment a launcher gives a node, as a [`Config`].
//!
//! | variable | meaning |
//! | --- | --- |
//! | `LATHIDE_RANK`, `LATHIDE_SIZE` | this node's number and the number of nodes |
//! | `LATHIDE_ROOT` | `host:port` of the rendezvous; rank 0 listens there if nobody does yet |
//! | `LATHIDE_KEY_FD`, `LATHIDE_KEY_FILE` | where the job's 32 secret bytes are: a descriptor, or a file only its owner can read |
//! | `LATHIDE_INTERFACE` | which address to listen on: `eth0`, `10.0.0.0/8`, `!docker0`; by default the one that reaches the rendezvous |
//! | `LATHIDE_PORTS` | the ports to listen on: `7000-7063`; any by default |
//! | `LATHIDE_ADVERTISE` | the IP address to tell the others, if they reach the node by another one |
//! | `LATHIDE_OVERLAP` | `on` (default) or `off`: bytes move only inside a wait |
//! | `LATHIDE_WINDOW` | per link, how much may arrive before its read is posted: `64MiB` (default), `1048576`, `512k` |
//! | `LATHIDE_FRAGMENT` | payload of a fragment in bytes, 4096 by default |
//! | `LATHIDE_ENVELOPES` | per link, messages beyond the window announced at a time, 1024 by default |
//! | `LATHIDE_COLLECTIVE` | algorithms to use whatever they cost, the same on every rank: `broadcast:chain,allreduce:ring` |
//! | `LATHIDE_STALL` | seconds of standstill before ranks report what they wait for, 3 by default, or `off` |
//! | `LATHIDE_SILENCE` | seconds a peer's host may not answer before its rank is lost, 10 by default, or `off` |
//! | `LATHIDE_JOIN` | seconds to reach the job, 30 by default |
//! | `LATHIDE_LINGER` | seconds `finalize` waits for peers to confirm, 5 by default |
//! | `LATHIDE_TRACE` | the file that gets a timeline of all ranks; none by default |
//! | `LATHIDE_REPORT` | `on`: the node sends its report to the launcher when it leaves |
//! | `LATHIDE_OBSERVE` | `on` (default) or `off`: whether the node counts what it does |
//!
//! Without `LATHIDE_RANK` and `LATHIDE_SIZE` the variables of Open MPI's and MPICH's starters, torchrun and srun name
//! rank and size, the innermost starter first; torchrun and srun also name a rendezvous. The key must still be given.
//! If any of them says that there are several ranks and there is no way to join, that is an error: a silent "rank 0 of
//! 1" would compute nonsense. With none of them the program is a job of one.

use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::collective::Forced;
use crate::config::{Config, Key, KeySource, Overlap};
use crate::error::{Error, Misuse, Result};
use crate::ids::Rank;

/// The most ranks a job may have: a full mesh of more connections than this fits no process's descriptor limit.
const SIZE_MAX: u32 = 1 << 16;
const FRAGMENT_BYTES: std::ops::RangeInclusive<u64> = 64..=65536;
const KEY_BYTES: usize = 32;

/// This process's configuration, with the job's key read.
///
/// # Errors
/// [`Error::Misuse`] for a variable that makes no sense, or a job that cannot be joined.
pub fn config() -> Result<Config> {
    let lookup = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let (mut config, key) = parse(&lookup)?;
    if let Some(source) = key {
        config.key = read_key(&source)?;
    }
    Ok(config)
}

/// The configuration that the variables `lookup` knows describe, and where its key is. Pure.
///
/// # Errors
/// [`Error::Misuse`] for a variable that makes no sense, or a job that cannot be joined.
pub fn parse(lookup: &dyn Fn(&str) -> Option<String>) -> Result<(Config, Option<KeySource>)> {
    let variables = Variables(lookup);
    let Some(seat) = seat(&variables)? else {
        let mut config = Config::alone();
        settings(&variables, &mut config)?;
        return Ok((config, None));
    };
    let mut config = Config::new(seat.rank, seat.size, root(&variables, &seat)?);
    settings(&variables, &mut config)?;
    let key = key_source(&variables)?;
    if seat.size > 1 {
        let (name, value) = (seat.size_name, seat.size.to_string());
        if config.root.is_none() {
            return wrong(name, value, format!("the job has several ranks, but {}", seat.starter.no_root()));
        }
        if key.is_none() {
            let why = "the job has several ranks, but no key: give every rank the same 32 secret bytes in a file only its \
                       owner can read, named by LATHIDE_KEY_FILE, or start the program with `lathide run`; to run it \
                       as a job of one, set LATHIDE_RANK=0 and LATHIDE_SIZE=1";
            return wrong(name, value, why);
        }
    }
    Ok((config, key))
}

/// Reads the job's key.
///
/// # Errors
/// [`Error::Misuse`] if it cannot be read, has not 32 bytes, or others can read it.
pub fn read_key(source: &KeySource) -> Result<Key> {
    match source {
        KeySource::Descriptor(number) => {
            // A new description of the same file: nobody else's position in it matters.
            let path = PathBuf::from(format!("/proc/self/fd/{number}"));
            read_key_file(&path, "LATHIDE_KEY_FD", number.to_string(), false)
        }
        KeySource::File(path) => read_key_file(path, "LATHIDE_KEY_FILE", path.display().to_string(), true),
    }
}

fn read_key_file(path: &Path, name: &str, value: String, must_be_private: bool) -> Result<Key> {
    let mut key = Vec::with_capacity(KEY_BYTES + 1);
    let read = File::open(path).and_then(|file| {
        let mode = file.metadata()?.mode();
        file.take(KEY_BYTES as u64 + 1).read_to_end(&mut key)?;
        Ok(mode)
    });
    match read {
        Err(error) => wrong(name, value, format!("the job's key cannot be read: {error}")),
        Ok(mode) if must_be_private && mode & 0o077 != 0 => {
            let why = format!("others can read the job's key (mode {:03o}); use chmod 600", mode & 0o777);
            wrong(name, value, why)
        }
        Ok(_) => match <[u8; KEY_BYTES]>::try_from(key.as_slice()) {
            Ok(bytes) => Ok(Key::from_bytes(bytes)),
            Err(_) => wrong(name, value, format!("a key has exactly {KEY_BYTES} bytes; this one has {}", key.len())),
        },
    }
}

/// Who said what this node's place is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Starter {
    Lathide,
    OpenMpi,
    Pmi,
    Torch,
    Slurm,
}

impl Starter {
    fn no_root(self) -> &'static str {
        match self {
            Starter::Lathide => "LATHIDE_ROOT is not set: give every rank the same host:port of rank 0",
            Starter::OpenMpi | Starter::Pmi => {
                "mpirun does not name a rendezvous: set LATHIDE_ROOT to the host:port of rank 0 (with a key in \
                 LATHIDE_KEY_FILE), or start the program with `lathide run`; to run it as a job of one, set \
                 LATHIDE_RANK=0 and LATHIDE_SIZE=1"
            }
            Starter::Torch => "MASTER_ADDR and MASTER_PORT are not set",
            Starter::Slurm => {
                "no rendezvous is known: start it with srun, or set LATHIDE_ROOT to the host:port of rank 0 (with a key \
                 in LATHIDE_KEY_FILE); to run it as a job of one, set LATHIDE_RANK=0 and LATHIDE_SIZE=1"
            }
        }
    }
}

struct Seat {
    starter: Starter,
    rank: u32,
    size: u32,
    size_name: &'static str,
}

/// The names of rank and size, innermost starter first: under `srun mpirun` or `srun torchrun` the variables of srun
/// describe the starters, not the program.
const SEATS: [(Starter, &str, &str); 6] = [
    (Starter::Lathide, "LATHIDE_RANK", "LATHIDE_SIZE"),
    (Starter::OpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    (Starter::Pmi, "PMI_RANK", "PMI_SIZE"),
    (Starter::Torch, "RANK", "WORLD_SIZE"),
    (Starter::Slurm, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    (Starter::Slurm, "SLURM_PROCID", "SLURM_NTASKS"),
];

fn seat(variables: &Variables<'_>) -> Result<Option<Seat>> {
    for (starter, rank_name, size_name) in SEATS {
        let (rank, size) = (variables.text(rank_name), variables.text(size_name));
        let (rank, size) = match (rank, size) {
            (None, None) => continue,
            (Some(rank), None) if starter == Starter::Lathide => {
                return wrong(rank_name, rank, "LATHIDE_SIZE is not set; a node needs both".to_string());
            }
            (None, Some(size)) if starter == Starter::Lathide => {
                return wrong(size_name, size, "LATHIDE_RANK is not set; a node needs both".to_string());
            }
            // RANK alone is a common name for other things; both, and a master, are torchrun's.
            (Some(rank), Some(size)) => (rank, size),
            _ => continue,
        };
        if starter == Starter::Torch && variables.text("MASTER_ADDR").is_none() {
            continue;
        }
        let size = number(size_name, &size, 1..=u64::from(SIZE_MAX))? as u32;
        let rank = number(rank_name, &rank, 0..=u64::from(size) - 1)? as u32;
        return Ok(Some(Seat { starter, rank, size, size_name }));
    }
    Ok(None)
}

fn root(variables: &Variables<'_>, seat: &Seat) -> Result<Option<String>> {
    if let Some(root) = variables.text("LATHIDE_ROOT") {
        let port = root.rsplit_once(':').and_then(|(host, port)| (!host.is_empty()).then_some(port));
        return match port.map(str::parse::<u16>) {
            Some(Ok(1..)) => Ok(Some(root)),
            _ => wrong("LATHIDE_ROOT", root, "this is not host:port with a port from 1 to 65535"),
        };
    }
    match seat.starter {
        Starter::Torch => {
            let Some(host) = variables.text("MASTER_ADDR") else { return Ok(None) };
            let port = variables.text("MASTER_PORT").unwrap_or_default();
            let port = number("MASTER_PORT", &port, 1..=65535)?;
            let host = if host.contains(':') { format!("[{host}]") } else { host };
            Ok(Some(format!("{host}:{port}")))
        }
        Starter::Slurm => Ok(slurm_root(variables)),
        _ => Ok(None),
    }
}

/// The first host of the step, and a port that follows from job and step, so that all tasks agree without talking.
fn slurm_root(variables: &Variables<'_>) -> Option<String> {
    let host = first_host(&variables.text("SLURM_STEP_NODELIST")?)?;
    let id = |name| variables.text(name).and_then(|id| id.parse::<u64>().ok());
    let (job, step) = (id("SLURM_JOB_ID")?, id("SLURM_STEP_ID")?);
    // Below the range from which the system gives ports to programs that ask for any.
    let port = 20_000 + (job.wrapping_mul(31).wrapping_add(step)) % 10_000;
    Some(format!("{host}:{port}"))
}

/// The first host of a node list: `a`, `a,b`, `n[07-12,20]`, `r[1-2]n[3,4]-x`.
fn first_host(list: &str) -> Option<String> {
    let (mut host, mut rest) = (String::new(), list);
    while let Some(open) = rest.find(['[', ',']) {
        host.push_str(&rest[..open]);
        if rest[open..].starts_with(',') {
            return (!host.is_empty()).then_some(host);
        }
        let (range, after) = rest[open + 1..].split_once(']')?;
        host.push_str(range.split([',', '-']).next()?);
        rest = after;
    }
    host.push_str(rest);
    (!host.is_empty()).then_some(host)
}

fn key_source(variables: &Variables<'_>) -> Result<Option<KeySource>> {
    if let Some(descriptor) = variables.text("LATHIDE_KEY_FD") {
        let number = number("LATHIDE_KEY_FD", &descriptor, 0..=i32::MAX as u64)?;
        return Ok(Some(KeySource::Descriptor(number as u32)));
    }
    Ok(variables.text("LATHIDE_KEY_FILE").map(|path| KeySource::File(path.into())))
}

/// What `LATHIDE_PORTS` and `--ports` take: `7000-7063` or `7000`.
///
/// # Errors
/// What would be right.
pub fn port_range(text: &str) -> std::result::Result<RangeInclusive<u16>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse::<u16>(), last.trim().parse::<u16>()) {
        (Ok(first @ 1..), Ok(last)) if first <= last => Ok(first..=last),
        _ => Err("this is a range of ports from 1 to 65535, such as 7000-7063".to_owned()),
    }
}

fn places(variables: &Variables<'_>, config: &mut Config) -> Result<()> {
    if let Some(text) = variables.text("LATHIDE_INTERFACE") {
        config.interface = Some(text.parse().or_else(|why: String| wrong("LATHIDE_INTERFACE", text, why))?);
    }
    if let Some(text) = variables.text("LATHIDE_PORTS") {
        config.ports = Some(port_range(&text).or_else(|why| wrong("LATHIDE_PORTS", text, why))?);
    }
    if let Some(text) = variables.text("LATHIDE_ADVERTISE") {
        let address = text.parse().or_else(|_| wrong("LATHIDE_ADVERTISE", text, "this is an IP address"))?;
        config.advertise = Some(address);
    }
    Ok(())
}

fn settings(variables: &Variables<'_>, config: &mut Config) -> Result<()> {
    places(variables, config)?;
    if let Some(overlap) = variables.text("LATHIDE_OVERLAP") {
        config.overlap = if on_or_off("LATHIDE_OVERLAP", &overlap)? { Overlap::On } else { Overlap::Off };
    }
    if let Some(observe) = variables.text("LATHIDE_OBSERVE") {
        config.observe = on_or_off("LATHIDE_OBSERVE", &observe)?;
    }
    config.report = variables.text("LATHIDE_REPORT").is_some_and(|report| report != "off");
    config.trace = variables.text("LATHIDE_TRACE").map(PathBuf::from);
    if let Some(window) = variables.text("LATHIDE_WINDOW") {
        config.window_bytes = bytes("LATHIDE_WINDOW", &window)?;
    }
    if let Some(fragment) = variables.text("LATHIDE_FRAGMENT") {
        let fragment = number("LATHIDE_FRAGMENT", &fragment, FRAGMENT_BYTES)?;
        config.fragment_bytes = fragment as usize;
    }
    if let Some(envelopes) = variables.text("LATHIDE_ENVELOPES") {
        config.envelopes_max = number("LATHIDE_ENVELOPES", &envelopes, 1..=1 << 20)? as u32;
    }
    if let Some(stall) = variables.text("LATHIDE_STALL") {
        config.stall_timeout = if stall == "off" { None } else { Some(seconds("LATHIDE_STALL", &stall)?) };
    }
    if let Some(silence) = variables.text("LATHIDE_SILENCE") {
        config.silence = if silence == "off" { None } else { Some(seconds("LATHIDE_SILENCE", &silence)?) };
    }
    if let Some(join) = variables.text("LATHIDE_JOIN") {
        config.join_timeout = seconds("LATHIDE_JOIN", &join)?;
    }
    if let Some(linger) = variables.text("LATHIDE_LINGER") {
        config.linger = seconds("LATHIDE_LINGER", &linger)?;
    }
    if let Some(text) = variables.text("LATHIDE_COLLECTIVE") {
        config.collective = match Forced::parse(&text) {
            Ok(forced) => forced,
            Err(why) => return wrong("LATHIDE_COLLECTIVE", text, &why),
        };
    }
    Ok(())
}

struct Variables<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    /// A variable's value; one that is empty counts as absent, because `NAME= program` is how shells unset one.
    fn text(&self, name: &str) -> Option<String> {
        (self.0)(name).map(|value| value.trim().to_string()).filter(|value| !value.is_empty())
    }
}

fn on_or_off(name: &str, value: &str) -> Result<bool> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => wrong(name, value, "this is on or off"),
    }
}

fn number(name: &str, value: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64> {
    match value.parse::<u64>() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => wrong(name, value, format!("this is a whole number from {} to {}", range.start(), range.end())),
    }
}

fn bytes(name: &str, value: &str) -> Result<u64> {
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let (number, unit) = value.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => Some(0),
        "k" | "kib" => Some(10),
        "m" | "mib" => Some(20),
        "g" | "gib" => Some(30),
        _ => None,
    };
    let parsed = shift.zip(number.parse::<u64>().ok()).and_then(|(shift, number)| number.checked_mul(1 << shift));
    match parsed {
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => wrong(name, value, "this is a number of bytes above 0, such as 1048576, 512KiB, 64MiB or 1GiB"),
    }
}

fn seconds(name: &str, value: &str) -> Result<Duration> {
    let seconds = value.strip_suffix('s').unwrap_or(value).parse::<f64>().ok();
    match seconds.filter(|&seconds| seconds > 0.0).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        // A year is as good as never, and safe to add to any instant.
        Some(duration) if duration <= Duration::from_secs(366 * 86_400) => Ok(duration),
        _ => wrong(name, value, "this is a number of seconds above 0 and at most a year, such as 3 or 0.5"),
    }
}

fn wrong<T>(name: &str, value: impl Into<String>, why: impl Into<String>) -> Result<T> {
    Err(Error::Misuse(Misuse::Config { name: name.into(), value: value.into(), why: why.into() }))
}

/// The error for a configuration whose rank is not one of its job's.
pub(crate) fn rank_out_of_range(rank: Rank, size: u32) -> Error {
    let why = format!("a job of {size} has ranks 0 to {}", size.saturating_sub(1));
    Error::Misuse(Misuse::Config { name: "LATHIDE_RANK".into(), value: rank.to_string(), why })
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
