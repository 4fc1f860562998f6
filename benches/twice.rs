//! A bench as two processes of the same program, which join jobs by roots that the first one names.

use std::net::TcpListener;
use std::process::{Child, Command};

/// Where a job's rendezvous can be.
pub(crate) fn free_root() -> String {
    let root = TcpListener::bind("127.0.0.1:0").and_then(|root| root.local_addr());
    root.expect("a free port on loopback").to_string()
}

/// Starts this program again, with its arguments and this variable.
pub(crate) fn second_process(variable: &str, roots: &str) -> Child {
    let this = std::env::current_exe().expect("this program has a path");
    Command::new(this).args(std::env::args().skip(1)).env(variable, roots).spawn().expect("this program starts again")
}
