//! `lathide predict decomposition`: strips or blocks (Hanuliak 2014).

mod uneven;

use lathide_models::decomposition::{Channel, Comparison, Shape, calculation_s};
use lathide_models::gain;
use serde_json::{Map, json};

use super::answer::{Answer, Form, column, given, row};
use super::channel::{ChannelArgs, stated};
use super::model::Predict;
use super::problem::Problem;
use super::saved::Saved;
use super::values::{self, Counts, Values};
use crate::report::format;
use uneven::Uneven;

/// How to cut a matrix: in strips or in blocks, from where on, and how large for each node (Hanuliak 2014)
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Rows and columns of the matrix
    #[arg(long, value_name = "LIST", value_parser = values::counts, allow_hyphen_values = true, default_value = "1024")]
    n: Counts,
    /// Numbers of processes, at least 9
    #[arg(long, value_name = "LIST", value_parser = values::counts, allow_hyphen_values = true, default_value = "16")]
    procs: Counts,
    #[command(flatten)]
    channel: ChannelArgs,
    /// t_c, the time to calculate an element: also say gamma and what hiding can gain
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    t_c: Option<f64>,
    /// Instead: share the matrix out by the measured speeds of the nodes, in any unit; with --t-c relative to the node
    /// that takes t_c for an element
    #[arg(long, value_name = "LIST", value_parser = values::numbers, allow_hyphen_values = true, conflicts_with = "procs")]
    speeds: Option<Values>,
    /// So many square blocks are shared out, instead of rows; with --speeds
    #[arg(long, value_name = "N", value_parser = values::count, allow_hyphen_values = true, requires = "speeds")]
    tiles: Option<u32>,
}

const EXAMPLES: &str = "\
Examples:
  lathide predict decomposition --n 1024 --t-s 35e-6 --t-w 0.23e-6 --procs 16
  lathide predict decomposition --n 256..8192*2 --procs 64 --from link.json
  lathide predict decomposition --n 4096 --procs 16..1024*4 --t-c 2ns
  lathide predict decomposition --n 1024 --speeds 1,1,2                    rows for nodes, one of them twice as fast
  lathide predict decomposition --n 4096 --speeds 1,1,2,3.5 --tiles 64 --t-c 2ns --from link.json";

impl Predict for Args {
    fn predict(&self, saved: Option<&Saved>) -> Result<Answer, Problem> {
        let channel = self.channel.channel(saved)?;
        if let Some(speeds) = &self.speeds {
            let [side] = self.n[..] else { return Err(Problem::new("--speeds goes with one --n")) };
            return Uneven { speeds, side, tiles: self.tiles, t_c: self.t_c }.answer(&channel);
        }
        let mut columns = vec![
            given("n", "n", Form::Count),
            given("procs", "p", Form::Count),
            column("strips_s", "strips\n6.1", Form::Seconds),
            column("blocks_s", "blocks\n6.1.1", Form::Seconds),
            column("better", "better", Form::Word),
            column("t_s_threshold_s", "strips if\nt_s above\n6.1.2", Form::Seconds),
            column("t_w_threshold_s", "or t_w\nbelow\n7.1.1", Form::Seconds),
            column("n_threshold", "or n\nbelow", Form::Plain),
            column("procs_threshold", "or p\nbelow", Form::Plain),
        ];
        if self.t_c.is_some() {
            columns.push(column("calculation_s", "t_calc\n4.1", Form::Seconds));
            columns.push(column("gamma", "gamma", Form::Number));
            columns.push(column("gain_ideal", "G of\nhiding", Form::Fixed(2)));
        }
        let (mut rows, mut compared) = (Vec::new(), Vec::new());
        for &side in &self.n {
            for &procs in &self.procs {
                let it = channel.compare(side.into(), procs)?;
                let mut row = row![
                    side,
                    procs,
                    it.strips_s,
                    it.blocks_s,
                    name(it.better),
                    it.start_up_threshold_s,
                    it.word_threshold_s,
                    it.side_threshold,
                    it.processes_threshold
                ];
                if let Some(t_c) = self.t_c {
                    let calculation_s = calculation_s(u64::from(side) * u64::from(side), t_c, procs)?;
                    let gamma =
                        Some(calculation_s / it.strips_s.min(it.blocks_s)).filter(|it| it.is_finite() && *it > 0.0);
                    let gain = gamma.map(gain::ideal).transpose()?;
                    row.extend([calculation_s.into(), gamma.into(), gain.into()]);
                }
                rows.push(row);
                compared.push((side, procs, it));
            }
        }
        let up_to_side = channel.strips_up_to_side()?;
        let equation = "Hanuliak 2014, sections 6.1 and 6.1.1: strips 4 (t_s + n t_w), blocks 8 (t_s + n t_w / sqrt p) per step; \
                        6.1.2, 7.1.1: strips if t_s > n (1 - 2/sqrt p) t_w";
        let conclusion = self.verdict(&channel, &compared)?;
        Ok(Answer {
            parameters: stated(&channel),
            findings: Map::from_iter([("strips_up_to_side_where_p_is_n".to_owned(), json!(up_to_side))]),
            ..Answer::new(equation, columns, rows, conclusion)
        }
        .drawn(&["n", "procs"], "per step", &[("strips", "strips_s"), ("blocks", "blocks_s")]))
    }
}

impl Args {
    fn verdict(&self, channel: &Channel, compared: &[(u32, u32, Comparison)]) -> Result<String, Problem> {
        if let [(side, procs, it)] = compared {
            return Ok(one(*side, *procs, it));
        }
        let sentence = |of: String, what: &str, least: f64, threshold: Option<f64>| match threshold {
            Some(at) if at <= least => format!("{of}: blocks for every {what}"),
            Some(at) => format!("{of}: strips for {what} below {}, then blocks", format::plain(at)),
            None => format!("{of}: strips for every {what}"),
        };
        let mut sentences = Vec::new();
        if self.n.len() >= self.procs.len() {
            for &procs in &self.procs {
                sentences.push(sentence(format!("p = {procs}"), "n", 1.0, channel.side_threshold(procs)?));
            }
        } else {
            for &side in &self.n {
                let threshold = channel.processes_threshold(side.into())?;
                sentences.push(sentence(format!("n = {side}"), "p", 9.0, threshold));
            }
        }
        Ok(format!("Less communication with {}.", sentences.join("; ")))
    }
}

/// What a single case means, and what would turn it round.
fn one(side: u32, procs: u32, it: &Comparison) -> String {
    let (better_s, worse_s) = (it.strips_s.min(it.blocks_s), it.strips_s.max(it.blocks_s));
    let (shape, other, start_up, rest) = match it.better {
        Shape::Blocks => ("Blocks", "Strips", "above", "below"),
        Shape::Strips => ("Strips", "Blocks", "below", "above"),
    };
    let mut text = format!(
        "{shape} communicate less: {} per step instead of {} (n = {side}, p = {procs}). {other} would be better if t_s were \
         {start_up} {}, or t_w {rest} {}",
        format::seconds(better_s),
        format::seconds(worse_s),
        format::seconds(it.start_up_threshold_s),
        format::seconds(it.word_threshold_s)
    );
    // With fewer than nine processes there are no blocks to compare with.
    let processes = it.processes_threshold.filter(|processes| *processes > 9.0);
    for (name, threshold) in [("n", it.side_threshold), ("p", processes)] {
        if let Some(at) = threshold {
            text += &format!(", or {name} {rest} {}", format::plain(at));
        }
    }
    text + "."
}

fn name(shape: Shape) -> &'static str {
    match shape {
        Shape::Blocks => "blocks",
        Shape::Strips => "strips",
    }
}
