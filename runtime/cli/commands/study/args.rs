//! The options of `lathide study`.

use std::ffi::OsString;
use std::path::PathBuf;

use lathide::launcher::quantity::WHOLE;
use serde::Serialize;

use super::sweep::Sweep;
use super::version::Version;
use crate::commands::common::options::{one, repeats, seconds};
use crate::commands::common::output::{Judged, Output};
use crate::commands::common::target::Place;

/// What a native version is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Contention {
    /// Every rank as if it sent alone.
    None,
    /// As many as were seen to send at once.
    #[default]
    Observed,
    /// All that send in a class.
    Full,
}

/// Run a program in its versions: what messages and hiding take, predicted from the link, beside what is measured
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The number of ranks [default: 2, or --sweep ranks=LIST]
    #[arg(short = 'n', value_name = "N", value_parser = one::<u32>(WHOLE.within("1", "4096")))]
    pub(super) ranks: Option<u32>,
    /// What changes from point to point, such as size=16..512*2: {size} in the program's arguments is replaced; `ranks` sets
    /// their number. Several go together, item by item
    #[arg(long = "sweep", value_name = "NAME=LIST", value_parser = Sweep::read)]
    pub(super) sweeps: Vec<Sweep>,
    /// The versions of the program; {version} in its arguments is replaced
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "native,synchronised,hidden")]
    pub(super) versions: Vec<Version>,
    /// The regions whose messages count [default: all but barrier, setup, start, check and
    /// result, which never count]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(super) classes: Option<Vec<String>>,
    /// How many send at once in the prediction of T_s that the native version is compared with: one, as many as were observed, or
    /// all. The synchronised version is compared with all, or with one if this is none
    #[arg(long, value_name = "WHICH", default_value = "observed")]
    pub(super) contention: Contention,
    /// The region that is a unit of work: all is told for one [default: iteration or cycle, else the whole job]
    #[arg(long, value_name = "REGION")]
    pub(super) per: Option<String>,
    /// The link's parameters, a saved result of lathide link --pairs 1,2 --json [default: measured first]
    #[arg(long, value_name = "FILE")]
    pub(super) from: Option<PathBuf>,
    /// About how long it may take; everything is run once at least
    #[arg(long, value_name = "TIME", value_parser = seconds, default_value_t = SECONDS)]
    pub(super) seconds: f64,
    /// How often everything is run, if that fits; medians count
    #[arg(long, value_name = "R", value_parser = repeats, default_value_t = REPEATS)]
    pub(super) repeats: u32,
    #[command(flatten)]
    pub(super) output: Output,
    #[command(flatten)]
    pub(super) judged: Judged,
    /// The program and its arguments, with {version} and the names of --sweep in braces where their values go
    #[arg(last = true, value_name = "PROGRAM", required = true)]
    pub(super) program: Vec<OsString>,
    // Last, since what follows would stand under the heading of its hosts.
    #[command(flatten)]
    pub(super) place: Place,
}

const EXAMPLES: &str = "\
Examples:
  lathide study -n 4 --link rate=50mbit,shared -- ./solver --version {version}
  lathide study --hosts a,b,c,d -n 4 --sweep size=16..512*2 -- ./solver --version {version} {size}
  lathide study --hosts a,b,c,d --sweep ranks=2,4,4 --sweep px=1,1,2 --versions native,synchronised --classes grid
      -- ./flow --version {version} --px {px}
  lathide study --from link.json --per cycle --json -- ./flow --version {version} > study.json";

const SECONDS: f64 = 45.0;
const REPEATS: u32 = 3;
