//! A panic inside lathide, provoked by the program's own code there, ends the node with a named error; no thread of any
//! rank hangs.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use lathide::{Element, ElementType, Error, Node, Result, WriteBuffer};

use crate::spmd::programs::{block_on, join, say};
use crate::spmd::{Job, STARTS, Start};

/// More than a socket takes at once.
const LONG: usize = 16 << 20;
const COMPUTES: Duration = Duration::from_secs(3);

/// What becomes of a node whose thread has panicked, and of one whose program's buffer has.
const PANICKED: &str = "panicked: rank 1 cannot go on";
const FAULTY: &str = "rank 1's initwrite to rank 0 (tag 5";

/// A buffer that goes wrong when it is asked for its bytes for the so-manieth time.
struct Faulty {
    bytes: Vec<u8>,
    asked: AtomicU32,
    at: u32,
    shrinks: bool,
}

impl WriteBuffer for Faulty {
    const TYPE: ElementType = u8::TYPE;
    const ELEMENT_BYTES: usize = 1;
    fn bytes(&self) -> &[u8] {
        let is_wrong = self.asked.fetch_add(1, Ordering::Relaxed) >= self.at;
        assert!(self.shrinks || !is_wrong, "the buffer of this test panics");
        if is_wrong { &self.bytes[..10] } else { &self.bytes }
    }
}

/// One rank's program: rank 1 goes wrong while a future of it, and perhaps threads, wait; rank 0 waits for it. `how`: what
/// is wrong, at which of its calls, and whether threads wait meanwhile or the program computes.
pub(crate) fn program(how: &str) -> Result<()> {
    let words: Vec<String> = how.split(',').map(str::to_owned).collect();
    let node = join()?;
    let count = if words[2] == "waits" { 2 } else { 0 };
    let mut others: Vec<_> = (0..count).map(|tag| waiter(node.clone(), tag)).collect();
    if node.rank() == 0 {
        let node = node.clone();
        others.push(thread::spawn(move || {
            says("reader", node.initread(1, 5, vec![0u8; LONG])?.wait().map(drop))?;
            node.initwrite(1, 6, vec![0u8])?.wait()?;
            says("reader", node.initread(1, 8, vec![0u8])?.wait().map(drop))
        }));
    } else {
        let read = node.initread(0, 7, vec![0u8]);
        others.push(thread::spawn(move || says("future", block_on(read?).map(drop))));
        let node = node.clone();
        // What becomes of this thread is its own affair.
        thread::spawn(move || goes_wrong(&node, &words));
    }
    for other in others {
        let _ = other.join();
    }
    Ok(())
}

/// Waits for what never comes.
fn waiter(node: Node, tag: u32) -> thread::JoinHandle<Result<()>> {
    thread::spawn(move || {
        let peer = 1 - node.rank().0;
        says("waiter", node.initread(peer, tag, vec![0u8])?.wait().map(drop))
    })
}

fn says(who: &str, result: Result<()>) -> Result<()> {
    match &result {
        Err(error @ Error::Panicked { .. }) => say(who, format!("panicked: {error}")),
        Err(Error::PeerLost { peer, .. }) => say(who, format!("lost {peer}")),
        Err(error) => say(who, error),
        Ok(()) => say(who, "Ok(())"),
    }
    result
}

fn goes_wrong(node: &Node, words: &[String]) {
    let [kind, at, meanwhile] = words else { panic!("kind,call,meanwhile") };
    if kind == "waker" {
        struct Panics;
        impl Wake for Panics {
            fn wake(self: Arc<Self>) {
                panic!("the waker of this test panics");
            }
        }
        let waker = Waker::from(Arc::new(Panics));
        let mut read = pin!(node.initread(0, 6, vec![0u8]).unwrap());
        assert!(read.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        node.initwrite(0, 5, vec![0u8; LONG]).unwrap().wait().unwrap();
        thread::sleep(COMPUTES);
        return;
    }
    let (at, shrinks) = (at.parse().unwrap(), kind == "shrinks");
    let buffer = Faulty { bytes: vec![7; LONG], asked: AtomicU32::new(0), at, shrinks };
    let write = node.initwrite(0, 5, buffer).unwrap();
    if meanwhile == "computes" {
        thread::sleep(COMPUTES);
    }
    let _ = write.wait();
}

#[test]
fn a_panic_inside_a_call_or_on_the_kernels_thread_fails_the_node_and_hangs_nobody() {
    let mut runs = vec!["waker,0,computes".to_owned()];
    for kind in ["panics", "shrinks"] {
        for at in [1, 2, 3, 5, 20] {
            runs.extend(["waits", "computes"].map(|meanwhile| format!("{kind},{at},{meanwhile}")));
        }
    }
    let jobs: Vec<_> = runs.iter().flat_map(|run| STARTS.iter().map(move |&start| (run.clone(), start))).collect();
    let mut panicked = 0;
    for batch in jobs.chunks(8) {
        let threads = batch.iter().cloned().map(|(run, start)| thread::spawn(move || has_panicked(&run, start)));
        let threads: Vec<_> = threads.collect();
        panicked += threads.into_iter().map(|thread| usize::from(thread.join().expect("see above"))).sum::<usize>();
    }
    println!("{panicked} of {} runs met a fault", jobs.len());
    assert!(panicked >= 2 * STARTS.len(), "the buffers are asked in a call of lathide's");
}

/// Runs the job, and checks that every call has ended with a named error. Returns whether it met a fault.
fn has_panicked(run: &str, start: Start) -> bool {
    let ended = Job::start(start, 2, &format!("panics {run}"), &[("LATHIDE_DEADLOCK", "0.5")]).end();
    for line in ["waiter", "future", "reader"].iter().flat_map(|word| ended.all(word)) {
        // Without a panic some wait for what never comes, which is found out too.
        let words = [PANICKED, FAULTY, "lost 1", "Ok(", "deadlock: "];
        assert!(words.iter().any(|words| line.rest.starts_with(words)), "{run}: {line:?}: {ended}");
    }
    assert!(!ended.all("reader").is_empty(), "{run}: {ended}");
    let future = &ended.of(1, "future").rest;
    if run.starts_with("waker") {
        let words = "the kernel's thread panicked: the waker of this test panics";
        assert!(future.contains(words), "{ended}");
    }
    future.starts_with(PANICKED) || future.starts_with(FAULTY)
}
