//! The options of `lathide gain`.

use std::ffi::OsString;

use lathide::launcher::quantity::{NUMBER, WHOLE};

use crate::commands::common::options::{List, list, one, repeats, seconds, socket_buffers};
use crate::commands::common::output::{Judged, Output};
use crate::commands::common::target::Place;

/// Measure the gain of communication latency hiding on a link, or that of a program
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The granularities t_calc/t_com to measure at, such as 0.5,1,2 or 0.25..4*2; one with --halo
    /// [default: 0.25,0.5,0.75,0.9,0.95,1,1.1,1.5,2,4; 0.1 with --halo]
    #[arg(long, value_name = "LIST", value_parser = list::<f64>(NUMBER.within("0.01", "100")), conflicts_with = "program")]
    pub(super) gamma: Option<List<f64>>,
    /// Points per column of the grid: a message has 8 bytes for each; several are measured one after the other; one with
    /// --halo [default: 100000; 500 with --halo]
    #[arg(long, value_name = "LIST", value_parser = list::<u64>(WHOLE.within("2", "10000000")), conflicts_with = "program")]
    pub(super) rows: Option<List<u64>>,
    /// Instead: so many ghost columns, such as 1..64*2, and as many steps for each exchange, beside I.1 with one
    #[arg(long, value_name = "LIST", value_parser = list::<u32>(WHOLE.within("1", "1000000")),
          conflicts_with_all = ["program", "socket_buffer", "steps"])]
    pub(super) halo: Option<List<u32>>,
    /// Send and receive buffers of the sockets, lathide's and raw TCP's: 4KiB,16KiB,default; each is measured with all --rows
    /// [default: LATHIDE_SOCKET_BUFFER, or sized by the system]
    #[arg(long, value_name = "LIST", value_parser = socket_buffers, conflicts_with = "program")]
    pub(super) socket_buffer: Option<List<Option<u32>>>,
    /// Time steps per measurement [default: as many as take 0.12 s]
    #[arg(long, value_name = "T", value_parser = one::<u32>(WHOLE.within("1", "10000")), conflicts_with = "program")]
    pub(super) steps: Option<u32>,
    /// How often everything is measured; medians count [default: 6, or fewer where the time is over before]
    #[arg(long, value_name = "R", value_parser = repeats)]
    pub(super) repeats: Option<u32>,
    /// How long it takes: fewer repetitions if need be, and fewer granularities, those far from 1 first; with --repeats, as long as
    /// those take [default: as long as six repetitions take]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(super) seconds: Option<f64>,
    /// The number of ranks of the program
    #[arg(short = 'n', value_name = "N", value_parser = one::<u32>(WHOLE.within("1", "4096")),
          requires = "program", default_value_t = 2)]
    pub(super) ranks: u32,
    /// The region of the program that is timed: node.region("NAME") in it [default: solve, or else all regions that it marks but
    /// barrier, setup, start, check and result; of a program without regions all]
    #[arg(long, value_name = "NAME", requires = "program")]
    pub(super) region: Option<String>,
    #[command(flatten)]
    pub(super) output: Output,
    #[command(flatten)]
    pub(super) judged: Judged,
    /// Measure this program instead: it runs unchanged, with LATHIDE_OVERLAP=on and off in turns
    #[arg(last = true, value_name = "PROGRAM")]
    pub(super) program: Vec<OsString>,
    // Last, since what follows would stand under the heading of its hosts.
    #[command(flatten)]
    pub(super) place: Place,
}

const EXAMPLES: &str = "\
Examples:
  lathide gain                                    an emulated link of 100 Mbit/s, one to two minutes
  lathide gain --link wan --gamma 0.5,1,2         an emulated wide-area link
  lathide gain --hosts localhost,b                the network between this machine and b
  lathide gain --halo 1..64*2 --link wan          several steps for each exchange, where messages are slow
  lathide gain --rows 500,1000 --steps 50 --socket-buffer 4KiB,default
  lathide gain --seconds 20 --strict              in 20 s; exit status 3 unless the result is valid
  lathide gain --json > gain.json
  lathide gain -n 4 --link ethernet -- ./heat     a program of yours, unchanged";

/// The sweep, and the link it runs on unless told otherwise: both sides of gamma = 1, closer where the gain is greatest,
/// and the class of link of the paper's section 4.2, ten times as fast.
pub(super) const GAMMAS: [f64; 10] = [0.25, 0.5, 0.75, 0.9, 0.95, 1.0, 1.1, 1.5, 2.0, 4.0];
pub(super) const ROWS: u64 = 100_000;
/// A median has an interval from six repetitions on.
pub(super) const REPEATS: u32 = 6;
pub(super) const LINK: &str = "delay=0.2ms,rate=100mbit";
