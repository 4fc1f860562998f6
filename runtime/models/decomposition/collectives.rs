//! Collective operations on one shared medium, such as the Ethernet of a bus (section 7.2.2).

use super::{BadParameter, Channel, at_least_one, time};

impl Channel {
    /// A broadcast of `words` on a shared medium as the paper counts it, section 7.2.2: `m (t_s + t_w)`. Everybody
    /// hears each transmission, so the number of processes does not matter; but every word pays its own start-up.
    /// [`Channel::broadcast_one_message_s`] is the usual form.
    ///
    /// # Errors
    /// If the result is too large for a number.
    pub fn broadcast_s(&self, words: u64) -> Result<f64, BadParameter> {
        time(words as f64 * self.unit_s())
    }

    /// A broadcast of `words` on a shared medium in one message: `t_s + m t_w`. Not in the paper, which lets every
    /// word pay a start-up.
    ///
    /// # Errors
    /// If the result is too large for a number.
    pub fn broadcast_one_message_s(&self, words: u64) -> Result<f64, BadParameter> {
        self.message_s(words)
    }

    /// Scatter, gather, allgather or reduce with `words` per process on a shared medium as the paper counts it,
    /// section 7.2.2: `(p - 1) m (t_s + t_w)`. [`Channel::collective_one_message_s`] is the usual form.
    ///
    /// # Errors
    /// If there are no processes, or the result is too large for a number.
    pub fn collective_s(&self, processes: u32, words: u64) -> Result<f64, BadParameter> {
        time((at_least_one("p", processes.into())? - 1.0) * words as f64 * self.unit_s())
    }

    /// Scatter, gather, allgather or reduce on a shared medium with one message of `words` per other process:
    /// `(p - 1) (t_s + m t_w)`. Not in the paper, which lets every word pay a start-up.
    ///
    /// # Errors
    /// If there are no processes, or the result is too large for a number.
    pub fn collective_one_message_s(&self, processes: u32, words: u64) -> Result<f64, BadParameter> {
        time((at_least_one("p", processes.into())? - 1.0) * self.message_s(words)?)
    }

    /// Communication of `steps` of one word each, section 4.2: `Z_comm (t_s + t_w)`.
    ///
    /// # Errors
    /// If the result is too large for a number.
    pub fn steps_s(&self, steps: u64) -> Result<f64, BadParameter> {
        time(steps as f64 * self.unit_s())
    }

    /// One word with its own start-up.
    fn unit_s(&self) -> f64 {
        self.start_up_s + self.word_s
    }
}
