//! Connections that the system ends: `ss -K`, on every link of a job that runs.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::failure::check_survivors;
use crate::spmd::{Job, Start, now_ms};
use crate::support::free_root;

/// Ends one connection, at this end. Returns whether `ss` is there and found it.
fn kill(local: &str, peer: &str) -> bool {
    let killed = Command::new("ss").args(["-K", "-tnH", "src", local, "dst", peer]).output();
    killed.is_ok_and(|output| output.status.success() && !output.stdout.is_empty())
}

/// Whether this tool, user and kernel can end connections. Says so if not.
fn is_possible() -> bool {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let mut near = TcpStream::connect(listener.local_addr().expect("an address")).expect("it listens");
    let _far = listener.accept().expect("a connection");
    near.set_read_timeout(Some(Duration::from_secs(1))).expect("a duration");
    let address = |address: std::io::Result<std::net::SocketAddr>| address.expect("an address").to_string();
    let is_killed = kill(&address(near.local_addr()), &address(near.peer_addr()))
        && near.read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionAborted);
    if !is_killed {
        eprintln!("skipped: ss -K ends no connection here");
    }
    is_killed
}

/// The connections of these processes, but for those with `root`: own end, and peer's.
fn links(processes: &[u32], root: &str) -> Vec<(String, String)> {
    let output = Command::new("ss").args(["-tnpHO", "state", "established"]).output().expect("it was there");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_own = |line: &str| processes.iter().any(|process| line.contains(&format!("pid={process},")));
    let ends = |line: &str| {
        let mut ends = line.split_whitespace().filter(|word| word.starts_with("127.")).map(str::to_owned);
        Some((ends.next()?, ends.next()?))
    };
    text.lines()
        .filter(|line| is_own(line))
        .filter_map(ends)
        .filter(|(own, peer)| own != root && peer != root)
        .collect()
}

const RANKS: u32 = 4;

/// A job whose ranks send a ping round until the file is there.
fn job(root: &str, until: &std::path::Path, overlap: &str) -> Job {
    let program = format!("until {}", until.display());
    let mut job = Job::start_at(root, RANKS, &program, &[("LATHIDE_OVERLAP", overlap)]);
    job.until(RANKS as usize, "up");
    job
}

#[test]
fn every_link_of_a_job_may_be_killed_by_the_system() {
    if !is_possible() {
        return;
    }
    for overlap in ["on", "off"] {
        let root = free_root();
        let until = std::env::temp_dir().join(format!("lathide-killed-{}-{overlap}", std::process::id()));
        let job = job(&root, &until, overlap);
        let mut killed = 0;
        // One after the other, from both ends, each when the one before may have come back or not.
        for (own, peer) in links(&job.processes(), &root) {
            killed += u32::from(kill(&own, &peer));
            std::thread::sleep(Duration::from_millis(killed as u64 % 3 * 40));
        }
        // All at once.
        std::thread::sleep(Duration::from_secs(1));
        let all = links(&job.processes(), &root);
        let threads: Vec<_> =
            all.into_iter().map(|(own, peer)| std::thread::spawn(move || u32::from(kill(&own, &peer)))).collect();
        killed += threads.into_iter().map(|thread| thread.join().expect("no panic")).sum::<u32>();
        std::thread::sleep(Duration::from_millis(500));
        std::fs::write(&until, "").expect("a file");
        let ended = job.end();
        let _ = std::fs::remove_file(&until);
        let said = ended.errors.iter().map(|errors| errors.matches(" was cut for ").count()).sum::<usize>();
        println!("overlap {overlap}: {killed} ends of connections killed, {said} cuts were told");
        assert!(ended.statuses.iter().all(|status| status.success()), "{ended}");
        assert!(killed >= RANKS * (RANKS - 1) / 2 && said as u32 >= RANKS * (RANKS - 1) / 2, "{ended}");
    }
}

/// Cut and killed at once, with a launcher and without.
#[test]
fn a_rank_killed_with_its_links_cut_is_named() {
    if !is_possible() {
        return;
    }
    for start in [Start::Launched, Start::ByHand] {
        let root = free_root();
        let variables = [("LATHIDE_OVERLAP", "on")];
        let mut job = match start {
            Start::Launched => Job::start(start, RANKS, "storm orderly", &variables),
            Start::ByHand => Job::start_at(&root, RANKS, "storm orderly", &variables),
        };
        job.until(RANKS as usize, "up");
        let victim = 2;
        let process = job.process(victim).as_raw_nonzero().get() as u32;
        // Its own ends; the launcher's rendezvous cannot be told from links, so that may be cut, too.
        let own = links(&[process], &root);
        let threads: Vec<_> =
            own.into_iter().map(|(own, peer)| std::thread::spawn(move || kill(&own, &peer))).collect();
        threads.into_iter().for_each(|thread| _ = thread.join());
        let killed = now_ms();
        job.signal(victim, Signal::KILL);
        let late_ms = check_survivors(&job.end(), RANKS, victim, killed);
        println!("{start:?}: named after {late_ms:.0} ms");
        assert!(late_ms < 20_000.0, "{late_ms}");
    }
}
