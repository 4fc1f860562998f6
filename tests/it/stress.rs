//! Threads of one node wait in every way there is, while messages of every size come and go: the hand-over on the
//! real system. (`kernel::schedules` tries it under schedules of its own.)

use std::time::{Duration, Instant};

use crate::chance::Chance;
use lathide::{Node, Overlap, ReadHandle, Test, wait_any};

use crate::support::job_within;

const THREADS: u32 = 4;
/// As long as this, and as often as that: a wait that sleeps until it happens to look again, after a second, makes it
/// take minutes.
const TIME: Duration = Duration::from_secs(3);
const ROUNDS: u64 = 150;
const WATCHDOG: Duration = Duration::from_secs(100);

/// What `rank` sends in this round: mostly little, sometimes much. Byte 0 tells whether it is the last round.
fn message(rank: u32, tag: u32, round: u64, is_last: bool) -> Vec<u8> {
    let mut numbers = Chance(u64::from(rank) << 40 | u64::from(tag) << 32 | round);
    let bytes = match numbers.below(40) {
        0 => 1 << 20 | numbers.below(1 << 20),
        1..5 => numbers.below(200_000),
        5..15 => numbers.below(10_000),
        _ => numbers.below(64),
    };
    let start = numbers.next();
    let mut message: Vec<u8> = (0..=bytes).map(|i| (start + i) as u8).collect();
    message[0] = is_last.into();
    message
}

/// The largest message.
const BYTES_MAX: usize = 2 << 20;

/// Waits for both in any of the ways a program may.
fn received(mut reads: Vec<ReadHandle<u8>>, numbers: &mut Chance, runtime: &tokio::runtime::Runtime) -> Vec<Vec<u8>> {
    match numbers.below(6) {
        0 => {
            let (at, first) = wait_any(&mut reads).unwrap();
            let other = reads.remove(0).wait().unwrap();
            return if at == 0 { vec![first, other] } else { vec![other, first] };
        }
        1 => return runtime.block_on(async { vec![reads.remove(0).await.unwrap(), reads.remove(0).await.unwrap()] }),
        _ => {}
    }
    reads.into_iter().map(|read| received_alone(read, numbers)).collect()
}

fn received_alone(mut read: ReadHandle<u8>, numbers: &mut Chance) -> Vec<u8> {
    let pause = Duration::from_micros(numbers.below(500));
    match numbers.below(4) {
        0 => loop {
            match read.wait_timeout(pause) {
                Ok(message) => return message,
                Err((_, again)) => read = again.expect("nothing fails but for the time"),
            }
        },
        1 => loop {
            match read.test().unwrap() {
                Test::Ready(message) => return message,
                Test::Pending(again) => read = again,
            }
            std::thread::yield_now();
        },
        2 => {
            std::thread::sleep(pause);
            read.wait().unwrap()
        }
        _ => read.wait().unwrap(),
    }
}

/// Exchanges messages of two tags with the same thread of the other rank, round by round. Rank 0 says when to end.
fn exchange(node: &Node, thread: u32) -> u64 {
    let (rank, peer) = (node.rank().0, 1 - node.rank().0);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut numbers = Chance(u64::from(rank * THREADS + thread));
    let (began, tags) = (Instant::now(), [thread, THREADS + thread]);
    for round in 0.. {
        let is_last = rank == 0 && round + 1 >= ROUNDS && began.elapsed() >= TIME;
        let reads = tags.map(|tag| node.initread(peer, tag, vec![0; BYTES_MAX + 1]).unwrap()).into();
        let write = |tag| node.initwrite(peer, tag, message(rank, tag, round, is_last)).unwrap();
        let writes = tags.map(write);
        let got: Vec<Vec<u8>> = received(reads, &mut numbers, &runtime);
        let is_last = is_last || got[0][0] == 1;
        for (tag, got) in tags.into_iter().zip(got) {
            assert!(got == message(peer, tag, round, is_last && peer == 0), "tag {tag}, round {round}");
        }
        for write in writes {
            if numbers.below(3) > 0 {
                write.wait().unwrap();
            }
        }
        if is_last {
            return round + 1;
        }
    }
    unreachable!("rounds have no end")
}

#[test]
fn threads_wait_in_every_way_at_once() {
    for overlap in [Overlap::On, Overlap::Off] {
        let rounds = job_within(
            WATCHDOG,
            2,
            |config| config.overlap = overlap,
            |node| {
                let rounds: Vec<u64> = std::thread::scope(|scope| {
                    let thread = |thread| {
                        let node = node.clone();
                        scope.spawn(move || exchange(&node, thread))
                    };
                    let threads: Vec<_> = (0..THREADS).map(thread).collect();
                    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
                });
                node.finalize().unwrap();
                rounds
            },
        );
        assert_eq!(rounds[0], rounds[1], "both ranks have done the same");
        assert!(rounds[0].iter().all(|&rounds| rounds >= ROUNDS), "{rounds:?}");
    }
}
