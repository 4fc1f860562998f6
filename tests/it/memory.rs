//! What a node takes of its machine: bounded memory whatever comes, and no processor time while it only waits.

use std::thread;
use std::time::{Duration, Instant};

use lathide::Result;
use rustix::time::{ClockId, clock_gettime};

use crate::spmd::programs::{block_on, join, say};
use crate::spmd::{Job, STARTS};
use crate::support::job;

/// The window of a link, and how much more a node may take for what comes unexpected.
const BOUND_KIB: u64 = (64 + 16) << 10;

#[test]
fn a_gigabyte_for_a_sleeping_receiver_is_held_by_its_sender() {
    flooded("flood 1024 1048576", &[], BOUND_KIB);
}

#[test]
fn a_million_tiny_messages_for_a_sleeping_receiver_are_bounded_too() {
    flooded("flood 1000000 8", &[], BOUND_KIB);
}

#[test]
fn a_smaller_window_bounds_more() {
    flooded("flood 300 1048576", &[("LATHIDE_WINDOW", "1MiB")], (1 + 16) << 10);
    flooded("flood 100000 8", &[("LATHIDE_WINDOW", "64KiB")], 16 << 10);
}

#[test]
fn messages_of_many_tags_take_no_more_than_the_window() {
    for bytes in [4, 0] {
        let grown = grown_by_tags(2, &format!("tags 262000 {bytes}"), &[]);
        assert!(grown <= BOUND_KIB, "{bytes} bytes each: {grown} KiB");
    }
}

#[test]
fn many_senders_take_no_more_than_the_budget() {
    let grown = grown_by_tags(5, "tags 100000 4", &[("LATHIDE_BUDGET", "20MiB")]);
    assert!(grown <= (20 + 16) << 10, "{grown} KiB");
}

/// What the last rank has grown by, before it read anything.
fn grown_by_tags(size: u32, program: &str, variables: &[(&str, &str)]) -> u64 {
    let ended = Job::start(STARTS[0], size, program, variables).end();
    assert!(ended.statuses.iter().all(|status| status.success()), "{ended}");
    let grown = ended.of(size - 1, "grown").rest.parse().unwrap();
    println!("{program} {variables:?}: the reader grew by {grown} KiB");
    grown
}

/// The program: all ranks write `count` messages of `bytes`, each of a tag of its own, to the last, which sleeps first.
pub(crate) fn tags(count: u32, bytes: usize) -> Result<()> {
    let node = join()?;
    node.barrier()?;
    let (last, before) = (node.size() - 1, peak_kib());
    if node.rank() == last {
        // Until nothing more comes.
        let mut seen = before;
        loop {
            thread::sleep(Duration::from_millis(1000));
            match peak_kib() {
                now if now == seen => break,
                now => seen = now,
            }
        }
        say("grown", seen - before);
        for from in 0..last {
            for tag in 0..count {
                let got = node.initread(from, tag, vec![0u8; bytes])?.wait()?;
                assert!(got == (tag ^ from).to_le_bytes()[..bytes], "tag {tag} of rank {from}");
            }
        }
    } else {
        let payload = |tag: u32| (tag ^ node.rank().0).to_le_bytes()[..bytes].to_vec();
        let writes: Result<Vec<_>> = (0..count).map(|tag| node.initwrite(last, tag, payload(tag))).collect();
        for write in writes? {
            write.wait()?;
        }
    }
    node.finalize()
}

/// Runs `program` and looks at what both ranks have grown by.
fn flooded(program: &str, variables: &[(&str, &str)], bound_kib: u64) {
    let ended = Job::start(STARTS[0], 2, program, variables).end();
    assert!(ended.statuses.iter().all(|status| status.success()), "{ended}");
    for rank in 0..2 {
        let grown: u64 = ended.of(rank, "grown").rest.parse().unwrap();
        println!("{program} {variables:?}: rank {rank} grew by {grown} KiB");
        assert!(grown <= bound_kib, "{program}: rank {rank} grew by {grown} KiB, more than {bound_kib}: {ended}");
    }
    assert!(ended.of(1, "slept").at_ms < ended.of(0, "written").at_ms, "the sender was not held back: {ended}");
}

/// The program: rank 0 writes `count` messages of `bytes` to rank 1, and waits for each; rank 1 sleeps before it reads.
pub(crate) fn flood(count: u64, bytes: usize) -> Result<()> {
    let node = join()?;
    node.barrier()?;
    let before = peak_kib();
    let word = |message: u64, at: usize| (message << 20 | at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut buffer = vec![0u64; bytes / 8];
    if node.rank() == 0 {
        for message in 0..count {
            buffer.iter_mut().enumerate().for_each(|(at, place)| *place = word(message, at));
            buffer = node.initwrite(1, 5, buffer)?.wait()?;
        }
        say("written", count);
    } else {
        thread::sleep(Duration::from_millis(1500));
        say("slept", "");
        for message in 0..count {
            buffer = node.initread(0, 5, buffer)?.wait()?;
            let is_right =
                buffer.len() == bytes / 8 && buffer.iter().enumerate().all(|(at, &got)| got == word(message, at));
            assert!(is_right, "message {message} of {count}");
        }
    }
    node.finalize()?;
    say("grown", peak_kib() - before);
    Ok(())
}

/// What a collective takes beside the buffers it is given and gives back: messages are sent from these and received into
/// them, whole or in parts.
#[test]
fn collectives_take_little_beside_their_buffers() {
    let beside_kib = 4.0 * 1024.0;
    // Other algorithms, which observed times may select, collect the blocks of several ranks.
    let variables = [("LATHIDE_WINDOW", "1MiB"), ("LATHIDE_CALIBRATE", "off")];
    for (operation, ranks) in [
        ("broadcast", 2),
        ("broadcast", 3),
        ("allgather", 4),
        ("allgather_counts", 4),
        ("allgather_into", 4),
        ("alltoall_counts", 4),
        ("exchange", 2),
        ("persistent_exchange", 2),
    ] {
        let program = format!("collected {operation} {}", 64 << 20);
        let ended = Job::start(STARTS[0], ranks, &program, &variables).end();
        assert!(ended.statuses.iter().all(|status| status.success()), "{ended}");
        for rank in 0..ranks {
            let line = ended.of(rank, "grown");
            let words: Vec<f64> = line.rest.split(' ').map(|word| word.parse().unwrap()).collect();
            let [grown_kib, new_kib] = words[..] else { panic!("{ended}") };
            println!("{operation}, {ranks} ranks: rank {rank} grew by {grown_kib} KiB for {new_kib}");
            let bound_kib = new_kib + beside_kib;
            assert!(
                grown_kib <= bound_kib,
                "{operation}: rank {rank} grew by {grown_kib} KiB, more than {bound_kib}: {ended}"
            );
        }
    }
}

/// As configured by default the root of a broadcast takes its buffer, and not a tenth more.
#[test]
fn the_root_of_a_long_broadcast_takes_its_buffer_only() {
    let bytes = 256 << 20;
    let ended = Job::start(STARTS[0], 2, &format!("collected broadcast {bytes}"), &[]).end();
    assert!(ended.statuses.iter().all(|status| status.success()), "{ended}");
    let grown_kib: u64 = ended.of(0, "grown").rest.split(' ').next().unwrap().parse().unwrap();
    assert!(grown_kib <= (bytes >> 10) / 10, "the root grew by {grown_kib} KiB: {ended}");
}

/// The program: one collective with buffers of so many bytes. Says what it took, and what its result took.
pub(crate) fn collected(operation: &str, bytes: usize) -> Result<()> {
    use lathide::Shift;
    let node = join()?;
    let (rank, ranks) = (node.rank(), node.size() as usize);
    let own = vec![1 + rank.0 as u8; bytes];
    node.barrier()?;
    let before = peak_kib();
    let got = match operation {
        "broadcast" => {
            let all = node.broadcast(0, own)?;
            assert!(all.iter().all(|&byte| byte == 1), "what the root has");
            0
        }
        "allgather" => {
            let all = node.allgather(own)?;
            assert!(is_by_rank(&all, bytes), "by rank");
            all.len()
        }
        "allgather_counts" => {
            let all = node.allgather_counts(&vec![bytes; ranks], own)?;
            assert!(is_by_rank(&all, bytes), "by rank");
            all.len()
        }
        "allgather_into" => {
            let mut all = Vec::new();
            node.allgather_into(&own, &mut all)?;
            assert!(is_by_rank(&all, bytes), "by rank");
            all.len()
        }
        "alltoall_counts" => {
            let counts = vec![bytes / ranks; ranks];
            let all = node.alltoall_counts(&counts, &counts, own)?;
            assert!(is_by_rank(&all, bytes / ranks), "by rank");
            all.len()
        }
        _ => {
            let (left, right) = (rank.on_ring(-1, node.size()), rank.on_ring(1, node.size()));
            let half = bytes / 2;
            let shifts = [(right, left), (left, right)];
            let shifts = shifts.map(|(to, from)| Shift { to: Some((to, half)), from: Some((from, half)) });
            let ghosts = match operation {
                "persistent_exchange" => node.persistent_exchange(&shifts)?.start(own, vec![0; bytes])?.wait()?.1,
                _ => node.exchange(&shifts, own)?,
            };
            assert!(ghosts.iter().all(|&byte| usize::from(byte) == 1 + left.index() % ranks), "what neighbours have");
            ghosts.len()
        }
    };
    let grown = peak_kib() - before;
    node.finalize()?;
    say("grown", format!("{grown} {}", got >> 10));
    Ok(())
}

/// Whether the blocks are those of all ranks.
fn is_by_rank(all: &[u8], block: usize) -> bool {
    all.chunks(block).zip(1..).all(|(block, word)| block.iter().all(|&byte| byte == word))
}

/// The most memory this process has had.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// How long the ranks of [`rest`] do nothing.
const REST: Duration = Duration::from_secs(3);

#[test]
fn a_node_that_only_waits_takes_no_time() {
    let rested = |overlap| {
        // A busy machine charges a waking thread for what it displaces: the best of some tries counts.
        let mut best = [f64::MAX; 4];
        for _ in 0..3 {
            let ended = Job::start(STARTS[0], 4, "rest", &[("LATHIDE_OVERLAP", overlap)]).end();
            assert!(ended.statuses.iter().all(|status| status.success()), "{ended}");
            for rank in 0..4 {
                let taken: f64 = ended.of(rank, "taken").rest.parse().unwrap();
                best[rank as usize] = best[rank as usize].min(taken);
            }
            if best.iter().all(|&taken| taken < 0.01) {
                break;
            }
        }
        println!("overlap {overlap}: of a core in wait, idle, barrier, await: {best:.5?}");
        assert!(best.iter().all(|&taken| taken < 0.01), "overlap {overlap}: {best:?} of a core");
    };
    thread::scope(|scope| {
        scope.spawn(|| rested("off"));
        rested("on");
    });
}

/// The program: rank 1 does nothing for a while; rank 0 waits for it, rank 2 in a barrier, rank 3 in a future.
pub(crate) fn rest() -> Result<()> {
    let node = join()?;
    node.barrier()?;
    let (before, began) = (processor_time(), clock_gettime(ClockId::Monotonic));
    match node.rank().0 {
        0 => drop(node.initread(1, 1, vec![0u8])?.wait()?),
        1 => thread::sleep(REST),
        2 => node.barrier()?,
        _ => drop(block_on(node.initread(1, 1, vec![0u8])?)?),
    }
    let elapsed = clock_gettime(ClockId::Monotonic) - began;
    let elapsed_s = elapsed.tv_sec as f64 + elapsed.tv_nsec as f64 * 1e-9;
    say("taken", (processor_time() - before) / elapsed_s);
    if node.rank() == 1 {
        node.initwrite(0, 1, vec![1u8])?.wait()?;
        node.initwrite(3, 1, vec![1u8])?.wait()?;
    }
    if node.rank() != 2 {
        node.barrier()?;
    }
    assert!(elapsed_s > 0.9 * REST.as_secs_f64(), "rank {} did not wait", node.rank());
    node.finalize()
}

/// Seconds that all threads of this process have run, in user and in system mode.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[test]
fn more_ranks_than_cores_complete_and_none_oversleeps() {
    for &start in STARTS {
        let mut best = 0;
        // Within half a second of a busy machine they may not come far.
        for seconds in ["0.5", "1", "5"] {
            let ended = Job::start(start, 16, &format!("steady {seconds}"), &[]).end();
            assert!(ended.statuses.iter().all(|status| status.success()), "{ended}");
            let rounds: Vec<u64> = ended.all("rounds").iter().map(|line| line.rest.parse().unwrap()).collect();
            assert!(rounds.len() == 16 && rounds.iter().all(|&count| count == rounds[0]), "{rounds:?}");
            println!("{start:?}: 16 ranks, {} rounds in {seconds} s", rounds[0]);
            best = best.max(rounds[0]);
            if best > 10 {
                break;
            }
        }
        // A waiter that is not woken sleeps for a second.
        assert!(best > 10, "{start:?}: {best} rounds of 16 hops at best");
    }
}

/// A future keeps the task awake; it must not take from the waiter beside it what was to wake that.
#[test]
fn a_thread_that_waits_beside_a_future_is_woken() {
    let slow = job(2, |node| {
        let peer = 1 - node.rank().0;
        let last = node.initread(peer, 2, vec![0u8]).unwrap();
        let future = thread::spawn(move || block_on(last).unwrap());
        let mut slow = 0;
        for round in 0..3000u32 {
            let began = Instant::now();
            let read = node.initread(peer, 1, vec![0u32]).unwrap();
            node.initwrite(peer, 1, vec![round]).unwrap().wait().unwrap();
            assert_eq!(read.wait().unwrap(), [round]);
            slow += u32::from(began.elapsed() > Duration::from_millis(900));
        }
        node.initwrite(peer, 2, vec![1u8]).unwrap().wait().unwrap();
        assert_eq!(future.join().unwrap(), [1]);
        node.finalize().unwrap();
        slow
    });
    assert!(slow.iter().sum::<u32>() <= 2, "waits of about a second: {slow:?}");
}
