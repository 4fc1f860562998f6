//! `lathide predict hops`: what crossing networks costs (Hanuliak 2014, section 4.2).

use lathide_models::decomposition::{Channel, Crossing, Topology};
use serde_json::Value;

use super::answer::{Answer, Form, column, given, parameter, row};
use super::channel::{ChannelArgs, stated};
use super::model::Predict;
use super::problem::Problem;
use super::saved::Saved;
use super::values::{self, Counts};
use crate::commands::common::options::List;
use crate::nearest::did_you_mean;
use crate::report::format;

/// What crossing several networks or nodes costs: hops on a bus, crossbar, hypercube, torus, mesh and ring (Hanuliak
/// 2014)
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// How nodes are joined: bus, crossbar, hypercube (p a power of two), torus, mesh, ring [default: all]
    #[arg(long, value_name = "LIST", value_parser = topologies)]
    topology: Option<List<Topology>>,
    /// Numbers of processes, one on each node
    #[arg(long, value_name = "LIST", value_parser = values::counts, allow_hyphen_values = true, default_value = "16,64,256")]
    procs: Counts,
    /// Instead of topologies: l_h, how many networks a message crosses
    #[arg(long, value_name = "LIST", value_parser = values::counts, allow_hyphen_values = true,
          conflicts_with_all = ["topology", "procs"])]
    hops: Option<Counts>,
    /// m, the words of a message
    #[arg(long, value_name = "LIST", value_parser = values::counts, allow_hyphen_values = true, default_value = "1024")]
    words: Counts,
    /// t_h, what a hop takes (the paper has no value)
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true, default_value = "10us")]
    t_h: f64,
    #[command(flatten)]
    channel: ChannelArgs,
}

const EXAMPLES: &str = "\
A mesh or torus of p nodes has rows and columns as nearly square as p allows: 12 are 3 x 4.

Examples:
  lathide predict hops --procs 16..1024*4 --words 1000 --t-h 5us
  lathide predict hops --topology torus,mesh --procs 9..900*2 --from link.json
  lathide predict hops --hops 1..16 --words 1000 --t-s 1500us --t-w 5us --t-h 200us";

const NAMES: [(&str, Topology); 6] = [
    ("bus", Topology::Bus),
    ("crossbar", Topology::Crossbar),
    ("hypercube", Topology::Hypercube),
    ("torus", Topology::Torus),
    ("mesh", Topology::Mesh),
    ("ring", Topology::Ring),
];

fn topologies(text: &str) -> Result<List<Topology>, String> {
    let one = |word: &str| {
        let known = NAMES.into_iter().find(|(name, _)| *name == word.trim()).map(|(_, topology)| topology);
        known.ok_or_else(|| {
            let meant = did_you_mean(word, NAMES.map(|(name, _)| name));
            format!("{word:?} is none of bus, crossbar, hypercube, torus, mesh and ring{meant}")
        })
    };
    text.split(',').map(one).collect()
}

const EQUATION: &str = "Hanuliak 2014, section 4.2: passed on while it comes in (cut-through) t_s + l_h t_h + m t_w; \
                        taken in whole by each (store and forward) t_s + l_h (t_h + m t_w)";

impl Predict for Args {
    fn predict(&self, saved: Option<&Saved>) -> Result<Answer, Problem> {
        let channel = self.channel.channel(saved)?;
        let mut answer = match &self.hops {
            Some(hops) => self.of_hops(&channel, hops)?,
            None => self.of_topologies(&channel)?,
        };
        answer.parameters = stated(&channel);
        answer.parameters.push(parameter("t_h_s", "t_h", Form::Seconds, self.t_h));
        Ok(answer)
    }
}

impl Args {
    /// A message's two times.
    fn times(&self, channel: &Channel, words: u32, hops: f64) -> Result<[f64; 2], Problem> {
        let crossing = Crossing { words: words.into(), hops, hop_s: self.t_h };
        Ok([channel.cut_through_s(&crossing)?, channel.store_and_forward_s(&crossing)?])
    }

    fn of_hops(&self, channel: &Channel, hops: &Counts) -> Result<Answer, Problem> {
        let columns = vec![
            given("words", "m", Form::Count),
            given("hops", "l_h", Form::Count),
            column("cut_through_s", "cut-\nthrough", Form::Seconds),
            column("store_and_forward_s", "store and\nforward", Form::Seconds),
        ];
        let (mut rows, mut conclusion) = (Vec::new(), String::new());
        for &words in &self.words {
            for &hops in hops {
                let [cut_s, stored_s] = self.times(channel, words, hops.into())?;
                rows.push(row![words, hops, cut_s, stored_s]);
                conclusion = format!(
                    "Across l_h = {hops} networks a message of m = {words} words takes {} where it is passed on at once, and {} \
                     where each takes it in whole.",
                    format::seconds(cut_s),
                    format::seconds(stored_s)
                );
            }
        }
        let times = [("cut-through", "cut_through_s"), ("store and forward", "store_and_forward_s")];
        Ok(Answer::new(EQUATION, columns, rows, conclusion).drawn(&["hops", "words"], "message", &times))
    }

    fn of_topologies(&self, channel: &Channel) -> Result<Answer, Problem> {
        let all = || NAMES.iter().map(|(_, topology)| *topology).collect();
        let topologies: List<Topology> = self.topology.clone().unwrap_or_else(all);
        let columns = vec![
            given("topology", "nodes\njoined by", Form::Word),
            given("words", "m", Form::Count),
            given("procs", "p", Form::Count),
            column("hops_mean", "l_h\nmean", Form::Number),
            column("hops_most", "l_h\nmost", Form::Count),
            column("cut_through_s", "cut-\nthrough\nmean", Form::Seconds),
            column("cut_through_most_s", "cut-\nthrough\nmost", Form::Seconds),
            column("store_and_forward_s", "store and\nforward\nmean", Form::Seconds),
            column("store_and_forward_most_s", "store and\nforward\nmost", Form::Seconds),
        ];
        let (mut rows, mut means) = (Vec::new(), Vec::new());
        for topology in topologies {
            let name = NAMES.iter().find(|(_, known)| *known == topology).map_or("", |(name, _)| name);
            let mut last = 0.0;
            for &words in &self.words {
                for &procs in &self.procs {
                    let (mean, most) = (topology.mean_hops(procs)?, topology.most_hops(procs)?);
                    let [cut_s, stored_s] = self.times(channel, words, mean)?;
                    let [cut_most_s, stored_most_s] = self.times(channel, words, most.into())?;
                    rows.push(row![name, words, procs, mean, most, cut_s, cut_most_s, stored_s, stored_most_s]);
                    last = mean;
                }
            }
            means.push((name, last));
        }
        let conclusion = verdict(&means, &rows);
        let answer = Answer::new(EQUATION, columns, rows, conclusion);
        Ok(answer.drawn(&["procs", "words"], "message, store and forward", &[("mean", "store_and_forward_s")]))
    }
}

/// The mean hops of the last number of processes.
fn verdict(means: &[(&str, f64)], rows: &[Vec<Value>]) -> String {
    let Some(procs) = rows.last().and_then(|row| row[2].as_u64()) else { return String::new() };
    let each: Vec<String> = means.iter().map(|(name, mean)| format!("{name} {}", format::plain(*mean))).collect();
    format!("Two of p = {procs} processes are so many hops from each other on average: {}.", each.join(", "))
}
