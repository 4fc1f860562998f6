//! `lathide predict multigrid`: a V-cycle on many processors (Matheson, Tarjan 1993).

use lathide_models::multigrid::{Grid, MachineModel, Messages, Network, best_processors, predict};
use serde_json::{Map, Value, json};

use super::answer::{Answer, Form, Parameter, column, given, parameter, row};
use super::channel::positive_word;
use super::model::Predict;
use super::problem::Problem;
use super::saved::Saved;
use super::values::{self, Counts, Values};
use crate::commands::common::options::one;
use crate::report::format::plain;
use lathide::launcher::quantity::WHOLE;

/// How a multigrid V-cycle runs on a mesh of processors: GAP, LOG and Single Stage models (Matheson, Tarjan 1993)
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Dimensions of the grid, 2 or 3
    #[arg(long, value_name = "D", value_parser = one::<u32>(WHOLE.within("2", "3")), default_value_t = 2)]
    dims: u32,
    /// Points of the grid in each dimension
    #[arg(long, value_name = "N", value_parser = values::number, allow_hyphen_values = true, default_value = "1000")]
    n: f64,
    /// Numbers of processors
    #[arg(long, value_name = "LIST", value_parser = values::counts, allow_hyphen_values = true,
          default_value = "256..16384*4")]
    procs: Counts,
    /// Cycles to start and receive a message; several are machines to compare [default: with --variable the eight pairs
    /// of the paper's Table 1]
    #[arg(long, value_name = "LIST", value_parser = values::numbers, allow_hyphen_values = true)]
    fixed: Option<Values>,
    /// Cycles per unit of distance; one for all machines or one for each [default: 0]
    #[arg(long, value_name = "LIST", value_parser = values::numbers, allow_hyphen_values = true, requires = "fixed")]
    variable: Option<Values>,
    /// What distance is: none, its logarithm, or itself [default: log, or gap where --variable is 0]
    #[arg(long, value_name = "MODEL")]
    network: Option<Kind>,
    /// Words travel together in long messages, not one by one
    #[arg(long)]
    long_messages: bool,
    /// The longest message, in words
    #[arg(long, value_name = "W", value_parser = values::number, allow_hyphen_values = true, default_value = "1000")]
    words_max: f64,
    /// Cycles to spool a word of a long message [default: 4, or b of --from]
    #[arg(long, value_name = "CYCLES", value_parser = values::number, allow_hyphen_values = true)]
    spool: Option<f64>,
    /// Cycles of a floating point operation
    #[arg(long, value_name = "CYCLES", value_parser = values::number, allow_hyphen_values = true, default_value = "6")]
    cycles_per_flop: f64,
    /// The processor's clock, which makes cycles of the seconds of --from: a is --fixed, b times --word-bytes is --spool
    #[arg(long, value_name = "HZ", value_parser = values::number, allow_hyphen_values = true, requires = "from")]
    clock: Option<f64>,
    /// The size of a word, with --from
    #[arg(long, value_name = "SIZE", value_parser = values::size, allow_hyphen_values = true, default_value = "8")]
    word_bytes: f64,
}

#[derive(Clone, Copy, PartialEq, Debug, clap::ValueEnum)]
enum Kind {
    Gap,
    Log,
    SingleStage,
}

const EXAMPLES: &str = "\
Examples:
  lathide predict multigrid --dims 2 --procs 256,1024 --fixed 2500 --variable 200 --long-messages
  lathide predict multigrid --dims 3                                     the paper's Tables 4 and 5
  lathide predict multigrid --from link.json --clock 3e9 --cycles-per-flop 1 --procs 4..256*4 --long-messages";

/// A machine to compare, and its costs.
struct Candidate {
    fixed: f64,
    variable: f64,
    machine: MachineModel,
}

impl Predict for Args {
    fn predict(&self, saved: Option<&Saved>) -> Result<Answer, Problem> {
        let grid = if self.dims == 2 { Grid::two_dimensional(self.n) } else { Grid::three_dimensional(self.n) };
        let messages = self.messages(saved)?;
        let candidates = self.candidates(messages, saved)?;
        let columns = vec![
            given("fixed_cycles", "fixed", Form::Plain),
            given("variable_cycles", "variable", Form::Plain),
            given("procs", "P", Form::Count),
            column("messages", "messages", Form::Number),
            column("computation_cycles", "compute\ncycles", Form::Number),
            column("communication_cycles", "communicate\ncycles", Form::Number),
            column("speedup", "S", Form::Number),
            column("efficiency", "E", Form::Percent(2)),
        ];
        let (mut rows, mut best) = (Vec::new(), Vec::new());
        for Candidate { fixed, variable, machine } in &candidates {
            for &procs in &self.procs {
                let it = predict(&grid, machine, procs.into())?;
                rows.push(row![
                    *fixed,
                    *variable,
                    procs,
                    it.messages(),
                    it.computation_cycles(),
                    it.communication_cycles(),
                    it.speedup(),
                    it.efficiency()
                ]);
            }
            let procs = best_processors(&grid, machine)?;
            best.push((*fixed, *variable, procs, predict(&grid, machine, procs)?.speedup()));
        }
        let found = best.iter().map(|(fixed, variable, procs, speedup)| {
            json!({ "fixed_cycles": fixed, "variable_cycles": variable, "procs": procs, "speedup": speedup })
        });
        Ok(Answer {
            parameters: self.parameters(messages),
            findings: Map::from_iter([("best".to_owned(), found.collect::<Value>())]),
            ..Answer::new(self.equation(&candidates), columns, rows, verdict(&best))
        }
        .drawn(&["procs"], "S", &[("S", "speedup")]))
    }
}

impl Args {
    fn messages(&self, saved: Option<&Saved>) -> Result<Messages, Problem> {
        if !self.long_messages {
            return Ok(Messages::OneWord);
        }
        let spool_cycles_per_word = match (self.spool, saved) {
            (Some(spool), _) => spool,
            (None, Some(saved)) => {
                let b = saved.number("hyperbolic.b_s_per_byte", "give --spool")?;
                b * positive_word(self.word_bytes)? * self.clock(saved)?
            }
            (None, None) => 4.0,
        };
        Ok(Messages::Long { words_max: self.words_max, spool_cycles_per_word })
    }

    fn clock(&self, saved: &Saved) -> Result<f64, Problem> {
        self.clock
            .ok_or_else(|| Problem::new(format!("--from {}: its seconds need --clock to be cycles", saved.name())))
    }

    /// The machines, from options first, then from `saved`, then from the paper.
    fn candidates(&self, messages: Messages, saved: Option<&Saved>) -> Result<Vec<Candidate>, Problem> {
        let costs: Vec<(f64, f64)> = match (&self.fixed, saved) {
            (Some(fixed), _) => {
                let variable = self.variable.clone().unwrap_or(vec![0.0]);
                values::paired(("--fixed", fixed), ("--variable", &variable)).map_err(Problem::new)?
            }
            (None, Some(saved)) => vec![(saved.number("hyperbolic.a_s", "give --fixed")? * self.clock(saved)?, 0.0)],
            (None, None) => Network::TABLE_1.map(Network::costs).to_vec(),
        };
        Ok(costs
            .into_iter()
            .map(|(fixed, variable)| {
                let kind = self.network.unwrap_or(if variable == 0.0 { Kind::Gap } else { Kind::Log });
                let (fixed_cycles, variable_cycles) = (fixed, variable);
                let network = match kind {
                    Kind::Gap => Network::Gap { fixed_cycles },
                    Kind::Log => Network::Log { fixed_cycles, variable_cycles },
                    Kind::SingleStage => Network::SingleStage { fixed_cycles, variable_cycles },
                };
                let machine =
                    MachineModel { cycles_per_flop: self.cycles_per_flop, ..MachineModel::new(network, messages) };
                Candidate { fixed, variable, machine }
            })
            .collect())
    }

    fn parameters(&self, messages: Messages) -> Vec<Parameter> {
        let mut parameters = vec![
            parameter("dims", "d", Form::Count, self.dims),
            parameter("n", "N", Form::Plain, self.n),
            parameter("cycles_per_flop", "cycles per flop", Form::Plain, self.cycles_per_flop),
        ];
        if let Messages::Long { words_max, spool_cycles_per_word } = messages {
            parameters.push(parameter("words_max", "words per message", Form::Plain, words_max));
            parameters.push(parameter("spool_cycles", "spooling per word", Form::Plain, spool_cycles_per_word));
        } else {
            parameters.push(parameter("words_max", "words per message", Form::Count, 1));
        }
        parameters
    }

    fn equation(&self, candidates: &[Candidate]) -> &'static str {
        let single_stage = candidates.iter().any(|it| matches!(it.machine.network, Network::SingleStage { .. }));
        match (single_stage, self.long_messages) {
            (true, _) => {
                "Matheson, Tarjan 1993, Single Stage model (Tables 10, 11): S = serial / (computation + fixed n_f + variable \
                          n_v + spooling), distances by the Manhattan metric"
            }
            (false, false) => {
                "Matheson, Tarjan 1993, LOG and GAP models, one-word messages (Tables 2 to 5): S = serial / (computation \
                               + fixed n_f + variable n_v), E = computation / (computation + communication)"
            }
            (false, true) => {
                "Matheson, Tarjan 1993, LOG and GAP models, long messages (Tables 8 and 9): S = serial / (computation + \
                              fixed n_f + variable n_v + spooling), E = computation / (computation + communication)"
            }
        }
    }
}

fn verdict(best: &[(f64, f64, f64, f64)]) -> String {
    let text =
        |(_, _, procs, speedup): &(f64, f64, f64, f64)| format!("on {procs:.0} processors, where S = {speedup:.1}");
    let greatest = best.iter().max_by(|one, other| one.3.total_cmp(&other.3));
    match (best, greatest) {
        ([(.., procs, _)], _) if *procs < 1.5 => "One processor alone is fastest: messages cost too much.".to_owned(),
        ([only], _) => format!("A V-cycle takes the least time {}; more only communicate more.", text(only)),
        (_, Some(greatest)) => format!(
            "Of these machines that of (fixed, variable) = ({}, {}) can be fastest, {}.",
            plain(greatest.0),
            plain(greatest.1),
            text(greatest)
        ),
        (_, None) => String::new(),
    }
}
