//! `lathide doctor`: what the hosts are, and how the ways between them are, before any program runs.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::launch::agent::{Examination, Examined, Found, Pair, Route, diagnose};
use crate::report::table::Table;
use serde_json::{Value, json};

use crate::commands::common::console::{print, progress};
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
        Err((message, status)) => {
            eprintln!("{COMMAND}: {message}");
            ExitCode::from(status)
        }
    }
}

fn examine(args: &Args) -> Result<bool, (String, u8)> {
    let hosts = args.hosts.place_quietly(None).map_err(|failed| (failed.message, failed.status))?;
    let hosts = hosts.ok_or_else(|| ("--hosts says which hosts to examine, such as --hosts a,b".to_owned(), 2))?;
    let own = std::env::current_exe().map_err(|error| (format!("this program cannot be found: {error}"), 125))?;
    let bar = progress(COMMAND, args.quiet, "examining the hosts");
    let examined = diagnose(&hosts, &own, args.program.as_deref(), |what| bar.set_message(what.to_owned()));
    bar.finish_and_clear();
    let examined = examined.map_err(|error| (error.to_string(), error.exit_status()))?;
    let troubles = troubles(&examined, args.program.is_some());
    if args.json {
        print(COMMAND, &as_json(&examined, &troubles).to_string());
    } else {
        print(COMMAND, &text(&examined, &troubles));
    }
    Ok(troubles.is_empty())
}

/// What keeps a job from running on all hosts, in words.
fn troubles(examined: &Examination, has_program: bool) -> Vec<String> {
    let mut troubles = Vec::new();
    let name = |index: usize| &examined.hosts[index].name;
    for host in &examined.hosts {
        match &host.found {
            Err(why) => troubles.push(format!("{} cannot be examined: {why}", host.name)),
            Ok(found) => {
                if let Err(why) = &found.launcher {
                    troubles.push(format!("{} does not reach this machine: {why}", host.name));
                }
                if let Some(Err(why)) = &found.facts.user_program {
                    troubles.push(format!("{} lacks the program: {why}", host.name));
                }
            }
        }
    }
    for Pair { from, to, route, .. } in &examined.pairs {
        if let Err(causes) = route {
            troubles.push(format!("{} does not reach {}: {}", name(*from), name(*to), causes.join("; ")));
        }
    }
    let mut differ = |what: &str, of: &dyn Fn(&Found) -> Option<String>| {
        let said = |host: &Examined| Some((host.name.clone(), of(host.found.as_ref().ok()?)?));
        let all: Vec<(String, String)> = examined.hosts.iter().filter_map(said).collect();
        if let Some((first, rest)) = all.split_first()
            && let Some(other) = rest.iter().find(|other| other.1 != first.1)
        {
            troubles.push(format!("{what} differs: {} on {}, {} on {}", first.1, first.0, other.1, other.0));
        }
    };
    differ("the lathide program", &|found| {
        Some(format!("version {} ({})", found.facts.version, found.facts.program_hash))
    });
    if has_program {
        differ("the program", &|found| found.facts.user_program.clone()?.ok());
    }
    troubles
}

fn text(examined: &Examination, troubles: &[String]) -> String {
    let mut hosts = Table::new(["host", "version", "system", "cores", "clock ahead", "reaches this machine at"]);
    for host in &examined.hosts {
        let cells = match &host.found {
            Err(_) => {
                [host.name.clone(), "not reached".into(), String::new(), String::new(), String::new(), String::new()]
            }
            Ok(Found { facts, clock_ahead_s: (ahead_s, error_s), launcher, .. }) => [
                host.name.clone(),
                format!("{} ({})", facts.version, &facts.program_hash[..8.min(facts.program_hash.len())]),
                format!("{} {}", facts.system, facts.machine),
                facts.cores.to_string(),
                format!("{:.2} ms ± {:.2}", ahead_s * 1e3, error_s * 1e3),
                launcher.as_ref().map_or_else(|_| "no".to_owned(), |root| root.ip().to_string()),
            ],
        };
        hosts.row(cells);
    }
    let mut text = format!("{hosts}\n");
    if examined.hosts.len() > 1 {
        let heads = std::iter::once("from \\ to".to_owned()).chain(examined.hosts.iter().map(|host| host.name.clone()));
        let mut pairs = Table::new(heads);
        for (from, host) in examined.hosts.iter().enumerate() {
            let cell = |to: usize| match examined.pairs.iter().find(|pair| (pair.from, pair.to) == (from, to)) {
                Some(Pair { route: Ok(route), .. }) => in_short(route),
                Some(_) => "no".to_owned(),
                None if from == to => "-".to_owned(),
                None => "?".to_owned(),
            };
            pairs.row(std::iter::once(host.name.clone()).chain((0..examined.hosts.len()).map(cell)));
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
    format!("{}\n-> {}\n{round_trip_ms:.2} ms, {mbit:.0} Mbit/s", route.from, route.to)
}

fn as_json(examined: &Examination, troubles: &[String]) -> Value {
    let name = |index: usize| &examined.hosts[index].name;
    let host = |host: &Examined| match &host.found {
        Err(why) => json!({ "host": host.name, "error": why }),
        Ok(Found { facts, clock_ahead_s: (ahead_s, error_s), launcher, .. }) => json!({
            "host": host.name,
            "name": facts.name,
            "version": facts.version,
            "program_hash": facts.program_hash,
            "user_program_hash": facts.user_program.as_ref().and_then(|hash| hash.as_ref().ok()),
            "user_program_error": facts.user_program.as_ref().and_then(|hash| hash.as_ref().err()),
            "system": facts.system,
            "machine": facts.machine,
            "cores": facts.cores,
            "addresses": facts.addresses,
            "clock_ahead_s": ahead_s,
            "clock_error_s": error_s,
            "launcher": launcher.as_ref().ok().map(|root| root.ip()),
            "launcher_error": launcher.as_ref().err(),
        }),
    };
    let pair = |Pair { from, to, route, .. }: &Pair| match route {
        Err(causes) => json!({ "from": name(*from), "to": name(*to), "reachable": false, "causes": causes }),
        Ok(route) => json!({
            "from": name(*from),
            "to": name(*to),
            "reachable": true,
            "from_address": route.from,
            "to_address": route.to,
            "round_trip_s": route.round_trip_s,
            "bytes_per_s": route.bytes_per_s,
            "clock_ahead_s": route.clock_ahead_s,
            "in_vain": route.in_vain,
        }),
    };
    json!({
        "schema": "lathide-doctor-1",
        "hosts": examined.hosts.iter().map(host).collect::<Vec<_>>(),
        "pairs": examined.pairs.iter().map(pair).collect::<Vec<_>>(),
        "troubles": troubles,
    })
}
