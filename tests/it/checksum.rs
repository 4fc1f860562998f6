//! Links with checksums: what is sent arrives as it does without. What flipped bits come to is in `cuts/flips`.

use std::process::Command;
use std::time::Duration;

use lathide::{Config, Key};

use crate::p2p::sizes_arrive_exactly;
use crate::support::{KEY, free_root, job_within};

const LIMIT: Duration = Duration::from_secs(60);

fn checked(config: &mut Config) {
    config.checksum = true;
}

#[test]
fn sizes_around_every_boundary_arrive_exactly() {
    let sizes = [0, 1, 511, 512, 513, 4096, 32_752, 32_768, 32_769, 65_536, 1 << 20, (9 << 20) + 5];
    sizes_arrive_exactly(&sizes, checked);
}

/// Neither reads before its own write has gone, and the sockets take far less.
#[test]
fn both_ranks_write_60_mib_before_either_reads() {
    const BYTES: usize = 60 << 20;
    job_within(LIMIT, 2, checked, |node| {
        let (rank, peer) = (node.rank().0, 1 - node.rank().0);
        node.initwrite(peer, 3, vec![rank as u8; BYTES]).unwrap().wait().unwrap();
        let got = node.initread(peer, 3, vec![9u8; BYTES]).unwrap().wait().unwrap();
        assert!(got.iter().all(|&byte| byte == peer as u8));
        node.finalize().unwrap();
    });
}

#[test]
fn a_rank_without_checksums_is_told_so() {
    let root = free_root();
    let join = |rank: u32| {
        let mut config = Config::new(rank, 2, Some(root.clone()));
        config.key = Key::from_bytes(KEY);
        config.checksum = rank == 0;
        config.join_timeout = Duration::from_secs(5);
        std::thread::spawn(move || lathide::init_with(config).map(drop))
    };
    let errors = [join(0), join(1)].map(|rank| rank.join().unwrap().unwrap_err().to_string());
    assert!(errors[0].contains("it has no checksums in its links, this side has them"), "{errors:?}");
    assert!(errors[0].contains("LATHIDE_CHECKSUM"), "{errors:?}");
}

/// Then links are encrypted, which finds more, and nobody minds where only some ask for both.
#[test]
fn encryption_takes_the_place_of_checksums() {
    let root = free_root();
    let join = |rank: u32| {
        let mut config = Config::new(rank, 2, Some(root.clone()));
        config.key = Key::from_bytes(KEY);
        (config.encrypt, config.checksum) = (true, rank == 0);
        std::thread::spawn(move || {
            let node = lathide::init_with(config).unwrap();
            let sum = node.allreduce(&lathide::Operator::sum(), vec![1u32]).unwrap();
            node.finalize().unwrap();
            sum
        })
    };
    assert_eq!([join(0), join(1)].map(|rank| rank.join().unwrap()), [[2], [2]]);
}

#[test]
fn the_command_passes_it_on() {
    let output = Command::new(env!("CARGO_BIN_EXE_lathide"))
        .args(["run", "--checksum", "-n", "3", "--tag", "never", "sh", "-c", "echo checksum=$LATHIDE_CHECKSUM"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "checksum=on\n".repeat(3));
}
