//! Who am I: the environment a launcher gives a node, as a [`Config`].
//!
//! The variables are in the table of `variables`.
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

use crate::config::{Config, JOIN, KEEPALIVE, Key, KeySource, Overlap, RESUME};
use crate::error::{Error, Misuse, Result};
use crate::ids::Rank;
use crate::overrides::Overrides;

use super::foreign::{self, RankSlot};
use super::socket_buffer::SocketBuffer;
use super::variables::{self, Variable, Variables, wrong};
use crate::config::Discovery;
use crate::quantity::{Quantity, SIZE, TIME, WHOLE};

const NO_KEY: &str = "no key: give every rank the same 32 secret bytes in a file only its owner can read, named by \
                      LATHIDE_KEY_FILE, or start the program with `lathide run`; to run it as a job of one, set \
                      LATHIDE_RANK=0 and LATHIDE_SIZE=1";
const GUESSABLE: &str = "all bytes of the key are equal, which anybody would guess; 32 random ones are right: \
                         (umask 077; head -c 32 /dev/urandom >key)";
/// Larger numbers are not exact in the floating point that values are read into.
const BYTES: Quantity = SIZE.within("1B", "8388608GiB");
const FRAGMENT: Quantity = SIZE.within("64B", "64KiB");
/// A year is as good as never, and safe to add to any instant.
const LIMIT: Quantity = TIME.within("1ns", "8784h");
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
    let Some(root) = variables.text(&variables::ROOT) else {
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
            let key = read_key_file(&path, variables::KEY_FD.name, number.to_string(), false)?;
            // What this program starts is not of the job. It may call `init` again itself.
            if let Some(inherited) = i32::try_from(*number).ok().filter(|number| *number > STANDARD_ERROR) {
                let closed = lathide_sys::descriptor::close_on_exec(inherited);
                closed.or_else(|error| {
                    wrong(
                        variables::KEY_FD.name,
                        number.to_string(),
                        format!("it cannot be kept from other programs: {error}"),
                    )
                })?;
            }
            Ok(key)
        }
        KeySource::File(path) => read_key_file(path, variables::KEY_FILE.name, path.display().to_string(), true),
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
    const DESCRIPTOR: Quantity = WHOLE.within("0", "2147483647");
    if let Some(number) = variables.parsed(&variables::KEY_FD, |text| DESCRIPTOR.one(text))? {
        return Ok(Some(KeySource::Descriptor(number)));
    }
    Ok(variables.text(&variables::KEY_FILE).map(|path| KeySource::File(path.into())))
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
    config.interface = variables.parsed(&variables::INTERFACE, str::parse)?;
    config.ports = variables.parsed(&variables::PORTS, port_range)?;
    let address = |text: &str| text.parse().map_err(|_| "this is an IP address".to_owned());
    config.advertise = variables.parsed(&variables::ADVERTISE, address)?;
    Ok(())
}

fn settings(variables: &Variables<'_>, config: &mut Config) -> Result<()> {
    places(variables, config)?;
    let overlap = |text: &str| Ok(if on_or_off(text)? { Overlap::On } else { Overlap::Off });
    set(&mut config.overlap, variables.parsed(&variables::OVERLAP, overlap)?);
    set(&mut config.encrypt, variables.parsed(&variables::ENCRYPT, on_or_off)?);
    set(&mut config.checksum, variables.parsed(&variables::CHECKSUM, on_or_off)?);
    let observe = |text: &str| match text {
        "sends" => Ok((true, true)),
        _ => on_or_off(text).map(|observe| (observe, false)).map_err(|_| "this is on, off or sends".to_owned()),
    };
    let observed = variables.parsed(&variables::OBSERVE, observe)?;
    set(&mut config.observe, observed.map(|(observe, _)| observe));
    set(&mut config.times_sends, observed.map(|(_, sends)| sends));
    set(&mut config.report, variables.parsed(&variables::REPORT, on_or_off)?);
    config.trace = variables.text(&variables::TRACE).map(PathBuf::from);
    set(&mut config.window_bytes, variables.parsed(&variables::WINDOW, |text| BYTES.one(text))?);
    set(&mut config.budget_bytes, variables.parsed(&variables::BUDGET, |text| BYTES.one(text))?);
    set(&mut config.fragment_bytes, variables.parsed(&variables::FRAGMENT, |text| FRAGMENT.one(text))?);
    let envelopes = |text: &str| WHOLE.within("1", "1048576").one(text);
    set(&mut config.envelopes_max, variables.parsed(&variables::ENVELOPES, envelopes)?);
    let lanes = |text: &str| WHOLE.within("0", "8").one(text).map(|lanes: u32| lanes as u8);
    set(&mut config.lanes_max, variables.parsed(&variables::LANES, lanes)?);
    set(&mut config.socket_buffer_bytes, variables.parsed(&variables::SOCKET_BUFFER, SocketBuffer::read)?);
    set(&mut config.deadlock_timeout, variables.parsed(&variables::DEADLOCK, limit_or_off)?);
    config.keepalive = keepalive(variables.0)?;
    config.resume = resume(variables.0)?;
    config.join_timeout = join(variables.0)?;
    set(&mut config.linger, variables.parsed(&variables::LINGER, |text| LIMIT.one(text))?);
    set(&mut config.calibrate, variables.parsed(&variables::CALIBRATE, on_or_off)?);
    config.cache = cache(variables);
    set(&mut config.overrides, variables.parsed(&variables::COLLECTIVE, Overrides::parse)?);
    Ok(())
}

/// Where rank 0 keeps what it has learnt of the links. The links of a lab are those of that lab.
fn cache(variables: &Variables<'_>) -> Option<PathBuf> {
    let below =
        |variable: &Variable, path: &str| variables.text(variable).map(|directory| PathBuf::from(directory).join(path));
    match variables.text(&variables::CACHE).as_deref() {
        Some("off") => None,
        Some(file) => Some(PathBuf::from(file)),
        None => below(&variables::LAB, "links.json").or_else(|| {
            let directory = |name: &str| variables.of_starter(name).map(PathBuf::from);
            let cache = directory("XDG_CACHE_HOME").or_else(|| Some(directory("HOME")?.join(".cache")))?;
            Some(cache.join("lathide/links.json"))
        }),
    }
}

fn set<T>(setting: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *setting = value;
    }
}

/// How long a host may not answer.
pub fn keepalive(variables: &dyn Fn(&str) -> Option<String>) -> Result<Option<Duration>> {
    Variables(variables)
        .parsed(&variables::KEEPALIVE, limit_or_off)
        .map(|keepalive| keepalive.unwrap_or(Some(KEEPALIVE)))
}

/// For how long a connection that was cut is made anew.
pub fn resume(variables: &dyn Fn(&str) -> Option<String>) -> Result<Option<Duration>> {
    Variables(variables).parsed(&variables::RESUME, limit_or_off).map(|resume| resume.unwrap_or(Some(RESUME)))
}

/// How long after the first rank the others may join.
pub fn join(variables: &dyn Fn(&str) -> Option<String>) -> Result<Duration> {
    Variables(variables).parsed(&variables::JOIN, |text| LIMIT.one(text)).map(|join| join.unwrap_or(JOIN))
}

fn limit_or_off(text: &str) -> std::result::Result<Option<Duration>, String> {
    match text {
        "off" => Ok(None),
        _ => LIMIT.one(text).map(Some).map_err(|why| format!("{why}, or off")),
    }
}

fn on_or_off(text: &str) -> std::result::Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("this is on or off".to_owned()),
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
    Error::Misuse(Misuse::Config { name: variables::RANK.name.into(), value: rank.to_string(), why })
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
