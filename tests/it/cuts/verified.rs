//! Verified traffic of all kinds while connections are cut in every way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lathide::{Config, Overlap};

use super::proxy::{Contact, Fault, Net, Plan, Strike};
use super::traffic::{Seen, Traffic};
use crate::chance::Chance;
use crate::scale::scale;
use crate::support::job_at;

/// More than most machines that run tests have cores.
pub(super) const RANKS: u32 = 5;

/// How links are used.
#[derive(Clone, Copy, Debug)]
struct Kind {
    encrypted: bool,
    overlap: Overlap,
}

const KINDS: [Kind; 4] = [
    Kind { encrypted: false, overlap: Overlap::On },
    Kind { encrypted: true, overlap: Overlap::On },
    Kind { encrypted: false, overlap: Overlap::Off },
    Kind { encrypted: true, overlap: Overlap::Off },
];

/// What becomes of a connection, by chance: most are cut, at any byte of the handshake or after it.
fn by_chance(seed: u64, contact: Contact, longest: u64) -> Plan {
    let Contact { dialer, acceptor, number } = contact;
    let mut chance = Chance(seed ^ u64::from(dialer) << 48 ^ u64::from(acceptor) << 40 ^ u64::from(number));
    let mut short = |most_ms: u64| Duration::from_millis(chance.below(most_ms + 1));
    let (pause, late) = (short(30), short(120));
    let faults = [
        Fault::Reset,
        Fault::Reset,
        Fault::Close,
        Fault::HalfClose(late),
        Fault::Hole(pause),
        Fault::Stall(pause),
        Fault::Late { is_dialer: false, by: late },
        // One that does not hear of it cannot dial again.
        Fault::Late { is_dialer: true, by: late },
    ];
    let most = [500, 5_000, 100_000, longest, longest][chance.below(5_usize)];
    let strike = Strike { fault: chance.pick(&faults), of_dialer: chance.once_in(2), after: chance.below(most) };
    let piece = [64 << 10, 64 << 10, 1460, 7][chance.below(4_usize)];
    // Tiny pieces of long connections would take all day.
    let piece = if piece == 7 && strike.after > 50_000 { 1460 } else { piece };
    let delay =
        if chance.once_in(8) && piece > 7 { Duration::from_micros(chance.below(300_u64)) } else { Duration::ZERO };
    Plan { strike: Some(strike), piece, delay }
}

/// Runs traffic until so many connections were cut and so many bytes were verified.
fn cut_traffic(kind: Kind, seed: u64, (cuts, bytes): (u64, u64), bytes_max: usize) -> (u64, Seen) {
    let longest = 4 * bytes_max as u64;
    let net = Net::start(RANKS, move |contact| by_chance(seed, contact, longest));
    let configure = move |config: &mut Config| (config.encrypt, config.overlap) = (kind.encrypted, kind.overlap);
    let all = traffic_over(&net, configure, (seed, bytes_max), (cuts, bytes), &format!("{kind:?}"));
    (net.tally.cuts(), all)
}

/// Runs traffic of a seed, in messages of at most so many bytes, until so many faults were made and so many bytes were verified.
pub(super) fn traffic_over(
    net: &Net,
    configure: impl Fn(&mut Config),
    (seed, bytes_max): (u64, usize),
    (faults, bytes): (u64, u64),
    what: &str,
) -> Seen {
    let began = Instant::now();
    let configure = move |config: &mut Config| {
        configure(config);
        // Messages of more than this are held back until they are read.
        config.window_bytes = 256 << 10;
        config.join_timeout = Duration::from_secs(60);
    };
    let (tally, verified) = (net.tally.clone(), Arc::new(AtomicU64::new(0)));
    // Some MB/s, also where other tests want the machine.
    let limit = Duration::from_secs(120 + faults + bytes / 4_000_000);
    let seen = job_at(net.root.clone(), limit, RANKS, configure, move |node| {
        let traffic = Traffic::new(seed, bytes_max, verified.clone());
        let seen = traffic.run(&node, || tally.faults() < faults || verified.load(Ordering::Relaxed) < bytes);
        let mut seen = seen.unwrap_or_else(|error| panic!("seed {seed}, rank {}: {error}", node.rank()));
        seen.wrong_checksums = node.report().links.iter().map(|link| link.wrong_checksums).sum();
        node.finalize().unwrap_or_else(|error| panic!("seed {seed}, finalize: {error}"));
        seen
    });
    let mut all = Seen { rounds: seen[0].rounds, ..Seen::default() };
    for seen in seen {
        all.messages += seen.messages;
        all.bytes += seen.bytes;
        all.wrong_checksums += seen.wrong_checksums;
    }
    let Seen { rounds, messages, bytes, wrong_checksums, .. } = all;
    println!(
        "{what}, seed {seed}: {:?}; {rounds} rounds, {messages} messages, {bytes} bytes in {:.1?}, {wrong_checksums} \
         wrong checksums",
        net.tally,
        began.elapsed()
    );
    all
}

#[test]
fn traffic_goes_right_while_connections_are_cut() {
    let seed = std::env::var("LATHIDE_SEED").map_or(1, |text| text.parse().expect("a number"));
    let mut cuts = 0;
    for (number, kind) in (0..).zip(KINDS) {
        cuts += cut_traffic(kind, seed * 1000 + number, (30, 10 << 20), 300_000).0;
    }
    println!("{cuts} cuts; LATHIDE_SEED={seed} repeats them");
    assert!(cuts >= 100, "{cuts}");
}

/// All of the promise: 2 000 cuts over 20 GB, half of them in long messages.
#[test]
#[ignore = "2 000 cuts over 20 GB; for the night"]
fn much_traffic_goes_right_while_connections_are_cut_very_often() {
    let seed =
        std::env::var("LATHIDE_SEED").map_or_else(|_| getrandom::u64().unwrap() >> 40, |text| text.parse().unwrap());
    println!("LATHIDE_SEED={seed} repeats it");
    let share = scale().min(10.0) / 10.0 / KINDS.len() as f64;
    let (cuts, bytes) = ((2_000.0 * share).ceil() as u64, (20e9 * share) as u64);
    let (mut cuts_all, mut bytes_all) = (0, 0);
    for (number, kind) in (0..).zip(KINDS) {
        let (cuts, seen) = cut_traffic(kind, seed * 1000 + number, (cuts, bytes), 3_000_000);
        (cuts_all, bytes_all) = (cuts_all + cuts, bytes_all + seen.bytes);
    }
    println!("{cuts_all} cuts, {bytes_all} bytes verified; LATHIDE_SEED={seed} repeats it");
}
