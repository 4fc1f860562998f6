//! A core whose link's other end is the test, and knows how links go on: what it says then may be anything.

use std::io::{IoSlice, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use socket2::SockRef;

use super::*;
use crate::buffer::{Element, ElementType, WriteBuffer};
use crate::collective::execute::{Job, Start, Typed};
use crate::collective::{Blocks, Prepared, allgather};
use crate::config::Config;
use crate::engine::{Engine, Limits};
use crate::ids::Tag;
use crate::kernel::clock::Clock;
use crate::kernel::hand_over::Leaves;
use crate::kernel::poller::Poller;
use crate::kernel::wake::TaskWake;
use crate::wire::frame::{Header, Kind, MatchKey};
use crate::wire::records::Records;

const PEER: Rank = Rank(1);
const PATIENCE: Duration = Duration::from_secs(30);
fn settings() -> (Option<Duration>, Disabled) {
    (None, Disabled::default())
}
const KEY: MatchKey = MatchKey::new(crate::wire::frame::Context::User, Tag(1));

/// A connection: the core's end, and the test's.
fn connection() -> (Connection<TcpStream>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (stream, _) = listener.accept().unwrap();
    stream.set_nonblocking(true).unwrap();
    (Connection { stream, records: None }, far)
}

/// A core of rank 0 of 2 whose links go on.
fn linked() -> (Core, TcpStream) {
    let (near, far) = connection();
    let limits = [Limits::of(&Config::alone()), Limits::of(&Config::alone())];
    let (poller, wake) = (Arc::new(Poller::new().unwrap()), Arc::new(TaskWake::new()));
    let links = vec![None, Some(near)];
    let mut core =
        Core::new(Engine::new(Rank(0), &limits), links, poller, Clock::start(), wake, Disabled::default()).unwrap();
    core.resumes = Some(PATIENCE);
    (core, far)
}

/// Has the connection to `far` end, and waits until that is known. `reset`: what the core has sent is thrown away.
fn cut(core: &mut Core, far: TcpStream) {
    drop(far);
    let began = Instant::now();
    while core.received_on(PEER).is_none() && core.engine.failure().is_none() {
        core.read(PEER);
        assert!(began.elapsed() < PATIENCE, "the end of the connection is not seen");
        std::thread::yield_now();
    }
}

/// A write of which the peer has taken some, and its link is down.
fn half_written(source: impl WriteBuffer) -> Core {
    let (mut core, mut far) = linked();
    core.engine.initwrite(Duration::ZERO, PEER, KEY, u8::TYPE, Box::new(source)).unwrap();
    core.engine.initread(Duration::ZERO, PEER, KEY, u8::TYPE, Box::new(vec![0u8; 8])).unwrap();
    core.flush();
    far.read_exact(&mut [0; 100]).unwrap();
    cut(&mut core, far);
    core
}

fn failed(core: &Core) -> String {
    core.engine.failure().expect("it has failed").to_string()
}

#[test]
fn a_position_that_cannot_be_is_a_named_failure() {
    for beyond in [1, 1 << 20, 1 << 40, u64::MAX / 2, u64::MAX - (1 << 30)] {
        let mut core = half_written(vec![1u8; 10_000]);
        let sent = core.engine.sent(PEER);
        let (connection, _far) = connection();
        assert_eq!(core.resume(PEER, connection, sent.wrapping_add(beyond), settings()), None);
        let text = failed(&core);
        assert!(text.contains("rank 1") && text.contains("acknowledged, of 0 to"), "{text}");
        core.hand_on();
        assert!(core.received_on(PEER).is_none() && core.sockets.get(PEER.into()).is_none(), "nothing of it is used");
    }
}

const PAYLOAD: u64 = 0x0123_4567_89ab_cdef;

/// The message of a collective, which is about to be posted: rank 0's block of an allgather.
fn gathered(core: &mut Core) -> Job {
    let schedule: Arc<Prepared> = allgather::doubling::schedule(Rank(0), 2, &Blocks::Equal(1)).into();
    let work = Box::new(Typed::new(&schedule, Vec::new(), vec![PAYLOAD; 2], None, |_, all: Vec<u64>| all));
    core.start(Duration::ZERO, Start { group: 0, schedule, signature: None, work, timed: None }).unwrap();
    let mut job = core.take_due().expect("it has a message to send");
    job.run(|| Duration::ZERO, &mut |_, _| ());
    job
}

/// Its connection has ended, and the core has not heard of it.
#[test]
fn what_meets_the_end_of_its_connection_as_it_is_posted_leaves_on_the_next() {
    for is_collective in [false, true] {
        let (mut core, far) = linked();
        let mut job = is_collective.then(|| gathered(&mut core));
        SockRef::from(&far).set_linger(Some(Duration::ZERO)).unwrap();
        drop(far);
        match job.take() {
            Some(job) => core.put_back(job, Leaves::AtOnce),
            None => {
                let source = Box::new(vec![PAYLOAD]);
                let error = core
                    .write_at_once(Duration::ZERO, PEER, KEY, u64::TYPE, bytemuck::cast_slice(&source))
                    .expect_err("it is reset");
                core.engine.initwrite(Duration::ZERO, PEER, KEY, u64::TYPE, source).unwrap();
                core.write_failed(PEER.into(), &error);
            }
        }
        assert!(core.received_on(PEER).is_some() && core.engine.failure().is_none(), "it is down, not lost");
        let (near, mut far) = connection();
        assert!(core.resume(PEER, near, 0, settings()).is_some());
        core.flush();
        core.sockets.get(PEER.into()).unwrap().stream.shutdown(Shutdown::Write).unwrap();
        far.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut all = Vec::new();
        far.read_to_end(&mut all).unwrap();
        let count = all.windows(8).filter(|bytes| **bytes == PAYLOAD.to_le_bytes()).count();
        assert_eq!(count, 1, "once, and whole: {all:?}");
    }
}

#[test]
fn who_comes_again_and_again_takes_no_memory_and_no_descriptor() {
    let mut core = half_written(vec![1u8; 10_000]);
    let mut others = Vec::new();
    for _ in 0..500 {
        let (near, far) = connection();
        assert!(core.resume(PEER, near, 0, settings()).is_some());
        assert_eq!(core.let_go(PEER.into()), Some(0), "a later one has come");
        assert_eq!(core.take_down().first().map(|gone| gone.path), Some(PEER.into()));
        others.push(far);
    }
    for mut far in others {
        far.set_read_timeout(Some(PATIENCE)).unwrap();
        let end = far.read_to_end(&mut Vec::new()).map_err(|error| error.kind());
        assert!(matches!(end, Ok(_) | Err(std::io::ErrorKind::ConnectionReset)), "it is still open: {end:?}");
    }
    let (near, mut far) = connection();
    assert!(core.resume(PEER, near, 0, settings()).is_some());
    far.read_exact(&mut [0; 10_000]).unwrap();
    core.abandon(PEER, "it is up");
    assert!(core.engine.failure().is_none(), "it is not down");
}

#[test]
fn a_new_connection_for_a_link_that_is_over_is_not_wanted() {
    let (mut core, mut far) = linked();
    core.engine.goodbye(None);
    core.flush();
    let frame = |kind, number| Header { kind, flags: 0, number, message_id: 0, length: 0 }.encode();
    far.write_all(&[frame(Kind::GoodbyeAck, 0), frame(Kind::Goodbye, 1)].concat()).unwrap();
    let began = Instant::now();
    while !core.engine.has_left(PEER) {
        core.read(PEER);
        assert!(began.elapsed() < PATIENCE, "goodbye is not heard");
    }
    core.flush();
    drop(far);
    while core.sockets.get(PEER.into()).is_some() {
        core.read(PEER);
        assert!(began.elapsed() < PATIENCE, "the end of the connection is not seen");
    }
    assert_eq!(core.let_go(PEER.into()), None);
    assert!(core.engine.failure().is_none());
    let (near, _far) = connection();
    assert_eq!(core.resume(PEER, near, 0, settings()), None);
    core.engine.fail_lost(PEER, "it is gone");
    assert_eq!(core.let_go(PEER.into()), None, "after a failure nobody comes again");
}

/// Goes wrong once its link is down.
struct Faulty {
    bytes: Vec<u8>,
    is_wrong: Arc<std::sync::atomic::AtomicBool>,
    panics: bool,
}

impl WriteBuffer for Faulty {
    const TYPE: ElementType = u8::TYPE;
    const ELEMENT_BYTES: usize = 1;
    fn bytes(&self) -> &[u8] {
        let is_wrong = self.is_wrong.load(std::sync::atomic::Ordering::Relaxed);
        assert!(!(is_wrong && self.panics), "the buffer of this test panics");
        if is_wrong { &self.bytes[..10] } else { &self.bytes }
    }
}

#[test]
fn a_buffer_that_fails_while_its_link_is_down_fails_the_node_by_name() {
    for panics in [true, false] {
        let is_wrong = Arc::<std::sync::atomic::AtomicBool>::default();
        let mut core = half_written(Faulty { bytes: vec![1; 10_000], is_wrong: is_wrong.clone(), panics });
        is_wrong.store(true, std::sync::atomic::Ordering::Relaxed);
        let (near, mut far) = connection();
        assert!(core.resume(PEER, near, 50, settings()).is_some());
        let text = failed(&core);
        assert!(text.contains("rank 0's initwrite to rank 1 (tag 1") && text.contains("`bytes`"), "{text}");
        core.hand_on();
        assert_eq!(core.under_way().count(), 0);
        core.break_down("its thread has panicked");
        far.set_read_timeout(Some(PATIENCE)).unwrap();
        let _ = far.read_to_end(&mut Vec::new());
    }
}

#[test]
fn a_core_that_breaks_while_a_link_is_down_resumes_nothing() {
    let mut core = half_written(vec![1u8; 10_000]);
    core.break_down("its thread has panicked");
    let text = failed(&core);
    assert!(text.contains("panicked"), "{text}");
    let (near, _far) = connection();
    assert_eq!((core.let_go(PEER.into()), core.resume(PEER, near, 0, settings())), (None, None));
    core.abandon(PEER, "no new connection");
    assert_eq!(failed(&core), text, "the first failure stands");
}

/// A link with checksums, on which the other end has sent a frame that is no harm, and a bit of it has flipped.
fn damaged(resumes: Option<Duration>) -> (Core, TcpStream) {
    let (mut core, mut far) = linked();
    core.resumes = resumes;
    core.sockets.get_mut(PEER.into()).unwrap().records = Some(Box::new(Records::checked()));
    let frame = Header { kind: Kind::Grant, flags: 0, number: 0, message_id: 0, length: 0 }.encode();
    let mut wire = Vec::new();
    let mut send = |bytes: &[u8]| {
        wire.extend_from_slice(bytes);
        Ok(bytes.len())
    };
    Records::checked().write(&[IoSlice::new(&frame)], &mut send).unwrap();
    wire[12] ^= 4;
    far.write_all(&wire).unwrap();
    let began = Instant::now();
    while core.sockets.get(PEER.into()).is_some() {
        core.read(PEER);
        assert!(began.elapsed() < PATIENCE, "the flipped bit is not seen");
        std::thread::yield_now();
    }
    (core, far)
}

#[test]
fn a_wrong_checksum_is_a_cut_of_which_nothing_was_believed() {
    let (mut core, _far) = damaged(Some(PATIENCE));
    assert_eq!((core.received_on(PEER), core.engine.failure().is_none()), (Some(0), true));
    assert!(core.down[&Path::from(PEER)].cause.contains("checksum"), "{:?}", core.down);
    let (near, _far) = connection();
    let resumed = core.resume(PEER, near, 0, settings());
    assert!(resumed.is_some_and(|resumed| resumed.by_checksum), "{resumed:?}");
}

#[test]
fn a_wrong_checksum_is_a_loss_with_its_cause_where_links_do_not_go_on() {
    let (core, _far) = damaged(None);
    let text = failed(&core);
    assert!(text.contains("rank 1 is lost") && text.contains("a checksum was wrong"), "{text}");
}

/// Connections that stand only until something is sent, as where a path damages all of it.
#[test]
fn a_link_that_comes_no_further_has_no_more_time_with_each_connection() {
    const PAUSE: Duration = Duration::from_millis(30);
    let mut core = half_written(vec![1u8; 10_000]);
    let mut stood = Vec::new();
    for _ in 0..4 {
        stood.extend(core.take_down());
        let (near, far) = connection();
        std::thread::sleep(PAUSE);
        assert!(core.resume(PEER, near, 0, settings()).is_some());
        cut(&mut core, far);
    }
    assert!(!stood[0].in_vain && stood[1..].iter().all(|gone| gone.in_vain), "{stood:?}");
    assert!(stood[0].stood < stood[1].stood && stood[1].stood + PAUSE <= stood[3].stood, "{stood:?}");
    let (near, far) = connection();
    assert!(core.resume(PEER, near, 100, settings()).is_some(), "it has");
    cut(&mut core, far);
    assert!(core.take_down().iter().all(|gone| !gone.in_vain));
    core.abandon(PEER, "no new connection");
    assert!(!failed(&core).contains("nothing has got through"), "{}", failed(&core));
}
