//! The options of `lathide link`.

use crate::commands::common::console;
use crate::commands::common::hosts::HostArgs;
use crate::commands::common::output::Output;
use crate::launch::link::LinkSpec;

/// Measure what a link can do: lathide beside raw TCP, blocking and polled, in the same run
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Emulated link, as in `lathide run`: loopback, lan, wan, ethernet, or delay=25ms,rate=50mbit[,jitter=1ms]
    #[arg(long, value_name = "SPEC", default_value = "loopback", conflicts_with = "hosts")]
    pub(super) link: LinkSpec,
    #[command(flatten)]
    pub(super) hosts: HostArgs,
    /// Message sizes to measure with, such as 8,64KiB,1MiB [default: as many as the time allows, up to 16 MiB]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = console::size)]
    pub(super) bytes: Option<Vec<usize>>,
    /// How often everything is measured; medians count [default: 5, or 3 where the time is over before]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) repeats: Option<u32>,
    /// About how long it may take; sizes and numbers of messages are chosen to fit
    #[arg(long, value_name = "S", value_parser = console::seconds, default_value_t = SECONDS)]
    pub(super) seconds: f64,
    #[command(flatten)]
    pub(super) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  lathide link                                    loopback of this machine, less than a minute
  lathide link --link wan                         an emulated wide-area link
  lathide link --link delay=1ms,rate=100mbit --bytes 8,64KiB,1MiB
  lathide link --hosts localhost,b                the network between this machine and b
  lathide link --json > link.json";

const SECONDS: f64 = 45.0;
