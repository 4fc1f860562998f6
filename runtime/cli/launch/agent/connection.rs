//! The launcher's connection to one agent, until it is ready to work.

use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::bootstrap::{Hello, Image};
use super::hosts::Hosts;
use super::messages::{FromAgent, PROTOCOL, ToAgent};
use super::starter;
use crate::launch::hosts::Host;
use crate::launch::local::output::Tail;
use lathide::launcher::control;
use lathide::launcher::rendezvous::read_frame;
use lathide::launcher::text::printable;

/// How long a host may take to send its agent's first line.
const FIRST_LINE: Duration = Duration::from_secs(10);
/// How long the program may take to get there.
const TRANSFER: Duration = Duration::from_secs(600);
/// How long the starter may take to end when its connection has.
const STARTER_ENDS: Duration = Duration::from_secs(2);
/// A login shell that says more than this before the agent's first line is no login shell.
const NOISE_BYTES_MAX: usize = 1 << 20;
/// How many of the starter's last lines are shown.
const COMPLAINTS_MAX: usize = 8;

/// A started agent.
pub(super) struct Connection {
    pub(super) session: Session,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: BufReader<ChildStdout>,
}

/// The process that is the way to an agent: ssh, say.
pub(super) struct Session {
    pub(super) child: Child,
    /// What it and the agent have written to standard error.
    complaints: Arc<Mutex<Tail>>,
}

impl Connection {
    /// Starts the agent on `host`, and sends it the program if it needs it.
    pub(super) async fn open(hosts: &Hosts, host: &Host, own: &Path, image: Option<&Image>) -> Result<Self, String> {
        let mut command = starter::command(hosts, host, own, image);
        let program = command.as_std().get_program().display().to_string();
        let mut child = command.spawn().map_err(|error| format!("{program} cannot be started: {error}"))?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(format!("{program} has no pipes"));
        };
        let session = Session { child, complaints: Arc::default() };
        tokio::spawn(keep_complaints(stderr, session.complaints.clone()));
        let mut connection = Connection { session, stdin, stdout: BufReader::new(stdout) };
        let mut hello = connection.hello().await?;
        if let (Hello::Need(machine), Some(image)) = (&hello, image) {
            image.fits(machine)?;
            match timeout(TRANSFER, connection.stdin.write_all(&image.bytes)).await {
                Ok(Ok(())) => hello = connection.hello().await?,
                Ok(Err(_)) => return Err(connection.session.why_it_ended().await),
                Err(_) => return Err(format!("the lathide program was not there after {} s", TRANSFER.as_secs())),
            }
        }
        match hello {
            Hello::Ready(PROTOCOL) => Ok(connection),
            Hello::Ready(other) => Err(format!(
                "the lathide program there speaks protocol {other}, this one {PROTOCOL}: install the same version"
            )),
            Hello::Need(_) => Err("it asks for the lathide program again".into()),
        }
    }

    async fn hello(&mut self) -> Result<Hello, String> {
        let search = async {
            let mut noise = 0;
            let mut line = Vec::new();
            while let Ok(read @ 1..) = (&mut self.stdout).take(4096).read_until(b'\n', &mut line).await {
                if let Some(hello) = Hello::parse(&String::from_utf8_lossy(&line)) {
                    return Some(hello);
                }
                line.clear();
                noise += read;
                if noise > NOISE_BYTES_MAX {
                    break;
                }
            }
            None
        };
        match timeout(FIRST_LINE, search).await {
            Ok(Some(hello)) => Ok(hello),
            Ok(None) => Err(self.session.why_it_ended().await),
            Err(_) => {
                let said = self.session.complaints();
                let said = if said.is_empty() { "it has said nothing".into() } else { format!("it has said: {said}") };
                Err(format!("no agent started there within {} s; {said}", FIRST_LINE.as_secs()))
            }
        }
    }

    pub(super) async fn send(&mut self, order: &ToAgent) -> Result<(), String> {
        let frame = control::encode(order).map_err(|error| format!("the job's description is too large: {error}"))?;
        match self.stdin.write_all(&frame).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.session.why_it_ended().await),
        }
    }

    pub(super) async fn hear(&mut self, patience: Duration) -> Result<FromAgent, String> {
        match timeout(patience, read_frame(&mut self.stdout)).await {
            Ok(Ok(message)) => Ok(message),
            Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Err(self.session.why_it_ended().await),
            Ok(Err(error)) => Err(format!("what it says is not understood: {error}")),
            Err(_) => Err(format!("its agent said nothing for {} s", patience.as_secs())),
        }
    }
}

impl Session {
    /// As the starter says it, if it has said anything, and with what to do about it, if that is known.
    pub(super) async fn why_it_ended(&mut self) -> String {
        let status = timeout(STARTER_ENDS, self.child.wait()).await.ok().and_then(Result::ok);
        // The end of standard error may be read a moment later.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let said = self.complaints();
        let ended = status.map_or_else(|| "the connection to its agent has closed".into(), ended);
        let said = if said.is_empty() { ended } else { format!("{said} ({ended})") };
        match advice(&said) {
            Some(advice) => format!("{said}; {advice}"),
            None => said,
        }
    }

    /// The last of them, in one line.
    fn complaints(&self) -> String {
        let lines = self.complaints.lock().lines();
        printable(&lines[lines.len().saturating_sub(COMPLAINTS_MAX)..].join("; "))
    }
}

async fn keep_complaints(stderr: ChildStderr, complaints: Arc<Mutex<Tail>>) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    while let Ok(1..) = (&mut stderr).take(4096).read_until(b'\n', &mut line).await {
        complaints.lock().add(line.trim_ascii());
        line.clear();
    }
}

fn ended(status: ExitStatus) -> String {
    match status.code() {
        // ssh's own.
        Some(255) => "ssh ended with status 255".into(),
        Some(code) => format!("its agent's session ended with status {code}"),
        None => "its session was killed".into(),
    }
}

fn advice(said: &str) -> Option<&'static str> {
    let known = [
        ("Host key verification failed", "connect once by hand (ssh HOST true) to see and accept its host key"),
        ("REMOTE HOST IDENTIFICATION HAS CHANGED", "its host key is not the one ssh knows: find out why"),
        ("Permission denied", "ssh must not ask for a password here: use a key (ssh-copy-id HOST) and ssh-add"),
        ("Could not resolve", "is the name right? an address, or an entry in ~/.ssh/config, will do too"),
        ("Connection refused", "does an ssh server run there, on that port (port=N in the hostfile)?"),
        ("timed out", "is the host up, and does a firewall let ssh through?"),
        ("GLIBC", "its system is older than this program's: install lathide there, and name it with --agent PATH"),
    ];
    known.iter().find(|(part, _)| said.contains(part)).map(|(_, advice)| *advice)
}
