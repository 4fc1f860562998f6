//! Starting processes: the program, the key, one process per rank, and the two hidden commands.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::fs::{Access, MemfdFlags, access, memfd_create};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use tokio::process::{Child, Command};

use super::cleanup::{JOB_VARIABLE, kill_left_overs};
use super::job::{Job, Stdin};
use crate::launch::failed::{Failed, system};
use crate::launch::warden::Launcher;
use lathide::config::Key;
use lathide::launcher::handshake::job_id;

/// The exit status of a program that is not there.
pub(in crate::launch) const NOT_FOUND: u8 = 127;

/// What all ranks of a job on this host share.
pub(crate) struct Common {
    /// The `lathide` program, which starts the ranks.
    pub(crate) starter: PathBuf,
    /// The program to run, as the ranks shall execute it.
    program: OsString,
    /// The job's public name.
    pub(crate) id: String,
    /// Holds the job's key; every child inherits it.
    key: OwnedFd,
}

impl Common {
    /// Looks for the programs, unless the job's is on other hosts, where the agents look for it.
    pub(crate) fn new(job: &Job, secret: [u8; 32]) -> Result<Self, Failed> {
        let starter = std::env::current_exe().map_err(system("the lathide program cannot be found"))?;
        let program = match &job.hosts {
            None if job.is_lathide => starter.clone().into(),
            None => resolve(job)?,
            Some(_) => job.program.clone(),
        };
        let key = in_memory(&secret).map_err(system("the job's key cannot be kept"))?;
        let id = job_id(&Key::from_bytes(secret)).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Common { starter, program, id, key })
    }
}

/// A new secret.
pub(in crate::launch) fn new_key() -> Result<[u8; 32], Failed> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| Failed::launcher(format!("the job's key cannot be made: {error}")))?;
    Ok(key)
}

/// Puts the secret into memory that only inheriting processes can reach: no file, no argument, no variable.
fn in_memory(key: &[u8; 32]) -> io::Result<OwnedFd> {
    // Without CLOEXEC: the ranks shall inherit it.
    let memory = File::from(memfd_create("lathide-key", MemfdFlags::empty())?);
    (&memory).write_all(key)?;
    Ok(memory.into())
}

/// Starts one of the `ranks` of this host through the starter.
pub(super) fn rank(
    job: &Job,
    common: &Common,
    root: SocketAddr,
    ranks: &[u32],
    local_rank: usize,
) -> io::Result<Child> {
    let rank = ranks[local_rank];
    let mut command = Command::new(&common.starter);
    command.arg(START).arg(std::process::id().to_string()).arg(&common.program).args(&job.args);
    command.env_remove("LATHIDE_KEY_FILE").env_remove("LATHIDE_TRACE").env_remove("LATHIDE_REPORT");
    command.envs(job.env.iter().map(|(name, value)| (name, value)));
    command
        .env("LATHIDE_RANK", rank.to_string())
        .env("LATHIDE_SIZE", job.size.to_string())
        .env("LATHIDE_LOCAL_RANK", local_rank.to_string())
        .env("LATHIDE_LOCAL_SIZE", ranks.len().to_string())
        .env("LATHIDE_ROOT", root.to_string())
        .env("LATHIDE_KEY_FD", common.key.as_raw_fd().to_string())
        .env(JOB_VARIABLE, &common.id);
    if let Some(trace) = &job.trace {
        command.env("LATHIDE_TRACE", trace);
    }
    if job.report {
        command.env("LATHIDE_REPORT", "on");
    }
    if let Some(directory) = &job.directory {
        command.current_dir(directory);
    }
    command.stdin(if rank == 0 { rank_0_input(job.stdin) } else { Stdio::null() });
    // A group of its own: a signal reaches what the rank starts too, and the terminal's Ctrl-C only the launcher.
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
    command.spawn()
}

/// A terminal belongs to the launcher's process group, so its input is carried over; anything else can be inherited.
fn rank_0_input(stdin: Stdin) -> Stdio {
    match stdin {
        Stdin::Null => Stdio::null(),
        Stdin::Forward if io::stdin().is_terminal() => Stdio::piped(),
        Stdin::Forward => Stdio::inherit(),
        Stdin::Carry => Stdio::piped(),
    }
}

/// The hidden command of the `lathide` program.
const START: &str = "__start";

/// The hidden starter: dies with its parent `launcher`, and becomes the program. Returns only the error why it did not.
pub(crate) fn start(launcher: u32, program: &OsStr, args: &[OsString]) -> io::Error {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return error.into();
    }
    // The launcher may have died before the line above; then nobody would send the signal.
    if getppid() != i32::try_from(launcher).ok().and_then(Pid::from_raw) {
        return io::Error::other("the launcher is gone");
    }
    std::process::Command::new(program).args(args).exec()
}

/// What the warden is told when it has nothing to do.
pub(super) const DONE: &str = "done";

/// The hidden warden: waits for the launcher to say that all is done or to die, and then ends the job's left-overs and
/// removes the directories that it was told of.
pub(crate) fn warden(job: &str) {
    let (launcher, mut directories) = (Launcher::new(), Vec::new());
    for line in io::stdin().lines().map_while(Result::ok) {
        if line == DONE {
            return;
        }
        directories.push(line);
    }
    // The end of the input without that word: the launcher died.
    launcher.wait();
    kill_left_overs(job, &[]);
    for directory in directories {
        // It may have removed it itself.
        let _ = std::fs::remove_dir_all(directory);
    }
}

/// What to execute for `job.program`, or why it cannot be.
pub(in crate::launch) fn resolve(job: &Job) -> Result<OsString, Failed> {
    let program = Path::new(&job.program);
    let shown = program.display().to_string();
    let base = PathBuf::from(job.directory.clone().unwrap_or_default());
    if job.directory.is_some() {
        std::fs::read_dir(&base).map_err(system(format!("{} is no directory to run in", base.display())))?;
    }
    let candidates: Vec<PathBuf> = if shown.contains('/') {
        vec![program.to_owned()]
    } else {
        let own = job.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
        let path = own.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
        std::env::split_paths(&path).map(|directory| directory.join(program)).collect()
    };
    let mut unusable = None;
    for candidate in candidates {
        match executable(&base.join(&candidate)) {
            Ok(()) => return Ok(candidate.into_os_string()),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(error) => unusable = Some(error),
        }
    }
    if let Some(error) = unusable {
        return Err(Failed { message: format!("{shown} cannot be executed: {error}"), status: 126 });
    }
    let here = format!("; it is not in PATH, but in the current directory: ./{shown}");
    let hint = if base.join(program).is_file() { &here } else { "" };
    Err(Failed { message: format!("{shown}: program not found{hint}"), status: NOT_FOUND })
}

fn executable(path: &Path) -> io::Result<()> {
    if std::fs::metadata(path)?.is_dir() {
        return Err(io::Error::other("it is a directory"));
    }
    access(path, Access::EXEC_OK).map_err(|_| io::Error::other("it has no permission to be executed (chmod +x)"))
}
