//! `lathide predict collectives`: what collective operations cost (Hanuliak 2014; Stoica, Sultan, Keyes 1994).

use lathide_models::decomposition::Channel;

use super::answer::{Answer, Form, column, given, row};
use super::channel::{positive_word, stated};
use super::model::Predict;
use super::network::NetworkArgs;
use super::problem::Problem;
use super::saved::Saved;
use super::values::{self, Counts};
use crate::report::format;

/// What collective operations cost: on one medium that all hear (Hanuliak 2014), and point to point (Stoica, Sultan,
/// Keyes 1994)
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Numbers of processes
    #[arg(long, value_name = "LIST", value_parser = values::counts, allow_hyphen_values = true, default_value = "2..64*2")]
    procs: Counts,
    /// Words that each process has, or the root
    #[arg(long, value_name = "LIST", value_parser = values::counts, allow_hyphen_values = true, default_value = "1,1024")]
    words: Counts,
    /// The size of a word
    #[arg(long, value_name = "SIZE", value_parser = values::size, allow_hyphen_values = true, default_value = "8")]
    word_bytes: f64,
    /// t_s, the start-up of a message [default: a of a message alone, 2 a_W + a_C + a_L]
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    t_s: Option<f64>,
    /// t_w, the time of a word [default: b of a message alone, max(b_W, b_C), times --word-bytes]
    #[arg(long, value_name = "TIME", value_parser = values::time_per, allow_hyphen_values = true)]
    t_w: Option<f64>,
    #[command(flatten)]
    network: NetworkArgs,
}

const EXAMPLES: &str = "\
Examples:
  lathide predict collectives --procs 16 --words 1..4096*4
  lathide predict collectives --procs 2..64*2 --words 100 --t-s 1500us --t-w 5us
  lathide predict collectives --from link.json --procs 4,16";

impl Predict for Args {
    fn predict(&self, saved: Option<&Saved>) -> Result<Answer, Problem> {
        let known = self.network.network(saved)?;
        let one = known.network.point_to_point()?;
        let word_bytes = positive_word(self.word_bytes)?;
        let t_w = self.t_w.unwrap_or(one.b_s_per_byte() * word_bytes);
        let channel = Channel::new(self.t_s.unwrap_or(one.a_s()), t_w)?;
        let columns = vec![
            given("procs", "p", Form::Count),
            given("words", "m", Form::Count),
            column("medium_broadcast_s", "broad-\ncast\n7.2.2", Form::Seconds),
            column("medium_broadcast_one_message_s", "in one\nmessage", Form::Seconds),
            column("medium_other_s", "other\n7.2.2", Form::Seconds),
            column("medium_other_one_message_s", "in one\nmessage", Form::Seconds),
            column("tree_s", "tree\n3.1", Form::Seconds),
            column("serial_s", "serial\n3.1", Form::Seconds),
            column("all_to_all_s", "all to\nall\n3.3", Form::Seconds),
            column("global_s", "global\n3.2", Form::Seconds),
        ];
        let (network, mut rows, mut conclusion) = (known.network, Vec::new(), String::new());
        for &words in &self.words {
            for &procs in &self.procs {
                let (m, bytes) = (u64::from(words), f64::from(words) * word_bytes);
                let medium_s = channel.broadcast_one_message_s(m)?;
                let tree_s = network.broadcast_tree(procs)?.time_s(bytes)?;
                let serial_s = network.broadcast_serial(procs)?.time_s(bytes)?;
                let global_s = network.global_operation_s(procs)?;
                rows.push(row![
                    procs,
                    words,
                    channel.broadcast_s(m)?,
                    medium_s,
                    channel.collective_s(procs, m)?,
                    channel.collective_one_message_s(procs, m)?,
                    tree_s,
                    serial_s,
                    network.neighbours(procs, procs.saturating_sub(1))?.time_s(bytes)?,
                    global_s
                ]);
                conclusion = verdict((procs, words), medium_s, (tree_s, serial_s), global_s);
            }
        }
        let mut parameters = stated(&channel);
        parameters.extend(known.parameters);
        let equation = "Hanuliak 2014, section 7.2.2, on a medium that all hear: broadcast m (t_s + t_w), any other (p - 1) m (t_s \
                        + t_w), in one message t_s + m t_w each; Stoica, Sultan, Keyes 1994, sections 3.1 to 3.3 with eq. (3)";
        Ok(Answer { parameters, notes: known.notes, ..Answer::new(equation, columns, rows, conclusion) }.drawn(
            &["procs", "words"],
            "broadcast",
            &BROADCASTS,
        ))
    }
}

/// What the chart compares.
const BROADCASTS: [(&str, &str); 3] =
    [("medium", "medium_broadcast_one_message_s"), ("tree", "tree_s"), ("serial", "serial_s")];

/// Of one number of processes and words.
fn verdict((procs, words): (u32, u32), medium_s: f64, (tree_s, serial_s): (f64, f64), global_s: f64) -> String {
    let (cheaper, cheaper_s) = if tree_s < serial_s { ("a tree", tree_s) } else { ("one after another", serial_s) };
    let times = cheaper_s / medium_s;
    let times = if times.is_finite() { format!(", {} times as long", format::plain(times)) } else { String::new() };
    format!(
        "Where all hear one message, a broadcast of m = {words} words takes {}; point to point to p = {procs} processes {} is \
             the cheaper way and takes {}{times}. A barrier or global sum takes {}.",
        format::seconds(medium_s),
        cheaper,
        format::seconds(cheaper_s),
        format::seconds(global_s)
    )
}
