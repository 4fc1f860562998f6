//! The launcher's connection to one agent, until it is ready to work.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio::time::timeout;

use super::bootstrap::Hello;
use super::hosts::Hosts;
use super::lines;
use super::messages::{FromAgent, PROTOCOL, ToAgent};
use super::starter::{self, Program};
use crate::launch::failed::{Failed, system};
use crate::launch::hosts::Host;
use crate::launch::local::output::Tail;
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

/// A started agent, and the process that is the way to it: ssh, say.
pub(super) struct Connection {
    /// That process. Its input goes to the agent.
    pub(super) child: Child,
    pub(super) stdout: BufReader<ChildStdout>,
    /// What it and the agent have written to standard error.
    complaints: Arc<Mutex<Tail>>,
}

impl Connection {
    /// Starts the agent on `host`, and sends it the program if it needs it.
    pub(super) async fn open(hosts: &Hosts, host: &Host, own: &Program) -> Result<Self, Failed> {
        let mut command = starter::command(hosts, host, own);
        let program = command.as_std().get_program().display().to_string();
        let mut child = command.spawn().map_err(system(format!("{program} cannot be started")))?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(Failed::launcher(format!("{program} has no pipes")));
        };
        let mut connection = Connection { child, stdout: BufReader::new(stdout), complaints: Arc::default() };
        tokio::spawn(keep_complaints(stderr, connection.complaints.clone()));
        let mut hello = connection.hello().await?;
        if let (Hello::Need(machine), Some(image)) = (&hello, &own.image) {
            image.fits(machine).map_err(Failed::launcher)?;
            let late =
                |_| Failed::launcher(format!("the lathide program was not there after {} s", TRANSFER.as_secs()));
            timeout(TRANSFER, connection.write(&image.bytes)).await.map_err(late)??;
            hello = connection.hello().await?;
        }
        Err(Failed::launcher(match hello {
            Hello::Ready(PROTOCOL) => return Ok(connection),
            Hello::Ready(other) => format!(
                "the lathide program there speaks protocol {other}, this one {PROTOCOL}: install the same version"
            ),
            Hello::Need(_) => "it asks for the lathide program again".into(),
        }))
    }

    /// Its next line that is not noise.
    async fn hello(&mut self) -> Result<Hello, Failed> {
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
        Err(Failed::launcher(match timeout(FIRST_LINE, search).await {
            Ok(Some(hello)) => return Ok(hello),
            Ok(None) => self.why_it_ended().await,
            Err(_) => {
                let said = self.complaints();
                let said = if said.is_empty() { "it has said nothing".into() } else { format!("it has said: {said}") };
                format!("no agent started there within {} s; {said}", FIRST_LINE.as_secs())
            }
        }))
    }

    pub(super) async fn send(&mut self, order: &ToAgent) -> Result<(), Failed> {
        self.write(&lines::encode(order).map_err(Failed::launcher)?).await
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Failed> {
        let is_written = match &mut self.child.stdin {
            Some(stdin) => stdin.write_all(bytes).await.is_ok(),
            None => false,
        };
        if is_written { Ok(()) } else { Err(Failed::launcher(self.why_it_ended().await)) }
    }

    /// What the agent answers; an error if it cannot do it, or takes longer than `patience`.
    pub(super) async fn ask(&mut self, question: &ToAgent, patience: Duration) -> Result<FromAgent, Failed> {
        self.send(question).await?;
        Err(Failed::launcher(match timeout(patience, lines::read(&mut self.stdout)).await {
            Ok(Ok(FromAgent::Failed(failed))) => return Err(failed),
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => self.why_it_ended().await,
            Ok(Err(error)) => format!("what it says is not understood: {error}"),
            Err(_) => format!("its agent said nothing for {} s", patience.as_secs()),
        }))
    }

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

/// The error for an answer to another question.
pub(super) fn unexpected(answer: &FromAgent) -> Failed {
    Failed::launcher(format!("its agent answers {answer:?}"))
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
