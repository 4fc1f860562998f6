//! What a job says of its links that were cut.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::process::Command;

use lathide::observe::Report;
use lathide::{Node, Result};
use rustix::net::{connect_unspec, getpeername, getsockname};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use serde_json::Value;

use super::Folder;
use crate::process::run;
use crate::spmd::programs::{join, say};
use crate::spmd::{ARGUMENTS, prepared, this};

const ADDRESSES: u32 = 1;
const LONG: u32 = 2;
const SHORT: u32 = 3;
/// More than the sockets between two ranks hold.
const LONG_BYTES: usize = 32 << 20;
/// Of a message that lists addresses.
const LIST_BYTES: usize = 8192;
const CUTS: u64 = 3;

/// The sockets of this process, with their addresses, and those of the other end if there is one.
fn all_sockets() -> Vec<(SocketAddr, Option<SocketAddr>, OwnedFd)> {
    let own = pidfd_open(getpid(), PidfdFlags::empty()).expect("this process is there");
    let files = std::fs::read_dir("/proc/self/fd").expect("a list of descriptors");
    let numbers = files.filter_map(|file| file.ok()?.file_name().to_str()?.parse().ok());
    let sockets = numbers.filter_map(|number| {
        let socket = pidfd_getfd(&own, number, PidfdGetfdFlags::empty()).ok()?;
        let other = getpeername(&socket).ok().flatten().and_then(|other| other.try_into().ok());
        Some((getsockname(&socket).ok()?.try_into().ok()?, other, socket))
    });
    sockets.collect()
}

/// Those that are connected.
fn sockets() -> Vec<((SocketAddr, SocketAddr), OwnedFd)> {
    all_sockets().into_iter().filter_map(|(own, other, socket)| Some(((own, other?), socket))).collect()
}

/// Resets every connection that has come to a listener of this process: the links to lower ranks, if it serves no rendezvous.
pub(crate) fn reset_accepted() -> bool {
    let all = all_sockets();
    let listening: Vec<u16> = all.iter().filter(|(_, other, _)| other.is_none()).map(|(own, ..)| own.port()).collect();
    let accepted = all.iter().filter(|(own, other, _)| other.is_some() && listening.contains(&own.port()));
    accepted.filter(|(.., socket)| connect_unspec(socket).is_ok()).count() > 0
}

/// One rank's program: rank 0 resets its connection to rank 1 again and again while much is under way both ways.
pub(crate) fn program() -> Result<()> {
    let node = join()?;
    let mut is_possible = true;
    for _ in 0..CUTS {
        is_possible &= round(&node)?;
    }
    if !is_possible {
        say("impossible", "");
    }
    node.barrier()?;
    node.finalize()
}

/// Returns whether this rank could do what it is to.
fn round(node: &Node) -> Result<bool> {
    let peer = 1 - node.rank().0;
    let reading = node.initread(peer, LONG, vec![0u8; LONG_BYTES])?;
    let writing = node.initwrite(peer, LONG, vec![peer as u8; LONG_BYTES])?;
    let mut was_reset = true;
    if node.rank() == 0 {
        let list = node.initread(peer, ADDRESSES, vec![0u8; LIST_BYTES])?.wait()?;
        let list = String::from_utf8_lossy(&list);
        let theirs: HashSet<&str> = list.trim_end_matches('\0').lines().collect();
        let is_link = |(own, other): &(SocketAddr, SocketAddr)| theirs.contains(&*format!("{other} {own}"));
        let link = sockets().into_iter().find(|(ends, _)| is_link(ends));
        was_reset = link.is_some_and(|(_, socket)| connect_unspec(&socket).is_ok());
    } else {
        let mut list: Vec<u8> =
            sockets().into_iter().flat_map(|((own, other), _)| format!("{own} {other}\n").into_bytes()).collect();
        list.resize(LIST_BYTES, 0);
        node.initwrite(peer, ADDRESSES, list)?.wait()?;
    }
    let read = reading.wait()?;
    writing.wait()?;
    assert!(read.iter().all(|byte| u32::from(*byte) == node.rank().0), "other bytes have come");
    node.initwrite(peer, SHORT, vec![1u8])?.wait()?;
    assert_eq!(node.initread(peer, SHORT, vec![0u8])?.wait()?, [1]);
    Ok(was_reset)
}

#[test]
fn a_link_that_is_reset_is_told_of_everywhere() {
    let folder = Folder::new();
    let (trace, reports, page) = (folder.file(), folder.0.join("reports.json"), folder.0.join("page.html"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
    command.args(["run", "-n", "2"]).arg(format!("--report={}", reports.display()));
    command.arg(format!("--trace={}", trace.display())).arg(this()).args(ARGUMENTS);
    // A lane for long messages would have a connection of its own, and its cuts are none of the link.
    let variables = [("LATHIDE_LANES", "0")];
    let finished = run(&mut prepared(command, "observed-cuts", &variables)).succeeded();
    if finished.stdout.contains(" impossible") {
        println!("skipped: a process may not have its own descriptors again here");
        return;
    }
    assert!(finished.stderr.contains("a link was cut 3 times for "), "{finished:?}");
    let all: Vec<Report> = serde_json::from_slice(&std::fs::read(&reports).unwrap()).unwrap();
    for report in &all {
        let [link] = &report.links[..] else { panic!("{report:#?}") };
        assert_eq!(link.cuts, CUTS, "{report:#?}");
        assert!(link.down_s > 0.0 && link.down_s <= report.elapsed_s, "{report:#?}");
        assert!(report.to_string().contains("; cut 3 times, down for "), "{report}");
    }
    let again: u64 = all.iter().map(|report| report.links[0].sent_again_bytes).sum();
    assert!(again > 0, "what was on its way was lost: {all:#?}");
    println!("{CUTS} resets, {again} bytes sent again");

    let timeline: Value = serde_json::from_slice(&std::fs::read(&trace).unwrap()).unwrap();
    let of = |phase: &str, pid: u32| -> Vec<&Value> {
        let events = timeline["traceEvents"].as_array().unwrap().iter();
        events.filter(|event| event["cat"] == "link" && event["ph"] == phase && event["pid"] == pid).collect()
    };
    for rank in 0..2 {
        let (begins, ends) = (of("b", rank), of("e", rank));
        assert_eq!((begins.len() as u64, ends.len() as u64), (CUTS, CUTS), "rank {rank}: {begins:?}, {ends:?}");
        for (begin, end) in begins.iter().zip(ends) {
            assert!(begin["ts"].as_f64() < end["ts"].as_f64() && begin["id"] == end["id"], "{begin}, {end}");
            assert!(begin["args"]["sent_again_bytes"].is_u64() && begin["args"]["cause"].is_string(), "{begin}");
        }
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
    run(command.arg("report").args([&reports, &trace]).arg("-o").arg(&page)).succeeded();
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains("Links whose connection was cut") && page.contains("class=\"t-down\""), "{page}");
}
