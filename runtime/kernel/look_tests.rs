//! Who takes a buffer back looks first whether the peer has acknowledged it.

use std::sync::mpsc;

use crate::buffer::Element;
use crate::config::{Config, Key, Overlap};
use crate::engine::Outcome;
use crate::ids::{Rank, Tag};
use crate::kernel::Kernel;
use crate::wire::frame::MatchKey;

/// So much a receiver acknowledges at once.
const BYTES: usize = 256 << 10;

/// In deferred mode nobody else reads what the peer has said.
#[test]
fn a_look_finds_what_the_peer_has_acknowledged() {
    let root = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).unwrap();
    let start = move |rank: u32| {
        let mut config = Config::new(rank, 2, Some(root.to_string()));
        config.key = Key::from_bytes(std::array::from_fn(|place| place as u8));
        config.overlap = Overlap::Off;
        Kernel::start(config).unwrap()
    };
    let key = MatchKey::user(Tag(1));
    let (has_read, is_read) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let kernel = start(1);
        let read = kernel.initread(Rank(0), key, u8::TYPE, Box::new(vec![0u8; BYTES]), BYTES as u64).unwrap();
        assert!(kernel.wait_any(&[read], None));
        has_read.send(()).unwrap();
        kernel.finish(None)
    });
    let kernel = start(0);
    let write = kernel.initwrite(Rank(1), key, u8::TYPE, Box::new(vec![7u8; BYTES])).unwrap();
    assert!(kernel.wait_any(std::slice::from_ref(&write), None));
    is_read.recv().unwrap();
    let Some(Outcome::Written(written)) = write.take() else { panic!("the write has ended") };
    kernel.look_at(Rank(1));
    assert_eq!(written.unacknowledged(), 0, "of {BYTES}");
    assert_eq!(written.take().bytes(), [7; BYTES]);
    kernel.finish(None).unwrap();
    reader.join().unwrap().unwrap();
}
