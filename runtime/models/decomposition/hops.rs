//! Communication across several networks joined by routers (section 4.2).

use super::{BadParameter, Channel, at_least_zero, time};

/// A communication step that crosses networks: the paper's `f3` term for one of the u networks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Crossing {
    /// `m`: the words of the message.
    pub words: u64,
    /// `l_h`: how many networks it crosses.
    pub hops: u32,
    /// `t_h`: what one hop takes on average, in seconds.
    pub hop_s: f64,
}

impl Channel {
    /// Communication within one network, section 4.2: `f1(t_s) + f2(t_w)`, here `messages t_s + words t_w`, where
    /// `words` is their number in all messages together.
    ///
    /// # Errors
    /// If the result is too large for a number.
    pub fn within_s(&self, messages: u64, words: u64) -> Result<f64, BadParameter> {
        time(messages as f64 * self.start_up_s + words as f64 * self.word_s)
    }

    /// Communication within and across networks, section 4.2: `f1(t_s) + f2(t_w)` and a hop term for each crossing
    /// ([`Channel::cut_through_s`]).
    ///
    /// # Errors
    /// If a hop's time is not a finite number of at least 0, or the result is too large for a number.
    pub fn across_s(&self, messages: u64, words: u64, crossings: &[Crossing]) -> Result<f64, BadParameter> {
        let mut total = self.within_s(messages, words)?;
        for crossing in crossings {
            total += self.cut_through_s(crossing)?;
        }
        time(total)
    }

    /// A crossing where routers pass a message on while it still comes in: `t_s + l_h t_h + m t_w`. This is what
    /// section 4.2 must mean; see [`hop_as_printed`].
    ///
    /// # Errors
    /// If the hop's time is not a finite number of at least 0, or the result is too large for a number.
    pub fn cut_through_s(&self, crossing: &Crossing) -> Result<f64, BadParameter> {
        let hop_s = at_least_zero("t_h", crossing.hop_s)?;
        time(self.message_s(crossing.words)? + f64::from(crossing.hops) * hop_s)
    }

    /// A crossing where every router takes the whole message in before it passes it on:
    /// `t_s + l_h (t_h + m t_w)`.
    ///
    /// # Errors
    /// If the hop's time is not a finite number of at least 0, or the result is too large for a number.
    pub fn store_and_forward_s(&self, crossing: &Crossing) -> Result<f64, BadParameter> {
        let hop_s = at_least_zero("t_h", crossing.hop_s)?;
        let each_s = hop_s + crossing.words as f64 * self.word_s;
        time(self.start_up_s + f64::from(crossing.hops) * each_s)
    }
}

/// The hop term exactly as section 4.2 prints it: `t_s + m t_w l_h t_h`.
///
/// It adds a time to a time squared, so it is no time, and its value depends on the unit: a misprint, kept to show
/// how far off it is. Use [`Channel::cut_through_s`].
///
/// # Errors
/// If the hop's time is not a finite number of at least 0, or the result is too large for a number.
pub fn hop_as_printed(channel: &Channel, crossing: &Crossing) -> Result<f64, BadParameter> {
    let hops = f64::from(crossing.hops) * at_least_zero("t_h", crossing.hop_s)?;
    at_least_zero("the printed hop term", channel.start_up_s + crossing.words as f64 * channel.word_s * hops)
}
