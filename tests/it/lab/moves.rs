//! Hosts that have another address from one moment to the next, in the middle of a job.

use std::time::Duration;

use super::jobs::{RUNNING, in_lab_within, path};
use super::{is_possible, program};

const OPTIONS: [&str; 6] = ["--hosts", "4", "--delay", "5ms", "--rate", "100mbit"];
const WATCHDOG: Duration = Duration::from_secs(180);
/// Far less than Linux's own patience, which is a quarter of an hour, and far more than a job of these tests takes.
const NOTICED: Duration = Duration::from_secs(90);

/// A job over these hosts, whose launcher is on host0, and one of which has another address when it runs.
struct Case<'a> {
    hosts: &'a str,
    moves: &'a str,
    /// Addresses that it has one after the other.
    to: &'a [&'a str],
    environment: &'a str,
    role: &'a str,
}

const STENCIL: Case<'static> =
    Case { hosts: "host0,host1,host2,host3", moves: "host2", to: &["10.76.0.77"], environment: "", role: "none" };

impl Case<'_> {
    /// What all of it has said, and how long it took.
    fn run(&self) -> (String, Duration) {
        let Case { hosts, moves, to, environment, role } = self;
        let each: Vec<String> = to
            .iter()
            .map(|to| {
                format!(
                    "$l lab move {moves} {to} || exit 8; kill -0 $job && echo \"moved to {to}\"; \
                     $l __in-host {moves} ip -o addr show dev lab0; sleep 1;"
                )
            })
            .collect();
        let script = format!(
            "{RUNNING} l=$1; shift; export LATHIDE_LAB_TEST_ROLE={role} LATHIDE_LAB_TEST_SECONDS=4 {environment}; \
             $l run --hosts {hosts} \"$@\" & job=$!; running {moves}; {} wait $job; echo \"status $?\"; $l lab status",
            each.concat()
        );
        // So many take some seconds for each move.
        let steps = (600 * to.len()).to_string();
        let (own, stencil) = (program::own_command(), [path("stencil"), "--steps".into(), steps].to_vec());
        let program = if *role == "none" { stencil } else { own };
        let program: Vec<&str> = program.iter().map(String::as_str).collect();
        let (_, text, took) = in_lab_within(WATCHDOG, &OPTIONS, &script, &program);
        for to in *to {
            assert!(text.contains(&format!("moved to {to}")), "{text}");
            assert!(text.contains(&format!("inet {to}/16")) || text.contains(&format!("inet6 {to}/64")), "{text}");
        }
        (text, took)
    }

    fn goes_right(&self) {
        let (text, took) = self.run();
        let right = if self.role == "none" { "correct to the bit" } else { "collectives=" };
        assert!(text.contains("status 0") && text.contains(right), "{text}");
        assert!(text.contains("resumed"), "nothing was cut: {text}");
        assert!(took < NOTICED, "{took:?}: {text}");
        println!("{} to {:?}, {} {}: {took:.1?}", self.moves, self.to, self.environment, self.role);
        text.lines().filter(|line| line.contains("resumed")).for_each(|line| println!("  {line}"));
    }
}

#[test]
fn a_host_may_change_its_address() {
    if !is_possible() {
        return;
    }
    let cases = [
        STENCIL,
        Case { environment: "LATHIDE_KEEPALIVE=off", ..STENCIL },
        Case { environment: "LATHIDE_OVERLAP=off", ..STENCIL },
        Case { role: "collectives", ..STENCIL },
        Case { role: "collectives", environment: "LATHIDE_KEEPALIVE=off", ..STENCIL },
        // There and back again.
        Case { to: &["10.76.0.77", "10.76.9.9", "10.76.0.3"], ..STENCIL },
        // Rank 0's host, and the highest rank's, with the launcher elsewhere.
        Case { hosts: "host1,host0,host2,host3", moves: "host1", ..STENCIL },
        Case { hosts: "host1,host0,host2,host3", moves: "host1", environment: "LATHIDE_KEEPALIVE=off", ..STENCIL },
        Case { hosts: "host1,host0,host2,host3", moves: "host3", environment: "LATHIDE_KEEPALIVE=off", ..STENCIL },
        // Two ranks on it.
        Case { hosts: "host0,host2:2,host3", role: "collectives", ..STENCIL },
    ];
    std::thread::scope(|scope| {
        for some in cases.chunks(5) {
            let labs: Vec<_> = some.iter().map(|case| scope.spawn(|| case.goes_right())).collect();
            labs.into_iter().for_each(|lab| lab.join().expect("a lab"));
        }
    });
}

/// The ranks know one address of the launcher, and nobody who could tell them another.
#[test]
fn the_launchers_host_may_not_change_its_address() {
    if !is_possible() {
        return;
    }
    for environment in ["LATHIDE_RESUME=3 LATHIDE_KEEPALIVE=2", "LATHIDE_RESUME=3 LATHIDE_KEEPALIVE=off"] {
        let (text, took) = Case { moves: "host0", environment, ..STENCIL }.run();
        assert!(!text.contains("status 0"), "{text}");
        assert!(text.contains("the connection to the rendezvous was cut"), "{text}");
        assert!(text.contains("10.76.0.1"), "{text}");
        assert!(took < NOTICED, "{took:?}: {text}");
        println!("{environment}: {took:.1?}");
    }
}

#[test]
fn an_address_that_cannot_be_is_refused() {
    if !is_possible() {
        return;
    }
    let script = "l=$1; try() { $l lab move \"$@\"; echo \"=$?\"; }; try host1 10.77.0.9; try host1 10.76.0.1; \
                  try host9 10.76.0.9; try host1 host0; try host1 fd76:6c61:7468::9; try host1 10.76.1.1; try host0 10.76.0.2; \
                  $l doctor --quiet --hosts host0,host1 && echo reached; \
                  $l lab status; grep 10.76.1.1 /etc/hosts";
    let (_, text, _) = in_lab_within(WATCHDOG, &["--hosts", "2"], script, &[]);
    let statuses: Vec<&str> = text.lines().filter(|line| line.starts_with('=')).collect();
    assert_eq!(statuses, ["=2", "=2", "=2", "=2", "=0", "=0", "=0"], "{text}");
    for part in [
        "10.77.0.9 is no address of a host in the lab's network",
        "10.76.0.1 is the address of host0",
        "there is no host \"host9\"",
        "host1 10.76.1.1:",
        "host0 10.76.0.2:",
        "10.76.1.1 host1",
        "reached",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
