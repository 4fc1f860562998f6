use std::io::{Read, Write};
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread;

use tokio::io::AsyncWriteExt;

use super::*;
use crate::config::Key;
use crate::join::{events, rendezvous};

/// Runs `test` on a runtime of its own, as a node's kernel does, with a deadline for all of it.
fn on_runtime<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let watched = async { timeout(Duration::from_secs(60), test).await.expect("the test hangs") };
    runtime.block_on(watched)
}

/// An address nobody else uses: of the many loopback ones, one for this process and call.
fn free_root() -> String {
    static CALLS: AtomicU8 = AtomicU8::new(1);
    let [.., high, low] = std::process::id().to_be_bytes();
    format!("127.{}.{low}.{}:27000", 64 + high % 64, CALLS.fetch_add(1, Ordering::Relaxed))
}

fn config(rank: u32, size: u32, root: &str) -> Config {
    let mut config = Config::new(rank, size, Some(root.to_string()));
    config.key = Key::from_bytes(*b"a key that only these tests know");
    config.join_timeout = Duration::from_secs(20);
    config.window_bytes = 1000 + u64::from(rank);
    config
}

/// Every rank on a thread of its own; what `each` makes of its membership.
fn job<T: Send + 'static>(
    configs: Vec<Config>,
    each: impl Fn(Rank, Result<Membership>) -> T + Clone + Send + 'static,
) -> Vec<T> {
    let spawn = |config: Config| {
        let each = each.clone();
        thread::spawn(move || {
            on_runtime(async {
                let membership = join(&config).await;
                let made = each(config.rank, membership);
                // Rank 0 may serve the others from this runtime: it must outlive their joining.
                tokio::time::sleep(Duration::from_millis(if config.rank == 0 { 300 } else { 0 })).await;
                made
            })
        })
    };
    let threads: Vec<_> = configs.into_iter().map(spawn).collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

/// Proves that each link leads where it should: both sides say who they are.
fn greet_all(rank: Rank, membership: Result<Membership>) -> usize {
    let membership = membership.unwrap();
    let mut spoken = 0;
    for (peer, link) in membership.links.iter().enumerate() {
        assert_eq!(link.is_none(), peer == rank.index());
        let Some(mut link) = link.as_ref().map(|link| &link.stream) else { continue };
        assert!(link.nodelay().unwrap());
        link.set_nonblocking(false).unwrap();
        link.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        link.write_all(&rank.0.to_le_bytes()).unwrap();
        let mut name = [0; 4];
        link.read_exact(&mut name).unwrap();
        assert_eq!(u32::from_le_bytes(name) as usize, peer);
        assert_eq!(membership.limits[peer].window_bytes, 1000 + peer as u64);
        spoken += 1;
    }
    spoken
}

fn cause(membership: Result<Membership>) -> String {
    membership.map(|_| "joined").unwrap_err().to_string()
}

#[test]
fn nodes_of_every_small_job_meet() {
    for size in [1, 2, 3, 8] {
        let root = free_root();
        let configs = (0..size).map(|rank| config(rank, size, &root)).collect();
        assert_eq!(job(configs, greet_all), vec![size as usize - 1; size as usize]);
    }
}

/// The last job's rank 0 may be about to end when the next job starts at the same port.
#[test]
fn rank_0_opens_the_rendezvous_when_its_port_becomes_free() {
    let root = free_root();
    let last = StdListener::bind(&root).unwrap();
    let ends = thread::spawn(move || {
        thread::sleep(Duration::from_millis(500));
        drop(last);
    });
    let configs = (0..3).map(|rank| config(rank, 3, &root)).collect();
    assert_eq!(job(configs, greet_all), vec![2; 3]);
    ends.join().unwrap();
}

#[test]
fn links_have_the_socket_buffers_that_are_set() {
    let root = free_root();
    let small = |rank| Config { socket_buffer_bytes: Some(8 << 10), ..config(rank, 3, &root) };
    let sizes = job((0..3).map(small).collect(), |rank, membership| {
        let of = |stream: &std::net::TcpStream| {
            let socket = socket2::SockRef::from(stream);
            [socket.send_buffer_size().unwrap(), socket.recv_buffer_size().unwrap()]
        };
        let links = membership.iter().flat_map(|membership| membership.links.iter().flatten());
        let sizes: Vec<_> = links.map(|link| of(&link.stream)).collect();
        greet_all(rank, membership);
        sizes
    });
    // The dialed ones and the accepted ones: twice what was asked for, as socket(7) says.
    assert_eq!(sizes, vec![vec![[16 << 10; 2]; 2]; 3]);
    let senseless = Config { socket_buffer_bytes: Some(0), ..config(0, 2, &root) };
    assert!(cause(on_runtime(join(&senseless))).contains("from 2KiB to 1GiB"));
}

#[test]
fn a_job_of_one_needs_nobody() {
    let membership = on_runtime(join(&Config::alone())).unwrap();
    assert!(membership.links.len() == 1 && membership.links[0].is_none() && membership.control.is_none());
}

#[test]
fn noise_on_the_rendezvous_port_has_no_effect() {
    let root = free_root();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let target = root.clone();
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = sent.clone();
    let noise = thread::spawn(move || {
        let mut silent = Vec::new();
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            let Ok(mut stream) = std::net::TcpStream::connect(&target) else { continue };
            let junk: [&[u8]; 4] = [b"GET / HTTP/1.1\r\n\r\n", b"lathide\0", &[0; 4096], &[]];
            let sent = counted.fetch_add(1, Ordering::Relaxed);
            let _ = stream.write_all(junk[sent % 4]);
            // Half of them keep their place: without the limit on pending ones they would fill the table.
            if sent.is_multiple_of(2) && silent.len() < 200 {
                silent.push(stream);
            }
        }
    });
    let size = 4;
    let mut configs: Vec<_> = (0..size).map(|rank| config(rank, size, &root)).collect();
    let late = configs.pop().unwrap();
    let others = thread::spawn(move || job(configs, greet_all));
    let began = Instant::now();
    while sent.load(Ordering::Relaxed) <= 100 && began.elapsed() < Duration::from_secs(8) {
        thread::sleep(Duration::from_millis(1));
    }
    let last = job(vec![late], greet_all);
    assert_eq!((others.join().unwrap(), last), (vec![3; 3], vec![3]));
    drop(stop);
    noise.join().unwrap();
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent > 100, "only {sent} connections of noise");
}

#[test]
fn noise_on_a_ranks_listener_has_no_effect() {
    on_runtime(async {
        let party = |rank| Party {
            key: Key::from_bytes(*b"a key that only these tests know"),
            rank,
            size: 2,
            incarnation: 7,
            limits: Limits::of(&Config::alone()),
            encrypts: false,
            checks: false,
            versions: VERSIONS,
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (guests, mut arrived) = mpsc::channel(4);
        tokio::spawn(handshake::receive(listener, party(1), Purpose::Link, guests, |guest| guest));
        let mut silent = Vec::new();
        for n in 0..500 {
            let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
            let _ = stream.write_all([[0u8; 200].as_slice(), b"lathide\0", b""][n % 3]).await;
            silent.push(stream);
        }
        let target = Target { purpose: Purpose::Link, rank: 1, incarnation: Some(7), epoch: 1 };
        // Among those of its own address it may be the one that makes room; it dials again then, as a rank does.
        let dialer = tokio::spawn(async move {
            loop {
                match handshake::dial(address, &party(0), target, 0, SocketBuffer::BY_SYSTEM).await {
                    Err(error) if !error.is_final() => {}
                    ended => return ended,
                }
            }
        });
        let guest = arrived.recv().await.unwrap();
        assert_eq!((guest.authenticated.rank, guest.authenticated.fits.clone()), (0, Ok(())));
        guest.admit(0).await.unwrap();
        dialer.await.unwrap().unwrap();
        assert!(arrived.try_recv().is_err(), "noise authenticated itself");
    });
}

#[test]
fn missing_ranks_are_named() {
    let root = free_root();
    let configs: Vec<_> = [0, 2]
        .into_iter()
        .map(|rank| Config { join_timeout: Duration::from_secs(4), ..config(rank, 4, &root) })
        .collect();
    for text in job(configs, |_, membership| cause(membership)) {
        assert!(text.contains("ranks 1 and 3 of 4 did not join"), "{text}");
    }
}

#[test]
fn another_key_gets_nowhere_and_is_told_why() {
    let root = free_root();
    let mut stranger = config(1, 2, &root);
    stranger.key = Key::from_bytes(*b"another key, of some other tests");
    stranger.join_timeout = Duration::from_secs(4);
    let honest = Config { join_timeout: Duration::from_secs(5), ..config(0, 2, &root) };
    let texts = job(vec![honest, stranger], |_, membership| cause(membership));
    assert!(texts[1].contains("does not know this job's key") && texts[1].contains(&root), "{}", texts[1]);
}

#[test]
fn a_foreign_service_on_the_port_is_recognised() {
    let foreign = StdListener::bind("127.0.0.1:0").unwrap();
    let root = foreign.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in foreign.incoming().flatten() {
            let _ = (&stream).write_all(b"220 mail.example.org ESMTP ready\r\n");
        }
    });
    let config = Config { join_timeout: Duration::from_secs(2), ..config(0, 2, &root) };
    let text = on_runtime(async { cause(join(&config).await) });
    assert!(text.contains(&root) && text.contains("another service"), "{text}");
}

#[test]
fn an_address_without_anybody_is_named() {
    let root = free_root();
    let config = Config { join_timeout: Duration::from_millis(200), ..config(1, 2, &root) };
    let text = on_runtime(async { cause(join(&config).await) });
    assert!(
        text.contains("rank 1 could not join") && text.contains(&root) && text.contains("nothing listens"),
        "{text}"
    );
}

#[test]
fn ranks_that_do_not_fit_are_told_at_once() {
    let root = free_root();
    let start = Instant::now();
    let mut configs: Vec<_> = (0..2).map(|rank| config(rank, 3, &root)).collect();
    for config in &mut configs {
        config.join_timeout = Duration::from_secs(5);
    }
    // Another size, and a rank that is there already.
    configs.push(config(1, 5, &root));
    let first = thread::spawn(move || job(configs, |_, membership| cause(membership)));
    thread::sleep(Duration::from_secs(2));
    let twin = on_runtime(async { cause(join(&config(1, 3, &root)).await) });
    assert!(twin.contains("rank 1 is taken"), "{twin}");
    assert!(start.elapsed() < Duration::from_secs(15), "it was not told, it ran into its deadline");
    let texts = first.join().unwrap();
    assert!(texts[2].contains("job of 3 ranks"), "{}", texts[2]);
    assert!(texts[0].contains("rank 2 of 3 did not join"), "{}", texts[0]);
    let outside = on_runtime(async { cause(join(&config(3, 3, &free_root())).await) });
    assert!(outside.contains("LATHIDE_RANK"), "{outside}");
}

/// A launcher's rendezvous with the test as launcher.
async fn launched(size: u32) -> (String, mpsc::Sender<events::Order>, mpsc::Receiver<events::Event>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let root = listener.local_addr().unwrap().to_string();
    let settings = events::Settings {
        size,
        key: Key::from_bytes(*b"a key that only these tests know"),
        join_timeout: Duration::from_secs(10),
        launcher: true,
        hosts: Vec::new(),
        rewrite: None,
    };
    let (orders, received) = mpsc::channel(16);
    let (events, happened) = mpsc::channel(16);
    tokio::spawn(rendezvous::serve(listener, settings, received, events));
    (root, orders, happened)
}

#[test]
fn losses_deadlocks_and_goodbyes_go_through_the_rendezvous() {
    use crate::join::control::Snapshot;
    use events::{Event, Order};
    on_runtime(async {
        let (root, orders, mut events) = launched(3).await;
        let configs: Vec<_> = (0..3).map(|rank| config(rank, 3, &root)).collect();
        let (a, b, c) = (join(&configs[0]), join(&configs[1]), join(&configs[2]));
        let (a, b, c) = (std::pin::pin!(a), std::pin::pin!(b), std::pin::pin!(c));
        let [a, b, c] = all([a, b, c]).await;
        assert!(a.launcher);
        let [mut a, mut b, c] = [a, b, c].map(|membership| membership.control.unwrap());
        assert!(matches!(events.recv().await, Some(Event::AllJoined(_))));

        // Ranks 0 and 1 wait for each other; the third computes.
        for _ in 0..2 {
            for (control, other) in [(&a, 1), (&b, 0)] {
                let snapshot = Snapshot {
                    waits: vec![vec![Rank(other)]],
                    certain: true,
                    sent: vec![4; 3],
                    received: vec![4; 3],
                    ..Snapshot::default()
                };
                control.sender().send(Report::Stalled(snapshot)).await.unwrap();
            }
        }
        let Some(Notice::Deadlock { report }) = a.notices.recv().await else { panic!("no verdict") };
        assert!(report.contains("ranks 0 and 1 can never move again"), "{report}");
        assert!(matches!(events.recv().await, Some(Event::Deadlock(text)) if text == report));
        assert!(matches!(b.notices.recv().await, Some(Notice::Deadlock { .. })));

        // The third leaves in order: nobody is told, whatever the launcher says of its process, be it before the last word
        // has come.
        orders.send(Order::Lost { rank: Rank(2), cause: "exited".into(), in_peace: true }).await.unwrap();
        tokio::time::sleep(Duration::from_millis(600)).await;
        c.leave(
            Some(Report::Leaving { finalized: true, error: None, blames: None, sent: vec![] }),
            Duration::from_secs(5),
        )
        .await;
        assert!(matches!(events.recv().await, Some(Event::Left { rank: Rank(2), finalized: true, .. })));
        orders.send(Order::Lost { rank: Rank(2), cause: "exited".into(), in_peace: false }).await.unwrap();

        // The second's connection breaks, and the launcher says why a moment later.
        drop(b);
        tokio::time::sleep(Duration::from_millis(20)).await;
        orders
            .send(Order::Lost { rank: Rank(1), cause: "it was killed by signal 9 (SIGKILL)".into(), in_peace: false })
            .await
            .unwrap();
        let lost = Notice::Lost { rank: Rank(1), cause: "it was killed by signal 9 (SIGKILL)".into() };
        assert_eq!(a.notices.recv().await, Some(lost));
    });
}

#[test]
fn a_rank_that_ends_before_it_joins_ends_the_waiting() {
    on_runtime(async {
        let (root, orders, mut events) = launched(3).await;
        let waiting = config(0, 3, &root);
        let waiting = tokio::spawn(async move { cause(join(&waiting).await) });
        tokio::time::sleep(Duration::from_secs(1)).await;
        let cause = "it ended with status 0".to_string();
        orders.send(events::Order::Lost { rank: Rank(2), cause, in_peace: false }).await.unwrap();
        let text = waiting.await.unwrap();
        assert!(text.contains("rank 2 ended before it joined: it ended with status 0; rank 0 waits"), "{text}");
        assert!(matches!(events.recv().await, Some(events::Event::JoinFailed(_))));
    });
}

/// Drives three joins on one task.
async fn all<F: Future<Output = Result<Membership>> + Unpin>(mut joins: [F; 3]) -> [Membership; 3] {
    let mut done = [None, None, None];
    poll_fn(|context| {
        for (join, done) in joins.iter_mut().zip(&mut done) {
            if done.is_none()
                && let Poll::Ready(membership) = std::pin::Pin::new(join).poll(context)
            {
                *done = Some(membership.unwrap());
            }
        }
        if done.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    done.map(Option::unwrap)
}
