//! `lathide predict isoefficiency`: how much work keeps so many processes efficient (Hanuliak 2014, section 5).

use lathide_models::decomposition::{Channel, Overheads, Shape, calculation_s, efficiency, isoefficiency_s};
use serde_json::Value;

use super::answer::{Answer, Chart, Form, column, given, parameter, row};
use super::channel::{ChannelArgs, stated};
use super::model::Predict;
use super::problem::Problem;
use super::saved::Saved;
use super::values::{self, Counts, Values};
use crate::report::format;

/// How much work keeps processes efficient: the matrix for an efficiency, in strips and in blocks (Hanuliak 2014)
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// E = T_comp / (T_comp + h), the part of the time in which processes calculate
    #[arg(long, value_name = "LIST", value_parser = values::numbers, allow_hyphen_values = true, default_value = "0.8")]
    efficiency: Values,
    /// Numbers of processes; below 9 in strips only
    #[arg(long, value_name = "LIST", value_parser = values::counts, allow_hyphen_values = true,
          default_value = "4..4096*4")]
    procs: Counts,
    /// t_c, the time to calculate an element (the paper has no value)
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true, default_value = "1us")]
    t_c: f64,
    #[command(flatten)]
    channel: ChannelArgs,
    /// T_comm beside the exchange of edges, such as a collective in each step
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true, default_value = "0")]
    t_comm: f64,
    /// T_arch, the architecture's overhead of a step
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true, default_value = "0")]
    t_arch: f64,
    /// T_par, the overhead of making the algorithm parallel
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true, default_value = "0")]
    t_par: f64,
    /// T_syn, what processes wait for each other
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true, default_value = "0")]
    t_syn: f64,
}

const EXAMPLES: &str = "\
Examples:
  lathide predict isoefficiency --efficiency 0.5,0.8,0.95 --procs 16..4096*4
  lathide predict isoefficiency --t-s 35us --t-w 8ns --t-c 2ns --procs 4..256*2
  lathide predict isoefficiency --from link.json --t-c 2ns --t-comm 1ms      with a collective in each step";

const EQUATION: &str = "Hanuliak 2014, section 5: w = max(T_comp, h), h = T_arch + T_par + T_comm + T_syn; W = n^2 \
                        elements, T_comp = W t_c / p = E/(1 - E) h, T_comm of strips 4 (t_s + n t_w), of blocks 8 \
                        (t_s + n t_w / sqrt p) (6.1)";

impl Predict for Args {
    fn predict(&self, saved: Option<&Saved>) -> Result<Answer, Problem> {
        let channel = self.channel.channel(saved)?;
        let other = Overheads {
            architecture_s: self.t_arch,
            parallelisation_s: self.t_par,
            communication_s: self.t_comm,
            synchronisation_s: self.t_syn,
        };
        let columns = vec![
            given("efficiency", "E", Form::Plain),
            given("procs", "p", Form::Count),
            column("strips_side", "strips\nn", Form::Count),
            column("strips_work", "W = n^2", Form::Number),
            column("strips_efficiency", "E there", Form::Fixed(3)),
            column("strips_w_s", "w =\nmax(T_comp, h)", Form::Seconds),
            column("blocks_side", "blocks\nn", Form::Count),
            column("blocks_work", "W = n^2", Form::Number),
            column("blocks_efficiency", "E there", Form::Fixed(3)),
            column("blocks_w_s", "w =\nmax(T_comp, h)", Form::Seconds),
        ];
        let mut rows = Vec::new();
        for &wanted in &self.efficiency {
            for &procs in &self.procs {
                let mut row = row![wanted, procs];
                row.extend(self.matrix(&channel, Shape::Strips, (wanted, procs), &other)?);
                row.extend(match procs {
                    // No block has four neighbours.
                    1..9 => vec![Value::Null; 4],
                    _ => self.matrix(&channel, Shape::Blocks, (wanted, procs), &other)?,
                });
                rows.push(row);
            }
        }
        let mut parameters = vec![parameter("t_c_s", "t_c", Form::Seconds, self.t_c)];
        parameters.extend(stated(&channel));
        for (key, symbol, value) in [
            ("t_comm_s", "T_comm", self.t_comm),
            ("t_arch_s", "T_arch", self.t_arch),
            ("t_par_s", "T_par", self.t_par),
            ("t_syn_s", "T_syn", self.t_syn),
        ] {
            if value != 0.0 {
                parameters.push(parameter(key, symbol, Form::Seconds, value));
            }
        }
        let conclusion = verdict(&rows);
        let curves = [("strips", "strips_work"), ("blocks", "blocks_work")];
        let answer = Answer { parameters, ..Answer::new(EQUATION, columns, rows, conclusion) };
        let answer = answer.drawn(&["procs", "efficiency"], "W, elements", &curves);
        Ok(Answer { chart: answer.chart.map(Chart::log_y), ..answer })
    }
}

impl Args {
    /// n, W, the efficiency there, and w.
    fn matrix(
        &self,
        channel: &Channel,
        shape: Shape,
        (wanted, procs): (f64, u32),
        other: &Overheads,
    ) -> Result<Vec<Value>, Problem> {
        let side = channel.side_for_efficiency(wanted, shape, procs, self.t_c, other)?;
        let calculation_s = calculation_s(side * side, self.t_c, procs)?;
        let overheads = channel.overheads(shape, side, procs, other)?;
        let reached = efficiency(calculation_s, &overheads)?;
        Ok(row![side, (side * side) as f64, reached, isoefficiency_s(calculation_s, &overheads)?])
    }
}

/// How W grows from the first number of processes that has blocks to the last.
fn verdict(rows: &[Vec<Value>]) -> String {
    let number = |row: &[Value], at: usize| row[at].as_f64().unwrap_or_default();
    let Some(last) = rows.last() else { return String::new() };
    let same = |row: &&Vec<Value>| row[0] == last[0] && !row[6].is_null();
    let Some(first) = rows.iter().find(same) else {
        let (efficiency, procs, side) = (number(last, 0), number(last, 1), number(last, 2));
        return format!("For E = {efficiency} p = {procs} strips need a matrix of n = {side} at least.");
    };
    let (efficiency, before, procs) = (number(last, 0), number(first, 1), number(last, 1));
    let needs = format!(
        "For E = {efficiency} p = {procs} processes need a matrix of n = {} at least in strips, and n = {} in blocks.",
        number(last, 2),
        number(last, 6)
    );
    if procs <= before {
        return needs;
    }
    let times = |at: usize| format::plain(number(last, at) / number(first, at));
    format!(
        "{needs} From p = {before} on, {} times the processes need {} times the work in strips, and {} times in blocks.",
        format::plain(procs / before),
        times(3),
        times(7)
    )
}
