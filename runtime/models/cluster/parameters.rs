//! The parameters of section 3.2, the paper's own values for them, and what one packet costs.

use super::{Cost, Line};
use crate::{BadParameter, above_zero, at_least_zero, representable};

/// The transfer time L(m, p): from the send queue of one processor to the receive queue of another.
///
/// The paper measured `L = l(p) + m tau(m, p)`: the start-up grows with the number of processors, and the time per byte
/// with the load that all of them together put on the switch,
/// `L = 1.556 p + 16.684 + 0.0826 m max(1, p m / (90 g_s(m)))` in microseconds. The 90 of this formula are bytes per
/// microsecond: what the switch can pass on in all.
#[derive(Clone, PartialEq, Debug)]
pub struct Transfer {
    /// The time that one packet takes through an idle network, without the part of `per_processor_s`.
    pub alone: Cost,
    /// What each processor that takes part adds, in s.
    pub per_processor_s: f64,
    /// The switch's aggregate bandwidth, in bytes/s; none if nothing but the links is shared.
    pub aggregate_bytes_per_s: Option<f64>,
}

impl Transfer {
    /// L(m, p) in s, where every processor sends a packet of m bytes every `send_gap_s` (g_s).
    ///
    /// Beyond the aggregate bandwidth the part of the cost that depends on m grows in proportion to the load.
    ///
    /// # Errors
    /// If p is 0, a number is not finite and at least 0, or the aggregate bandwidth or (with one) g_s is 0.
    pub fn at(&self, packet_bytes: f64, processors: u32, send_gap_s: f64) -> Result<f64, BadParameter> {
        let m = at_least_zero("m", packet_bytes)?;
        let p = above_zero("p", f64::from(processors))?;
        let alone = self.alone.at(m)?;
        let startup = self.alone.at(0.0)?;
        let mut seconds = alone + at_least_zero("transfer time per processor", self.per_processor_s)? * p;
        if let Some(aggregate) = self.aggregate_bytes_per_s {
            let aggregate = above_zero("aggregate bandwidth", aggregate)?;
            let load = representable("load p m / g_s", p * m / above_zero("g_s", send_gap_s)?)?;
            let excess = representable("load relative to the aggregate bandwidth", load / aggregate)? - 1.0;
            seconds += (alone - startup).max(0.0) * excess.max(0.0);
        }
        representable("L", seconds)
    }
}

/// Everything the model knows about a cluster (section 3.2).
#[derive(Clone, PartialEq, Debug)]
pub struct Parameters {
    /// O_s: the time that sending a packet takes the program's processor.
    pub send: Cost,
    /// g_s: the least time between two packets of one sender.
    pub send_gap: Cost,
    /// L: from the sender's queue to the receiver's.
    pub transfer: Transfer,
    /// g_r: the least time between two packets that arrive at one receiver.
    pub receive_gap: Cost,
    /// O_r: the time that handling a packet takes the receiver's processor, whatever the program does (asynchronous).
    pub receive: Cost,
    /// U_r: the time that the program itself takes to notice and consume it.
    pub user_receive: Cost,
    /// M_ctc: copying m bytes from cache to cache.
    pub copy_cache_to_cache: Cost,
    /// M_ctm: copying m bytes from cache to memory.
    pub copy_cache_to_memory: Cost,
    /// M_mtm: copying m bytes from memory to memory.
    pub copy_memory_to_memory: Cost,
    /// B_L: how many packets the network holds before it loses some.
    pub buffer_packets: f64,
}

impl Parameters {
    /// Table 1: sixteen 200 MHz PCs on a Fast Ethernet switch (Intel 510T) with the authors' own protocol, in 1999.
    pub fn table_1() -> Self {
        let us = |startup: f64, per_byte: f64| Line::new(startup * 1e-6, per_byte * 1e-6);
        let one = |line| Cost::linear(line).expect("lines of Table 1 rise");
        let two = |short, long| Cost::pieces(&[(40.0, short)], long).expect("lines of Table 1 rise");
        Self {
            send: two(us(6.308, 0.0291), us(6.37, 0.0253)),
            send_gap: two(us(6.73, 0.0), us(3.027, 0.0796)),
            transfer: Transfer {
                alone: one(us(16.684, 0.0826)),
                per_processor_s: 1.556e-6,
                aggregate_bytes_per_s: Some(90e6),
            },
            receive_gap: two(us(6.73, 0.0), us(4.986, 0.0788)),
            receive: two(us(12.245, 0.0426), us(12.176, 0.0429)),
            user_receive: one(us(9.93, 0.0)),
            copy_cache_to_cache: one(us(0.194, 0.015)),
            copy_cache_to_memory: one(us(2.07, 0.0149)),
            copy_memory_to_memory: one(us(1.756, 0.0314)),
            buffer_packets: 1935.0,
        }
    }

    /// The row T_s of Table 1, which the paper neither defines nor uses.
    ///
    /// By its slope it is the time that a packet occupies the sender's link. It is kept as data only.
    pub fn table_1_t_s() -> Cost {
        let (short, long) = (Line::new(11.732e-6, 0.049e-6), Line::new(10.88e-6, 0.0776e-6));
        Cost::pieces(&[(40.0, short)], long).expect("lines of Table 1 rise")
    }

    /// What one packet of m bytes costs where p processors take part.
    ///
    /// # Errors
    /// If m is not a finite number of at least 0, p is 0, or a public field has a value that [`Transfer::at`] refuses.
    pub fn packet(&self, packet_bytes: f64, processors: u32) -> Result<Packet, BadParameter> {
        let send_gap_s = self.send_gap.at(packet_bytes)?;
        Ok(Packet {
            send_s: self.send.at(packet_bytes)?,
            send_gap_s,
            transfer_s: self.transfer.at(packet_bytes, processors, send_gap_s)?,
            receive_gap_s: self.receive_gap.at(packet_bytes)?,
            receive_s: self.receive.at(packet_bytes)?,
            user_receive_s: self.user_receive.at(packet_bytes)?,
            copy_s: self.copy_memory_to_memory.at(packet_bytes)?,
        })
    }
}

/// The parameters for packets of one size and one number of processors: plain times, in s.
///
/// ```
/// use lathide_models::cluster::Parameters;
/// let packet = Parameters::table_1().packet(1500.0, 2)?;
/// assert!((packet.one_way_s()? - 274.472e-6).abs() < 1e-12);
/// # Ok::<(), lathide_models::BadParameter>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Packet {
    /// O_s, in s.
    pub send_s: f64,
    /// g_s, in s.
    pub send_gap_s: f64,
    /// L, in s.
    pub transfer_s: f64,
    /// g_r, in s.
    pub receive_gap_s: f64,
    /// O_r, in s.
    pub receive_s: f64,
    /// U_r, in s.
    pub user_receive_s: f64,
    /// M_mtm, in s.
    pub copy_s: f64,
}

impl Packet {
    /// From the sender's call to the receiver's program, section 3.2: `O_s + L + O_r + U_r`, in s.
    ///
    /// # Errors
    /// If one of these times is not a finite number of at least 0, or their sum is too large.
    pub fn one_way_s(&self) -> Result<f64, BadParameter> {
        let before = at_least_zero("O_s", self.send_s)? + at_least_zero("L", self.transfer_s)?;
        representable("O_s + L + O_r + U_r", before + self.reception_s()?)
    }

    /// There and back, section 3.2: `2 (O_s + L + O_r + U_r)`, in s. Measuring it is the paper's way to find L.
    ///
    /// # Errors
    /// As for [`Self::one_way_s`].
    pub fn ping_pong_s(&self) -> Result<f64, BadParameter> {
        representable("2 (O_s + L + O_r + U_r)", 2.0 * self.one_way_s()?)
    }

    /// What a packet takes the receiver's processor: `O_r + U_r`, in s.
    pub(super) fn reception_s(&self) -> Result<f64, BadParameter> {
        Ok(at_least_zero("O_r", self.receive_s)? + at_least_zero("U_r", self.user_receive_s)?)
    }
}
