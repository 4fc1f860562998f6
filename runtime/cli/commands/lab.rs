//! `lathide lab`: a virtual network of several hosts on this machine, and a command in it.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use crate::launch::failed::Failed;
use crate::launch::lab::{
    Cable, DIRECTORY_VARIABLE, HOSTS_VARIABLE, Lab, LabError, RELAY_VARIABLE, Request, Status, Traffic, ask, enter,
};
use crate::launch::link::LinkSpec;
use clap::{ArgGroup, Args as ClapArgs, Subcommand};

use crate::commands::common::console::{fail, not_executed, note, print, print_json};
use crate::commands::common::lab_link::cable;
use crate::commands::common::output::QUIET;

const COMMAND: &str = "lathide lab";

const EXAMPLES: &str = "\
Examples:
  lathide lab --hosts 2 --delay 25ms --rate 50mbit -- bash      a shell on host0; ping host1 works in it
  lathide lab --hosts 4 --delay 50us --rate 10mbit --shared -- ./experiment    the papers' Ethernet
  lathide lab cut host1                       from within, or from another shell with the same LATHIDE_LAB
  lathide lab move host1 10.76.0.77           host1 has another address; its name means that one
  lathide lab change host1 --rate 1mbit       only what is named becomes different
  lathide lab status --json

Between two hosts a packet takes the delay, and its time at the rate. The rate is each host's, each way, and counts IP
headers: TCP gets 1448 of 1500 bytes. What finds no room in the queue before it is dropped. --host-rate makes the hosts'
network cards slower than their cables, or than the medium that they share.

Where there can be no lab, it says why and what to do, and runs the command all the same: run, gain, link, study and
collectives with --hosts host0,host1 then have their ranks on this machine, with a relay between them (not with --json).

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
    #[command(flatten)]
    lab: Option<Lab>,
    #[arg(short, long, global = true, help = QUIET)]
    quiet: bool,
    /// One JSON object on standard output at the end; the command's output goes to standard error
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Cut a host's cable: all packets from and to it get lost
    Cut { host: String },
    /// Mend a cable that was cut
    Mend { host: String },
    /// Give a host another address: what was connected with the former one gets no packet any more
    Move {
        host: String,
        /// Within the lab's networks, such as 10.76.0.77 or fd76:6c61:7468::77; the host keeps that of the other kind
        address: IpAddr,
    },
    /// Make a host's cable, or all cables, different: only in what is named
    #[command(group(ArgGroup::new("what").args(["delay", "rate", "host_rate", "loss", "queue"]).required(true).multiple(true)))]
    Change {
        /// The host; without it, all
        host: Option<String>,
        #[command(flatten)]
        cable: Cable,
    },
    /// Show each host's cable and what it has carried
    Status {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
}

/// A hidden command: becomes a program on a host of the lab.
#[derive(ClapArgs)]
pub(crate) struct InHostArgs {
    host: String,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, num_args = 1.., required = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(args: Args) -> ExitCode {
    let done = match (args.action, args.lab) {
        (Some(action), _) => act(action),
        (None, Some(lab)) => start(&lab, args.quiet, args.json),
        (None, None) => Err(Failed::usage("how many hosts? give their number (--hosts N)")),
    };
    done.unwrap_or_else(|Failed { message, status }| fail(COMMAND, &message, status))
}

fn start(lab: &Lab, quiet: bool, json: bool) -> Result<ExitCode, Failed> {
    let status = match lab.run(if json { io::stderr().into() } else { Stdio::inherit() }) {
        Ok(status) => status,
        // With --json who asks wants the lab's figures, which nothing else has.
        Err(LabError::Refused(why)) if !json => return Ok(with_relay(lab, &why)),
        Err(LabError::Refused(why)) => return Err(Failed::launcher(why)),
        Err(LabError::Failed(failed)) => return Err(failed),
    };
    if json {
        print_json(COMMAND, &status);
    } else if !quiet {
        table(&status).iter().for_each(|line| note(COMMAND, line));
    }
    Ok(ExitCode::from(status.exit_status.unwrap_or_default()))
}

/// Runs the command where there can be no lab: what it starts on the lab's hosts runs here, and a relay between ranks
/// delays and limits what they send. Becomes the command.
fn with_relay(lab: &Lab, why: &str) -> ExitCode {
    let link = LinkSpec {
        delay: lab.cable.delay.unwrap_or_default(),
        rate_bits_per_s: lab.cable.rate,
        shared: lab.shared,
        ..LinkSpec::default()
    };
    let instead = format!(
        "instead, what run, gain, link, study and collectives start with --hosts host0,... runs on this machine over the \
         emulated link {link}: a relay between ranks, without packets, losses and queues, and with no cable to cut"
    );
    // Not what was asked for: said in any case.
    note(COMMAND, why);
    note(COMMAND, &instead);
    let hosts: Vec<String> = (0..lab.hosts).map(|host| format!("host{host}")).collect();
    become_it(&lab.command, &[(RELAY_VARIABLE, link.to_string()), (HOSTS_VARIABLE, hosts.join(","))], "")
}

/// Becomes the command, with these variables too. Only returns if that fails.
fn become_it(command: &[OsString], variables: &[(&str, String)], place: &str) -> ExitCode {
    let error = Command::new(&command[0]).args(&command[1..]).envs(variables.iter().cloned()).exec();
    not_executed(place, &command[0], &error)
}

fn act(action: Action) -> Result<ExitCode, Failed> {
    let ask = |request| ask(&directory()?, &request);
    match action {
        Action::Cut { host } => ask(Request::Cut(host))?,
        Action::Mend { host } => ask(Request::Mend(host))?,
        Action::Move { host, address } => ask(Request::Move(host, address))?,
        Action::Change { host, cable } => ask(Request::Change(host, cable))?,
        Action::Status { json: true } => return Ok(print_json(COMMAND, &ask(Request::Status)?)),
        Action::Status { json: false } => return Ok(print(COMMAND, &table(&ask(Request::Status)?).join("\n"))),
    };
    Ok(ExitCode::SUCCESS)
}

/// The lab around this process.
fn directory() -> Result<PathBuf, Failed> {
    std::env::var_os(DIRECTORY_VARIABLE).map(PathBuf::from).ok_or_else(|| {
        Failed::usage(format!(
            "there is no lab here: {DIRECTORY_VARIABLE} is not set; start one (lathide lab --hosts 2 -- bash), or set \
             it to what it is within the lab"
        ))
    })
}

pub(crate) fn run_in_host(args: &InHostArgs) -> ExitCode {
    let InHostArgs { host, command } = args;
    match directory().and_then(|directory| enter(&directory, host)) {
        Ok(()) => become_it(command, &[], &format!("{host}: ")),
        Err(Failed { message, status }) => fail("lathide", &format!("{host}: {message}"), status),
    }
}

/// A line for the lab, one for each host.
fn table(status: &Status) -> Vec<String> {
    let medium = if status.shared { "one shared medium" } else { "a cable each" };
    let plural = if status.hosts.len() == 1 { "" } else { "s" };
    let mut lines = vec![format!("{} host{plural}, {medium}", status.hosts.len())];
    for host in &status.hosts {
        let part = |way: &str, traffic: &Traffic| {
            let mut text = format!("{way} {} packets, {} bytes", traffic.passed.packets, traffic.passed.bytes);
            for (what, count) in [("dropped", traffic.dropped), ("lost", traffic.lost), ("cut off", traffic.cut)] {
                if count.packets > 0 {
                    text += &format!(", {} {what}", count.packets);
                }
            }
            text
        };
        let cut = if host.is_cut { " (cut)" } else { "" };
        let cable = cable(host);
        let (sent, received) = (part("sent", &host.sent), part("received", &host.received));
        lines.push(format!("{} {}{cut}: {cable}; {sent}; {received}", host.host, host.address));
    }
    lines
}
