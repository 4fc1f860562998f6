//! Point-to-point: what arrives, in which order, whatever the order of the calls.

use std::time::{Duration, Instant};

use lathide::{Config, Error, Overlap, Tag, Test, wait_all, wait_any};

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
    job(2, |node| {
        let peer = 1 - node.rank().0;
        let sizes = [0, 1, 511, 512, 513, 4095, 4096, 4097, 8192, 65_536, 65_537, 1 << 20, (9 << 20) + 5];
        for size in sizes {
            let data: Vec<u8> = (0..size).map(|i| (i * 31 + i / 251) as u8).collect();
            let read = node.initread(peer, 1, vec![0u8; size]).unwrap();
            let write = node.initwrite(peer, 1, data.clone()).unwrap();
            assert!(read.wait().unwrap() == data, "{size} bytes");
            write.wait().unwrap();
        }
        node.finalize().unwrap();
    });
}

#[test]
fn ping_pong_latency_smoke() {
    let results = job(2, |node| {
        let peer = 1 - node.rank().0;
        let n = 20000;
        let t = Instant::now();
        let mut buf = vec![0u64; 1];
        for _ in 0..n {
            if node.rank() == 0 {
                buf = node.initwrite(peer, 1, buf).unwrap().wait().unwrap();
                buf = node.initread(peer, 1, buf).unwrap().wait().unwrap();
            } else {
                buf = node.initread(peer, 1, buf).unwrap().wait().unwrap();
                buf = node.initwrite(peer, 1, buf).unwrap().wait().unwrap();
            }
        }
        let e = t.elapsed();
        node.finalize().unwrap();
        e / (2 * n)
    });
    println!("{results:?}");
}
