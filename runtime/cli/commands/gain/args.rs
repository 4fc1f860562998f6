//! The options of `lathide gain`.

use std::ffi::OsString;

use crate::commands::common::failed::Failed;
use crate::commands::common::hosts::HostArgs;
use crate::commands::common::output::Output;
use crate::commands::common::target::Target;
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
    /// The granularities t_calc/t_com to measure at
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = gamma, conflicts_with = "program",
          default_values_t = GAMMAS)]
    pub(super) gamma: Vec<f64>,
    /// Points per column of the grid: a message has 8 bytes for each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=10_000_000),
          conflicts_with = "program", default_value_t = 100_000)]
    pub(super) rows: u64,
    /// How often everything is measured; medians count [default: 5]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) repeats: Option<u32>,
    /// The number of ranks of the program
    #[arg(short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096),
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
const GAMMAS: [f64; 10] = [0.25, 0.5, 0.75, 0.9, 0.95, 1.0, 1.1, 1.5, 2.0, 4.0];
pub(super) const REPEATS: u32 = 5;
pub(super) const LINK: &str = "delay=0.2ms,rate=100mbit";
/// Beyond it, communication or calculation is all there is.
const GAMMA_RANGE: std::ops::RangeInclusive<f64> = 0.01..=100.0;

impl Args {
    /// Where it is measured; on this machine without `--link`, over `link`.
    pub(super) fn target(&self, link: &str) -> Result<Target, Failed> {
        let link = if self.hosts.is_given() { "loopback" } else { link };
        Target::new(self.link.clone().map_or_else(|| link.parse(), Ok)?, self.hosts.clone())
    }
}

fn gamma(text: &str) -> Result<f64, String> {
    let gamma: f64 = text.trim().parse().map_err(|error| format!("{error}"))?;
    if GAMMA_RANGE.contains(&gamma) {
        Ok(gamma)
    } else {
        let (low, high) = (GAMMA_RANGE.start(), GAMMA_RANGE.end());
        Err(format!("gamma must be above 0: at least {low} and at most {high}"))
    }
}
