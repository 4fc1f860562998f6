//! `lathide predict broadcast`: one message to all (Stoica, Sultan, Keyes 1994; Tam, Wang).

use std::fmt::Write as _;

use lathide_models::cluster::broadcast_postal_s;
use lathide_models::hyperbolic::Network;
use serde_json::{Map, json};

use super::answer::{Answer, Form, column, given, row};
use super::model::Predict;
use super::network::NetworkArgs;
use super::problem::Problem;
use super::saved::Saved;
use super::switch::{Known, SwitchArgs};
use super::values::{self, Counts, Values};
use crate::report::format;

/// How to bring one message to all: tree or serial (hyperbolic model), or in packets down a tree (cluster model)
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Numbers of processes, the root included
    #[arg(long, value_name = "LIST", value_parser = values::counts, allow_hyphen_values = true, default_value = "16")]
    procs: Counts,
    /// Message sizes
    #[arg(long, value_name = "LIST", value_parser = values::sizes, allow_hyphen_values = true,
          default_value = "1..1MiB*4")]
    bytes: Values,
    /// Whose model: hyperbolic (Stoica, Sultan, Keyes) with --a-w .. --a-l, or cluster (Tam, Wang) with --o-s .. --buffer
    #[arg(long, value_name = "MODEL", default_value = "hyperbolic")]
    model: Whose,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    switch: SwitchArgs,
}

#[derive(Clone, Copy, PartialEq, Debug, clap::ValueEnum)]
enum Whose {
    Cluster,
    Hyperbolic,
}

const EXAMPLES: &str = "\
Examples:
  lathide predict broadcast --procs 2..64*2 --bytes 8,1KiB,64KiB
  lathide predict broadcast --from link.json --procs 16
  lathide predict broadcast --model cluster --procs 2..16*2 --bytes 64KiB";

impl Predict for Args {
    fn predict(&self, saved: Option<&Saved>) -> Result<Answer, Problem> {
        match self.model {
            Whose::Cluster => self.in_packets(&self.switch.cluster(saved)?),
            Whose::Hyperbolic => self.tree_or_serial(saved),
        }
    }
}

impl Args {
    fn tree_or_serial(&self, saved: Option<&Saved>) -> Result<Answer, Problem> {
        let known = self.network.network(saved)?;
        let network = known.network;
        let columns = vec![
            given("procs", "p", Form::Count),
            given("bytes", "x", Form::Bytes),
            column("tree_s", "tree", Form::Seconds),
            column("serial_s", "serial", Form::Seconds),
            column("ratio", "tree /\nserial", Form::Number),
            column("cheaper", "cheaper", Form::Word),
        ];
        let mut rows = Vec::new();
        for &procs in &self.procs {
            let (tree, serial) = (network.broadcast_tree(procs)?, network.broadcast_serial(procs)?);
            for &bytes in &self.bytes {
                let (tree_s, serial_s) = (tree.time_s(bytes)?, serial.time_s(bytes)?);
                let ratio = (serial_s > 0.0).then(|| tree_s / serial_s);
                rows.push(row![procs, bytes, tree_s, serial_s, ratio, network.cheaper_broadcast(procs, bytes)?.name()]);
            }
        }
        let (changes, conclusion) = self.verdict(&network)?;
        let equation = "Stoica, Sultan, Keyes 1994, section 3.1 with eq. (3); tree: a = max_i t(i), b = sum_k max(n_k b_C, b_W); \
                        serial: a = (N + 1) a_W + a_C + a_L, b = N max(b_C, b_W), N = p - 1";
        Ok(Answer {
            parameters: known.parameters,
            findings: Map::from_iter([("changes".to_owned(), json!(changes))]),
            notes: known.notes,
            ..Answer::new(equation, columns, rows, conclusion)
        }
        .drawn(&["bytes", "procs"], "tree / serial", &[("tree / serial", "ratio")]))
    }

    /// Which way is cheaper where: for each number of processes, the sizes at which it changes.
    fn verdict(&self, network: &Network) -> Result<(Vec<serde_json::Value>, String), Problem> {
        let mut sizes: Vec<f64> = self.bytes.clone();
        sizes.sort_by(f64::total_cmp);
        let (mut changes, mut said) = (Vec::new(), Vec::<(String, Vec<u32>)>::new());
        for &procs in &self.procs {
            let name = |bytes| Ok::<_, Problem>(network.cheaper_broadcast(procs, bytes)?.name());
            let mut text = name(sizes[0])?.to_owned();
            for pair in sizes.windows(2) {
                let next = name(pair[1])?;
                if next != name(pair[0])? {
                    let at = network.broadcast_changes_at(procs, pair[0], pair[1])?;
                    _ = write!(text, " up to {}, then {next}", format::bytes(at));
                    changes.push(json!({ "procs": procs, "bytes": at, "to": next }));
                }
            }
            match said.iter_mut().find(|(said, _)| *said == text) {
                Some((_, same)) => same.push(procs),
                None => said.push((text, vec![procs])),
            }
        }
        let sentences = said.iter().map(|(text, procs)| {
            let procs: Vec<String> = procs.iter().map(u32::to_string).collect();
            let everywhere = if text.contains("then") || sizes.len() == 1 { "" } else { " for all these sizes" };
            format!("p = {}: {text}{everywhere}", procs.join(", "))
        });
        Ok((changes, format!("Cheaper with {}.", sentences.collect::<Vec<_>>().join("; "))))
    }

    fn in_packets(&self, known: &Known) -> Result<Answer, Problem> {
        let columns = vec![
            given("procs", "p", Form::Count),
            given("bytes", "message", Form::Bytes),
            column("packets", "packets\nk", Form::Count),
            column("time_s", "B_k\neq. 2", Form::Seconds),
            column("postal_s", "Postal\neq. 1", Form::Seconds),
            column("ratio", "eq. 2 /\neq. 1", Form::Number),
        ];
        let (mut rows, mut conclusion) = (Vec::new(), String::new());
        for &procs in &self.procs {
            for &bytes in &self.bytes {
                let time_s = known.cluster.broadcast_s(bytes, known.packet_bytes, procs)?;
                // As the model cuts it, which has checked both sizes by now.
                let packets = (bytes / known.packet_bytes - 1e-12).ceil().max(1.0);
                let packet = known.cluster.packet(known.packet_bytes.min(bytes), procs)?;
                let postal_s = broadcast_postal_s(packets as u64, procs, packet.send_gap_s, packet.one_way_s()?)?;
                let ratio = (postal_s > 0.0).then(|| time_s / postal_s);
                rows.push(row![procs, bytes, packets, time_s, postal_s, ratio]);
                conclusion = format!(
                    "{} to {procs} processors take {}; the Postal model, which has no cost of reception, says {}.",
                    format::bytes(bytes),
                    format::seconds(time_s),
                    format::seconds(postal_s)
                );
            }
        }
        let equation = "Tam, Wang, eq. (2): B_k = (k - 1) ((log2 p - 1) g_s + O_r + U_r) + log2 p (O_s + L + O_r + U_r); \
                        eq. (1): log2 p (k g_s + L - g_s), its L all of the way";
        let parameters = known.parameters.clone();
        let notes = known.notes.clone();
        let answer = Answer { parameters, notes, ..Answer::new(equation, columns, rows, conclusion) };
        Ok(answer.drawn(&["bytes", "procs"], "B_k", &[("B_k", "time_s")]))
    }
}
