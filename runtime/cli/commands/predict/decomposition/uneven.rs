//! `lathide predict decomposition --speeds`: shares for nodes of different speed (Hanuliak 2014, section 5).

use lathide_models::decomposition::{Channel, last_end, shares};
use serde_json::{Map, Value, json};

use crate::commands::predict::answer::{Answer, Chart, Form, column, parameter, row};
use crate::commands::predict::channel::stated;
use crate::commands::predict::problem::Problem;
use crate::report::format;
use crate::report::results::Axis;

/// What is to be shared out.
pub(super) struct Uneven<'a> {
    /// Of each node, relative to one that takes t_c for an element.
    pub(super) speeds: &'a [f64],
    /// n
    pub(super) side: u32,
    /// How many blocks, instead of rows.
    pub(super) tiles: Option<u32>,
    /// t_c; without it times are relative.
    pub(super) t_c: Option<f64>,
}

const EQUATION: &str = "Hanuliak 2014, section 5: T_syn goes away where input is shared out by measured performance; \
                        a node of speed v takes elements t_c / v, and a step as long as the last node";
/// More are no sentence any more.
const NAMED_MAX: usize = 8;

/// What the shares come to.
struct Shared {
    /// What the shares are of.
    what: &'static str,
    units: u64,
    /// What each node does of it in a second; without t_c in any unit of time.
    rates: Vec<f64>,
    /// What each node with a share takes besides.
    fixed_s: f64,
    ours: Vec<u64>,
    equal: Vec<u64>,
    end_s: f64,
    equal_end_s: f64,
}

impl Uneven<'_> {
    /// Whole units for each node, beside equal shares.
    pub(super) fn answer(&self, channel: &Channel) -> Result<Answer, Problem> {
        let shared = self.shared(channel)?;
        let Shared { what, units, rates, ours, equal, end_s, equal_end_s, .. } = &shared;
        let is_timed = self.t_c.is_some();
        let mut columns = vec![
            column("node", "node", Form::Count),
            column("speed", "speed", Form::Number),
            column("part", "exact\npart", Form::Number),
            column("share", what, Form::Count),
            column("equal_share", "equal\nshare", Form::Count),
            column("busy", "busy", Form::Percent(1)),
            column("equal_busy", "with\nequal", Form::Percent(1)),
        ];
        if is_timed {
            columns.push(column("time_s", "time", Form::Seconds));
            columns.push(column("equal_time_s", "with\nequal", Form::Seconds));
        }
        let (all, mut rows) = (rates.iter().sum::<f64>(), Vec::new());
        for node in 0..rates.len() {
            let (time_s, equal_s) = (shared.time_s(ours, node), shared.time_s(equal, node));
            let part = *units as f64 * (rates[node] / all);
            let mut row = row![node + 1, self.speeds[node], part, ours[node], equal[node]];
            row.extend(row![ratio(time_s, *end_s), ratio(equal_s, *equal_end_s)]);
            if is_timed {
                row.extend(row![time_s, equal_s]);
            }
            rows.push(row);
        }
        let mut findings = Map::from_iter([
            ("unit".to_owned(), json!(what)),
            ("units".to_owned(), json!(units)),
            ("shares".to_owned(), json!(ours)),
            ("speedup_over_equal".to_owned(), json!(ratio(*equal_end_s, *end_s))),
        ]);
        let mut parameters = vec![parameter("n", "n", Form::Count, self.side)];
        if let Some(t_c) = self.t_c {
            findings.insert("step_s".into(), json!(end_s));
            findings.insert("equal_step_s".into(), json!(equal_end_s));
            parameters.extend(stated(channel));
            parameters.push(parameter("t_c_s", "t_c", Form::Seconds, t_c));
        }
        let conclusion = shared.verdict(is_timed);
        let points = |busy: usize| {
            let point = |row: &Vec<Value>| Some((row[0].as_f64()?, row[busy].as_f64()?));
            rows.iter().filter_map(point).map(|(node, busy)| [node, busy, busy, busy]).collect()
        };
        let axes = (Axis::linear("node", Form::Count), Axis::linear("busy, part of the step", Form::Plain));
        let chart = Chart::new(axes.0, axes.1).points("by speed", points(5)).points("equal shares", points(6));
        Ok(Answer { parameters, chart: Some(chart), findings, ..Answer::new(EQUATION, columns, rows, conclusion) })
    }

    fn shared(&self, channel: &Channel) -> Result<Shared, Problem> {
        let (what, units) = match self.tiles {
            Some(tiles @ 0..9) => return Err(Problem::new(format!("--tiles is {tiles}, but must be at least 9"))),
            Some(tiles) => ("blocks", u64::from(tiles)),
            None if self.side == 0 => return Err(Problem::new("n is 0, but must be at least 1")),
            None => ("rows", u64::from(self.side)),
        };
        let (each_s, fixed_s) = self.costs(channel)?;
        let fixed_s = if each_s.len() > 1 { fixed_s } else { 0.0 };
        let rates: Vec<f64> = each_s.iter().map(|each_s| 1.0 / each_s).collect();
        let (ours, equal) = (shares(units, &rates)?, shares(units, &vec![1.0; rates.len()])?);
        let (end_s, equal_end_s) = (last_end(&ours, &rates)? + fixed_s, last_end(&equal, &rates)? + fixed_s);
        Ok(Shared { what, units, rates, fixed_s, ours, equal, end_s, equal_end_s })
    }

    /// What each node takes for a unit, and what all take besides.
    fn costs(&self, channel: &Channel) -> Result<(Vec<f64>, f64), Problem> {
        // The models name a speed that is none.
        shares(0, self.speeds)?;
        let side = f64::from(self.side);
        let (elements, exchange_s, fixed_s) = match (self.t_c, self.tiles) {
            (None, _) => (1.0, 0.0, 0.0),
            (Some(_), None) => (side, 0.0, channel.strips_s(self.side.into())?),
            (Some(_), Some(tiles)) => (side * side / f64::from(tiles), channel.blocks_s(self.side.into(), tiles)?, 0.0),
        };
        let element_s = self.t_c.unwrap_or(1.0);
        if !(element_s > 0.0 && element_s.is_finite()) {
            return Err(Problem::new(format!("t_c is {element_s}, but must be a finite number above 0")));
        }
        Ok((self.speeds.iter().map(|speed| elements * element_s / speed + exchange_s).collect(), fixed_s))
    }
}

impl Shared {
    fn time_s(&self, shares: &[u64], node: usize) -> f64 {
        if shares[node] == 0 { 0.0 } else { shares[node] as f64 / self.rates[node] + self.fixed_s }
    }

    fn verdict(&self, is_timed: bool) -> String {
        let Self { what, units, ours, end_s, equal_end_s, .. } = self;
        let shares = if ours.len() <= NAMED_MAX {
            let list: Vec<String> = ours.iter().map(u64::to_string).collect();
            format!("Of {units} {what} the nodes take {}", list.join(", "))
        } else {
            format!("The {units} {what} are shared out by speed")
        };
        let faster = format::plain(equal_end_s / end_s);
        if !is_timed {
            return format!("{shares}: {faster} times as fast as equal shares, communication aside.");
        }
        let (ours, equal) = (format::seconds(*end_s), format::seconds(*equal_end_s));
        format!("{shares}: a step takes {ours} instead of {equal} with equal shares, {faster} times as fast.")
    }
}

/// A quotient, if it is a number.
fn ratio(one: f64, other: f64) -> Option<f64> {
    Some(one / other).filter(|quotient| quotient.is_finite())
}
