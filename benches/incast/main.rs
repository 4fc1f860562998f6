//! Many to one through one port with a short queue: the gathers of Tam and Wang (2000, section 5) on today's TCP.
//!
//! `cargo bench --bench incast [-- --senders N --rate RATE --queue BYTES]`. Every rank has a network namespace of its own,
//! joined by a bridge; the port towards rank 0 is a token bucket of that rate with that queue in front of it. For
//! each congestion control, each gather in turn, several times: how long it took against bytes / rate, and how often
//! TCP had to wait for a timer or to send again, in all namespaces together. Congestion controls that the system
//! does not let us choose are named and left out (`sysctl net.ipv4.tcp_allowed_congestion_control`). Without `--bench`
//! (under `cargo test --benches`) a little only shows that it runs.

mod network;
mod rank;

use std::process::ExitCode;

/// What is measured.
struct Effort {
    senders: u32,
    rate: String,
    queue: String,
    repeats: usize,
}

fn main() -> ExitCode {
    if std::env::var_os(rank::IS_RANK).is_some() {
        return match rank::run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("incast: {error}");
                ExitCode::FAILURE
            }
        };
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_full = arguments.iter().any(|argument| argument == "--bench");
    let value = |name: &str, default: &str| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)).cloned().unwrap_or_else(|| default.to_owned())
    };
    let (senders, repeats) = if is_full { ("16", 9) } else { ("3", 1) };
    let Ok(senders @ 1..=64) = value("--senders", senders).parse() else {
        eprintln!("incast: --senders is a number from 1 to 64");
        return ExitCode::from(2);
    };
    let effort = Effort { senders, rate: value("--rate", "1gbit"), queue: value("--queue", "128k"), repeats };
    match network::is_allowed() {
        Err(why) => {
            println!("incast: skipped: this system allows no network namespaces ({why})");
            ExitCode::SUCCESS
        }
        Ok(()) => match network::CONTROLS.iter().try_for_each(|control| network::measure(&effort, control)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("incast: {error}");
                ExitCode::FAILURE
            }
        },
    }
}
