//! The command's side: starts the nodes, follows their reports.

use std::ffi::OsString;
use std::sync::Arc;

use indicatif::ProgressBar;
use lathide::launch::link::LinkSpec;
use lathide::launch::local::Job;
use parking_lot::Mutex;

use super::COMMAND;
use super::outcome::{Heard, Outcome};
use super::plan::{Event, Plan};
use crate::common::console::{describe, progress};
use crate::common::nodes::{self, Failed};
use crate::common::others::Others;

/// Measures everything, for each number of ranks.
pub(super) fn measure(link: &LinkSpec, plan: &Plan, sizes: &[u32], quiet: bool) -> Result<Outcome, Failed> {
    let seconds = plan.seconds;
    let what = format!("measuring over {}; takes about {seconds:.0} s", describe(link).how);
    let bar = progress(COMMAND, quiet, &what);
    let others = Others::watch();
    let plan = Plan { seconds: seconds / sizes.len() as f64, ..plan.clone() };
    let heard: Result<Vec<Heard>, Failed> = sizes.iter().map(|ranks| survey(link, &plan, *ranks, &bar)).collect();
    bar.finish_and_clear();
    let outcome = Outcome::new(describe(link), &heard?, others.and_then(|others| others.share()));
    outcome.ok_or_else(|| Failed::new("nothing was measured"))
}

/// What so many nodes measure.
fn survey(link: &LinkSpec, plan: &Plan, ranks: u32, bar: &ProgressBar) -> Result<Heard, Failed> {
    let program = std::env::current_exe().map_err(Failed::new)?;
    let json = serde_json::to_string(plan).map_err(Failed::new)?;
    let mut job = Job::new(ranks, program, ["__collectives-node", "--plan", &json].map(OsString::from));
    job.link = link.clone();
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
