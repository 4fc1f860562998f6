//! A core whose link's other end is the test: what has come is heard before the job fails.

use std::io::{IoSlice, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::buffer::Element;
use crate::collective::execute::Collectives;
use crate::config::Config;
use crate::controllers::Disabled;
use crate::engine::{Engine, Limits, Sent};
use crate::ids::Tag;
use crate::join::handshake::Connection;
use crate::kernel::clock::Clock;
use crate::kernel::poller::Poller;
use crate::kernel::wake::TaskWake;
use crate::wire::frame::MatchKey;

const OWN: Rank = Rank(0);
const PEER: Rank = Rank(1);
const WORDS: &str = "what it says of it";

/// A core that has heard nothing of what the peer has written: a message for which a read waits, why collectives
/// fail, and goodbye.
fn told(is_advised: bool) -> (Core, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (stream, _) = listener.accept().unwrap();
    stream.set_nonblocking(true).unwrap();
    let limits = [Limits::of(&Config::alone()), Limits::of(&Config::alone())];
    let links = vec![None, Some(Connection { stream, records: None })];
    let (poller, wake) = (Arc::new(Poller::new().unwrap()), Arc::new(TaskWake::new()));
    let mut core =
        Core::new(Engine::new(OWN, &limits), links, poller, Clock::start(), wake, Disabled::default()).unwrap();
    core.is_advised = is_advised;

    let (now, key) = (Duration::ZERO, MatchKey::user(Tag(1)));
    core.engine.initread(now, PEER, key, u8::TYPE, Box::new(vec![0u8; 3])).unwrap();
    let mut engine = Engine::new(PEER, &limits);
    engine.initwrite(now, OWN, key, u8::TYPE, Box::new(vec![1u8; 3])).unwrap();
    let mut write = |slices: &[IoSlice<'_>]| far.write_vectored(slices);
    // On its own, so that a read of the other end stops behind it.
    while engine.transmit(OWN, &mut write).unwrap() != Sent::All {}
    Collectives::new(PEER, 2).fail_all(&mut engine, now, 0, WORDS.to_owned());
    engine.goodbye(None);
    while engine.transmit(OWN, &mut write).unwrap() != Sent::All {}
    (core, far)
}

fn check_words(core: &Core) {
    let failure = core.collectives.failure().expect("it was told");
    assert!(failure.to_string().contains(WORDS), "{failure}");
}

fn check(core: &Core) {
    check_words(core);
    assert!(core.engine.failure().is_some(), "and the job has failed");
}

#[test]
fn what_has_come_is_heard_before_what_the_rendezvous_says() {
    let (mut core, _far) = told(true);
    core.hear_failure(Error::PeerLost { peer: PEER, cause: "it has failed".into(), operation: None });
    core.hand_on();
    check(&core);
}

/// The peer has said why and closed its connection; a write finds that out before anybody reads.
#[test]
fn what_has_come_is_heard_before_a_write_fails() {
    for is_posted in [false, true] {
        let (mut core, far) = told(false);
        socket2::SockRef::from(&far).set_linger(Some(Duration::ZERO)).unwrap();
        drop(far);
        let (now, key) = (Duration::ZERO, MatchKey::user(Tag(2)));
        let sent = if is_posted { Ok(None) } else { core.write_at_once(now, PEER, key, u8::TYPE, &[1]) };
        core.engine.initwrite(now, PEER, key, u8::TYPE, Box::new(vec![1u8])).unwrap();
        match sent {
            Ok(sent) => assert!(is_posted && sent.is_none(), "it is reset"),
            Err(error) => core.write_failed(PEER.into(), &error),
        }
        core.flush();
        core.hand_on();
        check_words(&core);
        assert!(core.engine.failure().is_none(), "it has said goodbye");
    }
}

#[test]
fn what_has_come_is_heard_before_a_loss() {
    let (mut core, _far) = told(false);
    // Read, and not handed on yet.
    core.read(PEER);
    core.read(PEER);
    core.suspect(PEER, "it is gone".to_owned());
    core.hand_on();
    check(&core);
}
