//! `lathide predict gain`: what hiding gains (Strumpen 1994).

mod halo;
mod study;
mod tasks;
#[cfg(fuzzing)]
pub(crate) use tasks::fuzz;
mod verdict;

use crate::report::results::Look;
use lathide_models::BadParameter;
use lathide_models::gain::{self, Messages, Scaling};
use serde_json::{Value, json};

use super::answer::{Answer, Form, column, given, parameter, row};
use super::curve::{ascending, chart_over, dense};
use super::model::Predict;
use super::problem::Problem;
use super::saved::{Saved, pick};
use super::values::{self, Counts, Values};
use crate::report::format::plain;
use halo::Halo;
use study::Study;
use verdict::Hardware;

/// What hiding communication behind calculation gains (Strumpen 1994)
///
/// Say how coarse the program is: --gamma, or --gamma-s with the hardware's --gamma-h, or --lambda with --procs, or
/// --tasks where nodes differ. --cg is the paper's study of a program.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Granularities t_calc/t_com [default: 0.125..8; with --from gain.json those measured]
    #[arg(long, value_name = "LIST", value_parser = values::numbers, allow_hyphen_values = true,
          conflicts_with_all = ["gamma_s", "lambda"])]
    gamma: Option<Values>,
    /// The hardware's granularity, operations/s over words/s; several are machines to choose from
    #[arg(long, value_name = "LIST", value_parser = values::numbers, allow_hyphen_values = true, requires = "gamma_s")]
    gamma_h: Option<Values>,
    /// The program's granularities, operations per word sent
    #[arg(long, value_name = "LIST", value_parser = values::numbers, allow_hyphen_values = true, requires = "gamma_h",
          conflicts_with = "lambda")]
    gamma_s: Option<Values>,
    /// p gamma_s / gamma_h, constant where the whole program's operations and words are; needs --procs
    #[arg(long, value_name = "L", value_parser = values::number, allow_hyphen_values = true, group = "over_procs")]
    lambda: Option<f64>,
    /// Numbers of processors, with --lambda [default: 1..32] or --cg [default: 1..1024*2 and the best]
    #[arg(long, value_name = "LIST", value_parser = values::counts, allow_hyphen_values = true, requires = "over_procs")]
    procs: Option<Counts>,
    /// The fraction of the calculation that can hide communication [default: 1, or that of --from gain.json]
    #[arg(long, value_name = "F", value_parser = values::number, allow_hyphen_values = true)]
    f: Option<f64>,
    /// What hiding costs, relative to t_calc; one for all machines or one for each [default: 0, or that of --from
    /// gain.json]
    #[arg(long, value_name = "LIST", value_parser = values::numbers, allow_hyphen_values = true)]
    omega: Option<Values>,
    /// Messages one after another in a step: a number, or with --lambda also p (all to all) or sqrt(p) (mesh)
    #[arg(long, value_name = "Q", value_parser = in_turn, allow_hyphen_values = true, default_value = "1",
          conflicts_with = "gamma")]
    q: InTurn,
    /// Instructions that start a message, relative to those of a step
    #[arg(long, value_name = "R", value_parser = values::number, allow_hyphen_values = true, default_value = "0",
          conflicts_with_all = ["gamma", "lambda"])]
    startup: f64,
    /// Also say which granularities (or processors) gain at least G
    #[arg(long, value_name = "G", value_parser = values::number, allow_hyphen_values = true)]
    target: Option<f64>,
    /// Instead: t_calc and t_com of each task of a job whose nodes or shares differ, 10ms:5ms,20ms:5ms, or @FILE with a
    /// task on each line (@- for standard input)
    #[arg(long, value_name = "LIST", allow_hyphen_values = true,
          conflicts_with_all = ["gamma", "gamma_h", "gamma_s", "lambda", "cg", "q", "startup", "target"])]
    tasks: Option<String>,
    #[command(flatten)]
    study: Study,
    #[command(flatten)]
    deep: Halo,
}

const EXAMPLES: &str = "\
Examples:
  lathide predict gain --gamma-h 10 --gamma-s 2..40 --omega 0.2
  lathide predict gain --gamma-h 1,5,10 --omega 1,0.2,0 --gamma-s 5      three machines (Example 1)
  lathide predict gain --lambda 144 --q p --procs 1..32                  all to all
  lathide predict gain --from gain.json --target 1.5                     f and Omega as measured
  lathide predict gain --tasks 10ms:10ms,20ms:10ms,30ms:5ms --f 0.9      nodes that differ
  lathide predict gain --tasks @tasks.txt --from gain.json
  lathide predict gain --halo 1..64 --t-calc 2.5ms                       several steps for each exchange
  lathide predict gain --cg                                              CG and parCG (Fig. 24)
  lathide predict gain --cg --unknowns 1000000 --t-fl 1ns --from link.json";

/// q, as it depends on p.
#[derive(Clone, Copy, PartialEq, Debug)]
enum InTurn {
    AllToAll,
    Constant(f64),
    Mesh,
}

fn in_turn(text: &str) -> Result<InTurn, String> {
    match text.trim() {
        "p" => Ok(InTurn::AllToAll),
        "sqrt(p)" => Ok(InTurn::Mesh),
        number => values::number(number).map(InTurn::Constant).map_err(|error| format!("{error}, or p or sqrt(p)")),
    }
}

impl Predict for Args {
    fn predict(&self, saved: Option<&Saved>) -> Result<Answer, Problem> {
        if let Some(halos) = &self.deep.halo {
            return self.deep.answer(halos, saved);
        }
        if self.study.cg {
            let omega = self.omega.as_ref().map_or(Ok(0.0), single)?;
            return self.study.answer(self.procs.as_ref(), omega, saved);
        }
        let mut notes = Vec::new();
        let f = pick(self.f, (saved, "f", "--f"), 1.0)?;
        let omega = match (&self.omega, saved) {
            (Some(omega), _) => omega.clone(),
            (None, Some(saved)) => vec![measured_omega(saved, &mut notes)?],
            (None, None) => vec![0.0],
        };
        let mut answer = match (&self.tasks, &self.gamma_h, &self.gamma_s, self.lambda) {
            (Some(tasks), ..) => tasks::answer(tasks, f, single(&omega)?)?,
            (_, Some(gamma_h), Some(gamma_s), _) => self.of_machines(gamma_h, gamma_s, f, &omega)?,
            (_, _, _, Some(lambda)) => self.of_processors(lambda, f, single(&omega)?)?,
            _ => self.of_granularities(saved, f, single(&omega)?)?,
        };
        answer.notes.extend(notes);
        Ok(answer)
    }
}

/// Measured around 0, it may come out below.
fn measured_omega(saved: &Saved, notes: &mut Vec<String>) -> Result<f64, Problem> {
    let omega = saved.number("omega", "give --omega")?;
    if omega < 0.0 {
        notes.push(format!("Omega is {} in {}, as good as 0", plain(omega), saved.name()));
    }
    Ok(omega.max(0.0))
}

fn single(omega: &Values) -> Result<f64, Problem> {
    if omega.len() == 1 { Ok(omega[0]) } else { Err(Problem::new("several --omega need a --gamma-h for each")) }
}

impl Args {
    /// Over gamma = t_calc/t_com.
    fn of_granularities(&self, saved: Option<&Saved>, f: f64, omega: f64) -> Result<Answer, Problem> {
        let measured = if self.gamma.is_none() { saved.map(measured).unwrap_or_default() } else { Vec::new() };
        let gammas = match &self.gamma {
            Some(gammas) => gammas.clone(),
            None if !measured.is_empty() => measured.iter().map(|(gamma, _)| *gamma).collect(),
            None => (0..=24).map(|step| 2f64.powf(f64::from(step) / 4.0 - 3.0)).collect(),
        };
        let at = |gamma: f64| gain_at(gamma, f, omega);
        let mut columns = vec![
            given("gamma", "gamma", Form::Plain),
            column("gain_ideal", "G ideal\neq. 1", Form::Fixed(3)),
            column("gain", "G\neq. 4", Form::Fixed(3)),
        ];
        let mut rows = Vec::new();
        for &gamma in &gammas {
            rows.push(row![gamma, gain::ideal(gamma)?, at(gamma)?]);
        }
        if !measured.is_empty() {
            columns.push(column("gain_measured", "G\nmeasured", Form::Fixed(3)));
            rows.iter_mut().zip(&measured).for_each(|(row, (_, gain))| row.push((*gain).into()));
        }
        let axes = (("gamma = t_calc / t_com", Form::Plain), ("G", Form::Plain));
        let chart = chart_over(gammas.iter().copied(), axes.0, axes.1).map(|chart| {
            let curve = |of: &dyn Fn(f64) -> Result<f64, BadParameter>| -> Vec<(f64, f64)> {
                dense(gammas.iter().copied()).filter_map(|gamma| Some((gamma, of(gamma).ok()?))).collect()
            };
            let measured = measured.iter().map(|&(x, y)| [x, y, y, y]).collect();
            let chart = chart.curve("model, eq. 4", Look::Solid, curve(&at));
            chart.curve("ideal, eq. 1", Look::Dotted, curve(&gain::ideal)).points("measured", measured)
        });
        let gains = gammas.iter().copied().map(|gamma| Ok((gamma, at(gamma)?))).collect::<Result<Vec<_>, Problem>>()?;
        let (findings, conclusion) = verdict::of_curve((f, omega), self.target, &gains, ("gamma", 1.0))?;
        let parameters = vec![parameter("f", "f", Form::Plain, f), parameter("omega", "Omega", Form::Plain, omega)];
        Ok(Answer { parameters, chart, findings, ..Answer::new(EQUATION_4, columns, rows, conclusion) })
    }

    /// Over the software's granularity, on one machine or several.
    fn of_machines(&self, gamma_h: &Values, gamma_s: &Values, f: f64, omega: &Values) -> Result<Answer, Problem> {
        let machines = machines(gamma_h, omega)?;
        let InTurn::Constant(q) = self.q else { return Err(Problem::new("--q p and sqrt(p) go with --lambda")) };
        let ratio = |machine: &Hardware, gamma_s| gain::communication_ratio(q, self.startup, machine.gamma_h, gamma_s);
        let columns = vec![
            given("gamma_h", "gamma_h", Form::Plain),
            given("omega", "Omega", Form::Plain),
            given("gamma_s", "gamma_s", Form::Plain),
            column("x", "x =\nt_com/t_calc", Form::Number),
            column("gain_ideal", "G ideal\neq. 1", Form::Fixed(3)),
            column("gain", "G\neq. 4", Form::Fixed(3)),
        ];
        let (mut rows, mut gains) = (Vec::new(), Vec::new());
        for machine in &machines {
            let Hardware { gamma_h, omega } = *machine;
            let mut of_machine = Vec::new();
            for &gamma_s in gamma_s {
                let x = ratio(machine, gamma_s)?;
                let gain = gain::with_overhead(x, f, omega)?;
                rows.push(row![gamma_h, omega, gamma_s, x, gain::with_overhead(x, 1.0, 0.0)?, gain]);
                of_machine.push((gamma_s, gain));
            }
            gains.push(of_machine);
        }
        let (findings, conclusion) = match machines.as_slice() {
            [Hardware { gamma_h, omega }] if self.startup == 0.0 => {
                verdict::of_curve((f, *omega), self.target, &gains[0], ("gamma_s", q * gamma_h))?
            }
            _ if self.target.is_some() => return Err(Problem::new("--target goes with one machine without --startup")),
            [_] => verdict::of_values(&gains[0], "gamma_s"),
            _ => verdict::of_machines(&machines, &gains),
        };
        let parameters = vec![
            parameter("f", "f", Form::Plain, f),
            parameter("q", "q", Form::Plain, q),
            parameter("startup", "i_cs/(i/p)", Form::Plain, self.startup),
        ];
        let answer = Answer { parameters, findings, ..Answer::new(EQUATION_4, columns, rows, conclusion) };
        Ok(answer.drawn(&["gamma_s"], "G", &[("G, eq. 4", "gain")]))
    }

    /// Over the number of processors, eq. (6).
    fn of_processors(&self, lambda: f64, f: f64, omega: f64) -> Result<Answer, Problem> {
        let messages = match self.q {
            InTurn::AllToAll => Messages::ALL_TO_ALL,
            InTurn::Constant(q) => Messages::constant(q)?,
            InTurn::Mesh => Messages::MESH,
        };
        let program = Scaling::new(lambda, messages, f, omega)?;
        let procs = self.procs.clone().unwrap_or_else(|| (1..=32).collect());
        let columns = vec![
            given("procs", "p", Form::Count),
            column("q", "q", Form::Plain),
            column("x", "x =\nt_com/t_calc", Form::Number),
            column("speedup", "S", Form::Number),
            column("speedup_hidden", "S_lh", Form::Number),
            column("gain", "G\neq. 6", Form::Fixed(3)),
        ];
        let (mut rows, mut gains) = (Vec::new(), Vec::new());
        for &p in &procs {
            let (speedup, hidden, gain) = (program.speedup(p)?, program.speedup_hidden(p)?, program.gain(p)?);
            rows.push(row![p, messages.of(p)?, program.ratio(p)?, speedup, hidden, gain]);
            gains.push((f64::from(p), gain));
        }
        let (mut findings, mut conclusion) = verdict::of_values(&gains, "procs");
        let best = [
            ("best_procs_for_gain", "G", program.best_for_gain()?),
            ("best_procs_for_speedup", "S", program.best_for_speedup()?),
            ("best_procs_for_speedup_hidden", "S_lh", program.best_for_speedup_hidden()?),
        ];
        for (key, quantity, p) in best {
            findings.insert(key.into(), json!(p));
            let at = p.map_or("grows for ever".to_owned(), |p| format!("is greatest at p = {p}"));
            conclusion += &format!(" {quantity} {at}.");
        }
        if let Some(target) = self.target {
            let range = program.processors_for_gain(target)?;
            findings.insert("procs_for_target".into(), json!(range.as_ref().map(|it| [it.start(), it.end()])));
            conclusion += &match range {
                Some(range) => format!(" G is at least {target} from p = {} to {}.", range.start(), range.end()),
                None => format!(" No p gains {target}."),
            };
        }
        let parameters = vec![
            parameter("lambda", "lambda", Form::Plain, lambda),
            parameter("f", "f", Form::Plain, f),
            parameter("omega", "Omega", Form::Plain, omega),
        ];
        let answer = Answer { parameters, findings, ..Answer::new(EQUATION_6, columns, rows, conclusion) };
        Ok(answer.drawn(&["procs"], "G", &[("G, eq. 6", "gain")]))
    }
}

/// Eq. (4) over gamma. The reciprocal of a gamma of 0 is no number, so gamma is looked at first.
fn gain_at(gamma: f64, f: f64, omega: f64) -> Result<f64, BadParameter> {
    gain::ideal(gamma)?;
    gain::with_overhead(1.0 / gamma, f, omega)
}

/// The points (gamma, G) of a result of `lathide gain`, by rising gamma.
fn measured(saved: &Saved) -> Vec<(f64, f64)> {
    let points = saved.find("points").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let points = points.iter().filter_map(|point| Some((point["gamma"].as_f64()?, point["gain"].as_f64()?)));
    ascending(points.collect())
}

/// As many machines as either list has values.
fn machines(gamma_h: &Values, omega: &Values) -> Result<Vec<Hardware>, Problem> {
    let pairs = values::paired(("--gamma-h", gamma_h), ("--omega", omega)).map_err(Problem::new)?;
    Ok(pairs.into_iter().map(|(gamma_h, omega)| Hardware { gamma_h, omega }).collect())
}

const EQUATION_4: &str = "Strumpen 1994, eq. (4): G = (1 + x) / ((1 - f) + max(f + Omega, x)), \
                          x = t_com/t_calc = 1/gamma = q (i_cs/(i/p) + gamma_h/gamma_s)";
const EQUATION_6: &str = "Strumpen 1994, eq. (6): G = (1 + x) / ((1 - f) + max(f + Omega, x)), x = q p / lambda";
