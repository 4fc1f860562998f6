//! The command's side: starts the nodes, follows their reports.

use std::sync::Arc;

use indicatif::ProgressBar;
use parking_lot::Mutex;

use super::args::COMMAND;
use super::outcome::{Heard, Outcome};
use super::plan::{Event, Plan};
use crate::commands::common::background::Others;
use crate::commands::common::console::progress;
use crate::commands::common::nodes::{self, Failed};
use crate::commands::common::target::Ground;

/// Measures everything, for each number of ranks. Every operation has a job of its own, and so connections of its own: what
/// TCP's congestion control remembers of a gather, whose senders share the root's port, would slow other
/// operations down for a while.
pub(super) fn measure(ground: &Ground, plan: &Plan, sizes: &[u32], quiet: bool) -> Result<Outcome, Failed> {
    let seconds = plan.seconds;
    let what = format!("measuring over {}; takes about {seconds:.0} s", ground.describe().how);
    let bar = progress(COMMAND, quiet, &what);
    let others = Others::watch();
    let plans = plan.by_operation(sizes.len());
    let mut heard: Vec<Heard> = Vec::new();
    for ranks in sizes {
        for plan in &plans {
            heard.push(survey(ground, plan, *ranks, &bar)?);
        }
    }
    bar.finish_and_clear();
    let outcome = Outcome::new(ground.describe(), &heard, others.and_then(|others| others.share()));
    outcome.ok_or_else(|| Failed::new("nothing was measured"))
}

/// What so many nodes measure.
fn survey(ground: &Ground, plan: &Plan, ranks: u32, bar: &ProgressBar) -> Result<Heard, Failed> {
    let json = serde_json::to_string(plan).map_err(Failed::new)?;
    let mut job = ground.of_lathide(ranks, ["__collectives-node", "--plan", &json])?;
    job.env = vec![("LATHIDE_OVERLAP".into(), "on".into()), ("LATHIDE_COLLECTIVE".into(), "".into())];
    let heard = Arc::new(Mutex::new(Heard::default()));
    let (sink, shown) = (Arc::clone(&heard), bar.clone());
    nodes::follow(job, move |event| match event {
        Event::Progress(done, of, now) => {
            shown.set_length(of);
            shown.set_position(done);
            shown.set_message(format!("{ranks} ranks: {now}"));
        }
        event => sink.lock().take(event),
    })?;
    Ok(std::mem::take(&mut *heard.lock()))
}
