//! Broadcast of k packets on the binomial tree, section 4.

use super::{Packet, Parameters};
use crate::{BadParameter, above_zero, at_least_zero, representable};

/// B_k(p) of the Postal model, eq. (1): `log2(p) (k g_s + L - g_s)`, in s.
///
/// `latency_s` is the Postal model's L: all the time from the sender's call to the receiver's program, the cluster
/// model's [`Packet::one_way_s`].
///
/// The paper has p a power of two. For other p the binomial tree has `ceil(log2 p)` rounds, which stand here for
/// `log2 p`. One processor needs no time.
///
/// # Errors
/// If k or p is 0, a time is not a finite number of at least 0, or the result is too large.
pub fn broadcast_postal_s(packets: u64, processors: u32, send_gap_s: f64, latency_s: f64) -> Result<f64, BadParameter> {
    let further = above_zero("k", packets as f64)? - 1.0;
    let rounds = rounds(processors)?;
    let latency = at_least_zero("L", latency_s)?;
    representable("B_k", rounds * (further * at_least_zero("g_s", send_gap_s)? + latency))
}

/// B_k(p) of the cluster model, eq. (2), in s:
/// `(k - 1) ((log2(p) - 1) g_s + O_r + U_r) + log2(p) (O_s + L + O_r + U_r)`.
///
/// The bottleneck is not the root but processor p/2, which receives each packet while it sends on those before it.
/// p as in [`broadcast_postal_s`]. Where `O_r + U_r < g_s` the formula is more hopeful than eq. (1), not less; see the
/// manual, `lathide::manual::models::cluster`.
///
/// # Errors
/// If k or p is 0, a time is not a finite number of at least 0, or the result is too large.
pub fn broadcast_s(packets: u64, processors: u32, packet: &Packet) -> Result<f64, BadParameter> {
    let further = above_zero("k", packets as f64)? - 1.0;
    let rounds = rounds(processors)?;
    let gap = at_least_zero("g_s", packet.send_gap_s)?;
    let first = rounds * packet.one_way_s()?;
    if processors == 1 {
        return Ok(0.0);
    }
    representable("B_k", further * ((rounds - 1.0) * gap + packet.reception_s()?) + first)
}

impl Parameters {
    /// Broadcast of a whole message by eq. (2), cut into packets of at most `packet_bytes` (the MTU), all priced as full
    /// ones, as in the paper (`k = M / MTU`, here rounded up); in s.
    ///
    /// # Errors
    /// If the message's size is not a finite number of at least 0, the packet's not one above 0, p is 0, or the result
    /// is too large.
    pub fn broadcast_s(&self, message_bytes: f64, packet_bytes: f64, processors: u32) -> Result<f64, BadParameter> {
        let (packets, packet_bytes) = super::packets(message_bytes, packet_bytes)?;
        broadcast_s(packets, processors, &self.packet(packet_bytes, processors)?)
    }
}

/// `ceil(log2 p)`: how many rounds a binomial tree of p processors has.
fn rounds(processors: u32) -> Result<f64, BadParameter> {
    above_zero("p", f64::from(processors))?;
    Ok(f64::from(u32::BITS - (processors - 1).leading_zeros()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_as_many_rounds_as_doublings() {
        for (processors, expected) in [(1, 0.0), (2, 1.0), (3, 2.0), (4, 2.0), (5, 3.0), (16, 4.0), (17, 5.0)] {
            assert_eq!(rounds(processors).unwrap(), expected, "{processors} processors");
        }
        assert_eq!(rounds(u32::MAX).unwrap(), 32.0);
    }

    #[test]
    fn both_models_agree_on_one_packet_and_part_by_the_reception_of_each_further_one() {
        for (bytes, processors) in [(1.0, 2), (40.0, 16), (600.0, 8), (1500.0, 16)] {
            let packet = Parameters::table_1().packet(bytes, processors).unwrap();
            let postal = |k| broadcast_postal_s(k, processors, packet.send_gap_s, packet.one_way_s().unwrap()).unwrap();
            let cluster = |k| broadcast_s(k, processors, &packet).unwrap();
            assert!((cluster(1) - postal(1)).abs() < 1e-15);
            let each = packet.reception_s().unwrap() - packet.send_gap_s;
            assert!((cluster(11) - postal(11) - 10.0 * each).abs() < 1e-12);
        }
    }

    /// Stated in the manual: with Table 1, eq. (2) is below eq. (1) from 520 bytes on.
    #[test]
    fn with_large_packets_the_paper_s_sending_gap_outweighs_the_reception() {
        let difference = |bytes: f64| {
            let packet = Parameters::table_1().packet(bytes, 16).unwrap();
            packet.reception_s().unwrap() - packet.send_gap_s
        };
        assert!(difference(519.0) > 0.0 && difference(520.0) < 0.0);
    }

    #[test]
    fn a_message_is_cut_into_full_packets() {
        let table = Parameters::table_1();
        let packet = table.packet(1500.0, 16).unwrap();
        for (message, packets) in [(1.0, 1), (1500.0, 1), (1501.0, 2), (65_536.0, 44)] {
            let whole = table.broadcast_s(message, 1500.0, 16).unwrap();
            let expected = if message < 1500.0 { table.packet(message, 16).unwrap() } else { packet };
            assert_eq!(whole, broadcast_s(packets, 16, &expected).unwrap(), "{message} bytes");
        }
        assert_eq!(table.broadcast_s(1e6, 1500.0, 1).unwrap(), 0.0);
    }
}
