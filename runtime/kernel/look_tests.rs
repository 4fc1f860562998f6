//! What peers are told of, and who tells them: who takes a buffer back looks first whether the peer has acknowledged it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::buffer::Element;
use crate::config::{Config, Key, Overlap};
use crate::engine::{ACKNOWLEDGEMENT_DELAY, Outcome, Written};
use crate::ids::{Rank, Tag};
use crate::kernel::Kernel;
use crate::wire::frame::MatchKey;

const BYTES: usize = 1 << 20;
/// Goes without being asked for.
const EAGER_BYTES: usize = 32 << 10;
const PATIENCE: Duration = Duration::from_secs(30);

fn key() -> MatchKey {
    MatchKey::user(Tag(1))
}

fn start(rank: u32, root: &str, overlap: Overlap) -> Arc<Kernel> {
    let mut config = Config::new(rank, 2, Some(root.to_owned()));
    config.key = Key::from_bytes(std::array::from_fn(|place| place as u8));
    config.overlap = overlap;
    Kernel::start(config).unwrap()
}

/// Two nodes. In deferred mode, as the first one is, nobody reads what its peer has said but those who ask.
fn pair() -> [Arc<Kernel>; 2] {
    let root = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).unwrap().to_string();
    let other = root.clone();
    let other = std::thread::spawn(move || start(1, &other, Overlap::On));
    [start(0, &root, Overlap::Off), other.join().unwrap()]
}

fn finish(kernels: [Arc<Kernel>; 2]) {
    let ends = kernels.map(|kernel| std::thread::spawn(move || kernel.finish(None)));
    ends.into_iter().for_each(|end| end.join().unwrap().unwrap());
}

/// Whatever was not acknowledged when a write has left is heard by who asks so, again and again.
fn is_heard(mut asks: impl FnMut(&Kernel, &Written), enough: usize) {
    let kernels = pair();
    let read = kernels[1].initread(Rank(0), key(), u8::TYPE, Box::new(vec![0u8; BYTES]), BYTES as u64).unwrap();
    let write = kernels[0].initwrite(Rank(1), key(), u8::TYPE, Box::new(vec![7u8; BYTES])).unwrap();
    assert!(kernels[0].wait_any(std::slice::from_ref(&write), None) && kernels[1].wait_any(&[read], None));
    let Some(Outcome::Written(written)) = write.take() else { panic!("the write has ended") };
    // The reader's task acknowledges the last of it by a timer.
    let began = Instant::now();
    while written.unacknowledged() >= enough {
        assert!(began.elapsed() < PATIENCE, "of {BYTES} {} are not acknowledged", written.unacknowledged());
        std::thread::sleep(Duration::from_millis(1));
        asks(&kernels[0], &written);
    }
    assert_eq!(written.take().bytes(), [7; BYTES]);
    finish(kernels);
}

#[test]
fn a_look_finds_what_the_peer_has_acknowledged() {
    is_heard(|kernel, _| kernel.look_at(Rank(1)), 1);
}

/// Who listens does so until little is left.
#[test]
fn who_listens_hears_what_the_peer_acknowledges() {
    let listens = |kernel: &Kernel, written: &Written| {
        kernel.listen(Rank(1), written);
        // Where ranks share a core nobody listens, and words that have gathered while this thread slept are left to a look.
        let (is_beside, goes_on) = {
            let mut core = kernel.lock();
            (core.engine.has_beside(Rank(1)), core.hear_word(Rank(1)))
        };
        if !is_beside || !goes_on {
            kernel.look_at(Rank(1));
        }
    };
    is_heard(listens, 256 << 10);
}

/// Who listens for a word leaves a message where it is: its read is posted later.
#[test]
fn what_is_longer_than_a_word_is_left_to_its_read() {
    let kernels = pair();
    let write = kernels[1].initwrite(Rank(0), key(), u8::TYPE, Box::new(vec![7u8; EAGER_BYTES])).unwrap();
    let began = Instant::now();
    while kernels[0].lock().hear_word(Rank(1)) {
        assert!(began.elapsed() < PATIENCE, "it has not come");
    }
    assert_eq!(kernels[0].lock().engine.buffered_bytes(), 0);
    let read =
        kernels[0].initread(Rank(1), key(), u8::TYPE, Box::new(vec![0u8; EAGER_BYTES]), EAGER_BYTES as u64).unwrap();
    assert!(kernels[0].wait_any(std::slice::from_ref(&read), None) && kernels[1].wait_any(&[write], None));
    let Some(Outcome::Read(mut place, _)) = read.take() else { panic!("the read has ended") };
    assert_eq!(place.bytes_mut(), [7; EAGER_BYTES]);
    finish(kernels);
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
