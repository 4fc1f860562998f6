//! The handshake of a connection that is made anew, cut at every byte, by one end or both.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use lathide::{Config, Node};

use super::proxy::{Contact, Fault, Net, Plan};
use crate::scale::is_whole;
use crate::support::job_at;

/// What each side says in a handshake: HELLO, PROOF and OPEN; CHALLENGE and READY; and what opens a cipher.
pub(super) const DIALER_BYTES: u64 = 103 + 40 + 32;
const ACCEPTOR_BYTES: u64 = 92 + 41;
const OPENING_BYTES: u64 = 48;

/// Cuts the link, and then each new connection in the places of one of `cuts`, until those are used up.
fn cut_handshakes(encrypted: bool, cuts: Vec<Vec<(Fault, bool, u64)>>) {
    let (count, total) = (cuts.len(), cuts.iter().map(Vec::len).sum::<usize>());
    // Which of the cuts, and which of its places; none before the job has begun.
    let (at, place) = (Arc::new(AtomicU32::new(u32::MAX)), Arc::new(AtomicU32::new(0)));
    let (now, next) = (at.clone(), place.clone());
    let script = move |_: Contact| {
        let places = cuts.get(now.load(Ordering::SeqCst) as usize).map_or(&[][..], |places| &places[..]);
        match places.get(next.fetch_add(1, Ordering::SeqCst) as usize) {
            Some(&(fault, of_dialer, after)) => Plan::strike(fault, of_dialer, after),
            None => Plan::open(),
        }
    };
    let net = Arc::new(Net::start(2, script));
    let configure = move |config: &mut Config| {
        config.encrypt = encrypted;
        config.resume = Some(Duration::from_secs(60));
    };
    let (root, given) = (net.root.clone(), net.clone());
    let limit = Duration::from_secs(120 + 2 * total as u64);
    job_at(root, limit, 2, configure, move |node| {
        exchange(&node, 0);
        for cut in 1..=count as u32 {
            node.barrier().unwrap();
            if node.rank() == 0 {
                place.store(0, Ordering::SeqCst);
                at.store(cut - 1, Ordering::SeqCst);
                given.cut_all();
            }
            exchange(&node, cut);
        }
        node.finalize().unwrap();
    });
    let done = net.tally.cuts();
    println!("encrypted {encrypted}: {count} places, {total} planned, {done} cuts");
    // Attempts that a busy machine makes beside one another are given up, and with them what was planned for them.
    assert!(done as usize >= count + total * 3 / 4, "{done} cuts of {count} and {total}");
}

/// A message each way, of which the one is on its way when the link is cut.
fn exchange(node: &Node, number: u32) {
    let peer = 1 - node.rank().0;
    let bytes = 1 + 997 * number as usize % 70_000;
    let read = node.initread(peer, 1, vec![0u8; bytes]).unwrap();
    node.initwrite(peer, 1, vec![number as u8; bytes]).unwrap().wait().unwrap().fill(0xee);
    let got = read.wait().unwrap_or_else(|error| panic!("cut {number}: {error}"));
    assert!(got == vec![number as u8; bytes], "cut {number}");
}

/// Every place: one beyond the handshake is a cut of what follows it.
fn places(encrypted: bool) -> Vec<(bool, u64)> {
    let opening = if encrypted { OPENING_BYTES } else { 0 };
    let step = if is_whole() { 1 } else { 7 };
    let of = |of_dialer, bytes: u64| {
        // A first or last byte of a pass in any case.
        let passes = [0, 1, 92, 93, 102, 103, 104, 132, 133, 134, 142, 143, 144, 174, 175, 180, 181, bytes - 1, bytes];
        (0..=bytes).filter(move |at| at % step == 0 || passes.contains(at)).map(move |at| (of_dialer, at))
    };
    of(true, DIALER_BYTES + opening).chain(of(false, ACCEPTOR_BYTES + opening)).collect()
}

#[test]
fn a_redial_may_be_cut_at_every_byte_of_its_handshake() {
    for encrypted in [false, true] {
        // One cut each; some are followed by a second, elsewhere.
        let places = places(encrypted);
        let other = |at: usize| places[(at * 31 + 7) % places.len()];
        let cuts = (0..).zip(&places).map(|(number, &(of_dialer, after))| {
            let mut cuts = vec![(Fault::Reset, of_dialer, after)];
            if number % 4 == 0 {
                let (of_dialer, after) = other(number);
                cuts.push((Fault::Close, of_dialer, after));
            }
            cuts
        });
        cut_handshakes(encrypted, cuts.collect());
    }
}

/// One end takes the connection for open, or for opening, long after the other has given it up.
#[test]
fn one_end_may_hear_late_that_a_redial_was_cut() {
    for encrypted in [false, true] {
        let places = places(encrypted).into_iter().step_by(if is_whole() { 2 } else { 9 });
        let cuts = (0..).zip(places).map(|(number, (of_dialer, after))| {
            let fault = match number % 3 {
                0 => Fault::Late { is_dialer: false, by: Duration::from_millis(600) },
                1 => Fault::Late { is_dialer: true, by: Duration::from_millis(100) },
                _ => Fault::Hole(Duration::from_millis(100)),
            };
            vec![(fault, of_dialer, after)]
        });
        cut_handshakes(encrypted, cuts.collect());
    }
}

/// Whoever changes the bytes of a handshake gets no further than a reset would.
#[test]
fn a_flipped_bit_in_a_redials_handshake_does_no_harm() {
    for encrypted in [false, true] {
        let (at, is_armed) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let places: Vec<_> = places(encrypted).into_iter().step_by(if is_whole() { 1 } else { 5 }).collect();
        let count = places.len() as u32;
        let (now, armed) = (at.clone(), is_armed.clone());
        let net = Arc::new(Net::start(2, move |_| {
            let (of_dialer, after) = places[now.load(Ordering::SeqCst) as usize];
            // What follows the handshake is not its business.
            let handshake = if of_dialer { DIALER_BYTES } else { ACCEPTOR_BYTES };
            let opening = if encrypted { OPENING_BYTES } else { 0 };
            match armed.swap(0, Ordering::SeqCst) {
                1 if after < handshake + opening => Plan::strike(Fault::Flip, of_dialer, after),
                _ => Plan::open(),
            }
        }));
        let given = net.clone();
        let configure = move |config: &mut Config| config.encrypt = encrypted;
        job_at(net.root.clone(), Duration::from_secs(240), 2, configure, move |node| {
            for cut in 0..count {
                node.barrier().unwrap();
                if node.rank() == 0 {
                    at.store(cut, Ordering::SeqCst);
                    is_armed.store(1, Ordering::SeqCst);
                    given.cut_all();
                }
                exchange(&node, cut);
            }
            node.finalize().unwrap();
        });
        println!("encrypted {encrypted}: {count} places, {} flips", net.tally.flips.load(Ordering::SeqCst));
    }
}
