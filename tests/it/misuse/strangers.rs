//! Strangers on the listeners of a job, while it starts and while it runs: no effect at all.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::spmd::{Job, STARTS, Start};

/// The ports at which processes listen.
fn listening(processes: &[u32]) -> Vec<u16> {
    let descriptors = processes.iter().filter_map(|process| std::fs::read_dir(format!("/proc/{process}/fd")).ok());
    let targets = descriptors.flatten().flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let sockets: HashSet<String> = targets
        .filter_map(|target| Some(target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let port = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (state, inode) = (*fields.get(3)?, *fields.get(9)?);
        let port = u16::from_str_radix(fields[1].rsplit_once(':')?.1, 16).ok()?;
        (state == "0A" && sockets.contains(inode)).then_some(port)
    };
    table.lines().skip(1).filter_map(port).collect()
}

/// One visit of a stranger, one way after the other. Keeps some connections open in silence.
fn visit(port: u16, turn: usize, kept: &mut Vec<TcpStream>) {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_secs(1)) else { return };
    let _ = stream.set_read_timeout(Some(Duration::from_millis(2)));
    let noise: Vec<u8> =
        (0..100_000).map(|at| ((at + turn) as u32).wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    let sent = match turn % 6 {
        0 => Ok(()),
        1 => stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        2 => stream.write_all(&noise),
        3 => stream.write_all(&noise[..turn % 300]).and_then(|()| stream.shutdown(Shutdown::Write)),
        4 => stream.write_all(b"l").map(drop),
        _ => {
            kept.push(stream);
            return;
        }
    };
    // The port may have closed meanwhile: that is the job's business.
    let _ = sent.and_then(|()| stream.read(&mut [0; 100]));
    if turn.is_multiple_of(4) {
        kept.push(stream);
    }
    kept.drain(..kept.len().saturating_sub(150));
}

/// A job that strangers visit while it starts and while it runs. Returns how many visits there were, and at how many ports.
fn visited(start: Start) -> (usize, usize) {
    let mut job = Job::start(start, 4, "late 0.7 1.0", &[]);
    let over = Arc::new(AtomicBool::new(false));
    job.until(4, "pid");
    let processes = job.processes();
    let visitor = thread::spawn({
        let over = over.clone();
        move || {
            let (mut visits, mut seen, mut kept) = (0, HashSet::new(), Vec::new());
            while !over.load(Ordering::SeqCst) {
                for port in listening(&processes) {
                    seen.insert(port);
                    visit(port, visits, &mut kept);
                    visits += 1;
                }
                thread::sleep(Duration::from_millis(1));
            }
            (visits, seen.len())
        }
    });
    job.until(4, "rounds");
    over.store(true, Ordering::SeqCst);
    let (visits, ports) = visitor.join().unwrap();
    let ended = job.end();
    assert!(ended.statuses.iter().all(|status| status.success()), "{ended}");
    println!("{start:?}: {visits} visits at {ports} ports");
    (visits, ports)
}

#[test]
fn strangers_on_every_port_disturb_neither_start_nor_run() {
    for &start in STARTS {
        // How many come while a job lasts is the machine's business.
        let comes = (0..10).map(|_| visited(start)).any(|(visits, ports)| visits >= 4 && ports >= 2);
        assert!(comes, "{start:?}: hardly any visits");
    }
}
