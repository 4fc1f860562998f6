//! A panic inside lathide, provoked by the program's own code there, ends the node with a named error; no thread of any
//! rank hangs.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use lathide::{Element, ElementType, Error, Node, Result, WriteBuffer};

use crate::observe::cuts;
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
    /// Not counted before this.
    counts: Arc<AtomicBool>,
}

impl WriteBuffer for Faulty {
    const TYPE: ElementType = u8::TYPE;
    const ELEMENT_BYTES: usize = 1;
    fn bytes(&self) -> &[u8] {
        let counts = self.counts.load(Ordering::Relaxed);
        let is_wrong = counts && self.asked.fetch_add(1, Ordering::Relaxed) >= self.at;
        assert!(self.shrinks || !is_wrong, "the buffer of this test panics");
        if is_wrong { &self.bytes[..10] } else { &self.bytes }
    }
}

/// One rank's program: rank 1 goes wrong while a future of it, and perhaps threads, wait; rank 0 waits for it. `how`: what
/// is wrong, at which of its calls, and whether threads wait meanwhile or the program computes; perhaps the link is cut, and the calls count
/// from then on.
pub(crate) fn program(how: &str) -> Result<()> {
    let words: Vec<String> = how.split(',').map(str::to_owned).collect();
    let node = join()?;
    let count = if words[2].ends_with("waits") { 2 } else { 0 };
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

fn cut() {
    say("cut", cuts::reset_accepted());
}

fn goes_wrong(node: &Node, words: &[String]) {
    let [kind, at, meanwhile] = words else { panic!("kind,call,meanwhile") };
    let is_cut = meanwhile.starts_with("cut-");
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
        let write = node.initwrite(0, 5, vec![0u8; LONG]).unwrap();
        if is_cut {
            cut();
        }
        write.wait().unwrap();
        thread::sleep(COMPUTES);
        return;
    }
    let (at, shrinks) = (at.parse().unwrap(), kind == "shrinks");
    let counts = Arc::new(AtomicBool::new(!is_cut));
    let buffer = Faulty { bytes: vec![7; LONG], asked: AtomicU32::new(0), at, shrinks, counts: counts.clone() };
    let write = node.initwrite(0, 5, buffer).unwrap();
    if is_cut {
        counts.store(true, Ordering::Relaxed);
        cut();
    }
    if meanwhile.ends_with("computes") {
        thread::sleep(COMPUTES);
    }
    let _ = write.wait();
}

#[test]
fn a_panic_inside_a_call_or_on_the_kernels_thread_fails_the_node_and_hangs_nobody() {
    check(vec!["waker,0,computes".to_owned()], &["waits", "computes"], &[1, 2, 3, 5, 20]);
}

/// The same while the link is down, or its bytes are sent again.
#[test]
fn a_panic_while_a_link_is_down_or_resumed_fails_the_node_and_hangs_nobody() {
    check(vec!["waker,0,cut-computes".to_owned()], &["cut-waits", "cut-computes"], &[0, 1, 2, 9]);
}

fn check(mut runs: Vec<String>, ways: &[&str], calls: &[u32]) {
    for kind in ["panics", "shrinks"] {
        for at in calls {
            runs.extend(ways.iter().map(|meanwhile| format!("{kind},{at},{meanwhile}")));
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
    let is_possible = ended.all("cut").iter().all(|line| line.rest == "true");
    if !is_possible {
        println!("{run}: the link could not be cut here");
    }
    let future = &ended.of(1, "future").rest;
    if run.starts_with("waker") {
        let words = "the kernel's thread panicked: the waker of this test panics";
        assert!(future.contains(words), "{ended}");
    }
    future.starts_with(PANICKED) || future.starts_with(FAULTY)
}
