//! What the study has found: errors, a conclusion, the JSON object.

use serde::Serialize;
use serde_json::json;

use super::args::Args;
use super::plan::Plan;
use super::points::Measured;
use super::runs::Run;
use super::show;
use super::version::Version;
use crate::commands::common::console::Link;
use crate::commands::predict::LinkPrices;
use crate::launch::failed::{Failed, Result};
use crate::report::description::MachineDescription;
use crate::report::results::Results;
use crate::report::summary::Summary;

/// The version changes when a member of the JSON object changes its meaning or goes.
const SCHEMA: &str = "lathide-study-1";

/// Errors without their signs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Errors {
    /// How many there are.
    pub(super) points: usize,
    pub(super) median: f64,
    pub(super) greatest: f64,
}

impl Errors {
    fn of(errors: impl IntoIterator<Item = Option<f64>>) -> Option<Self> {
        let errors: Vec<f64> = errors.into_iter().flatten().map(f64::abs).collect();
        let points = errors.len();
        Summary::of(errors).map(|it| Errors { points, median: it.median, greatest: it.max })
    }

    fn in_words(self) -> String {
        let percent = |error: f64| format!("{:.0} %", 100.0 * error);
        match self.points {
            1 => format!("error {}", percent(self.greatest)),
            _ => format!("median error {}, greatest {}", percent(self.median), percent(self.greatest)),
        }
    }
}

/// The results. In the JSON object:
///
/// - `command`, `versions`, `classes` (`null`: all that count), `contention`, `per` (`null`: the job), `repeats`.
/// - `parameters`, `from`: of the link.
/// - `sending`, `receiving`, `gain`: a row for each point of the sweeps, whose values are its members `ranks` and `at_NAME`.
/// - `by_class`: every class at the last point, for each version and direction.
/// - `errors`: without their signs, of T_s and T_r.
///
/// # Errors
/// If a class that was asked for is not there, or nothing was sent.
pub(super) fn results(
    args: &Args,
    (plan, link): (&Plan, &Link),
    prices: &LinkPrices,
    repetitions: &[Vec<Run>],
) -> Result<Results> {
    let measured = Measured::of(plan, repetitions, &prices.prices, (args.classes.as_deref(), args.contention))
        .map_err(Failed::new)?;
    let sending = Errors::of(measured.sending.iter().flat_map(|row| [row.native_error, row.synchronised_error]));
    let receiving = Errors::of(measured.receiving.iter().map(|row| row.error));
    let last = repetitions.first().and_then(|runs| runs.last());
    let per = last.and_then(|run| run.inventory.per.clone());
    let command: Vec<_> = args.program.iter().map(|word| word.to_string_lossy()).collect();
    let data = json!({
        "machine": MachineDescription::here(),
        "link": link,
        "command": command,
        "versions": plan.versions,
        "classes": args.classes,
        "contention": args.contention,
        "per": per,
        "repeats": repetitions.len(),
        "from": prices.from,
        "parameters": prices.parameters,
        "sending": measured.sending,
        "receiving": measured.receiving,
        "gain": measured.gain,
        "by_class": measured.classes,
        "errors": { "sending": sending, "receiving": receiving },
    });
    let mut results = Results::new(SCHEMA, format!("Study of {}", command.join(" ")), &data);
    results.text(headline(&measured, [sending, receiving]));
    show::show(&mut results, plan, per.as_deref().unwrap_or("job"), args.classes.as_deref());
    results.conclusion = conclusion(&measured);
    results.notes = prices.notes.clone();
    if link.emulated {
        results.notes.push(
            "an emulated link is behind the relay that emulates it, and messages leave a rank at the pace of this machine: \
             T_s is not that of the link (between --hosts it is; lathide lab has such hosts)"
                .to_owned(),
        );
    }
    results.notes.extend(notes(plan, repetitions, &measured));
    Ok(results)
}

/// The errors and G, in a line.
pub(super) fn headline(measured: &Measured, [sending, receiving]: [Option<Errors>; 2]) -> String {
    let mut parts = Vec::new();
    for (name, errors) in [("T_s", sending), ("T_r", receiving)] {
        parts.extend(errors.map(|errors| format!("{name}: {}", errors.in_words())));
    }
    let greatest = measured.gain.iter().filter(|row| row.gain.is_some());
    let of = |row: &super::points::Gain| row.gain.map_or(0.0, |gain| gain.median);
    if let Some(row) = greatest.max_by(|one, other| of(one).total_cmp(&of(other))) {
        let model = |name: &str, value: Option<f64>| value.map(|value| format!("{name} {value:.2}"));
        let models: Vec<String> =
            [model("eq. (1)", row.gain_ideal), model("eq. (4)", row.gain_model)].into_iter().flatten().collect();
        let models = if models.is_empty() { String::new() } else { format!(" ({})", models.join(", ")) };
        let most = if measured.gain.len() > 1 { "up to " } else { "" };
        parts.push(format!("G of hiding: {most}{:.2}{models}", of(row)));
    }
    if parts.is_empty() { String::new() } else { format!("{}.", parts.join("; ")) }
}

/// What the distance between both curves means, section 5.2.2.
pub(super) fn conclusion(measured: &Measured) -> String {
    let Some(last) = measured.sending.last() else { return String::new() };
    let together = match (last.senders_observed, last.senders) {
        (Some(observed), Some(most)) => format!(
            "At the last point {observed:.2} of {most:.0} ranks send at the same time on average, left to themselves."
        ),
        _ => String::new(),
    };
    let ratio = last.full_s / last.alone_s;
    let contention = match ratio {
        ratio if ratio > 1.05 => format!(" All at once, the messages would take {ratio:.2} times as long as alone."),
        _ => " All at once, the messages would take no longer than alone, by the model.".to_owned(),
    };
    (together + &contention).trim_start().to_owned()
}

/// What limits these numbers.
fn notes(plan: &Plan, repetitions: &[Vec<Run>], measured: &Measured) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let runs = || repetitions.iter().flatten();
    for note in runs().flat_map(|run| &run.inventory.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    if runs().any(|run| run.inventory.per.is_none()) {
        notes.push(
            "the program has no region iteration or cycle, and --per names none: all is told of the whole job"
                .to_owned(),
        );
    }
    if measured.sending.iter().any(|row| row.differs) {
        notes.push(
            "the synchronised version sends other messages than the native one: predictions shown are for the native one's, the \
             error of the synchronised one is by its own"
                .to_owned(),
        );
    }
    let unmeasured = |version| plan.versions.contains(&version);
    if unmeasured(Version::Native) && measured.sending.iter().any(|row| row.native_s.is_none()) {
        notes.push(
            "the sending times of some messages are unknown: the program's lathide does not time them".to_owned(),
        );
    }
    let left_out: Vec<&str> = measured
        .classes
        .iter()
        .filter(|it| it.version == Version::Synchronised && it.direction == "received" && it.row.measured_s.is_none())
        .map(|it| it.row.class.as_str())
        .collect();
    if !left_out.is_empty() {
        notes.push(format!("T_r is without {}: what collectives receive is not timed", left_out.join(", ")));
    }
    notes
}
