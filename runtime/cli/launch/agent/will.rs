//! What the launcher wants to be said if it ends: a process of its own says it, since the launcher may be killed.
//!
//! To an agent, the end of a launcher that was killed would look like a cut of its connection.

use std::io;
use std::os::fd::AsFd;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::session::LAST_WORD;
use crate::launch::local::cleanup::JOB_VARIABLE;

/// The hidden command of the `lathide` program.
const WILL: &str = "__will";
/// How long the way to an agent may take to end after the last word: longer than the agent takes to end its ranks.
const WAY_ENDS: Duration = Duration::from_secs(4);

/// The process that holds the will for one connection. Dropped, it does its part.
pub(super) struct Will(Child);

impl Will {
    /// Says the last word to the agent behind `way`, a leader of a process group, when the launcher ends or this is
    /// dropped; and then ends `way`.
    pub(super) fn leave(way: &Child) -> io::Result<Self> {
        let gone = || io::Error::other("the way to the agent has ended");
        let to_agent = way.stdin.as_ref().ok_or_else(gone)?.as_fd().try_clone_to_owned()?;
        let group = way.id().ok_or_else(gone)?;
        let mut command = Command::new(std::env::current_exe()?);
        // A group of its own: what the terminal sends is not for it.
        command.arg(WILL).arg(group.to_string()).env_remove(JOB_VARIABLE).process_group(0);
        command.stdin(Stdio::piped()).stdout(to_agent).stderr(Stdio::null()).spawn().map(Will)
    }

    /// Nothing is to be said.
    pub(super) async fn revoke(&mut self) {
        // It is no error if it has ended.
        let _ = self.0.kill().await;
    }
}

/// The hidden process: waits until the launcher, at the other end of its input, is no more; its output is the way's input.
pub(crate) fn carry_out(group: i32) {
    // An error on a pipe means what its end means.
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    let deadline = Instant::now() + WAY_ENDS;
    // First a newline: the launcher may have been killed in the middle of a line. So few bytes go at once or not at all.
    let word = format!("\n{LAST_WORD}\n");
    if wait(PollFlags::OUT, deadline) == Some(PollFlags::OUT) {
        // If the way ends now, nobody can be told.
        let _ = rustix::io::write(io::stdout().as_fd(), word.as_bytes());
    }
    // The pipe is broken when the way has ended: as long as it is not, the group's number is no other's.
    if wait(PollFlags::empty(), deadline).is_none()
        && let Some(group) = Pid::from_raw(group)
    {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Waits until the output is ready for this, or broken. `None`: that did not come in time.
fn wait(wanted: PollFlags, deadline: Instant) -> Option<PollFlags> {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos().into() };
    let stdout = io::stdout();
    let mut watched = [PollFd::new(&stdout, wanted)];
    poll(&mut watched, Some(&left)).ok().filter(|&ready| ready > 0).map(|_| watched[0].revents())
}
