//! Ranks that have the key and come again and again, or as somebody else.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use std::time::Duration;

use super::*;
use crate::config::{Config, Key};
use crate::wire::handshake::{CHALLENGE_BYTES, Dialer as Handshake, Established, Limits, VERSIONS};

const KEY: [u8; 32] = *b"a key that only these tests know";
const SIZE: u32 = 4;
/// The rank that is called on, and that which calls.
const OWN: u32 = 2;
const PEER: u32 = 0;
const WATCHDOG: Duration = Duration::from_secs(120);

fn party(rank: u32) -> Party {
    let limits = Limits::of(&Config::alone());
    let (key, incarnation) = (Key::from_bytes(KEY), 100 + u64::from(rank));
    Party { key, rank, size: SIZE, incarnation, limits, encrypts: false, checks: false, versions: VERSIONS }
}

fn target(epoch: u32) -> Target {
    Target { purpose: Purpose::Link, rank: OWN, incarnation: Some(100 + u64::from(OWN)), epoch }
}

/// A node's side, and where it listens.
async fn listening() -> (Rejoin, SocketAddr) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let incarnations = (0..SIZE).map(|rank| 100 + u64::from(rank)).collect();
    let epochs = vec![7; SIZE as usize];
    let mut rejoin = Rejoin::new(
        party(OWN),
        vec![address; SIZE as usize],
        incarnations,
        epochs,
        (SocketBuffer::BY_SYSTEM, &Config::alone()),
    );
    rejoin.listen(listener);
    (rejoin, address)
}

fn on_runtime<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(WATCHDOG, test).await.expect("the test hangs") })
}

async fn dial(address: SocketAddr, party: Party, target: Target) -> Result<(Connection, Established), DialError> {
    handshake::dial(address, &party, target, 0, SocketBuffer::BY_SYSTEM).await
}

/// The next guest that has come.
async fn next_guest(rejoin: &mut Rejoin) -> Guest {
    loop {
        if let Event::Guest(guest) = rejoin.next().await {
            return *guest;
        }
    }
}

/// What the node says to one that comes as this party, in words.
async fn refusal(rejoin: &mut Rejoin, address: SocketAddr, party: Party, epoch: u32) -> String {
    let dialed = tokio::spawn(dial(address, party, target(epoch)));
    let guest = next_guest(rejoin).await;
    let refusal = rejoin.fits(&guest).expect_err("it does not fit");
    rejoin.turn_away(guest, refusal);
    match dialed.await.unwrap() {
        Err(DialError::Refused(refusal)) => refusal.to_string(),
        Err(error) => panic!("it is to be told: {error}"),
        Ok(_) => panic!("it is let in"),
    }
}

#[test]
fn who_comes_as_another_or_with_an_old_number_is_told_so() {
    on_runtime(async {
        let (mut rejoin, address) = listening().await;
        let earlier = Party { incarnation: 999, ..party(PEER) };
        for (party, epoch, words) in [
            (party(PEER), 7, "rank 0 is taken"),
            (party(PEER), 0, "rank 0 is taken"),
            (earlier, 8, "an earlier run"),
            // A rank that is dialed does not dial.
            (party(OWN + 1), u32::MAX, "it is rank 2"),
            (party(OWN), 8, "it is rank 2"),
            (Party { size: 9, ..party(PEER) }, 8, "ranks"),
        ] {
            let rank = party.rank;
            let text = refusal(&mut rejoin, address, party, epoch).await;
            assert!(text.contains(words), "as rank {rank} with {epoch}: {text}");
        }
    });
}

/// Each is told why not, and nothing is left of it.
#[test]
fn many_that_do_not_fit_take_no_memory() {
    const TIMES: usize = 300;
    on_runtime(async {
        let (mut rejoin, address) = listening().await;
        for _ in 0..TIMES {
            refusal(&mut rejoin, address, party(PEER), 7).await;
        }
        let left = rejoin.tasks.len();
        println!("{TIMES} were turned away, {left} tasks are left");
        assert!(left < 20, "{left}");
    });
}

/// Authenticated, and let in, but never there: each leaves its place to the next.
#[test]
fn growing_epochs_that_come_to_nothing_take_no_memory() {
    const TIMES: u32 = 300;
    on_runtime(async {
        let (mut rejoin, address) = listening().await;
        let mut kept = Vec::new();
        for epoch in 0..TIMES {
            let guest = tokio::spawn(async move {
                let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
                let (mut handshake, hello) = Handshake::hello(&party(PEER), target(8 + epoch), &[epoch as u8; 32]);
                stream.write_all(&hello).await.unwrap();
                let mut challenge = vec![0; CHALLENGE_BYTES];
                stream.read_exact(&mut challenge).await.unwrap();
                stream.write_all(&handshake.challenged(&challenge, u64::MAX).unwrap()).await.unwrap();
                stream
            });
            let came = next_guest(&mut rejoin).await;
            assert_eq!(rejoin.fits(&came), Ok(Rank(PEER).into()));
            rejoin.admit(came, 5);
            kept.push(guest.await.unwrap());
            tokio::task::yield_now().await;
        }
        let left = rejoin.tasks.len();
        println!("{TIMES} were let in, {left} tasks are left");
        assert!(left < 20, "{left}");
        // One that means it.
        let dialed = tokio::spawn(dial(address, party(PEER), target(8 + TIMES)));
        let came = next_guest(&mut rejoin).await;
        assert_eq!(rejoin.fits(&came), Ok(Rank(PEER).into()));
        rejoin.admit(came, 5);
        let (_, established) = dialed.await.unwrap().expect("it is let in");
        assert_eq!(established.next_expected, 5);
        loop {
            if let Event::Connected(Path { peer: Rank(PEER), lane: 0 }, Some(epoch), ..) = rejoin.next().await {
                assert_eq!(epoch, 8 + TIMES);
                break;
            }
        }
    });
}

/// A million cuts use all numbers: then there is no new connection, and an error that says so.
#[test]
fn the_last_epoch_is_followed_by_none() {
    on_runtime(async {
        let (mut rejoin, address) = listening().await;
        let (mut dialer, _) = listening().await;
        dialer.party = party(PEER);
        dialer.addresses = Arc::new(Mutex::new(vec![vec![address]; SIZE as usize]));
        dialer.epochs.insert(Rank(OWN).into(), u32::MAX - 1);
        dialer.begin(Rank(OWN).into(), 0, Instant::now() + Duration::from_secs(60), false);
        // The first attempt is stopped on its way in: the next has no greater number.
        let came = next_guest(&mut rejoin).await;
        assert_eq!((came.authenticated.epoch, rejoin.fits(&came)), (u32::MAX, Ok(Rank(PEER).into())));
        rejoin.epochs.insert(Rank(PEER).into(), u32::MAX);
        drop(came);
        let again = next_guest(&mut rejoin).await;
        let refusal = rejoin.fits(&again).expect_err("it has come before");
        rejoin.turn_away(again, refusal);
        let Event::Lost(Path { peer: Rank(OWN), lane: 0 }, why) = dialer.next().await else { panic!("no connection") };
        assert!(why.contains("it refuses a new connection"), "{why}");
    });
}
