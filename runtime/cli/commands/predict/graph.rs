//! `lathide predict graph`: a communication graph reduced by rules 1 to 4 (Stoica, Sultan, Keyes 1994).

mod file;

use std::path::PathBuf;

use lathide_models::hyperbolic::{Block, GraphError, Path, Primitive, general};
use serde_json::{Map, Value, json};

use super::answer::{Answer, Form, column, given, row};
use super::input;
use super::model::Predict;
use super::problem::Problem;
use super::saved::Saved;
use super::values::{self, Values};
use crate::report::format;
use crate::report::results::Table;
use file::{Pattern, Patterns, Sent, Wrong};

/// What a pattern of messages takes whose ways are blocks joined to a graph, reduced by rules 1 to 4 (Stoica, Sultan,
/// Keyes 1994)
///
/// FILE has a block or a message on each line. A block has a name, a (the time of the smallest message) and b (the time
/// per byte of the largest); blocks that share a processor are dependent. A message has a size, and the blocks that it
/// passes, in order; ways between | are parallel. All messages are under way at once. Where the graph of small messages
/// differs from that of large ones (rule 4), one follows a line `small`, the other a line `large`; what stands before
/// both is in both.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The graph; - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Sizes to say T(x) for; the other messages' sizes keep their ratio to it
    #[arg(long, value_name = "LIST", value_parser = values::sizes, allow_hyphen_values = true,
          default_value = "64..1MiB*4")]
    bytes: Values,
    /// A step of the protocol before each message that delays its sender: a rendezvous (a_0), or waiting for
    /// acknowledgements (a_ack)
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true, default_value = "0")]
    handshake: f64,
}

const EXAMPLES: &str = "\
Fig. 7 of the paper, five processes on machines of their own and one network; 1 and 3 send to 4, 2 sends to 5:

  # fig7.graph: from here to the end of the line is a comment
  block M1  859.52us 1.42us
  block M2  859.52us 1.42us
  block M3  859.52us 1.42us
  block M4  859.52us 1.42us
  block M5  859.52us 1.42us
  block net 345.60us 0.92us
  message 1 -> 4 1000 via M1 net M4
  message 2 -> 5 2000 via M2 net M5
  message 3 -> 4 500  via M3 net M4

Further forms of lines:
  block driver 20us 1ns on host1                   shares a processor with the other blocks on host1
  message 1 -> 2 64KiB via M1 eth0 M2 | M1 eth1 M2   two ways
  small                                            the graph of small messages follows (rule 4)
  large                                            that of large ones follows

Examples:
  lathide predict graph fig7.graph
  lathide predict graph fig7.graph --bytes 1KiB..1MiB*2 --json
  make-graph | lathide predict graph -";

/// Longer files are no graphs that anybody wrote; reducing takes the square of their length.
const FILE_MAX: u64 = 65_536;

/// What a message's part of the graph is reduced to.
struct Reduced<'a> {
    sent: &'a Sent,
    small: Path,
    large: Path,
}

impl Predict for Args {
    fn predict(&self, saved: Option<&Saved>) -> Result<Answer, Problem> {
        if saved.is_some() {
            return Err(Problem::new("--from has nothing for a graph: FILE has its blocks"));
        }
        // Here it is the option's fault, further below a line's.
        Path::new(&[Block::FREE])?.behind(self.handshake)?;
        let is_input = self.file.as_os_str() == "-";
        let name = if is_input { "standard input".to_owned() } else { self.file.display().to_string() };
        self.answer_to(&name, &input::read(&name, &self.file, FILE_MAX)?)
    }
}

/// What comes of a file's text.
#[cfg(fuzzing)]
pub(crate) fn fuzz(text: &str) {
    let args = Args { file: "-".into(), bytes: values::sizes("64..1MiB*4").expect("a list of sizes"), handshake: 1e-6 };
    if let Err(problem) = args.answer_to("it", text) {
        assert!(problem.to_string().len() > 4, "{problem}");
    }
}

impl Args {
    /// What comes of the file of that name.
    fn answer_to(&self, name: &str, text: &str) -> Result<Answer, Problem> {
        let wrong = |Wrong { line, message }| match line {
            Some(line) => Problem::new(format!("{name}, line {line}: {message}")),
            None => Problem::new(format!("{name}: {message}")),
        };
        let Patterns { small, large } = file::parse(text).map_err(wrong)?;
        let located =
            |(sent, error): (&Sent, GraphError)| wrong(Wrong { line: Some(sent.line), message: error.to_string() });
        let reduced = self.reduced(&small, large.as_ref()).map_err(located)?;
        let mut stages = stages(&small, if large.is_some() { "small" } else { "both" }).map_err(located)?;
        if let Some(large) = &large {
            stages.extend(self::stages(large, "large").map_err(located)?);
        }
        self.answer(name, &reduced, stages)
    }

    /// The messages that are in both graphs.
    fn reduced<'a>(
        &self,
        small: &'a Pattern,
        large: Option<&'a Pattern>,
    ) -> Result<Vec<Reduced<'a>>, (&'a Sent, GraphError)> {
        let path = |pattern: &Pattern, sent: &Sent| -> Result<Path, GraphError> {
            Ok(pattern.graph.path(sent.id)?.behind(self.handshake)?)
        };
        let mut reduced = Vec::new();
        for sent in &small.messages {
            let path_small = path(small, sent).map_err(|error| (sent, error))?;
            let path_large = match large {
                None => path_small.clone(),
                Some(large) => {
                    let Some(other) = large.messages.iter().find(|other| other.name == sent.name) else { continue };
                    path(large, other).map_err(|error| (other, error))?
                }
            };
            reduced.push(Reduced { sent, small: path_small, large: path_large });
        }
        Ok(reduced)
    }

    fn answer(&self, name: &str, reduced: &[Reduced<'_>], stages: Vec<Value>) -> Result<Answer, Problem> {
        let (mut rows, mut messages) = (Vec::new(), Vec::new());
        for message in reduced {
            for &bytes in &self.bytes {
                let time_s = message.total()?.time_s(bytes)?;
                let rate = if time_s > 0.0 { Some(bytes / time_s) } else { None };
                let [sending, sending_preemptive, least, most] = message.ends(bytes)?;
                let name = message.sent.name.as_str();
                rows.push(row![name, bytes, time_s, rate, sending, sending_preemptive, least, most]);
            }
            messages.push(message.as_member(&stages)?);
        }
        let columns = vec![
            given("message", "message", Form::Word),
            given("bytes", "x", Form::Bytes),
            column("time_s", "T_c =\nT(x; a, b)", Form::Seconds),
            column("bytes_per_s", "x/T_c", Form::Rate),
            column("sending_s", "T_s\n2.5", Form::Seconds),
            column("sending_preemptive_s", "T_s pre-\nemptive", Form::Seconds),
            column("receiving_least_s", "T_r\nfrom", Form::Seconds),
            column("receiving_most_s", "T_r\nto", Form::Seconds),
        ];
        let conclusion = verdict(&messages);
        let tables = vec![messages_table(), stages_table(stages.iter().any(|stage| stage["limit"] != "both"))];
        let findings = Map::from_iter([
            ("file".to_owned(), json!(name)),
            ("messages".to_owned(), Value::from(messages)),
            ("stages".to_owned(), Value::from(stages)),
        ]);
        let details = "Rule 3 counts each message as the last that a block serves, so that times are upper bounds. \
                       T_r is the first of its two where the receiver works on other messages meanwhile \
                       (preemptive), and lies between them where it waits for each packet."
            .to_owned();
        let answer = Answer { findings, tables, details, ..Answer::new(EQUATION, columns, rows, conclusion) };
        Ok(answer.drawn(&["bytes"], "rate", &[("x/T_c", "bytes_per_s")]))
    }
}

const EQUATION: &str = "Stoica, Sultan, Keyes 1994, rules 1 to 4, eqs. (5) to (15): in series a = sum a_i, b = max \
                        b_i (dependent: sum b_i); in parallel a = min a_i, 1/b = sum 1/b_i (dependent: b = min b_i); \
                        n messages at once a_i = n a, b_i = b sum x_j / x_i; T(x; a, b) = a^2/(a + b x) + b x";

fn messages_table() -> Table {
    Table::of("messages")
        .title("The messages at their own sizes, reduced to one block each:")
        .column("message", "message", Form::Word)
        .column("bytes", "x", Form::Bytes)
        .column("a_s", "a", Form::Seconds)
        .column("b_s_per_byte", "b", Form::SecondsPerByte)
        .column("time_s", "T_c", Form::Seconds)
        .column("sending_s", "T_s", Form::Seconds)
        .column("receiving_most_s", "T_r\nto", Form::Seconds)
        .column("bottleneck", "bottle-\nneck", Form::Word)
        .column("most_of_a", "most\nof a", Form::Word)
}

fn stages_table(by_limit: bool) -> Table {
    let mut table = Table::of("stages")
        .title("What each message passes, by rules 1 to 3; n messages pass a block:")
        .column("message", "message", Form::Word);
    if by_limit {
        table = table.column("limit", "graph of\nmessages", Form::Word);
    }
    table
        .column("blocks", "blocks", Form::Word)
        .column("messages", "n", Form::Count)
        .column("a_s", "a", Form::Seconds)
        .column("b_s_per_byte", "b", Form::SecondsPerByte)
}

/// A member of `stages` for each independent block that each message passes.
fn stages<'a>(pattern: &'a Pattern, limit: &str) -> Result<Vec<Value>, (&'a Sent, GraphError)> {
    let mut members = Vec::new();
    for sent in &pattern.messages {
        let of_message = || -> Result<Vec<Value>, GraphError> {
            let mut members = Vec::new();
            for stage in pattern.graph.stages(sent.id)? {
                let (mut names, mut most) = (Vec::new(), 0);
                for block in stage.members {
                    names.push(pattern.graph.name(block)?);
                    most = most.max(pattern.graph.messages_through(block)?);
                }
                members.push(json!({
                    "message": sent.name,
                    "limit": limit,
                    "blocks": names.join(" "),
                    "messages": most,
                    "a_s": stage.block.a_s(),
                    "b_s_per_byte": stage.block.b_s_per_byte(),
                }));
            }
            Ok(members)
        };
        members.extend(of_message().map_err(|error| (sent, error))?);
    }
    Ok(members)
}

/// The blocks of a message with the greatest `parameter`, in the graph of one limit; none where it is 0 everywhere.
fn greatest<'a>(stages: &'a [Value], message: &str, limit: &str, parameter: &str) -> Option<&'a str> {
    let of_message =
        |stage: &&Value| stage["message"] == message && (stage["limit"] == limit || stage["limit"] == "both");
    let mut best: Option<(f64, &str)> = None;
    for stage in stages.iter().filter(of_message) {
        let (Some(value), Some(name)) = (stage[parameter].as_f64(), stage["blocks"].as_str()) else { continue };
        if value > best.map_or(0.0, |(greatest, _)| greatest) {
            best = Some((value, name));
        }
    }
    best.map(|(_, name)| name)
}

impl Reduced<'_> {
    /// T_c, by rule 4.
    fn total(&self) -> Result<Block, Problem> {
        Ok(general(self.small.total()?, self.large.total()?))
    }

    /// T_s, not preemptive and preemptive, and the least and the greatest T_r, of `bytes`.
    fn ends(&self, bytes: f64) -> Result<[f64; 4], Problem> {
        let sending = |primitive| -> Result<f64, Problem> {
            Ok(general(self.small.sending(primitive)?, self.large.sending(primitive)?).time_s(bytes)?)
        };
        let (first, last) = (Primitive::NonPreemptive, Primitive::Preemptive);
        let (small, large) = (self.small.receiving(first), self.large.receiving(first));
        Ok([
            sending(first)?,
            sending(last)?,
            general(small.least, large.least).time_s(bytes)?,
            general(small.most, large.most).time_s(bytes)?,
        ])
    }

    /// Its member of `messages`.
    fn as_member(&self, stages: &[Value]) -> Result<Value, Problem> {
        let Sent { name, bytes, .. } = self.sent;
        let block = self.total()?;
        let [sending_s, sending_preemptive_s, receiving_least_s, receiving_most_s] = self.ends(*bytes)?;
        Ok(json!({
            "message": name,
            "bytes": bytes,
            "a_s": block.a_s(),
            "b_s_per_byte": block.b_s_per_byte(),
            "time_s": block.time_s(*bytes)?,
            "sending_s": sending_s,
            "sending_preemptive_s": sending_preemptive_s,
            "receiving_least_s": receiving_least_s,
            "receiving_most_s": receiving_most_s,
            "bottleneck": greatest(stages, name, "large", "b_s_per_byte"),
            "most_of_a": greatest(stages, name, "small", "a_s"),
        }))
    }
}

/// The last message to arrive, and what large ones wait for.
fn verdict(messages: &[Value]) -> String {
    let time = |message: &Value| message["time_s"].as_f64().unwrap_or_default();
    let Some(last) = messages.iter().max_by(|one, other| time(one).total_cmp(&time(other))) else {
        return String::new();
    };
    let name = last["message"].as_str().unwrap_or_default();
    let mut text = format!("Of these messages {name} takes longest, {}.", format::seconds(time(last)));
    let mut waits: Vec<(&str, usize)> = Vec::new();
    for block in messages.iter().filter_map(|message| message["bottleneck"].as_str()) {
        match waits.iter_mut().find(|(known, _)| *known == block) {
            Some((_, number)) => *number += 1,
            None => waits.push((block, 1)),
        }
    }
    waits.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    if let Some((block, number)) = waits.first() {
        text += &format!(" Where they are large, {number} of {} wait for {block}", messages.len());
        let others: Vec<String> = waits[1..].iter().map(|(block, number)| format!("{number} for {block}")).collect();
        text += &if others.is_empty() { ".".to_owned() } else { format!(", {}.", others.join(", ")) };
    }
    text
}
