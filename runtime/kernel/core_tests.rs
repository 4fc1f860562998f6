//! The core with an encrypted link whose other end is the test.

use std::io::Write as _;
use std::net::TcpListener;
use std::time::Instant;

use super::*;
use crate::config::Config;
use crate::engine::Limits;
use crate::operation::{Operation, OperationKind};
use crate::wire::cipher::tests::pair;
use crate::wire::records::Records;

const PEER: Rank = Rank(1);
/// Plain bytes in a record: two are no whole header, so nothing else can be wrong with them.
const PLAIN: usize = 4;
const PATIENCE: Duration = Duration::from_secs(30);

/// A core of rank 0 of 2, the socket of the other end, and its records.
fn linked() -> (Core, TcpStream, Records) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (stream, _) = listener.accept().unwrap();
    stream.set_nonblocking(true).unwrap();
    let (own, theirs) = pair();
    let limits = [Limits::of(&Config::alone()), Limits::of(&Config::alone())];
    let links = vec![None, Some(Connection { stream, records: Some(Box::new(own)) })];
    let (poller, wake) = (Arc::new(Poller::new().unwrap()), Arc::new(TaskWake::new()));
    let core =
        Core::new(Engine::new(Rank(0), &limits), links, poller, Clock::start(), wake, Disabled::default()).unwrap();
    (core, far, theirs)
}

/// What the node fails with when `change` has had its way with what the peer seals.
fn failure_after(change: impl FnOnce(&mut Vec<u8>)) -> Error {
    let (mut core, mut far, mut theirs) = linked();
    // The rendezvous could tell who was lost; of this it knows nothing.
    core.is_advised = true;
    let mut sealed = Vec::new();
    for _ in 0..2 {
        let all = |bytes: &[u8]| {
            sealed.extend_from_slice(bytes);
            Ok(bytes.len())
        };
        theirs.write(&[IoSlice::new(&[1; PLAIN])], &mut { all }).unwrap();
    }
    change(&mut sealed);
    far.write_all(&sealed).unwrap();
    let began = Instant::now();
    loop {
        core.read(PEER);
        if let Some(failure) = core.engine.failure() {
            return failure.clone();
        }
        assert!(began.elapsed() < PATIENCE, "{} changed bytes were not noticed", sealed.len());
        std::thread::yield_now();
    }
}

#[test]
fn bytes_that_were_not_sealed_by_the_peer_are_tampering_and_no_lost_peer() {
    let record = 2 + PLAIN + 16;
    type Change = Box<dyn FnOnce(&mut Vec<u8>)>;
    let changes: [(&str, Change); 5] = [
        ("a bit of a record", Box::new(|sealed| sealed[4] ^= 1)),
        ("a bit of a tag", Box::new(move |sealed| sealed[record - 1] ^= 0x80)),
        ("the records in another order", Box::new(move |sealed| sealed.rotate_left(record))),
        ("a record twice", Box::new(move |sealed| sealed.copy_within(..record, record))),
        ("a record that nobody has sealed", Box::new(move |sealed| sealed[2..record].fill(7))),
    ];
    for (what, change) in changes {
        let error = failure_after(change);
        assert!(matches!(error, Error::Tampered { peer: PEER, operation: None }), "{what}: {error}");
    }
    let operation = Operation::new(OperationKind::Read, Rank(0), PEER, None, 8);
    let text = failure_after(|sealed| sealed[5] ^= 4).during(operation).to_string();
    for words in ["the encrypted link to rank 1", "did not seal (during rank 0's initread", "changed on the way"] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
}
