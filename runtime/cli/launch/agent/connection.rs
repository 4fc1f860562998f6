//! The launcher's connection to one agent, until it is ready to work.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::time::timeout;

use super::bootstrap::Hello;
use super::hosts::Hosts;
use super::lines;
use super::messages::{FromAgent, PROTOCOL, ToAgent};
use super::resumption::Greeting;
use super::session::{Line, Session};
use super::starter::{self, Program, WayBack};
use super::will::Will;
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

/// What ssh says of a connection that was there.
const BROKEN: [&str; 4] = ["Connection reset by", "Connection closed by", "closed by remote host", "Broken pipe"];

/// A started agent, and the process that is the way to it: ssh, say. Dropped, the agent ends.
pub(super) struct Connection {
    /// That process. Its input goes to the agent.
    pub(super) child: Child,
    pub(super) stdout: BufReader<ChildStdout>,
    /// What it and the agent have written to standard error.
    complaints: Arc<Mutex<Tail>>,
    /// What has been said so far.
    pub(super) session: Session,
    /// Says the last word if the agent could take the end of the connection for a cut.
    will: Option<Will>,
}

/// Why an agent was not found again.
pub(super) enum NotBack {
    /// It is no more.
    Gone,
    /// It may be next time.
    Failed(String),
}

/// Why an agent does not do what it was asked.
pub(super) enum NotReady {
    /// The connection to it broke.
    Cut(Failed),
    /// Another one would not help.
    Failed(Failed),
}

impl NotReady {
    /// What kept the starter from its work: ssh says whether its connection was there and broke.
    pub(super) fn of_starter(failed: Failed) -> Self {
        let is_cut = BROKEN.iter().any(|part| failed.message.contains(part));
        if is_cut { NotReady::Cut(failed) } else { NotReady::Failed(failed) }
    }
}

impl From<Failed> for NotReady {
    fn from(failed: Failed) -> Self {
        NotReady::Failed(failed)
    }
}

impl From<NotReady> for Failed {
    fn from((NotReady::Cut(failed) | NotReady::Failed(failed)): NotReady) -> Self {
        failed
    }
}

impl Connection {
    /// Starts the agent on `host`, and sends it the program if it needs it.
    pub(super) async fn open(hosts: &Hosts, host: &Host, own: &Program) -> Result<Self, Failed> {
        let mut connection = Connection::start(starter::command(hosts, host, own))?;
        let mut hello = connection.hello(FIRST_LINE).await?;
        if let (Hello::Need(machine), Some(image)) = (&hello, &own.image) {
            image.fits(machine).map_err(Failed::launcher)?;
            let late =
                |_| Failed::launcher(format!("the lathide program was not there after {} s", TRANSFER.as_secs()));
            timeout(TRANSFER, connection.write(&image.bytes)).await.map_err(late)??;
            hello = connection.hello(FIRST_LINE).await?;
        }
        Err(Failed::launcher(match hello {
            Hello::Ready(PROTOCOL) => return Ok(connection),
            Hello::Ready(other) => format!(
                "the lathide program there speaks protocol {other}, this one {PROTOCOL}: install the same version"
            ),
            Hello::Need(_) => "it asks for the lathide program again".into(),
            Hello::Resumed(_) => "it goes on with another job".into(),
            Hello::Gone(why) => why,
        }))
    }

    /// Another connection to an agent that runs already, and the number of the next message it expects.
    pub(super) async fn again(
        way: &WayBack,
        greeting: &Greeting,
        attempt: u64,
        patience: Duration,
    ) -> Result<(Self, u64), NotBack> {
        let failed = |failed: Failed| NotBack::Failed(failed.message);
        let mut connection = Connection::start(way.command(attempt)).map_err(failed)?;
        let line = lines::encode(greeting).map_err(|error| NotBack::Failed(error.to_string()))?;
        connection.write(&line).await.map_err(failed)?;
        match connection.hello(patience.min(FIRST_LINE)).await.map_err(failed)? {
            Hello::Resumed(expected) => {
                connection.leave_will();
                Ok((connection, expected))
            }
            Hello::Gone(_) => Err(NotBack::Gone),
            Hello::Need(_) | Hello::Ready(_) => Err(NotBack::Failed("another agent answers".into())),
        }
    }

    fn start(mut command: Command) -> Result<Self, Failed> {
        let program = command.as_std().get_program().display().to_string();
        let mut child = command.spawn().map_err(system(format!("{program} cannot be started")))?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(Failed::launcher(format!("{program} has no pipes")));
        };
        let (complaints, stdout) = (Arc::<Mutex<Tail>>::default(), BufReader::new(stdout));
        tokio::spawn(keep_complaints(stderr, complaints.clone()));
        Ok(Connection { child, stdout, complaints, session: Session::default(), will: None })
    }

    /// From now on the agent shall hear if the launcher ends, in whatever way. Without a will, which the system may refuse,
    /// it finds out after a while.
    pub(super) fn leave_will(&mut self) {
        self.will = Will::leave(&self.child).ok();
    }

    /// The process that is the way to the agent has ended, or is of no use any more: nothing goes over it.
    pub(super) async fn abandon(&mut self) {
        if let Some(mut will) = self.will.take() {
            will.revoke().await;
        }
        // It is no error if it has ended.
        let _ = self.child.kill().await;
    }

    /// The agent has said all: waits until it and the way to it have gone.
    pub(super) async fn ended(&mut self) {
        let _ = self.child.wait().await;
        self.abandon().await;
    }

    /// Its next line that is not noise.
    async fn hello(&mut self, patience: Duration) -> Result<Hello, Failed> {
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
        Err(Failed::launcher(match timeout(patience, search).await {
            Ok(Some(hello)) => return Ok(hello),
            Ok(None) => self.why_it_ended().await,
            Err(_) => {
                let said = self.complaints();
                let said = if said.is_empty() { "it has said nothing".into() } else { format!("it has said: {said}") };
                format!("no agent started there within {} s; {said}", patience.as_secs())
            }
        }))
    }

    pub(super) async fn send(&mut self, order: &ToAgent) -> Result<(), Failed> {
        self.session.say(serde_json::to_vec(order).map_err(Failed::launcher)?);
        let mut lines = Vec::new();
        while self.session.poll_transmit(&mut lines) {}
        self.write(&lines).await
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Failed> {
        let is_written = match &mut self.child.stdin {
            Some(stdin) => stdin.write_all(bytes).await.is_ok(),
            None => false,
        };
        if is_written { Ok(()) } else { Err(Failed::launcher(self.why_it_ended().await)) }
    }

    /// What the agent answers; an error if it cannot do it, or takes longer than `patience`.
    pub(super) async fn ask(&mut self, question: &ToAgent, patience: Duration) -> Result<FromAgent, NotReady> {
        self.send(question).await.map_err(NotReady::Cut)?;
        Err(NotReady::Failed(Failed::launcher(match timeout(patience, self.hear()).await {
            Ok(Ok(FromAgent::Failed(failed))) => return Err(failed.into()),
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(NotReady::Cut(Failed::launcher(self.why_it_ended().await)));
            }
            Ok(Err(error)) => format!("what it says is not understood: {error}"),
            Err(_) => format!("its agent said nothing for {} s", patience.as_secs()),
        })))
    }

    async fn hear(&mut self) -> io::Result<FromAgent> {
        loop {
            let line = lines::next(&mut self.stdout).await?;
            if !line.ends_with(b"\n") {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match Line::parse(&line).map_err(io::Error::other)? {
                Line::Message { number, acknowledged, body } => {
                    let heard = self.session.handle_message(number, acknowledged, body.len());
                    heard.map_err(io::Error::other)?;
                    return Ok(serde_json::from_slice(body)?);
                }
                Line::Acknowledgement(acknowledged) => {
                    self.session.handle_acknowledgement(acknowledged).map_err(io::Error::other)?;
                }
                Line::LastWord => {}
            }
        }
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

impl Drop for Connection {
    fn drop(&mut self) {
        if self.will.is_none() {
            // Otherwise the will ends it when the agent has heard the last word.
            let _ = self.child.start_kill();
        }
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
