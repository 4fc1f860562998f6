//! The options of `lathide gain`.

use std::ffi::OsString;

use lathide::launcher::quantity::{NUMBER, WHOLE};

use crate::commands::common::hosts::HostArgs;
use crate::commands::common::options::{List, list, one, repeats};
use crate::commands::common::output::Output;
use crate::commands::common::target::Target;
use crate::launch::failed::Failed;
use crate::launch::link::LinkSpec;

/// Measure the gain of communication latency hiding on a link, or that of a program
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Emulated link, as in `lathide run` [default: delay=0.2ms,rate=100mbit; with a program: loopback]
    #[arg(long, value_name = "SPEC", conflicts_with = "hosts")]
    pub(super) link: Option<LinkSpec>,
    #[command(flatten)]
    pub(super) hosts: HostArgs,
    /// The granularities t_calc/t_com to measure at, such as 0.5,1,2 or 0.25..4*2
    #[arg(long, value_name = "LIST", value_parser = list::<f64>(NUMBER.within("0.01", "100")), conflicts_with = "program",
          default_value = GAMMAS)]
    pub(super) gamma: List<f64>,
    /// Points per column of the grid: a message has 8 bytes for each
    #[arg(long, value_name = "N", value_parser = one::<u64>(WHOLE.within("2", "10000000")),
          conflicts_with = "program", default_value_t = 100_000)]
    pub(super) rows: u64,
    /// How often everything is measured; medians count [default: 5]
    #[arg(long, value_name = "R", value_parser = repeats)]
    pub(super) repeats: Option<u32>,
    /// The number of ranks of the program
    #[arg(short = 'n', value_name = "N", value_parser = one::<u32>(WHOLE.within("1", "4096")),
          requires = "program", default_value_t = 2)]
    pub(super) ranks: u32,
    #[command(flatten)]
    pub(super) output: Output,
    /// Measure this program instead: it runs unchanged, with LATHIDE_OVERLAP=on and off in turns
    #[arg(last = true, value_name = "PROGRAM")]
    pub(super) program: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  lathide gain                                    an emulated link of 100 Mbit/s, less than a minute
  lathide gain --link wan --gamma 0.5,1,2         an emulated wide-area link
  lathide gain --hosts localhost,b                the network between this machine and b
  lathide gain --json > gain.json
  lathide gain -n 4 --link ethernet -- ./heat     a program of yours, unchanged";

/// The sweep, and the link it runs on unless told otherwise: both sides of gamma = 1, closer where the gain is greatest,
/// and the class of link of the paper's section 4.2, ten times as fast.
const GAMMAS: &str = "0.25,0.5,0.75,0.9,0.95,1,1.1,1.5,2,4";
pub(super) const REPEATS: u32 = 5;
pub(super) const LINK: &str = "delay=0.2ms,rate=100mbit";

impl Args {
    /// Where it is measured; on this machine without `--link`, over `link`.
    pub(super) fn target(&self, link: &str) -> Result<Target, Failed> {
        let link = if self.hosts.is_given() { "loopback" } else { link };
        Target::new(self.link.clone().map_or_else(|| link.parse().map_err(Failed::new), Ok)?, self.hosts.clone())
    }
}
