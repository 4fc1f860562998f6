//! The technical parameters of a network (Hanuliak 2014): options, a saved result, the paper's own.

use lathide_models::decomposition::Channel;

use super::answer::{Form, Parameter, parameter};
use super::problem::Problem;
use super::saved::{Saved, pick};
use super::values;

/// t_s and t_w.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ChannelArgs {
    /// t_s, the start-up of a message [default: 1500us, the paper's Ethernet; or a of --from link.json]
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    t_s: Option<f64>,
    /// t_w, the time of a word [default: 5us, the paper's Ethernet; or b of --from link.json times --word-bytes]
    #[arg(long, value_name = "TIME", value_parser = values::time_per, allow_hyphen_values = true)]
    t_w: Option<f64>,
    /// The size of a word, with --from
    #[arg(long, value_name = "SIZE", value_parser = values::size, allow_hyphen_values = true, default_value = "8")]
    word_bytes: f64,
}

impl ChannelArgs {
    /// The channel of the options, and of what was measured where they say nothing.
    pub(super) fn channel(&self, saved: Option<&Saved>) -> Result<Channel, Problem> {
        channel(self.t_s, self.t_w, self.word_bytes, saved)
    }
}

/// t_s and t_w, from options first, then from `saved`, then from the paper.
pub(super) fn channel(
    t_s: Option<f64>,
    t_w: Option<f64>,
    word_bytes: f64,
    saved: Option<&Saved>,
) -> Result<Channel, Problem> {
    let (paper, word) = (Channel::ETHERNET, if saved.is_some() { positive_word(word_bytes)? } else { 1.0 });
    let t_s = pick(t_s, (saved, "hyperbolic.a_s", "--t-s"), paper.start_up_s())?;
    let t_w = match t_w {
        Some(t_w) => t_w,
        None => pick(None, (saved, "hyperbolic.b_s_per_byte", "--t-w"), paper.word_s())? * word,
    };
    Ok(Channel::new(t_s, t_w)?)
}

/// The size of a word, if it is one.
pub(super) fn positive_word(bytes: f64) -> Result<f64, Problem> {
    if bytes > 0.0 && bytes.is_finite() {
        return Ok(bytes);
    }
    Err(Problem::new(format!("--word-bytes is {bytes}, but must be a finite number above 0")))
}

/// t_s and t_w.
pub(super) fn stated(channel: &Channel) -> Vec<Parameter> {
    vec![
        parameter("t_s_s", "t_s", Form::Seconds, channel.start_up_s()),
        parameter("t_w_s", "t_w", Form::Seconds, channel.word_s()),
    ]
}
