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
//! | `LATHIDE_ENCRYPT` | `on` or `off` (default): whether what passes between ranks is encrypted; needs the feature `encrypt` |
//! | `LATHIDE_OVERLAP` | `on` (default) or `off`: bytes move only inside a wait |
//! | `LATHIDE_WINDOW` | per link, how much may arrive before its read is posted: `64MiB` (default), `1048576`, `512k` |
//! | `LATHIDE_BUDGET` | for all links together, how much may arrive before its read is posted: `512MiB` (default); no window is more than a link's share |
//! | `LATHIDE_FRAGMENT` | payload of a fragment in bytes, 4096 by default |
//! | `LATHIDE_ENVELOPES` | per link, messages beyond the window announced at a time, 1024 by default |
//! | `LATHIDE_COLLECTIVE` | algorithms to use whatever they cost, the same on every rank: `broadcast:chain,allreduce:ring` |
//! | `LATHIDE_DEADLOCK` | seconds of snapshot before ranks report what they wait for, 3 by default, or `off` |
//! | `LATHIDE_KEEPALIVE` | seconds a peer's host may not answer before its rank is lost, 10 by default, or `off` |
//! | `LATHIDE_JOIN` | seconds to reach the job, 30 by default |
//! | `LATHIDE_LINGER` | seconds `finalize` waits for peers to confirm, 5 by default |
//! | `LATHIDE_TRACE` | the file that gets a timeline of all ranks; none by default |
//! | `LATHIDE_REPORT` | `on`: the node sends its report to the launcher when it leaves |
//! | `LATHIDE_OBSERVE` | `on` (default) or `off`: whether the node counts what it does |
//!
//! Without `LATHIDE_RANK` and `LATHIDE_SIZE` the variables of other starters say who this is (`foreign`); what
//! they leave open, the key or the rendezvous, comes in an invitation of rank 0 (`invitation`). If they say that
//! there are several ranks and there is no way to join, that is an error: a silent "rank 0 of 1" would compute nonsense.
//! With none of them the program is a job of one.

use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::{Config, KEEPALIVE, Key, KeySource, Overlap};
use crate::error::{Error, Misuse, Result};
use crate::ids::Rank;
use crate::overrides::Overrides;

use super::foreign::{self, RankSlot};
use super::variables::{Variables, number, wrong};
use crate::config::Discovery;

const NO_KEY: &str = "no key: give every rank the same 32 secret bytes in a file only its owner can read, named by \
                      LATHIDE_KEY_FILE, or start the program with `lathide run`; to run it as a job of one, set \
                      LATHIDE_RANK=0 and LATHIDE_SIZE=1";
const GUESSABLE: &str = "all bytes of the key are equal, which anybody would guess; 32 random ones are right: \
                         (umask 077; head -c 32 /dev/urandom >key)";
const FRAGMENT_BYTES: std::ops::RangeInclusive<u64> = 64..=65536;
const KEY_BYTES: usize = 32;
/// The last of the descriptors that every program inherits.
const STANDARD_ERROR: i32 = 2;

impl Config {
    /// This process's configuration, from its environment variables, with the job's key read. [`crate::init`] begins with it.
    ///
    /// # Errors
    /// [`Error::Misuse`] for a variable that makes no sense, or a job that cannot be joined.
    pub fn from_environment() -> Result<Self> {
        let lookup = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let (mut config, key) = parse(&lookup)?;
        if let Some(source) = key {
            config.key = read_key(&source)?;
        }
        Ok(config)
    }
}

/// The configuration that the variables `lookup` knows describe, and where its key is. Pure.
///
/// # Errors
/// [`Error::Misuse`] for a variable that makes no sense, or a job that cannot be joined.
pub(crate) fn parse(lookup: &dyn Fn(&str) -> Option<String>) -> Result<(Config, Option<KeySource>)> {
    let variables = Variables(lookup);
    let Some(slot) = foreign::slot(&variables)? else {
        let mut config = Config::alone();
        settings(&variables, &mut config)?;
        return Ok((config, None));
    };
    let key = key_source(&variables)?;
    let mut config = Config::new(slot.rank, slot.size, root(&variables, &slot, key.is_some())?);
    settings(&variables, &mut config)?;
    if slot.size > 1 && (config.root.is_none() || key.is_none()) {
        config.discovery =
            foreign::discovery(&variables, &slot).map(|discovery| Discovery { has_key: key.is_some(), ..discovery });
        if config.discovery.is_none() {
            let (name, value) = (slot.size_name, slot.size.to_string());
            let missing = if config.root.is_none() { slot.starter.no_root() } else { NO_KEY };
            return wrong(name, value, format!("the job has several ranks, but {missing}"));
        }
    }
    Ok((config, key))
}

fn root(variables: &Variables<'_>, slot: &RankSlot, has_key: bool) -> Result<Option<String>> {
    let Some(root) = variables.text("LATHIDE_ROOT") else {
        // Without a key there is an invitation anyway, and it names a port that is free for certain.
        return if has_key { foreign::root(variables, slot) } else { Ok(None) };
    };
    let port = root.rsplit_once(':').and_then(|(host, port)| (!host.is_empty()).then_some(port));
    match port.map(str::parse::<u16>) {
        Some(Ok(1..)) => Ok(Some(root)),
        _ => wrong("LATHIDE_ROOT", root, "this is not host:port with a port from 1 to 65535"),
    }
}

/// Reads the job's key.
///
/// # Errors
/// [`Error::Misuse`] if it cannot be read, has not 32 bytes, or others can read it.
pub(crate) fn read_key(source: &KeySource) -> Result<Key> {
    match source {
        KeySource::Descriptor(number) => {
            // A new description of the same file: nobody else's position in it matters.
            let path = PathBuf::from(format!("/proc/self/fd/{number}"));
            let key = read_key_file(&path, "LATHIDE_KEY_FD", number.to_string(), false)?;
            // What this program starts is not of the job. It may call `init` again itself.
            if let Some(inherited) = i32::try_from(*number).ok().filter(|number| *number > STANDARD_ERROR) {
                let closed = lathide_sys::descriptor::close_on_exec(inherited);
                closed.or_else(|error| {
                    wrong(
                        "LATHIDE_KEY_FD",
                        number.to_string(),
                        format!("it cannot be kept from other programs: {error}"),
                    )
                })?;
            }
            Ok(key)
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
        Err(error) if !must_be_private && error.kind() == std::io::ErrorKind::NotFound => {
            let why = format!(
                "the job's key cannot be read: {error}; only the rank's own process has that descriptor, and it is closed in \
                 programs that the process starts after init"
            );
            wrong(name, value, why)
        }
        Err(error) => wrong(name, value, format!("the job's key cannot be read: {error}")),
        Ok(mode) if must_be_private && mode & 0o077 != 0 => {
            let why = format!("others can read the job's key (mode {:03o}); use chmod 600", mode & 0o777);
            wrong(name, value, why)
        }
        Ok(_) => match <[u8; KEY_BYTES]>::try_from(key.as_slice()).map(Key::from_bytes) {
            Ok(key) if key.is_guessable() => wrong(name, value, GUESSABLE),
            Ok(key) => Ok(key),
            Err(_) => wrong(name, value, format!("a key has exactly {KEY_BYTES} bytes; this one has {}", key.len())),
        },
    }
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
    if let Some(encrypt) = variables.text("LATHIDE_ENCRYPT") {
        config.encrypt = on_or_off("LATHIDE_ENCRYPT", &encrypt)?;
    }
    if let Some(observe) = variables.text("LATHIDE_OBSERVE") {
        config.observe = on_or_off("LATHIDE_OBSERVE", &observe)?;
    }
    config.report = variables.text("LATHIDE_REPORT").is_some_and(|report| report != "off");
    config.trace = variables.text("LATHIDE_TRACE").map(PathBuf::from);
    if let Some(window) = variables.text("LATHIDE_WINDOW") {
        config.window_bytes = bytes("LATHIDE_WINDOW", &window)?;
    }
    if let Some(budget) = variables.text("LATHIDE_BUDGET") {
        config.budget_bytes = bytes("LATHIDE_BUDGET", &budget)?;
    }
    if let Some(fragment) = variables.text("LATHIDE_FRAGMENT") {
        let fragment = number("LATHIDE_FRAGMENT", &fragment, FRAGMENT_BYTES)?;
        config.fragment_bytes = fragment as usize;
    }
    if let Some(envelopes) = variables.text("LATHIDE_ENVELOPES") {
        config.envelopes_max = number("LATHIDE_ENVELOPES", &envelopes, 1..=1 << 20)? as u32;
    }
    if let Some(stall) = variables.text("LATHIDE_DEADLOCK") {
        config.deadlock_timeout = if stall == "off" { None } else { Some(seconds("LATHIDE_DEADLOCK", &stall)?) };
    }
    config.keepalive = keepalive(variables.0)?;
    if let Some(join) = variables.text("LATHIDE_JOIN") {
        config.join_timeout = seconds("LATHIDE_JOIN", &join)?;
    }
    if let Some(linger) = variables.text("LATHIDE_LINGER") {
        config.linger = seconds("LATHIDE_LINGER", &linger)?;
    }
    if let Some(text) = variables.text("LATHIDE_COLLECTIVE") {
        config.overrides = match Overrides::parse(&text) {
            Ok(overrides) => overrides,
            Err(why) => return wrong("LATHIDE_COLLECTIVE", text, &why),
        };
    }
    Ok(())
}

/// How long a host may not answer.
pub fn keepalive(variables: &dyn Fn(&str) -> Option<String>) -> Result<Option<Duration>> {
    match Variables(variables).text("LATHIDE_KEEPALIVE") {
        None => Ok(Some(KEEPALIVE)),
        Some(text) if text == "off" => Ok(None),
        Some(text) => seconds("LATHIDE_KEEPALIVE", &text).map(Some),
    }
}

fn on_or_off(name: &str, value: &str) -> Result<bool> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => wrong(name, value, "this is on or off"),
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

/// Refuses a key that keeps nobody out of a job of several ranks.
pub(crate) fn check_key(key: &Key, size: u32) -> Result<()> {
    if key.is_none() {
        let why = format!(
            "a job of {size} ranks needs a key, without which anybody could join it: set Config::key to the same 32 random \
             bytes on every rank, or start the program with `lathide run`"
        );
        return wrong("Config::key", "none", why);
    }
    if key.is_guessable() { wrong("Config::key", "32 equal bytes", GUESSABLE) } else { Ok(()) }
}

/// The error for a configuration whose rank is not one of its job's.
pub(crate) fn rank_out_of_range(rank: Rank, size: u32) -> Error {
    let why = format!("a job of {size} has ranks 0 to {}", size.saturating_sub(1));
    Error::Misuse(Misuse::Config { name: "LATHIDE_RANK".into(), value: rank.to_string(), why })
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
