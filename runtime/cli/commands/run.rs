//! `lathide run`: a program as a job of several ranks, on this machine or on several hosts.

mod once;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::launch::agent::Hosts;
use crate::launch::failed::Failed;
use crate::launch::link::LinkSpec;
use crate::launch::local::{End, Job, Made, Outcome, Output, Sink, Stdin, Stream, Timeline, prefixed};
use clap::{Args, ValueEnum};
use lathide::Rank;
use lathide::launcher::quantity::WHOLE;
use lathide::launcher::timeline::Merged;
use lathide::launcher::variables;
use lathide::observe::file;
use once::Once;
use parking_lot::Mutex;
use serde::Serialize;

use crate::commands::common::console::{error, fail, note, print_json, stderr};
use crate::commands::common::environment::misspelt;
use crate::commands::common::hosts::HostArgs;
use crate::commands::common::options::{limit, one};
use crate::commands::common::output::QUIET;
use crate::nearest::did_you_mean;
use crate::report::format::seconds;
use crate::report::observed::{self, Observed, observed};
use crate::report::text;

/// What the person typed, before messages of other rooms.
const COMMAND: &str = "lathide";

const EXAMPLES: &str = "\
Examples:
  lathide run -n 4 ./stencil                  four ranks on this machine
  lathide run -n 2 --link wan ./stencil       the same over an emulated 25 ms, 50 Mbit/s link
  lathide run -n 3 hostname                   any program can be a rank
  lathide run --hosts a:4,me@b:2 ./stencil    six ranks on two hosts, over ssh; ./stencil is at the same path on both
  lathide run -n 8 --hostfile hosts.txt ./stencil
  lathide run -n 2 --report --trace t.json --link lan ./stencil    what limits it, and a timeline

Exit status: 0, or that of the rank that failed first (128+N if signal N killed it); 2 wrong usage, 124 time over,
125 the launcher failed or the output found no room, 126 the program cannot be executed, 127 it was not found, 128+N
interrupted by signal N.

The environment variables of ranks and command: lathide --help";

/// Start a program as a job of several ranks, on this machine or over ssh on others.
///
/// Output is shown line by line behind the rank's number. Input goes to rank 0. When a rank fails, the others are
/// ended within two seconds (--grace gives them longer), and the one that failed first is named.
///
/// On other hosts the ranks run in the directory in which the command was given, if it is there too, and otherwise in
/// the home directory. They get the variables that ssh gives them, those of -x, and those that begin with LATHIDE_ or
/// RUST_ here.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Number of ranks [default: one for each slot of --hosts, or each task of a Slurm allocation]
    #[arg(short = 'n', long = "ranks", alias = "np", value_name = "N",
          value_parser = one::<u32>(WHOLE.within("1", "65536")))]
    ranks: Option<u32>,
    /// Emulated link between the ranks: loopback, lan, wan, ethernet, or delay=25ms,rate=50mbit[,jitter=1ms]
    #[arg(long, value_name = "SPEC", default_value = "loopback", conflicts_with = "hosts")]
    link: LinkSpec,
    /// Whether each line is shown behind its rank
    #[arg(long, value_name = "WHEN", default_value = "always")]
    tag: Tag,
    /// End the job after this time, such as 30 (seconds) or 10min, with exit status 124
    #[arg(long, value_name = "TIME", value_parser = limit)]
    timeout: Option<Duration>,
    /// When a rank has failed, the others have so long to end by themselves, for instance to save their work
    #[arg(long, value_name = "TIME", value_parser = limit, default_value = "1s")]
    grace: Duration,
    /// Encrypt what passes between the ranks; their program must be built with lathide's feature `encrypt`
    #[arg(long)]
    encrypt: bool,
    /// Put checksums in what passes between the ranks, so that flipped bits are found and healed
    #[arg(long)]
    checksum: bool,
    /// Set a variable for every rank; NAME alone passes the launcher's own value (may be repeated)
    #[arg(short = 'x', value_name = "NAME[=V]", value_parser = variable)]
    variables: Vec<(OsString, OsString)>,
    /// Run the ranks in this directory
    #[arg(long, value_name = "DIR")]
    wdir: Option<OsString>,
    /// Write a timeline of all ranks, for ui.perfetto.dev or chrome://tracing (default: LATHIDE_TRACE, if it is set)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Say at the end what was observed, what limits the program and what would change it; --report=FILE also writes the
    /// ranks' reports as JSON
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    report: Option<Option<PathBuf>>,
    #[arg(short, long, help = QUIET)]
    quiet: bool,
    /// One JSON object on standard output when the job has ended; the ranks' output goes to standard error
    #[arg(long)]
    json: bool,
    // Last of the options, since what follows would stand under the heading of its hosts.
    #[command(flatten)]
    hosts: HostArgs,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    program: Vec<OsString>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Tag {
    Always,
    Never,
}

pub(crate) fn run(arguments: Arguments) -> ExitCode {
    start(arguments).unwrap_or_else(|Failed { message, status }| fail(COMMAND, &message, status))
}

fn start(arguments: Arguments) -> Result<ExitCode, Failed> {
    let Arguments { mut ranks, mut hosts, mut link, tag, timeout, grace, encrypt, checksum, mut variables, .. } =
        arguments;
    let Arguments { wdir, trace, report, quiet, json, mut program, .. } = arguments;
    if encrypt {
        variables.push((variables::ENCRYPT.name.into(), "on".into()));
    }
    if checksum {
        variables.push((variables::CHECKSUM.name.into(), "on".into()));
    }
    // What begins with a dash is an option of the program only behind the program.
    if program[0].as_encoded_bytes().starts_with(b"-") {
        let option = program[0].display();
        let own = Arguments::augment_args(clap::Command::new("run"));
        let longs: Vec<String> = own.get_arguments().filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect();
        let name = option.to_string();
        let meant = did_you_mean(name.split('=').next().unwrap_or(&name), longs.iter().map(String::as_str));
        return Err(Failed::usage(format!(
            "run has no option {option}{meant}; see lathide run --help (a program of that name is ./{option})"
        )));
    }
    if let Some((relay, slots)) = hosts.stand_in()? {
        (link, ranks, hosts) = (relay, ranks.or(Some(slots)), HostArgs::default());
    }
    let hosts = if link.is_loopback() { hosts.place_or_allocation(ranks)? } else { None };
    let ranks = hosts.as_ref().map(|hosts| hosts.names().len() as u32).or(ranks).ok_or_else(|| {
        Failed::usage("how many ranks? give their number (--ranks, -n N), or hosts (--hosts a:4,b:4)")
    })?;
    let args = program.split_off(1);
    let trace =
        trace.or_else(|| std::env::var_os(variables::TRACE.name).filter(|file| !file.is_empty()).map(PathBuf::from));
    let job = Job {
        env: variables,
        directory: wdir,
        hosts,
        link,
        stdin: Stdin::Forward,
        timeout,
        grace,
        trace,
        report: report.is_some(),
        ..Job::new(ranks, program.remove(0), args)
    };
    let check = |file: PathBuf| file::check(&file).map_err(|error| Failed::launcher(not_written(&file, &error)));
    let report = report.flatten().map(check).transpose()?;
    if !quiet {
        notes(&job);
    }
    let names = job.hosts.as_ref().map(Hosts::names);
    let label = move |rank: Rank| match &names {
        _ if tag == Tag::Never => None,
        Some(names) => Some(format!("[{rank}@{}] ", names.get(rank.index()).map_or("?", String::as_str))),
        None => Some(format!("[{rank}] ")),
    };
    let stdout: Box<dyn io::Write + Send> = if json { Box::new(io::stderr()) } else { Box::new(io::stdout()) };
    let said = Arc::new(Mutex::new(Once::default()));
    let shown = prefixed(stdout, io::stderr(), label);
    // Without labels, what ranks write passes unchanged.
    let shown = if tag == Tag::Never { shown } else { once(Arc::clone(&said), shown) };
    let outcome = job.clone().run(shown)?;
    let observed = outcome.reports.as_deref().map(observed);
    let is_shown = !json || print_json(COMMAND, &Ended { outcome: &outcome, observed: &observed }) == ExitCode::SUCCESS;
    explain(&job, &outcome, &said.lock(), quiet);
    let is_written = observations(&outcome, report, quiet);
    if let Some(observed) = observed.filter(|observed| !quiet && !observed.is_empty()) {
        eprintln!("{}", text::table(&observed::table(&observed), stderr()));
    }
    Ok(ExitCode::from(match outcome.exit_status {
        0 if !(is_shown && is_written) => 125,
        status => status,
    }))
}

/// How a job has ended, as JSON has it.
#[derive(Serialize)]
struct Ended<'a> {
    #[serde(flatten)]
    outcome: &'a Outcome,
    observed: &'a Option<Vec<Observed>>,
}

/// Shows the same error of several ranks once.
fn once(said: Arc<Mutex<Once>>, mut shown: Sink) -> Sink {
    Box::new(move |mut output: Output| {
        if let (Some(rank), Stream::Stderr) = (output.rank, output.stream) {
            output.bytes = said.lock().shown(rank, &output.bytes);
        }
        if output.bytes.is_empty() { Ok(()) } else { shown(output) }
    })
}

/// What a person should know before the job starts.
fn notes(job: &Job) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if job.hosts.is_none() && io::stderr().is_terminal() && job.size as usize > cores {
        note(COMMAND, &format!("{} ranks share {cores} cores: they take turns, so times say little", job.size));
    }
    let is_crowded = |hosts: &&Hosts| hosts.places.iter().any(|(host, ranks)| ranks.len() > host.slots as usize);
    if let Some(hosts) = job.hosts.as_ref().filter(is_crowded) {
        let slots: u64 = hosts.places.iter().map(|(host, _)| u64::from(host.slots)).sum();
        let (size, more) = (job.size, "some hosts get more than they have, and times say little");
        note(COMMAND, &format!("{size} ranks have {slots} slots: {more}"));
    }
    if !job.link.is_loopback() {
        note(COMMAND, &format!("the link is emulated: {}", job.link));
    }
    let names = std::env::vars_os().chain(job.env.iter().cloned()).map(|(name, _)| name);
    for (name, meant) in misspelt(names.map(|name| name.to_string_lossy().into_owned())) {
        note(COMMAND, &format!("{name} is no variable of lathide, and has no effect; did you mean {meant}?"));
    }
}

/// Why the job failed, if it did.
fn explain(job: &Job, outcome: &Outcome, said: &Once, quiet: bool) {
    said.repeated().iter().for_each(|words| error(COMMAND, words));
    if let Some(why) = &outcome.output_failed {
        error(COMMAND, &format!("the job was ended: what its ranks write cannot be passed on: {why}"));
    }
    if outcome.timed_out {
        let limit_s = job.timeout.unwrap_or_default().as_secs_f64();
        error(COMMAND, &format!("the job was ended after {} (--timeout)", seconds(limit_s)));
    }
    let Some(failure) = &outcome.first_failure else { return };
    let first = if job.size > 1 { " first" } else { "" };
    let host = outcome.ranks[failure.rank.index()].host.as_ref();
    let place = host.map(|host| format!(" on {host}")).unwrap_or_default();
    match failure.end {
        End::Exited(_) => error(COMMAND, &format!("rank {}{place} failed{first}: it {failure}", failure.rank)),
        _ => error(COMMAND, &format!("rank {}{place} {failure}", failure.rank)),
    }
    let blamed = outcome.ranks[failure.rank.index()].blames.and_then(|rank| outcome.ranks.get(rank.index()));
    if let Some((rank, host)) = blamed.and_then(|blamed| Some((blamed.rank, blamed.host.as_ref()?))) {
        note(COMMAND, &format!("it failed for want of rank {rank} on {host}"));
    }
    if job.size > 1 && !quiet && !said.is_seen(failure.rank, &failure.stderr) {
        note(COMMAND, "its last lines on standard error:");
        for line in &failure.stderr {
            eprintln!("  {line}");
        }
    }
}

/// Shows and writes what was observed. Returns whether it could be written.
fn observations(outcome: &Outcome, report: Option<PathBuf>, quiet: bool) -> bool {
    let mut failed = Vec::new();
    if let Some(Timeline { file, made }) = &outcome.trace {
        match made {
            Made::Error(error) => failed.push(format!("there is no timeline {}: {error}", file.display())),
            Made::Merged(_) if quiet => {}
            Made::Merged(Merged { cut_off, dropped, .. }) => {
                let cut = if *cut_off > 0 { format!("; {cut_off} ranks ended early") } else { String::new() };
                let lost = if *dropped > 0 { format!("; {dropped} events had no room") } else { String::new() };
                let file = file.display();
                note(COMMAND, &format!("the timeline is {file} (open it in ui.perfetto.dev){cut}{lost}"));
            }
        }
    }
    if !quiet {
        outcome.closing.iter().flatten().for_each(|line| note(COMMAND, line));
    }
    if let Some(file) = report {
        let write = |out: &mut io::BufWriter<_>| Ok(serde_json::to_writer_pretty(out, &outcome.reports)?);
        failed.extend(file::replace(&file, write).err().map(|error| not_written(&file, &error)));
    }
    failed.iter().for_each(|why| error(COMMAND, why));
    failed.is_empty()
}

fn not_written(file: &Path, error: &dyn std::fmt::Display) -> String {
    format!("the reports cannot be written to {}: {error}", file.display())
}

fn variable(text: &str) -> Result<(OsString, OsString), String> {
    match text.split_once('=') {
        Some(("", _)) => Err("a variable needs a name: NAME=VALUE".into()),
        Some((name, value)) => Ok((name.into(), value.into())),
        None => match std::env::var_os(text) {
            Some(value) => Ok((text.into(), value)),
            None => Err(format!("{text} is not set here; give it a value: {text}=VALUE")),
        },
    }
}
