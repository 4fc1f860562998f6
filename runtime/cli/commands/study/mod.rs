//! `lathide study`: a program in its versions over one link, what its messages and its hiding take predicted beside measured, as
//! Stoica, Sultan and Keyes 1994 (section 5) and Strumpen 1994 show their applications.
//!
//! The parameters are the link's, measured without the program; the inventory is what the ranks count of themselves.

mod args;
mod plan;
mod points;
mod results;
mod runs;
mod show;
mod sweep;
#[cfg(test)]
mod tests;
mod version;

use std::process::ExitCode;
use std::time::Instant;

pub(crate) use args::Args;

use crate::commands::common::background::BackgroundLoad;
use crate::commands::common::nodes::look;
use crate::commands::common::session::Session;
use crate::commands::common::target::Target;
use crate::commands::link;
use crate::commands::predict::{LinkPrices, link_prices};
use crate::launch::failed::{Failed, Result};
use crate::report::results::Results;
use crate::report::verdict::{Evidence, HostLoad};

/// Of the time, what the link's parameters get if they are measured first.
const LINK: f64 = 0.25;

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    args.output.show_judged("lathide study", measured(args), args.judged)
}

fn measured(args: &Args) -> Result<Results> {
    let (began, session) = (Instant::now(), Session::new());
    let plan = plan::Plan::of(args).map_err(Failed::usage)?;
    let target = args.place.target("loopback")?;
    let prices = parameters(args, &target, plan.most_ranks())?;
    let background = BackgroundLoad::watch();
    let target = Target { hosts: target.hosts.spread(), ..target };
    let unknown = look(&target, plan.most_ranks(), &session);
    if session.is_interrupted() {
        return Err(session.nothing());
    }
    let (runs, note) = runs::measure(args, &plan, &target, began)?;
    let load = background.and_then(|background| background.share());
    let mut results = results::results(args, (&plan, &target.describe()), &prices, &runs)?;
    results.notes.extend(note.into_iter().chain(unknown));
    results.notes.extend(crowded(&target, plan.most_ranks())?);
    let here = |share| HostLoad { host: "this machine".to_owned(), others: share, stolen: 0.0 };
    let loads = load.map(here).into_iter().collect();
    session.judge(&mut results, Evidence { loads, ..Evidence::default() });
    Ok(results)
}

/// What to say where hosts have several ranks: the model has one sender on each.
fn crowded(target: &Target, ranks: u32) -> Result<Option<String>> {
    let hosts = target.hosts.place_quietly(None)?.map_or(ranks, |hosts| hosts.places.len() as u32);
    Ok((hosts < ranks).then(|| {
        format!(
            "{ranks} ranks are on {hosts} hosts: those of one host share its way out, and the model counts each as a host of \
             its own"
        )
    }))
}

/// The link's, saved or measured now.
fn parameters(args: &Args, target: &Target, ranks: u32) -> Result<LinkPrices> {
    if let Some(from) = &args.from {
        return LinkPrices::read(from);
    }
    let (results, unknown) = link::parameters(target, ranks, LINK * args.seconds, args.output.quiet)?;
    let mut prices = link_prices("the link", &serde_json::to_value(&results)?)?;
    prices.notes.extend(unknown);
    Ok(prices)
}
