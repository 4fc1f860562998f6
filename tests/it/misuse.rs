//! Wrong use: each has a clear error that names ranks and the next step, on both sides where there are two; none
//! panics but where that is documented, none hangs, and the job goes on where it can.

mod attackers;
mod joining;
mod late;
mod limits;
mod siege;
mod strangers;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use lathide::{Config, Element, ElementType, Error, Misuse, Node, Result, Test, wait_all, wait_any};

use crate::support::{job, job_within};

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Nothing;

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Particle([f64; 4]);

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Cell([f64; 4]);

impl Element for Nothing {
    const TYPE: ElementType = ElementType::user(9);
}
impl Element for Particle {
    const TYPE: ElementType = ElementType::user(1);
}
impl Element for Cell {
    const TYPE: ElementType = ElementType::user(2);
}

/// The message has all these words.
#[track_caller]
fn says(message: impl std::fmt::Display, words: &[&str]) {
    let message = message.to_string();
    for word in words {
        assert!(message.contains(word), "{word:?} is not in {message:?}");
    }
}

#[track_caller]
fn refused<T>(result: Result<T>, words: &[&str]) -> Error {
    let Err(error) = result else { panic!("no error, but one with {words:?} was due") };
    says(&error, words);
    error
}

#[test]
fn calls_that_cannot_be_right_are_refused_and_the_job_goes_on() {
    job(2, |node| {
        let rank = node.rank();
        let own = format!("rank {rank}: ");
        for peer in [2, 3, 1 << 16, u32::MAX] {
            let words = [own.as_str(), &format!("rank {peer} does not exist"), "ranks 0 to 1"];
            let read = refused(node.initread(peer, 1, vec![0u8]), &words);
            let write = refused(node.initwrite(peer, 1, vec![0u8]), &words);
            for error in [read, write] {
                assert!(matches!(error, Error::Misuse(Misuse::NoSuchRank { size: 2, .. })), "{error:?}");
            }
        }
        let error = refused(node.initread(0, 1, vec![Nothing; 5]), &[&own, "must have a size", "user type 9"]);
        assert!(matches!(error, Error::Misuse(Misuse::NoSize { .. })), "{error:?}");
        refused(node.initwrite(0, 1, vec![Nothing; 5]), &[&own, "must have a size", "user type 9"]);
        node.barrier().unwrap();
        node.finalize().unwrap();
    });
    let alone = lathide::init_with(Config::alone()).unwrap();
    refused(alone.initread(1, 1, vec![0u8]), &["rank 1 does not exist", "ranks 0 to 0"]);
    alone.finalize().unwrap();
}

#[test]
fn documented_panics_say_what_was_wrong() {
    let words = |panic: Box<dyn std::any::Any + Send>| match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast::<&str>().unwrap().to_string(),
    };
    let panic = std::panic::catch_unwind(|| wait_any::<Vec<u8>, Vec<u8>>(&mut Vec::new())).unwrap_err();
    says(words(panic), &["wait_any needs a handle"]);
    let panic = std::panic::catch_unwind(|| ElementType::user(1 << 15)).unwrap_err();
    says(words(panic), &["below 2^15"]);
    assert!(wait_all::<Vec<u8>, Vec<u8>>([]).unwrap().is_empty(), "no handles are all complete");
}

/// When the sender looks at its write.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Look {
    /// After the receiver has refused the message.
    Late,
    /// At once; then `check` has the error.
    AtOnce,
}

const WINDOW: u64 = 64 << 10;

/// Rank 0 writes `sent` elements, rank 1 reads up to `posted`; both have the same error, and go on.
fn mismatch<S: Element + Default, R: Element + Default>(node: &Node, sent: usize, posted: usize, words: &[&str]) {
    let bytes = (sent * size_of::<S>()) as u64;
    let looks = [Look::Late, Look::AtOnce];
    // A message beyond the window does not leave, so its write is not over before it is refused.
    let looks = if bytes > WINDOW { &looks[..1] } else { &looks };
    for (&look, read_first) in looks.iter().flat_map(|look| [(look, true), (look, false)]) {
        let error = if node.rank() == 0 {
            let reply = node.initread(1, 8, vec![0u8]).unwrap();
            if read_first {
                node.barrier().unwrap();
            }
            let write = node.initwrite(1, 7, vec![S::default(); sent]).unwrap();
            if !read_first {
                node.barrier().unwrap();
            }
            match look {
                Look::Late => {
                    reply.wait().unwrap();
                    refused(write.wait(), words)
                }
                Look::AtOnce => {
                    let early = write.wait();
                    reply.wait().unwrap();
                    // It may have been refused before anybody could look.
                    early.err().unwrap_or_else(|| refused(node.check(), words))
                }
            }
        } else {
            let post = || node.initread(0, 7, vec![R::default(); posted]).unwrap();
            let read = if read_first { Some(post()) } else { None };
            node.barrier().unwrap();
            let error = refused(read.unwrap_or_else(post).wait(), words);
            node.initwrite(0, 8, vec![1u8]).unwrap().wait().unwrap();
            error
        };
        let Error::Mismatch(mismatch) = &error else { panic!("{error:?}") };
        assert_eq!((mismatch.from.0, mismatch.to.0, mismatch.tag.0), (0, 1, 7), "{error}");
        assert_eq!(mismatch.sent, (bytes, S::TYPE), "{look:?}, read first {read_first}: {error}");
        assert_eq!(mismatch.posted, ((posted * size_of::<R>()) as u64, R::TYPE), "{error}");
        node.barrier().expect("a barrier after a mismatch that was handled");
    }
}

impl Default for Particle {
    fn default() -> Self {
        Particle([0.0; 4])
    }
}

impl Default for Cell {
    fn default() -> Self {
        Cell([0.0; 4])
    }
}

#[test]
fn messages_that_do_not_fit_their_reads_are_errors_on_both_sides() {
    let configure = |config: &mut Config| config.window_bytes = WINDOW;
    job_within(Duration::from_secs(60), 2, configure, |node| {
        let head = "rank 0's initwrite to rank 1 (tag 7)";
        let longer = |bytes| [head.to_owned(), format!("buffer of at least {bytes} bytes")];
        for (sent, posted) in [(9usize, 8usize), (1, 0), (5000, 4999), (200_000, 8), (200_000, 199_999)] {
            let words = longer(sent);
            mismatch::<u8, u8>(&node, sent, posted, &words.each_ref().map(String::as_str));
        }
        let one_type = "use one element type on both sides";
        mismatch::<f64, u8>(&node, 4, 100, &[head, one_type, "32 bytes of f64", "100 bytes of u8"]);
        mismatch::<f64, i64>(&node, 4, 4, &[head, one_type, "32 bytes of f64", "32 bytes of i64"]);
        mismatch::<f64, f32>(&node, 20_000, 40_000, &[head, one_type, "160000 bytes of f64", "of f32"]);
        mismatch::<i32, u32>(&node, 0, 4, &[head, one_type, "0 bytes of i32"]);
        mismatch::<i32, u32>(&node, 0, 0, &[head, one_type, "0 bytes of i32"]);
        mismatch::<Particle, Cell>(&node, 3, 3, &[head, one_type, "96 bytes of user type 1", "user type 2"]);
        mismatch::<Particle, f64>(&node, 3, 12, &[head, one_type, "user type 1", "96 bytes of f64"]);
        mismatch::<f64, Cell>(&node, 40_000, 10_000, &[head, one_type, "320000 bytes of f64", "user type 2"]);
        node.finalize().unwrap();
    });
}

#[test]
fn after_finalize_every_call_says_so() {
    job(2, |node| {
        let clone = node.clone();
        let never = node.initread(1 - node.rank().0, 1, vec![0u8]).unwrap();
        node.barrier().unwrap();
        node.finalize().unwrap();
        let words = [&*format!("rank {}: this node is finalized", clone.rank()), "before finalize()"];
        let mut errors = vec![
            refused(clone.initread(0, 1, vec![0u8]), &words),
            refused(clone.initwrite(0, 1, vec![0u8]), &words),
            refused(clone.initread(9, 1, vec![0u8]), &words),
            refused(clone.barrier(), &words),
            refused(clone.clone().finalize(), &words),
        ];
        assert!(errors.drain(..).all(|error| matches!(error, Error::Shutdown { .. })));
        let error = never.wait().unwrap_err();
        assert!(matches!(error, Error::Shutdown { .. } | Error::PeerLost { .. }), "{error:?}");
    });
}

#[test]
fn a_result_is_taken_once() {
    let node = lathide::init_with(Config::alone()).unwrap();
    let mut context = Context::from_waker(Waker::noop());
    let mut read = node.initread(0, 3, vec![0u8; 4]).unwrap();
    assert!(Pin::new(&mut read).poll(&mut context).is_pending());
    node.initwrite(0, 3, vec![1u8; 4]).unwrap().wait().unwrap();
    let Poll::Ready(Ok(buffer)) = Pin::new(&mut read).poll(&mut context) else { panic!("it is complete") };
    assert_eq!(buffer, [1; 4]);
    let words = ["rank 0's initread from rank 0 (tag 3, 4 bytes)", "taken already; wait once"];
    for _ in 0..2 {
        let Poll::Ready(result) = Pin::new(&mut read).poll(&mut context) else { panic!("it was complete") };
        let error = refused(result, &words);
        assert!(matches!(error, Error::Misuse(Misuse::Taken { .. })), "{error:?}");
    }
    assert!(read.is_complete());
    refused(read.wait(), &words);
    node.finalize().unwrap();
}

#[test]
fn timeouts_of_any_length_give_the_handle_back_or_the_result() {
    let node = lathide::init_with(Config::alone()).unwrap();
    let mut read = node.initread(0, 3, vec![0u8; 4]).unwrap();
    for timeout in [Duration::ZERO, Duration::from_nanos(1), Duration::from_millis(5)] {
        let (error, handle) = read.wait_timeout(timeout).unwrap_err();
        says(&error, &["rank 0's initread from rank 0", "is not complete after", "wait for it again or drop it"]);
        assert!(matches!(error, Error::Timeout { .. }));
        read = handle.expect("the operation goes on");
    }
    node.initwrite(0, 3, vec![1u8; 4]).unwrap().wait().unwrap();
    assert_eq!(read.wait_timeout(Duration::MAX).unwrap(), [1; 4]);
    node.finalize().unwrap();
}

/// In every state a handle may be dropped; what follows is undisturbed.
#[test]
fn a_handle_may_be_dropped_in_every_state() {
    const LONG: usize = 100 << 20;
    job(2, |node| {
        let peer = 1 - node.rank().0;
        let read = |tag: u32| node.initread(peer, tag, vec![0u8; 4]).unwrap();
        let write = |tag: u32| node.initwrite(peer, tag, vec![tag as u8; 4]).unwrap();
        drop(read(1));
        let Ok(Test::Pending(tested)) = read(1).test() else { panic!("nobody has written yet") };
        let (_, timed_out) = tested.wait_timeout(Duration::from_millis(1)).unwrap_err();
        drop(timed_out);
        let mut awaited = read(1);
        assert!(Pin::new(&mut awaited).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(awaited);
        node.barrier().unwrap();
        // A write that has left, one that cannot leave yet, and a read that is being filled.
        drop(write(1));
        drop(node.initwrite(peer, 2, vec![5u8; LONG]).unwrap());
        drop(node.initread(peer, 2, vec![0u8; LONG]).unwrap());
        assert_eq!(read(1).wait().unwrap(), [1; 4], "the reads that were dropped took nothing");
        let complete = read(3);
        drop(write(3));
        while !complete.is_complete() {
            std::thread::yield_now();
        }
        drop(complete);
        let failed = node.initread(peer, 4, vec![0u8; 1]).unwrap();
        let refused = write(4);
        while !failed.is_complete() {
            std::thread::yield_now();
        }
        node.barrier().unwrap();
        drop((failed, refused));
        assert!(matches!(node.check(), Err(Error::Mismatch(_))), "the write's error was not taken");
        drop(write(5));
        assert_eq!(read(5).wait().unwrap(), [5; 4]);
        // The read was dropped before the message came, or while it was filled: here it is.
        assert_eq!(node.initread(peer, 2, vec![0u8; LONG]).unwrap().wait().unwrap(), vec![5; LONG]);
        // Before the peer has left.
        let late = read(6);
        node.barrier().unwrap();
        node.finalize().unwrap();
        drop(late);
    });
}

#[test]
fn empty_messages_and_extreme_tags_are_nothing_special() {
    job(2, |node| {
        let peer = 1 - node.rank().0;
        for tag in [0, 1, u32::MAX - 1, u32::MAX] {
            for posted in [0, 1, 100] {
                let empty = node.initread(peer, tag, vec![7u32; posted]).unwrap();
                let next = node.initread(peer, tag, vec![7u32; 1]).unwrap();
                assert!(node.initwrite(peer, tag, Vec::<u32>::new()).unwrap().wait().unwrap().is_empty());
                node.initwrite(peer, tag, vec![tag]).unwrap().wait().unwrap();
                assert!(empty.wait().unwrap().is_empty());
                assert_eq!(next.wait().unwrap(), [tag]);
            }
        }
        node.finalize().unwrap();
    });
}

/// `wait_any` and `wait_all` return an operation's error, and leave the others as they are.
#[test]
fn one_failed_operation_among_several_fails_alone() {
    job(2, |node| {
        let peer = 1 - node.rank().0;
        let read = |tag: u32| node.initread(peer, tag, vec![0u8; 1]).unwrap();
        let mut reads = vec![read(1), read(2), read(3)];
        let all = [read(4), read(5)];
        let tags = [2u32, 4].map(|tag| node.initwrite(peer, tag, vec![0u8; 2]).unwrap());
        refused(wait_any(&mut reads), &["(tag 2)", "at least 2 bytes"]);
        node.barrier().unwrap();
        assert_eq!(reads.len(), 2);
        for tag in [1u32, 3, 5] {
            node.initwrite(peer, tag, vec![tag as u8]).unwrap().wait().unwrap();
        }
        assert_eq!(wait_all(reads).unwrap(), [[1], [3]]);
        refused(wait_all(all), &["(tag 4)", "at least 2 bytes"]);
        for write in tags {
            refused(write.wait(), &["at least 2 bytes"]);
        }
        node.barrier().unwrap();
        node.finalize().unwrap();
    });
}
