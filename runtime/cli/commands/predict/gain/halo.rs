//! `lathide predict gain --halo`: several steps of a stencil for each exchange, beyond eq. (1).

use lathide_models::gain::DeepHalo;
use serde_json::json;

use crate::commands::predict::answer::{Answer, Form, column, given, parameter, row};
use crate::commands::predict::problem::Problem;
use crate::commands::predict::saved::{Saved, pick};
use crate::commands::predict::values::{self, Counts};
use crate::report::format::seconds;

/// The options of deep halos.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Halo {
    /// Instead: a strip of the heat equation with so many ghost columns, which calculates as many steps for each exchange
    #[arg(long, value_name = "LIST", value_parser = values::counts, allow_hyphen_values = true, requires = "t_calc",
          conflicts_with_all = ["gamma", "gamma_h", "gamma_s", "lambda", "cg", "tasks", "f", "omega", "q", "startup", "target"])]
    pub(super) halo: Option<Counts>,
    /// t_calc, one step of a strip, with --halo
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true, requires = "halo")]
    t_calc: Option<f64>,
    /// Columns of a strip, with --halo [default: 64]
    #[arg(long, value_name = "N", value_parser = values::count, allow_hyphen_values = true, requires = "halo")]
    columns: Option<u32>,
    /// Rows of a column, doubles, with --halo [default: 500]
    #[arg(long, value_name = "N", value_parser = values::count, allow_hyphen_values = true, requires = "halo")]
    rows: Option<u32>,
    /// Sides of a strip that have neighbours, with --halo; 1 where there are two ranks [default: 2]
    #[arg(long, value_name = "N", value_parser = values::count, allow_hyphen_values = true, requires = "halo")]
    sides: Option<u32>,
    /// a, the time of a message of no bytes, with --halo [default: 25ms, or that of --from link.json]
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true, requires = "halo")]
    a: Option<f64>,
    /// b, the time of each byte, with --halo [default: 160ns, that of 50 Mbit/s, or that of --from link.json]
    #[arg(long, value_name = "TIME", value_parser = values::time_per, allow_hyphen_values = true, requires = "halo")]
    b: Option<f64>,
}

const EQUATION: &str = "k steps for each exchange of k columns, t_com(k) = a + b k x: without hiding t_calc (1 + s (k - 1) / 2c) + \
                        t_com(k)/k for each step, with hiding max(t_com(k), interior) + the rest, over k; G over I.1, \
                        t_calc + t_com(1), is the product of both gains, at most 1 + 1/gamma";
const A_S: f64 = 25e-3;
const B_S_PER_BYTE: f64 = 160e-9;

impl Halo {
    /// Over the number of ghost columns.
    pub(super) fn answer(&self, halos: &Counts, saved: Option<&Saved>) -> Result<Answer, Problem> {
        let rows = self.rows.unwrap_or(500);
        let a_s = pick(self.a, (saved, "hyperbolic.a_s", "--a"), A_S)?;
        let b_s_per_byte = pick(self.b, (saved, "hyperbolic.b_s_per_byte", "--b"), B_S_PER_BYTE)?;
        let t_calc_s = self.t_calc.ok_or_else(|| Problem::new("--halo needs --t-calc"))?;
        let (columns, sides) = (self.columns.unwrap_or(64), self.sides.unwrap_or(2));
        let strip = DeepHalo::new(columns, sides, t_calc_s, a_s, 8.0 * f64::from(rows) * b_s_per_byte)?;
        let best = strip.best()?;
        let table = vec![
            given("halo", "k", Form::Count),
            column("exchange_s", "t_com(k)", Form::Seconds),
            column("redundancy", "redundant\ncalculation", Form::Percent(0)),
            column("step_s", "step,\nnot hidden", Form::Seconds),
            column("hidden_step_s", "step,\nhidden", Form::Seconds),
            column("gain_of_halo", "G of\nthe halo", Form::Fixed(2)),
            column("gain_of_hiding", "G of\nhiding", Form::Fixed(2)),
            column("gain", "G\nover I.1", Form::Fixed(2)),
        ];
        let mut lines = Vec::new();
        for &halo in halos {
            lines.push(row![
                halo,
                strip.exchange_s(halo),
                strip.redundancy(halo)?,
                strip.step_s(halo)?,
                strip.hidden_step_s(halo)?,
                strip.gain_of_halo(halo)?,
                strip.gain_of_hiding(halo)?,
                strip.gain(halo)?
            ]);
        }
        let conclusion = format!(
            "{best} ghost columns gain most: {:.2} over I.1 = {:.2} by fewer start-ups x {:.2} by hiding. A step takes {} then, \
             instead of {}. The bound is 1 + 1/gamma = {:.2}; hiding alone gains {:.2}.",
            strip.gain(best)?,
            strip.gain_of_halo(best)?,
            strip.gain_of_hiding(best)?,
            seconds(strip.hidden_step_s(best)?),
            seconds(strip.plain_s()),
            strip.bound(),
            strip.gain(1)?
        );
        let mut answer = Answer::new(EQUATION, table, lines, conclusion);
        answer.parameters = vec![
            parameter("columns", "c", Form::Count, columns),
            parameter("rows", "rows", Form::Count, rows),
            parameter("sides", "s", Form::Count, sides),
            parameter("t_calc_s", "t_calc", Form::Seconds, t_calc_s),
            parameter("a_s", "a", Form::Seconds, a_s),
            parameter("b_s_per_byte", "b", Form::SecondsPerByte, b_s_per_byte),
            parameter("gamma", "gamma", Form::Plain, strip.gamma()),
        ];
        for (key, value) in
            [("best_halo", json!(best)), ("best_gain", json!(strip.gain(best)?)), ("bound", json!(strip.bound()))]
        {
            answer.findings.insert(key.into(), value);
        }
        let curves = [("both", "gain"), ("the halo alone", "gain_of_halo"), ("hiding alone", "gain_of_hiding")];
        Ok(answer.drawn(&["halo"], "G", &curves))
    }
}
