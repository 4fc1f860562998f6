//! `lathide doctor`: what the hosts are, and how the paths between them are, before any program runs.

use std::ffi::OsString;
use std::process::ExitCode;

use serde_json::json;

use crate::commands::common::console::progress;
use crate::commands::common::hosts::HostArgs;
use crate::commands::common::output::Output;
use crate::launch::agent::{Examination, Examined, Facts, LAUNCHER, Pair, diagnose};
use crate::launch::failed::Failed;
use crate::report::results::{Form, Results, Table};

const COMMAND: &str = "lathide doctor";

const EXAMPLES: &str = "\
Examples:
  lathide doctor --hosts a,b,user@c              before the first job on three machines
  lathide doctor --hosts hosts.txt ./stencil     is the program there, and the same everywhere?
  lathide lab --hosts 3 --delay 5ms -- lathide doctor --hosts host0,host1,host2

Exit status: 0 if every host reaches every other one and all have the same programs, 1 if not, 2 wrong usage.";

/// Examine hosts and the paths between them: who reaches whom, from which address to which, how fast, or why not.
///
/// Every host is reached as `lathide run` would, and every pair of hosts connects and authenticates as two ranks would.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A program that must be the same on all hosts
    #[arg(value_name = "PROGRAM")]
    program: Option<OsString>,
    #[command(flatten)]
    output: Output,
    // Last, since what follows would stand under the heading of its hosts.
    #[command(flatten)]
    hosts: HostArgs,
}

pub(crate) fn run(args: &Args) -> ExitCode {
    let examined = examine(args);
    let is_well = examined.as_ref().is_ok_and(|results| results.rows("troubles").is_empty());
    let shown = args.output.show(COMMAND, examined);
    if shown == ExitCode::SUCCESS && !is_well { ExitCode::FAILURE } else { shown }
}

fn examine(args: &Args) -> Result<Results, Failed> {
    let hosts = args.hosts.place_quietly(None)?;
    let hosts = hosts.ok_or_else(|| Failed::usage("--hosts says which hosts to examine, such as --hosts a,b"))?;
    let bar = progress(COMMAND, args.output.quiet, "examining the hosts");
    let examined = diagnose(&hosts, args.program.clone(), |what| bar.set_message(what.to_owned()));
    bar.finish_and_clear();
    examined.map(|examined| results(&examined))
}

fn results(examined: &Examination) -> Results {
    let Examination { hosts, pairs } = examined;
    let troubles = troubles(examined);
    let data = json!({ "hosts": hosts, "pairs": pairs, "troubles": troubles });
    let mut results = Results::new("lathide-doctor-2", "Hosts and the paths between them", &data);
    let table = Table::of("hosts").column("host", "host", Form::Word).column("version", "lathide", Form::Word);
    let table = table.column("program_hash", "its hash", Form::Word);
    let table = table.column("user_program_hash", "program", Form::Word).column("system", "system", Form::Word);
    results.table(table.column("machine", "machine", Form::Word).column("cores", "cores", Form::Count));
    for host in hosts {
        let title = format!("From {}: least round trip of 8 bytes, rate of one connection, clock there", host.host);
        let table = Table::of("pairs").only("from", host.host.clone()).title(title).column("to", "to", Form::Word);
        let table = table.column("from_address", "from address", Form::Word);
        let table = table.column("to_address", "to address", Form::Word);
        let table = table.column("round_trip_s", "round trip", Form::Seconds).column("bytes_per_s", "rate", Form::Rate);
        results.table(table.column("clock_ahead_s", "clock ahead", Form::Seconds));
    }
    for trouble in &troubles {
        results.text(format!("! {trouble}"));
    }
    results.conclusion = conclusion(&troubles);
    results
}

fn conclusion(troubles: &[String]) -> String {
    let Some((first, more)) = troubles.split_first() else { return "Every host reaches every other one.".to_owned() };
    let more = if more.is_empty() { String::new() } else { format!(", and {} more", more.len()) };
    format!("A job cannot run on all of them: {first}{more}.")
}

/// What keeps a job from running on all hosts, in words.
fn troubles(examined: &Examination) -> Vec<String> {
    let mut troubles = Vec::new();
    for Examined { host, error, facts } in &examined.hosts {
        troubles.extend(error.iter().map(|why| format!("{host} cannot be examined: {why}")));
        let lacking = facts.iter().filter_map(|facts| facts.user_program_error.as_ref());
        troubles.extend(lacking.map(|why| format!("{host} lacks the program: {why}")));
    }
    for Pair { from, to, in_vain, .. } in examined.pairs.iter().filter(|pair| !pair.reachable) {
        let hint = if to == LAUNCHER { "; --advertise ADDR names the address it should use" } else { "" };
        troubles.push(format!("{from} does not reach {to}: {}{hint}", in_vain.join("; ")));
    }
    let lathide = |facts: &Facts| Some(format!("version {} ({})", facts.version, facts.program_hash));
    troubles.extend(difference(examined, "the lathide program", lathide));
    troubles.extend(difference(examined, "the program", |facts| facts.user_program_hash.clone()));
    troubles
}

/// The first two hosts on which something is not the same, if there are any.
fn difference(examined: &Examination, what: &str, of: impl Fn(&Facts) -> Option<String>) -> Option<String> {
    let mut all = examined.hosts.iter().filter_map(|host| Some((&host.host, of(host.facts.as_ref()?)?)));
    let (first_host, first) = all.next()?;
    let (host, other) = all.find(|(_, other)| *other != first)?;
    Some(format!("{what} differs: {first} on {first_host}, {other} on {host}"))
}
