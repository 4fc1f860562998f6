//! `lathide doctor`: what the hosts are, and how the ways between them are, before any program runs.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::launch::agent::{Examination, Facts, Pair, Route, diagnose};
use crate::launch::failed::Failed;
use crate::report::table::Table;
use serde_json::{Value, json};

use crate::commands::common::console::{fail, print, progress};
use crate::commands::common::hosts::HostArgs;

const COMMAND: &str = "lathide doctor";

const EXAMPLES: &str = "\
Examples:
  lathide doctor --hosts a,b,user@c              before the first job on three machines
  lathide doctor --hosts hosts.txt ./stencil     is the program there, and the same everywhere?
  lathide lab --hosts 3 --delay 5ms -- lathide doctor --hosts host0,host1,host2

Exit status: 0 if every host reaches every other one and all have the same programs, 1 if not, 2 wrong usage.";

/// Examine hosts and the ways between them: who reaches whom, from which address to which, how fast, or why not.
///
/// Every host is reached as `lathide run` would, and every pair of hosts connects and authenticates as two ranks would.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    hosts: HostArgs,
    /// A program that must be the same on all hosts
    #[arg(value_name = "PROGRAM")]
    program: Option<OsString>,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
    /// One JSON object on standard output
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> ExitCode {
    match examine(args) {
        Ok(is_well) => ExitCode::from(u8::from(!is_well)),
        Err(Failed { message, status }) => fail(COMMAND, &message, status),
    }
}

fn examine(args: &Args) -> Result<bool, Failed> {
    let hosts = args.hosts.place_quietly(None)?;
    let hosts = hosts.ok_or_else(|| Failed::usage("--hosts says which hosts to examine, such as --hosts a,b"))?;
    let own = std::env::current_exe();
    let own = own.map_err(|error| Failed::launcher(format!("this program cannot be found: {error}")))?;
    let bar = progress(COMMAND, args.quiet, "examining the hosts");
    let examined = diagnose(&hosts, &own, args.program.as_deref(), |what| bar.set_message(what.to_owned()));
    bar.finish_and_clear();
    let examined = examined?;
    let troubles = troubles(&examined);
    let shown = if args.json { as_json(&examined, &troubles).to_string() } else { text(&examined, &troubles) };
    print(COMMAND, &shown);
    Ok(troubles.is_empty())
}

/// What keeps a job from running on all hosts, in words.
fn troubles(examined: &Examination) -> Vec<String> {
    let mut troubles = Vec::new();
    for (host, found) in &examined.hosts {
        match found {
            Err(why) => troubles.push(format!("{host} cannot be examined: {why}")),
            Ok(facts) => {
                let launcher = facts.launcher_error.iter().map(|why| format!("does not reach this machine: {why}"));
                let program = facts.user_program_error.iter().map(|why| format!("lacks the program: {why}"));
                troubles.extend(launcher.chain(program).map(|what| format!("{host} {what}")));
            }
        }
    }
    for Pair { from, to, route } in &examined.pairs {
        if let Err(causes) = route {
            let (from, to) = (&examined.hosts[*from].0, &examined.hosts[*to].0);
            troubles.push(format!("{from} does not reach {to}: {}", causes.join("; ")));
        }
    }
    let lathide = |facts: &Facts| Some(format!("version {} ({})", facts.version, facts.program_hash));
    troubles.extend(difference(examined, "the lathide program", lathide));
    troubles.extend(difference(examined, "the program", |facts| facts.user_program_hash.clone()));
    troubles
}

/// The first two hosts on which something is not the same, if there are any.
fn difference(examined: &Examination, what: &str, of: impl Fn(&Facts) -> Option<String>) -> Option<String> {
    let mut all = examined.hosts.iter().filter_map(|(host, found)| Some((host, of(found.as_ref().ok()?)?)));
    let (first_host, first) = all.next()?;
    let (host, other) = all.find(|(_, other)| *other != first)?;
    Some(format!("{what} differs: {first} on {first_host}, {other} on {host}"))
}

fn text(examined: &Examination, troubles: &[String]) -> String {
    let mut hosts = Table::new(["host", "version", "system", "cores", "clock ahead", "reaches this machine at"]);
    for (host, found) in &examined.hosts {
        hosts.row(match found {
            Err(_) => vec![host.clone(), "not reached".to_owned()],
            Ok(facts) => vec![
                host.clone(),
                format!("{} ({})", facts.version, &facts.program_hash[..8.min(facts.program_hash.len())]),
                format!("{} {}", facts.system, facts.machine),
                facts.cores.to_string(),
                format!("{:.2} ms ± {:.2}", facts.clock_ahead_s * 1e3, facts.clock_error_s * 1e3),
                facts.launcher.map_or("no".to_owned(), |address| address.to_string()),
            ],
        });
    }
    let mut text = format!("{hosts}\n");
    if examined.hosts.len() > 1 {
        let heads = std::iter::once("from \\ to").chain(examined.hosts.iter().map(|(host, _)| host.as_str()));
        let mut pairs = Table::new(heads);
        for (from, (host, _)) in examined.hosts.iter().enumerate() {
            let cell = |to: usize| match examined.pairs.iter().find(|pair| (pair.from, pair.to) == (from, to)) {
                Some(Pair { route: Ok(route), .. }) => in_short(route),
                Some(_) => "no".to_owned(),
                None if from == to => "-".to_owned(),
                None => "?".to_owned(),
            };
            pairs.row(std::iter::once(host.clone()).chain((0..examined.hosts.len()).map(cell)));
        }
        text += &format!("\nAddresses, least round trip of 8 bytes, rate of one connection:\n{pairs}\n");
    }
    text += "\n";
    if troubles.is_empty() {
        text += "Every host reaches every other one.";
    }
    text + &troubles.iter().map(|trouble| format!("! {trouble}")).collect::<Vec<_>>().join("\n")
}

fn in_short(route: &Route) -> String {
    let (round_trip_ms, mbit) = (route.round_trip_s * 1e3, route.bytes_per_s * 8e-6);
    format!("{}\n-> {}\n{round_trip_ms:.2} ms, {mbit:.0} Mbit/s", route.from_address, route.to_address)
}

fn as_json(examined: &Examination, troubles: &[String]) -> Value {
    let host = |(host, found): &(String, Result<Facts, String>)| {
        let mut value = found.as_ref().map_or_else(|why| json!({ "error": why }), |facts| json!(facts));
        value["host"] = json!(host);
        value
    };
    let pair = |Pair { from, to, route }: &Pair| {
        let mut value = route.as_ref().map_or_else(|causes| json!({ "causes": causes }), |route| json!(route));
        value["from"] = json!(examined.hosts[*from].0);
        value["to"] = json!(examined.hosts[*to].0);
        value["reachable"] = json!(route.is_ok());
        value
    };
    json!({
        "schema": "lathide-doctor-1",
        "hosts": examined.hosts.iter().map(host).collect::<Vec<_>>(),
        "pairs": examined.pairs.iter().map(pair).collect::<Vec<_>>(),
        "troubles": troubles,
    })
}
