//! What was measured at each point, beside what is predicted: plain data, as in the JSON object. Pure.

use lathide_models::BadParameter;
use lathide_models::gain;
use lathide_models::hyperbolic::Prices;
use serde::Serialize;
use serde_json::{Map, Value};

use super::args::Contention;
use super::plan::Plan;
use super::runs::Run;
use super::version::Version;
use crate::commands::common::inventory::{self, Class, Row, counts};
use crate::report::summary::Summary;

/// Versions whose messages differ by a greater part do not send the same.
const DIFFER: f64 = 0.01;

/// T_s of all chosen classes at a point, per unit and rank.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Sending {
    #[serde(flatten)]
    pub(super) at: Map<String, Value>,
    pub(super) messages: f64,
    pub(super) bytes: f64,
    /// How many may send at once, in the class with the most.
    pub(super) senders: Option<f64>,
    pub(super) senders_observed: Option<f64>,
    pub(super) alone_s: f64,
    pub(super) full_s: f64,
    pub(super) observed_s: Option<f64>,
    pub(super) native_s: Option<Summary>,
    /// Of the prediction that was asked for: with the observed senders, or else with all.
    pub(super) native_error: Option<f64>,
    pub(super) synchronised_s: Option<Summary>,
    /// Of the prediction with all senders, or without contention if that was asked for.
    pub(super) synchronised_error: Option<f64>,
    /// Whether the synchronised version sends other messages than the native one.
    #[serde(skip)]
    pub(super) differs: bool,
}

/// T_r likewise, of the synchronised version.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Receiving {
    #[serde(flatten)]
    pub(super) at: Map<String, Value>,
    pub(super) messages: f64,
    pub(super) bytes: f64,
    pub(super) alone_s: f64,
    pub(super) full_s: f64,
    pub(super) synchronised_s: Option<Summary>,
    /// Of the prediction with all senders.
    pub(super) error: Option<f64>,
}

/// The time of a unit, and the gain of hiding.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Gain {
    #[serde(flatten)]
    pub(super) at: Map<String, Value>,
    pub(super) native_s: Option<Summary>,
    pub(super) synchronised_s: Option<Summary>,
    pub(super) hidden_s: Option<Summary>,
    /// Calculation over communication: time outside of calls over time within them, of the native version.
    pub(super) gamma: Option<f64>,
    /// Native over hidden, within a repetition.
    pub(super) gain: Option<Summary>,
    /// Eq. (1).
    pub(super) gain_ideal: Option<f64>,
    /// Of the hidden version.
    pub(super) f: Option<f64>,
    pub(super) omega: Option<f64>,
    /// Eq. (4).
    pub(super) gain_model: Option<f64>,
}

/// A class in one direction at the last point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct OfClass {
    pub(super) version: Version,
    pub(super) direction: &'static str,
    #[serde(flatten)]
    pub(super) row: Row,
}

/// All of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Measured {
    pub(super) sending: Vec<Sending>,
    pub(super) receiving: Vec<Receiving>,
    pub(super) gain: Vec<Gain>,
    pub(super) classes: Vec<OfClass>,
}

/// The runs of one version at one point, by repetition, with their chosen classes priced.
struct Priced<'a> {
    runs: Vec<&'a Run>,
    sending: Vec<Vec<Row>>,
    receiving: Vec<Vec<Row>>,
}

impl Measured {
    /// From all runs, by repetition.
    ///
    /// # Errors
    /// In words, if classes that were asked for are not there, or a number is too large.
    pub(super) fn of(
        plan: &Plan,
        repetitions: &[Vec<Run>],
        prices: &Prices,
        (classes, contention): (Option<&[String]>, Contention),
    ) -> Result<Self, String> {
        let mut measured = Measured { sending: vec![], receiving: vec![], gain: vec![], classes: vec![] };
        for (at, point) in plan.points.iter().enumerate() {
            let priced = |version: Version| -> Result<Option<Priced<'_>>, String> {
                let of = |run: &&Run| run.point == at && run.version == version;
                let runs: Vec<&Run> = repetitions.iter().flatten().filter(of).collect();
                if runs.is_empty() { Ok(None) } else { Priced::of(runs, prices, classes).map(Some) }
            };
            let native = priced(Version::Native)?;
            let synchronised = priced(Version::Synchronised)?;
            let hidden = priced(Version::Hidden)?;
            let both = [native.as_ref(), synchronised.as_ref()];
            measured.sending.extend(sending((point.members(), contention), both, hidden.as_ref()));
            measured.receiving.extend(synchronised.as_ref().and_then(|it| receiving(point.members(), it)));
            measured.gain.extend(gained(point.members(), [both[0], both[1], hidden.as_ref()]));
            measured.classes = by_class([
                (Version::Native, both[0]),
                (Version::Synchronised, both[1]),
                (Version::Hidden, hidden.as_ref()),
            ]);
        }
        Ok(measured)
    }
}

impl<'a> Priced<'a> {
    fn of(runs: Vec<&'a Run>, prices: &Prices, classes: Option<&[String]>) -> Result<Self, String> {
        let (mut sending, mut receiving) = (Vec::new(), Vec::new());
        for run in &runs {
            let chosen = chosen(run, classes)?;
            let too_large = |error: BadParameter| error.to_string();
            sending.push(inventory::sending(&chosen, prices, None).map_err(too_large)?);
            receiving.push(inventory::receiving(&chosen, prices, None).map_err(too_large)?);
        }
        Ok(Priced { runs, sending, receiving })
    }

    /// The sums of all classes, by repetition.
    fn sums(rows: &[Vec<Row>]) -> Vec<Row> {
        rows.iter().filter_map(|rows| inventory::sum(rows)).collect()
    }

    fn unit_s(&self) -> Option<Summary> {
        let all: Option<Vec<f64>> = self.runs.iter().map(|run| run.inventory.unit_s).collect();
        all.and_then(Summary::of)
    }
}

/// Those that are named, or all that count.
fn chosen(run: &Run, classes: Option<&[String]>) -> Result<Vec<Class>, String> {
    let all = &run.inventory.classes;
    let Some(wanted) = classes else {
        return Ok(all.iter().filter(|class| counts(&class.name)).cloned().collect());
    };
    if let Some(missing) = wanted.iter().find(|wanted| !all.iter().any(|class| class.name == **wanted)) {
        let names: Vec<&str> = all.iter().map(|class| &*class.name).filter(|name| counts(name)).collect();
        return Err(format!(
            "the {} version has no messages in a region {missing}; it has some in {}",
            run.version.name(),
            names.join(", ")
        ));
    }
    Ok(all.iter().filter(|class| wanted.contains(&class.name)).cloned().collect())
}

/// The median over repetitions of what is known in each.
fn median(rows: &[Row], of: fn(&Row) -> Option<f64>) -> Option<Summary> {
    let all: Option<Vec<f64>> = rows.iter().map(of).collect();
    all.and_then(Summary::of)
}

/// `predicted / measured - 1`.
fn error(predicted_s: f64, measured_s: Option<Summary>) -> Option<f64> {
    measured_s.filter(|it| it.median > 0.0).map(|it| predicted_s / it.median - 1.0)
}

/// Predictions are of the native version's messages, or those of the next that was run.
fn sending(
    (at, contention): (Map<String, Value>, Contention),
    [native, synchronised]: [Option<&Priced<'_>>; 2],
    hidden: Option<&Priced<'_>>,
) -> Option<Sending> {
    let sums = |it: Option<&Priced<'_>>| it.map(|it| Priced::sums(&it.sending)).unwrap_or_default();
    let (own, theirs) = (sums(native), sums(synchronised));
    let base = [&own, &theirs, &sums(hidden)].into_iter().find_map(|rows| rows.first().cloned())?;
    let observed_s = median(&own, |row| row.observed_s).map(|it| it.median);
    let [native_s, synchronised_s] = [&own, &theirs].map(|rows| median(rows, |row| row.measured_s));
    // Its own messages, should the synchronised version have others.
    let (alone_s, full_s) = theirs.first().map_or((base.alone_s, base.full_s), |row| (row.alone_s, row.full_s));
    let differs = own.first().zip(theirs.first()).is_some_and(|(own, theirs)| {
        (theirs.messages / own.messages - 1.0).abs().max((theirs.bytes / own.bytes - 1.0).abs()) > DIFFER
    });
    Some(Sending {
        at,
        differs,
        messages: base.messages,
        bytes: base.bytes,
        senders: base.senders,
        senders_observed: median(&own, |row| row.senders_observed).map(|it| it.median),
        alone_s: base.alone_s,
        full_s: base.full_s,
        observed_s,
        native_error: error(
            match contention {
                Contention::None => base.alone_s,
                Contention::Observed => observed_s.unwrap_or(base.full_s),
                Contention::Full => base.full_s,
            },
            native_s,
        ),
        native_s,
        synchronised_error: error(if contention == Contention::None { alone_s } else { full_s }, synchronised_s),
        synchronised_s,
    })
}

fn receiving(at: Map<String, Value>, synchronised: &Priced<'_>) -> Option<Receiving> {
    let rows = Priced::sums(&synchronised.receiving);
    let first = rows.first()?;
    // What only collectives receive is not timed, and so not compared.
    let synchronised_s = Some(median(&rows, |row| row.measured_s)?);
    Some(Receiving {
        at,
        messages: first.messages,
        bytes: first.bytes,
        alone_s: first.alone_s,
        full_s: first.full_s,
        error: error(first.full_s, synchronised_s),
        synchronised_s,
    })
}

fn gained(at: Map<String, Value>, versions: [Option<&Priced<'_>>; 3]) -> Option<Gain> {
    let [native, _, hidden] = versions;
    let [native_s, synchronised_s, hidden_s] = versions.map(|it| it.and_then(Priced::unit_s));
    let gamma = native.and_then(granularity);
    let mean = |of: fn(&Run) -> Option<f64>| {
        let all: Option<Vec<f64>> = hidden?.runs.iter().map(|run| of(run)).collect();
        all.and_then(Summary::of).map(|it| it.median)
    };
    let (f, omega) = (mean(|run| run.f), mean(|run| run.omega));
    let model = || gain::with_overhead(1.0 / gamma?, f?, omega?).ok();
    (native_s.is_some() || synchronised_s.is_some() || hidden_s.is_some()).then(|| Gain {
        at,
        native_s,
        synchronised_s,
        hidden_s,
        gamma,
        gain: native.zip(hidden).and_then(ratios),
        gain_ideal: gamma.and_then(|gamma| gain::ideal(gamma).ok()),
        gain_model: model(),
        f,
        omega,
    })
}

/// Native over hidden, within each repetition: the machine's speed drifts from one to the next.
fn ratios((native, hidden): (&Priced<'_>, &Priced<'_>)) -> Option<Summary> {
    let pairs = native.runs.iter().zip(&hidden.runs);
    let ratio = |(native, hidden): (&&Run, &&Run)| Some(native.inventory.unit_s? / hidden.inventory.unit_s?);
    let all: Option<Vec<f64>> = pairs.map(ratio).collect();
    all.and_then(Summary::of)
}

/// The median gamma: of a unit where its time in calls is known, else of the whole job.
fn granularity(native: &Priced<'_>) -> Option<f64> {
    let of_unit = |run: &&Run| run.inventory.outside_and_inside_s.map(|[outside_s, inside_s]| outside_s / inside_s);
    let of_units: Option<Vec<f64>> = native.runs.iter().map(of_unit).collect();
    let all = of_units.or_else(|| native.runs.iter().map(|run| run.gamma).collect())?;
    Summary::of(all).map(|it| it.median).filter(|gamma| *gamma > 0.0)
}

/// The classes of each version.
fn by_class(versions: [(Version, Option<&Priced<'_>>); 3]) -> Vec<OfClass> {
    let mut all = Vec::new();
    for (version, priced) in versions {
        let Some(priced) = priced else { continue };
        for (direction, rows) in [("sent", &priced.sending), ("received", &priced.receiving)] {
            all.extend(middle(rows).into_iter().map(|row| OfClass { version, direction, row }));
        }
    }
    all
}

/// Each class with medians over repetitions.
fn middle(repetitions: &[Vec<Row>]) -> Vec<Row> {
    let Some(first) = repetitions.first() else { return Vec::new() };
    let of_class = |row: &Row| {
        let same: Vec<Row> = repetitions.iter().flatten().filter(|it| it.class == row.class).cloned().collect();
        let known = |of: fn(&Row) -> Option<f64>| median(&same, of).map(|it| it.median);
        let (measured_s, observed_s) = (known(|row| row.measured_s), known(|row| row.observed_s));
        let senders_observed = known(|row| row.senders_observed);
        Row { measured_s, observed_s, senders_observed, ..row.clone() }.judged()
    };
    first.iter().map(of_class).collect()
}
