//! What peers are told of, and who tells them: who takes a buffer back looks first whether the peer has acknowledged it.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::buffer::Element;
use crate::config::{Config, Key, Overlap};
use crate::engine::{ACKNOWLEDGEMENT_DELAY, Outcome};
use crate::ids::{Rank, Tag};
use crate::kernel::Kernel;
use crate::wire::frame::MatchKey;

const BYTES: usize = 256 << 10;
const PATIENCE: Duration = Duration::from_secs(30);

/// In deferred mode nobody else reads what the peer has said.
#[test]
fn a_look_finds_what_the_peer_has_acknowledged() {
    let root = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).unwrap();
    let start = move |rank: u32, overlap| {
        let mut config = Config::new(rank, 2, Some(root.to_string()));
        config.key = Key::from_bytes(std::array::from_fn(|place| place as u8));
        config.overlap = overlap;
        Kernel::start(config).unwrap()
    };
    let key = MatchKey::user(Tag(1));
    let reader = std::thread::spawn(move || {
        let kernel = start(1, Overlap::On);
        let read = kernel.initread(Rank(0), key, u8::TYPE, Box::new(vec![0u8; BYTES]), BYTES as u64).unwrap();
        assert!(kernel.wait_any(&[read], None));
        kernel
    });
    let kernel = start(0, Overlap::Off);
    let write = kernel.initwrite(Rank(1), key, u8::TYPE, Box::new(vec![7u8; BYTES])).unwrap();
    assert!(kernel.wait_any(std::slice::from_ref(&write), None));
    let reader = reader.join().unwrap();
    let Some(Outcome::Written(written)) = write.take() else { panic!("the write has ended") };
    // The reader's task acknowledges the last of it by a timer.
    let began = Instant::now();
    while written.unacknowledged() > 0 {
        assert!(began.elapsed() < PATIENCE, "of {BYTES} {} are not acknowledged", written.unacknowledged());
        std::thread::sleep(Duration::from_millis(1));
        kernel.look_at(Rank(1));
    }
    assert_eq!(written.take().bytes(), [7; BYTES]);
    let end = std::thread::spawn(move || reader.finish(None));
    kernel.finish(None).unwrap();
    end.join().unwrap().unwrap();
}

/// Who polls has the lock all the time: the task that wanted it would put it to sleep.
#[test]
fn whoever_polls_is_left_to_tell_peers_and_else_the_task_does() {
    let kernel = Kernel::start(Config::new(0, 1, None)).unwrap();
    let locked = kernel.lock();
    kernel.help.is_held.store(true, Ordering::SeqCst);
    assert_eq!(kernel.acknowledge(), Some(ACKNOWLEDGEMENT_DELAY), "without the lock");
    drop(locked);
    assert!(kernel.help.takes_telling() && !kernel.help.takes_telling(), "once");
    assert!(kernel.acknowledge().is_some());
    assert_eq!(kernel.acknowledge(), None, "nobody has, so the task does, and there is nothing to tell");
    assert!(!kernel.help.takes_telling());
    kernel.help.nudge.is_asleep.store(true, Ordering::SeqCst);
    assert_eq!(kernel.acknowledge(), None, "who sleeps would be late");
    kernel.help.nudge.is_asleep.store(false, Ordering::SeqCst);
    kernel.help.is_held.store(false, Ordering::SeqCst);
    assert_eq!(kernel.acknowledge(), None, "nobody helps");
    kernel.finish(None).unwrap();
}
