//! Reads of unknown origin and length, cancelled reads, and wait sets, over real sockets.

use std::time::Duration;

use lathide::{AnyHandle, Cancelled, Config, Error, Node, Overlap, WaitSet, wait_all, wait_any, wait_some};

use crate::support::{job, job_within};

const MINUTE: Duration = Duration::from_secs(60);

/// Runs `program` with 1, 2, 3 and 5 ranks, overlap on and off, encrypted or not, and with hardly any window.
fn everywhere(program: impl Fn(&Node) + Clone + Send + 'static) {
    for size in [1, 2, 3, 5] {
        for overlap in [Overlap::On, Overlap::Off] {
            for (window_bytes, encrypt) in [(None, false), (Some(600), false), (None, true)] {
                let program = program.clone();
                let configure = move |config: &mut Config| {
                    config.overlap = overlap;
                    config.encrypt = encrypt;
                    config.window_bytes = window_bytes.unwrap_or(config.window_bytes);
                };
                job_within(MINUTE, size, configure, move |node| {
                    program(&node);
                    node.finalize().unwrap();
                });
            }
        }
    }
}

/// A message of `number` from `from`: its length tells too.
fn message(from: u32, number: u32) -> Vec<u32> {
    let mut message = vec![from; 2 + (number as usize * 37) % 500];
    message[1] = number;
    message
}

#[test]
fn messages_of_all_ranks_are_read_each_once_and_in_order() {
    const EACH: u32 = 40;
    everywhere(|node| {
        let writes: Vec<_> =
            (0..EACH).map(|number| node.initwrite(0, 1, message(node.rank().0, number)).unwrap()).collect();
        if node.rank() == 0 {
            let mut next = vec![0; node.size() as usize];
            let posted = |at: u32| match at % 2 {
                0 => node.initread_any(1, vec![0u32; 600]).unwrap(),
                _ => node.initread_any_vec(1, 600).unwrap(),
            };
            let ahead: Vec<AnyHandle<u32>> = (0..EACH / 2).map(posted).collect();
            let rest = (EACH / 2..EACH * node.size()).map(posted);
            for read in ahead.into_iter().chain(rest) {
                let (from, got) = read.wait().unwrap();
                assert_eq!(got, message(from.0, next[from.index()]));
                next[from.index()] += 1;
            }
            assert!(next.iter().all(|&count| count == EACH), "{next:?}");
        }
        wait_all(writes).unwrap();
    });
}

#[test]
fn reads_of_one_rank_and_of_any_match_in_the_order_posted() {
    job(2, |node| {
        if node.rank() == 0 {
            let first = node.initread_any(1, vec![0u8; 1]).unwrap();
            let second = node.initread(1, 1, vec![0u8; 1]).unwrap();
            let third = node.initread_any_vec::<u8>(1, 1).unwrap();
            node.initwrite(1, 2, vec![0u8]).unwrap().wait().unwrap();
            assert_eq!(third.wait().unwrap(), (1.into(), vec![3]));
            assert_eq!((first.wait().unwrap().1, second.wait().unwrap()), (vec![1], vec![2]));
        } else {
            node.initread(0, 2, vec![0u8]).unwrap().wait().unwrap();
            for number in 1..=3u8 {
                node.initwrite(0, 1, vec![number]).unwrap().wait().unwrap();
            }
        }
        node.finalize().unwrap();
    });
}

/// A long message is allocated for when it is announced, also beyond the window, and over an encrypted link.
#[test]
fn vectors_are_as_long_as_their_messages() {
    for encrypt in [false, true] {
        let configure = move |config: &mut Config| {
            config.window_bytes = 1 << 16;
            config.encrypt = encrypt;
        };
        job_within(MINUTE, 2, configure, |node| {
            let peer = 1 - node.rank().0;
            for bytes in [0, 1, 4097, 100_000, 5 << 20] {
                let write = node.initwrite(peer, 1, vec![7u64; bytes / 8]).unwrap();
                let got = node.initread_vec::<u64>(peer, 1, usize::MAX).unwrap().wait().unwrap();
                assert!(got.len() == bytes / 8 && got.iter().all(|&element| element == 7));
                write.wait().unwrap();
            }
            node.finalize().unwrap();
        });
    }
}

#[test]
fn a_message_beyond_the_limit_is_an_error_on_both_sides() {
    job(2, |node| {
        if node.rank() == 0 {
            for read in [node.initread_any_vec::<u32>(1, 3).unwrap(), node.initread_any(1, vec![0u32; 3]).unwrap()] {
                let failed = read.wait_or_buffer().unwrap_err();
                assert!(matches!(&failed.error, Error::Mismatch(mismatch) if mismatch.posted.0 == 12), "{failed}");
                assert!(failed.buffer.is_some_and(|buffer| buffer.len() <= 3));
            }
            node.initwrite(1, 2, vec![0u8]).unwrap().wait().unwrap();
        } else {
            for _ in 0..2 {
                let write = node.initwrite(0, 1, vec![1u32; 4]).unwrap();
                // Before it is complete or after, the writer is told.
                let told = match write.wait() {
                    Err(error) => error,
                    Ok(_) => loop {
                        if let Err(error) = node.check() {
                            break error;
                        }
                        std::thread::yield_now();
                    },
                };
                assert!(matches!(told, Error::Mismatch(_)), "{told}");
            }
            node.initread(0, 2, vec![0u8]).unwrap().wait().unwrap();
        }
        node.finalize().unwrap();
    });
}

#[test]
fn a_lost_rank_ends_a_read_of_any() {
    let errors = job(3, |node| {
        if node.rank() == 2 {
            let _ = node.initread(9, 1, vec![0u8]).unwrap_err();
            drop(node);
            return true;
        }
        let error = node.initread_any(1, vec![0u8; 1]).and_then(|read| read.wait()).unwrap_err();
        matches!(error, Error::PeerLost { .. })
    });
    assert_eq!(errors, [true; 3]);
}

/// A read is cancelled again and again while its message comes: it comes once.
#[test]
fn cancelled_reads_lose_nothing() {
    const MESSAGES: u32 = 300;
    everywhere(|node| {
        if node.rank() == 0 {
            let mut next = vec![0; node.size() as usize];
            let mut buffer = vec![0u32; 600];
            for turn in 0..MESSAGES / node.size() * (node.size() - 1) {
                let (from, got) = loop {
                    let read = node.initread_any(1, std::mem::take(&mut buffer)).unwrap();
                    if turn % 3 == 0 {
                        break read.wait().unwrap();
                    }
                    match read.cancel() {
                        Cancelled::Withdrawn(same) => buffer = same,
                        Cancelled::Matched(read) => break read.wait().unwrap(),
                    }
                    std::thread::yield_now();
                };
                assert_eq!(got, message(from.0, next[from.index()]));
                next[from.index()] += 1;
                buffer = vec![0; 600];
            }
        }
        for number in 0..MESSAGES / node.size() {
            if node.rank() != 0 {
                node.initwrite(0, 1, message(node.rank().0, number)).unwrap().wait().unwrap();
            }
        }
    });
}

/// Futures of reads are dropped by a timeout, at any stage: the next read gets what they had.
#[test]
fn dropped_futures_lose_nothing() {
    const MESSAGES: u32 = 200;
    for overlap in [Overlap::On, Overlap::Off] {
        job_within(
            MINUTE,
            2,
            |config| config.overlap = overlap,
            |node| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    if node.rank() == 0 {
                        for number in 0..MESSAGES {
                            node.initwrite(1, 1, message(0, number * 3)).unwrap().await.unwrap();
                        }
                        return;
                    }
                    let mut number = 0;
                    while number < MESSAGES {
                        let read = node.initread(0, 1, vec![0u32; 600]).unwrap();
                        let patience = Duration::from_micros(u64::from(number % 5) * 30);
                        if let Ok(got) = tokio::time::timeout(patience, read).await {
                            assert_eq!(got.unwrap(), message(0, number * 3));
                            number += 1;
                        }
                    }
                });
                node.finalize().unwrap();
            },
        );
    }
}

/// A long message is dropped while it arrives, and read whole by the next read.
#[test]
fn a_message_that_is_arriving_goes_to_the_next_read() {
    job(2, |node| {
        if node.rank() == 0 {
            node.initwrite(1, 1, vec![5u8; 40 << 20]).unwrap().wait().unwrap();
            node.initwrite(1, 1, vec![6u8; 3]).unwrap().wait().unwrap();
        } else {
            let mut got = None;
            for turn in 0..5 {
                let read = node.initread(0, 1, vec![0u8; 40 << 20]).unwrap();
                match read.wait_timeout(Duration::from_millis(turn)) {
                    Ok(buffer) => {
                        got = Some(buffer);
                        break;
                    }
                    Err((error, left)) => assert!(left.is_some(), "{error}"),
                }
            }
            let whole = || node.initread_vec::<u8>(0, 1, usize::MAX).unwrap().wait().unwrap();
            let got = got.unwrap_or_else(whole);
            assert!(got.len() == 40 << 20 && got.iter().all(|&byte| byte == 5));
            assert_eq!(node.initread_vec::<u8>(0, 1, 9).unwrap().wait().unwrap(), [6; 3]);
        }
        node.finalize().unwrap();
    });
}

#[test]
fn a_set_completes_operations_of_all_types() {
    everywhere(|node| {
        let (right, left) = (node.rank().on_ring(1, node.size()), node.rank().on_ring(-1, node.size()));
        let mut set = WaitSet::new();
        set.insert(0, node.initread(left, 1, vec![0u8; 5]).unwrap());
        set.insert(1, node.initread_vec::<f64>(left, 2, 5).unwrap());
        set.insert(2, node.initread_any(3, vec![0u32; 400]).unwrap());
        set.insert(3, node.initallgather(vec![node.rank().0]).unwrap());
        set.insert(4, node.initwrite(right, 1, vec![1u8; 5]).unwrap());
        set.insert(5, node.initwrite(right, 2, vec![2.5f64; 3]).unwrap());
        set.insert(6, node.initwrite(right, 3, vec![3u32; 400]).unwrap());
        let mut seen = [false; 7];
        while let Some((key, done)) = set.wait() {
            assert!(!std::mem::replace(&mut seen[key], true));
            match key {
                0 | 4 => assert_eq!(done.into::<Vec<u8>>().unwrap(), [1; 5]),
                1 | 5 => assert_eq!(done.into::<Vec<f64>>().unwrap(), [2.5; 3]),
                2 => assert_eq!(done.into::<(lathide::Rank, Vec<u32>)>().unwrap(), (left, vec![3; 400])),
                3 => assert_eq!(done.into::<Vec<u32>>().unwrap().len(), node.size() as usize),
                _ => assert_eq!(done.into::<Vec<u32>>().unwrap(), [3; 400]),
            }
        }
        assert!(seen.iter().all(|&seen| seen) && set.is_empty());
    });
}

#[test]
fn a_set_says_which_operation_failed_and_waits_no_longer_than_it_may() {
    let node = lathide::init_with(Config::alone()).unwrap();
    let mut set = WaitSet::new();
    assert!(set.wait().is_none() && set.test().is_none());
    set.insert("short", node.initread(0, 1, vec![0u8; 1]).unwrap());
    set.insert("pending", node.initread(0, 2, vec![0u8; 1]).unwrap());
    assert!(set.test().is_none() && set.wait_timeout(Duration::from_millis(5)).is_none());
    let _ = node.initwrite(0, 1, vec![0u8; 2]).unwrap().wait();
    let (key, done) = set.wait_timeout(MINUTE).unwrap();
    assert!(key == "short" && matches!(done.error(), Some(Error::Mismatch(_))), "{done:?}");
    assert_eq!(done.into_buffer::<Vec<u8>>().unwrap(), [0]);
    node.initwrite(0, 2, vec![3u8]).unwrap().wait().unwrap();
    let (_, done) = set.test().unwrap();
    let error = done.into::<Vec<u16>>().unwrap_err();
    assert!(error.to_string().contains("u16") && set.is_empty(), "{error}");
    node.finalize().unwrap();
}

/// Reads are posted and complete in different orders, more are added while others wait; all ways to wait find each once.
#[test]
fn every_way_to_wait_for_many_finds_each_once() {
    const READS: u32 = 600;
    for overlap in [Overlap::On, Overlap::Off] {
        job_within(
            MINUTE,
            2,
            move |config| config.overlap = overlap,
            |node| {
                let peer = 1 - node.rank().0;
                let read = |tag: u32| node.initread(peer, tag, vec![0u32; 1]).unwrap();
                for way in 0..4 {
                    let mut seen = vec![false; READS as usize];
                    let mut see = |got: Vec<u32>| assert!(!std::mem::replace(&mut seen[got[0] as usize], true));
                    let (mut handles, mut set) = (Vec::new(), WaitSet::new());
                    for tag in 0..READS / 2 {
                        if way < 2 { handles.push(read(tag)) } else { set.insert(tag, read(tag)) }
                    }
                    let write = |tag: u32| node.initwrite(peer, tag, vec![tag]).unwrap();
                    let writes: Vec<_> = (0..READS).map(|at| write(at * 7 % READS)).collect();
                    let mut more = READS / 2..READS;
                    let mut left = READS;
                    while left > 0 {
                        let done: Vec<Vec<u32>> = match way {
                            0 => vec![wait_any(&mut handles).unwrap().1],
                            1 => wait_some(&mut handles).into_iter().map(|(_, got)| got.unwrap()).collect(),
                            2 => vec![set.wait().unwrap().1.into().unwrap()],
                            _ => set.wait_some().into_iter().map(|(_, done)| done.into().unwrap()).collect(),
                        };
                        left -= done.len() as u32;
                        done.into_iter().for_each(&mut see);
                        if let Some(tag) = more.next() {
                            if way < 2 { handles.push(read(tag)) } else { set.insert(tag, read(tag)) }
                        }
                    }
                    wait_all(writes).unwrap();
                    assert!(seen.iter().all(|&seen| seen), "way {way}");
                }
                node.finalize().unwrap();
            },
        );
    }
}

#[test]
fn a_set_is_awaited() {
    for overlap in [Overlap::On, Overlap::Off] {
        job_within(
            MINUTE,
            2,
            move |config| config.overlap = overlap,
            |node| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    let peer = 1 - node.rank().0;
                    let mut set = WaitSet::new();
                    for tag in 0..50 {
                        set.insert(tag, node.initread(peer, tag, vec![0u32; 1]).unwrap());
                    }
                    // A future that is dropped takes nothing out.
                    assert!(node.rank() == 1 || tokio::time::timeout(Duration::ZERO, set.next()).await.is_err());
                    if node.rank() == 1 {
                        node.initread(0, 99, vec![0u8; 1]).unwrap().await.unwrap();
                    } else {
                        node.initwrite(1, 99, vec![0u8; 1]).unwrap().await.unwrap();
                    }
                    for tag in (0..50).rev() {
                        node.initwrite(peer, tag, vec![tag]).unwrap().await.unwrap();
                    }
                    let mut count = 0;
                    while let Some((tag, done)) = set.next().await {
                        assert_eq!(done.into::<Vec<u32>>().unwrap(), [tag]);
                        count += 1;
                    }
                    assert_eq!(count, 50);
                });
                node.finalize().unwrap();
            },
        );
    }
}
