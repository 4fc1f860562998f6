//! `lathide predict gather`: many to one through a switch with a finite buffer (Tam, Wang).

use lathide_models::cluster::{Gather, Plan, fill_time_s, window_printed};
use serde_json::{Map, Value, json};

use super::answer::{Answer, Form, column, given, row};
use super::model::Predict;
use super::problem::Problem;
use super::saved::Saved;
use super::switch::{Known, SwitchArgs};
use super::values::{self, Counts, Values};
use crate::report::format;

/// How many may send at once to one receiver, and how long that takes (cluster model: Tam, Wang)
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Numbers of processors, the receiver included
    #[arg(long, value_name = "LIST", value_parser = values::counts, allow_hyphen_values = true, default_value = "16")]
    procs: Counts,
    /// What each of the others sends
    #[arg(long, value_name = "LIST", value_parser = values::sizes, allow_hyphen_values = true,
          default_value = "1KiB..4MiB*4")]
    bytes: Values,
    #[command(flatten)]
    switch: SwitchArgs,
}

const EXAMPLES: &str = "\
Examples:
  lathide predict gather                                  sixteen PCs of the paper's Table 1
  lathide predict gather --procs 8 --bytes 600kB          one case, with the plan who waits for whom
  lathide predict gather --procs 4..64*2 --bytes 1MB --buffer 500";

/// A plan of more senders is not written out.
const PLAN_MAX: u32 = 64;

impl Predict for Args {
    fn predict(&self, saved: Option<&Saved>) -> Result<Answer, Problem> {
        let known = self.switch.cluster(saved)?;
        let columns = vec![
            given("procs", "p", Form::Count),
            given("bytes", "from each", Form::Bytes),
            column("packets_each", "packets\ni", Form::Count),
            column("lower_bound", "Ga_l\neq. 5", Form::Count),
            column("upper_bound", "Ga_u\neq. 6", Form::Count),
            column("window", "w\neq. 7", Form::Count),
            column("window_printed", "w as\nprinted", Form::Count),
            column("longest_chain", "longest\nchain", Form::Count),
            column("bound_s", "T at least\neq. 8", Form::Seconds),
            column("fill_s", "all at once:\nfull after\neq. 3", Form::Seconds),
            column("all_at_once_ratio", "not lost\neq. 4", Form::Percent(2)),
        ];
        let (mut rows, mut last) = (Vec::new(), None);
        for &procs in &self.procs {
            for &bytes in &self.bytes {
                let gather = known.cluster.gather(bytes, known.packet_bytes, procs)?;
                let (printed, fill_s) = beside(&known, &gather, procs, bytes)?;
                let window = gather.window;
                rows.push(row![
                    procs,
                    bytes,
                    gather.packets_each as f64,
                    window.lower_bound,
                    window.upper_bound,
                    gather.plan.window(),
                    printed.map(f64::from),
                    gather.plan.longest_chain(),
                    gather.bound_s,
                    fill_s,
                    gather.all_at_once_ratio
                ]);
                last = Some((procs, bytes, gather));
            }
        }
        let conclusion =
            last.as_ref().map(|(procs, bytes, gather)| verdict(*procs, *bytes, gather)).unwrap_or_default();
        let plan =
            last.filter(|(procs, ..)| rows.len() == 1 && *procs <= PLAN_MAX).map(|(procs, _, gather)| (procs, gather));
        let (findings, details) = match plan {
            Some((procs, gather)) => {
                (Map::from_iter([("plan".to_owned(), steps(procs, &gather.plan)?)]), chains(&gather.plan, procs)?)
            }
            None => (Map::new(), String::new()),
        };
        let equation = "Tam, Wang, eqs. (3) to (8): Ga_l = ceil(g_s/g_r), Ga_u = floor(g_s/g_r + B_L/i), w between them so that \
                        the last group is not below Ga_l; T >= O_s + L + (p - 1) i g_r + O_r + U_r + M_mtm";
        let answer = Answer::new(equation, columns, rows, conclusion);
        let answer = Answer { parameters: known.parameters, notes: known.notes, details, findings, ..answer };
        Ok(answer.drawn(&["bytes", "procs"], "w", &[("w", "window")]))
    }
}

/// The window by the formula as it is printed, and when the switch is full if all send at once.
fn beside(known: &Known, gather: &Gather, procs: u32, bytes: f64) -> Result<(Option<u32>, Option<f64>), Problem> {
    let packet = known.cluster.packet(known.packet_bytes.min(bytes), procs)?;
    let (g_s, g_r, buffer) = (packet.send_gap_s, packet.receive_gap_s, known.cluster.buffer_packets);
    let printed = window_printed(procs, g_s, g_r, buffer, gather.packets_each)?;
    Ok((printed, fill_time_s(f64::from(procs - 1) / g_s, 1.0 / g_r, buffer)?))
}

fn verdict(procs: u32, bytes: f64, gather: &Gather) -> String {
    let (senders, at_once) = (procs - 1, gather.plan.window());
    let size = format::bytes(bytes);
    let what = match (senders, at_once == senders) {
        (1, _) => format!("One sends {size}"),
        (_, true) => format!("All {senders} may send their {size} at once"),
        (_, false) => format!(
            "Of {senders} with {size} each, {at_once} may send at a time; all at once would lose {} of the packets",
            lost(gather.all_at_once_ratio)
        ),
    };
    let risk = match (gather.window.meets_bounds || gather.all_at_once_ratio >= 1.0, gather.window.upper_bound) {
        (true, _) => "",
        (false, 0) => " Even a single sender's packets are too many for the buffer: some may be lost.",
        (false, _) => " No number of senders meets both bounds: packets may be lost.",
    };
    format!("{what}. It takes {} at least.{risk}", format::seconds(gather.bound_s))
}

fn lost(kept: f64) -> String {
    format!("{:.1} %", 100.0 * (1.0 - kept))
}

/// Algorithm 1 as data.
fn steps(procs: u32, plan: &Plan) -> Result<Value, Problem> {
    let step = |sender: u32| {
        Ok(json!({ "sender": sender, "waits_for": plan.waits_for(sender)?, "signals": plan.signals(sender)? }))
    };
    (1..procs).map(step).collect::<Result<Vec<_>, Problem>>().map(Value::from)
}

/// Algorithm 1 in words: who sends after whom.
fn chains(plan: &Plan, procs: u32) -> Result<String, Problem> {
    if procs == 2 {
        return Ok(String::new());
    }
    if plan.longest_chain() == 1 {
        return Ok(format!("Plan: 1 to {} send at once.", procs - 1));
    }
    let chains =
        plan.chains().into_iter().map(|chain| chain.iter().map(u32::to_string).collect::<Vec<_>>().join(" > "));
    Ok(format!("Plan, each waiting for the signal of the one before: {}.", chains.collect::<Vec<_>>().join(", ")))
}
