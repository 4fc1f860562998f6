//! Blocks that work on packets (section 2, eqs. 1 to 3).

use super::Block;
use crate::{BadParameter, above_zero, at_least_zero};

/// A block that cuts messages into packets.
///
/// ```
/// use lathide_models::hyperbolic::Packets;
/// let packets = Packets::new(1.0, 0.5, 2.0)?; // Fig. 2
/// assert_eq!(packets.time_s(3.0)?, 3.5);
/// assert_eq!(packets.block()?.time_s(3.0)?, 3.25);
/// # Ok::<(), lathide_models::BadParameter>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Packets {
    packet_s: f64,
    m_s_per_byte: f64,
    packet_bytes: f64,
}

impl Packets {
    /// `packet_s` (a) for each packet, `m_s_per_byte` (m) for each byte, `packet_bytes` (p) in a full packet.
    ///
    /// # Errors
    /// If a time is not a finite number of at least 0, or `packet_bytes` not one above 0.
    pub fn new(packet_s: f64, m_s_per_byte: f64, packet_bytes: f64) -> Result<Self, BadParameter> {
        Ok(Self {
            packet_s: at_least_zero("a", packet_s)?,
            m_s_per_byte: at_least_zero("m", m_s_per_byte)?,
            packet_bytes: above_zero("p", packet_bytes)?,
        })
    }

    /// The time of a message of `bytes`, eq. (1): `t(x; a, m, p) = a ceil(x/p) + m x`.
    ///
    /// A message of 0 bytes has no packet and takes no time; a is the limit for small messages.
    ///
    /// # Errors
    /// If `bytes` is not a finite number of at least 0, or the time too large for a number.
    pub fn time_s(&self, bytes: f64) -> Result<f64, BadParameter> {
        let bytes = at_least_zero("x", bytes)?;
        let packets = at_least_zero("ceil(x/p)", (bytes / self.packet_bytes).ceil())?;
        at_least_zero("t(x; a, m, p)", self.packet_s * packets + self.m_s_per_byte * bytes)
    }

    /// The part of the last packet that is empty, eq. (2): `xi(x, p) = ceil(x/p) - x/p`.
    ///
    /// # Errors
    /// If `bytes` is not a finite number of at least 0, or has too many packets for a number.
    pub fn empty_part(&self, bytes: f64) -> Result<f64, BadParameter> {
        let packets = at_least_zero("x/p", at_least_zero("x", bytes)? / self.packet_bytes)?;
        Ok(packets.ceil() - packets)
    }

    /// The two parameters of this block, eq. (3): `a`, and `b = a/p + m`.
    ///
    /// # Errors
    /// If `b` is too large for a number.
    pub fn block(&self) -> Result<Block, BadParameter> {
        Block::new(self.packet_s, self.packet_s / self.packet_bytes + self.m_s_per_byte)
    }
}

/// A block whose first packet costs more than the others, as where it sets up a route (end of section 2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wormhole {
    first_packet_s: f64,
    next: Packets,
}

impl Wormhole {
    /// `first_packet_s` (a1) for the first packet, and `next` with a2 for the others.
    ///
    /// # Errors
    /// If `first_packet_s` is not a finite number of at least 0.
    pub fn new(first_packet_s: f64, next: Packets) -> Result<Self, BadParameter> {
        Ok(Self { first_packet_s: at_least_zero("a1", first_packet_s)?, next })
    }

    /// What a message costs beside its packets: `a1 - a2`. Below 0 where the first packet is the cheaper one.
    #[must_use]
    pub fn message_s(&self) -> f64 {
        self.first_packet_s - self.next.packet_s
    }

    /// The two parameters of this block: `a = a1`, `b = a2/p + m`.
    ///
    /// # Errors
    /// If `b` is too large for a number.
    pub fn block(&self) -> Result<Block, BadParameter> {
        Block::new(self.first_packet_s, self.next.block()?.b_s_per_byte)
    }
}
