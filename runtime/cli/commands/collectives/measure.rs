//! The command's side: starts the nodes, follows their reports.

use super::plan::Plan;
use super::results::{Heard, results};
use crate::commands::common::background::BackgroundLoad;
use crate::commands::common::console::progress;
use crate::commands::common::nodes::Nodes;
use crate::commands::common::target::Target;
use crate::launch::failed::{Failed, Result};
use crate::report::results::Results;

/// Measures everything, for each number of ranks. Every operation has a job of its own, and so connections of its own: what
/// TCP's congestion control remembers of a gather, whose senders share the root's port, would slow other
/// operations down for a while.
pub(super) fn measure(target: &Target, plan: &Plan, sizes: &[u32], quiet: bool) -> Result<Results> {
    let what = format!("measuring over {}; takes about {:.0} s", target.describe().how, plan.seconds);
    let bar = progress("lathide collectives", quiet, &what);
    let background = BackgroundLoad::watch();
    let nodes = Nodes { target, command: "collectives", bar };
    let mut heard: Vec<Heard> = Vec::new();
    for &ranks in sizes {
        for plan in plan.by_operation(sizes.len()) {
            heard.push(Heard::of(nodes.run(ranks, &plan, &[("LATHIDE_COLLECTIVE", "")])?.0));
        }
    }
    let load = background.and_then(|background| background.share());
    results(target.describe(), &heard, load).ok_or_else(|| Failed::new("nothing was measured"))
}
