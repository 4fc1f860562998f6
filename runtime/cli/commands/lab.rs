//! `lathide lab`: a virtual network of several hosts on this machine, and a command in it.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::launch::lab::{
    Cable, Change, DIRECTORY_VARIABLE, HOSTS_VARIABLE, Lab, LabError, RELAY_VARIABLE, Request, Status, ask, enter,
};
use crate::launch::link::LinkSpec;
use clap::{Args as ClapArgs, Subcommand};
use lathide::launcher::quantity::{PART, Quantity, SIZE, WHOLE};
use serde_json::json;

use crate::commands::common::console::{not_executed, print};
use crate::commands::common::options::one;

const COMMAND: &str = "lathide lab";
/// A cable holds no more.
const QUEUE: Quantity = SIZE.within("1B", "256MiB");

const EXAMPLES: &str = "\
Examples:
  lathide lab --hosts 2 --delay 25ms --rate 50mbit -- bash      a shell on host0; ping host1 works in it
  lathide lab --hosts 4 --delay 50us --rate 10mbit --shared -- ./experiment    the papers' Ethernet
  lathide lab cut host1                       from within, or from another shell with the same LATHIDE_LAB
  lathide lab change host1 --rate 1mbit       only what is named becomes different
  lathide lab status --json

Between two hosts a packet takes the delay, and its time at the rate. The rate is each host's, each way, and counts IP
headers: TCP gets 1448 of 1500 bytes. What finds no room in the queue before it is dropped.

Where there can be no lab, it says why and what to do, and runs the command all the same: run, gain, link and collectives
with --hosts host0,host1 then have their ranks on this machine, with a relay between them (not with --json).

Exit status: that of the command (128+N if signal N killed it); 2 wrong usage, 125 the lab failed, 126 the
command cannot be executed, 127 it was not found.";

/// Make a virtual network of several hosts on this machine, without root, and run a command in it.
///
/// The hosts are network namespaces, joined by a switch that delays, limits and loses packets. The command runs on host0.
/// When it ends, everything else in the lab is ended too.
#[derive(ClapArgs)]
#[command(
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    subcommand_value_name = "ACTION",
    subcommand_help_heading = "Actions in a running lab"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// Number of hosts: host0, host1, and on
    #[arg(long, value_name = "N", required = true, value_parser = one::<u32>(WHOLE))]
    hosts: Option<u32>,
    /// How long a packet travels from one host to another
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = LinkSpec::parse_delay)]
    delay: Duration,
    /// The rate of each host, each way, such as 50mbit (default: as fast as this machine is)
    #[arg(long, value_name = "RATE", value_parser = LinkSpec::parse_rate)]
    rate: Option<NonZeroU64>,
    /// The part of all packets that gets lost, such as 0.1% or 0.001
    #[arg(long, value_name = "PART", default_value = "0", value_parser = loss)]
    loss: f64,
    /// What may wait before each direction of a host's cable, such as 128KiB (default: what passes in two round trips or
    /// in 10 ms, at least 64KiB)
    #[arg(long, value_name = "SIZE", value_parser = one::<u64>(QUEUE))]
    queue: Option<u64>,
    /// One medium for all hosts, on which one packet at a time passes
    #[arg(long)]
    shared: bool,
    /// Say nothing of the lab
    #[arg(short, long)]
    quiet: bool,
    /// One JSON object on standard output at the end; the command's output goes to standard error
    #[arg(long)]
    json: bool,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", last = true, required = true)]
    command: Vec<OsString>,
}

#[derive(Subcommand)]
enum Action {
    /// Cut a host's cable: all packets from and to it get lost
    Cut { host: String },
    /// Mend a cable that was cut
    Mend { host: String },
    /// Make a host's cable, or all cables, different
    Change {
        /// The host; without it, all
        host: Option<String>,
        #[command(flatten)]
        change: ChangeArgs,
    },
    /// Show each host's cable and what it has carried
    Status {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
}

#[derive(ClapArgs)]
#[group(required = true, multiple = true)]
struct ChangeArgs {
    /// How long a packet travels between hosts with such cables
    #[arg(long, value_name = "TIME", value_parser = LinkSpec::parse_delay)]
    delay: Option<Duration>,
    /// The rate, each way, such as 50mbit
    #[arg(long, value_name = "RATE", value_parser = LinkSpec::parse_rate)]
    rate: Option<NonZeroU64>,
    /// The part of the packets that gets lost between hosts with such cables
    #[arg(long, value_name = "PART", value_parser = loss)]
    loss: Option<f64>,
    /// What may wait before each direction
    #[arg(long, value_name = "SIZE", value_parser = one::<u64>(QUEUE))]
    queue: Option<u64>,
}

/// A hidden command: becomes a program on a host of the lab.
#[derive(ClapArgs)]
pub(crate) struct InHostArgs {
    host: String,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, num_args = 1.., required = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(args: Args) -> ExitCode {
    let done = match args.action {
        Some(action) => act(action),
        None => start(args),
    };
    done.unwrap_or_else(|error| {
        eprintln!("{COMMAND}: {error}");
        ExitCode::from(error.exit_status())
    })
}

fn start(args: Args) -> Result<ExitCode, LabError> {
    let Args { hosts, delay, rate, loss, queue, shared, quiet, json, mut command, .. } = args;
    let cable = Cable { delay, rate_bits_per_s: rate, loss, queue_bytes: queue };
    let arguments = command.split_off(1);
    let mut lab = Lab::new(hosts.unwrap_or_default(), cable, command.remove(0), arguments);
    lab.shared = shared;
    lab.output_to_stderr = json;
    let outcome = match lab.clone().run() {
        // With --json who asks wants the lab's figures, which nothing else has.
        Err(LabError::Refused { what, error, remedy }) if !json => {
            eprintln!("{COMMAND}: there can be no lab here: {what}: {error}; {remedy}");
            return Ok(with_relay(&lab));
        }
        outcome => outcome?,
    };
    if !quiet && !json {
        table(&outcome.status).iter().for_each(|line| eprintln!("{COMMAND}: {line}"));
    }
    let status = outcome.exit_status();
    if json {
        print(COMMAND, &as_json(&outcome.status, Some(status)).to_string());
    }
    Ok(ExitCode::from(status))
}

/// Runs the command where there can be no lab: what it starts on the lab's hosts runs here, and a relay between ranks
/// delays and limits what they send. Becomes the command.
fn with_relay(lab: &Lab) -> ExitCode {
    let link = LinkSpec {
        delay: lab.cable.delay,
        rate_bits_per_s: lab.cable.rate_bits_per_s,
        shared: lab.shared,
        ..LinkSpec::default()
    };
    eprintln!(
        "{COMMAND}: instead, what run, gain, link and collectives start with --hosts host0,... runs on this machine over the \
         emulated link {link}: a relay between ranks, without packets, losses and queues, and with no cable to cut"
    );
    let hosts: Vec<String> = (0..lab.hosts).map(|host| format!("host{host}")).collect();
    let mut command = std::process::Command::new(&lab.program);
    command.args(&lab.args).env(RELAY_VARIABLE, link.to_string()).env(HOSTS_VARIABLE, hosts.join(","));
    become_it(command, &lab.program.to_string_lossy(), "")
}

/// Only returns if that fails.
fn become_it(mut command: std::process::Command, name: &str, place: &str) -> ExitCode {
    not_executed(&format!("{place}{name}"), &command.exec())
}

fn act(action: Action) -> Result<ExitCode, LabError> {
    let ask = |request| ask(&directory()?, &request);
    match action {
        Action::Cut { host } => ask(Request::Cut(host))?,
        Action::Mend { host } => ask(Request::Mend(host))?,
        Action::Change { host, change: ChangeArgs { delay, rate, loss, queue } } => {
            ask(Request::Change(host, Change { delay, rate_bits_per_s: rate, loss, queue_bytes: queue }))?
        }
        Action::Status { json: true } => {
            return Ok(print(COMMAND, &as_json(&ask(Request::Status)?, None).to_string()));
        }
        Action::Status { json: false } => return Ok(print(COMMAND, &table(&ask(Request::Status)?).join("\n"))),
    };
    Ok(ExitCode::SUCCESS)
}

/// The lab around this process.
fn directory() -> Result<PathBuf, LabError> {
    std::env::var_os(DIRECTORY_VARIABLE).map(PathBuf::from).ok_or_else(|| {
        LabError::Usage(format!(
            "there is no lab here: {DIRECTORY_VARIABLE} is not set; start one (lathide lab --hosts 2 -- bash), or set \
             it to what it is within the lab"
        ))
    })
}

pub(crate) fn run_in_host(args: &InHostArgs) -> ExitCode {
    let entered = directory().and_then(|directory| enter(&directory, &args.host));
    if let Err(error) = entered {
        eprintln!("lathide: {}: {error}", args.host);
        return ExitCode::from(error.exit_status());
    }
    let mut command = std::process::Command::new(&args.command[0]);
    command.args(&args.command[1..]);
    become_it(command, &args.command[0].to_string_lossy(), &format!("{}: ", args.host))
}

/// A line for the lab, one for each host.
fn table(status: &Status) -> Vec<String> {
    let medium = if status.shared { "one shared medium" } else { "a cable each" };
    let plural = if status.hosts.len() == 1 { "" } else { "s" };
    let mut lines = vec![format!("{} host{plural}, {medium}", status.hosts.len())];
    for host in &status.hosts {
        let part = |way: &str, traffic: &crate::launch::lab::Traffic| {
            let mut text = format!("{way} {} packets, {} bytes", traffic.passed.packets, traffic.passed.bytes);
            for (what, count) in [("dropped", traffic.dropped), ("lost", traffic.lost), ("cut off", traffic.cut)] {
                if count.packets > 0 {
                    text += &format!(", {} {what}", count.packets);
                }
            }
            text
        };
        let cut = if host.is_cut { " (cut)" } else { "" };
        let (sent, received) = (part("sent", &host.up), part("received", &host.down));
        lines.push(format!("{} {}{cut}: {}; {sent}; {received}", host.host, host.address, figures(&host.cable)));
    }
    lines
}

/// A cable in the words of the command line.
fn figures(cable: &Cable) -> String {
    let link = LinkSpec { delay: cable.delay, rate_bits_per_s: cable.rate_bits_per_s, ..LinkSpec::default() };
    let mut text = if link.is_loopback() { "unlimited".to_owned() } else { link.to_string() };
    if cable.loss > 0.0 {
        text += &format!(",loss={}%", 100.0 * cable.loss);
    }
    text
}

fn as_json(status: &Status, exit_status: Option<u8>) -> serde_json::Value {
    let hosts = status.hosts.iter().map(|host| {
        json!({
            "host": host.host,
            "address": host.address,
            "delay_s": host.cable.delay.as_secs_f64(),
            "rate_bits_per_s": host.cable.rate_bits_per_s,
            "loss": host.cable.loss,
            "queue_bytes": host.cable.queue(),
            "is_cut": host.is_cut,
            "sent": host.up,
            "received": host.down,
        })
    });
    json!({
        "schema": "lathide-lab-1",
        "shared": status.shared,
        "hosts": hosts.collect::<Vec<_>>(),
        "exit_status": exit_status,
    })
}

/// A part of the packets.
fn loss(text: &str) -> Result<f64, String> {
    PART.within("0", "99.99%").one(text).map_err(|why| format!("{why}; to lose all, cut a host's cable"))
}
