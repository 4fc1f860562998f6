//! The options of `lathide link`.

use lathide::launcher::quantity::{Quantity, WHOLE};

use crate::commands::common::options::{List, list, message_sizes, repeats, seconds};
use crate::commands::common::output::{Judged, Output};
use crate::commands::common::target::Place;

/// Measure what a link can do: lathide beside raw TCP, blocking and polled, in the same run
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Message sizes to measure with, such as 8,64KiB or 8..1MiB*4 [default: as many as the time allows, up to 16 MiB]
    #[arg(long, value_name = "LIST", value_parser = message_sizes)]
    pub(super) bytes: Option<List<usize>>,
    /// How often everything is measured, however long it takes; medians count [default: 6, or fewer where the time is over before]
    #[arg(long, value_name = "N", value_parser = repeats)]
    pub(super) repeats: Option<u32>,
    /// How long it takes; sizes, numbers of messages and repetitions are chosen to fit. With --repeats, about so long
    /// [default: 45s]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(super) seconds: Option<f64>,
    /// Also so many disjoint pairs at once, such as 1,2,4,8: what they share (a_c, b_c), and what the network holds (B_L).
    /// Takes hosts, a rank for each slot, or a shared --link
    #[arg(long, value_name = "LIST", value_parser = list::<u32>(PAIRS))]
    pub(super) pairs: Option<List<u32>>,
    #[command(flatten)]
    pub(super) output: Output,
    #[command(flatten)]
    pub(super) judged: Judged,
    // Last, since what follows would stand under the heading of its hosts.
    #[command(flatten)]
    pub(super) place: Place,
}

const EXAMPLES: &str = "\
Examples:
  lathide link                                    loopback of this machine, less than a minute
  lathide link --link wan                         an emulated wide-area link
  lathide link --link delay=1ms,rate=100mbit --bytes 8,64KiB,1MiB
  lathide link --hosts localhost,b                the network between this machine and b
  lathide link --hosts a,b,c,d --pairs 1,2        what pairs of these hosts share: a medium, a port, or nothing
  lathide link --json > link.json";

const PAIRS: Quantity = WHOLE.within("1", "32");
