//! The command's side: starts the nodes, follows their reports.

use std::ffi::OsString;
use std::sync::Arc;

use lathide::launch::link::{LinkSpec, Relay};
use lathide::launch::local::Job;
use parking_lot::Mutex;

use super::COMMAND;
use super::analysis::Block;
use super::outcome::Outcome;
use super::plan::{Event, Plan, Probe, RawPlace, Wishes};
use super::raw;
use crate::common::console::{describe, progress};
use crate::common::nodes::{self, Failed};

/// What the nodes have said.
#[derive(Default)]
struct Heard {
    probe: Option<Probe>,
    blocks: Vec<Block>,
}

/// Measures everything.
pub(super) fn measure(link: &LinkSpec, wishes: &Wishes, quiet: bool) -> Result<Outcome, Failed> {
    let what = format!("measuring over {}; takes about {:.0} s", describe(link).how, wishes.seconds);
    let bar = progress(COMMAND, quiet, &what);
    let shown = bar.clone();
    let heard = survey(link, wishes, move |done, of, now| {
        shown.set_length(of);
        shown.set_position(done);
        shown.set_message(now);
    });
    bar.finish_and_clear();
    let Heard { probe, blocks } = heard?;
    let nothing = || Failed::new("nothing was measured");
    Outcome::new(describe(link), probe.ok_or_else(nothing)?, &blocks).ok_or_else(nothing)
}

/// Everything that one pair of nodes can measure.
fn survey(
    link: &LinkSpec,
    wishes: &Wishes,
    mut show: impl FnMut(u64, u64, String) + Send + 'static,
) -> Result<Heard, Failed> {
    let system = |error: std::io::Error| Failed::new(format!("no place for the raw connection: {error}"));
    // The port is kept, so that the link can lead there before rank 0 listens.
    let (_port, listen) = raw::reserve_port().map_err(system)?;
    let relay = if link.is_loopback() { None } else { Some(Relay::start(link, vec![listen]).map_err(system)?) };
    let connect = relay.as_ref().map_or(listen, |relay| relay.addresses()[0]);
    let plan = Plan::Link { raw: RawPlace { listen, connect }, wishes: wishes.clone() };
    let heard = Arc::new(Mutex::new(Heard::default()));
    let sink = Arc::clone(&heard);
    nodes::follow(job(link, &plan)?, move |event| match event {
        Event::Progress { done, of, now } => show(done, of, now),
        Event::Probed(probe) => sink.lock().probe = Some(probe),
        Event::Measured(order, mine, theirs) => sink.lock().blocks.push(Block { order, mine, theirs }),
        Event::Fragments(_) => {}
    })?;
    let heard = std::mem::take(&mut *heard.lock());
    Ok(heard)
}

fn job(link: &LinkSpec, plan: &Plan) -> Result<Job, Failed> {
    let program = std::env::current_exe().map_err(Failed::new)?;
    let json = serde_json::to_string(plan).map_err(Failed::new)?;
    let args = ["__link-node", "--plan", &json].map(OsString::from);
    let mut job = Job::new(2, program, args);
    job.link = link.clone();
    job.env = vec![("LATHIDE_OVERLAP".into(), "on".into())];
    Ok(job)
}
