//! Streams through a link and beside it, and what is sent on them.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use lathide_cli::Relay;
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use socket2::Socket;

pub(super) fn relay(spec: &str, listeners: &[&TcpListener]) -> Relay {
    let targets: Vec<SocketAddr> = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
    Relay::start(&spec.parse().unwrap(), targets).unwrap()
}

pub(super) fn connect(relay: &Relay, index: usize, listener: &TcpListener) -> (TcpStream, TcpStream) {
    let near = TcpStream::connect(relay.addresses()[index]).unwrap();
    let (far, _) = listener.accept().unwrap();
    near.set_nodelay(true).unwrap();
    far.set_nodelay(true).unwrap();
    (near, far)
}

pub(super) fn linked(spec: &str) -> (Relay, TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = relay(spec, &[&listener]);
    let (near, far) = connect(&relay, 0, &listener);
    (relay, near, far)
}

pub(super) fn direct() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    near.set_nodelay(true).unwrap();
    far.set_nodelay(true).unwrap();
    (near, far)
}

/// Sorted times of 8 bytes there and back, in seconds.
pub(super) fn round_trips(near: &mut TcpStream, far: &mut TcpStream, count: usize) -> Vec<f64> {
    let mut echo = far.try_clone().unwrap();
    let answering = thread::spawn(move || {
        for _ in 0..count {
            let mut message = [0; 8];
            echo.read_exact(&mut message).unwrap();
            echo.write_all(&message).unwrap();
        }
    });
    let mut times: Vec<f64> = (0..count)
        .map(|_| {
            let start = Instant::now();
            near.write_all(&[1; 8]).unwrap();
            near.read_exact(&mut [0; 8]).unwrap();
            start.elapsed().as_secs_f64()
        })
        .collect();
    answering.join().unwrap();
    times.sort_by(f64::total_cmp);
    times
}

/// Seconds from the first write of `bytes` until the last has been read.
pub(super) fn transfer(mut from: TcpStream, mut to: TcpStream, bytes: usize) -> f64 {
    let start = Instant::now();
    let sender = thread::spawn(move || {
        let block = [5; 64 << 10];
        let mut left = bytes;
        while left > 0 {
            let take = left.min(block.len());
            from.write_all(&block[..take]).unwrap();
            left -= take;
        }
        from
    });
    let (mut left, mut block) = (bytes, vec![0; 256 << 10]);
    while left > 0 {
        let got = to.read(&mut block).unwrap();
        assert!(got > 0, "the link ended {left} bytes early");
        left -= got;
    }
    let time_s = start.elapsed().as_secs_f64();
    drop(sender.join().unwrap());
    time_s
}

/// Writes as much of pattern 7 as is taken, until nothing has been taken for a while.
pub(super) fn fill(mut stream: &TcpStream) -> usize {
    stream.set_nonblocking(true).unwrap();
    let (mut accepted, mut last) = (0, Instant::now());
    while last.elapsed() < Duration::from_millis(500) {
        let block: Vec<u8> = (accepted..accepted + 65_536).map(|at| pattern(7, at)).collect();
        match stream.write(&block) {
            Ok(bytes) => (accepted, last) = (accepted + bytes, Instant::now()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(1)),
            Err(error) => panic!("{error}"),
        }
    }
    accepted
}

/// Writes in random sizes, mostly small.
pub(super) fn send_pattern(mut stream: TcpStream, seed: u8, bytes: usize) {
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut at = 0;
    while at < bytes {
        let size = (1 << (random_below(&mut random, 17) + 1)) + random_below(&mut random, 1000);
        let block: Vec<u8> = (at..bytes.min(at + size)).map(|at| pattern(seed, at)).collect();
        stream.write_all(&block).unwrap();
        at += block.len();
    }
}

/// Reads in random sizes and compares.
pub(super) fn check_pattern(mut stream: TcpStream, seed: u8, bytes: usize) {
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &[!seed; 32]);
    let (mut at, mut block) = (0, vec![0; 100_000]);
    while at < bytes {
        let size = (1 + random_below(&mut random, 100_000)).min(bytes - at);
        let got = stream.read(&mut block[..size]).unwrap();
        assert!(got > 0, "the link ended {} bytes early", bytes - at);
        for &byte in &block[..got] {
            assert_eq!(byte, pattern(seed, at), "byte {at} of {bytes}");
            at += 1;
        }
    }
}

fn pattern(seed: u8, at: usize) -> u8 {
    ((at as u32 ^ (u32::from(seed) << 20)).wrapping_mul(2_654_435_761) >> 24) as u8
}

fn random_below(random: &mut TestRng, bound: usize) -> usize {
    random.next_u32() as usize % bound
}

pub(super) fn reset(stream: TcpStream) {
    Socket::from(stream).set_linger(Some(Duration::ZERO)).unwrap();
}
