//! Links that are encrypted: what is sent arrives as it does without, and nobody in between can read it.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use lathide::{Config, Error, Key, Node, Operator, wait_all};
use socket2::{Domain, Protocol, Socket, Type};

use crate::p2p::sizes_arrive_exactly;
use crate::spmd::programs::{join, say};
use crate::spmd::{ARGUMENTS, Job, prepared, this};
use crate::support::{KEY, free_root, job_within};

const LIMIT: Duration = Duration::from_secs(60);

fn encrypted(config: &mut Config) {
    config.encrypt = true;
}

#[test]
fn sizes_around_every_boundary_arrive_exactly() {
    let sizes = [0, 1, 511, 512, 513, 4096, 32_752, 32_768, 32_769, 65_536, 1 << 20, (9 << 20) + 5];
    sizes_arrive_exactly(&sizes, encrypted);
}

/// Neither reads before its own write has gone, and the sockets take far less.
#[test]
fn both_ranks_write_60_mib_before_either_reads() {
    const BYTES: usize = 60 << 20;
    job_within(LIMIT, 2, encrypted, |node| {
        let (rank, peer) = (node.rank().0, 1 - node.rank().0);
        node.initwrite(peer, 3, vec![rank as u8; BYTES]).unwrap().wait().unwrap();
        let got = node.initread(peer, 3, vec![9u8; BYTES]).unwrap().wait().unwrap();
        assert!(got.iter().all(|&byte| byte == peer as u8));
        node.finalize().unwrap();
    });
}

/// Small messages beside long ones, in both directions and to everybody, with a program that only sometimes waits.
#[test]
fn small_and_long_messages_and_collectives_mix() {
    job_within(LIMIT, 4, encrypted, |node| {
        let (rank, size) = (node.rank().0, node.size());
        for round in 0..20u64 {
            let others = (0..size).filter(|&peer| peer != rank);
            let mut reads = Vec::new();
            let mut writes = Vec::new();
            for peer in others.clone() {
                reads.push(node.initread(peer, 1, vec![0u64; 40_000]).unwrap());
                writes.push(node.initwrite(peer, 1, vec![u64::from(rank) + round; 40_000]).unwrap());
                for small in 0..30 {
                    writes.push(node.initwrite(peer, 2, vec![u64::from(rank) * 100 + small]).unwrap());
                }
            }
            for peer in others.clone() {
                for small in 0..30 {
                    let got = node.initread(peer, 2, vec![0u64]).unwrap().wait().unwrap();
                    assert_eq!(got, [u64::from(peer) * 100 + small]);
                }
            }
            for (peer, read) in others.zip(reads) {
                assert!(read.wait().unwrap().iter().all(|&got| got == u64::from(peer) + round));
            }
            wait_all(writes).unwrap();
            let sum = node.allreduce(&Operator::sum(), vec![u64::from(rank); 1000]).unwrap();
            assert!(sum.iter().all(|&sum| sum == 6));
        }
        node.finalize().unwrap();
    });
}

/// A link on which the socket is full most of the time, so that sealed bytes wait.
fn over_a_slow_link(program: &str, overlap: &str) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lathide"));
    command.args(["run", "--encrypt", "-n", "2", "--link", "rate=20mbit,delay=1ms"]).arg(this()).args(ARGUMENTS);
    let ended = Job::of(prepared(command, program, &[("LATHIDE_OVERLAP", overlap)])).end();
    assert!(ended.statuses[0].success(), "{program}, overlap {overlap}: {ended}");
    assert_eq!(ended.all("done").len(), 2, "{program}, overlap {overlap}: {ended}");
}

#[test]
fn odd_lengths_pass_a_slow_link_both_ways() {
    let seed = u64::from(std::process::id());
    for (seed, overlap) in [(1, "on"), (2, "off"), (seed, "on")] {
        println!("seed {seed}, overlap {overlap}");
        over_a_slow_link(&format!("odd {seed} 60"), overlap);
    }
}

#[test]
fn the_last_bytes_do_not_wait_for_more() {
    for overlap in ["on", "off"] {
        over_a_slow_link("tail", overlap);
    }
}

/// Bytes of the longest message of [`odd`].
const LONGEST: u64 = 90_000;

/// The program: both ranks write messages of random lengths under three tags, some of them short, a few ahead of the reads.
pub(crate) fn odd(seed: u64, messages: u64) -> lathide::Result<()> {
    let node = join()?;
    let (rank, peer) = (node.rank().0, 1 - node.rank().0);
    let word = |of: u32, message: u64| {
        let mut word = (seed << 33 | u64::from(of) << 32 | message).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word ^ (word >> 27)
    };
    let payload = |of: u32, message: u64| {
        let word = word(of, message);
        let bytes = if word & 3 == 0 { word >> 8 & 0xff } else { (word >> 8) % LONGEST };
        (0..bytes).map(|at| (at ^ word >> 3) as u8).collect::<Vec<u8>>()
    };
    let mut writes = std::collections::VecDeque::new();
    for message in 0..messages {
        writes.push_back(node.initwrite(peer, (word(rank, message) >> 40) as u32 % 3, payload(rank, message))?);
        if writes.len() > 12 {
            writes.pop_front().expect("some").wait()?;
        }
        let tag = (word(peer, message) >> 40) as u32 % 3;
        let got = node.initread(peer, tag, vec![0; LONGEST as usize])?.wait()?;
        assert!(got == payload(peer, message), "message {message} of seed {seed}: {} bytes", got.len());
    }
    wait_all(writes)?;
    node.finalize()?;
    say("done", "");
    Ok(())
}

/// The program: two long messages whose last bytes need room in the socket, and the answer to them.
pub(crate) fn tail() -> lathide::Result<()> {
    let node = join()?;
    for round in 0..5u8 {
        if node.rank() == 0 {
            let first = node.initwrite(1, 1, vec![round; 60_000])?;
            node.initwrite(1, 1, vec![round + 1; 32_623])?.wait()?;
            first.wait()?;
            // No call moves what is left, so nothing may be left.
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(node.initread(1, 2, vec![0u8; 1])?.wait()?, [round]);
        } else {
            assert_eq!(node.initread(0, 1, vec![9u8; 60_000])?.wait()?, vec![round; 60_000]);
            assert_eq!(node.initread(0, 1, vec![9u8; 32_623])?.wait()?, vec![round + 1; 32_623]);
            node.initwrite(0, 2, vec![round])?.wait()?;
        }
    }
    node.finalize()?;
    say("done", "");
    Ok(())
}

#[test]
fn a_rank_that_does_not_encrypt_is_told_so() {
    let root = free_root();
    let join = |rank: u32| {
        let mut config = Config::new(rank, 2, Some(root.clone()));
        config.key = Key::from_bytes(KEY);
        config.encrypt = rank == 0;
        config.join_timeout = Duration::from_secs(5);
        std::thread::spawn(move || lathide::init_with(config).map(drop))
    };
    let errors = [join(0), join(1)].map(|rank| rank.join().unwrap().unwrap_err().to_string());
    assert!(errors[0].contains("it does not encrypt its links, this side does"), "{errors:?}");
    assert!(errors[0].contains("LATHIDE_ENCRYPT"), "{errors:?}");
}

/// Everything that passes over the loopback interface, if this process may see it.
struct Wire(Socket);

/// Packets with a message in them that the wire has shown, and with a control beside it, which is never encrypted.
#[derive(Default)]
struct Seen {
    message: AtomicUsize,
    control: AtomicUsize,
    is_over: AtomicBool,
}

impl Wire {
    fn tap() -> Option<Self> {
        // Every protocol, in network order.
        let all = Protocol::from(i32::from(3u16.to_be()));
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(all)).ok()?;
        // Other programs use the interface too: room for all of that, where that may be asked for.
        if rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, 256 << 20).is_err() {
            socket.set_recv_buffer_size(64 << 20).ok()?;
        }
        socket.set_read_timeout(Some(Duration::from_millis(50))).ok()?;
        Some(Wire(socket))
    }

    /// Counts the packets with either marker in them, until it is over.
    fn watch(self, message: [u8; 32], control: [u8; 32], seen: &Seen) {
        let mut packet = vec![0; 128 << 10];
        while !seen.is_over.load(Ordering::SeqCst) {
            let Ok(length) = (&self.0).read(&mut packet) else { continue };
            for (marker, count) in [(message, &seen.message), (control, &seen.control)] {
                let has_it = packet[..length].windows(32).any(|window| window == marker);
                count.fetch_add(usize::from(has_it), Ordering::SeqCst);
            }
        }
    }
}

/// How often the wire must show the control: then it would have shown a message that can be read too. On a busy machine
/// it does not show everything.
const CONTROLS: usize = 16;
/// How long that may take.
const WATCHED: Duration = Duration::from_secs(300);

/// How many packets have shown a message, of those that passed until as many controls did; `None` if this user may not
/// look at packets.
fn packets_that_show_the_message(encrypt: bool) -> Option<usize> {
    let (mut marker, mut control) = ([0; 32], [0; 32]);
    getrandom::fill(&mut marker).unwrap();
    getrandom::fill(&mut control).unwrap();
    let (wire, seen) = (Wire::tap()?, Arc::new(Seen::default()));
    let watcher = std::thread::spawn({
        let seen = seen.clone();
        move || wire.watch(marker, control, &seen)
    });
    let message: Vec<u8> = marker.iter().copied().cycle().take(200_000).collect();
    let watched = seen.clone();
    job_within(
        WATCHED,
        2,
        |config| config.encrypt = encrypt,
        move |node: Node| {
            let (leads, peer) = (node.rank() == 0, 1 - node.rank().0);
            let side = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            loop {
                let read = node.initread(peer, 1, vec![0u8; message.len()]).unwrap();
                node.initwrite(peer, 1, message.clone()).unwrap().wait().unwrap();
                assert!(read.wait().unwrap() == message);
                // Short ones and collectives go other ways.
                node.initwrite(peer, 2, marker.to_vec()).unwrap().wait().unwrap();
                assert_eq!(node.initread(peer, 2, vec![0u8; 32]).unwrap().wait().unwrap(), marker);
                assert_eq!(node.broadcast(0, marker.to_vec()).unwrap(), marker);
                if leads {
                    // Who watches has to go through all of it, and through what other tests send.
                    std::thread::sleep(Duration::from_millis(5));
                    side.send_to(&control, side.local_addr().unwrap()).unwrap();
                }
                let is_enough = watched.control.load(Ordering::SeqCst) >= CONTROLS
                    && (encrypt || watched.message.load(Ordering::SeqCst) >= CONTROLS);
                if node.broadcast(0, vec![u8::from(is_enough)]).unwrap() == [1] {
                    return node.finalize().unwrap();
                }
            }
        },
    );
    seen.is_over.store(true, Ordering::SeqCst);
    watcher.join().unwrap();
    Some(seen.message.load(Ordering::SeqCst))
}

#[test]
fn who_listens_in_sees_nothing() {
    // It ends when enough of them have been seen.
    if packets_that_show_the_message(false).is_none() {
        eprintln!("skipped: this user may not look at packets");
        return;
    }
    assert_eq!(packets_that_show_the_message(true), Some(0));
}

#[test]
fn the_command_passes_it_on() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_lathide"))
        .args(["run", "--encrypt", "-n", "3", "--tag", "never", "sh", "-c", "echo encrypt=$LATHIDE_ENCRYPT"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "encrypt=on\n".repeat(3));
}

#[test]
fn an_error_is_an_error_with_encryption_too() {
    let errors = job_within(LIMIT, 2, encrypted, |node| {
        let peer = 1 - node.rank().0;
        let write = node.initwrite(peer, 1, vec![1.0f32; 10]).unwrap();
        let error = node.initread(peer, 1, vec![0.0f64; 10]).unwrap().wait();
        let _ = write.wait();
        let _ = node.finalize();
        matches!(error, Err(Error::Mismatch(_)))
    });
    assert_eq!(errors, [true, true]);
}
