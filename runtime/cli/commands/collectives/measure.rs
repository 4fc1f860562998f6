//! The command's side: starts the nodes, follows their reports.

use std::sync::Arc;

use indicatif::ProgressBar;
use parking_lot::Mutex;

use super::args::COMMAND;
use super::outcome::{Heard, Outcome};
use super::plan::{Event, Plan};
use crate::commands::common::background::BackgroundLoad;
use crate::commands::common::console::progress;
use crate::commands::common::nodes::{self, Failed};
use crate::commands::common::target::Target;

/// Measures everything, for each number of ranks. Every operation has a job of its own, and so connections of its own: what
/// TCP's congestion control remembers of a gather, whose senders share the root's port, would slow other
/// operations down for a while.
pub(super) fn measure(target: &Target, plan: &Plan, sizes: &[u32], quiet: bool) -> Result<Outcome, Failed> {
    let seconds = plan.seconds;
    let what = format!("measuring over {}; takes about {seconds:.0} s", target.describe().how);
    let bar = progress(COMMAND, quiet, &what);
    let background = BackgroundLoad::watch();
    let plans = plan.by_operation(sizes.len());
    let mut heard: Vec<Heard> = Vec::new();
    for ranks in sizes {
        for plan in &plans {
            heard.push(survey(target, plan, *ranks, &bar)?);
        }
    }
    bar.finish_and_clear();
    let outcome = Outcome::new(target.describe(), &heard, background.and_then(|background| background.share()));
    outcome.ok_or_else(|| Failed::new("nothing was measured"))
}

/// What so many nodes measure.
fn survey(target: &Target, plan: &Plan, ranks: u32, bar: &ProgressBar) -> Result<Heard, Failed> {
    let json = serde_json::to_string(plan).map_err(Failed::new)?;
    let mut job = target.of_lathide(ranks, ["__collectives-node", "--plan", &json])?;
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
