//! Links that do not come back: who is gone is named, with what is known, and nothing hangs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use lathide::{Config, Error, Overlap, Result};
use rustix::process::Signal;

use super::proxy::{Fault, Net, Plan};
use crate::failure::check_survivors;
use crate::spmd::{Job, now_ms};
use crate::support::job_at;

/// Whatever a busy machine adds.
const PATIENCE: Duration = Duration::from_secs(20);

/// A net whose links are cut, and cut again at once, from when the flag is set.
fn net_that_goes_down(size: u32) -> (Arc<Net>, Arc<AtomicBool>) {
    let is_down = Arc::new(AtomicBool::new(false));
    let flag = is_down.clone();
    let script = move |_| if flag.load(Ordering::SeqCst) { Plan::strike(Fault::Reset, true, 0) } else { Plan::open() };
    (Arc::new(Net::start(size, script)), is_down)
}

/// What ranks 0 and 1 get when their link goes down for good, and after how long.
fn cut_for_good(configure: impl Fn(&mut Config)) -> Vec<(Error, Duration)> {
    let (net, is_down) = net_that_goes_down(2);
    let root = net.root.clone();
    // On a loaded machine a long message may take other lanes; what an error says is how far the first one was.
    let configure = move |config: &mut Config| {
        config.lanes_max = 0;
        configure(config);
    };
    job_at(root, Duration::from_secs(60), 2, configure, move |node| {
        let peer = 1 - node.rank().0;
        // Much more than is acknowledged at a time.
        let read = node.initread(peer, 1, vec![0u8; 3_000_000]).unwrap();
        node.initwrite(peer, 1, vec![1u8; 3_000_000]).unwrap().wait().unwrap();
        read.wait().unwrap();
        let read = node.initread(peer, 2, vec![0u8; 9]).unwrap();
        if node.rank() == 1 {
            node.initwrite(peer, 3, vec![1u8]).unwrap().wait().unwrap();
        } else {
            // Whoever is in no call has no error before it makes one.
            node.initread(peer, 3, vec![0u8]).unwrap().wait().unwrap();
            is_down.store(true, Ordering::SeqCst);
            net.cut_all();
        }
        let began = Instant::now();
        let error = read.wait().unwrap_err();
        let after = began.elapsed();
        // Every call says so now, and the end does not take long.
        for again in [node.barrier().unwrap_err(), node.initread(peer, 3, vec![0u8]).map(drop).unwrap_err()] {
            assert!(matches!(again, Error::PeerLost { .. }), "{again}");
        }
        node.finalize().unwrap_err();
        assert!(began.elapsed() < after + PATIENCE, "the end took {:?}", began.elapsed());
        (error, after)
    })
}

#[test]
fn a_link_that_is_down_for_too_long_is_a_loss_that_both_ends_explain() {
    const RESUME: Duration = Duration::from_secs(2);
    for overlap in [Overlap::On, Overlap::Off] {
        let ends = cut_for_good(move |config| (config.resume, config.overlap) = (Some(RESUME), overlap));
        for (rank, (error, after)) in (0..).zip(ends) {
            println!("{overlap:?}, rank {rank}, after {after:.1?}: {error}");
            let Error::PeerLost { peer, .. } = &error else { panic!("{error}") };
            assert_eq!(peer.0, 1 - rank, "{error}");
            let text = error.to_string();
            // Who, why, where, how far.
            let numbers = text.rsplit_once("it had received ").and_then(|(_, rest)| rest.split_once(" bytes"));
            let position: u64 = numbers.and_then(|(number, _)| number.parse().ok()).unwrap_or_else(|| panic!("{text}"));
            for words in ["127.0.0.1:", "LATHIDE_RESUME", "initread", &format!("rank {} is lost", 1 - rank)] {
                assert!(text.contains(words), "{words:?} is not in {text}");
            }
            assert!(text.contains("connection"), "why it broke is not in {text}");
            assert!(position >= 2_000_000, "{text}");
            assert!((RESUME / 2..RESUME + PATIENCE).contains(&after), "{after:?}: {text}");
        }
    }
}

#[test]
fn without_resumption_a_cut_is_a_loss_at_once() {
    for overlap in [Overlap::On, Overlap::Off] {
        let ends = cut_for_good(move |config| (config.resume, config.overlap) = (None, overlap));
        for (rank, (error, after)) in (0..).zip(ends) {
            println!("{overlap:?}, rank {rank}, after {after:.1?}: {error}");
            let Error::PeerLost { peer, .. } = &error else { panic!("{error}") };
            assert_eq!(peer.0, 1 - rank, "{error}");
            assert!(after < PATIENCE, "{after:?}");
        }
    }
}

/// Killed while its links are down, or are made anew, by hand: nobody watches the processes.
#[test]
fn a_rank_that_is_killed_while_its_links_are_down_is_named() {
    for (pause_ms, comes_back, overlap) in
        [(0, false, "on"), (300, false, "on"), (300, true, "on"), (0, true, "off"), (300, false, "off")]
    {
        let (net, is_down) = net_that_goes_down(4);
        let mut job = Job::start_at(&net.root, 4, "storm orderly", &[("LATHIDE_OVERLAP", overlap)]);
        job.until(4, "up");
        std::thread::sleep(Duration::from_millis(200));
        is_down.store(true, Ordering::SeqCst);
        net.cut_all();
        std::thread::sleep(Duration::from_millis(pause_ms));
        let (victim, killed) = (pause_ms as u32 / 100 % 4, now_ms());
        job.signal(victim, Signal::KILL);
        is_down.store(!comes_back, Ordering::SeqCst);
        let ended = job.end();
        let late_ms = check_survivors(&ended, 4, victim, killed);
        println!("killed {pause_ms} ms after the cut, comes back {comes_back}, {overlap}: named after {late_ms:.0} ms");
        assert!(late_ms < PATIENCE.as_secs_f64() * 1e3, "{ended}");
    }
}

/// Not a cut: what was sealed has arrived as something else.
#[test]
fn a_bit_that_flips_on_an_encrypted_link_is_no_cut() {
    for after in [300, 5_000, 200_000] {
        let flips = Arc::new(AtomicU32::new(0));
        let net = Net::start(2, move |_| match flips.fetch_add(1, Ordering::SeqCst) {
            0 => Plan::strike(Fault::Flip, true, after),
            _ => Plan::open(),
        });
        let configure = |config: &mut Config| config.encrypt = true;
        let ends = job_at(net.root.clone(), Duration::from_secs(60), 2, configure, |node| -> Result<()> {
            for _ in 0..100 {
                let read = node.initread(1 - node.rank().0, 1, vec![0u8; 50_000])?;
                node.initwrite(1 - node.rank().0, 1, vec![1u8; 50_000])?.wait()?;
                assert!(read.wait()? == vec![1; 50_000], "a flipped bit was delivered");
            }
            node.finalize()
        });
        assert!(matches!(ends[1], Err(Error::Tampered { peer, .. }) if peer.0 == 0), "{after}: {ends:?}");
        assert!(matches!(ends[0], Err(Error::PeerLost { peer, .. }) if peer.0 == 1), "{after}: {ends:?}");
    }
}
