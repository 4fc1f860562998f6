//! The options of `lathide collectives`.

use std::path::PathBuf;

use lathide::Collective;
use lathide::launcher::quantity::{Quantity, SIZE, WHOLE};

use crate::commands::common::options::{List, list, message_sizes, one, seconds};
use crate::commands::common::output::{Judged, Output};
use crate::commands::common::target::Place;
use crate::nearest::did_you_mean;

/// Measure collectives by every algorithm, beside what the model predicts, and how good the choice is
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The number of ranks [default: 4; with --papers 4 and 8]
    #[arg(short = 'n', value_name = "N", value_parser = one::<u32>(RANKS), conflicts_with = "ranks")]
    pub(super) size: Option<u32>,
    /// Several numbers of ranks, one after the other, such as 2,4,8 or 2..8*2
    #[arg(long, value_name = "LIST", value_parser = list::<u32>(RANKS))]
    pub(super) ranks: Option<List<u32>>,
    /// Operations to measure, such as broadcast,allreduce [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = operation)]
    pub(super) operations: Option<Vec<Collective>>,
    /// Algorithms to measure, with a window where there is one, such as chain,ring,windowed/2 [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(super) algorithms: Option<Vec<String>>,
    /// Sizes, such as 8,64KiB or 8..1MiB*4: of the whole for broadcast, reduce, allreduce and scans, else of a rank's block
    /// [default: as many as the time allows, up to 1 MiB]
    #[arg(long, value_name = "LIST", value_parser = message_sizes)]
    pub(super) bytes: Option<List<usize>>,
    /// How long it takes, with fewer repetitions and sizes if need be; about so long with --repeats and --papers
    /// [default: 45s, with --papers 75s]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(super) seconds: Option<f64>,
    /// How often everything is measured at least, however long it takes [default: as often as the time allows]
    #[arg(long, value_name = "N", value_parser = one::<u32>(WHOLE.within("1", "30")), conflicts_with = "papers")]
    pub(super) repeats: Option<u32>,
    /// Measure gather, broadcast and neighbour exchange as Tam and Wang and as Stoica, Sultan and Keyes did, beside their
    /// equations
    #[arg(long, conflicts_with_all = ["operations", "algorithms", "bytes"])]
    pub(super) papers: bool,
    /// With --papers: what the queue in front of a receiver holds (B_L)
    /// [default: contention.queue_bytes of --from, else no limit]
    #[arg(long, value_name = "SIZE", value_parser = one::<u64>(SIZE.within("1B", "16GiB")), requires = "papers")]
    pub(super) queue: Option<u64>,
    /// With --papers: a result of lathide link --json that says it
    #[arg(long, value_name = "FILE", requires = "papers")]
    pub(super) from: Option<PathBuf>,
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
  lathide collectives                             all of them, 4 ranks, loopback of this machine
  lathide collectives --link delay=0.2ms,rate=100mbit --ranks 4,8 --operations broadcast,allreduce
  lathide collectives --link lan -n 8 --operations gather --algorithms simple,windowed/2 --bytes 64KiB
  lathide collectives --hosts a:2,b:2 --operations broadcast
  lathide collectives --papers --ranks 4,8,16 --queue 64KiB    the figures of the papers, on this link
  lathide collectives --json > collectives.json";

const RANKS: Quantity = WHOLE.within("2", "64");

fn operation(text: &str) -> Result<Collective, String> {
    let known = Collective::ALL.into_iter().find(|known| known.name() == text.trim());
    let names = Collective::ALL.map(Collective::name);
    known.ok_or_else(|| format!("these are the operations: {}{}", names.join(", "), did_you_mean(text, names)))
}
