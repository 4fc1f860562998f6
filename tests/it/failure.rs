//! Ranks that die, fail or leave: everybody else hears who it was, soon, in every call; nothing hangs, nothing remains.

use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use lathide::{Config, Element, ElementType, Error, Misuse, Overlap, WriteBuffer};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, Signal, getpid, pidfd_getfd, pidfd_open};
use socket2::SockRef;

use crate::spmd::{Ended, Job, Line, STARTS, Start, now_ms};
use crate::support::job_within;

/// The promise is two seconds.
const SOON_MS: f64 = 2000.0;

/// How a rank ends that fails, and what a survivor's error says of it.
const ENDS: [(&str, &str); 5] = [
    ("end-kill", ""),
    ("end-abort", ""),
    ("end-exit", ""),
    ("end-panic", "panicked"),
    ("end-error", "rank 99 does not exist"),
];

/// Every way to block, three at a time beside the rank that ends.
const BLOCKED: [[&str; 3]; 5] = [
    ["wait", "barrier", "await"],
    ["wait-any", "finalize", "compute"],
    ["write", "wait-other", "test"],
    ["timeout", "wait-self", "threads"],
    ["wait-long", "write-other", "barrier"],
];

fn starts_and_modes() -> impl Iterator<Item = (Start, &'static str)> {
    STARTS.iter().flat_map(|&start| [(start, "on"), (start, "off")])
}

/// Every survivor has said that it lost `victim`, and no other, soon after `ended_ms`.
pub(crate) fn check_survivors(ended: &Ended, size: u32, victim: u32, ended_ms: f64) -> f64 {
    assert!(ended.all("failed").is_empty() && ended.all("went-on").is_empty(), "another error, or none: {ended}");
    let mut latest = 0f64;
    for rank in (0..size).filter(|&rank| rank != victim) {
        let Line { at_ms, rest, .. } = ended.of(rank, "lost");
        let named = rest.split(' ').next().unwrap();
        assert_eq!(named, victim.to_string(), "rank {rank} lost rank {victim} and named rank {named}: {ended}");
        assert!(rest.contains(&format!("rank {victim} is lost")), "{rest}");
        latest = latest.max(at_ms - ended_ms);
    }
    assert!(ended.alive().is_empty(), "left behind: {:?}", ended.alive());
    latest
}

fn check_launcher(ended: &Ended, status: i32, words: &str) {
    assert_eq!(ended.statuses[0].code(), Some(status), "{ended}");
    let errors = &ended.errors[0];
    let first = errors.lines().find(|line| line.starts_with("lathide: rank"));
    assert!(first.is_some_and(|line| line.contains(words)), "{words:?} is not the first thing said: {ended}");
}

#[test]
fn a_rank_killed_at_any_moment_is_the_one_that_all_others_name() {
    let mut latest = Vec::new();
    for repeat in 0..6u32 {
        for (start, overlap) in starts_and_modes() {
            // Survivors that die at once without goodbye look like victims themselves.
            let program = if repeat % 2 == 0 { "storm orderly" } else { "storm rude" };
            let mut job = Job::start(start, 4, program, &[("LATHIDE_OVERLAP", overlap)]);
            job.until(4, "up");
            let moment = getrandom::u64().unwrap() % 150_000;
            std::thread::sleep(Duration::from_micros(moment));
            let (victim, killed) = (repeat % 4, now_ms());
            job.signal(victim, Signal::KILL);
            let ended = job.end();
            println!("{start:?}, overlap {overlap}, {program}: rank {victim} killed after {moment} us");
            latest.push(check_survivors(&ended, 4, victim, killed));
            if start == Start::Launched {
                check_launcher(&ended, 137, &format!("rank {victim} was killed by signal 9 (SIGKILL)"));
            }
        }
    }
    within_the_promise(latest);
}

/// A busy machine may be late now and then, not twice in a row of tests; and where more wants to run than there are
/// cores, each takes its turn.
fn within_the_promise(mut latest: Vec<f64>) {
    latest.sort_by(f64::total_cmp);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let running: f64 = load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(1.0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    let soon_ms = SOON_MS * (running / cores).max(1.0);
    println!(
        "the last of each job's survivors said so after (ms): {latest:.0?}; {running} wanted to run on {cores} cores"
    );
    let late = latest.iter().filter(|&&late| late > soon_ms).count();
    assert!(late <= 1 + latest.len() / 20, "told too late (ms): {latest:.0?}");
}

#[test]
fn a_rank_killed_ends_every_blocked_call_of_the_others() {
    every_block(&ENDS[..1]);
}

#[test]
fn a_rank_that_ends_by_itself_ends_every_blocked_call_of_the_others() {
    every_block(&ENDS[1..]);
}

fn every_block(ends: &[(&str, &str)]) {
    let mut latest = Vec::new();
    for (turn, &(end, words)) in ends.iter().enumerate() {
        for (index, blocked) in BLOCKED.iter().enumerate() {
            // All pairs of a start and a mode with a way to block are too many; each meets each in some test.
            let (start, overlap) = starts_and_modes().nth((turn + index) % (2 * STARTS.len())).unwrap();
            let victim = index % 4;
            let mut modes = blocked.to_vec();
            modes.insert(victim, end);
            let program = format!("block {}", modes.join(" "));
            let ended = Job::start(start, 4, &program, &[("LATHIDE_OVERLAP", overlap)]).end();
            println!("{start:?}, overlap {overlap}, {program}");
            latest.push(check_survivors(&ended, 4, victim as u32, ended.of(victim as u32, "ending").at_ms));
            for line in ended.all("lost") {
                assert!(line.rest.contains(words), "{program}: {words:?} is not in {}", line.rest);
            }
            match (start, end) {
                (Start::Launched, "end-kill") => check_launcher(&ended, 137, &format!("rank {victim} was killed")),
                (Start::Launched, "end-panic") => check_launcher(&ended, 101, &format!("rank {victim} failed first")),
                (Start::Launched, "end-error") => check_launcher(&ended, 1, &format!("rank {victim} failed first")),
                _ => {}
            }
        }
    }
    within_the_promise(latest);
}

/// What a finalized node has written must have arrived, so a peer that dies before it confirms is an error.
#[test]
fn a_rank_killed_before_it_confirms_ends_finalize_with_an_error() {
    for &start in STARTS {
        // In deferred mode a rank that sleeps confirms nothing.
        let program = "block finalize-short end-kill";
        let ended = Job::start(start, 2, program, &[("LATHIDE_OVERLAP", "off")]).end();
        check_survivors(&ended, 2, 1, ended.of(1, "ending").at_ms);
    }
}

/// Without a failure the job goes on: only who deals with the rank that has finished gets an error.
#[test]
fn a_rank_that_leaves_in_order_ends_the_calls_that_wait_for_it() {
    for (leave, overlap) in [(true, Overlap::On), (true, Overlap::Off), (false, Overlap::On), (false, Overlap::Off)] {
        let configure = move |config: &mut lathide::Config| config.overlap = overlap;
        job_within(Duration::from_secs(60), 3, configure, move |node| {
            let rank = node.rank().0;
            if rank == 2 {
                node.barrier().unwrap();
                return if leave { drop(node) } else { node.finalize().unwrap() };
            }
            let read = node.initread(2, 1, vec![0u8; 9]).unwrap();
            let write = node.initwrite(2, 2, vec![0u8; 100 << 20]).unwrap();
            node.barrier().unwrap();
            let lost = |error: Error, words: &str| {
                let Error::PeerLost { peer, operation: Some(operation), .. } = &error else { panic!("{error}") };
                assert_eq!((peer.0, operation.rank.0, operation.peer.0), (2, rank, 2), "{error}");
                assert!(error.to_string().contains(words), "{words:?} is not in {error}");
            };
            lost(write.wait().unwrap_err(), "rank 2 has finished without reading this message");
            lost(read.wait().unwrap_err(), "(tag 1, 9 bytes)): rank 2 has finished");
            lost(node.initread(2, 1, vec![0u8; 9]).unwrap_err(), "rank 2 has finished");
            lost(node.initwrite(2, 1, vec![0u8; 9]).unwrap_err(), "rank 2 has finished");
            let error = node.barrier().unwrap_err();
            assert!(matches!(&error, Error::PeerLost { peer, .. } if peer.0 == 2), "{error}");
            assert!(error.to_string().contains("rank 2 has finished"), "{error}");
            let read = node.initread(1 - rank, 3, vec![0u8; 9]).unwrap();
            node.initwrite(1 - rank, 3, vec![rank as u8; 9]).unwrap().wait().unwrap();
            assert_eq!(read.wait().unwrap(), [1 - rank as u8; 9], "the others go on");
            node.finalize().unwrap();
        });
    }
}

#[test]
fn a_stopped_rank_is_waited_for() {
    for (start, overlap) in [(STARTS[0], "on"), (Start::ByHand, "off")] {
        let mut job = Job::start(start, 3, "steady 5", &[("LATHIDE_OVERLAP", overlap), ("LATHIDE_DEADLOCK", "1")]);
        job.until(3, "up");
        std::thread::sleep(Duration::from_millis(300));
        job.signal(1, Signal::STOP);
        std::thread::sleep(Duration::from_millis(4500));
        job.signal(1, Signal::CONT);
        let ended = job.end();
        assert!(ended.statuses.iter().all(|status| status.success()), "{ended}");
        assert_eq!(ended.all("rounds").len(), 3, "{ended}");
    }
}

/// A stopped process answers nobody, but its host is there, and the launcher sees why.
#[test]
fn a_rank_that_is_stopped_is_said_to_be() {
    // It is waited for, also by one whose bytes find no room there, and after a while the launcher says for what.
    for way in ["wait", "write-within"] {
        let mut job = Job::start(Start::Launched, 2, &format!("block {way} end-stop"), &[("LATHIDE_DEADLOCK", "0.5")]);
        job.until(2, "up");
        job.until_error("the process of rank 1 is stopped (Ctrl-Z, SIGSTOP or a debugger); kill -CONT ");
        job.signal(1, Signal::KILL);
        let ended = job.end();
        assert_eq!(ended.statuses[0].code(), Some(137), "{way}: {ended}");
    }
}

#[test]
fn a_killed_launcher_takes_its_ranks_along() {
    for _ in 0..3 {
        let mut job = Job::start(Start::Launched, 4, "storm orderly", &[]);
        job.until(4, "up");
        job.kill_launcher();
        let ended = job.end();
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while !ended.alive().is_empty() {
            assert!(std::time::Instant::now() < deadline, "still there: {:?}", ended.alive());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// The sockets of this process that ask their peer after so long a pause.
fn sockets_that_ask_every(pause: Duration) -> usize {
    let own = pidfd_open(getpid(), PidfdFlags::empty()).expect("Linux");
    let numbers = std::fs::read_dir("/proc/self/fd").expect("Linux").flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let sockets = numbers.filter_map(|number| pidfd_getfd(&own, number, PidfdGetfdFlags::empty()).ok());
    let asks = |socket: &OwnedFd| {
        let options = SockRef::from(socket);
        options.keepalive().is_ok_and(|asks| asks)
            && options.tcp_keepalive_interval().is_ok_and(|interval| interval == pause)
            && options.tcp_keepalive_time().is_ok_and(|time| time == pause)
    };
    sockets.filter(asks).count()
}

#[test]
fn every_connection_of_a_job_has_the_limit_that_is_set() {
    for (overlap, silence) in [(Overlap::On, 70), (Overlap::Off, 90)] {
        // Each tenth of it the system asks; no other test has these.
        let pause = Duration::from_secs(silence / 10);
        let configure = |config: &mut Config| {
            (config.overlap, config.keepalive) = (overlap, Some(Duration::from_secs(silence)));
        };
        let counts = job_within(Duration::from_secs(60), 3, configure, move |node| {
            node.barrier().unwrap();
            // One of them: to count opens each socket once more, for a moment, in the process that all ranks are in.
            let count = (node.rank() == 0).then(|| sockets_that_ask_every(pause));
            node.barrier().unwrap();
            node.finalize().unwrap();
            count
        });
        // Three links and three connections to the rendezvous, which rank 0 serves; both ends of each.
        assert_eq!(counts, [Some(12), None, None], "{overlap:?}");
    }
}

/// A buffer of the program's own that gives its bytes so many times.
struct Faulty {
    bytes: Vec<u8>,
    left: AtomicU32,
    /// Its drop panics.
    bites: bool,
}

impl WriteBuffer for Faulty {
    const TYPE: ElementType = u8::TYPE;
    const ELEMENT_BYTES: usize = 1;
    fn bytes(&self) -> &[u8] {
        let left = self.left.load(Ordering::Relaxed);
        assert!(left > 0, "a fault of the program's buffer, which this test wants");
        self.left.store(left - 1, Ordering::Relaxed);
        &self.bytes
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        assert!(!self.bites, "a drop that fails, which this test wants");
    }
}

#[test]
fn a_buffer_that_panics_fails_its_node_and_every_thread_hears() {
    for (overlap, left) in [(Overlap::On, 2), (Overlap::On, 5), (Overlap::On, 40), (Overlap::Off, 2), (Overlap::Off, 9)]
    {
        let configure = |config: &mut lathide::Config| config.overlap = overlap;
        let errors = job_within(Duration::from_secs(30), 2, configure, move |node| {
            // A node that fails before all have joined fails their joining.
            node.barrier().expect("nothing has failed yet");
            if node.rank().0 == 1 {
                return vec![node.initread(0, 1, vec![0u8; 16 << 20]).and_then(lathide::ReadHandle::wait).unwrap_err()];
            }
            let other = std::thread::spawn({
                let node = node.clone();
                move || node.initread(1, 9, vec![0u8]).and_then(lathide::ReadHandle::wait).unwrap_err()
            });
            let buffer = Faulty { bytes: vec![1; 16 << 20], left: left.into(), bites: false };
            let own = match node.initwrite(1, 1, buffer) {
                Ok(write) => write.wait().err(),
                Err(error) => Some(error),
            };
            vec![own.expect("the write fails"), other.join().expect("no panic")]
        });
        for error in &errors[0] {
            assert!(matches!(error, Error::Misuse(Misuse::Buffer { .. })), "{overlap:?}, {left}: {error}");
            assert!(error.to_string().contains("rank 0's initwrite to rank 1 (tag 1"), "{error}");
        }
        assert!(matches!(errors[1][0], Error::PeerLost { .. }), "{overlap:?}, {left}: {}", errors[1][0]);
    }
}

/// The handle is gone, so the buffer is dropped by whoever sends its last byte.
#[test]
fn a_buffer_whose_drop_panics_ends_no_thread_of_lathide() {
    crate::support::job(2, |node| {
        let peer = 1 - node.rank().0;
        for round in 0..20u8 {
            let read = node.initread(peer, 1, vec![0u8; 1 << 20]).unwrap();
            let buffer = Faulty { bytes: vec![round; 1 << 20], left: u32::MAX.into(), bites: true };
            let write = node.initwrite(peer, 1, buffer).unwrap();
            // If all has gone already, the drop is this thread's.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(write)));
            assert_eq!(read.wait().unwrap(), vec![round; 1 << 20]);
        }
        node.finalize().unwrap();
    });
}
