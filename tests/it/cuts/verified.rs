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

fn chance_of(seed: u64, Contact { dialer, acceptor, number }: Contact) -> Chance {
    Chance(seed ^ u64::from(dialer) << 48 ^ u64::from(acceptor) << 40 ^ u64::from(number))
}

/// What becomes of a connection, by chance: most are cut, at any byte of the handshake or after it.
fn by_chance(seed: u64, contact: Contact, longest: u64) -> Plan {
    let mut chance = chance_of(seed, contact);
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

/// A connection that passes some bytes, then loses what comes one way for 0.1 to 5 s, and is reset.
fn black_hole(seed: u64, contact: Contact) -> Plan {
    let mut chance = chance_of(seed, contact);
    let lasts = Duration::from_millis(100 + chance.below(4_901_u64));
    Plan::strike(Fault::Hole(lasts), chance.once_in(2), 1_000 + chance.below(300_000_u64))
}

impl Kind {
    fn set(self, config: &mut Config) {
        (config.encrypt, config.overlap) = (self.encrypted, self.overlap);
    }
}

/// How long so many faults and bytes may take: some MB/s, also where other tests want the machine.
pub(super) fn patience(faults: u64, bytes: u64) -> Duration {
    Duration::from_secs(120 + faults + bytes / 4_000_000)
}

/// Runs traffic until so many connections were cut, at any moment, and so many bytes were verified.
fn cut_traffic(kind: Kind, seed: u64, least: (u64, u64), bytes_max: usize) -> (u64, Seen) {
    let longest = 4 * bytes_max as u64;
    let net = Net::start(RANKS, move |contact| by_chance(seed, contact, longest));
    let limit = patience(least.0, least.1);
    println!("{kind:?}:");
    let seen = traffic_over(&net, move |config| kind.set(config), (seed, bytes_max), least, limit);
    (net.tally.cuts(), seen)
}

/// Runs traffic of a seed over `net`, in messages of at most so many bytes, within `limit`, until so many faults were made and so
/// many bytes were verified.
pub(super) fn traffic_over(
    net: &Net,
    configure: impl Fn(&mut Config),
    (seed, bytes_max): (u64, usize),
    (faults, bytes): (u64, u64),
    limit: Duration,
) -> Seen {
    let began = Instant::now();
    let configure = move |config: &mut Config| {
        configure(config);
        // Messages of more than this are held back until they are read.
        config.window_bytes = 256 << 10;
        config.join_timeout = Duration::from_secs(60);
    };
    let (tally, verified) = (net.tally.clone(), Arc::new(AtomicU64::new(0)));
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
        "seed {seed}: {:?}; {rounds} rounds, {messages} messages, {bytes} bytes in {:.1?}, {wrong_checksums} \
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

/// Black holes of all links at a time, a job for each kind beside the others. Returns how many, and how many bytes went right.
fn black_holes(seed: u64, for_each_kind: u64) -> (u64, u64) {
    let job = |(number, kind): (u64, Kind)| {
        let seed = seed * 1000 + number;
        let net = Net::start(RANKS, move |contact| black_hole(seed, contact));
        // One after the other they would take five seconds each at most, and the messages between them.
        let limit = Duration::from_secs(120 + 10 * for_each_kind);
        let seen = traffic_over(&net, move |config| kind.set(config), (seed, 100_000), (for_each_kind, 0), limit);
        (net.tally.cuts(), seen.bytes)
    };
    std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..).zip(KINDS).map(|one| scope.spawn(move || job(one))).collect();
        let ended = jobs.into_iter().map(|ended| ended.join().expect("a job that goes right"));
        ended.fold((0, 0), |all, (holes, bytes)| (all.0 + holes, all.1 + bytes))
    })
}

#[test]
fn a_black_hole_is_a_delay() {
    let (holes, bytes) = black_holes(7, 2);
    println!("{holes} black holes, {bytes} bytes verified");
    assert!(holes >= 8, "{holes}");
}

/// All of the promise: 500 black holes of 0.1 to 5 s.
#[test]
#[ignore = "500 black holes of up to 5 s; for the night"]
fn black_holes_are_delays_very_often() {
    let seed =
        std::env::var("LATHIDE_SEED").map_or_else(|_| getrandom::u64().unwrap() >> 40, |text| text.parse().unwrap());
    println!("LATHIDE_SEED={seed} repeats it");
    let share = scale().min(10.0) / 10.0 / KINDS.len() as f64;
    let (holes, bytes) = black_holes(seed, (500.0 * share).ceil() as u64);
    println!("{holes} black holes, {bytes} bytes verified; LATHIDE_SEED={seed} repeats it");
}
