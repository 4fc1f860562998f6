//! `lathide predict hyperbolic`: how long messages take (Stoica, Sultan, Keyes 1994).

use lathide_models::hyperbolic::{Network, Primitive};
use serde_json::{Map, json};

use super::answer::{Answer, Form, column, given, row};
use super::model::Predict;
use super::network::{Known, NetworkArgs};
use super::problem::Problem;
use super::saved::Saved;
use super::values::{self, Counts, Values};
use crate::report::format;

/// How long messages take, alone, between several pairs at once, and among neighbours (Stoica, Sultan, Keyes 1994)
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Message sizes
    #[arg(long, value_name = "LIST", value_parser = values::sizes, allow_hyphen_values = true,
          default_value = "1..1MiB*4")]
    bytes: Values,
    /// How many pairs send at once
    #[arg(long, value_name = "LIST", value_parser = values::counts, allow_hyphen_values = true, default_value = "1",
          conflicts_with = "neighbours")]
    pairs: Counts,
    /// Instead: every process exchanges messages with so many neighbours at once
    #[arg(long, value_name = "K", value_parser = values::counts, allow_hyphen_values = true)]
    neighbours: Option<Counts>,
    /// How many processes do, with --neighbours [default: 16]
    #[arg(long, value_name = "LIST", value_parser = values::counts, allow_hyphen_values = true,
          requires = "neighbours")]
    procs: Option<Counts>,
    #[command(flatten)]
    network: NetworkArgs,
}

const EXAMPLES: &str = "\
Examples:
  lathide predict hyperbolic                                          a message on the paper's Ethernet of 1994
  lathide predict hyperbolic --a 35us --b 1ns --bytes 8..16MiB*2      T(x; a, b)
  lathide predict hyperbolic --pairs 1,2,4,8 --bytes 1KiB..1MiB*4
  lathide predict hyperbolic --neighbours 4 --procs 8..64*2 --bytes 8KiB --from link.json";

impl Predict for Args {
    fn predict(&self, saved: Option<&Saved>) -> Result<Answer, Problem> {
        let known = self.network.network(saved)?;
        match &self.neighbours {
            Some(neighbours) => self.among_neighbours(known, neighbours),
            None => self.between_pairs(known),
        }
    }
}

impl Args {
    fn between_pairs(&self, known: Known) -> Result<Answer, Problem> {
        let network = known.network;
        let alone = self.pairs == vec![1];
        let mut columns = vec![
            given("pairs", "pairs", Form::Count),
            given("bytes", "x", Form::Bytes),
            column("time_s", "T(x; a, b)\neq. 3", Form::Seconds),
            column("line_s", "a + b x\neq. 4", Form::Seconds),
            column("bytes_per_s", "x/T", Form::Rate),
        ];
        if alone {
            columns.push(column("sending_s", "T_s\n2.5", Form::Seconds));
            columns.push(column("sending_preemptive_s", "T_s pre-\nemptive", Form::Seconds));
        }
        let sending =
            [Primitive::NonPreemptive, Primitive::Preemptive].map(|primitive| network.path()?.sending(primitive));
        let mut rows = Vec::new();
        for &pairs in &self.pairs {
            let block = network.pairs(pairs)?;
            for &bytes in &self.bytes {
                let time_s = block.time_s(bytes)?;
                let rate = if time_s > 0.0 { Some(bytes / time_s) } else { None };
                let mut row = row![pairs, bytes, time_s, block.line_s(bytes)?, rate];
                if alone {
                    row.push(sending[0]?.time_s(bytes)?.into());
                    row.push(sending[1]?.time_s(bytes)?.into());
                }
                rows.push(row);
            }
        }
        let equation = "Stoica, Sultan, Keyes 1994, eqs. (3) and (16): T(x; a, b) = a^2/(a + b x) + b x, of n pairs \
                        a = 2 a_W + n a_C + a_L, b = max(b_W, n b_C)";
        let conclusion = self.verdict(&network)?;
        Ok(Answer {
            parameters: known.parameters,
            findings: findings(&network)?,
            notes: known.notes,
            ..Answer::new(equation, columns, rows, conclusion)
        }
        .drawn(&["bytes"], "rate", &[("x/T", "bytes_per_s")]))
    }

    /// What a message alone does, and many.
    fn verdict(&self, network: &Network) -> Result<String, Problem> {
        let one = network.point_to_point()?;
        let mut conclusion = format!("A message of a few bytes takes a = {}", format::seconds(one.a_s()));
        conclusion += &match one.half_rate_bytes() {
            Some(half) => format!(
                "; the rate tends to 1/b = {} MB/s, and half of it is reached at {}.",
                format::plain(1e-6 / one.b_s_per_byte()),
                format::bytes(half)
            ),
            None => "; longer ones take no more.".to_owned(),
        };
        conclusion += &match network.network_bound_from() {
            Some(1) => " The network is the bottleneck, already of one pair.".to_owned(),
            Some(pairs) => format!(" From {pairs} pairs on the network is the bottleneck (n b_C > b_W)."),
            None => " However many pairs send, the network is not the bottleneck.".to_owned(),
        };
        Ok(conclusion)
    }

    fn among_neighbours(&self, known: Known, neighbours: &Counts) -> Result<Answer, Problem> {
        let network = known.network;
        let procs = self.procs.clone().unwrap_or(vec![16]);
        let columns = vec![
            given("neighbours", "K", Form::Count),
            given("procs", "N", Form::Count),
            given("bytes", "x", Form::Bytes),
            column("time_s", "T\n3.3", Form::Seconds),
            column("time_by_rule_3_s", "T\nrule 3", Form::Seconds),
            column("messages_alone_s", "K messages\nalone", Form::Seconds),
            column("slowdown", "slow-\ndown", Form::Number),
        ];
        let one = network.point_to_point()?;
        let (mut rows, mut worst) = (Vec::new(), 0.0_f64);
        for &neighbours in neighbours {
            for &procs in procs.iter() {
                let (printed, by_rule) =
                    (network.neighbours(procs, neighbours)?, network.neighbours_by_rule_3(procs, neighbours)?);
                for &bytes in &self.bytes {
                    let (time_s, alone_s) = (printed.time_s(bytes)?, f64::from(neighbours) * one.time_s(bytes)?);
                    let by_rule_s = by_rule.time_s(bytes)?;
                    let slowdown = (alone_s > 0.0).then(|| by_rule_s / alone_s);
                    worst = worst.max(slowdown.unwrap_or(0.0));
                    rows.push(row![neighbours, procs, bytes, time_s, by_rule_s, alone_s, slowdown]);
                }
            }
        }
        let conclusion = match worst {
            worst if worst > 1.005 => format!(
                "The exchange takes up to {} times as long as the K messages of a process alone, since all N processes \
                 share the network.",
                format::plain(worst)
            ),
            _ => "The processes do not get in each other's way.".to_owned(),
        };
        let equation = "Stoica, Sultan, Keyes 1994, section 3.3: T(x; a, b), a = 2 K a_W + K N a_C + a_L, b = max(K N b_C, \
                        b_W); by rule 3 K b_W";
        Ok(Answer {
            parameters: known.parameters,
            findings: findings(&network)?,
            notes: known.notes,
            ..Answer::new(equation, columns, rows, conclusion)
        }
        .drawn(&["bytes", "procs"], "slow-down", &[("slow-down", "slowdown")]))
    }
}

fn findings(network: &Network) -> Result<Map<String, serde_json::Value>, Problem> {
    let one = network.point_to_point()?;
    Ok(Map::from_iter([
        ("one_way".to_owned(), json!({ "a_s": one.a_s(), "b_s_per_byte": one.b_s_per_byte() })),
        ("half_rate_bytes".to_owned(), json!(one.half_rate_bytes())),
        ("network_bound_from_pairs".to_owned(), json!(network.network_bound_from())),
    ]))
}
