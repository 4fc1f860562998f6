//! Long messages over several connections between two hosts, on a path on which a link has them: every byte of every message
//! is checked, and that there were such connections.

use std::collections::HashSet;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::is_possible;
use super::jobs::in_lab_within;
use super::program::{ok, own_command};

/// A path on which one connection recovers slowly.
const OPTIONS: [&str; 8] = ["--hosts", "2", "--delay", "5ms", "--rate", "200mbit", "--loss", "0.5%"];
const WATCHDOG: Duration = Duration::from_secs(150);
/// The roles end themselves before, also where the lab is killed.
const PATIENCE: Duration = Duration::from_secs(120);
const LONG_BYTES: usize = 4 << 20;

/// The bytes of a message of `rank`.
fn known(rank: u32, round: u32, bytes: usize) -> Vec<u8> {
    let first = rank.wrapping_mul(101).wrapping_add(round.wrapping_mul(17));
    (0..bytes as u32)
        .map(|at| (first.wrapping_add(at).wrapping_add(at >> 8).wrapping_mul(0x9e37_79b1) >> 24) as u8)
        .collect()
}

/// The rank's connections to the other host that are established, as `ss` names their ends.
fn connections() -> HashSet<(String, String)> {
    let own = std::fs::read_dir("/proc/self/fd").expect("this process").flatten();
    let own: HashSet<String> =
        own.filter_map(|entry| std::fs::read_link(entry.path()).ok()).map(|to| to.display().to_string()).collect();
    // A link has addresses of either kind.
    let tables =
        ["tcp", "tcp6"].map(|name| std::fs::read_to_string(format!("/proc/self/net/{name}")).unwrap_or_default());
    let mut found = HashSet::new();
    for line in tables.iter().flat_map(|table| table.lines().skip(1)) {
        let words: Vec<&str> = line.split_whitespace().collect();
        // Local, remote, state, and the inode.
        if words.len() > 9 && words[3] == "01" && own.contains(&format!("socket:[{}]", words[9])) {
            found.insert((end(words[1]), end(words[2])));
        }
    }
    found
}

/// `0100007F:1F90` as 127.0.0.1:8080: words of 32 bits in this machine's order.
fn end(hex: &str) -> String {
    let (address, port) = hex.split_once(':').expect("two numbers");
    let port = u16::from_str_radix(port, 16).expect("a port");
    let word = |at: usize| u32::from_str_radix(&address[at..at + 8], 16).expect("a word of an address").to_ne_bytes();
    let bytes: Vec<u8> = (0..address.len()).step_by(8).flat_map(word).collect();
    match <[u8; 16]>::try_from(bytes.as_slice()) {
        Ok(bytes) => format!("[{}]:{port}", std::net::Ipv6Addr::from(bytes)),
        Err(_) => format!("{}.{}.{}.{}:{port}", bytes[0], bytes[1], bytes[2], bytes[3]),
    }
}

/// How a rank's connections are while it runs.
fn watch(begun: &HashSet<(String, String)>, is_over: &AtomicBool, kills: usize) -> (usize, usize) {
    let (mut most, mut killed) = (0, 0);
    while !is_over.load(Ordering::Relaxed) {
        let lanes: Vec<_> = connections().difference(begun).cloned().collect();
        most = most.max(lanes.len());
        if killed < kills && !lanes.is_empty() {
            let (from, to) = &lanes[killed % lanes.len()];
            let done = Command::new("ss").args(["-K", "-t", "-n", "-H", "src", from, "dst", to]).output();
            killed += usize::from(done.is_ok_and(|done| !done.stdout.is_empty()));
            std::thread::sleep(Duration::from_millis(400));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    (most, killed)
}

fn number(variable: &str) -> usize {
    std::env::var(variable).map_or(0, |value| value.parse().expect("a number"))
}

/// How many rounds have begun.
static ROUNDS: AtomicU32 = AtomicU32::new(0);

/// Ends this process if it hangs.
fn ends_in_time() {
    std::thread::spawn(|| {
        std::thread::sleep(PATIENCE);
        println!("it hangs, or is slow: {} rounds have begun", ROUNDS.load(Ordering::Relaxed));
        std::process::exit(7);
    });
}

/// Whether there is another round: LATHIDE_LAB_TEST_ROUNDS of them, until LATHIDE_LAB_TEST_SECONDS are over, if that is set.
/// Rank 0 says so: on a slow machine a round takes long, and what happens meanwhile takes its time, whatever the machine.
fn goes_on(node: &lathide::Node, began: Instant, round: u32) -> bool {
    let (rounds, seconds) = (number("LATHIDE_LAB_TEST_ROUNDS") as u32, number("LATHIDE_LAB_TEST_SECONDS") as u64);
    let goes_on = round < rounds && (seconds == 0 || began.elapsed() < Duration::from_secs(seconds));
    ok(node.broadcast(0, vec![u8::from(goes_on)])) == [1]
}

/// Long messages both ways with short ones beside them; LATHIDE_LAB_TEST_KILLS lanes are killed meanwhile, and rank 1 dies in
/// round LATHIDE_LAB_TEST_DIES, if that is not 0.
pub(super) fn exchange() {
    ends_in_time();
    let node = ok(lathide::init());
    let (own, other) = (node.rank().0, 1 - node.rank().0);
    ok(node.barrier());
    let (begun, is_over, began) = (connections(), AtomicBool::new(false), Instant::now());
    let dies = number("LATHIDE_LAB_TEST_DIES") as u32;
    let kills = if own == 0 { number("LATHIDE_LAB_TEST_KILLS") } else { 0 };
    let (most, killed) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(&begun, &is_over, kills));
        for round in (0..).take_while(|&round| goes_on(&node, began, round)) {
            ROUNDS.store(round + 1, Ordering::Relaxed);
            let write = ok(node.initwrite(other, 1, known(own, round, LONG_BYTES)));
            let second = ok(node.initwrite(other, 2, known(own, round + 1000, LONG_BYTES / 2 + 7)));
            let read = ok(node.initread(other, 1, vec![0u8; LONG_BYTES]));
            let read_second = ok(node.initread(other, 2, vec![0u8; LONG_BYTES / 2 + 7]));
            // Who dies does so while long messages are under way.
            let pings = if dies == round + 1 { 1 } else { 20u64 };
            for ping in 0..pings {
                let sent = ok(node.initwrite(other, 3, vec![ping << 32 | u64::from(round)]));
                let got = ok(ok(node.initread(other, 3, vec![0u64])).wait());
                assert_eq!(got, [ping << 32 | u64::from(round)]);
                ok(sent.wait());
            }
            if dies == round + 1 {
                if own == 1 {
                    std::process::abort();
                }
                let error = read.wait().err().or_else(|| write.wait().err()).or_else(|| read_second.wait().err());
                println!("lost: {}", error.map_or("nothing".to_owned(), |error| error.to_string()));
                std::process::exit(3);
            }
            assert!(
                ok(read_second.wait()) == known(other, round + 1000, LONG_BYTES / 2 + 7),
                "round {round}: other bytes"
            );
            assert!(ok(read.wait()) == known(other, round, LONG_BYTES), "round {round}: other bytes");
            ok(write.wait());
            ok(second.wait());
        }
        is_over.store(true, Ordering::Relaxed);
        watcher.join().expect("it has watched")
    });
    println!("exchanged: rank {own}, lanes {most}, killed {killed}, rounds {}", ROUNDS.load(Ordering::Relaxed));
    ok(node.finalize());
}

/// Rank 0 leaves as soon as its long message is written.
pub(super) fn leave() {
    ends_in_time();
    let node = ok(lathide::init());
    const BYTES: usize = 24 << 20;
    if node.rank() == 0 {
        let (begun, is_over) = (connections(), AtomicBool::new(false));
        let (most, _) = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| watch(&begun, &is_over, 0));
            ok(ok(node.initwrite(1, 1, known(0, 0, BYTES))).wait());
            is_over.store(true, Ordering::Relaxed);
            watcher.join().expect("it has watched")
        });
        println!("exchanged: rank 0, lanes {most}, killed 0");
    } else {
        let got = ok(ok(node.initread(0, 1, vec![0u8; BYTES])).wait());
        assert!(got == known(0, 0, BYTES), "other bytes");
        println!("arrived whole");
    }
    ok(node.finalize());
}

/// Runs a role on two hosts, with something done meanwhile. Returns what was printed, and the job's status.
fn job(role: &str, environment: &str, meanwhile: &str) -> (String, i32) {
    let own = own_command();
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let script = format!(
        "{} l=$1; shift; export LATHIDE_LAB_TEST_ROLE={role} {environment}; \
         $l run --hosts host0,host1 \"$@\" & job=$!; {meanwhile} wait $job; echo \"status $?\"",
        super::jobs::RUNNING
    );
    let (_, text, took) = in_lab_within(WATCHDOG, &OPTIONS, &script, &own);
    let status = text.lines().find_map(|line| line.strip_prefix("status ")).unwrap_or_else(|| panic!("no end: {text}"));
    println!("{role}, {environment}: {took:.1?}\n{text}");
    let status = status.parse().expect("a status");
    (text, status)
}

/// The numbers behind this word in what ranks have said.
fn numbers(text: &str, word: &str) -> Vec<usize> {
    let lines = text.lines().filter(|line| line.contains("exchanged: "));
    let behind = lines.filter_map(|line| line.split_once(word)).map(|(_, rest)| rest);
    behind.map(|rest| rest.split([',', ' ']).next().unwrap_or_default().parse().expect("a number")).collect()
}

#[track_caller]
fn is_well(text: &str, status: i32, ranks: usize) {
    assert_eq!(status, 0, "{text}");
    let lanes = numbers(text, "lanes ");
    assert_eq!(lanes.len(), ranks, "{text}");
    assert!(lanes.iter().any(|&lanes| lanes > 0), "no lane was opened: {text}");
}

#[test]
fn long_messages_are_correct_to_the_byte_where_links_have_lanes() {
    if !is_possible() {
        return;
    }
    let cases = ["", "LATHIDE_CHECKSUM=on", "LATHIDE_ENCRYPT=on", "LATHIDE_OVERLAP=off"]
        .map(|case| format!("LATHIDE_LAB_TEST_ROUNDS=8 LATHIDE_LAB_TEST_SECONDS=20 {case}"));
    for case in cases {
        let (text, status) = job("lanes", &case, "");
        is_well(&text, status, 2);
    }
    let (text, status) = job("lanes", "LATHIDE_LAB_TEST_ROUNDS=2 LATHIDE_LANES=0", "");
    assert_eq!((status, numbers(&text, "lanes ")), (0, vec![0, 0]), "{text}");
}

#[test]
fn lanes_that_are_cut_and_killed_are_only_delays() {
    if !is_possible() {
        return;
    }
    let cuts = "running host1; for n in 1 2 3; do sleep 1; $l lab cut host1; sleep 1; $l lab mend host1; \
                kill -0 $job 2>/dev/null && echo \"during $n\"; done;";
    // The last cut is mended after six seconds.
    let rounds = "LATHIDE_LAB_TEST_ROUNDS=20 LATHIDE_LAB_TEST_SECONDS=9";
    for case in ["LATHIDE_CHECKSUM=off", "LATHIDE_ENCRYPT=on"] {
        let (text, status) = job("lanes", &format!("{rounds} LATHIDE_LAB_TEST_KILLS=6 {case}"), cuts);
        is_well(&text, status, 2);
        assert!(text.contains("during 1"), "the job was over before the first cut: {text}");
    }
}

#[test]
fn a_rank_that_dies_over_lanes_is_named() {
    if !is_possible() {
        return;
    }
    let (text, status) = job("lanes", "LATHIDE_LAB_TEST_ROUNDS=20 LATHIDE_LAB_TEST_DIES=4", "");
    assert_ne!(status, 0, "{text}");
    assert!(!text.contains("it hangs") && !text.contains("lost: nothing"), "{text}");
    assert!(text.contains("rank 1"), "{text}");
}

#[test]
fn a_message_over_lanes_is_whole_though_its_writer_leaves_at_once() {
    if !is_possible() {
        return;
    }
    for case in ["LATHIDE_OVERLAP=on", "LATHIDE_OVERLAP=off", "LATHIDE_ENCRYPT=on"] {
        let (text, status) = job("leaves", case, "");
        is_well(&text, status, 1);
        assert!(text.contains("arrived whole"), "{text}");
    }
}
