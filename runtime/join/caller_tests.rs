//! A node and the rendezvous by way of somebody who cuts their connection: whatever they tell each other comes once, in order.

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::JoinHandle;

use super::*;
use crate::chance::Chance;
use crate::config::{Config, Key};
use crate::ids::Rank;
use crate::join::cores::Cores;
use crate::join::events::{Event, Order, Settings};
use crate::join::{handshake, rendezvous};
use crate::wire::handshake::{CHALLENGE_BYTES, HELLO_BYTES, Limits, READY_BYTES, RESPONSE_BYTES, VERSIONS};
use crate::{observe, scale};

const KEY: [u8; 32] = *b"a key that only these tests know";
/// What each direction says before its first frame.
const DIALER_BYTES: usize = HELLO_BYTES + RESPONSE_BYTES;
const ACCEPTOR_BYTES: usize = CHALLENGE_BYTES + READY_BYTES;
/// Longer than any of these tests may take on a busy machine.
const LONG: Duration = Duration::from_secs(240);

fn on_runtime<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { timeout(LONG, test).await.expect("the test hangs") })
}

/// What is done to one connection.
#[derive(Clone, Copy, Debug, Default)]
struct Fault {
    /// After so many bytes of the dialer, and of the acceptor: whichever comes first.
    after: [Option<usize>; 2],
    /// For so long nothing passes then, and both ends take it for a network that is slow, before they are told.
    stands_still: Duration,
    /// How much later the dialer's end (0) or the acceptor's (1) is told than the other.
    late: [Duration; 2],
}

/// Somebody between a node and the rendezvous.
struct Between {
    at: SocketAddr,
    connections: Arc<AtomicU64>,
    /// Whether anything passes. If not, connections are taken, and nothing comes of them.
    is_open: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Between {
    /// The first connections have these faults, one each; those after them none.
    async fn new(target: SocketAddr, faults: Vec<Fault>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (at, connections) = (listener.local_addr().unwrap(), Arc::new(AtomicU64::new(0)));
        let (count, (is_open, opened)) = (connections.clone(), watch::channel(true));
        let task = tokio::spawn(async move {
            let (mut tasks, mut faults) = (JoinSet::new(), VecDeque::from(faults));
            while let Ok((near, _)) = listener.accept().await {
                let mut opened = opened.clone();
                if !*opened.borrow() {
                    tasks.spawn(async move { drop((opened.wait_for(|is_open| *is_open).await.is_ok(), near)) });
                    continue;
                }
                let Ok(far) = TcpStream::connect(target).await else { continue };
                count.fetch_add(1, Ordering::SeqCst);
                let passing = pass_on(near, far, faults.pop_front().unwrap_or_default());
                tasks.spawn(async move {
                    tokio::select! { () = passing => {}, _ = opened.wait_for(|is_open| !is_open) => {} }
                });
            }
        });
        Between { at, connections, is_open, task }
    }

    fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn pass_on(near: TcpStream, far: TcpStream, fault: Fault) {
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    let mut ways = [(near_in, far_out), (far_in, near_out)];
    let [there, back] = &mut ways;
    tokio::select! {
        () = pass(there, fault.after[0]) => {}
        () = pass(back, fault.after[1]) => {}
    }
    tokio::time::sleep(fault.stands_still).await;
    let [(near_in, far_out), (far_in, near_out)] = ways;
    let (near, far) = ((near_in, near_out), (far_in, far_out));
    tokio::join!(async { drop((tokio::time::sleep(fault.late[0]).await, near)) }, async {
        drop((tokio::time::sleep(fault.late[1]).await, far))
    });
}

/// Returns when so many bytes have passed, or one of the ends is gone.
async fn pass((from, to): &mut (OwnedReadHalf, OwnedWriteHalf), limit: Option<usize>) {
    let (mut buffer, mut left) = (vec![0; 4096], limit.unwrap_or(usize::MAX));
    while left > 0 {
        let most = buffer.len().min(left);
        match from.read(&mut buffer[..most]).await {
            Ok(count @ 1..) if to.write_all(&buffer[..count]).await.is_ok() => left -= count,
            _ => return,
        }
    }
}

/// A rendezvous with the test as launcher, or without any.
struct Served {
    root: SocketAddr,
    orders: mpsc::Sender<Order>,
    events: mpsc::Receiver<Event>,
    task: JoinHandle<()>,
}

async fn served(size: u32, launcher: bool) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let root = listener.local_addr().unwrap();
    let (key, join_timeout) = (Key::from_bytes(KEY), LONG);
    let settings = Settings { size, key, join_timeout, launcher, hosts: Vec::new(), rewrite: None };
    let ((orders, received), (sender, events)) = (mpsc::channel(16), mpsc::channel(1000));
    let task = tokio::spawn(async move {
        rendezvous::serve(listener, settings, received, sender).await.unwrap();
    });
    Served { root, orders, events, task }
}

/// A node as far as the rendezvous knows it, and the listener that shows that it lives.
struct Node {
    control: Control,
    listener: TcpListener,
}

/// `resume`: how long it calls again.
async fn node(rank: u32, size: u32, root: SocketAddr, resume: Option<Duration>) -> Node {
    let party = Party {
        key: Key::from_bytes(KEY),
        rank,
        size,
        incarnation: 100 + u64::from(rank),
        limits: Limits::of(&Config::alone()),
        encrypts: false,
        checks: false,
        versions: VERSIONS,
    };
    let mut epoch = 0;
    let line = loop {
        epoch += 1;
        match handshake::call(root, &party, epoch).await {
            Ok(line) => break line,
            Err(error) => assert!(epoch < 100, "{error}"),
        }
    };
    let keepalive = Some(Duration::from_millis(500));
    let control = Control::new(line, party, &[root], Patience { keepalive, resume }).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let cores = Box::new(Cores::default());
    let join = Report::Join { address, process: 1, version: "test".to_owned(), keepalive, resume, cores };
    control.sender().send(join).await.unwrap();
    Node { control, listener }
}

const RESUME: Option<Duration> = Some(Duration::from_secs(120));

/// What a rank observes, with a number that says which.
fn observed(number: u32, bytes: usize) -> Report {
    let notes = vec!["x".repeat(97); bytes / 100];
    let text = r#"{"rank":0,"size":2,"overlap":true,"elapsed_s":NUMBER,"threads":2,"t_calc_s":1.0,"t_post_s":0.1,
        "t_wait_s":0.2,"t_exposed_s":0.1,"t_com_s":0.5,"links":[],"advice":{"limit":"partners","words":"post earlier",
        "figures":[]},"notes":NOTES}"#;
    let text = text.replace("NUMBER", &format!("{number}.0")).replace("NOTES", &serde_json::to_string(&notes).unwrap());
    Report::Observed(Box::new(serde_json::from_str::<observe::Report>(&text).unwrap()))
}

async fn next_observed(events: &mut mpsc::Receiver<Event>) -> u32 {
    loop {
        match events.recv().await.expect("the rendezvous lives") {
            Event::Observed(_, report) => return report.elapsed_s as u32,
            Event::AllJoined(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Two nodes of a job; the first by way of somebody with these faults. `count` reports of the first and as many notices to
/// it (the second moves) come once and in order. Returns how many connections it took.
async fn talk(faults: Vec<Fault>, count: u32, bytes: usize) -> u64 {
    let mut served = served(2, true).await;
    let between = Between::new(served.root, faults).await;
    let (mut first, second) = tokio::join!(node(0, 2, between.at, RESUME), node(1, 2, served.root, RESUME));
    let (reports, moves) = (first.control.sender(), second.control.sender());
    let say = async {
        for number in 0..count {
            reports.send(observed(number, bytes)).await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    let come = async {
        for number in 0..count {
            assert_eq!(next_observed(&mut served.events).await, number);
        }
    };
    let notices = async {
        let table = first.control.notices.recv().await;
        assert!(matches!(table, Some(Notice::Table { .. })), "{table:?}: {:?}", first.control.ended());
        for number in 0..count {
            // What the rendezvous keeps for a rank has a bound: the next is said when this one has come.
            let address = SocketAddr::from(([127, 0, 0, 2], number as u16));
            moves.send(Report::Moved { address }).await.unwrap();
            assert_eq!(first.control.notices.recv().await, Some(Notice::Moved { rank: Rank(1), address }));
        }
    };
    tokio::join!(say, come, notices);
    // The last word too, and nothing else.
    drop((reports, moves));
    let last = Report::Leaving { finalized: true, error: None, blames: None, sent: vec![] };
    first.control.leave(Some(last), LONG).await;
    let left = served.events.recv().await;
    assert!(matches!(left, Some(Event::Left { rank: Rank(0), finalized: true, .. })), "{left:?}");
    let connections = between.connections();
    between.task.abort();
    served.task.abort();
    drop((first.listener, second.listener, served.orders));
    connections
}

#[test]
fn a_line_that_is_cut_at_every_byte_loses_and_repeats_nothing() {
    on_runtime(async {
        // Whole frames of each kind: what a node says begins with how it joins.
        let stride = if scale::is_whole() { 1 } else { 7 };
        let mut cuts = 0;
        for of in 0..2 {
            let first = [DIALER_BYTES, ACCEPTOR_BYTES][of];
            for after in (first - 8..first + 700).step_by(stride) {
                let mut fault = Fault::default();
                fault.after[of] = Some(after);
                cuts += talk(vec![fault], 3, 0).await - 1;
            }
        }
        println!("{cuts} cuts");
    });
}

#[test]
fn many_cuts_of_all_kinds_lose_and_repeat_nothing() {
    on_runtime(async {
        let (seeds, mut cuts) = (scale::scaled(100), 0);
        for seed in 0..seeds {
            let mut chance = Chance(seed);
            let mut fault = |_| {
                let mut fault = Fault::default();
                let of = chance.below(2_usize);
                fault.after[of] = Some(chance.below(3000));
                if chance.once_in(4) {
                    fault.stands_still = Duration::from_millis(chance.below(50));
                }
                if chance.once_in(2) {
                    fault.late[chance.below(2_usize)] = Duration::from_millis(chance.below(300));
                }
                fault
            };
            let faults: Vec<Fault> = (0..40).map(&mut fault).collect();
            println!("seed {seed}: {faults:?}");
            cuts += talk(faults, 100, 100).await - 1;
        }
        println!("{seeds} seeds, {cuts} cuts");
    });
}

/// The longest frames, cut in the middle.
#[test]
fn long_reports_survive_cuts() {
    on_runtime(async {
        let fault = |after| Fault { after: [Some(after), None], ..Fault::default() };
        let connections = talk([300_000, 700_000, 1_000_000].map(fault).to_vec(), 4, 900_000).await;
        assert!(connections >= 4, "{connections}");
    });
}

/// READY does not arrive, or is cut in its middle, on several connections in succession.
#[test]
fn a_ready_that_is_lost_is_given_again() {
    on_runtime(async {
        let first = Fault { after: [Some(DIALER_BYTES + 400), None], ..Fault::default() };
        let lost = |bytes| Fault { after: [None, Some(ACCEPTOR_BYTES - bytes)], ..Fault::default() };
        let connections = talk(vec![first, lost(READY_BYTES), lost(1), lost(7), lost(0)], 10, 10).await;
        assert!(connections >= 5, "{connections}");
    });
}

/// Two nodes that have joined; the second by way of somebody who can lose everything.
async fn pair(launcher: bool, resume: Option<Duration>) -> (Served, Between, Node, Node) {
    let served = served(2, launcher).await;
    let between = Between::new(served.root, Vec::new()).await;
    let (mut first, mut second) = tokio::join!(node(0, 2, served.root, resume), node(1, 2, between.at, resume));
    for node in [&mut first, &mut second] {
        assert!(matches!(node.control.notices.recv().await, Some(Notice::Table { .. })));
    }
    (served, between, first, second)
}

#[test]
fn nobody_is_judged_while_a_line_is_cut() {
    use crate::join::control::Snapshot;
    on_runtime(async {
        let (mut served, between, mut first, second) = pair(true, RESUME).await;
        assert!(matches!(served.events.recv().await, Some(Event::AllJoined(_))));
        let stalled = |other| {
            let (waits, counts) = (vec![vec![Rank(other)]], vec![4; 2]);
            let snapshot =
                Snapshot { waits, certain: true, sent: counts.clone(), received: counts, ..Snapshot::default() };
            Report::Stalled(snapshot)
        };
        second.control.sender().send(stalled(0)).await.unwrap();
        second.control.sender().send(stalled(0)).await.unwrap();
        // It has come when the launcher's question has been answered after it.
        let answer = Report::Shows(Snapshot::default());
        second.control.sender().send(answer.clone()).await.unwrap();
        first.control.sender().send(answer).await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        between.is_open.send_replace(false);
        tokio::time::sleep(Duration::from_millis(300)).await;
        first.control.sender().send(stalled(1)).await.unwrap();
        first.control.sender().send(stalled(1)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(700)).await;
        assert!(first.control.notices.try_recv().is_err(), "it may be about to move by what is under way");
        between.is_open.send_replace(true);
        assert!(matches!(first.control.notices.recv().await, Some(Notice::Deadlock { .. })));
        served.task.abort();
    });
}

/// Another process with the same number, the same process' earlier connection, one that claims what cannot be.
#[test]
fn connections_that_do_not_continue_a_line_do_not_disturb_it() {
    on_runtime(async {
        let (served, _between, mut first, second) = pair(true, RESUME).await;
        let party = |incarnation| Party {
            key: Key::from_bytes(KEY),
            rank: 1,
            size: 2,
            incarnation,
            limits: Limits::of(&Config::alone()),
            encrypts: false,
            checks: false,
            versions: VERSIONS,
        };
        for (incarnation, epoch) in [(7, 100), (101, 0), (101, 1)] {
            let refused = handshake::call(served.root, &party(incarnation), epoch).await.map(drop).unwrap_err();
            assert!(refused.to_string().contains("rank 1 is taken"), "{refused}");
        }
        let address = "127.0.0.3:3".parse().unwrap();
        second.control.sender().send(Report::Moved { address }).await.unwrap();
        assert_eq!(first.control.notices.recv().await, Some(Notice::Moved { rank: Rank(1), address }));
        // It is of the same process, and claims to have heard more than was said: it is not believed.
        let stream = handshake::connect(
            served.root,
            crate::join::socket_buffer::SocketBuffer::BY_SYSTEM,
            Duration::from_secs(9),
        )
        .await
        .unwrap();
        let target = crate::wire::handshake::Target { epoch: 50, ..handshake::RENDEZVOUS_OF_ANY };
        let refused = handshake::call_on(stream, &party(101), target, 1000).await.map(drop).unwrap_err();
        assert!(refused.to_string().contains("rank 1 is taken"), "{refused}");
        served.task.abort();
    });
}

#[path = "caller_tests/losses.rs"]
mod losses;
