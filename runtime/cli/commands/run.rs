//! `lathide run`: a program as a job of several ranks, on this machine or on several hosts.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use crate::launch::agent::Hosts;
use crate::launch::failed::Failed;
use crate::launch::link::LinkSpec;
use crate::launch::local::{End, Job, Made, Outcome, Stdin, Timeline, prefixed};
use clap::{Args, ValueEnum};
use lathide::Rank;
use lathide::launcher::quantity::WHOLE;
use lathide::launcher::timeline::Merged;
use lathide::launcher::variables;
use lathide::observe::file;

use crate::commands::common::console::{fail, print_json};
use crate::commands::common::environment::misspelt;
use crate::commands::common::hosts::HostArgs;
use crate::commands::common::options::{limit, one};

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
    #[command(flatten)]
    hosts: HostArgs,
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
    /// Say nothing but why the job failed
    #[arg(short, long)]
    quiet: bool,
    /// One JSON object on standard output when the job has ended; the ranks' output goes to standard error
    #[arg(long)]
    json: bool,
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
        return Err(Failed::usage(format!(
            "run has no option {option}; see lathide run --help (a program of that name is ./{option})"
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
    let outcome = job.clone().run(prefixed(stdout, io::stderr(), label))?;
    let is_shown = !json || print_json(COMMAND, &outcome) == ExitCode::SUCCESS;
    explain(&job, &outcome, quiet);
    let is_written = observations(&outcome, report, quiet);
    Ok(ExitCode::from(match outcome.exit_status {
        0 if !(is_shown && is_written) => 125,
        status => status,
    }))
}

/// What a person should know before the job starts.
fn notes(job: &Job) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if job.hosts.is_none() && io::stderr().is_terminal() && job.size as usize > cores {
        eprintln!("lathide: {} ranks share {cores} cores: they take turns, so times say little", job.size);
    }
    if !job.link.is_loopback() {
        eprintln!("lathide: the link is emulated: {}", job.link);
    }
    let names = std::env::vars_os().chain(job.env.iter().cloned()).map(|(name, _)| name);
    for (name, meant) in misspelt(names.map(|name| name.to_string_lossy().into_owned())) {
        eprintln!("lathide: {name} is no variable of lathide, and has no effect; is {meant} meant?");
    }
}

/// Why the job failed, if it did.
fn explain(job: &Job, outcome: &Outcome, quiet: bool) {
    if let Some(error) = &outcome.output_failed {
        eprintln!("lathide: the job was ended: what its ranks write cannot be passed on: {error}");
    }
    if outcome.timed_out {
        eprintln!("lathide: the job was ended after {} s (--timeout)", job.timeout.unwrap_or_default().as_secs_f64());
    }
    let Some(failure) = &outcome.first_failure else { return };
    let first = if job.size > 1 { " first" } else { "" };
    let host = outcome.ranks[failure.rank.index()].host.as_ref();
    let place = host.map(|host| format!(" on {host}")).unwrap_or_default();
    match failure.end {
        End::Exited(_) => eprintln!("lathide: rank {}{place} failed{first}: it {failure}", failure.rank),
        _ => eprintln!("lathide: rank {}{place} {failure}", failure.rank),
    }
    let blamed = outcome.ranks[failure.rank.index()].blames.and_then(|rank| outcome.ranks.get(rank.index()));
    if let Some((rank, host)) = blamed.and_then(|blamed| Some((blamed.rank, blamed.host.as_ref()?))) {
        eprintln!("lathide: it failed for want of rank {rank} on {host}");
    }
    if job.size > 1 && !quiet && !failure.stderr.is_empty() {
        eprintln!("lathide: its last lines on standard error:");
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
                eprintln!("lathide: the timeline is {} (open it in ui.perfetto.dev){cut}{lost}", file.display());
            }
        }
    }
    if !quiet {
        outcome.closing.iter().flatten().for_each(|line| eprintln!("lathide: {line}"));
    }
    if let Some(file) = report {
        let write = |out: &mut io::BufWriter<_>| Ok(serde_json::to_writer_pretty(out, &outcome.reports)?);
        failed.extend(file::replace(&file, write).err().map(|error| not_written(&file, &error)));
    }
    failed.iter().for_each(|why| eprintln!("lathide: {why}"));
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
