//! Bits that flip on their way over real sockets: with checksums they are healed, without them they do harm.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use lathide::{Config, Error, Overlap, Result};

use super::handshake::DIALER_BYTES;
use super::proxy::{Contact, Fault, Net, Plan};
use super::verified::{RANKS, patience, traffic_over};
use crate::chance::Chance;
use crate::scale::scaled;
use crate::support::job_at;

/// Whatever a busy machine adds.
const PATIENCE: Duration = Duration::from_secs(20);

fn checked(config: &mut Config) {
    config.checksum = true;
}

/// A bit of each connection flips, in its handshake or after it, and some connections pass in small pieces.
fn by_chance(seed: u64, contact: Contact) -> Plan {
    let Contact { dialer, acceptor, number } = contact;
    let mut chance = Chance(seed ^ u64::from(dialer) << 48 ^ u64::from(acceptor) << 40 ^ u64::from(number));
    let most = [500, 5_000, 50_000, 200_000][chance.below(4_usize)];
    let plan = Plan::strike(Fault::Flip, chance.once_in(2), chance.below(most));
    Plan { piece: chance.pick(&[64 << 10, 64 << 10, 1460]), ..plan }
}

#[test]
fn traffic_goes_right_while_bits_flip() {
    let seed = std::env::var("LATHIDE_SEED").map_or(1, |text| text.parse().expect("a number"));
    let (mut flips, mut wrong) = (0, 0);
    for (number, overlap) in (0..).zip([Overlap::On, Overlap::Off]) {
        let seed = seed * 1000 + number;
        let net = Net::start(RANKS, move |contact| by_chance(seed, contact));
        let configure = move |config: &mut Config| (config.checksum, config.overlap) = (true, overlap);
        let least = scaled(500).max(60);
        let seen = traffic_over(&net, configure, (seed, 100_000), (least, 10 << 20), patience(least, 10 << 20));
        (flips, wrong) = (flips + net.tally.flips.load(Ordering::SeqCst), wrong + seen.wrong_checksums);
    }
    println!("{flips} flips, of which {wrong} by checksums; LATHIDE_SEED={seed} repeats them");
    // The others were in handshakes, on connections that ended for another, or after the report.
    assert!(flips >= 120 && wrong <= flips && wrong >= flips / 4, "{wrong} of {flips}");
}

/// What ranks get of a message each way, a bit of which is flipped after so many bytes of the dialer, rank 0.
fn exchange_with_a_flip(configure: fn(&mut Config), after: u64) -> Vec<Result<bool>> {
    let connections = AtomicU32::new(0);
    let net = Net::start(2, move |_| match connections.fetch_add(1, Ordering::SeqCst) {
        0 => Plan::strike(Fault::Flip, true, after),
        _ => Plan::open(),
    });
    let ends = job_at(net.root.clone(), Duration::from_secs(60), 2, configure, |node| {
        let peer = 1 - node.rank().0;
        let read = node.initread(peer, 1, vec![0u8; 50_000])?;
        node.initwrite(peer, 1, vec![1u8; 50_000])?.wait()?;
        let is_right = read.wait()? == vec![1; 50_000];
        node.finalize().map(|()| is_right)
    });
    assert_eq!(net.tally.flips.load(Ordering::SeqCst), 1);
    ends
}

/// So the flips are real, and who looks for them sees them.
#[test]
fn without_checksums_a_flipped_bit_does_harm() {
    for after in [5_000, 20_001, 40_002] {
        let ends = exchange_with_a_flip(|_| {}, after);
        assert!(matches!(ends[1], Ok(false) | Err(_)), "{after}: {ends:?}");
        let ends = exchange_with_a_flip(checked, after);
        assert!(matches!(ends[..], [Ok(true), Ok(true)]), "{after}: {ends:?}");
    }
}

/// Each new connection opens, and then all that is sent on it comes with a flipped bit.
#[test]
fn a_link_on_which_nothing_comes_right_is_a_loss_that_is_explained() {
    const RESUME: Duration = Duration::from_secs(3);
    let is_bad = Arc::new(AtomicBool::new(false));
    let flag = is_bad.clone();
    let script = move |_| match flag.load(Ordering::SeqCst) {
        true => Plan::strike(Fault::Flip, true, DIALER_BYTES + 12),
        false => Plan::open(),
    };
    let net = Arc::new(Net::start(2, script));
    let configure = |config: &mut Config| (config.checksum, config.resume) = (true, Some(RESUME));
    let tally = net.tally.clone();
    let ends = job_at(net.root.clone(), Duration::from_secs(120), 2, configure, move |node| {
        let peer = 1 - node.rank().0;
        let read = node.initread(peer, 1, vec![0u8; 9]).unwrap();
        if node.rank() == 0 {
            is_bad.store(true, Ordering::SeqCst);
            net.cut_all();
            while net.tally.cuts() == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            // It has left as soon as a socket has it; nothing passes any more on the first.
            drop(node.initwrite(1, 1, vec![1u8; 9]).unwrap());
        }
        let began = Instant::now();
        let error = read.wait().unwrap_err();
        let wrong: u64 = node.report().links.iter().map(|link| link.wrong_checksums).sum();
        node.finalize().unwrap_err();
        (error, began.elapsed(), wrong)
    });
    println!("{tally:?}");
    for (rank, (error, after, wrong)) in (0..).zip(&ends) {
        println!("rank {rank}, after {after:.1?}, {wrong} wrong checksums: {error}");
        assert!(matches!(error, Error::PeerLost { peer, .. } if peer.0 == 1 - rank), "{error}");
        assert!((RESUME / 2..RESUME + PATIENCE).contains(after), "{after:?}: {error}");
    }
    assert!(ends[0].0.to_string().contains("nothing has got through on its last"), "{}", ends[0].0);
    assert!(ends[1].2 > 3, "{ends:?}");
    assert!(
        tally.flips.load(Ordering::SeqCst) < 100,
        "there is a pause between connections that are in vain: {tally:?}"
    );
}
