//! Where an agent whose connection was cut waits for its launcher: a socket in a directory of its own.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::BufReader;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::lines;
use super::private::PrivateDirectory;
use super::resumption::{Greeting, Resumption, Token};

/// How long a visitor may take to say who it is: its connection may be cut just then.
const GREETING: Duration = Duration::from_secs(5);
/// More visitors than that, who have not said who they are, are not let in. Only this user's processes get so far.
const VISITORS_MAX: usize = 16;
/// Longer paths than that are no addresses of sockets.
const PATH_BYTES_MAX: usize = 100;

/// The launcher, over another connection.
pub(super) struct Visitor {
    pub(super) from: BufReader<OwnedReadHalf>,
    pub(super) to: OwnedWriteHalf,
    pub(super) greeting: Greeting,
}

/// The place where visitors come. Dropped, it is gone.
pub(super) struct Haven {
    directory: PrivateDirectory,
    visitors: mpsc::Receiver<Visitor>,
    /// The try with which the last one came.
    last: u64,
    _tasks: JoinSet<()>,
}

impl Haven {
    /// Opens one, and says how to get there.
    pub(super) fn open() -> io::Result<(Self, Resumption)> {
        let mut random = [0; 48];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let (token, name) = random.split_at(32);
        let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
        // Not the user's runtime directory: some systems remove that with the user's last session, which may be the one
        // whose connection is cut.
        let parent = [std::env::temp_dir(), PathBuf::from("/tmp")];
        let fits = |parent: &&PathBuf| parent.join(&name).as_os_str().len() + "lathide-/agent".len() <= PATH_BYTES_MAX;
        let parent = parent.iter().find(fits).ok_or_else(|| io::Error::other("its path is too long"))?;
        let directory = PrivateDirectory::make(parent, &format!("lathide-{name}"))?;
        let socket = directory.path().join("agent");
        let listener = UnixListener::bind(&socket)?;
        let token = Token::new(token.try_into().map_err(io::Error::other)?);
        let resumption = Resumption { socket, token: token.clone() };
        let (sender, visitors) = mpsc::channel(1);
        let mut tasks = JoinSet::new();
        tasks.spawn(receive(listener, token, sender));
        Ok((Haven { directory, visitors, last: 0, _tasks: tasks }, resumption))
    }

    /// What is to be removed if this process is killed.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The next visitor; none comes any more if the system lets none in.
    pub(super) async fn visitor(&mut self) -> Option<Visitor> {
        loop {
            let visitor = self.visitors.recv().await?;
            // One that the launcher has given up may come late.
            if visitor.greeting.attempt > self.last {
                self.last = visitor.greeting.attempt;
                return Some(visitor);
            }
        }
    }
}

async fn receive(listener: UnixListener, token: Token, visitors: mpsc::Sender<Visitor>) {
    let mut greeted = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if greeted.len() < VISITORS_MAX => {
                let Ok((stream, _)) = accepted else {
                    // No descriptors, say: it may be better later.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                };
                let (token, visitors) = (token.clone(), visitors.clone());
                greeted.spawn(async move {
                    if let Ok(Some(visitor)) = timeout(GREETING, greet(stream, &token)).await {
                        let _ = visitors.send(visitor).await;
                    }
                });
            }
            Some(_) = greeted.join_next() => {}
        }
    }
}

/// A visitor that knows the token.
async fn greet(stream: UnixStream, token: &Token) -> Option<Visitor> {
    let (from, to) = stream.into_split();
    let mut from = BufReader::new(from);
    let greeting: Greeting = lines::read(&mut from).await.ok()?;
    (greeting.resumption.token == *token).then_some(Visitor { from, to, greeting })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const WATCHDOG: Duration = Duration::from_secs(60);

    #[tokio::test(flavor = "current_thread")]
    async fn only_who_knows_the_token_is_let_in_and_nothing_is_left() {
        let (mut haven, resumption) = Haven::open().unwrap();
        let directory = haven.directory().to_owned();
        let metadata = std::fs::symlink_metadata(&directory).unwrap();
        assert!(metadata.is_dir() && metadata.mode() & 0o777 == 0o700, "{:o}", metadata.mode());
        let come = async |attempt: u64, token: Token| {
            let mut stream = UnixStream::connect(&resumption.socket).await.unwrap();
            let resumption = Resumption { token, ..resumption.clone() };
            let line = lines::encode(&Greeting { resumption, attempt, expected: attempt }).unwrap();
            stream.write_all(&line).await.unwrap();
            stream
        };
        // These are silent, garbled and strangers.
        let _silent = UnixStream::connect(&resumption.socket).await.unwrap();
        let mut garbled = UnixStream::connect(&resumption.socket).await.unwrap();
        garbled.write_all(b"{\"resumption\": 7}\n").await.unwrap();
        let mut stranger = come(9, Token::new([0; 32])).await;
        for stream in [&mut garbled, &mut stranger] {
            assert_eq!(timeout(WATCHDOG, stream.read(&mut [0])).await.unwrap().unwrap(), 0, "it was let in");
        }
        let _first = come(2, resumption.token.clone()).await;
        let visitor = timeout(WATCHDOG, haven.visitor()).await.unwrap().unwrap();
        assert_eq!(visitor.greeting.expected, 2);
        let _late = come(1, resumption.token.clone()).await;
        let _next = come(3, resumption.token.clone()).await;
        let visitor = timeout(WATCHDOG, haven.visitor()).await.unwrap().unwrap();
        assert_eq!(visitor.greeting.expected, 3, "a try that was given up does not count");
        drop(haven);
        assert!(!directory.exists());
    }
}
