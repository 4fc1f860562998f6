//! The invitation: a file in which rank 0 leaves the job's key and its own addresses for the other ranks.
//!
//! It is for jobs whose starter names no rendezvous, or knows no key: `mpirun`, `srun`, torchrun. It lies in
//! `${XDG_CACHE_HOME:-$HOME/.cache}/lathide/jobs`, which every host sees where homes are shared, and which nobody but
//! its owner may enter. Its name follows from the job's identity ([`super::foreign`]), so it needs no talking to find.
//!
//! Why an invitation that is left over does no harm: a reader believes nothing that it says. It calls the address, and
//! who answers must show that it knows the key in the file; only the process that wrote the file can, or its job. A
//! dead rank 0 does not answer, a stranger at its old port is not authenticated, and an earlier job of the same ranks (two
//! programs one after the other under one `srun`) has no slot left. In all these cases the reader looks at the file again
//! until its time is over; rank 0 replaces whatever has the name, in one step, so nobody ever reads half of one. And rank 0
//! removes only what it has written itself. Old ones are swept away a week later, when any job leaves a new one.
//!
//! In the same place `lathide run` leaves the key for its agents where the way to them can be listened to: srun passes standard
//! input on over the network as it is.

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::time::Instant;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, renameat, statat, unlinkat};
use serde::{Deserialize, Serialize};

use crate::config::{Discovery, Identity};

/// No invitation is longer, however many addresses a host has.
const BYTES_MAX: u64 = 64 << 10;
/// An invitation that has lain this long is nobody's: clocks of hosts do not differ so much, and jobs join within minutes.
const OLD: Duration = Duration::from_secs(7 * 86_400);
/// How long a key may take to be seen on another host.
const KEY_PATIENCE: Duration = Duration::from_secs(4);

/// What rank 0 tells the others.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq)]
pub(crate) struct Invitation {
    /// The job's key, unless it was given to every rank.
    pub(crate) key: Option<[u8; 32]>,
    /// Each a `host:port` at which rank 0 may be reached, the likeliest first.
    pub(crate) roots: Vec<String>,
}

/// Where a job's invitation lies, or will.
pub(crate) struct Location {
    directory: OwnedFd,
    path: PathBuf,
    name: String,
}

/// An invitation that lies there. Dropped, it is gone.
pub struct Posted {
    directory: OwnedFd,
    name: String,
    /// Open, so that no other file can get its number.
    file: File,
}

impl Location {
    /// Opens the directory, and makes it if it is not there.
    ///
    /// # Errors
    /// If there is no home, it cannot be made, or others may enter it.
    pub(crate) fn of(discovery: &Discovery) -> Result<Location, String> {
        Self::named(name(&discovery.identity)?)
    }

    /// A place for something of this name.
    fn named(name: String) -> Result<Location, String> {
        let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
        let cache =
            cache.ok_or("neither XDG_CACHE_HOME nor HOME names a directory, where rank 0 could leave the key")?;
        let path = cache.join("lathide/jobs");
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = openat(CWD, &path, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
        let stat = fstat(&directory).map_err(|error| failed(error.into()))?;
        is_private(&stat).map_err(|why| format!("{}: {why}, so the job's key is not safe there", path.display()))?;
        Ok(Location { directory, path: path.join(&name), name })
    }

    /// The file, for messages.
    pub(crate) fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// Leaves the invitation, in the place of any earlier one.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn post(self, invitation: &Invitation) -> Result<Posted, String> {
        self.sweep();
        let shown = self.path();
        let text = serde_json::to_vec(invitation).map_err(|error| error.to_string())?;
        self.write(&text).map_err(|error| format!("rank 0 cannot leave the job's key in {shown}: {error}"))
    }

    fn write(self, bytes: &[u8]) -> io::Result<Posted> {
        let draft = format!(".{}.{:016x}", self.name, getrandom::u64().map_err(io::Error::other)?);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.directory, &draft, flags, Mode::RUSR | Mode::WUSR)?);
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        let placed = written.and_then(|()| Ok(renameat(&self.directory, &draft, &self.directory, &self.name)?));
        if let Err(error) = placed {
            let _ = unlinkat(&self.directory, &draft, AtFlags::empty());
            return Err(error);
        }
        Ok(Posted { directory: self.directory, name: self.name, file })
    }

    /// Reads the invitation that lies there now.
    ///
    /// # Errors
    /// Why it cannot be used: it may be another one a moment later.
    pub(crate) fn read(&self) -> Result<Invitation, String> {
        // serde's own message could quote the key.
        serde_json::from_slice(&self.bytes()?).map_err(|_| "it is no invitation of this version of lathide".to_owned())
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        // Makes a client of a network file system look again: otherwise it remembers for a while that a name was missing.
        let _ = Dir::read_from(&self.directory).map(Iterator::count);
        // One that is a pipe must not hold the reader up.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.directory, &self.name, flags, Mode::empty()).map_err(|error| match error {
            rustix::io::Errno::NOENT => "it is not there".to_owned(),
            rustix::io::Errno::LOOP => "it is a symbolic link, which is refused".to_owned(),
            error => error.to_string(),
        })?;
        let stat = fstat(&file).map_err(|error| error.to_string())?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err("it is no file, which is refused".into());
        }
        is_private(&stat).map_err(|why| format!("{why}, so it is refused"))?;
        let mut text = Vec::new();
        File::from(file).take(BYTES_MAX).read_to_end(&mut text).map_err(|error| error.to_string())?;
        Ok(text)
    }

    /// Removes what dead jobs have left. Whatever cannot be removed stays.
    #[expect(clippy::disallowed_methods, reason = "files have the time of a clock that is set")]
    fn sweep(&self) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let Ok(entries) = Dir::read_from(&self.directory) else { return };
        for entry in entries.flatten() {
            let Ok(stat) = statat(&self.directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            if is_file && u64::try_from(stat.st_mtime).is_ok_and(|time| time + OLD.as_secs() < now) {
                let _ = unlinkat(&self.directory, entry.file_name(), AtFlags::empty());
            }
        }
    }
}

impl Drop for Posted {
    fn drop(&mut self) {
        // A later run of the same name may have put its own there.
        let there = statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        if let (Ok(there), Ok(own)) = (there, fstat(&self.file))
            && (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino)
        {
            let _ = unlinkat(&self.directory, &self.name, AtFlags::empty());
        }
    }
}

/// Leaves a job's key for this user's agents on hosts that share the directory. Returns what removes it, and its name there.
///
/// # Errors
/// Why it cannot be left.
pub fn leave_key(key: &[u8; 32]) -> Result<(Posted, String), String> {
    let name = format!("key-{:016x}", getrandom::u64().map_err(|error| format!("no random numbers: {error}"))?);
    let place = Location::named(name.clone())?;
    place.sweep();
    let shown = place.path();
    let posted = place.write(key).map_err(|error| format!("the job's key cannot be left in {shown}: {error}"))?;
    Ok((posted, name))
}

/// The key that a launcher has left under this name.
///
/// # Errors
/// Why there is none, and what to do.
pub fn fetch_key(name: &str) -> Result<[u8; 32], String> {
    if name.contains('/') {
        return Err(format!("{name:?} is no name of a key"));
    }
    let place = Location::named(name.to_owned())?;
    let until = Instant::now() + KEY_PATIENCE;
    let bytes = loop {
        match place.bytes() {
            Ok(bytes) => break bytes,
            // A network file system may show it later.
            Err(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(50)),
            Err(why) => {
                return Err(format!(
                    "the job's key is not in {}: {why}; the launcher leaves it there, since srun passes everything on where \
                     others can read it: have the hosts share that directory (XDG_CACHE_HOME names another), or reach them \
                     by ssh",
                    place.path()
                ));
            }
        }
    };
    bytes.try_into().map_err(|_| format!("{} is no key", place.path()))
}

/// Whether only this user may read it.
fn is_private(stat: &Stat) -> Result<(), String> {
    let own = rustix::process::geteuid().as_raw();
    if stat.st_uid != own {
        return Err(format!("it belongs to user {}, not to {own}", stat.st_uid));
    }
    match stat.st_mode & 0o777 {
        mode if mode & 0o077 != 0 => Err(format!("others have access to it (mode {mode:03o})")),
        _ => Ok(()),
    }
}

/// The name of the file: that it fits a file name, and says nothing, is what the hash is for.
fn name(identity: &Identity) -> Result<String, String> {
    let parts = match identity {
        Identity::Named(parts) => parts.clone(),
        Identity::Process(variable) => starter_process(variable)?,
    };
    let mut hasher = blake3::Hasher::new_derive_key("lathide v1 name of an invitation");
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    Ok(hasher.finalize().to_hex()[..32].to_owned())
}

/// The process that started the ranks, such that no other one ever is the same: this boot of this host, its number and
/// when it began. Shells and tools between it and the program have the variable, it has not.
fn starter_process(variable: &str) -> Result<Vec<String>, String> {
    let read = |path: String| std::fs::read(&path).map_err(|error| format!("{path}: {error}"));
    let set = format!("{variable}=");
    let mut process = std::process::id();
    loop {
        // The name in parentheses may contain anything; after it come the state, the parent and, as the 22nd, the start.
        let stat = String::from_utf8_lossy(&read(format!("/proc/{process}/stat"))?).into_owned();
        let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let has_variable = match read(format!("/proc/{process}/environ")) {
            Ok(environment) => environment.split(|&byte| byte == 0).any(|entry| entry.starts_with(set.as_bytes())),
            // Another user's, who started it for this one.
            Err(_) => false,
        };
        let (Some(parent), Some(start)) = (fields.get(1).and_then(|parent| parent.parse().ok()), fields.get(19)) else {
            return Err(format!("/proc/{process}/stat makes no sense"));
        };
        if process != std::process::id() && !has_variable || parent == 0 {
            let boot = String::from_utf8_lossy(&read("/proc/sys/kernel/random/boot_id".into())?).trim().to_owned();
            return Ok(vec!["process".into(), boot, process.to_string(), (*start).to_owned()]);
        }
        process = parent;
    }
}

#[cfg(test)]
#[path = "invitation_tests.rs"]
mod tests;
