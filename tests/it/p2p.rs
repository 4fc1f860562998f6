//! Point-to-point: what arrives, in which order, whatever the order of the calls.

use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use lathide::{Config, Error, Node, Overlap, Tag, Test, wait_all, wait_any};

use crate::support::{job, job_within};

#[test]
fn a_message_arrives_and_both_buffers_come_back() {
    let results = job(2, |node| {
        let peer = 1 - node.rank().0;
        let sent: Vec<f64> = (0..1000).map(f64::from).collect();
        let read = node.initread(peer, 7, vec![0.0f64; 1000]).unwrap();
        let write = node.initwrite(peer, 7, sent.clone()).unwrap();
        assert_eq!(write.wait().unwrap(), sent);
        let got = read.wait().unwrap();
        node.finalize().unwrap();
        got == sent
    });
    assert_eq!(results, [true, true]);
}

#[test]
fn sizes_around_every_boundary_arrive_exactly() {
    let sizes = [0, 1, 511, 512, 513, 4095, 4096, 4097, 8192, 65_536, 65_537, 1 << 20, (9 << 20) + 5];
    sizes_arrive_exactly(&sizes, |_| {});
}

/// Two ranks send each other messages of these sizes.
pub(crate) fn sizes_arrive_exactly(sizes: &[usize], configure: impl Fn(&mut Config)) {
    let sizes = sizes.to_vec();
    job_within(Duration::from_secs(60), 2, configure, move |node| {
        let peer = 1 - node.rank().0;
        for &size in &sizes {
            let data: Vec<u8> = (0..size).map(|i| (i * 31 + i / 251) as u8).collect();
            let read = node.initread(peer, 1, vec![0u8; size]).unwrap();
            let write = node.initwrite(peer, 1, data.clone()).unwrap();
            assert!(read.wait().unwrap() == data, "{size} bytes");
            write.wait().unwrap();
        }
        node.finalize().unwrap();
    });
}

/// Small writes in a row, each waited for: they gather, their buffer is reused at once, and the last ones leave though their
/// program does not call any more. Longer ones in between keep the order.
#[test]
fn small_writes_in_a_row_carry_what_was_written() {
    const MANY: u64 = 5000;
    let length = |count: u64| if count % 97 == 96 { 900 } else { 1 + (count % 60) as usize };
    for encrypt in [false, true] {
        let configure = |config: &mut Config| config.encrypt = encrypt;
        job_within(Duration::from_secs(60), 2, configure, move |node| {
            if node.rank() == 0 {
                for round in 0..3 {
                    for count in 0..MANY {
                        let mut buffer = vec![round * MANY + count; length(count)];
                        buffer = node.initwrite(1, 5, buffer).unwrap().wait().unwrap();
                        buffer.fill(u64::MAX);
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
                // The other says that all have come while this thread sleeps on.
                std::thread::sleep(Duration::from_millis(300));
                let read = node.initread(1, 6, vec![0u8]).unwrap();
                assert_eq!(read.wait().unwrap(), [1]);
            } else {
                for round in 0..3 {
                    for count in 0..MANY {
                        let got = node.initread(0, 5, vec![0u64; 900]).unwrap().wait().unwrap();
                        assert!(got == vec![round * MANY + count; length(count)], "{round}, {count}: {got:?}");
                    }
                }
                node.initwrite(0, 6, vec![1u8]).unwrap().wait().unwrap();
            }
            node.finalize().unwrap();
        });
    }
}

/// The paper's (I.1) with blocking writes: both wait for a long write before either has posted its read.
#[test]
fn both_ranks_write_60_mib_before_either_reads() {
    const BYTES: usize = 60 << 20;
    job(2, |node| {
        let (rank, peer) = (node.rank().0, 1 - node.rank().0);
        for round in 0..2u32 {
            let data = vec![(rank + round) as u8; BYTES];
            node.initwrite(peer, 3, data).unwrap().wait().unwrap();
            let got = node.initread(peer, 3, vec![0u8; BYTES]).unwrap().wait().unwrap();
            assert!(got.iter().all(|&byte| byte == (peer + round) as u8));
        }
        node.finalize().unwrap();
    });
}

#[test]
fn writes_beyond_the_window_complete_when_the_reads_come_first() {
    job(2, |node| {
        let (rank, peer) = (node.rank().0, 1 - node.rank().0);
        let read = node.initread(peer, 9, vec![0u8; 100 << 20]).unwrap();
        let write = node.initwrite(peer, 9, vec![rank as u8 + 1; 100 << 20]).unwrap();
        write.wait().unwrap();
        assert!(read.wait().unwrap().iter().all(|&byte| byte == peer as u8 + 1));
        node.finalize().unwrap();
    });
}

/// A rank that computes for long is no deadlock, however long the others wait.
#[test]
fn a_computing_rank_is_waited_for() {
    job(3, |node| {
        if node.rank() == 0 {
            std::thread::sleep(Duration::from_secs(8));
            for peer in 1..3 {
                node.initwrite(peer, 4, vec![1u8]).unwrap().wait().unwrap();
            }
        } else {
            node.initread(0, 4, vec![0u8]).unwrap().wait().unwrap();
        }
        node.finalize().unwrap();
    });
}

#[test]
fn ten_thousand_messages_of_ten_tags_read_in_reverse() {
    let small_window = |config: &mut Config| config.window_bytes = 64 << 10;
    for configure in [small_window, |_: &mut Config| {}] {
        job_within(Duration::from_secs(60), 2, configure, |node| {
            let tags = 10;
            if node.rank() == 0 {
                let write = |i: u32| node.initwrite(1, i % tags, vec![i, i * i]).unwrap();
                let writes: Vec<_> = (0..10_000u32).map(|i| write(i % 10_000)).collect();
                wait_all(writes).unwrap();
            } else {
                for tag in (0..tags).rev() {
                    for i in (tag..10_000).step_by(tags as usize) {
                        let got = node.initread(0, tag, vec![0u32; 2]).unwrap().wait().unwrap();
                        assert_eq!(got, [i, i.wrapping_mul(i)]);
                    }
                }
            }
            node.finalize().unwrap();
        });
    }
}

#[test]
fn a_message_to_oneself_works_in_any_order_and_size() {
    let node = lathide::init_with(Config::alone()).unwrap();
    for size in [0usize, 5, 100_000, 70 << 20] {
        let read = node.initread(0, 1, vec![0u8; size]).unwrap();
        let write = node.initwrite(0, 1, vec![7u8; size]).unwrap();
        assert!(read.wait().unwrap().iter().all(|&byte| byte == 7));
        write.wait().unwrap();
        let write = node.initwrite(0, 2, vec![8u8; size]).unwrap();
        let read = node.initread(0, 2, vec![0u8; size]).unwrap();
        assert!(read.wait().unwrap().iter().all(|&byte| byte == 8));
        write.wait().unwrap();
    }
    node.finalize().unwrap();
}

#[test]
fn a_shorter_message_cuts_the_buffer() {
    job(2, |node| {
        if node.rank() == 0 {
            node.initwrite(1, 1, vec![1.5f64; 3]).unwrap().wait().unwrap();
        } else {
            assert_eq!(node.initread(0, 1, vec![0f64; 10]).unwrap().wait().unwrap(), [1.5; 3]);
        }
        node.finalize().unwrap();
    });
}

#[test]
fn every_buffer_type_is_sent_and_comes_back() {
    job(2, |node| {
        if node.rank() == 0 {
            let bytes = bytes::Bytes::from_static(b"abc");
            assert_eq!(node.initwrite(1, 1, bytes.clone()).unwrap().wait().unwrap(), bytes);
            let shared: std::sync::Arc<[i32]> = vec![1, -2, 3].into();
            assert_eq!(node.initwrite(1, 2, shared.clone()).unwrap().wait().unwrap(), shared);
        } else {
            assert_eq!(node.initread(0, 1, vec![0u8; 3]).unwrap().wait().unwrap(), b"abc");
            assert_eq!(node.initread(0, 2, vec![0i32; 3]).unwrap().wait().unwrap(), [1, -2, 3]);
        }
        node.finalize().unwrap();
    });
}

#[test]
fn test_and_wait_any_and_timeouts_find_what_is_complete() {
    job(2, |node| {
        let peer = 1 - node.rank().0;
        if node.rank() == 0 {
            let mut reads =
                vec![node.initread(peer, 1, vec![0u8; 1]).unwrap(), node.initread(peer, 2, vec![0u8; 1]).unwrap()];
            node.initwrite(peer, 9, vec![2u8]).unwrap().wait().unwrap();
            assert_eq!(wait_any(&mut reads).unwrap(), (1, vec![22]));
            let read = reads.pop().unwrap();
            let Ok(Test::Pending(read)) = read.test() else { panic!("nothing was sent yet") };
            let (error, read) = read.wait_timeout(Duration::from_millis(20)).unwrap_err();
            assert!(matches!(error, Error::Timeout { .. }), "{error}");
            node.initwrite(peer, 9, vec![1u8]).unwrap().wait().unwrap();
            let mut read = read.unwrap();
            let got = loop {
                match read.test().unwrap() {
                    Test::Ready(buffer) => break buffer,
                    Test::Pending(handle) => read = handle,
                }
                std::thread::yield_now();
            };
            assert_eq!(got, [11]);
        } else {
            for _ in 0..2 {
                let tag = node.initread(peer, 9, vec![0u8]).unwrap().wait().unwrap()[0];
                node.initwrite(peer, u32::from(tag), vec![tag * 11]).unwrap().wait().unwrap();
            }
        }
        node.finalize().unwrap();
    });
}

#[test]
fn handles_are_futures_on_any_runtime_and_in_deferred_mode() {
    for overlap in [Overlap::On, Overlap::Off] {
        job_within(
            Duration::from_secs(60),
            2,
            |config| config.overlap = overlap,
            |node| {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(async {
                    let peer = 1 - node.rank().0;
                    for round in 0..200u32 {
                        let read = node.initread(peer, 1, vec![0u32; 30_000]).unwrap();
                        let write = node.initwrite(peer, 1, vec![round; 30_000]).unwrap();
                        assert_eq!(read.await.unwrap(), vec![round; 30_000]);
                        write.await.unwrap();
                    }
                });
                node.finalize().unwrap();
            },
        );
    }
}

#[test]
fn many_threads_share_a_node() {
    for overlap in [Overlap::On, Overlap::Off] {
        job_within(
            Duration::from_secs(60),
            2,
            |config| config.overlap = overlap,
            |node| {
                let peer = 1 - node.rank().0;
                std::thread::scope(|scope| {
                    for tag in 0..8u32 {
                        let node = node.clone();
                        scope.spawn(move || {
                            for round in 0..200u64 {
                                let read = node.initread(peer, tag, vec![0u64; 300]).unwrap();
                                let write = node.initwrite(peer, tag, vec![round << 32 | u64::from(tag); 300]).unwrap();
                                assert_eq!(read.wait().unwrap(), vec![round << 32 | u64::from(tag); 300]);
                                write.wait().unwrap();
                            }
                        });
                    }
                });
                node.finalize().unwrap();
            },
        );
    }
}

#[test]
fn a_dropped_read_lets_the_message_meet_the_next_one() {
    job(2, |node| {
        if node.rank() == 0 {
            drop(node.initread(1, 1, vec![0u8; 4]).unwrap());
            node.barrier().unwrap();
            assert_eq!(node.initread(1, 1, vec![0u8; 4]).unwrap().wait().unwrap(), b"next");
        } else {
            node.barrier().unwrap();
            drop(node.initwrite(0, 1, b"next".to_vec()).unwrap());
        }
        node.finalize().unwrap();
    });
}

#[test]
fn barriers_hold_everybody_back() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    for size in [1, 2, 3, 5] {
        let arrived = Arc::new(AtomicU32::new(0));
        let counter = arrived.clone();
        job(size, move |node| {
            for round in 1..=20 {
                counter.fetch_add(1, Ordering::SeqCst);
                node.barrier().unwrap();
                assert!(counter.load(Ordering::SeqCst) >= round * size);
            }
            node.finalize().unwrap();
        });
    }
}

#[test]
fn fragments_of_any_size_carry_the_same_bytes() {
    for fragment in [1usize, 100, 1024, 65_536] {
        job_within(
            Duration::from_secs(60),
            2,
            |config| config.fragment_bytes = fragment,
            move |node| {
                let peer = 1 - node.rank().0;
                let data: Vec<u8> = (0..200_001).map(|i| (i % 253) as u8).collect();
                let read = node.initread(peer, Tag(1), vec![0u8; data.len()]).unwrap();
                let write = node.initwrite(peer, Tag(1), data.clone()).unwrap();
                assert!(read.wait().unwrap() == data, "fragments of {fragment}");
                write.wait().unwrap();
                node.finalize().unwrap();
            },
        );
    }
}

/// In deferred mode nothing leaves before a wait; with overlap it arrives while the receiver does something else.
#[test]
fn deferred_mode_moves_bytes_only_inside_a_wait() {
    for overlap in [Overlap::On, Overlap::Off] {
        let has_looked = Arc::new(Barrier::new(2));
        job_within(
            Duration::from_secs(60),
            2,
            |config| config.overlap = overlap,
            move |node| {
                if node.rank() == 0 {
                    let write = node.initwrite(1, 1, vec![5u8; 8]).unwrap();
                    has_looked.wait();
                    // In deferred mode this sends it.
                    write.wait().unwrap();
                } else {
                    let read = node.initread(0, 1, vec![0u8; 8]).unwrap();
                    // Asking moves bytes too, so look without asking.
                    let has_arrived = || format!("{read:?}").contains("complete");
                    let patience = Duration::from_millis(if overlap == Overlap::On { 30_000 } else { 150 });
                    let began = Instant::now();
                    while !has_arrived() && began.elapsed() < patience {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    let arrived = has_arrived();
                    has_looked.wait();
                    assert_eq!(arrived, overlap == Overlap::On, "with overlap {overlap:?}");
                    assert_eq!(read.wait().unwrap(), [5; 8]);
                }
                node.finalize().unwrap();
            },
        );
    }
}

/// Posts `count` reads, has the other rank write, and completes them by [`wait_any`]. Returns how long that took, once all
/// messages were there.
fn completed_by_wait_any(node: &Node, count: u32) -> Duration {
    let mut reads: Vec<_> = (0..count).map(|_| node.initread(1, 1, vec![0u32]).unwrap()).collect();
    node.initwrite(1, 2, vec![count]).unwrap().wait().unwrap();
    while !reads.iter().all(|read| read.is_complete()) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let begin = Instant::now();
    let numbers: Vec<u32> = (0..count).map(|_| wait_any(&mut reads).unwrap().1[0]).collect();
    let took = begin.elapsed();
    assert!(numbers.iter().collect::<std::collections::BTreeSet<_>>().into_iter().copied().eq(0..count));
    took
}

#[test]
fn wait_any_takes_about_as_long_for_each_of_many_as_for_each_of_few() {
    job(2, |node| {
        if node.rank() == 0 {
            let (mut few, mut many) = (f64::MAX, f64::MAX);
            for _ in 0..5 {
                let hundreds: Duration = (0..20).map(|_| completed_by_wait_any(&node, 100)).sum();
                few = few.min(hundreds.as_secs_f64() / 2000.0);
                many = many.min(completed_by_wait_any(&node, 10_000).as_secs_f64() / 10_000.0);
            }
            println!("{:.2} us for each of 100, {:.2} us for each of 10 000", few * 1e6, many * 1e6);
            assert!(many < 10.0 * few, "{many} s for each of 10 000, {few} s for each of 100");
            node.initwrite(1, 2, vec![0u32]).unwrap().wait().unwrap();
        } else {
            loop {
                let count = node.initread(0, 2, vec![0u32]).unwrap().wait().unwrap()[0];
                if count == 0 {
                    break;
                }
                let writes: Vec<_> = (0..count).map(|number| node.initwrite(0, 1, vec![number]).unwrap()).collect();
                wait_all(writes).unwrap();
            }
        }
        node.finalize().unwrap();
    });
}

#[test]
fn wait_any_finds_each_of_many_as_they_come_in_any_order() {
    const MANY: u32 = 300;
    job(2, |node| {
        if node.rank() == 0 {
            let mut reads: Vec<_> = (0..MANY).map(|tag| node.initread(1, tag, vec![0u32]).unwrap()).collect();
            let mut tags: Vec<u32> = (0..MANY).collect();
            while !reads.is_empty() {
                // One message at a time is under way: each of these waits has to sleep or to poll for it.
                node.initwrite(1, MANY, vec![1u8]).unwrap().wait().unwrap();
                let (at, got) = wait_any(&mut reads).unwrap();
                assert_eq!(got, [tags.swap_remove(at)]);
            }
        } else {
            let mut tags: Vec<u32> = (0..MANY).collect();
            let mut state = 12345u32;
            while !tags.is_empty() {
                node.initread(0, MANY, vec![0u8]).unwrap().wait().unwrap();
                state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                let tag = tags.swap_remove((state >> 8) as usize % tags.len());
                if tag.is_multiple_of(8) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                node.initwrite(0, tag, vec![tag]).unwrap().wait().unwrap();
            }
        }
        node.finalize().unwrap();
    });
}

#[test]
fn wait_any_finds_operations_of_another_node_and_what_another_thread_moves() {
    let (sender, handles) = std::sync::mpsc::channel();
    let handles = std::sync::Arc::new(std::sync::Mutex::new(handles));
    job(2, move |node| {
        let peer = 1 - node.rank().0;
        if node.rank() == 1 {
            sender.send(node.initread(peer, 1, vec![0u8]).unwrap()).unwrap();
            node.initwrite(peer, 3, vec![3u8]).unwrap().wait().unwrap();
            node.initread(peer, 4, vec![0u8]).unwrap().wait().unwrap();
        } else {
            let theirs = handles.lock().unwrap().recv().unwrap();
            let mut reads = vec![node.initread(peer, 2, vec![0u8]).unwrap(), theirs];
            node.initread(peer, 3, vec![0u8]).unwrap().wait().unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(50));
                    node.initwrite(peer, 1, vec![7u8]).unwrap().wait().unwrap();
                });
                assert_eq!(wait_any(&mut reads).unwrap(), (1, vec![7]));
            });
            // One thread holds the links, the other has to be told.
            let mut own = vec![node.initread(0, 5, vec![0u8]).unwrap(), node.initread(0, 6, vec![0u8]).unwrap()];
            std::thread::scope(|scope| {
                let waiter = scope.spawn(|| wait_any(&mut own).unwrap());
                let other = scope.spawn(|| {
                    let mut own =
                        vec![node.initread(0, 7, vec![0u8]).unwrap(), node.initread(0, 8, vec![0u8]).unwrap()];
                    wait_any(&mut own).unwrap()
                });
                std::thread::sleep(Duration::from_millis(50));
                node.initwrite(0, 6, vec![6u8]).unwrap().wait().unwrap();
                assert_eq!(waiter.join().unwrap(), (1, vec![6]));
                node.initwrite(0, 8, vec![8u8]).unwrap().wait().unwrap();
                assert_eq!(other.join().unwrap(), (1, vec![8]));
            });
            node.initwrite(peer, 4, vec![4u8]).unwrap().wait().unwrap();
        }
        node.finalize().unwrap();
    });
}
