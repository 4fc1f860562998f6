//! Joining by way of somebody who cuts connections, and beside somebody who opens very many.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpSocket, TcpStream};

use super::*;
use crate::config::Key;
use crate::join::events::Settings;
use crate::join::{events, rendezvous};
use crate::wire::handshake::{CHALLENGE_BYTES, HELLO_BYTES, READY_BYTES, RESPONSE_BYTES};

const KEY: [u8; 32] = *b"a key that only these tests know";
/// What a dialer and an acceptor say in a handshake.
const DIALER_BYTES: usize = HELLO_BYTES + RESPONSE_BYTES;
const ACCEPTOR_BYTES: usize = CHALLENGE_BYTES + READY_BYTES;

pub(super) fn on_runtime<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { timeout(Duration::from_secs(240), test).await.expect("the test hangs") })
}

/// What is done to the first connection by way of a proxy.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// Whether the dialer's bytes are counted, or the acceptor's.
    of_dialer: bool,
    /// After so many.
    after: usize,
    /// Whether it stands still then, instead of being closed.
    stands_still: bool,
}

/// Passes connections to `listener` on to `target`, and cuts the first.
fn proxy(listener: TcpListener, target: SocketAddr, cut: Cut, connections: Arc<AtomicU32>) {
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let is_first = connections.fetch_add(1, Ordering::SeqCst) == 0;
            let Ok(far) = TcpStream::connect(target).await else { continue };
            let _ = (near.set_nodelay(true), far.set_nodelay(true));
            tokio::spawn(async move {
                let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
                let limit = |counts: bool| if is_first && counts { cut.after } else { usize::MAX };
                let there = pass(near_in, far_out, limit(cut.of_dialer));
                let back = pass(far_in, near_out, limit(!cut.of_dialer));
                tokio::pin!(there, back);
                // Whichever way ends first, by the cut or by itself, takes the other along.
                let was_cut = tokio::select! { was_cut = &mut there => was_cut, was_cut = &mut back => was_cut };
                if was_cut && cut.stands_still {
                    // Neither side hears anything any more.
                    std::future::pending::<()>().await;
                }
            });
        }
    });
}

/// Returns whether `limit` bytes have passed; otherwise one of the ends is gone.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, limit: usize) -> bool {
    let (mut buffer, mut left) = (vec![0; 4096], limit);
    while left > 0 {
        let most = buffer.len().min(left);
        match from.read(&mut buffer[..most]).await {
            Ok(count @ 1..) if to.write_all(&buffer[..count]).await.is_ok() => left -= count,
            _ => return false,
        }
    }
    true
}

pub(super) fn settings(size: u32) -> Settings {
    Settings {
        size,
        key: Key::from_bytes(KEY),
        join_timeout: Duration::from_secs(60),
        launcher: true,
        hosts: Vec::new(),
        rewrite: None,
    }
}

pub(super) fn serve(listener: TcpListener, settings: Settings) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let ((_orders, received), (events, mut happened)) = (mpsc::channel(16), mpsc::channel(16));
        let hear = async { while happened.recv().await.is_some() {} };
        tokio::select! { _ = rendezvous::serve(listener, settings, received, events) => {}, () = hear => {} }
    })
}

pub(super) async fn here() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

pub(super) fn config(rank: u32, root: SocketAddr, encrypt: bool) -> Config {
    let mut config = Config::new(rank, 2, Some(root.to_string()));
    config.key = Key::from_bytes(KEY);
    config.join_timeout = Duration::from_secs(60);
    config.encrypt = encrypt;
    config
}

/// Two ranks join, and each byte that one sends arrives.
async fn two_join(roots: [SocketAddr; 2], encrypt: bool) -> Result<()> {
    let configs = [config(0, roots[0], encrypt), config(1, roots[1], encrypt)];
    let (a, b) = tokio::join!(join(&configs[0]), join(&configs[1]));
    let (a, b) = (a?, b?);
    let stream = |membership: &mut Membership, peer: usize| {
        TcpStream::from_std(membership.links[peer].take().expect("a link").stream).unwrap()
    };
    let (mut a, mut b) = ((stream(&mut { a }, 1)), (stream(&mut { b }, 0)));
    for (from, to) in [(true, 7u8), (false, 8)] {
        let (from, into) = if from { (&mut a, &mut b) } else { (&mut b, &mut a) };
        from.write_all(&[to]).await.unwrap();
        assert_eq!(into.read_u8().await.unwrap(), to, "no byte of the handshake is left in the way");
    }
    Ok(())
}

/// Rank 1 reaches the rendezvous by way of a proxy.
async fn cut_to_rendezvous(cut: Cut) -> (Result<()>, u32) {
    let ((listener, root), (front, by_way)) = (here().await, here().await);
    let served = serve(listener, settings(2));
    let connections = Arc::new(AtomicU32::new(0));
    proxy(front, root, cut, connections.clone());
    let joined = two_join([root, by_way], false).await;
    served.abort();
    (joined, connections.load(Ordering::SeqCst))
}

/// Rank 0 reaches rank 1 by way of a proxy.
async fn cut_between_ranks(cut: Cut, encrypt: bool) -> (Result<()>, u32) {
    let ((listener, root), (front, by_way)) = (here().await, here().await);
    let connections = Arc::new(AtomicU32::new(0));
    let counted = connections.clone();
    let rewrite: events::Rewrite = Box::new(move |mut addresses| {
        proxy(front, addresses[1], cut, counted);
        addresses[1] = by_way;
        Ok((addresses, Box::new(())))
    });
    let served = serve(listener, Settings { rewrite: Some(rewrite), ..settings(2) });
    let joined = two_join([root, root], encrypt).await;
    served.abort();
    (joined, connections.load(Ordering::SeqCst))
}

/// Every place at which a handshake can break such that not both sides know that it is over.
fn cuts(dialer_bytes: usize, acceptor_bytes: usize) -> impl Iterator<Item = Cut> {
    let dialer = (0..=dialer_bytes).map(|after| (true, after));
    let acceptor = (0..acceptor_bytes).map(|after| (false, after));
    dialer.chain(acceptor).map(|(of_dialer, after)| Cut { of_dialer, after, stands_still: false })
}

#[test]
fn a_rank_joins_though_its_way_to_the_rendezvous_is_cut_at_any_byte_of_the_handshake() {
    on_runtime(async {
        let mut count = 0;
        for cut in cuts(DIALER_BYTES, ACCEPTOR_BYTES) {
            let (joined, connections) = cut_to_rendezvous(cut).await;
            assert!(joined.is_ok() && connections >= 2, "{cut:?}: {joined:?}, {connections} connections");
            count += 1;
        }
        println!("{count} cuts");
    });
}

#[test]
fn ranks_connect_though_their_way_is_cut_at_any_byte_of_the_handshake() {
    on_runtime(async {
        let mut count = 0;
        for cut in cuts(DIALER_BYTES, ACCEPTOR_BYTES) {
            let (joined, connections) = cut_between_ranks(cut, false).await;
            assert!(joined.is_ok() && connections >= 2, "{cut:?}: {joined:?}, {connections} connections");
            count += 1;
        }
        println!("{count} cuts");
    });
}

#[cfg(feature = "encrypt")]
#[test]
fn encrypted_links_open_though_their_way_is_cut_at_any_byte_of_the_handshake() {
    use crate::wire::cipher::OPENING_BYTES;
    on_runtime(async {
        for cut in cuts(DIALER_BYTES + OPENING_BYTES, ACCEPTOR_BYTES + OPENING_BYTES) {
            // What comes before the cipher is cut in the test of plain links.
            if cut.after + 1 < if cut.of_dialer { DIALER_BYTES } else { ACCEPTOR_BYTES } {
                continue;
            }
            let (joined, connections) = cut_between_ranks(cut, true).await;
            assert!(joined.is_ok() && connections >= 2, "{cut:?}: {joined:?}, {connections} connections");
        }
    });
}

/// As when a cable is cut: nobody is told that the connection is over.
#[test]
fn a_handshake_that_stands_still_is_begun_again() {
    on_runtime(async {
        let cut = |of_dialer, after| Cut { of_dialer, after, stands_still: true };
        let (response, ready) = (cut(true, DIALER_BYTES), cut(false, ACCEPTOR_BYTES - 1));
        let (a, b, c, d) = tokio::join!(
            cut_to_rendezvous(response),
            cut_to_rendezvous(ready),
            cut_between_ranks(response, false),
            cut_between_ranks(ready, false)
        );
        for (joined, connections) in [a, b, c, d] {
            assert!(joined.is_ok() && connections >= 2, "{joined:?}, {connections} connections");
        }
    });
}

/// Opens silent connections from one address, as fast as that goes or at intervals, and keeps some.
async fn flood(address: SocketAddr, pause: Option<Duration>) {
    let mut kept = std::collections::VecDeque::new();
    loop {
        if let Ok(stream) = TcpStream::connect(address).await {
            kept.push_back(stream);
            kept.drain(..kept.len().saturating_sub(300));
        }
        match pause {
            Some(pause) => tokio::time::sleep(pause).await,
            None => tokio::task::yield_now().await,
        }
    }
}

/// Passes connections on from another local address, with half a round trip of delay each way.
fn far_away(listener: TcpListener, target: SocketAddr, from: &'static str, delay: Duration) {
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind(from.parse().unwrap()).unwrap();
            let Ok(far) = socket.connect(target).await else { continue };
            let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
            for (mut from, mut to) in [(near_in, far_out), (far_in, near_out)] {
                tokio::spawn(async move {
                    let mut buffer = vec![0; 4096];
                    while let Ok(count @ 1..) = from.read(&mut buffer).await {
                        tokio::time::sleep(delay).await;
                        if to.write_all(&buffer[..count]).await.is_err() {
                            return;
                        }
                    }
                });
            }
        }
    });
}

/// Dials rank 1 by way of `from`, 50 ms there and back, beside a flood. Returns how many attempts it took.
async fn attempts_beside_a_flood(from: &'static str, pause: Option<Duration>) -> u32 {
    let party = |rank| Party {
        key: Key::from_bytes(KEY),
        rank,
        size: 2,
        incarnation: 7,
        limits: Limits::of(&Config::alone()),
        encrypts: false,
        checks: false,
        versions: VERSIONS,
    };
    let ((listener, address), (front, by_way)) = (here().await, here().await);
    let (guests, mut arrived) = mpsc::channel(4);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let _ = handshake::receive(listener, party(1), Purpose::Link, guests, |guest| guest).await;
    });
    tasks.spawn(async move {
        while let Some(guest) = arrived.recv().await {
            let _ = guest.admit(0).await;
        }
    });
    far_away(front, address, from, Duration::from_millis(25));
    for _ in 0..3 {
        tasks.spawn(flood(address, pause));
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    for epoch in 1.. {
        let target = Target { purpose: Purpose::Link, rank: 1, incarnation: Some(7), epoch };
        match handshake::dial(by_way, &party(0), target, 0, SocketBuffer::BY_SYSTEM).await {
            Ok(_) => return epoch,
            Err(error) => assert!(epoch < 200, "kept out: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    unreachable!()
}

#[test]
fn a_flood_from_elsewhere_keeps_nobody_out() {
    on_runtime(async {
        let attempts = attempts_beside_a_flood("127.0.0.77:0", None).await;
        assert_eq!(attempts, 1, "strangers at another address have no effect");
    });
}

#[test]
fn a_flood_from_ones_own_address_keeps_nobody_out_for_long() {
    on_runtime(async {
        // 1500 a second. Each takes one of 64 places, at random, and the handshake takes a tenth of a second.
        let attempts = attempts_beside_a_flood("127.0.0.1:0", Some(Duration::from_millis(1))).await;
        println!("{attempts} attempts");
    });
}

/// A rank that has joined and goes before the others have come.
#[test]
fn a_joined_rank_that_goes_before_all_have_joined_is_named_at_once() {
    on_runtime(async {
        for launcher in [true, false] {
            let (listener, root) = here().await;
            let served = serve(listener, Settings { launcher, ..settings(3) });
            let of_three = |rank| Config { size: 3, ..config(rank, root, false) };
            let (first, second) = (of_three(0), of_three(1));
            let waiting = tokio::spawn(async move { join(&first).await.map(drop) });
            let goes = tokio::spawn(async move { join(&second).await.map(drop) });
            tokio::time::sleep(Duration::from_millis(1500)).await;
            let began = Instant::now();
            // Its task ends, and with it its end of the connection, as when a process is killed.
            goes.abort();
            let error = waiting.await.unwrap().unwrap_err().to_string();
            for words in ["rank 1 was lost before all had joined", "crashed, was killed", "rank 0 waits for it in vain"]
            {
                assert!(error.contains(words), "{words:?} is not in {error}");
            }
            assert!(began.elapsed() < Duration::from_secs(20), "at once, not when the time is over");
            served.abort();
        }
    });
}

/// A rank that finds out by itself that it cannot join says so to those that wait for it.
#[test]
fn why_a_rank_cannot_join_is_told_to_the_others() {
    on_runtime(async {
        let (taken, address) = here().await;
        for launcher in [true, false] {
            let (listener, root) = here().await;
            let served = serve(listener, Settings { launcher, ..settings(2) });
            let mut without_port = config(1, root, false);
            without_port.ports = Some(address.port()..=address.port());
            let configs = [config(0, root, false), without_port];
            let (a, b) = tokio::join!(join(&configs[0]), join(&configs[1]));
            let (a, b) = (a.map(drop).unwrap_err().to_string(), b.map(drop).unwrap_err().to_string());
            assert!(b.contains("it cannot listen on 127.0.0.1"), "{b}");
            assert!(a.contains("rank 1 ended before it joined: it cannot listen on 127.0.0.1"), "{a}");
            served.abort();
        }
        drop(taken);
    });
}

/// A job of many ranks on one host, beside somebody on that host who opens connections to the rendezvous and to every rank.
#[test]
fn many_local_ranks_join_beside_a_local_flood() {
    use rustix::process::{Resource, getrlimit};
    // Both ends of each link are of this process, what every rank has pending is too, and other tests run beside.
    // (`misuse::siege` has 128 processes.)
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let size: u32 = if limit >= 19_000 { 48 } else { 24 };
    on_runtime(async move {
        let (listener, root) = here().await;
        let targets = Arc::new(parking_lot::Mutex::new(vec![root]));
        let known = targets.clone();
        let rewrite: events::Rewrite = Box::new(move |addresses| {
            known.lock().extend(&addresses);
            Ok((addresses, Box::new(())))
        });
        let served = serve(listener, Settings { rewrite: Some(rewrite), ..settings(size) });
        let opened = Arc::new(AtomicU32::new(0));
        let mut floods = JoinSet::new();
        for _ in 0..4 {
            let (targets, opened) = (targets.clone(), opened.clone());
            floods.spawn(async move {
                let mut kept = std::collections::VecDeque::new();
                for at in 0.. {
                    let target = {
                        let targets = targets.lock();
                        targets[at % targets.len()]
                    };
                    if let Ok(Ok(stream)) = timeout(Duration::from_millis(200), TcpStream::connect(target)).await {
                        opened.fetch_add(1, Ordering::Relaxed);
                        kept.push_back(stream);
                        kept.drain(..kept.len().saturating_sub(40));
                    }
                    tokio::task::yield_now().await;
                }
            });
        }
        let ranks: Vec<_> = (0..size)
            .map(|rank| {
                let mut config = Config { size, ..config(rank, root, false) };
                config.join_timeout = Duration::from_secs(200);
                tokio::spawn(async move { join(&config).await })
            })
            .collect();
        let mut memberships = Vec::new();
        for rank in ranks {
            // Kept: one that goes while others connect would be lost to them.
            memberships.push(rank.await.unwrap().unwrap());
        }
        let is_complete = |membership: &Membership| membership.links.iter().flatten().count() == size as usize - 1;
        assert!(memberships.iter().all(is_complete));
        println!("{size} ranks beside {} connections", opened.load(Ordering::Relaxed));
        served.abort();
    });
}
