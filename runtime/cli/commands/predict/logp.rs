//! `lathide predict logp`: LogP beside the hyperbolic model (Stoica, Sultan, Keyes 1994, section 6).

use lathide_models::logp::{LogP, sending_ratio};
use serde_json::{Map, json};

use super::answer::{Answer, Form, Parameter, column, given, parameter, row};
use super::model::Predict;
use super::problem::Problem;
use super::saved::Saved;
use super::switch::saved_packet;
use super::values::{self, Counts};
use crate::report::format;

/// The LogP model, and how the hyperbolic one differs from it (Stoica, Sultan, Keyes 1994)
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// L, the latency [default: 6us, about that of the CM-5 of the LogP paper; or from --from]
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    l: Option<f64>,
    /// o, the overhead of sending or receiving a message [default: 2us, or from --from]
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    o: Option<f64>,
    /// g, the gap between messages [default: 4us, or from --from]
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    g: Option<f64>,
    /// Numbers of messages one after another
    #[arg(long, value_name = "LIST", value_parser = values::counts, allow_hyphen_values = true,
          default_value = "1..1024*2")]
    messages: Counts,
    /// The size of a message, with --from
    #[arg(long, value_name = "SIZE", value_parser = values::size, allow_hyphen_values = true, default_value = "8",
          requires = "from")]
    bytes: f64,
}

const EXAMPLES: &str = "\
Examples:
  lathide predict logp --l 6us --o 2us --g 4us --messages 1..64*2
  lathide predict logp --from link.json --o 3us --bytes 1KiB";

/// L, o and g.
struct Three {
    l: f64,
    o: f64,
    g: f64,
    notes: Vec<String>,
}

impl Predict for Args {
    fn predict(&self, saved: Option<&Saved>) -> Result<Answer, Problem> {
        let Three { l, o, g, notes } = match saved {
            Some(saved) => self.measured(saved)?,
            None => Three { l: 6e-6, o: 2e-6, g: 4e-6, notes: Vec::new() },
        };
        let (l, o, g) = (self.l.unwrap_or(l), self.o.unwrap_or(o), self.g.unwrap_or(g));
        let machine = LogP::new(l, o, g)?;
        let columns = vec![
            given("messages", "n", Form::Count),
            column("logp_s", "LogP\nFig. 21", Form::Seconds),
            column("hyperbolic_s", "hyperbolic\nT(n - 1; a, b)", Form::Seconds),
            column("ratio", "ratio\neq. 18", Form::Fixed(4)),
            column("sending_logp_s", "T_s\nLogP", Form::Seconds),
            column("sending_hyperbolic_s", "T_s\nhyperbolic", Form::Seconds),
            column("sending_ratio", "ratio\neq. 19", Form::Fixed(4)),
        ];
        let mut rows = Vec::new();
        for &messages in &self.messages {
            let n = u64::from(messages);
            let (logp_s, ratio) = (machine.time_s(n)?, machine.ratio(n)?);
            let (sending_s, sending_hyperbolic_s) = (machine.sending_s(n)?, machine.sending_hyperbolic_s(n)?);
            rows.push(row![
                messages,
                logp_s,
                machine.time_hyperbolic_s(n)?,
                ratio,
                sending_s,
                sending_hyperbolic_s,
                sending_ratio(n)?
            ]);
        }
        let block = machine.block()?;
        // Where (n - 1) b = a.
        let furthest = Some(1.0 + block.a_s() / block.b_s_per_byte()).filter(|messages| messages.is_finite());
        let conclusion = format!(
            "A message takes a = 2 o + L = {}, each further one b = max(g, o) = {}. The hyperbolic model says at most a \
             quarter less{}.",
            format::seconds(block.a_s()),
            format::seconds(block.b_s_per_byte()),
            furthest.map(|n| format!(", most so at n = {}", format::plain(n))).unwrap_or_default()
        );
        let findings = Map::from_iter([
            ("block".to_owned(), json!({ "a_s": block.a_s(), "b_s_per_message": block.b_s_per_byte() })),
            ("furthest_messages".to_owned(), json!(furthest)),
        ]);
        let equation = "Stoica, Sultan, Keyes 1994, section 6, eqs. (18) and (19): LogP (n - 1) max(g, o) + 2 o + L; hyperbolic \
                        T(n - 1; 2 o + L, max(g, o))";
        Ok(Answer {
            parameters: parameters(l, o, g),
            findings,
            notes,
            ..Answer::new(equation, columns, rows, conclusion)
        }
        .drawn(
            &["messages"],
            "hyperbolic / LogP",
            &[("in all, eq. 18", "ratio"), ("sending, eq. 19", "sending_ratio")],
        ))
    }
}

impl Args {
    /// From the cluster model's parameters, which tell processor and network apart; else from a and b, if o is given.
    fn measured(&self, saved: &Saved) -> Result<Three, Problem> {
        if saved.find("cluster").is_some() {
            let packet = saved_packet(saved, self.bytes)?;
            let o = (packet.send_s + packet.receive_s + packet.user_receive_s) / 2.0;
            let g = packet.send_gap_s.max(packet.receive_gap_s);
            let notes = vec!["o is the mean of O_s and O_r + U_r, g the greater of g_s and g_r".to_owned()];
            return Ok(Three { l: packet.transfer_s, o, g, notes });
        }
        let instead = "give --l, --o and --g without --from";
        let a = saved.number("hyperbolic.a_s", instead)?;
        let b = saved.number("hyperbolic.b_s_per_byte", instead)?;
        let Some(o) = self.o else {
            return Err(Problem::new(format!(
                "--from {}: there is no cluster in it, and a and b tell 2 o + L and g only: give --o too",
                saved.name()
            )));
        };
        let notes = vec![format!("L is a - 2 o, g is b times {}", format::bytes(self.bytes))];
        Ok(Three { l: a - 2.0 * o, o, g: b * self.bytes, notes })
    }
}

fn parameters(l: f64, o: f64, g: f64) -> Vec<Parameter> {
    let time = |key, symbol, seconds: f64| parameter(key, symbol, Form::Seconds, seconds);
    vec![time("latency_s", "L", l), time("overhead_s", "o", o), time("gap_s", "g", g)]
}
